"""Compiled smoothing for two states, carried by one number a point: the odds of state 1.

With ``q = Pr[0 -> 1]``, ``r = Pr[1 -> 0]`` and the emission ratio
``e_t = Pr[z_t | X_t = 1] / Pr[z_t | X_t = 0]``, the two messages are

    forward   f_t = e_t * (q + (1-r) f_{t-1}) / ((1-q) + r f_{t-1})
    backward  b_t = (r + (1-r) e_{t+1} b_{t+1}) / ((1-q) + q e_{t+1} b_{t+1})

and ``Pr[X_t = 1 | z] = f_t b_t / (1 + f_t b_t)``. Both maps send every odds into a
compact interval, so nothing grows with the length. Certainty is an odds of 0 or one so
large that it acts as infinity without being one; ``inference.tables`` says how large, and
keeps chains too close to zero or one away from here.

Every function takes ``symbols`` (what was seen, and where the state is known), the
emission ratio of each symbol, the odds of the first point, ``q`` and ``r``.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from chainveil.compiled import compiled

# Rows taken side by side: four vector registers of eight doubles, so that one division can
# start while others are under way.
LANES = 32
# Rows longer than this would leave the cache when taken abreast.
LONGEST_ABREAST = 1024

# Multiply-add in one rounding; nothing else is relaxed, so infinities keep their meaning.
_compiled = compiled(error_model="numpy", fastmath={"contract"})
# Pasted into its caller, where the compiler sees that no two arrays overlap.
_pasted = numba.njit(inline="always", error_model="numpy", fastmath={"contract"})


@_compiled
def filter_one(symbols: Any, ratio: Any, start_odds: float, q: float, r: float, out: Any) -> None:
    """Write ``Pr[X_t = 1 | z_0 … z_t]`` to ``out``, shape (n,)."""
    arrive, stay = ratio * q, ratio * (1.0 - r)
    odds = start_odds * ratio[symbols[0]]
    out[0] = odds / (1.0 + odds)
    for t in range(1, len(symbols)):
        symbol = symbols[t]
        odds = (arrive[symbol] + stay[symbol] * odds) / ((1.0 - q) + r * odds)
        out[t] = odds / (1.0 + odds)


@_compiled
def smooth_one(symbols: Any, ratio: Any, start_odds: float, q: float, r: float, out: Any) -> None:
    """Write ``Pr[X_t = 1 | z]`` to ``out``, shape (n,), which is all the memory it takes.

    Both recursions run at the same time, one from each end: each is a chain of divisions
    that wait for one another, and two such chains overlap in the processor. Until they meet
    they leave their odds in ``out``; then each finds the other's there and completes the point.
    """
    n = len(symbols)
    half = n // 2
    arrive, stay = ratio * q, ratio * (1.0 - r)
    forward, backward = 0.0, 1.0
    if half > 0:
        forward = start_odds * ratio[symbols[0]]
        out[0] = forward
    out[n - 1] = backward
    for step in range(1, half):
        symbol = symbols[step]
        forward = (arrive[symbol] + stay[symbol] * forward) / ((1.0 - q) + r * forward)
        out[step] = forward
        symbol = symbols[n - step]
        backward = (r + stay[symbol] * backward) / ((1.0 - q) + arrive[symbol] * backward)
        out[n - 1 - step] = backward
    if n % 2 == 1:
        # One point lies between the two; the backward side takes it, and completes it at once.
        symbol = symbols[half]
        if n > 1:
            after = symbols[half + 1]
            backward = (r + stay[after] * backward) / ((1.0 - q) + arrive[after] * backward)
            forward = (arrive[symbol] + stay[symbol] * forward) / ((1.0 - q) + r * forward)
        else:
            forward = start_odds * ratio[symbol]
        out[half] = forward * backward / (1.0 + forward * backward)
    for step in range(half):
        right, left = n - half + step, half - 1 - step
        symbol = symbols[right]
        forward = (arrive[symbol] + stay[symbol] * forward) / ((1.0 - q) + r * forward)
        symbol = symbols[left + 1]
        backward = (r + stay[symbol] * backward) / ((1.0 - q) + arrive[symbol] * backward)
        odds_right, odds_left = forward * out[right], backward * out[left]
        out[right] = odds_right / (1.0 + odds_right)
        out[left] = odds_left / (1.0 + odds_left)


@_compiled
def filter_many(
    symbols: Any, offsets: Any, ratio: Any, start_odds: float, q: float, r: float, out: Any
) -> None:
    """``filter_one`` for series of any lengths laid end to end."""
    for series in range(len(offsets) - 1):
        begin, end = offsets[series], offsets[series + 1]
        if end > begin:
            filter_one(symbols[begin:end], ratio, start_odds, q, r, out[begin:end])


@_compiled
def smooth_many(
    symbols: Any, offsets: Any, ratio: Any, start_odds: float, q: float, r: float, out: Any
) -> None:
    """``smooth_one`` for series of any lengths laid end to end."""
    for series in range(len(offsets) - 1):
        begin, end = offsets[series], offsets[series + 1]
        if end > begin:
            smooth_one(symbols[begin:end], ratio, start_odds, q, r, out[begin:end])


@_compiled
def smooth_rows(symbols: Any, ratio: Any, start_odds: float, q: float, r: float, out: Any) -> None:
    """Write ``Pr[X_t = 1 | z]`` of each row to ``out``, shape (rows, n), many rows abreast."""
    rows, n = symbols.shape
    ratios = np.empty((n, LANES))
    forward = np.empty((n, LANES))
    odds = np.empty(LANES)
    for first in range(0, rows, LANES):
        used = min(LANES, rows - first)
        for lane in range(LANES):
            # Lanes past the last row repeat it; what they find is not written out.
            row = first + min(lane, used - 1)
            for t in range(n):
                ratios[t, lane] = ratio[symbols[row, t]]
        _forward_lanes(ratios, start_odds, q, r, odds, forward)
        _complete_lanes(ratios, q, r, odds, forward)
        for lane in range(used):
            for t in range(n):
                value = forward[t, lane]
                if value < 0.0:
                    # Never so; the possible exit keeps the compiler from gathering strided
                    # numbers into vectors, which is slower than reading them one by one.
                    break
                out[first + lane, t] = value


@_compiled
def both_states(one: Any, both: Any) -> None:
    """Write ``1 - p`` and ``p`` of each point to ``both``, shape (n, 2)."""
    for t in range(len(one)):
        both[t, 0] = 1.0 - one[t]
        both[t, 1] = one[t]


@_pasted
def _forward_lanes(
    ratios: Any, start_odds: float, q: float, r: float, odds: Any, forward: Any
) -> None:
    for lane in range(LANES):
        odds[lane] = start_odds * ratios[0, lane]
        forward[0, lane] = odds[lane]
    for t in range(1, len(ratios)):
        for lane in range(LANES):
            moved = (q + (1.0 - r) * odds[lane]) / ((1.0 - q) + r * odds[lane])
            odds[lane] = ratios[t, lane] * moved
            forward[t, lane] = odds[lane]


@_pasted
def _complete_lanes(ratios: Any, q: float, r: float, odds: Any, forward: Any) -> None:
    """Turn forward odds into posteriors. One division serves the posterior and the next odds."""
    for lane in range(LANES):
        odds[lane] = 1.0
    for t in range(len(ratios) - 1, -1, -1):
        for lane in range(LANES):
            both = forward[t, lane] * odds[lane]
            weighted = ratios[t, lane] * odds[lane]
            below = (1.0 - q) + q * weighted
            inverse = 1.0 / (below * (1.0 + both))
            forward[t, lane] = both * below * inverse
            odds[lane] = (r + (1.0 - r) * weighted) * (1.0 + both) * inverse


@_compiled
def log_likelihood_one(
    symbols: Any, emission: Any, ratio: Any, start1: float, q: float, r: float
) -> Any:
    """``log Pr[z, known points]``; ``emission`` has shape (symbols, 2)."""
    symbol = symbols[0]
    product = emission[symbol, 0] * (1.0 - start1) + emission[symbol, 1] * start1
    total = 0.0
    odds = ratio[symbol] * (start1 / (1.0 - start1)) if start1 < 1.0 else np.inf
    odds = min(odds, 1e100)
    for t in range(1, len(symbols)):
        symbol = symbols[t]
        state0 = (1.0 - q) + r * odds
        state1 = q + (1.0 - r) * odds
        product *= (emission[symbol, 0] * state0 + emission[symbol, 1] * state1) / (1.0 + odds)
        odds = ratio[symbol] * (state1 / state0)
        if product < 1e-150:
            # Logarithms are slow and products shrink: take one logarithm for many points.
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@_compiled
def log_likelihood_many(
    symbols: Any, offsets: Any, emission: Any, ratio: Any, start1: float, q: float, r: float
) -> Any:
    """``log_likelihood_one`` of every series, shape (series,); an empty one has 0."""
    result = np.zeros(len(offsets) - 1)
    for series in range(len(offsets) - 1):
        begin, end = offsets[series], offsets[series + 1]
        if end > begin:
            result[series] = log_likelihood_one(symbols[begin:end], emission, ratio, start1, q, r)
    return result
