"""Compiled loops of the mechanisms. Random bytes are drawn outside and passed in.

No loop branches on a state or on a decision about one. Ties branch on the random symbol
alone, which is independent of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.mechanism.vectors import (
    STRIPE,
    flip_block,
    flip_group,
    report_block,
    reserved_mask,
    trailing_zeros,
)

_BYTE = np.uint64(0xFF)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@compiled(nogil=True)
def _swapped(word: Any) -> Any:
    """The eight bytes of a word in the opposite order."""
    result = np.uint64(0)
    for byte in range(8):
        result |= ((word >> np.uint64(8 * byte)) & _BYTE) << np.uint64(56 - 8 * byte)
    return result


@compiled(nogil=True, inline="always")
def _listed(mask: Any, base: int, found: Any, places: Any) -> Any:
    """List ``base`` plus the place of each set bit behind the ``found`` so far; the new number.

    The first is written whether there is one or not: a branch that is taken now and then
    costs more than the write.
    """
    places[found] = base + np.int64(trailing_zeros(mask))
    found += np.uint64(mask != _ZERO)
    mask &= mask - _ONE
    while mask != _ZERO:
        places[found] = base + np.int64(trailing_zeros(mask))
        found += _ONE
        mask &= mask - _ONE
    return found


@compiled(nogil=True)
def _find(symbols: Any, reserved: Any, places: Any) -> int:
    """List the place of each symbol below ``reserved``, in order; returns how many."""
    found = np.uint64(0)
    for first in range(0, len(symbols), 64):
        mask = reserved_mask(symbols, first, reserved)
        found = _listed(mask, first, found, places)
    return np.int64(found)  # type: ignore[return-value]


@compiled(nogil=True)
def flip(states: Any, high0: Any, high1: Any, out: Any, base: int, ties: Any) -> int:
    """Two states: write the reports of all points that do not tie; list those that do.

    ``states``, ``out`` : uint8 (n,); ``out`` holds symbol XOR state before, and the report
    after. ``ties`` : int64, room for n. A point that ties keeps its state in ``out``; its
    place is listed counted from ``-base``.
    Returns the number of ties, or -1 if a state was neither 0 nor 1.
    """
    found = np.uint64(0)
    strange = np.uint64(0)
    whole = len(states) // 64 * 64
    for first in range(0, whole, 64):
        mask, wrong = flip_block(states, out, first, high0, high1, out)
        strange |= wrong
        found = _listed(mask, base + first, found, ties)
    for i in range(whole, len(states)):
        state = states[i]
        symbol = np.uint8(out[i] ^ state)
        high = np.uint8(high0 ^ (np.uint8(high0 ^ high1) & np.uint8(-state)))
        out[i] = state ^ np.uint8(np.uint8(symbol - np.uint8(1)) < high)
        strange |= np.uint64(state > 1)
        ties[found] = base + i
        found += np.uint64(symbol == 0)
    return np.int64(found) if strange == _ZERO else np.int64(-1)  # type: ignore[return-value]


@compiled(nogil=True)
def settle_flips(ties: Any, draws: Any, shift: Any, low0: Any, low1: Any, out: Any) -> None:
    """Decide ties of two states; ``draws`` : uint64 (2 n,), of which every other is used."""
    either = low0 ^ low1
    for i in range(len(ties)):
        state = out[ties[i]]
        low = low0 ^ (either & (_ZERO - np.uint64(state)))
        out[ties[i]] = state ^ np.uint8((draws[2 * i] >> shift) < low)


@compiled(nogil=True)
def _reached(row: Any, number: Any) -> int:
    """How many of the bounds in ``row`` the number reaches, every one of them compared."""
    report = 0
    for j in range(len(row)):
        report += number >= row[j]
    return report


@compiled(nogil=True)
def walk_kernel(
    states: Any,
    numbers: Any,
    offsets: Any,
    fresh: Any,
    first: Any,
    step: Any,
    last: Any,
    out: Any,
) -> None:
    """Draw each report from the bounds that the last report, the last state and the state name.

    ``numbers`` : uint64 (n,); ``first`` : uint64 (k, m - 1); ``step`` : uint64
    (m, k, k, m - 1); ``last`` : int64 (series, 2), report and state before the piece where it
    is not ``fresh``; overwritten with those at its end.
    """
    for j in range(len(last)):
        report, before = last[j, 0], last[j, 1]
        for i in range(offsets[j], offsets[j + 1]):
            state = np.int64(states[i])
            if fresh and i == offsets[j]:
                report = _reached(first[state], numbers[i])
            else:
                report = _reached(step[report, before, state], numbers[i])
            out[i] = report
            before = state
        last[j, 0], last[j, 1] = report, before


@compiled(nogil=True)
def walk_kernel_rows(
    states: Any,
    numbers: Any,
    owner: Any,
    points: Any,
    first: Any,
    step: Any,
    last: Any,
    out: Any,
) -> None:
    """As ``walk_kernel``, where neighbouring rows may belong to different series."""
    for i in range(len(states)):
        held, state = last[owner[i]], np.int64(states[i])
        if points[i] == 0:
            held[0] = _reached(first[state], numbers[i])
        else:
            held[0] = _reached(step[held[0], held[1], state], numbers[i])
        held[1] = state
        out[i] = held[0]


@compiled(nogil=True)
def advances(owner: Any, points: Any, last: Any, out: Any) -> int:
    """How many points each row lies after the row of its series before.

    ``last`` : int64 (series,), the last point seen, -1 where there is none; overwritten.
    Returns the sum, or -1 if some row lies before the one before it.
    """
    total = 0
    least = 1
    for i in range(len(points)):
        step = points[i] - last[owner[i]]
        last[owner[i]] = points[i]
        out[i] = step
        total += step
        least = min(least, step)
    return total if least > 0 else -1


@compiled(nogil=True)
def report_few(states: Any, symbols: Any, reserved: Any, last: Any, out: Any, ties: Any) -> int:
    """Up to 8 states and outputs; ``last`` : uint8 (7, 16), by output and state, padded with 255.

    Ties keep the state and are listed, as in ``flip``; returns how many.
    """
    found = np.uint64(0)
    whole = len(states) // 64 * 64
    for first in range(0, whole, 64):
        mask = report_block(states, symbols, first, reserved, last, out)
        found = _listed(mask, first, found, ties)
    for i in range(whole, len(states)):
        result = np.uint8(0)
        for row in range(8):
            for j in range(7):
                result += np.uint8((states[i] == row) & (symbols[i] > last[j, row]))
        out[i] = result if symbols[i] >= reserved else states[i]
        ties[found] = i
        found += np.uint64(symbols[i] < reserved)
    return np.int64(found)  # type: ignore[return-value]


@compiled(nogil=True)
def report_many(states: Any, symbols: Any, reserved: Any, last: Any, out: Any, ties: Any) -> int:
    """Any number of states: each point is compared with its whole row. Ties as above."""
    for i in range(len(states)):
        symbol = symbols[i]
        result = np.uint16(0)
        for j in range(last.shape[1]):
            result += np.uint16(symbol > last[states[i], j])
        out[i] = result if symbol >= reserved else states[i]
    return _find(symbols, reserved, ties)


@compiled(nogil=True)
def settle_reports(
    ties: Any, draws: Any, shift: Any, rest: Any, symbols: Any, tied: Any, out: Any
) -> None:
    """Decide ties of any channel: the number is the symbol followed by ``rest`` further bits."""
    for i in range(len(ties)):
        place = ties[i]
        number = (np.uint64(symbols[place]) << rest) | (draws[2 * i] >> shift)
        state = out[place]
        result = 0
        for j in range(tied.shape[1]):
            result += number >= tied[state, j]
        out[place] = result


@compiled(nogil=True)
def flip_packed(
    states: Any, symbols: Any, offsets: Any, skip: int, masks: Any, out: Any, ties: Any
) -> None:
    """Two states, eight points a byte. ``ties`` : uint8, a bit for each point that ties.

    ``offsets`` : int64 (series + 1,), where each series begins in ``states``; each series
    owns whole groups of ``symbols``: 8 planes of ``STRIPE`` bytes, the least bit first.
    ``skip`` is where the first byte of every series lies in its first group. ``masks`` :
    uint8 (2, 8), all ones where the high threshold of the state has that bit.
    """
    base = 0
    for series in range(len(offsets) - 1):
        shift = skip - offsets[series]
        groups = (offsets[series + 1] + shift + STRIPE - 1) // STRIPE
        for group in range(groups):
            begin = max(offsets[series], group * STRIPE - shift)
            end = min(offsets[series + 1], (group + 1) * STRIPE - shift)
            first = base + 8 * STRIPE * group
            if end - begin == STRIPE:
                flip_group(states, begin, symbols, first, masks, out, ties)
            else:
                planes = symbols[first + begin + shift - group * STRIPE : first + 8 * STRIPE]
                _flip_few(states[begin:end], planes, masks, out[begin:end], ties[begin:end])
        base += groups * 8 * STRIPE


@compiled(nogil=True)
def _flip_few(states: Any, planes: Any, masks: Any, out: Any, ties: Any) -> None:
    """Part of a group, a byte at a time; ``planes`` begins at the first byte's first plane."""
    for i in range(len(states)):
        some = np.uint8(0)
        below0 = np.uint8(255)
        below1 = np.uint8(255)
        for bit in range(8):
            drawn = planes[i + bit * STRIPE]
            some = np.uint8(some | drawn)
            clear = np.uint8(~drawn)
            below0 = np.uint8((below0 & clear) | (masks[0, bit] & (below0 | clear)))
            below1 = np.uint8((below1 & clear) | (masks[1, bit] & (below1 | clear)))
        state = states[i]
        ties[i] = np.uint8(~some)
        out[i] = np.uint8(state ^ (some & ((below0 & ~state) | (below1 & state))))


