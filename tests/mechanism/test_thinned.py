"""Noise that reports one point in several: blocks, short series, and the reports alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.mechanism import (
    Reported,
    release,
    reports,
    sanitize,
    sanitize_packed,
    seeded,
)
from chainveil.mechanism.randomness import Keystream
from chainveil.noise.base import Noise
from tests.mechanism.remembering import (
    STICKY,
    THINNED,
    THREE,
    data,
    follows,
    seen,
)

named = pytest.mark.parametrize("noise", THINNED.values(), ids=THINNED)


def held(noise: Noise, x: Any, z: Any) -> Any:
    """By definition: every point the report of its block, or the last one before it; None."""
    result: list[Any] = []
    last = None
    for begin in range(0, len(x), noise.every):
        block = x[begin : begin + noise.every]
        place = begin + noise.first_place
        if place < len(x) and x[place] >= 0:
            last = z[(place - noise.first_place) // noise.every]
        result += [last] * len(block)
    return result


@named
@pytest.mark.parametrize("n", [70, 1000, 300_001])
def test_a_report_is_held_over_its_block(noise: Noise, n: int) -> None:
    x = data(noise, n)
    z = sanitize(x, noise, rng=seeded(1))
    made = sanitize(x[noise.places(n)], noise.thinned(1), rng=seeded(1))
    assert z.tolist() == held(noise, x.tolist(), made.tolist())


@named
@pytest.mark.parametrize("gaps", [0.1, 0.6])
def test_a_block_whose_reporting_point_is_missing_holds_the_report_before(
    noise: Noise, gaps: float
) -> None:
    x = data(noise, 3000, gaps=gaps)
    x[: 2 * noise.every] = -1
    z = sanitize(x, noise, rng=seeded(1), missing="keep")
    made = sanitize(x[noise.places(3000)], noise.thinned(1), rng=seeded(1), missing="keep")
    wanted = [-1 if w is None else w for w in held(noise, x.tolist(), made.tolist())]
    assert np.array_equal(z, np.where(x < 0, -1, wanted))


@named
def test_reports_follow_the_kernel(noise: Noise) -> None:
    x = data(noise, 60_000 * noise.every, gaps=0.02)
    z = sanitize(x, noise, rng=seeded(5), missing="keep")
    assert follows(noise, seen(noise, x, z[noise.places(len(x))]))


@named
def test_lists_rows_and_columns_agree(noise: Noise) -> None:
    lengths = [noise.every, 300_003, 0, 2 * noise.every + 1, 5 * noise.every - 1]
    parts = [data(noise, n, j) for j, n in enumerate(lengths)]
    listed = sanitize(parts, noise, rng=seeded(1))
    for j, part in enumerate(parts):
        if len(part):
            alone = sanitize(part, noise, rng=seeded(1).at(series=j))
            assert np.array_equal(listed[j], alone)
            column = sanitize(part[:, None], noise, rng=seeded(1).at(series=j))
            assert np.array_equal(column[:, 0], alone)
    rows = np.stack([data(noise, 130, j) for j in range(50)])
    table = sanitize(rows, noise, rng=seeded(1))
    assert np.array_equal(table[7], sanitize(rows[7], noise, rng=seeded(1).at(series=7)))


def test_blocks_that_are_longer_than_a_piece() -> None:
    noise, x = STICKY.thinned(300_000), data(STICKY, 700_001)
    z = sanitize(x, noise, rng=seeded(1))
    made = sanitize(x[noise.places(len(x))], STICKY, rng=seeded(1))
    assert len(made) == 2
    assert z.tolist() == held(noise, x.tolist(), made.tolist())


def test_only_points_that_report_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    veil = Keystream.veil

    def count(self: Any, plane: Any, series: Any, block: Any, values: Any, out: Any) -> None:
        drawn.append(len(values))
        veil(self, plane, series, block, values, out)

    monkeypatch.setattr(Keystream, "veil", count)
    sanitize(np.zeros(100_000, np.uint8), STICKY.thinned(10))
    assert 10_000 <= sum(drawn) < 10_100


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.float64, np.int64])
def test_dtypes(dtype: Any) -> None:
    noise, x = STICKY.thinned(3), data(STICKY, 1000)
    z = sanitize(x.astype(dtype), noise, rng=seeded(1))
    assert z.dtype == dtype
    assert np.array_equal(z, sanitize(x, noise, rng=seeded(1)))


def test_in_place_and_into_a_buffer() -> None:
    noise, x = STICKY.thinned(3), data(STICKY, 700_000).astype(np.uint8)
    done = release(x, noise, rng=seeded(1))
    out = np.ones_like(x)
    assert sanitize(x, noise, out=out, rng=seeded(1)) is out
    sanitize(x, noise, out=x, rng=seeded(1))
    assert np.array_equal(out, done.values)
    assert np.array_equal(x, done.values)
    assert (done.report.points, done.report.gaps) == (700_000, 0)


@pytest.mark.parametrize("noise", [STICKY.thinned(5), cv.Channel.binary(0.3, 0.2).thinned(5)])
def test_series_that_end_before_their_first_report(noise: Noise) -> None:
    short = np.array([0, 1])
    for x, missing in (
        (short, "error"),
        (short.astype(np.uint8), "keep"),
        (short.astype(bool), "error"),
        ([np.ones(9, np.uint8), short.astype(np.uint8)], "error"),
        (np.zeros((4, 2), np.int8), "error"),
    ):
        with pytest.raises(cv.InvalidInput, match=r"series of 2 points; .*at least 3 points"):
            sanitize(x, noise, missing=missing)  # type: ignore[arg-type]
    assert np.isnan(sanitize(short.astype(float), noise)).all()
    assert np.array_equal(sanitize(short, noise, missing="keep"), [-1, -1])
    x = np.ma.MaskedArray(short, mask=[True, False])
    hidden = sanitize(x, noise, missing="keep")
    assert hidden.mask.all()
    assert not hidden.data.any()
    assert np.ma.getmaskarray(x).tolist() == [True, False]
    assert sanitize(np.ma.MaskedArray(short), noise).mask.all()
    rows = sanitize([short.astype(float), np.ones(4)], noise)
    assert np.isnan(rows[0]).all()
    assert not np.isnan(rows[1]).any()


@pytest.mark.parametrize("every", [2, 3])
def test_the_mask_of_the_input_stays_as_it_is(every: int) -> None:
    gone = np.array([every == 2, every == 3, False, False, False, True])
    x = np.ma.MaskedArray(np.ones(6, np.uint8), mask=gone.copy())
    z = sanitize(x, STICKY.thinned(every), rng=seeded(1), missing="keep")
    assert np.array_equal(np.ma.getmaskarray(x), gone)
    assert z.mask[:every].all()
    assert np.array_equal(z.mask[every:], gone[every:])
    listed = [np.ma.MaskedArray(np.ones(6, np.uint8), mask=gone.copy()), np.zeros(7, np.uint8)]
    hidden, plain = sanitize(listed, STICKY.thinned(every), rng=seeded(1), missing="keep")
    assert np.array_equal(hidden.mask, z.mask)
    assert np.array_equal(np.ma.getmaskarray(listed[0]), gone)
    assert not plain.mask.any()
    with pytest.raises(cv.InvalidInput, match="out"):
        sanitize(x, STICKY.thinned(every), out=x, missing="keep")


def test_masks_grow_over_points_that_nobody_heard_of() -> None:
    x = np.ma.MaskedArray(data(STICKY, 600_000).astype(np.uint8))
    x[2] = np.ma.masked
    x[400_000:400_007] = np.ma.masked
    z = sanitize(x, STICKY.thinned(5), rng=seeded(1), missing="keep")
    assert z.mask[:5].all()
    assert np.array_equal(z.mask[5:], np.ma.getmaskarray(x)[5:])
    assert not z.data[:5].any()
    with pytest.raises(cv.InvalidInput, match="out"):
        sanitize(x, STICKY.thinned(5), out=x, missing="keep")


def test_silent_points_are_checked_too() -> None:
    noise = STICKY.thinned(3)
    for wrong, message in ((7, "above the last state"), (-1, "below 0")):
        x = np.array([0, 1, 0, 1, 1, wrong])
        with pytest.raises(cv.InvalidInput, match=message):
            sanitize(x, noise)
        with pytest.raises(cv.InvalidInput, match=message):
            reports(x, noise)
    with pytest.raises(cv.InvalidInput, match="missing value"):
        sanitize(np.array([np.nan, 1, 0]), noise)
    with pytest.raises(cv.InvalidInput, match="point 0"):
        sanitize(
            np.zeros(9, np.uint8), cv.Channel.binary(0.1, 0.1).thinned(3), rng=seeded(1).at(point=3)
        )
    with pytest.raises(cv.InvalidInput, match="every point"):
        sanitize_packed(np.zeros(9, np.uint8), cv.Channel.binary(0.1, 0.1).thinned(3))


@named
def test_the_reports_alone(noise: Noise) -> None:
    x = data(noise, 1003, gaps=0.1)
    z = sanitize(x, noise, rng=seeded(1), missing="keep")
    alone = reports(x, noise, seeded(1), missing="keep")
    assert isinstance(alone, Reported)
    places = noise.places(len(x))
    assert np.array_equal(alone.places, places[x[places] >= 0])
    assert np.array_equal(alone.values, z[alone.places])
    assert alone.values.dtype == x.dtype
    short = reports(x[: noise.first_place], noise, missing="keep") if noise.first_place else None
    assert short is None or (isinstance(short, Reported) and len(short.values) == 0)


def test_reports_of_several_series_and_masks() -> None:
    noise = THREE.thinned(3)
    parts = [data(THREE, n, n) for n in (100, 1, 7)]
    listed = reports(parts, noise, seeded(1))
    assert isinstance(listed, list)
    for j, (part, found) in enumerate(zip(parts, listed, strict=True)):
        alone = reports(part, noise, seeded(1).at(series=j))
        assert isinstance(alone, Reported)
        assert np.array_equal(alone.values, found.values)
    rows = reports(np.stack(parts[:1] * 3), noise, seeded(1))
    assert isinstance(rows, list)
    assert len(rows) == 3
    gone = np.array([0, 1, 0, 0, 0, 0], bool)
    masked = reports(np.ma.MaskedArray([0, 1, 1, 0, 0, 1], mask=gone), noise, missing="keep")
    assert isinstance(masked, Reported)
    assert masked.places.tolist() == [4]
    assert not np.ma.isMaskedArray(masked.values)
