"""Compiled counting: how often each pattern of reports stands at each choice of points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from chainveil.compiled import compiled

# Ones that a byte can hold.
SHORT = 255

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


# Zeros and ones, a byte each, eight to a word. Words are added for as long as no byte can
# overflow; the compiler takes several at once, and the memory sets the pace.


@_compiled
def _bytes_of(word: Any) -> Any:
    """The sum of the eight bytes of a word."""
    odd = np.uint64(0x00FF00FF00FF00FF)
    pairs = (word & odd) + ((word >> np.uint64(8)) & odd)
    return np.int64((pairs * np.uint64(0x0001000100010001)) >> np.uint64(48))


@_compiled
def pair_sums(a: Any, b: Any, out: Any) -> None:
    """Add up a, b and a b."""
    for begin in range(0, len(a), SHORT):
        s0 = s1 = s01 = np.uint64(0)
        u = a[begin : begin + SHORT]
        v = b[begin : begin + SHORT]
        for t in range(len(u)):
            s0 += u[t]
            s1 += v[t]
            s01 += u[t] & v[t]
        out[1] += _bytes_of(s0)
        out[2] += _bytes_of(s1)
        out[3] += _bytes_of(s01)


@_compiled
def triple_sums(a: Any, b: Any, c: Any, out: Any) -> None:
    """Add up every product of a, b and c; place 1 stands for a, 2 for b, 4 for c."""
    for begin in range(0, len(a), SHORT):
        s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.uint64(0)
        u = a[begin : begin + SHORT]
        v = b[begin : begin + SHORT]
        w = c[begin : begin + SHORT]
        for t in range(len(u)):
            ab, bc = u[t] & v[t], v[t] & w[t]
            s1 += u[t]
            s2 += v[t]
            s3 += ab
            s4 += w[t]
            s5 += u[t] & w[t]
            s6 += bc
            s7 += ab & w[t]
        for place, word in enumerate((s1, s2, s3, s4, s5, s6, s7)):
            out[place + 1] += _bytes_of(word)


@_compiled
def quad_sums(a: Any, b: Any, c: Any, d: Any, out: Any) -> None:
    """Add up every product of a, b, c and d that has d in it; place 8 stands for d."""
    for begin in range(0, len(a), SHORT):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.uint64(0)
        u = a[begin : begin + SHORT]
        v = b[begin : begin + SHORT]
        w = c[begin : begin + SHORT]
        x = d[begin : begin + SHORT]
        for t in range(len(u)):
            ad, bd, cd = u[t] & x[t], v[t] & x[t], w[t] & x[t]
            s0 += x[t]
            s1 += ad
            s2 += bd
            s3 += ad & v[t]
            s4 += cd
            s5 += ad & w[t]
            s6 += bd & w[t]
            s7 += ad & v[t] & w[t]
        for place, word in enumerate((s0, s1, s2, s3, s4, s5, s6, s7)):
            out[place + 8] += _bytes_of(word)


@_compiled
def count_pairs_of_group(labels: Any, borders: Any, distance: int, out: Any) -> None:
    """How many points of each group have one of the same group ``distance`` later."""
    for stretch in range(len(borders) - 1):
        for t in range(borders[stretch], borders[stretch + 1] - distance):
            if labels[t] >= 0 and labels[t] == labels[t + distance]:
                out[labels[t]] += 1