@compiled(nogil=True)
def find_bits(words: Any, places: Any) -> int:
    """List the places of set bits (bit 0 of byte 0 first); returns how many."""
    found = np.uint64(0)
    for i in range(len(words)):
        found = _listed(words[i], 64 * i, found, places)
    return np.int64(found)  # type: ignore[return-value]


@compiled(nogil=True)
def settle_bits(ties: Any, draws: Any, shift: Any, low0: Any, low1: Any, out: Any) -> None:
    """Decide ties of packed points; ``ties`` : places of bits in ``out``."""
    either = low0 ^ low1
    for i in range(len(ties)):
        byte = ties[i] >> 3
        bit = np.uint8(ties[i] & 7)
        state = (out[byte] >> bit) & np.uint8(1)
        low = low0 ^ (either & (_ZERO - np.uint64(state)))
        out[byte] ^= np.uint8(np.uint8((draws[2 * i] >> shift) < low) << bit)


@compiled(nogil=True)
def tie_counters(
    ties: Any, offsets: Any, series: Any, first: Any, plane: Any, counters: Any
) -> None:
    """The counter of each tie, shape (n, 2): its series, its plane and its point.

    Series ``series + j`` holds the places ``offsets[j] … offsets[j + 1] - 1``, of which the
    first is point ``first``.
    """
    j = 0
    for i in range(len(ties)):
        while ties[i] >= offsets[j + 1]:
            j += 1
        point = np.uint64(first + ties[i] - offsets[j])
        counters[i, 0] = _swapped(np.uint64(series + j))
        counters[i, 1] = _swapped(plane | point)


