"""Compiled counting of many series at once, each on its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

_compiled = compiled(nogil=True)


@_compiled
def count_each(
    flat: Any, offsets: Any, states: int, order: int, gap: int, halves: Any, pairs: Any, out: Any
) -> None:
    """Count what follows each context of ``order`` points in both halves, and all transitions.

    Adds to ``halves``, shape (series, 2, states ** (order + 1)), and ``pairs``, shape
    (series, states ** 2); ``out``, shape (series,), gets the points that are there. Nothing
    reaches across a point that is ``gap``.
    """
    size, last, bits = states ** (order + 1), states * states, 0
    while 1 << bits < states:
        bits += 1
    # Divisions are slow, and most data have two states.
    shifts = 1 << bits == states
    words = np.zeros(size, np.int32)
    for series in range(len(offsets) - 1):
        begin, end = offsets[series], offsets[series + 1]
        middle = begin + (end - begin) // 2
        code, run, points = 0, 0, 0
        for half in range(2):
            part = flat[middle:end] if half else flat[begin:middle]
            for t in range(len(part)):
                state = int(part[t])
                if state == gap:
                    run = 0
                    continue
                if shifts:
                    code = (code << bits | state) & (size - 1)
                else:
                    code = (code * states + state) % size
                if run == order:
                    words[code] += 1
                    continue
                if run:
                    pairs[series, code % last] += 1
                run += 1
                points += 1
            # Where the context is whole, its last point and the next are the transition.
            for word in range(size):
                halves[series, half, word] += words[word]
                pairs[series, word % last] += words[word]
                points += words[word]
                words[word] = 0
        out[series] = points


@_compiled
def lagged_sums(flat: Any, offsets: Any, lag: int, gap: int, out: Any) -> None:
    """Sums of each series, shape (series, 5): points, values, squares, pairs, products.

    A pair is two points that are ``lag`` apart, neither of them ``gap``.
    """
    for series in range(len(offsets) - 1):
        whole = flat[offsets[series] : offsets[series + 1]]
        points, total, squares, pairs, products = 0, 0, 0, 0, 0
        # Without branches, and in slices of which no place can be negative, so that the compiler
        # takes many points at once.
        for t in range(len(whole)):
            state, there = int(whole[t]), int(whole[t] != gap)
            points += there
            total += there * state
            squares += there * state * state
        earlier, later = whole[: max(len(whole) - lag, 0)], whole[lag:]
        for t in range(len(later)):
            there = int(earlier[t] != gap) & int(later[t] != gap)
            pairs += there
            products += there * int(earlier[t]) * int(later[t])
        out[series, 0] = points
        out[series, 1] = total
        out[series, 2] = squares
        out[series, 3] = pairs
        out[series, 4] = products
