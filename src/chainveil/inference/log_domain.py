"""Compiled forward-backward in logarithms: slow, and right for every chain.

Taken when scaled probabilities would vanish: transition or emission probabilities below
1e-50, or chains with zeros in which the evidence for a class of states builds up without end.
The functions mirror those of ``inference.finite_state``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.inference.finite_state import DONE

_compiled = compiled(error_model="numpy")


@_compiled
def _log_sum(values: Any) -> Any:
    top = np.max(values)
    if top == -np.inf:
        return -np.inf
    return top + np.log(np.sum(np.exp(values - top)))


@_compiled
def forward(
    symbols: Any, labels: Any, log_emission: Any, log_start: Any, log_back: Any, out: Any
) -> int:
    """Write ``log Pr[X_t | z_0 … z_t]`` to ``out``, shape (n, k)."""
    k = log_start.shape[1]
    before = 0
    for t in range(len(symbols)):
        label = labels[symbols[t]]
        for b in range(k):
            if t == 0:
                moved = log_start[label, b]
            else:
                moved = _log_sum(out[t - 1] + log_back[before * len(log_start) + label, b])
            out[t, b] = moved + log_emission[symbols[t], b]
        before = label
        total = _log_sum(out[t])
        if total == -np.inf:
            return t
        out[t] -= total
    return DONE


@_compiled
def smooth(
    symbols: Any,
    labels: Any,
    log_emission: Any,
    log_start: Any,
    log_moves: Any,
    log_back: Any,
    out: Any,
) -> int:
    """Write ``Pr[X_t | z]`` (no logarithm) to ``out``, shape (n, k)."""
    outcome = forward(symbols, labels, log_emission, log_start, log_back, out)
    if outcome != DONE:
        return outcome
    k = log_start.shape[1]
    message = np.zeros(k)
    for t in range(len(symbols) - 1, -1, -1):
        if t < len(symbols) - 1:
            weighted = message + log_emission[symbols[t + 1]]
            weighted -= np.max(weighted)
            steps = log_moves[labels[symbols[t]] * len(log_start) + labels[symbols[t + 1]]]
            for a in range(k):
                message[a] = _log_sum(steps[a] + weighted)
        out[t] += message
        out[t] = np.exp(out[t] - _log_sum(out[t]))
    return DONE


@_compiled
def log_likelihood(
    symbols: Any, labels: Any, log_emission: Any, log_start: Any, log_back: Any, found: Any
) -> int:
    """Write ``log Pr[z, known points]`` to ``found[0]``."""
    k = log_start.shape[1]
    vector, moved = np.empty(k), np.empty(k)
    logarithm, before = 0.0, 0
    for t in range(len(symbols)):
        label = labels[symbols[t]]
        for b in range(k):
            if t == 0:
                arrived = log_start[label, b]
            else:
                arrived = _log_sum(vector + log_back[before * len(log_start) + label, b])
            moved[b] = arrived + log_emission[symbols[t], b]
        before = label
        total = _log_sum(moved)
        if total == -np.inf:
            return t
        logarithm += total
        vector = moved - total
    found[0] = logarithm
    return DONE
