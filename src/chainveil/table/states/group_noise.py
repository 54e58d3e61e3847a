"""The noise of several groups on one column, batch after batch: each row has that of its group."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from chainveil.mechanism.randomness import Source
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.request import Layout, one_column
from chainveil.table.states.column_noise import Codes, ColumnNoise, Mask
from chainveil.table.states.groups import GroupColumn, Plans
from chainveil.table.states.prepare import follow
from chainveil.table.states.tracker import Tracker


class GroupNoise:
    """A :class:`~chainveil.table.states.column_noise.ColumnNoise` for each group.

    Rows go to the noise of their group, and their states come back in the order of the rows.
    ``follows``: the series of each group are followed, for noise that depends on their order.
    """

    def __init__(
        self,
        plans: Plans,
        layout: Layout,
        source: Source,
        discretizer: Discretizer,
        follows: bool,
    ) -> None:
        self._layout = layout
        self._column = GroupColumn(str(layout.group), plans.labels)
        self.each = [ColumnNoise(plan, source, discretizer) for plan in plans.each]
        self.trackers = [Tracker(layout.series, layout.clock()) for _ in self.each] * follows
        self._rare = plans.rare
        self._digest = hashlib.sha256()
        self.rows = 0

    @property
    def released(self) -> int:
        """Rows that are published."""
        return sum(noise.released for noise in self.each)

    @property
    def gaps(self) -> int:
        """Those of them without a value."""
        return sum(noise.gaps for noise in self.each)

    @property
    def heard(self) -> int:
        """Number of series with a report, where one point in several reports."""
        return sum(noise.heard for noise in self.each)

    @property
    def lowest(self) -> int:
        """The lowest state of the table; it is private."""
        return min(noise.lowest for noise in self.each)

    @property
    def highest(self) -> int:
        """The highest state of the table; it is private."""
        return max(noise.highest for noise in self.each)

    @property
    def sha256(self) -> str:
        """Digest of all states released so far, a byte each, in the order of the rows."""
        return self._digest.hexdigest()

    def apply(self, codes: Codes, batch: pa.RecordBatch) -> tuple[Codes, Mask | None]:
        """As :meth:`ColumnNoise.apply`, for the rows of a batch."""
        numbers = self._column.numbers(one_column(batch, self._column.name), self.rows)
        self.rows += len(codes)
        made, published = np.ones(len(codes), np.bool_), np.zeros(len(codes), np.uint8)
        for group in np.unique(numbers).tolist():
            here = numbers == group
            blocks = None
            if self.trackers:
                rows = batch.filter(pa.array(here))
                blocks = follow(self.trackers[group], self._layout, rows, None)
            states, kept = self.each[group].apply(codes[here], blocks)
            if kept is not None:
                made[here] = kept
            published[here & made] = states
        published = published[made]
        self._digest.update(published.data)
        return published, made if self._rare else None
