"""What must hold for every input: addresses, shapes, exactness, agreement of all ways."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv
from chainveil.mechanism import (
    Stream,
    sanitize,
    sanitize_packed,
    seeded,
    thresholds,
)
from chainveil.noise.correlated import CorrelatedNoise
from tests.mechanism.exactly import realised

RATES = st.floats(0, 1)
POSITIVE = st.floats(2.0**-60, 1)
SEEDS = st.integers(0, 2**64)
few = settings(max_examples=60, deadline=None)


@st.composite
def channels(draw: st.DrawFn, most: int = 12) -> cv.Channel:
    """A channel of any shape, zeros included."""
    k, m = draw(st.integers(2, most)), draw(st.integers(1, most))
    rows = []
    for _ in range(k):
        weights = draw(st.lists(st.integers(0, 1000), min_size=m, max_size=m))
        weights[draw(st.integers(0, m - 1))] += 1
        rows.append(np.array(weights) / sum(weights))
    return cv.Channel(np.array(rows))


@st.composite
def cuts(draw: st.DrawFn, n: int) -> list[int]:
    return sorted(draw(st.lists(st.integers(0, n), max_size=6)))


@few
@given(channels())
def test_tables_hold_the_grid_exactly(channel: cv.Channel) -> None:
    grid = channel.on_grid().matrix
    expected = [[Fraction(float(entry)) for entry in row] for row in grid]
    assert realised(thresholds.report_table(channel)) == expected


@few
@given(RATES, RATES)
def test_flip_tables_hold_the_grid_exactly(rho0: float, rho1: float) -> None:
    channel = cv.Channel.binary(rho0, rho1)
    numbers = thresholds.grid_numbers(channel)
    table = thresholds.flip_table((numbers[0][1], numbers[1][0]))
    assert all(0 <= high <= 255 for high in table.high)
    assert all(0 <= low <= 2**45 for low in table.low)
    grid = channel.on_grid().matrix
    assert realised(table)[0][1] == Fraction(float(grid[0, 1]))
    assert realised(table)[1][0] == Fraction(float(grid[1, 0]))


@few
@given(st.data(), channels(), SEEDS, st.integers(1, 700))
def test_any_cut_gives_the_same_reports(
    data: st.DataObject, channel: cv.Channel, seed: int, n: int
) -> None:
    x = np.random.default_rng(n).integers(0, channel.states, n)
    whole = sanitize(x, channel, rng=seeded(seed))
    assert whole.min() >= 0
    assert whole.max() < channel.outputs
    begin = 0
    for part in np.split(x, data.draw(cuts(n))):
        if len(part):
            z = sanitize(part, channel, rng=seeded(seed).at(point=begin))
            assert np.array_equal(z, whole[begin : begin + len(part)])
        begin += len(part)


@few
@given(st.data(), channels(), SEEDS, st.integers(1, 300))
def test_a_stream_cut_anywhere_gives_the_same_reports(
    data: st.DataObject, channel: cv.Channel, seed: int, n: int
) -> None:
    x = np.random.default_rng(n).integers(0, channel.states, n)
    stream = Stream(channel, rng=seeded(seed))
    assert _pushed(stream, x, data.draw(cuts(n))) == sanitize(x, channel, rng=seeded(seed)).tolist()


@few
@given(st.data(), POSITIVE, POSITIVE, SEEDS, st.integers(1, 300))
def test_a_stream_of_correlated_noise_cut_anywhere(
    data: st.DataObject, rho0: float, rho1: float, seed: int, n: int
) -> None:
    noise = CorrelatedNoise(rho0, rho1)
    x = np.random.default_rng(n).integers(0, 2, n)
    expected = sanitize(x, noise, rng=seeded(seed)).tolist()
    assert _pushed(Stream(noise, rng=seeded(seed)), x, data.draw(cuts(n))) == expected


def _pushed(stream: Stream, x: Any, where: list[int]) -> list[int]:
    results: list[int] = []
    for number, part in enumerate(np.split(x, where)):
        if number % 2:
            results += [stream.push(int(value)) for value in part]
        elif len(part):
            results += stream.push(part).tolist()
        stream = Stream.restore(stream.save())
    return results


@few
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12), SEEDS, st.integers(0, 50), RATES, RATES
)
def test_lists_are_made_of_series(
    lengths: list[int], seed: int, first: int, rho0: float, rho1: float
) -> None:
    channel = cv.Channel.binary(rho0, rho1)
    source = seeded(seed).at(series=first, point=first)
    x = [np.random.default_rng(j).integers(0, 2, n) for j, n in enumerate(lengths)]
    if not sum(lengths):
        return
    z = sanitize(x, channel, rng=source)
    for j, part in enumerate(x):
        if len(part):
            assert np.array_equal(z[j], sanitize(part, channel, rng=source.at(series=j)))


@few
@given(st.integers(1, 1500), SEEDS, st.data())
def test_packed_points_cut_anywhere(n: int, seed: int, data: st.DataObject) -> None:
    channel = cv.Channel.binary(0.4, 0.3)
    bits = np.packbits(np.random.default_rng(n).integers(0, 2, n).astype(np.uint8))
    whole = sanitize_packed(bits, channel, n, rng=seeded(seed))
    cut = data.draw(st.integers(0, len(bits) - 1))
    rest = sanitize_packed(bits[cut:], channel, n - 8 * cut, rng=seeded(seed).at(point=8 * cut))
    assert np.array_equal(rest, whole[cut:])


@few
@given(st.integers(1, 200), st.integers(1, 20), SEEDS)
def test_shape_and_dtype_are_kept(n: int, rows: int, seed: int) -> None:
    x = np.random.default_rng(seed).integers(0, 2, (rows, n)).astype(np.int16)
    before = x.copy()
    z = sanitize(x, cv.Channel.binary(0.5, 0.5))
    assert z.shape == x.shape
    assert z.dtype == x.dtype
    assert np.array_equal(x, before)
