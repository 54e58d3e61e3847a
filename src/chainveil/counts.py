"""What counts say: whether a longer memory is needed, and how far a share can be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class OrderTest:
    """Likelihood-ratio test of order 1 against a longer memory, over the same points.

    Attributes
    ----------
    statistic : float
        Twice the log-likelihood gained.
    degrees : int
        Degrees of freedom.
    p_value : float
        Chance of as much where the order is one.
    points : int
        How many points were compared.
    """

    statistic: float
    degrees: int
    p_value: float
    points: int

    @property
    def bits(self) -> float:
        """Information gained about each point, in bits."""
        return self.statistic / (2 * math.log(2) * max(self.points, 1))


def order_test(contexts: NDArray[np.int64]) -> OrderTest:
    """Compare the order that ``contexts`` has with order 1.

    Parameters
    ----------
    contexts : integer array of shape (k ** order, k)
        How often each state follows each context; context c ends in state ``c % k``.

    Notes
    -----
    Given the last state b, order 1 says that what comes next does not depend on what was
    before b: a table with a row for each context that ends in b and a column for each next
    state, in which rows and columns are independent. Rows and columns that never occur have no
    law to fit, so the table has ``(rows - 1) (columns - 1)`` degrees of freedom, of those that
    occur; all tables together have the sum over b.
    """
    k = contexts.shape[1]
    # Axes: what was before, the last state, the next state.
    table = contexts.reshape(-1, k, k)
    gained = _log_likelihood(table) - _log_likelihood(table.sum(axis=0))
    rows = (table.sum(axis=2) > 0).sum(axis=0)
    columns = (table.sum(axis=0) > 0).sum(axis=1)
    degrees = int((np.maximum(rows - 1, 0) * np.maximum(columns - 1, 0)).sum())
    statistic = max(0.0, 2 * gained)
    return OrderTest(statistic, degrees, _chi_square_tail(statistic, degrees), int(contexts.sum()))


def wilson(rate: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval; ``trials`` may be an effective number and need not be whole."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    spread = z / (1 + z * z / trials)
    spread *= math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    return max(0.0, middle - spread), min(1.0, middle + spread)


def _log_likelihood(counts: NDArray[np.int64]) -> float:
    """Largest log-likelihood, each row of the last axis having a law of its own."""
    law = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return float(np.sum(counts[counts > 0] * np.log(law[counts > 0])))


def _chi_square_tail(statistic: float, degrees: int) -> float:
    if degrees == 0:
        return 1.0
    from scipy.special import chdtrc

    return float(chdtrc(degrees, statistic))
