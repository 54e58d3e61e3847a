"""Compiled loops of noise that looks back and has three to eight reports.

A random number and a context lead each last report to a report: a *map*, which is known before
the last report is. It is one word, a byte for each last report that holds 8 times the report
after it, so that the next report is found by a shift that the last one names. As in
``memory_kernels.py`` no loop branches on a state, and no address depends on one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.mechanism.kernels import _listed, _reached
from chainveil.mechanism.map_vectors import pack_block, reached_block
from chainveil.mechanism.vectors import reserved_mask

_ZERO = np.uint64(0)


@compiled(nogil=True)
def map_words(
    around: Any, symbols: Any, reserved: Any, bounds: Any, words: Any, ties: Any
) -> int:  # fmt: skip
    """The map of each point; lists those that tie, and returns how many.

    ``around`` : uint8 contexts and ``symbols`` : uint8, both filled up to 64 points; ``bounds``
    : uint8 (m, m - 1, groups, 16), see ``reached_block``; ``words`` : uint32 or uint64,
    overwritten. A symbol below ``reserved`` ties.
    """
    found = np.uint64(0)
    planes = np.zeros((words.itemsize, 64), np.uint8)
    for first in range(0, len(words), 64):
        for last in range(bounds.shape[0]):
            reached_block(around, symbols, first, bounds, last, planes)
        pack_block(planes, words, first)
        found = _listed(reserved_mask(symbols, first, reserved), first, found, ties)
    return np.int64(found)  # type: ignore[return-value]


@compiled(nogil=True)
def settle_maps(
    ties: Any, draws: Any, bits: Any, symbols: Any, around: Any, tied: Any, reports: int, words: Any
) -> None:
    """Decide ties: the number is the symbol followed by further bits; every context compared.

    ``bits`` : uint64 (2,), how far a random word is shifted, and how many bits are left then;
    ``tied`` : uint64 (contexts, m (m - 1)), for ``reports`` m.
    """
    row = np.zeros(tied.shape[1], np.uint64)
    for i in range(len(ties)):
        place = ties[i]
        number = (np.uint64(symbols[place]) << bits[1]) | (draws[2 * i] >> bits[0])
        _pick_row(tied, np.int64(around[place]), row)
        word = _ZERO
        for last in range(reports):
            reached = _reached(row[last * (reports - 1) : (last + 1) * (reports - 1)], number)
            word |= np.uint64(reached) << np.uint64(8 * last + 3)
        words[place] = word


@compiled(nogil=True)
def _pick_row(table: Any, wanted: Any, out: Any) -> None:
    """One row of a table, every one of them read."""
    out[:] = _ZERO
    for number in range(table.shape[0]):
        mask = _ZERO - np.uint64(number == wanted)
        for j in range(table.shape[1]):
            out[j] |= table[number, j] & mask


@compiled(nogil=True)
def join_maps(words: Any, last: Any, out: Any) -> Any:
    """The reports of points in a row, from the last report before them; returns the last one."""
    mask = np.uint64(8 * words.itemsize - 1)
    shift = np.uint64(8 * last)
    for i in range(len(out)):
        shift = (np.uint64(words[i]) >> shift) & mask
        out[i] = shift >> np.uint64(3)
    return np.int64(shift >> np.uint64(3))


@compiled(nogil=True)
def join_row_maps(words: Any, owner: Any, last: Any, out: Any) -> None:
    """As ``join_maps``, where neighbouring rows may belong to different series.

    ``last`` : int64 (series,), overwritten.
    """
    mask = np.uint64(8 * words.itemsize - 1)
    for i in range(len(owner)):
        shift = np.uint64(8 * last[owner[i]])
        report = ((np.uint64(words[i]) >> shift) & mask) >> np.uint64(3)
        last[owner[i]] = np.int64(report)
        out[i] = report