@compiled(nogil=True)
def row_counters(numbers: Any, points: Any, width: Any, plane: Any, counters: Any) -> None:
    """The counter of the block in which ``width`` bytes a point bring each row: shape (n, 2)."""
    for i in range(len(points)):
        counters[i, 0] = _swapped(numbers[i])
        counters[i, 1] = _swapped(plane | np.uint64((points[i] * width) >> 4))


@compiled(nogil=True)
def pick_symbols(points: Any, width: Any, blocks: Any, out: Any) -> None:
    """The ``width`` bytes of each row out of its block; ``out`` : uint8 (n * width,)."""
    for i in range(len(points)):
        place = 16 * i + ((points[i] * width) & 15)
        for byte in range(width):
            out[i * width + byte] = blocks[place + byte]


@compiled(nogil=True)
def run_counters(
    lengths: Any, series: Any, block: Any, skip: Any, plane: Any, counters: Any
) -> None:
    """Counters of the runs of many series, whole blocks, one run after the other."""
    at = 0
    for j in range(len(lengths)):
        for i in range((skip + lengths[j] + 15) // 16 if lengths[j] else 0):
            counters[at, 0] = _swapped(np.uint64(series + j))
            counters[at, 1] = _swapped(plane | np.uint64(block + i))
            at += 1


@compiled(nogil=True)
def join_runs(lengths: Any, skip: Any, blocks: Any, out: Any) -> None:
    """Drop the bytes of the blocks that no run asked for; ``out`` : uint8 (sum of lengths,)."""
    source = 0
    destination = 0
    for j in range(len(lengths)):
        run = blocks[source + skip : source + skip + lengths[j]]
        place = out[destination : destination + lengths[j]]
        for i in range(len(run)):
            place[i] = run[i]
        destination += lengths[j]
        if lengths[j]:
            source += (skip + lengths[j] + 15) // 16 * 16
