"""A plan's noise on a column of states, batch after batch, with its digest."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from chainveil.mechanism.randomness import Source
from chainveil.mechanism.rows import RowNoise, Rows
from chainveil.plan import NoisePlan
from chainveil.table.request.discretize import GAP, Discretizer
from chainveil.table.states.positions import Positions
from chainveil.table.states.tracker import Blocks

# The lowest and the highest of no states at all.
NO_STATES = (256, -1)
# How far a row lies behind a gap of unknown length, for noise that holds its report over any.
BEHIND = 2

Codes = NDArray[np.uint8]
Mask = NDArray[np.bool_]


class ColumnNoise:
    """Applies the noise of a plan to the rows of a table as they come.

    With secure independent noise on every point the column is one long run of points whatever
    series its rows belong to. Noise that depends on the place of a row in its series, seeded,
    with a memory, or on one point in several, has to be shown the blocks of each batch. Where one
    point in several reports, only the rows that report are published.
    """

    def __init__(self, plan: NoisePlan, source: Source, discretizer: Discretizer) -> None:
        noise, rare = plan.noise, plan.noise.every > 1
        self._noise = RowNoise(noise, source)
        unknown = BEHIND if noise.holds and not rare else None
        beneath = noise.ordered or rare
        self._positions = Positions(beneath, not source.for_release, unknown)
        self._discretizer = discretizer
        self._skips = noise.holds
        self._rare = rare
        self._heard = np.zeros(0, np.bool_)
        self._digest = hashlib.sha256()
        # Rows that came, rows that are published, and those of them without a value.
        self.rows = self.released = self.gaps = 0
        # The lowest and the highest state of the table; it is private.
        self.lowest, self.highest = NO_STATES

    @property
    def sha256(self) -> str:
        """Digest of all states released so far, a byte each; 255 is a gap."""
        return self._digest.hexdigest()

    @property
    def heard(self) -> int:
        """Number of series with a report, where one point in several reports."""
        return int(np.count_nonzero(self._heard))

    def apply(self, codes: Codes, blocks: Blocks | None = None) -> tuple[Codes, Mask | None]:
        """The states to publish next, and which of the rows that came they are for; None: all."""
        if len(codes) == 0:
            return codes, None
        if self.lowest >= self.highest:
            self._watch(codes)
        rows = None
        if self._noise.needs_rows and blocks is not None:
            rows = self._positions.rows(blocks, self.rows)
        self.rows += len(codes)
        made = self._noise.reports(rows) if self._rare and rows is not None else None
        if made is not None and rows is not None:
            self._hear(rows.owner[made])
        return self._published(self._reports(codes, rows, made)), made

    def _published(self, states: Codes) -> Codes:
        if self._discretizer.missing == "keep":
            self.gaps += int(np.count_nonzero(states == GAP))
        self._digest.update(np.ascontiguousarray(states, np.uint8).data)
        self.released += len(states)
        return states

    def _watch(self, codes: Codes) -> None:
        """Look which states occur, until there are two."""
        held = codes[~self._discretizer.gaps(codes)]
        if len(held):
            self.lowest = min(self.lowest, int(held.min()))
            self.highest = max(self.highest, int(held.max()))

    def _hear(self, owner: NDArray[np.int64]) -> None:
        missing = int(owner.max(initial=-1)) + 1 - len(self._heard)
        self._heard = np.pad(self._heard, (0, max(0, missing)))
        self._heard[owner] = True

    def _reports(self, codes: Codes, rows: Rows | None, made: Mask | None) -> Codes:
        """The reports of the rows that make one; a gap stays one."""
        # The noise looks at the states once more, although a discretizer made them: a glance, of
        # 0.045 ms for a million rows, and then no way to the noise goes by unchecked.
        if self._discretizer.missing == "error":
            return self._noise.apply(codes, rows)
        gaps = self._discretizer.gaps(codes)
        asked = gaps if made is None else gaps[made]
        if not self._skips or rows is None:
            # Noise is drawn for the points beneath the gaps too.
            noisy = self._noise.apply(np.where(gaps, np.uint8(0), codes), rows)
            noisy[asked] = GAP
            return noisy
        noisy = np.full(len(asked), GAP, np.uint8)
        noisy[~asked] = self._noise.apply(codes[~gaps], _at(rows, ~gaps))
        return noisy


def _at(rows: Rows, places: Mask) -> Rows:
    return Rows(rows.owner[places], rows.points[places], rows.numbers)
