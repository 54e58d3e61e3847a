"""Compiled Viterbi for two states, carried by one number a point.

Let ``d_t`` be the log-odds of the best path that ends in state 1 against the best that ends
in state 0. With ``l_ab = log P(a, b)`` and the log emission ratio ``e_t``,

    d_t = max(l_11 + d, l_01) - max(l_10 + d, l_00) + e_t        (d = d_{t-1}),

and the difference of the two maxima is ``clamp(sign * d + shift, low, high)``, where
``sign`` is +1 for ``q + r <= 1`` and -1 otherwise. So a step costs a minimum, a maximum
and a multiply-add; ``d`` stays bounded, and a certain state is simply an infinite ``e_t``.
Which predecessor each state has is two comparisons, kept as two bits in the byte of the
result that the way back overwrites: no memory beyond the path itself.

From the other end the same holds for the best continuation, with the transition matrix
transposed; a long series is done from both ends at once, so that two chains of steps that wait
for one another overlap in the processor.

Equal paths are resolved towards state 0, up to rounding.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from chainveil.compiled import compiled
from chainveil.inference.two_state import LANES, LONGEST_ABREAST

_compiled = compiled(error_model="numpy", fastmath={"contract"})
# Pasted into its caller, where the compiler sees that no two arrays overlap.
_pasted = numba.njit(inline="always", error_model="numpy", fastmath={"contract"})


@_compiled
def viterbi_one(symbols: Any, log_ratio: Any, start: float, bend: Any, path: Any) -> None:
    """Write the likeliest path to ``path``, shape (n,), uint8.

    ``bend`` holds ``sign, shift, low, high``; ``start`` the log-odds of the first point.
    """
    sign, shift, low, high = bend[0], bend[1], bend[2], bend[3]
    gain = sign * log_ratio + shift
    n = len(symbols)
    difference = start + log_ratio[symbols[0]]
    bent = sign * difference + shift
    for t in range(1, n):
        path[t] = 2 * (sign * bent > sign * low) + (sign * bent > sign * high)
        clamped = min(max(bent, low), high)
        bent = sign * clamped + gain[symbols[t]]
        if t == n - 1:
            difference = clamped + log_ratio[symbols[t]]
    state = np.uint8(difference > 0.0)
    for t in range(n - 1, 0, -1):
        before = (path[t] >> state) & np.uint8(1)
        path[t] = state
        state = before
    path[0] = state


@_compiled
def viterbi_long(
    symbols: Any, log_ratio: Any, start: float, bend: Any, back_bend: Any, path: Any
) -> None:
    """``viterbi_one`` from both ends; ``back_bend`` is the bend of the transposed chain.

    The bits for the step from ``t - 1`` to ``t`` stand at ``t``: predecessors up to the
    middle, successors beyond it.
    """
    sign, shift, low, high = bend[0], bend[1], bend[2], bend[3]
    back_low, back_high = back_bend[2], back_bend[3]
    gain, back_gain = sign * log_ratio + shift, sign * log_ratio + back_bend[1]
    n = len(symbols)
    half = n // 2
    bent, ahead = sign * (start + log_ratio[symbols[0]]) + shift, 0.0
    for left in range(1, n - half):
        path[left] = 2 * (sign * bent > sign * low) + (sign * bent > sign * high)
        bent = sign * min(max(bent, low), high) + gain[symbols[left]]
        right = n - left
        back = sign * ahead + back_gain[symbols[right]]
        path[right] = 2 * (sign * back > sign * back_low) + (sign * back > sign * back_high)
        ahead = min(max(back, back_low), back_high)
    if n % 2 == 0:
        path[half] = 2 * (sign * bent > sign * low) + (sign * bent > sign * high)
        bent = sign * min(max(bent, low), high) + gain[symbols[half]]
    _follow(path, half, int(sign * (bent - shift) + ahead > 0.0))


@_compiled
def _follow(path: Any, half: int, middle: int) -> None:
    """Replace bits by states, from the middle outwards."""
    state = np.uint8(middle)
    for t in range(half, 0, -1):
        before = (path[t] >> state) & np.uint8(1)
        path[t] = state
        state = before
    path[0] = state
    state = np.uint8(middle)
    for t in range(half + 1, len(path)):
        state = (path[t] >> state) & np.uint8(1)
        path[t] = state


@_compiled
def viterbi_many(
    symbols: Any,
    offsets: Any,
    log_ratio: Any,
    start: float,
    bend: Any,
    back_bend: Any,
    path: Any,
) -> None:
    """Viterbi for series of any lengths laid end to end.

    A series short enough to be taken abreast is done as ``viterbi_rows`` does it, so that
    rounding resolves equal paths alike, alone and in a batch.
    """
    for series in range(len(offsets) - 1):
        begin, end = offsets[series], offsets[series + 1]
        part, target = symbols[begin:end], path[begin:end]
        if end - begin > LONGEST_ABREAST:
            viterbi_long(part, log_ratio, start, bend, back_bend, target)
        elif end > begin:
            viterbi_one(part, log_ratio, start, bend, target)


@_compiled
def viterbi_rows(symbols: Any, log_ratio: Any, start: float, bend: Any, path: Any) -> None:
    """``viterbi_one`` for every row of ``symbols``, shape (rows, n), many rows abreast."""
    rows, n = symbols.shape
    gain = bend[0] * log_ratio + bend[1]
    gains, codes = np.empty((n, LANES)), np.empty((n, LANES), dtype=np.uint8)
    bent, difference = np.empty(LANES), np.empty(LANES)
    for first in range(0, rows, LANES):
        used = min(LANES, rows - first)
        for lane in range(LANES):
            row = first + min(lane, used - 1)
            difference[lane] = start + log_ratio[symbols[row, 0]]
            for t in range(n):
                gains[t, lane] = gain[symbols[row, t]]
        _forward_lanes(gains, bend, difference, bent, codes)
        if n > 1:
            for lane in range(used):
                difference[lane] += log_ratio[symbols[first + lane, n - 1]]
        _back_lanes(codes, difference)
        for lane in range(used):
            for t in range(n):
                path[first + lane, t] = codes[t, lane]


@_pasted
def _forward_lanes(gains: Any, bend: Any, difference: Any, bent: Any, codes: Any) -> None:
    """In the order of ``viterbi_one``, to the last rounding; leaves what the last step clamped."""
    sign, shift, low, high = bend[0], bend[1], bend[2], bend[3]
    for lane in range(LANES):
        bent[lane] = sign * difference[lane] + shift
    for t in range(1, len(gains)):
        for lane in range(LANES):
            value = bent[lane]
            codes[t, lane] = 2 * (sign * value > sign * low) + (sign * value > sign * high)
            difference[lane] = min(max(value, low), high)
            bent[lane] = sign * difference[lane] + gains[t, lane]


@_pasted
def _back_lanes(codes: Any, difference: Any) -> None:
    """Replace the bits of each step by the state that the best path has there."""
    last = np.empty(LANES, dtype=np.uint8)
    for lane in range(LANES):
        last[lane] = np.uint8(difference[lane] > 0.0)
    for t in range(len(codes) - 1, 0, -1):
        for lane in range(LANES):
            before = (codes[t, lane] >> last[lane]) & np.uint8(1)
            codes[t, lane] = last[lane]
            last[lane] = before
    for lane in range(LANES):
        codes[0, lane] = last[lane]
