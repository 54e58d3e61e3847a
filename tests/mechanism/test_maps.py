"""Noise of three to eight reports: the maps that random bytes are turned into, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import numba
import numpy as np
import pytest
from llvmlite import binding  # type: ignore[import-untyped, unused-ignore]
from numba.extending import intrinsic
from scipy.stats import chi2

import chainveil as cv
from chainveil.mechanism import map_vectors, sanitize, seeded, vectors
from chainveil.mechanism.draws import Draws
from chainveil.mechanism.holding import FewReports, ManyReports, context_laws, drawer
from chainveil.mechanism.pieces import one_series
from chainveil.mechanism.randomness import Keystream, Seeded
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise
from tests.mechanism.crafted import Crafted
from tests.mechanism.exactly import realised
from tests.mechanism.remembering import FOUR, data, law_of, seen, sticky_of, tracking_of
from tests.mechanism.test_vectors import WAYS

# Reports that are certain, impossible or as rare as they can be.
RARE = StickyNoise(
    [[[1.0, 0.0, 0.0], [0.5, 0.5 - 2.0**-53, 2.0**-53], [0.0, 0.5, 0.5]]] * 3,
    [[2.0**-53, 1 - 2.0**-52, 2.0**-53], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.0, 1.0]],
)
FEW: dict[str, Noise] = {
    "three": sticky_of(3, 3),
    "four": FOUR,
    "five reports": sticky_of(3, 5),
    "eight": sticky_of(8, 8),
    "rare": RARE,
    "tracking, three": tracking_of(3, 3),
    "tracking, seven": tracking_of(7, 7),
}
named = pytest.mark.parametrize("noise", FEW.values(), ids=FEW)


def _drawer(noise: Noise) -> FewReports:
    found = drawer(noise, Draws(Seeded(0)))
    assert isinstance(found, FewReports)
    return found


@named
def test_every_probability_is_realised_exactly(noise: Noise) -> None:
    wanted = context_laws(noise).reshape(-1, noise.outputs)
    table = _drawer(noise).maps.table
    assert realised(table) == [[Fraction(entry) for entry in row] for row in wanted.tolist()]


@named
def test_words_hold_what_the_table_says(noise: Noise) -> None:
    """Every symbol in every context, and of ties the numbers around every bound."""
    work, m = _drawer(noise), noise.outputs
    table = work.maps.table
    symbols = np.arange(256, dtype=np.uint8)
    for context in range(len(table.last) // m):
        tied = table.tied.reshape(-1, m, m - 1)[context]
        last = table.last.reshape(-1, m, m - 1)[context]
        for number in _telling_numbers(tied, table.rest):
            drawn = [number << table.shift] * 256
            work.maps._draws.keystream = cast(Keystream, Crafted(symbols, drawn))
            words = work.maps.words(one_series(0, 0, 256), np.full(256, context, np.uint8))
            found = (words[:, None] >> (8 * np.arange(m)).astype(words.dtype)) & 255
            above = (symbols[:, None, None] > last).sum(axis=2)
            numbers = (symbols.astype(np.uint64) << np.uint64(table.rest)) | np.uint64(number)
            reached = (numbers[:, None, None] >= tied).sum(axis=2)
            expected = np.where(symbols[:, None] < table.reserved, reached, above)
            assert np.array_equal(found, 8 * expected)


def _telling_numbers(tied: Any, rest: int) -> list[int]:
    """The further bits at which a tie's report changes, and those just below; a few of them."""
    inside = {int(bound) & ((1 << rest) - 1) for bound in tied.ravel()}
    close = {0, (1 << rest) - 1} | inside | {number - 1 for number in inside if number}
    return sorted(close)[:: max(1, len(close) // 6)]


@named
def test_single_points_are_those_of_arrays(noise: Noise) -> None:
    work = _drawer(noise)
    contexts = len(context_laws(noise))
    around = (np.arange(4096) % contexts).astype(np.uint8)
    out = np.empty(4096, np.uint8)
    work.along(one_series(0, 0, 4096), around, 1, out)
    last = 1
    for point in range(4096):
        last = work.one(point, int(around[point]), last)
        assert last == out[point]


def test_which_noise_is_drawn_how() -> None:
    draws = Draws(Seeded(0))
    assert isinstance(drawer(sticky_of(9, 9), draws), ManyReports)
    assert isinstance(drawer(tracking_of(8, 8), draws), ManyReports)
    assert isinstance(drawer(sticky_of(8, 8), draws), FewReports)


@pytest.mark.parametrize("states", [4, 12])
def test_reports_after_each_report_at_each_value(states: int) -> None:
    """Each law by itself: fails wrongly at most once in a million seeds, all laws together."""
    noise = StickyNoise.response(
        0.7, cv.Channel.ordinal(states, 0.85), cv.Channel.randomized_response(states, 0.5)
    )
    x = data(noise, 400_000)
    counts = seen(noise, x, sanitize(x, noise, rng=seeded(5)))
    merged: dict[tuple[int, int], Any] = {}
    for (word, *place), made in counts.items():
        if word == "step":
            key = (place[0], place[-1])
            merged[key] = merged.get(key, 0) + made
    assert len(merged) == states**2
    for (last, state), made in merged.items():
        expected = law_of(noise, ("step", last, 0, state)) * made.sum()
        assert expected.min() > 5
        statistic = float(((made - expected) ** 2 / expected).sum())
        assert statistic < float(chi2.isf(1e-6 / len(merged), states - 1))


@pytest.mark.parametrize("k", [60, pytest.param(256, marks=pytest.mark.slow)])
def test_many_reports(k: int) -> None:
    shift = np.eye(k)[(np.arange(k) + 1) % k]
    noise = StickyNoise(np.broadcast_to(shift, (k, k, k)), np.eye(k))
    x = np.arange(1000) % k
    z = sanitize(x.astype(np.uint8), noise)
    assert np.array_equal(z[1:], (x[1:] + 1) % k)
    assert z[0] == x[0]


def test_states_that_are_none_are_noticed() -> None:
    for noise in (FOUR, sticky_of(3, 3)):
        for wrong in (noise.states, 9, 255):
            x = np.zeros(500, np.uint8)
            x[321] = wrong
            with pytest.raises(cv.InvalidInput, match="above the last state"):
                sanitize(x, noise)


@pytest.mark.parametrize("feature", WAYS, ids=lambda feature: feature or "any processor")
def test_every_way_to_pick_bytes_gives_the_same_maps(
    feature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if feature and not binding.get_host_cpu_features().get(feature):
        pytest.skip(f"this processor has no {feature}")
    monkeypatch.setattr(vectors, "_picking", lambda: WAYS[feature])
    block: Any = intrinsic(map_vectors._reached_block_type)

    @numba.njit
    def reach(contexts: Any, symbols: Any, bounds: Any, last: Any, planes: Any) -> None:
        block(contexts, symbols, 0, bounds, last, planes)

    random = np.random.default_rng(5)
    for groups in (1, 2, 4):
        contexts = random.integers(0, 16 * groups, 64).astype(np.uint8)
        symbols = random.integers(0, 256, 64).astype(np.uint8)
        bounds = random.integers(0, 256, (4, 3, groups, 16)).astype(np.uint8)
        planes = np.zeros((4, 64), np.uint8)
        for last in range(4):
            reach(contexts, symbols, bounds, last, planes)
        flat = bounds.reshape(4, 3, -1)[:, :, contexts]
        assert np.array_equal(planes, 8 * (symbols > flat).sum(axis=1))


@pytest.mark.parametrize("make", [np.uint32, np.uint64])
def test_planes_become_words(make: Any) -> None:
    pack: Any = map_vectors.pack_block

    @numba.njit
    def packed(planes: Any, words: Any) -> None:
        pack(planes, words, 64)

    words = np.zeros(192, make)
    planes = np.random.default_rng(6).integers(0, 256, (words.itemsize, 64)).astype(np.uint8)
    packed(planes, words)
    assert np.array_equal(words[64:128], planes.T.copy().view(make).ravel())
    assert not words[:64].any()
    assert not words[128:].any()
