"""Reports held over the silent rows of a table, as ``sanitize`` holds them in arrays.

A report stands in the middle of its block, so that the rows before it wait until it is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism.rows import Rows
from chainveil.mechanism.turns import memory_kernels
from chainveil.noise.base import Noise

IntArray = NDArray[np.int64]

# What is known of a series before its first row, in the order of ``memory_kernels.hold_rows``.
UNSEEN = np.array([[-1], [-1], [0], [-1]], np.int64)
UNHEARD, WAITS = -1, -2


class HeldRows:
    """A value for every row, of the rows in the order in which they come.

    Each batch is handed over with the reports that ``RowNoise.apply`` made of it; back come the
    values of the earliest rows that are still to come, as many as are settled. Whoever writes
    the rows keeps as many of them back. ``finish`` gives the rest: a block that never got a
    report holds the one before it.

    A value is a report, or -1 for a row before any report of its series.
    """

    def __init__(self, noise: Noise) -> None:
        self._every, self._first = noise.every, noise.first_place
        self._rows = np.empty((3, 0), np.int64)
        self._values, self._link = np.empty(0, np.int64), np.empty(0, np.int64)
        self._series = np.empty((4, 0), np.int64)

    @property
    def waiting(self) -> int:
        """How many rows have come whose values have not gone out."""
        return len(self._values)

    def add(self, rows: Rows, reports: NDArray[Any]) -> IntArray:
        """The values of the next rows that are settled, int64."""
        self._grow(len(rows.numbers))
        before, count = self.waiting, len(rows.owner)
        block, inside = np.divmod(rows.points, self._every)
        when = 1 + np.sign(inside - self._first)
        if (made := int((when == 1).sum())) != len(reports):
            raise InvalidInput(
                "reports", f"{len(reports)} reports", f"{made}, one for each row that reports"
            )
        self._rows = np.concatenate([self._rows, [rows.owner, block, when]], axis=1)
        self._values = np.concatenate([self._values, np.full(count, WAITS)])
        self._link = np.concatenate([self._link, np.full(count, -1)])
        memory_kernels().hold_rows(
            self._rows, reports, before, self._series, self._link, self._values
        )
        waits = self._values == WAITS
        return self._out(int(np.argmax(waits)) if waits.any() else self.waiting)

    def finish(self) -> IntArray:
        """The values of all rows that are left."""
        left = self._values == WAITS
        self._values[left] = self._series[1, self._rows[0, left]]
        self._series[3] = -1
        return self._out(self.waiting)

    def _out(self, count: int) -> IntArray:
        """Let the first rows go; those that stay are counted from 0 again."""
        values = self._values[:count]
        self._rows, self._values = self._rows[:, count:], self._values[count:]
        self._link = np.maximum(self._link[count:] - count, -1)
        self._series[3] = np.maximum(self._series[3] - count, -1)
        return values

    def _grow(self, count: int) -> None:
        missing = count - self._series.shape[1]
        if missing > 0:
            extra = max(missing, self._series.shape[1])
            self._series = np.concatenate([self._series, np.repeat(UNSEEN, extra, axis=1)], axis=1)
