"""Compiled forward-backward and Viterbi for any number of states.

``Pr[X_t, z_0 … z_t]`` and ``Pr[z_{t+1} … | X_t]`` are vectors of k numbers, each kept at sum
one. A step is looked up by the labels of its two points (``inference.tables``), in ``moves`` of
shape (L * L, k, k), the first point in ``start`` of shape (L, k).

Where a chain has zeros an entry can shrink for ever while the truth may still come back
to it; a scaled entry below ``TINY`` therefore ends the attempt, and
``inference.log_domain`` does the work instead.

Every function returns a number: ``DONE``, ``SHRUNK``, or the point at which what was
seen, together with what is known, has probability zero. The functions on ``many`` series write
that number for each of them to ``outcomes``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

DONE = -1
SHRUNK = -2

# One step shrinks an entry by a factor of at least SMALLEST (inference.tables sees to it), so
# an entry is met below TINY before it could vanish.
TINY = 1e-250
SMALLEST = 1e-50

_compiled = compiled(error_model="numpy", fastmath={"contract"})


@_compiled
def _move(vector: Any, moves: Any, step: int, moved: Any) -> None:
    """``moved = vector @ moves[step]``, along the rows of the matrix.

    Four rows at a time: every pass over ``moved`` waits for the one before it.
    """
    k = len(vector)
    if k == 2:
        # Loops take longer than the work.
        w0, w1 = vector[0], vector[1]
        moved[0] = w0 * moves[step, 0, 0] + w1 * moves[step, 1, 0]
        moved[1] = w0 * moves[step, 0, 1] + w1 * moves[step, 1, 1]
        return
    paired = k - k % 4
    for b in range(k):
        moved[b] = 0.0
    for a in range(0, paired, 4):
        w0, w1, w2, w3 = vector[a], vector[a + 1], vector[a + 2], vector[a + 3]
        for b in range(k):
            first = w0 * moves[step, a, b] + w1 * moves[step, a + 1, b]
            second = w2 * moves[step, a + 2, b] + w3 * moves[step, a + 3, b]
            moved[b] += first + second
    for a in range(paired, k):
        weight = vector[a]
        for b in range(k):
            moved[b] += weight * moves[step, a, b]


@_compiled
def _weigh(vector: Any, emission: Any, symbol: int, weighted: Any) -> float:
    """``weighted = vector * emission[symbol]``; returns its sum."""
    total = 0.0
    for a in range(len(vector)):
        value = vector[a] * emission[symbol, a]
        weighted[a] = value
        total += value
    return total


@_compiled
def _scale(vector: Any, total: float) -> bool:
    """Divide by ``total``; whether an entry other than zero has become tiny."""
    factor = 1.0 / total
    least = 1.0
    for a in range(len(vector)):
        value = vector[a] * factor
        vector[a] = value
        least = min(least, value if value > 0.0 else 1.0)
    return least < TINY


@_compiled
def forward(symbols: Any, labels: Any, emission: Any, start: Any, moves: Any, out: Any) -> int:
    """Write ``Pr[X_t | z_0 … z_t]`` to ``out``, shape (n, k)."""
    k = start.shape[1]
    moved, vector = np.empty(k), np.empty(k)
    before = 0
    for t in range(len(symbols)):
        label = labels[symbols[t]]
        if t > 0:
            _move(vector, moves, before * len(start) + label, moved)
        else:
            for a in range(len(moved)):
                moved[a] = start[label, a]
        before = label
        total = _weigh(moved, emission, symbols[t], vector)
        if total <= 0.0:
            return t
        if _scale(vector, total):
            return SHRUNK
        for a in range(k):
            out[t, a] = vector[a]
    return DONE


@_compiled
def smooth(
    symbols: Any, labels: Any, emission: Any, start: Any, moves: Any, back: Any, out: Any
) -> int:
    """Write ``Pr[X_t | z]`` to ``out``, shape (n, k); ``back`` is ``moves`` transposed."""
    outcome = forward(symbols, labels, emission, start, moves, out)
    if outcome != DONE:
        return outcome
    k = start.shape[1]
    message, weighted = np.ones(k), np.empty(k)
    for t in range(len(symbols) - 2, -1, -1):
        total = _weigh(message, emission, symbols[t + 1], weighted)
        if _scale(weighted, total):
            return SHRUNK
        _move(weighted, back, labels[symbols[t]] * len(start) + labels[symbols[t + 1]], message)
        total = 0.0
        for a in range(k):
            value = out[t, a] * message[a]
            out[t, a] = value
            total += value
        factor = 1.0 / total
        for a in range(k):
            out[t, a] *= factor
    return DONE


@_compiled
def log_likelihood(
    symbols: Any, labels: Any, emission: Any, start: Any, moves: Any, found: Any
) -> int:
    """Write ``log Pr[z, known points]`` to ``found[0]``."""
    moved, vector = np.empty(start.shape[1]), np.empty(start.shape[1])
    logarithm, before = 0.0, 0
    for t in range(len(symbols)):
        label = labels[symbols[t]]
        if t > 0:
            _move(vector, moves, before * len(start) + label, moved)
        else:
            for a in range(len(moved)):
                moved[a] = start[label, a]
        before = label
        total = _weigh(moved, emission, symbols[t], vector)
        if total <= 0.0:
            return t
        if _scale(vector, total):
            return SHRUNK
        logarithm += np.log(total)
    found[0] = logarithm
    return DONE


@_compiled
def viterbi(
    symbols: Any,
    labels: Any,
    log_emission: Any,
    log_start: Any,
    log_back: Any,
    pointers: Any,
    path: Any,
) -> int:
    """Write the likeliest path to ``path``, shape (n,); equal paths go to the lower state.

    ``log_back[…, b, a] = log P(a, b)``; ``pointers`` has shape (n, k). Scores are kept with
    their maximum at zero, so that they do not lose digits as the series goes on.
    """
    n, k = len(symbols), log_start.shape[1]
    if n == 0:
        return DONE
    before = labels[symbols[0]]
    score, best = log_start[before] + log_emission[symbols[0]], np.empty(k)
    if np.max(score) == -np.inf:
        return 0
    for t in range(1, n):
        symbol = symbols[t]
        label = labels[symbol]
        step = before * len(log_start) + label
        before = label
        top = -np.inf
        for b in range(k):
            value, origin = score[0] + log_back[step, b, 0], 0
            for a in range(1, k):
                candidate = score[a] + log_back[step, b, a]
                if candidate > value:
                    value = candidate
                    origin = a
            pointers[t, b] = origin
            value += log_emission[symbol, b]
            best[b] = value
            if value > top:
                top = value
        if top == -np.inf:
            return t
        for b in range(k):
            score[b] = best[b] - top
    state = np.argmax(score)
    for t in range(n - 1, 0, -1):
        path[t] = state
        state = pointers[t, state]
    path[0] = state
    return DONE


@_compiled
def forward_many(
    symbols: Any,
    offsets: Any,
    labels: Any,
    emission: Any,
    start: Any,
    moves: Any,
    out: Any,
    outcomes: Any,
) -> None:
    """``forward`` for series laid end to end."""
    for series in range(len(outcomes)):
        begin, end = offsets[series], offsets[series + 1]
        part = symbols[begin:end]
        outcomes[series] = forward(part, labels, emission, start, moves, out[begin:end])


@_compiled
def smooth_many(
    symbols: Any,
    offsets: Any,
    labels: Any,
    emission: Any,
    start: Any,
    moves: Any,
    back: Any,
    out: Any,
    outcomes: Any,
) -> None:
    """``smooth`` for series laid end to end."""
    for series in range(len(outcomes)):
        begin, end = offsets[series], offsets[series + 1]
        outcomes[series] = smooth(
            symbols[begin:end], labels, emission, start, moves, back, out[begin:end]
        )


@_compiled
def log_likelihood_many(
    symbols: Any,
    offsets: Any,
    labels: Any,
    emission: Any,
    start: Any,
    moves: Any,
    found: Any,
    outcomes: Any,
) -> None:
    """``log_likelihood`` for series laid end to end; ``found`` has shape (series,)."""
    for series in range(len(outcomes)):
        begin, end = offsets[series], offsets[series + 1]
        outcomes[series] = log_likelihood(
            symbols[begin:end], labels, emission, start, moves, found[series : series + 1]
        )


@_compiled
def viterbi_many(
    symbols: Any,
    offsets: Any,
    labels: Any,
    log_emission: Any,
    log_start: Any,
    log_back: Any,
    pointers: Any,
    path: Any,
    outcomes: Any,
) -> None:
    """``viterbi`` for series laid end to end; ``pointers`` is as long as the longest of them."""
    for series in range(len(outcomes)):
        begin, end = offsets[series], offsets[series + 1]
        part = symbols[begin:end]
        outcomes[series] = viterbi(
            part, labels, log_emission, log_start, log_back, pointers, path[begin:end]
        )
