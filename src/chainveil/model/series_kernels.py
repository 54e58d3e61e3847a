"""Compiled counting of many series at once, each on its own."""

from __future__ import annotations

from typing import Any

from chainveil.compiled import compiled

_compiled = compiled(nogil=True)


@_compiled
def count_each(
    flat: Any, offsets: Any, states: int, order: int, gap: int, contexts: Any, halves: Any, out: Any
) -> None:
    """Count what follows each context of ``order`` points, and the transitions of both halves.

    Adds to ``contexts``, shape (series, states ** (order + 1)), and ``halves``, shape
    (series, 2, states ** 2); ``out``, shape (series,), gets the points that are there. Nothing
    reaches across a point that is ``gap``.
    """
    size = states ** (order + 1)
    # Divisions are slow, and most data have two states.
    mask = size - 1 if size & (size - 1) == 0 else 0
    for series in range(len(offsets) - 1):
        begin, end = offsets[series], offsets[series + 1]
        middle = begin + (end - begin) // 2
        code, run, points, last = 0, 0, 0, 0
        for t in range(begin, end):
            state = int(flat[t])
            if state == gap:
                code, run = 0, 0
                continue
            code = code * states + state
            code = code & mask if mask else code % size
            run += 1
            points += 1
            if run > 1:
                half = 1 if t >= middle else 0
                halves[series, half, last * states + state] += 1
            if run > order:
                contexts[series, code] += 1
            last = state
        out[series] = points


@_compiled
def lagged_sums(flat: Any, offsets: Any, lag: int, gap: int, out: Any) -> None:
    """Sums of each series, shape (series, 5): points, values, squares, pairs, products.

    A pair is two points that are ``lag`` apart, neither of them ``gap``.
    """
    for series in range(len(offsets) - 1):
        begin, end = offsets[series], offsets[series + 1]
        points, total, squares, pairs, products = 0, 0, 0, 0, 0
        # Without branches, so that the compiler takes many points at once.
        for t in range(begin, end):
            state, there = int(flat[t]), int(flat[t] != gap)
            points += there
            total += there * state
            squares += there * state * state
        for t in range(begin + lag, end):
            state, before = int(flat[t]), int(flat[t - lag])
            there = int(flat[t] != gap) & int(flat[t - lag] != gap)
            pairs += there
            products += there * state * before
        out[series, 0] = points
        out[series, 1] = total
        out[series, 2] = squares
        out[series, 3] = pairs
        out[series, 4] = products
