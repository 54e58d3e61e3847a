"""The straight borders of the noise levels that keep a budget, for chains with q + r up to 1."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.closed_form import HalfPlanes

# A log ratio so small that attacks in its direction gain next to nothing.
TINY = 1e-6
# Relative accuracy of the borders, and how often attacks are asked for at most.
ACCURACY, ASKED = 1e-6, 12


def half_planes(
    excess: Callable[[FloatArray], FloatArray],
    collect: Callable[[FloatArray], float],
    epsilon: float,
) -> HalfPlanes:
    """Least ``rho1 / (1 - rho0)`` and ``rho0 / (1 - rho1)`` that keep a budget.

    ``excess`` says by how much known attacks gain more than the budget, for rows of the logits of
    ``rho0`` and ``1 - rho1``; ``collect`` asks for attacks on one of them, and says so with these.
    Each direction of the loss depends on one of the ratios alone, so that the other one is set to
    where its attacks gain nothing.
    """

    def least(direction: int) -> float:
        def rows(logs: FloatArray) -> FloatArray:
            both = np.full((len(logs), 2), TINY)
            both[:, direction] = logs
            return _logits(*both.T)

        def largest() -> float:
            """The largest log ratio that known attacks allow; one report alone gives as much."""
            low, high = 0.0, epsilon
            for _ in range(10):
                logs = np.linspace(low, high, 17)
                inside = excess(rows(np.maximum(logs, TINY))) <= 0
                last = 16 if inside.all() else max(int(np.argmin(inside)) - 1, 0)
                low, high = logs[last], logs[min(last + 1, 16)]
            return float(low)

        for _ in range(ASKED):
            log = largest()
            if collect(rows(np.array([max(log, TINY)]))[0]) <= ACCURACY * epsilon:
                break
        return math.exp(-log)

    return HalfPlanes(least(0), least(1))


def _logits(a: FloatArray, b: FloatArray) -> FloatArray:
    """Logits of rho0 and 1 - rho1, shape (n, 2), from log (1-rho0)/rho1 and log (1-rho1)/rho0."""
    apart = np.log(-np.expm1(-a)) - np.log(-np.expm1(-b))
    zero, one = apart - b, apart + a
    return np.stack([zero, one], axis=-1)
