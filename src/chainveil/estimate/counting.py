"""From released points to counts: the only place where all points are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from chainveil.estimate.grouping import Cells

IntArray = NDArray[np.int64]
# Below this many points a stretch is not worth the fast ways.
LONG = 8192
MOST_FOR_TRIPLES = 32


def windows(cells: Cells, window: tuple[int, ...]) -> IntArray:
    """Counts of reports at ``t + window``, shape (groups, outputs ** p).

    The point ``t`` runs over all places at which the whole window lies in one stretch and
    one group. ``window`` begins with 0 and increases.
    """
    if window == (0,) and not len(cells.labels) and cells.groups == 1:
        return _single(cells)
    if window in ((0, 1), (0, 1, 2)) and _few_long(cells):
        return cells.triples if len(window) == 3 else _pairs(cells, cells.triples)
    if cells.outputs == 2 and 2 <= len(window) <= 4 and _few_long(cells):
        return _binary(cells, window)
    from chainveil.estimate import kernels

    size: int = cells.outputs ** len(window)
    out = np.zeros((cells.groups, size), np.int64)
    kernels.count_windows(
        cells.symbols, cells.borders, cells.owner, cells.labels,
        np.array(window, np.int64), cells.outputs, out,
    )  # fmt: skip
    return out


def pairs_at(cells: Cells, distance: int) -> IntArray:
    """How many pairs of points of one group lie ``distance`` apart, shape (groups,)."""
    if not len(cells.labels):
        inside = np.maximum(np.diff(cells.borders) - distance, 0)
        return np.bincount(cells.owner, inside, cells.groups).astype(np.int64)
    from chainveil.estimate import kernels

    out = np.zeros(cells.groups, np.int64)
    kernels.count_pairs_of_group(cells.labels, cells.borders, distance, out)
    return out


def _binary(cells: Cells, window: tuple[int, ...]) -> IntArray:
    out = np.zeros((cells.groups, 2 ** len(window)), np.int64)
    for owner, stretch in zip(cells.owner, cells.series, strict=True):
        out[owner] += binary_counts(stretch, window)
    return out


def _few_long(cells: Cells) -> bool:
    """Whether stretches are long, and not cut into labelled points."""
    long = cells.symbols.size >= LONG * (len(cells.borders) - 1)
    return long and not len(cells.labels) and cells.outputs <= MOST_FOR_TRIPLES


def _single(cells: Cells) -> IntArray:
    if cells.outputs == 2:
        ones = int(np.count_nonzero(cells.symbols))
        return np.array([[cells.symbols.size - ones, ones]])
    if cells.outputs <= MOST_FOR_TRIPLES and cells.symbols.size >= LONG:
        # Two more points than there are triples.
        found = _stretch_triples(cells.symbols, cells.outputs)
        counts = found.reshape(cells.outputs, -1).sum(axis=1)
        return np.asarray(counts + np.bincount(cells.symbols[-2:], minlength=cells.outputs))[None]
    return np.bincount(cells.symbols, minlength=cells.outputs)[None]


def triples(cells: Cells) -> IntArray:
    """Counts of three neighbouring reports, shape (groups, outputs ** 3), in one pass."""
    out = np.zeros((cells.groups, cells.outputs**3), np.int64)
    for owner, stretch in zip(cells.owner, cells.series, strict=True):
        if len(stretch) >= 3:
            out[owner] += _stretch_triples(stretch, cells.outputs)
    return out


def _stretch_triples(stretch: NDArray[np.uint8], outputs: int) -> IntArray:
    from chainveil.estimate import kernels

    if outputs == 2:
        return binary_counts(stretch, (0, 1, 2))
    tables = np.zeros((4, outputs**3), np.int64)
    kernels.count_triples(stretch, outputs, tables)
    return np.asarray(tables.sum(axis=0))


def binary_counts(stretch: NDArray[np.uint8], window: tuple[int, ...]) -> IntArray:
    """Counts of the patterns of two to four points, shape (2^p,), eight points at a time."""
    from chainveil.estimate import kernels

    n, places = len(stretch) - window[-1], len(window)
    if n <= 0:
        return np.zeros(2**places, np.int64)
    whole = n - n % 8
    parts = [stretch[place : place + whole].view(np.uint64) for place in window]
    sums = np.zeros(2**places, np.int64)
    sums[0] = whole
    if places == 2:
        kernels.pair_sums(parts[0], parts[1], sums)
    else:
        kernels.triple_sums(parts[0], parts[1], parts[2], sums)
    if places == 4:
        kernels.quad_sums(parts[0], parts[1], parts[2], parts[3], sums)
    counts = _from_sums(sums, places)
    codes = np.zeros(n - whole, np.int64)
    for place in window:
        codes = 2 * codes + stretch[place + whole : place + n]
    return np.asarray(counts + np.bincount(codes, minlength=2**places))


def _from_sums(sums: IntArray, places: int) -> IntArray:
    """How often each pattern stands, from the sums of products of every set of places.

    A sum counts the patterns with ones at least there; taking from it those with one more
    place after another leaves the patterns with ones exactly there.
    """
    table = sums.reshape((2,) * places).copy()
    for axis in range(places):
        without, having = (table.take(index, axis) for index in (0, 1))
        table = np.stack([without - having, having], axis)
    # In a set the first point is the lowest digit, in a pattern the highest.
    return np.asarray(table.transpose(tuple(reversed(range(places)))).reshape(-1))


def _pairs(cells: Cells, found: IntArray) -> IntArray:
    """Pairs are the beginnings of triples, and the last pair of each stretch."""
    m = cells.outputs
    pairs = found.reshape(cells.groups, m * m, m).sum(axis=2)
    for owner, stretch in zip(cells.owner, cells.series, strict=True):
        if len(stretch) >= 2:
            pairs[owner, int(stretch[-2]) * m + int(stretch[-1])] += 1
    return np.asarray(pairs)
