"""Sticky and tracking noise on arrays: the laws that are realised, and what gaps do."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

import chainveil as cv
from chainveil.mechanism import Report, release, sanitize, seeded
from chainveil.mechanism.draws import Draws
from chainveil.mechanism.holding import HoldingWalk, TwoReports, context_laws, context_layout
from chainveil.mechanism.pieces import one_series
from chainveil.mechanism.randomness import Keystream, Seeded
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise, TrackingNoise
from tests.mechanism.crafted import Crafted, Remembering
from tests.mechanism.remembering import (
    HOLDING,
    STICKY,
    TRACKING,
    data,
    follows,
    law_of,
    seen,
)

named = pytest.mark.parametrize("noise", HOLDING.values(), ids=HOLDING)
RATES = [0.0, 2.0**-53, 2.0**-45, 1 / 256, 0.1, 1 / 3, 0.5, 0.75, 1 - 2.0**-53, 1.0]


@named
def test_reports_follow_the_kernel(noise: Noise) -> None:
    x = data(noise, 300_000)
    assert follows(noise, seen(noise, x, sanitize(x, noise, rng=seeded(1))))


@named
def test_reports_follow_the_kernels_over_gaps(noise: Noise) -> None:
    x = data(noise, 200_000, gaps=0.15)
    z = sanitize(x, noise, rng=seeded(2), missing="keep")
    assert np.array_equal(z < 0, x < 0)
    counts = seen(noise, x, z)
    assert {key[0] for key in counts} == {"first", "after gap", "step"}
    assert follows(noise, counts)


@named
def test_first_reports_follow_the_first_law(noise: Noise) -> None:
    x = data(noise, 80_000).reshape(20_000, 4)
    x[::2, 0] = -1
    z = sanitize(x, noise, rng=seeded(3), missing="keep")
    firsts: dict[Any, Any] = {("first", s): np.zeros(noise.outputs) for s in range(noise.states)}
    for series, made in zip(x, z, strict=True):
        place = int(series[0] < 0)
        if series[place] >= 0:
            firsts["first", int(series[place])][made[place]] += 1
    assert follows(noise, firsts)


def test_the_check_of_the_kernel_can_fail() -> None:
    x = data(STICKY, 100_000)
    counts = seen(STICKY, x, sanitize(x, TRACKING, rng=seeded(1)))
    assert not follows(STICKY, counts)


@pytest.mark.parametrize("rate", RATES)
def test_every_probability_is_realised_exactly(rate: float) -> None:
    """Each of the nine contexts and either last report, at the threshold and one below it."""
    other = [1 - rate, 0.25]
    noise = TrackingNoise.binary(
        [[[rate, 0.5], other], [[0.3, 1 - rate], [rate, rate]]], [rate, 0.7], [other, [0.2, rate]]
    )
    drawer = TwoReports(noise, Draws(Seeded(0)))
    wanted = context_laws(noise)[:, :, 1]
    assert wanted.shape == (9, 2)
    for context in range(9):
        for last in range(2):
            _check_threshold(drawer, context, last, Fraction(float(wanted[context, last])))


def _check_threshold(drawer: TwoReports, context: int, last: int, rate: Fraction) -> None:
    """All 256 symbols, and of ties the numbers at which the report changes."""
    around = np.full(256, context, np.uint8)

    def ones(word: int) -> Any:
        symbols = np.arange(256, dtype=np.uint8)
        drawer.turns._draws.keystream = cast(Keystream, Crafted(symbols, [word] * 256))
        words = drawer.turns.words(one_series(0, 0, 256), around)
        return np.unpackbits(words[last].view(np.uint8), bitorder="little")

    whole = int(ones(0)[1:].sum())
    assert np.array_equal(ones(0)[1:], ones((1 << 64) - 1)[1:])
    tied = rate * 2**53 - whole * 2**45
    assert 0 <= tied <= 2**45
    for number in {0, 2**45 - 1, int(tied) - 1, int(tied)}:
        if 0 <= number < 2**45:
            assert ones(number << drawer.turns.shift)[0] == (number < tied)


@named
def test_what_is_drawn_does_not_depend_on_the_data(noise: Noise) -> None:
    asked = []
    for x in (np.zeros(20_000, np.uint8), np.ones(20_000, np.uint8), data(noise, 20_000)):
        keystream = Remembering(bytes(32))
        draws = Draws(Seeded(0))
        draws.keystream = keystream
        work = HoldingWalk(noise, Seeded(0), draws)
        work.apply(one_series(0, 0, len(x)), x.astype(work.dtype), np.empty(len(x), work.dtype))
        asked.append(keystream.asked)
    assert asked[0] == asked[1] == asked[2]
    assert asked[0]


@named
def test_rows_lists_and_single_series_agree(noise: Noise) -> None:
    lengths = [3, 0, 300_000, 100, 1, 64, 65]
    parts = [data(noise, n, j) for j, n in enumerate(lengths)]
    listed = sanitize(parts, noise, rng=seeded(1))
    for j, part in enumerate(parts):
        if len(part):
            alone = sanitize(part, noise, rng=seeded(1).at(series=j))
            assert np.array_equal(listed[j], alone)
    rows = np.stack([data(noise, 130, j) for j in range(50)])
    table = sanitize(rows, noise, rng=seeded(1))
    assert np.array_equal(table[7], sanitize(rows[7], noise, rng=seeded(1).at(series=7)))


@named
@pytest.mark.parametrize("make", [np.uint8, np.int8, np.float32, np.int64])
def test_dtypes(noise: Noise, make: Any) -> None:
    x = data(noise, 1000)
    z = sanitize(x.astype(make), noise, rng=seeded(1))
    assert z.dtype == make
    assert np.array_equal(z, sanitize(x, noise, rng=seeded(1)))


def test_bits_and_what_does_not_fit_them() -> None:
    x = data(STICKY, 1000)
    z = sanitize(x.astype(bool), STICKY, rng=seeded(1))
    assert z.dtype == bool
    assert np.array_equal(z, sanitize(x, STICKY, rng=seeded(1)))
    with pytest.raises(cv.InvalidInput, match="bool"):
        sanitize(x.astype(bool), HOLDING["wide"])


@named
def test_gaps_in_every_form_are_the_same_gaps(noise: Noise) -> None:
    x = data(noise, 5000, gaps=0.1)
    gone = x < 0
    kept = sanitize(x, noise, rng=seeded(1), missing="keep")
    floats = sanitize(np.where(gone, np.nan, x), noise, rng=seeded(1), missing="keep")
    masked = np.ma.MaskedArray(np.abs(x).astype(np.uint8), mask=gone)
    hidden = sanitize(masked, noise, rng=seeded(1), missing="keep")
    assert np.array_equal(np.isnan(floats), gone)
    assert np.array_equal(hidden.mask, gone)
    assert np.array_equal(floats[~gone], kept[~gone])
    assert np.array_equal(hidden.compressed(), kept[~gone])
    assert not hidden.data[gone].any()


@named
def test_what_lies_before_a_first_point_changes_nothing(noise: Noise) -> None:
    """Missing points at the front: the noise of the rest is that of its places alone."""
    x = data(noise, 400)
    x[:70] = -1
    z = sanitize(x, noise, rng=seeded(4), missing="keep")
    counts = seen(noise, x, z)
    assert sum(int(made.sum()) for key, made in counts.items() if key[0] == "first") == 1
    all_gone = sanitize(np.full(9, -1), noise, missing="keep")
    assert np.array_equal(all_gone, np.full(9, -1))


def test_in_place_and_report() -> None:
    x = data(TRACKING, 300_000, gaps=0.01)
    done = release(x, TRACKING, rng=seeded(1), missing="keep")
    assert done.report == Report("tracking", "study", 1, 300_000, int((x < 0).sum()))
    sanitize(x, TRACKING, out=x, rng=seeded(1), missing="keep")
    assert np.array_equal(x, done.values)


def test_certain_reports() -> None:
    x = data(STICKY, 70_001).astype(np.uint8)
    true = StickyNoise.binary([[0, 1], [0, 1]], [0, 1])
    stuck = StickyNoise.binary([[0, 0], [1, 1]], [0, 1])
    turned = StickyNoise.binary([[1, 1], [0, 0]], [0, 1])
    before = np.concatenate([x[:1], x[:-1]])
    slow = TrackingNoise.binary([[[0, 0], [1, 1]]] * 2, [0, 1])
    for rng in (None, seeded(1)):
        assert np.array_equal(sanitize(x, true, rng=rng), x)
        assert set(sanitize(x, stuck, rng=rng)) == {x[0]}
        assert np.array_equal(sanitize(x, turned, rng=rng), (x[0] + np.arange(len(x))) % 2)
        assert np.array_equal(sanitize(x, slow, rng=rng), before)


def test_bad_input() -> None:
    wrong: list[tuple[Any, Any, dict[str, Any], str]] = [
        ([0, 2], STICKY, {}, "above the last state"),
        (np.array([0, 1, 7], np.uint8), TRACKING, {}, "above the last state"),
        ([0, 1], STICKY, {"rng": seeded(1).at(point=5)}, "point 0"),
        ([0, -1], STICKY, {}, "below 0"),
        ([0.0, np.nan], TRACKING, {}, "missing value"),
        ([], STICKY, {}, "no points"),
    ]
    for x, noise, arguments, message in wrong:
        with pytest.raises(cv.InvalidInput, match=message):
            sanitize(x, noise, **arguments)


@named
def test_laws_of_contexts_are_those_of_the_noise(noise: Noise) -> None:
    laws, (step, gap, first, missing) = context_laws(noise), context_layout(noise).tolist()
    assert len(laws) == missing + 1
    for last in range(noise.outputs):
        assert np.array_equal(laws[missing, last], np.eye(noise.outputs)[last])
        for state in range(noise.states):
            assert np.allclose(laws[first + state, last], law_of(noise, ("first", state)))
            assert np.allclose(laws[gap + state, last], law_of(noise, ("after gap", last, state)))
            for before in range(noise.states):
                row = law_of(noise, ("step", last, before, state))
                assert np.allclose(laws[step * before + state, last], row)
