"""Counting contexts: how often so many neighbouring states are followed by each, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chainveil.model.contexts import MOST_CONTEXTS
from chainveil.table.request.discretize import GAP

IntArray = NDArray[np.int64]


def orders_up_to_all(states: int) -> tuple[int, ...]:
    """The orders from 2 on that data of so many states could ever be found to have."""
    found, order = [], 2
    while states > 1 and states**order <= MOST_CONTEXTS:
        found.append(order)
        order += 1
    return tuple(found)


class Windows:
    """Counts of contexts of several orders, across batches and mixed series.

    What is kept of each series are its last points, as many as the largest order has, and how
    many of them are neighbours without a gap or a split between them.

    Attributes
    ----------
    counts : mapping from order m to an int64 array of shape (k ** m, k)
    """

    def __init__(self, states: int, orders: Sequence[int]) -> None:
        self._states = states
        self._longest = max(orders)
        self.counts = {m: np.zeros((states**m, states), np.int64) for m in orders}
        self._last = np.zeros((1, self._longest), np.uint8)
        self._run = np.zeros(1, np.int64)

    def update(
        self, codes: NDArray[np.uint8], owner: IntArray, starts: IntArray, broken: IntArray
    ) -> None:
        """Take the rows of a batch in.

        ``owner`` and ``starts`` are those of its blocks, ``broken`` the rows before which a
        series is split; see ``tracker.Blocks``.
        """
        self._grow(int(owner.max()) + 1)
        sizes = np.diff(starts, append=len(codes))
        if len(np.unique(owner)) < len(owner):
            owners = np.repeat(owner, sizes)
            order = np.argsort(owners, kind="stable")
            codes, owners = codes[order], owners[order]
            broken = np.flatnonzero(np.isin(order, broken))
            starts = np.flatnonzero(np.diff(owners, prepend=-1))
            owner = owners[starts]
        self._add(*self._laid_out(codes, owner, starts, broken))

    def _grow(self, count: int) -> None:
        missing = count - len(self._run)
        if missing > 0:
            extra = max(missing, len(self._run))
            self._last = np.pad(self._last, ((0, extra), (0, 0)))
            self._run = np.pad(self._run, (0, extra))

    def _laid_out(
        self, codes: NDArray[np.uint8], series: IntArray, first: IntArray, broken: IntArray
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """The points of each series with its last ones before them, and the run that ends at each.

        A run is how many neighbours there are up to a point, itself included; 0 for those that
        were there before, whose windows were counted then.
        """
        m, total = self._longest, len(codes) + len(series) * self._longest
        begins = first + m * np.arange(len(series))
        held = begins[:, None] + np.arange(m)
        fresh = np.ones(total, np.bool_)
        fresh[held] = False
        points = np.empty(total, np.uint8)
        points[fresh], points[held] = codes, self._last[series]
        gaps = np.flatnonzero(points == GAP)
        # Where the run that ends at each point began: at the latest of these places so far.
        since = np.zeros(total, np.int32)
        since[begins] = begins + m - self._run[series]
        splits = broken + m * np.searchsorted(first, broken, "right")
        since[splits], since[gaps] = splits, gaps + 1
        run = np.arange(1, total + 1, dtype=np.int32) - np.maximum.accumulate(since)
        ends = np.append(begins[1:], total) - 1
        self._last[series] = points[ends[:, None] - np.arange(m - 1, -1, -1)]
        self._run[series] = np.clip(run[ends], 0, m)
        run[held], points[gaps] = 0, 0
        return points, run

    def _add(self, points: NDArray[np.uint8], run: NDArray[np.int32]) -> None:
        k, weight = self._states, 1
        code = points.astype(np.int32)
        value = code.copy()
        for order in range(1, self._longest + 1):
            weight *= k
            value[order:] += weight * code[:-order]
            if order in self.counts:
                whole = value[run > order]
                self.counts[order] += np.bincount(whole, minlength=weight * k).reshape(-1, k)
