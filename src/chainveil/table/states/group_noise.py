"""The noise of several groups on one column, batch after batch: each row has that of its group."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

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
        hold: bool,
        follows: bool,
    ) -> None:
        self._layout = layout
        self._column = GroupColumn(str(layout.group), plans.labels)
        self.each = [ColumnNoise(plan, source, discretizer, hold) for plan in plans.each]
        self.trackers = [Tracker(layout.series, layout.clock()) for _ in self.each] * follows
        self._leaves_out = plans.rare and not hold
        # The groups of the rows that are still to be published, and states ready for them.
        self._waiting = np.empty(0, np.uint8)
        self._ready: list[Codes] = [np.empty(0, np.uint8) for _ in self.each]
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
        """Number of series with a report, where only rows that report are published."""
        return sum(noise.heard for noise in self.each)

    @property
    def unheard(self) -> int:
        """Rows that no report stands for."""
        return sum(noise.unheard for noise in self.each)

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
        made = np.ones(len(codes), np.bool_)
        for group in np.unique(numbers).tolist():
            here = numbers == group
            blocks = None
            if self.trackers:
                rows = batch.filter(pa.array(here))
                blocks = follow(self.trackers[group], self._layout, rows, None)
            states, kept = self.each[group].apply(codes[here], blocks)
            self._ready[group] = np.concatenate([self._ready[group], states])
            if kept is not None:
                made[here] = kept
        self._waiting = np.concatenate([self._waiting, numbers[made]])
        return self._published(), made if self._leaves_out else None

    def finish(self) -> Codes:
        """As :meth:`ColumnNoise.finish`."""
        rest = [noise.finish() for noise in self.each]
        self._ready = [np.concatenate(pair) for pair in zip(self._ready, rest, strict=True)]
        return self._published()

    def _published(self) -> Codes:
        """The states of the earliest rows that are ready."""
        end = _ready_rows(self._waiting, [len(states) for states in self._ready])
        published, states = self._waiting[:end], np.empty(end, np.uint8)
        for group, ready in enumerate(self._ready):
            places = np.flatnonzero(published == group)
            states[places] = ready[: len(places)]
            self._ready[group] = ready[len(places) :]
        self._waiting = self._waiting[end:]
        self._digest.update(states.data)
        return states


def _ready_rows(groups: Codes, ready: Sequence[int]) -> int:
    """How many rows from the first on have a state, where so many of each group do."""
    lacking = (np.flatnonzero(groups == group)[count:] for group, count in enumerate(ready))
    return min((int(places[0]) for places in lacking if len(places)), default=len(groups))
