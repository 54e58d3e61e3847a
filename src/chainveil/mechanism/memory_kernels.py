"""Compiled loops of noise that looks back: turns, contexts, and reports that are held.

What a report looks at beside the last report is one number, its *context*. With k states:

    w x + x'            the point before it is x, its own x'
    g + x'              the point before it is missing
    f + x'              no report was made before
    f + k               the point is missing: the last report stands

where w, g, f = k, k^2, k^2 + k for noise that looks at the point before, and 0, 0, k for noise
that does not: its *layout* is the array of w, g, f and f + k.

A report therefore depends on a random number, its context and the last report. The contexts
depend on the data alone, so that the reports that a random number may lead to, one for each
last report, are known before the last report is: for two reports a *turn*, for more a *map*
(``map_kernels.py``). They are joined along the series at the end. The first report of a series
is the same whatever came before it, and so ends what was joined so far.

As in ``kernels.py`` no loop branches on a state; which points are missing is public.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.mechanism.kernels import _listed, _reached
from chainveil.mechanism.vectors import FILL, fill_block, spread_block, turn_block

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@compiled(nogil=True)
def contexts(
    states: Any, offsets: Any, layout: Any, fresh: bool, memory: Any, out: Any
) -> Any:  # fmt: skip
    """The context of each point of series without gaps, laid end to end.

    ``memory`` : int64 (2,), whether a report was
    made before the piece, and the state before it or -1; it counts unless the piece is
    ``fresh``, and is overwritten with those at its end. Returns all states joined by OR.
    """
    joined = np.uint64(0)
    step = out.dtype.type(layout[0])
    for j in range(len(offsets) - 1):
        held, result = states[offsets[j] : offsets[j + 1]], out[offsets[j] : offsets[j + 1]]
        if len(held) == 0:
            continue
        result[0] = _context(np.int64(held[0]), layout, memory[0] and not fresh, memory[1])
        _step_contexts(held[:-1], held[1:], step, result[1:])
        joined |= _any_bits(held)
        memory[0], memory[1] = 1, np.int64(held[-1])
    return joined


@compiled(nogil=True)
def _step_contexts(before: Any, states: Any, step: Any, out: Any) -> None:
    for i in range(len(states)):
        out[i] = step * before[i] + states[i]


@compiled(nogil=True)
def _any_bits(states: Any) -> Any:
    some = states[0]
    for i in range(1, len(states)):
        some = states.dtype.type(some | states[i])
    return np.uint64(some)


@compiled(nogil=True, inline="always")
def _context(state: Any, layout: Any, reported: Any, before: Any) -> Any:
    """The context of a point that is there."""
    if not reported:
        return layout[2] + state
    if before < 0:
        return layout[1] + state
    return layout[0] * before + state


@compiled(nogil=True)
def contexts_over(
    states: Any, gaps: Any, offsets: Any, layout: Any, fresh: bool, memory: Any, out: Any
) -> Any:  # fmt: skip
    """As ``contexts``, where ``gaps`` : bool (n,) says which points are missing."""
    joined = np.uint64(0)
    for j in range(len(offsets) - 1):
        if fresh:
            memory[0], memory[1] = 0, -1
        for i in range(offsets[j], offsets[j + 1]):
            if gaps[i]:
                out[i] = layout[3]
                memory[1] = -1
                continue
            state = np.int64(states[i])
            out[i] = _context(state, layout, memory[0] != 0, memory[1])
            joined |= np.uint64(state)
            memory[0], memory[1] = 1, state
    return joined


@compiled(nogil=True)
def row_contexts(states: Any, owner: Any, steps: Any, layout: Any, memory: Any, out: Any) -> None:
    """The context of each row of a table; a step of more than one point leaves out a gap.

    ``steps`` : int64 (n,), see ``kernels.advances``; ``memory`` : int64 (series, 2).
    """
    for i in range(len(states)):
        kept, state = memory[owner[i]], np.int64(states[i])
        before = kept[1] if steps[i] == 1 else np.int64(-1)
        out[i] = _context(state, layout, kept[0] != 0, before)
        kept[0], kept[1] = 1, state


@compiled(nogil=True)
def turn_words(around: Any, symbols: Any, highs: Any, words: Any, ties: Any) -> int:
    """Two states: the report after a 0 and after a 1, a bit each; lists ties, returns how many.

    ``around`` : uint8 contexts and ``symbols`` : uint8, both filled up to whole words;
    ``highs`` : uint8 (2, 16), by last report and context, symbols up to which a 1 is
    reported; ``words`` : uint64 (2, n / 64), overwritten. A symbol of 0 ties.
    """
    found = np.uint64(0)
    for word in range(words.shape[1]):
        first = 64 * word
        after0, after1, tied = turn_block(around, symbols, first, highs)
        words[0, word], words[1, word] = after0, after1
        found = _listed(tied, first, found, ties)
    return np.int64(found)  # type: ignore[return-value]


@compiled(nogil=True)
def settle_turns(ties: Any, draws: Any, shift: Any, around: Any, lows: Any, words: Any) -> None:
    """Decide ties; ``lows`` : uint64 (2, 16), every one of them compared."""
    for i in range(len(ties)):
        place = ties[i]
        draw, bit = draws[2 * i] >> shift, np.uint64(place & 63)
        for last in range(2):
            low = _ZERO
            for context in range(lows.shape[1]):
                here = np.uint64(around[place] == context)
                low |= lows[last, context] & (_ZERO - here)
            words[last, place >> 6] |= np.uint64(draw < low) << bit


@compiled(nogil=True)
def start_turns(words: Any, places: Any, reports: Any) -> None:
    """Let the turns at some places lead to given reports, whatever came before them."""
    for i in range(len(places)):
        bit = np.uint64(places[i] & 63)
        for last in range(2):
            kept = words[last, places[i] >> 6] & ~(_ONE << bit)
            words[last, places[i] >> 6] = kept | (np.uint64(reports[i]) << bit)


@compiled(nogil=True, inline="always")
def _joined(after0: Any, after1: Any, last: Any) -> Any:
    """The reports of 64 turns in a row, the lowest bit first, on from a last report.

    A turn is ``z -> a XOR (c AND z)``; so are two in a row, and the number of turns that are
    joined doubles from line to line.
    """
    a, c = after0, after0 ^ after1
    for step in (1, 2, 4, 8, 16, 32):
        by = np.uint64(step)
        a ^= c & (a << by)
        c &= (c << by) | ((_ONE << by) - _ONE)
    return a ^ (c & (_ZERO - last))


@compiled(nogil=True)
def join_turns(words: Any, last: Any, out: Any) -> Any:
    """The reports of points in a row, from the last report before them; returns the last one.

    ``words`` as of ``turn_words``; ``out`` : uint8 (n,).
    """
    last = np.uint64(last)
    whole = len(out) // 64
    for word in range(whole):
        reports = _joined(words[0, word], words[1, word], last)
        last = reports >> np.uint64(63)
        spread_block(reports, out, 64 * word)
    rest = len(out) - 64 * whole
    if rest:
        reports = _joined(words[0, whole], words[1, whole], last)
        for i in range(rest):
            last = (reports >> np.uint64(i)) & _ONE
            out[64 * whole + i] = last
    return last


@compiled(nogil=True)
def join_row_turns(words: Any, owner: Any, last: Any, out: Any) -> None:
    """As ``join_turns``, where neighbouring rows may belong to different series.

    ``last`` : int64 (series,), overwritten.
    """
    for i in range(len(owner)):
        bit = np.uint64(i & 63)
        after0, after1 = words[0, i >> 6] >> bit, words[1, i >> 6] >> bit
        held = np.uint64(last[owner[i]])
        held = (after0 ^ ((after0 ^ after1) & held)) & _ONE
        last[owner[i]] = held
        out[i] = held


@compiled(nogil=True)
def walk_contexts(
    around: Any, numbers: Any, where: Any, bounds: Any, last: Any, out: Any
) -> Any:  # fmt: skip
    """Any number of reports: each from the bounds of its context and the last report.

    ``numbers`` : uint64 (n,); ``where`` : int64 (contexts, 2), the row of ``bounds`` : uint64
    (rows, m - 1) after the last report 0, and by how much the last report moves it. Returns
    the last one.
    """
    report = np.int64(last)
    for i in range(len(out)):
        row = where[around[i], 0] + where[around[i], 1] * report
        report = np.int64(_reached(bounds[row], numbers[i]))
        out[i] = report
    return report


@compiled(nogil=True)
def walk_row_contexts(
    around: Any, numbers: Any, owner: Any, where: Any, bounds: Any, last: Any, out: Any
) -> None:
    """As ``walk_contexts``, where neighbouring rows may belong to different series."""
    for i in range(len(out)):
        row = where[around[i], 0] + where[around[i], 1] * last[owner[i]]
        report = _reached(bounds[row], numbers[i])
        last[owner[i]] = report
        out[i] = report


@compiled(nogil=True)
def pick(values: Any, offsets: Any, every: int, first: int, out: Any) -> None:
    """The values of the points that report, series after series."""
    place = 0
    for j in range(len(offsets) - 1):
        for i in range(offsets[j] + first, offsets[j + 1], every):
            out[place] = values[i]
            place += 1


@compiled(nogil=True)
def hold(
    reports: Any, missing: Any, offsets: Any, every: int, first: int, held: Any, out: Any
) -> None:
    """Write each report over its block; a block without one holds the report before it.

    ``reports`` : (places,), those of all series one after the other; ``missing`` : bool, which
    of them were not made, or empty where all were; ``offsets`` : int64 (series + 1,), the
    series in ``out``, of which each begins a block; ``held`` : int64 (2, series), the report
    before or -1, overwritten with the last one, and the number of points that come before any
    report, which are 0 in ``out``.
    """
    place = 0
    for j in range(held.shape[1]):
        report, begin = held[0, j], offsets[j]
        if len(missing) == 0:
            room = out[begin : offsets[j + 1]]
            whole = max(len(room) - FILL, 0) // every
            _hold_whole(reports[place : place + whole], every, room)
            report = np.int64(reports[place + whole - 1]) if whole else report
            begin, place = begin + whole * every, place + whole
        while begin < offsets[j + 1]:
            end = min(begin + every, offsets[j + 1])
            if begin + first < end:
                if len(missing) == 0 or not missing[place]:
                    report = np.int64(reports[place])
                place += 1
            held[1, j] += (end - begin) * (report < 0)
            out[begin:end] = max(report, 0)
            begin = end
        held[0, j] = report


@compiled(nogil=True)
def _hold_whole(reports: Any, every: int, out: Any) -> None:
    """Each report over its whole block; ``FILL`` places behind the last must be there.

    What is written behind a block is written again by the next: short blocks are one store.
    """
    begin = 0
    for place in range(len(reports)):
        end = begin + every
        while begin < end:
            fill_block(reports[place], out, begin)
            begin += FILL
        begin = end
