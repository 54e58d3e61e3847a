"""Counting patterns: every way to count agrees with the plain one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chainveil import Channel, CorrelatedNoise, InvalidInput, MarkovChain, estimate
from chainveil.estimate import Packed
from chainveil.estimate.counts.cells import read_cells
from chainveil.mechanism import sanitize, seeded

WINDOWS = [(0,), (0, 1), (0, 1, 2), (0, 3), (0, 1, 4, 5)]


def plain(
    parts: list[NDArray[Any]], labels: list[NDArray[Any]], window: tuple[int, ...]
) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for part, names in zip(parts, labels, strict=True):
        for t in range(len(part) - window[-1]):
            groups = {names[t + place] for place in window}
            if len(groups) == 1:
                found[(groups.pop(), *(int(part[t + place]) for place in window))] += 1
    return found


def as_counter(
    counts: NDArray[np.int64], names: tuple[Any, ...] | None, outputs: int, places: int
) -> Counter[tuple[Any, ...]]:
    table = counts.reshape(len(counts), *(outputs,) * places)
    return Counter(
        {
            (0 if names is None else names[where[0]], *(int(w) for w in where[1:])): int(value)
            for where, value in np.ndenumerate(table)
            if value
        }
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(2, 4), st.data())
def test_counts_by_label(lengths: list[int], outputs: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    parts = [rng.integers(0, outputs, n).astype(np.uint8) for n in lengths]
    labels = [rng.integers(0, 2, n) for n in lengths]
    cells = read_cells(parts, outputs, by=labels)
    for window in WINDOWS:
        found = as_counter(cells.windows(window), cells.names, outputs, len(window))
        assert found == plain(parts, labels, window)
    pairs = cells.pairs_at(2)
    wanted = plain(parts, labels, (0, 2))
    for number, name in enumerate(cells.names or ()):
        assert pairs[number] == sum(v for key, v in wanted.items() if key[0] == name)


@pytest.mark.parametrize("outputs", [2, 3, 4, 5])
@pytest.mark.parametrize("n", [1, 2, 3, 66, 5000, 8192, 8200, 70_001])
def test_long_series_in_one_pass(outputs: int, n: int) -> None:
    z = np.random.default_rng(n).integers(0, outputs, n).astype(np.uint8)
    cells = read_cells(z, outputs)
    for window in WINDOWS:
        counts = cells.windows(window)
        size = outputs ** len(window)
        if n > window[-1]:
            codes = np.zeros(n - window[-1], np.int64)
            for place in window:
                codes = codes * outputs + z[place : n - window[-1] + place]
            np.testing.assert_array_equal(counts[0], np.bincount(codes, minlength=size))
        else:
            assert counts.sum() == 0


def test_windows_and_series_are_groups() -> None:
    z = np.array([0, 1, 1, 0, 1, 0, 1], np.uint8)
    cells = read_cells(z, 2, window=3)
    assert cells.names == (0, 1, 2)
    np.testing.assert_array_equal(cells.windows((0,)), [[1, 2], [2, 1], [0, 1]])
    np.testing.assert_array_equal(cells.pairs_at(1), [2, 2, 0])
    cells = read_cells([z, z[:2]], 2, by="series")
    np.testing.assert_array_equal(cells.windows((0,)), [[3, 4], [1, 1]])
    cells = read_cells([z, z[:2]], 2, window=4)
    assert cells.names == ((0, 0), (0, 1), (1, 0))


def test_groups_that_cannot_be() -> None:
    z = np.array([0, 1, 1])
    for given_by, window in (("hour", None), ([1, 2], None), ("series", 2), (None, 0)):
        with pytest.raises(InvalidInput):
            read_cells(z, 2, given_by, window)
    with pytest.raises(InvalidInput, match="no points"):
        read_cells(np.array([], np.uint8), 2)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 63, 64, 65, 127, 128, 129, 200, 70_001])
def test_packed_points_count_like_bytes(n: int) -> None:
    z = np.random.default_rng(n).integers(0, 2, n).astype(np.uint8)
    # Bits after the last point are not looked at.
    bits = np.packbits(np.concatenate([z, np.ones(13, np.uint8)]))
    packed, plain_cells = read_cells(Packed(bits, n), 2), read_cells(z, 2)
    for window in WINDOWS:
        np.testing.assert_array_equal(packed.windows(window), plain_cells.windows(window))
    np.testing.assert_array_equal(packed.symbols, z)
    assert packed.size == n


def test_packed_points_answer_every_question() -> None:
    chain, channel = MarkovChain.binary(0.1, 0.2), Channel.binary(0.2, 0.1)
    z = sanitize(chain.sample(3001, rng=1), channel, rng=seeded(2))
    packed = Packed(np.packbits(z), 3001)
    for noise in (channel, CorrelatedNoise(0.1, 0.2)):
        for how in ({}, {"window": 1000}, {"by": np.arange(3001) % 2}):
            one, other = (estimate.frequency(points, noise, **how) for points in (z, packed))
            np.testing.assert_allclose(one.standard_error, other.standard_error)
    steps = [estimate.transitions(points, channel) for points in (z, packed)]
    np.testing.assert_allclose(steps[0].low, steps[1].low)
    paths = [estimate.denoise(points, channel, chain).path for points in (packed, z)]
    assert np.array_equal(*paths)
    for bits, length in ((z.astype(int), 8), (np.packbits(z), 3009), (np.packbits(z), -1)):
        with pytest.raises(InvalidInput):
            Packed(bits, length)
    with pytest.raises(InvalidInput, match="4 reports"):
        estimate.frequency(packed, Channel.randomized_response(4, 0.4))
    with pytest.raises(InvalidInput, match="no points"):
        estimate.frequency(Packed(np.packbits(z), 0), channel)


@pytest.mark.parametrize("outputs", [2, 3, 4])
@pytest.mark.parametrize("place", [0, 5000, 19_999])
@pytest.mark.parametrize("foreign", [0, 4, 128])
def test_a_foreign_byte_is_found_while_counting(outputs: int, place: int, foreign: int) -> None:
    z = np.random.default_rng(1).integers(0, outputs, 20_000).astype(np.uint8)
    z[place] = foreign or outputs
    with pytest.raises(InvalidInput, match=f"point {place}"):
        read_cells(z, outputs)
    with pytest.raises(InvalidInput, match=f"point {place}"):
        read_cells(z.reshape(2, -1), outputs)
