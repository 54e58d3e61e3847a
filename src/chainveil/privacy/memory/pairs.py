"""Matrices of pairs of doubles (106 bits), for powers that single doubles would blur.

Sums of products of non-negative numbers: ``m`` steps are off by about m times 2^-100.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.memory.kernel import image

# Splits a double in two halves whose products have no error (2^27 + 1).
SPLITTER = 134217729.0


@compiled(error_model="numpy")
def product(a: float, b: float) -> Any:
    """A product as a pair of doubles without error (Dekker)."""
    p = a * b
    c = SPLITTER * a
    high_a = c - (c - a)
    low_a = a - high_a
    d = SPLITTER * b
    high_b = d - (d - b)
    low_b = b - high_b
    return p, ((high_a * high_b - p) + high_a * low_b + low_a * high_b) + low_a * low_b


@compiled(error_model="numpy")
def exact_sum(a: float, b: float) -> Any:
    """A sum as a pair of doubles without error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@compiled(error_model="numpy")
def times(ah: float, al: float, bh: float, bl: float) -> Any:
    """Product of two pairs."""
    p, e = product(ah, bh)
    e += ah * bl + al * bh
    return exact_sum(p, e)


@compiled(error_model="numpy")
def plus(ah: float, al: float, bh: float, bl: float) -> Any:
    """Sum of two pairs of one sign."""
    s, e = exact_sum(ah, bh)
    e += al + bl
    return exact_sum(s, e)


@compiled(error_model="numpy")
def multiply(a: Any, b: Any, out: Any) -> None:
    """Product of two matrices of pairs, shape (4, 2), scaled to a largest entry near 1."""
    for row in range(2):
        for column in range(2):
            first = times(a[2 * row, 0], a[2 * row, 1], b[column, 0], b[column, 1])
            second = times(a[2 * row + 1, 0], a[2 * row + 1, 1], b[2 + column, 0], b[2 + column, 1])
            total = plus(first[0], first[1], second[0], second[1])
            out[2 * row + column, 0], out[2 * row + column, 1] = total
    top = 0.0
    for entry in range(4):
        top = max(top, out[entry, 0])
    if top > 0 and not 0.25 <= top <= 4:
        scale = 2.0 ** -np.floor(np.log2(top))
        for entry in range(4):
            out[entry, 0] *= scale
            out[entry, 1] *= scale


@compiled(error_model="numpy")
def put(values: Any, out: Any) -> None:
    """``out[:] = values`` of one axis; a slice takes seconds to compile, for its errors."""
    for place in range(len(values)):
        out[place] = values[place]


@compiled(error_model="numpy")
def copied(matrix: Any, out: Any) -> None:
    """The same for a matrix of pairs."""
    for entry in range(4):
        out[entry, 0], out[entry, 1] = matrix[entry, 0], matrix[entry, 1]


@compiled(error_model="numpy")
def power(matrix: Any, count: int, out: Any) -> None:
    """``matrix`` to the power ``count`` of at least 1, in pairs; shape (4, 2)."""
    base, spare = matrix.copy(), np.empty((4, 2))
    started = False
    while count > 0:
        if count & 1:
            if started:
                multiply(out, base, spare)
                copied(spare, out)
            else:
                copied(base, out)
                started = True
        count >>= 1
        if count > 0:
            multiply(base, base, spare)
            copied(spare, base)


@compiled(error_model="numpy")
def raised(squares: Any, kept: int, count: int, out: Any) -> int:
    """``squares[0]`` to the power ``count`` of at least 1, by repeated squares that are kept.

    ``squares`` (many, 4, 2) holds the first ``kept`` of them; returns how many it holds then.
    """
    spare, started, number = np.empty((4, 2)), False, 0
    while count > 0:
        if number == kept:
            multiply(squares[number - 1], squares[number - 1], squares[number])
            kept += 1
        if count & 1:
            if started:
                multiply(out, squares[number], spare)
                copied(spare, out)
            else:
                copied(squares[number], out)
                started = True
        count >>= 1
        number += 1
    return kept


@compiled(error_model="numpy")
def pairs_of(transition: Any, factor: Any, out: Any) -> None:
    """Entries of steps as pairs: transitions (corners, 4, 2) times factors (steps, 4)."""
    for corner in range(transition.shape[0]):
        for step in range(factor.shape[0]):
            for entry in range(4):
                found = times(
                    transition[corner, entry, 0], transition[corner, entry, 1],
                    factor[step, entry], 0.0,
                )  # fmt: skip
                out[corner, step, entry, 0], out[corner, step, entry, 1] = found


@compiled(error_model="numpy")
def applied(matrix: Any, odds: float) -> float:
    """Odds after the step of a matrix of pairs, shape (4, 2), to the accuracy of a double."""
    return float(image(matrix[0, 0], matrix[1, 0], matrix[2, 0], matrix[3, 0], odds))
