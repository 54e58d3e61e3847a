"""How long a memory data ask for: orders compared by BIC, over the same points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.model.contexts import MOST_CONTEXTS, count_contexts, order_of, shorter_counts
from chainveil.sequences import as_sequences

# The longest memory that is tried has so many points, on average, to each probability, and leaves
# so large a share of all steps to be compared.
ENOUGH_POINTS, KEPT = 20, 0.5


@dataclass(frozen=True)
class OrderScore:
    """How well one order fits.

    Attributes
    ----------
    order : int
    log_likelihood : float
        The largest that a chain of this order gives the points compared.
    parameters : int
        Free probabilities: for each context that occurs, one fewer than there are states that
        ever follow its last state.
    bic : float
        ``parameters * log(points) - 2 * log_likelihood``; the least is best.
    """

    order: int
    log_likelihood: float
    parameters: int
    bic: float


@dataclass(frozen=True)
class OrderChoice:
    """Orders from 1 on compared over the same points, and the one with the least BIC.

    Attributes
    ----------
    order : int
        The order of the least BIC; of two alike the lower.
    scores : tuple of OrderScore
        From order 1 up to the largest that was tried.
    points : int
        How many points were compared: those with enough points before them for each order.

    Examples
    --------
    >>> import chainveil as cv
    >>> series = cv.MarkovChain.binary(q=0.1, r=0.3).sample(5000, rng=1)
    >>> cv.choose_order(series).order
    1
    """

    order: int
    scores: tuple[OrderScore, ...]
    points: int

    @property
    def bic(self) -> dict[int, float]:
        """The BIC of each order."""
        return {score.order: score.bic for score in self.scores}

    @property
    def largest(self) -> int:
        """The largest order that was tried."""
        return self.scores[-1].order

    @property
    def at_the_end(self) -> bool:
        """Whether the largest order tried is the best: a longer memory may be better still."""
        return self.order == self.largest

    def __str__(self) -> str:
        values = ", ".join(f"{score.order}: {score.bic:.1f}" for score in self.scores)
        words = f"order {self.order} has the least BIC over {self.points:,} points ({values})"
        if self.at_the_end:
            return f"{words}; no longer memory was tried"
        return words


def choose_order(sequences: Any, states: int | None = None) -> OrderChoice:
    """Compare chains of order 1, 2, … by BIC, up to the largest order that the data carry.

    Parameters
    ----------
    sequences, states
        As in :meth:`chainveil.MarkovChain.fit`.

    Notes
    -----
    All orders are compared on the points that have as many before them in their series as the
    largest order that is tried. That is the largest m for which there are at most 256 contexts,
    at least 20 of these points, on average, to each of the ``k ** (m + 1)`` probabilities, and at
    least half of the points that order 1 has. As a look at the data it is private: the order
    that comes out is published with the chain.

    Examples
    --------
    >>> import chainveil as cv
    >>> chain = cv.HigherOrderChain([[.9, .1], [.2, .8], [.9, .1], [.7, .3]], order=2)
    >>> cv.choose_order(chain.sample(5000, rng=1)).order
    2
    """
    series = as_sequences("sequences", sequences, states)
    if series.flat.size == 0:
        raise InvalidInput("sequences", "no points", "series of two points or more")
    k = states or int(series.flat.max()) + 1
    largest = largest_order(k, lambda m: int(np.maximum(series.lengths - m, 0).sum()))
    return choice_from(count_contexts(series, k, largest, largest))


def largest_order(states: int, points_at: Callable[[int], int]) -> int:
    """The largest order that data carry; ``points_at(m)`` have m points before them."""
    order, steps = 1, points_at(1)
    while states > 1 and states ** (order + 1) <= MOST_CONTEXTS:
        points = points_at(order + 1)
        if points < ENOUGH_POINTS * states ** (order + 2) or points < KEPT * steps:
            break
        order += 1
    return order


def choice_from(counts: NDArray[np.int64]) -> OrderChoice:
    """The choice among all orders up to that of ``counts``, of shape (k ** m, k)."""
    points = int(counts.sum())
    scores = tuple(
        _score(shorter_counts(counts, order), order, points)
        for order in range(1, order_of(counts.shape) + 1)
    )
    return OrderChoice(min(scores, key=lambda score: score.bic).order, scores, points)


def _score(counts: NDArray[np.int64], order: int, points: int) -> OrderScore:
    k = counts.shape[1]
    seen = counts.sum(axis=1)
    law = counts / np.maximum(seen, 1)[:, None]
    likelihood = float(np.sum(counts[counts > 0] * np.log(law[counts > 0])))
    # What never follows a state has no probability to fit, as in the test of an order.
    follows = (shorter_counts(counts, 1) > 0).sum(axis=1)
    contexts = (seen > 0).reshape(-1, k).sum(axis=0)
    free = int((contexts * np.maximum(follows - 1, 0)).sum())
    return OrderScore(order, likelihood, free, free * math.log(max(points, 1)) - 2 * likelihood)
