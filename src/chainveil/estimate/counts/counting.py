"""From released points to counts: the only place where all points are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.estimate.counts.packed import WORD, Packed
from chainveil.sequences import check_alphabet

if TYPE_CHECKING:
    from chainveil.estimate.counts.cells import Cells

IntArray = NDArray[np.int64]
# Below this many points a stretch is not worth the fast ways.
LONG = 8192
MOST_FOR_TRIPLES = 32
# States that two bits can hold, and points that make a block.
MOST_FOR_BLOCKS = 4
BLOCK = 16
# Points of a pattern that words are counted for.
MOST_PLACES = 4


def windows(cells: Cells, window: tuple[int, ...]) -> IntArray:
    """Counts of reports at ``t + window``, shape (groups, outputs ** p).

    The point ``t`` runs over all places at which the whole window lies in one stretch and
    one group. ``window`` begins with 0 and increases.
    """
    if isinstance(cells.source, Packed) and len(window) <= MOST_PLACES:
        return _binary(cells, window)
    if window == (0,) and not len(cells.marks) and cells.groups == 1:
        return _single(cells)
    if window in ((0, 1), (0, 1, 2)) and _few_long(cells):
        return cells.triples if len(window) == 3 else _pairs(cells, cells.triples)
    if cells.outputs == 2 and len(window) <= MOST_PLACES and _few_long(cells):
        return _binary(cells, window)
    from chainveil.estimate.counts import kernels

    size: int = cells.outputs ** len(window)
    out = np.zeros((cells.groups, size), np.int64)
    kernels.count_windows(
        cells.symbols, cells.borders, cells.owner, cells.marks,
        np.array(window, np.int64), cells.outputs, out,
    )  # fmt: skip
    return out


def check(cells: Cells) -> None:
    """Error if a point is no report; where triples are counted at once, that sees it too."""
    if not _few_long(cells):
        check_alphabet("z", cells.symbols, cells.outputs)
        return
    try:
        _ = cells.triples
    except InvalidInput:
        # Its place among all points, not in its stretch.
        check_alphabet("z", cells.symbols, cells.outputs)


def pairs_at(cells: Cells, distance: int) -> IntArray:
    """How many pairs of points of one group lie ``distance`` apart, shape (groups,)."""
    if not len(cells.marks):
        inside = np.maximum(np.diff(cells.borders) - distance, 0)
        return np.bincount(cells.owner, inside, cells.groups).astype(np.int64)
    from chainveil.estimate.counts import kernels

    out = np.zeros(cells.groups, np.int64)
    kernels.count_pairs_of_group(cells.marks, cells.borders, distance, out)
    return out


def _binary(cells: Cells, window: tuple[int, ...]) -> IntArray:
    out = np.zeros((cells.groups, 2 ** len(window)), np.int64)
    for owner, packed in zip(cells.owner, cells.packed, strict=True):
        out[owner] += binary_counts(packed, window)
    return out


def _few_long(cells: Cells) -> bool:
    """Whether stretches are long, and not cut into labelled points."""
    if isinstance(cells.source, Packed):
        return False
    long = cells.size >= LONG * (len(cells.borders) - 1)
    return long and not len(cells.marks) and cells.outputs <= MOST_FOR_TRIPLES


def _single(cells: Cells) -> IntArray:
    if _few_long(cells):
        counts = cells.triples.reshape(cells.outputs, -1).sum(axis=1)
        # Every stretch has two more points than triples.
        ends = np.concatenate([stretch[-2:] for stretch in cells.series])
        return np.asarray(counts + np.bincount(ends, minlength=cells.outputs))[None]
    return np.bincount(cells.symbols, minlength=cells.outputs)[None]


def triples(cells: Cells) -> IntArray:
    """Counts of three neighbouring reports, shape (groups, outputs ** 3), in one pass."""
    out = np.zeros((cells.groups, cells.outputs**3), np.int64)
    for owner, stretch in zip(cells.owner, cells.series, strict=True):
        out[owner] += _stretch_triples(stretch, cells.outputs)
    return out


def _stretch_triples(stretch: NDArray[np.uint8], outputs: int) -> IntArray:
    from chainveil.estimate.counts import kernels

    if outputs <= MOST_FOR_BLOCKS and stretch.dtype == np.uint8 and len(stretch) >= BLOCK:
        return _block_triples(stretch, outputs)
    tables = np.zeros((4, outputs**3), np.int64)
    kernels.count_triples(stretch, outputs, tables)
    return np.asarray(tables.sum(axis=0))


def _block_triples(stretch: NDArray[np.uint8], outputs: int) -> IntArray:
    """Triples of two to four states from a table of blocks; checks the alphabet on the way."""
    from chainveil.estimate.counts import kernels

    bits, span = (1, 8) if outputs == 2 else (2, 4)
    count = kernels.count_blocks_of_bits if bits == 1 else kernels.count_blocks_of_quarters
    words = stretch[: len(stretch) // 8 * 8].view(np.uint64)
    tables = np.zeros((2, 2 ** (bits * (span + 2))), np.int64)
    seen = int(count(words, tables))
    within = np.zeros(2 ** (3 * bits), np.int64)
    blocks = tables.sum(axis=0)
    for place in range(span):
        codes = np.arange(len(blocks)) >> (bits * (span - 1 - place))
        np.add.at(within, codes & (len(within) - 1), blocks)
    cube = within.reshape((2**bits,) * 3)
    found = cube[:outputs, :outputs, :outputs].copy()
    rest = stretch[8 * len(words) - span :]
    foreign = seen & ~(0x0101010101010101 * (2**bits - 1)) or found.sum() < cube.sum()
    if foreign or int(rest.max()) >= outputs:
        check_alphabet("z", stretch, outputs)
    return np.asarray(found.reshape(-1) + plain_counts(rest, (0, 1, 2), outputs))


def packed_windows(packed: Packed) -> dict[tuple[int, ...], IntArray]:
    """Counts of one, two and three neighbours of packed points, shape (1, 2^p) each."""
    from chainveil.estimate.counts import kernels

    words = packed.words
    begun = WORD * max(len(words) - 1, 0)
    sums = np.zeros(4, np.int64)
    if begun:
        kernels.packed_sums(words, sums)
    head, tail = np.unpackbits(packed.bits[:1])[:2].astype(np.int64), packed.unpacked(begun)
    counts = np.zeros(8, np.int64)
    if begun:
        counts = _from_sums(_shifted(begun, sums, head, tail[:2].astype(np.int64)), 3)
    found = {}
    for places in (1, 2, 3):
        window = tuple(range(places))
        inside = counts.reshape(2**places, -1).sum(axis=1)
        found[window] = (inside + plain_counts(tail, window, 2))[None]
    return found


def _shifted(count: int, sums: IntArray, head: IntArray, tail: IntArray) -> IntArray:
    """All sums of products over ``count`` places, from those of a, ab, ac and abc.

    One place later the sums have lost their first term and gained the one after the last.
    """
    a, ab, ac, abc = sums
    b = a - head[0] + tail[0]
    c = b - head[1] + tail[1]
    bc = ab - head[0] * head[1] + tail[0] * tail[1]
    return np.array([count, a, b, ab, c, ac, bc, abc])


def plain_counts(stretch: NDArray[Any], window: tuple[int, ...], outputs: int) -> IntArray:
    """Counts of patterns the plain way, shape (outputs ** p,)."""
    n = max(len(stretch) - window[-1], 0)
    codes = np.zeros(n, np.int64)
    for place in window:
        codes = outputs * codes + stretch[place : place + n]
    return np.bincount(codes, minlength=outputs ** len(window))


def binary_counts(packed: Packed, window: tuple[int, ...]) -> IntArray:
    """Counts of the patterns of up to four points, shape (2^p,), 64 points at a time."""
    from chainveil.estimate.counts import kernels

    places = np.zeros(MOST_PLACES, np.int64)
    places[: len(window)] = window
    # Words whose points have all that follows them in whole words, too.
    whole = max(len(packed.words) - 1 - window[-1] // WORD, 0)
    sums = np.zeros(2**MOST_PLACES, np.int64)
    sums[0] = WORD * whole
    kernels.pattern_sums(packed.words, places, whole, sums)
    counts = _from_sums(sums[: 2 ** len(window)], len(window))
    return np.asarray(counts + plain_counts(packed.unpacked(WORD * whole), window, 2))


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
