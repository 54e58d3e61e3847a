"""Compiled counting: how often each pattern of reports stands at each choice of points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from chainveil.compiled import compiled

_compiled = compiled(nogil=True)


@_compiled
def count_windows(
    symbols: Any, borders: Any, owner: Any, labels: Any, window: Any, outputs: int, out: Any
) -> None:
    """Add the windows of every group to ``out``, shape (groups, outputs ** p).

    Stretch j is ``symbols[borders[j]:borders[j + 1]]`` and belongs to group ``owner[j]``.
    Where ``labels`` is not empty it holds the group of each point instead, -1 where a point
    is missing; then a window counts if all its points are of one group.
    """
    last, places = window[-1], len(window)
    for stretch in range(len(borders) - 1):
        row = out[owner[stretch]]
        for t in range(borders[stretch], borders[stretch + 1] - last):
            code = 0
            for place in range(places):
                code = code * outputs + symbols[t + window[place]]
            if len(labels) == 0:
                row[code] += 1
            else:
                same = labels[t] >= 0
                for place in range(1, places):
                    same = same and labels[t + window[place]] == labels[t]
                if same:
                    out[labels[t], code] += 1


@_compiled
def count_triples(symbols: Any, outputs: int, out: Any) -> None:
    """Count three neighbouring points of one stretch; ``out`` has shape (4, outputs ** 3).

    Four tables take turns, so that an addition need not wait for the one before it.
    """
    n = len(symbols)
    if n < 3:
        return
    first, second = np.int64(symbols[0]), np.int64(symbols[1])
    for t in range(2, n):
        third = np.int64(symbols[t])
        out[t & 3, (first * outputs + second) * outputs + third] += 1
        first, second = second, third


# Points of one byte each, eight to a word. A product moves the one or two bits that a point
# has next to each other: byte i of the word, times 2^(step j) with j = 7 - i (or 3 - i), is
# the only term that reaches its place. Tables of whole blocks then take one addition for
# eight points, or four, and hold every triple that begins in the block.


@_compiled
def count_blocks_of_bits(words: Any, tables: Any) -> Any:
    """Count ten points from every eighth on; ``tables`` has shape (2, 2 ** 10).

    Returns all words together, in which a point that is neither 0 nor 1 leaves a trace.
    """
    seen = words[0]
    ones = np.uint64(0x0101010101010101)
    gather, end = np.uint64(0x8040201008040201), np.uint64(56)
    before = ((words[0] & ones) * gather) >> end
    for t in range(1, len(words)):
        word = words[t]
        seen |= word
        after = ((word & ones) * gather) >> end
        tables[t & 1, (before << np.uint64(2)) | (after >> np.uint64(6))] += 1
        before = after
    return seen


@_compiled
def count_blocks_of_quarters(words: Any, tables: Any) -> Any:
    """Count six points, two bits each, from every fourth on; ``tables``: (2, 4 ** 6)."""
    seen = words[0]
    low, gather = np.uint64(0x03030303), np.uint64(0x40100401)
    end, half, nibble = np.uint64(24), np.uint64(32), np.uint64(4)
    byte = np.uint64(255)
    before = np.uint64(0)
    for t in range(len(words)):
        word = words[t]
        seen |= word
        first = (((word & low) * gather) >> end) & byte
        second = ((((word >> half) & low) * gather) >> end) & byte
        if t:
            tables[0, (before << nibble) | (first >> nibble)] += 1
        tables[1, (first << nibble) | (second >> nibble)] += 1
        before = second
    return seen


def _intrinsic(build: Any) -> Any:
    """An instruction of the machine; its type tells more than the checker can follow."""
    return intrinsic(build)


@_intrinsic
def _ones_in(typing_context: Any, word: Any) -> Any:
    """How many bits of a word are set."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


