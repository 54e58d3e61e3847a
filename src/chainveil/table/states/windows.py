"""Counting contexts: how often so many neighbouring states are followed by each, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chainveil.model.orders import MOST_CONTEXTS
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
        splits = np.zeros(len(codes), np.bool_)
        splits[broken] = True
        owners = np.repeat(owner, np.diff(starts, append=len(codes)))
        if len(np.unique(owner)) < len(owner):
            order = np.argsort(owners, kind="stable")
            codes, splits, owners = codes[order], splits[order], owners[order]
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        points, run = self._laid_out(codes, splits, owners[first], first)
        self._add(points, run)

    def _grow(self, count: int) -> None:
        missing = count - len(self._run)
        if missing > 0:
            extra = max(missing, len(self._run))
            self._last = np.pad(self._last, ((0, extra), (0, 0)))
            self._run = np.pad(self._run, (0, extra))

    def _laid_out(
        self, codes: NDArray[np.uint8], splits: NDArray[np.bool_], series: IntArray, first: IntArray
    ) -> tuple[IntArray, IntArray]:
        """The points of each series with its last ones before them, and the run that ends at each.

        A run is how many neighbours there are up to a point, itself included; 0 for those that
        were there before.
        """
        m, total = self._longest, len(codes) + len(series) * self._longest
        begins = first + m * np.arange(len(series))
        places = np.arange(len(codes)) + np.repeat(
            m * np.arange(1, len(series) + 1), np.diff(first, append=len(codes))
        )
        points = np.zeros(total, np.int64)
        points[places] = codes
        points[begins[:, None] + np.arange(m)] = self._last[series]
        # Where the run that ends at each point began: at the latest of these places so far.
        since = np.zeros(total, np.int64)
        since[begins] = begins + m - self._run[series]
        since[places] = np.where(splits, places, 0)
        since[places] = np.where(codes == GAP, places + 1, since[places])
        run = np.arange(total) - np.maximum.accumulate(since) + 1
        ends = np.append(begins[1:], total) - 1
        self._last[series] = points[ends[:, None] - np.arange(m - 1, -1, -1)]
        self._run[series] = np.clip(run[ends], 0, m)
        # What ends before the batch was counted then.
        fresh = np.zeros(total, np.int64)
        fresh[places] = run[places]
        return points, fresh

    def _add(self, points: IntArray, run: IntArray) -> None:
        k = self._states
        # The code of a gap is in no window that counts.
        code = np.where(points == GAP, 0, points)
        value, weight = code.copy(), 1
        for order in range(1, self._longest + 1):
            weight *= k
            value[order:] += weight * code[:-order]
            if order in self.counts:
                whole = value[run > order]
                self.counts[order] += np.bincount(whole, minlength=weight * k).reshape(-1, k)
