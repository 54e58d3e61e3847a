"""Counting patterns: every way to count agrees with the plain one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chainveil import InvalidInput
from chainveil.estimate.grouping import read_cells

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


@pytest.mark.parametrize("outputs", [2, 3])
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