@_intrinsic
def _reversed_bytes(typing_context: Any, word: Any) -> Any:
    """A word whose first byte in memory counts most."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), build


@_compiled
def packed_sums(words: Any, out: Any) -> None:
    """Add up a, a b, a c and a b c over bits and the two after each.

    ``words`` is what ``numpy.packbits`` leaves, eight bytes at a time; the bits of the last
    word only follow others.
    """
    one, two = np.uint64(1), np.uint64(2)
    last, last_two = np.uint64(63), np.uint64(62)
    single = pair = apart = triple = np.uint64(0)
    for t in range(len(words) - 1):
        a, after = _reversed_bytes(words[t]), _reversed_bytes(words[t + 1])
        b = a & ((a << one) | (after >> last))
        c = (a << two) | (after >> last_two)
        single += _ones_in(a)
        pair += _ones_in(b)
        apart += _ones_in(a & c)
        triple += _ones_in(b & c)
    out[0], out[1], out[2], out[3] = single, pair, apart, triple


@compiled(nogil=True, inline="always")
def _across(first: Any, second: Any, shift: Any) -> Any:
    """The 64 points from bit ``shift`` of one word on, which go on in the next."""
    ahead = (_reversed_bytes(second) >> np.uint64(1)) >> (np.uint64(63) - shift)
    return (_reversed_bytes(first) << shift) | ahead


@_compiled
def pattern_sums(words: Any, places: Any, count: int, out: Any) -> None:
    """Add up every product of a, b, c and d, the bits ``places`` after those of ``count`` words.

    ``words`` is what ``numpy.packbits`` leaves, eight bytes at a time; ``places`` : int64 (4,);
    ``out`` : int64 (16,), of which place 1 stands for a, 2 for b, 4 for c and 8 for d.
    """
    p, q, r, s = places[0] >> 6, places[1] >> 6, places[2] >> 6, places[3] >> 6
    # Begun where they are read: an index that is never below 0 lets words be taken together.
    a0, b0, c0, d0 = words[p:], words[q:], words[r:], words[s:]
    a1, b1, c1, d1 = words[p + 1 :], words[q + 1 :], words[r + 1 :], words[s + 1 :]
    bits = (places & 63).astype(np.uint64)
    e, f, g, h = bits[0], bits[1], bits[2], bits[3]
    s1 = s2 = s3 = s4 = s5 = s6 = s7 = s8 = np.uint64(0)
    s9 = s10 = s11 = s12 = s13 = s14 = s15 = np.uint64(0)
    for t in range(count):
        a, b = _across(a0[t], a1[t], e), _across(b0[t], b1[t], f)
        c, d = _across(c0[t], c1[t], g), _across(d0[t], d1[t], h)
        ab, cd = a & b, c & d
        s1 += _ones_in(a)
        s2 += _ones_in(b)
        s3 += _ones_in(ab)
        s4 += _ones_in(c)
        s5 += _ones_in(a & c)
        s6 += _ones_in(b & c)
        s7 += _ones_in(ab & c)
        s8 += _ones_in(d)
        s9 += _ones_in(a & d)
        s10 += _ones_in(b & d)
        s11 += _ones_in(ab & d)
        s12 += _ones_in(cd)
        s13 += _ones_in(a & cd)
        s14 += _ones_in(b & cd)
        s15 += _ones_in(ab & cd)
    out[1:] = (s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15)


@_compiled
def count_pairs_of_group(labels: Any, borders: Any, distance: int, out: Any) -> None:
    """How many points of each group have one of the same group ``distance`` later."""
    for stretch in range(len(borders) - 1):
        for t in range(borders[stretch], borders[stretch + 1] - distance):
            if labels[t] >= 0 and labels[t] == labels[t + distance]:
                out[labels[t]] += 1


@_compiled
def last_and_own(symbols: Any, gaps: Any, origins: Any, outputs: int, out: Any) -> None:
    """``z * m + z'`` with z the last report of the series and z' a point's own; else -1.

    ``gaps`` is empty where no point is missing.
    """
    for series in range(len(origins) - 1):
        last = np.int64(-1)
        for t in range(origins[series], origins[series + 1]):
            out[t] = -1
            if len(gaps) == 0 or not gaps[t]:
                own = np.int64(symbols[t])
                if last >= 0:
                    out[t] = last * outputs + own
                last = own


@_compiled
def join_neighbours(
    code: Any, borders: Any, owner: Any, labels: Any, lag: int, wide: int, out: Any
) -> None:
    """Group and codes ``lag`` before, at and after each point as one number, in base ``wide``.

    One is added to each code, so that 0 stands for none: off the stretch, of another group, or -1.
    -1 where a point has no code or neither neighbour. Groups as in ``count_windows``.
    """
    for stretch in range(len(borders) - 1):
        begin, end = borders[stretch], borders[stretch + 1]
        for t in range(begin, end):
            group = owner[stretch] if len(labels) == 0 else labels[t]
            out[t] = -1
            if code[t] < 0 or group < 0:
                continue
            before = np.int64(-1)
            after = np.int64(-1)
            if t - lag >= begin and (len(labels) == 0 or labels[t - lag] == group):
                before = code[t - lag]
            if t + lag < end and (len(labels) == 0 or labels[t + lag] == group):
                after = code[t + lag]
            if before >= 0 or after >= 0:
                found = (group * wide + before + 1) * wide + code[t] + 1
                out[t] = found * wide + after + 1
