"""Every series on its own: its counts, its chain, the order it asks for, whether it drifts.

All series are counted in one pass over memory; what follows from the counts is computed for all of
them at once. A series has enough points for a chain of order m if there are 20 to each of its
``k ** (m + 1)`` probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.counts import independence_tests
from chainveil.model.orders import ENOUGH_POINTS, KEPT
from chainveil.sequences import Sequences

IntArray = NDArray[np.int64]
# The longest memory that is looked for, and entries of all counts together.
LARGEST_ORDER, MOST_ENTRIES = 4, 1 << 27
# What each state is taken to have followed each state more often, on average: nothing is impossible
# only because a short series did not show it.
PSEUDOCOUNT = 0.5
# A code that no state has: nothing reaches across it.
GAP = 255
# Correlation below which points of a chain count as far apart; least and largest distance.
FAR, NEAREST, FARTHEST = 0.05, 5, 1000


@dataclass(frozen=True)
class SeriesCounts:
    """What was counted in each series.

    Attributes
    ----------
    halves : integer array of shape (series, 2, k ** m, k)
        How often each state follows each context of m points, in the first and the second half.
    pairs : integer array of shape (series, k, k)
        All transitions.
    points : integer array of shape (series,)
        Points that are there.
    flat, offsets
        The series, as in :class:`chainveil.sequences.Sequences`, with ``GAP`` at gaps.
    """

    halves: NDArray[np.int32]
    pairs: IntArray
    points: IntArray
    flat: NDArray[np.uint8]
    offsets: IntArray

    @property
    def states(self) -> int:
        """Number of states k."""
        return int(self.pairs.shape[2])

    @property
    def longest(self) -> int:
        """How many points the contexts have."""
        return round(math.log(self.halves.shape[2], self.states))

    def contexts(self, order: int) -> IntArray:
        """What follows each context of ``order`` points, shape (series, k ** order, k).

        Of more than one point, only where there are ``longest`` of them.
        """
        if order == 1:
            return self.pairs
        k = self.states
        return np.asarray(self.halves.reshape(len(self.points), -1, k**order, k).sum(axis=1))

    def carries(self, order: int) -> NDArray[np.bool_]:
        """Which series have enough points for a chain of an order."""
        enough = self.points - order >= ENOUGH_POINTS * self.states ** (order + 1)
        return np.asarray(enough & (self.points - order >= KEPT * (self.points - 1)))

    def orders(self, level: float) -> IntArray:
        """The order of the least BIC of each series, as ``choose_order``; 0 without enough points.

        All orders of a series are compared over the same points. Of many series, BIC finds a longer
        memory in some that have none: where a test does not show it at the level, the order is 1.
        """
        k, series, largest = self.states, len(self.points), self.longest
        scores = np.full((largest + 1, series), np.inf)
        scores[0] = np.where(self.carries(1), np.inf, -np.inf)
        counts = _series_last(self.contexts(largest))
        free = np.maximum((counts.reshape(-1, k, k, series).sum(axis=0) > 0).sum(axis=1) - 1, 0)
        for order in range(largest, 0, -1):
            # Orders below the largest forget the oldest point of each context.
            counts = counts.reshape(-1, k**order, k, series).sum(axis=0, dtype=np.int32)
            scores[order] = np.where(self.carries(order), _bic(counts, free), np.inf)
        found = np.argmin(scores, axis=0)
        for order in range(2, largest + 1):
            some = np.flatnonzero(found == order)
            table = self.contexts(order)[some].reshape(len(some), k ** (order - 1), k, k)
            _, p_values = independence_tests(table)
            found[some[p_values >= level]] = 1
        return np.asarray(found)

    def transitions(self) -> FloatArray:
        """The chain of order 1 of each series, shape (series, k, k), with ``PSEUDOCOUNT``.

        As ``MarkovChain.fit(series, pseudocount=0.5)``.
        """
        counts, k = self.pairs, self.states
        following = counts.sum(axis=1) + PSEUDOCOUNT
        law = following / following.sum(axis=1, keepdims=True)
        weight = counts + PSEUDOCOUNT * k * law[:, None, :]
        return np.asarray(weight / weight.sum(axis=2, keepdims=True))

    def drift(self, orders: IntArray) -> FloatArray:
        """Chance of halves that differ as much where they follow one chain, shape (series,).

        ``orders`` are those of the chains: transitions of a series with a longer memory vary more
        than those of a chain of order 1. NaN where contexts of so many points were not counted.
        """
        k, found = self.states, np.full(len(self.points), np.nan)
        for order in range(1, self.longest + 1):
            some = np.flatnonzero(orders == order)
            shape = (len(some), 2, k ** (self.longest - order), k**order, k)
            table = self.halves[some].reshape(shape).sum(axis=2)
            _, found[some] = independence_tests(table)
        return found

    def correlation(self, lag: int) -> FloatArray:
        """Correlation of points ``lag`` apart, by the numbers of their states, shape (series,).

        NaN where a series has no such points, or one state alone.
        """
        from chainveil.model.series_kernels import lagged_sums

        sums = np.zeros((len(self.points), 5), np.int64)
        lagged_sums(self.flat, self.offsets, lag, GAP, sums)
        points, total, squares, pairs, products = sums.T.astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = total / points
            spread = squares / points - mean * mean
            return np.asarray((products / pairs - mean * mean) / spread)


def count_series(series: Sequences, states: int) -> SeriesCounts:
    """Count every series on its own, up to the order that the longest one carries."""
    from chainveil.model.series_kernels import count_each

    flat = np.ascontiguousarray(series.flat, dtype=np.uint8)
    order = _largest(states, int(series.lengths.max(initial=0)), series.count)
    halves = np.zeros((series.count, 2, states ** (order + 1)), np.int32)
    pairs = np.zeros((series.count, states * states), np.int64)
    points = np.zeros(series.count, np.int64)
    count_each(flat, series.offsets, states, order, GAP, halves, pairs, points)
    return SeriesCounts(
        halves.reshape(series.count, 2, -1, states),
        pairs.reshape(series.count, states, states),
        points,
        flat,
        series.offsets,
    )


def chain_correlation(transition: FloatArray, lag: int) -> FloatArray:
    """The same as :meth:`SeriesCounts.correlation` of chains of shape (series, k, k)."""
    k = transition.shape[2]
    far = np.linalg.matrix_power(transition, lag)
    # With a pseudocount every entry is positive, so that there is one stationary law.
    rest = np.eye(k) - np.swapaxes(transition, 1, 2) + 1.0
    law = np.linalg.solve(rest, np.ones((len(transition), k, 1)))[:, :, 0]
    value = np.arange(k, dtype=float)
    mean = law @ value
    spread = law @ (value * value) - mean * mean
    together = np.einsum("sa,a,sab,b->s", law, value, far, value)
    return np.asarray((together - mean * mean) / spread)


def far_apart(transition: FloatArray, longest: int) -> int:
    """The distance at which points of a chain, shape (k, k), hardly depend on each other."""
    lag = NEAREST
    while lag < min(FARTHEST, longest // 4) and chain_correlation(transition[None], lag)[0] > FAR:
        lag += max(1, lag // 10)
    return max(1, min(lag, longest - 1))


def _largest(states: int, longest: int, series: int) -> int:
    """The largest order whose contexts are counted."""
    order = 1
    while (
        order < LARGEST_ORDER
        and 2 * series * states ** (order + 2) <= MOST_ENTRIES
        and longest - order - 1 >= ENOUGH_POINTS * states ** (order + 2)
    ):
        order += 1
    return order


def _series_last(counts: NDArray[Any]) -> NDArray[Any]:
    """With the series as the last axis: what is summed over others is then added all at once."""
    return np.ascontiguousarray(np.moveaxis(counts, 0, -1))


def _bic(counts: NDArray[Any], free: IntArray) -> FloatArray:
    """BIC of each series from counts of one order, shape (k ** order, k, series).

    ``free``, of shape (k, series), are the free probabilities of a context by its last state.
    """
    seen = (counts.sum(axis=1) > 0).reshape(-1, *free.shape).sum(axis=0)
    points = np.maximum(counts.sum(axis=(0, 1)), 1)
    return np.asarray((seen * free).sum(axis=0) * np.log(points) - 2 * _log_likelihood(counts))


def _log_likelihood(counts: NDArray[Any]) -> FloatArray:
    """Largest log-likelihood of counts of shape (…, contexts, k, series), contexts and k gone."""
    leaving = _times_log(counts.sum(axis=-2)).sum(axis=-2)
    return np.asarray(_times_log(counts).sum(axis=(-3, -2)) - leaving)


def _times_log(counts: NDArray[Any]) -> FloatArray:
    """``n log n``, looked up where fewer numbers than there are counts can occur."""
    from scipy.special import xlogy

    top = int(counts.max(initial=0))
    if top >= counts.size:
        return np.asarray(xlogy(counts, counts))
    numbers = np.arange(top + 1)
    return np.asarray(xlogy(numbers, numbers)[counts])
