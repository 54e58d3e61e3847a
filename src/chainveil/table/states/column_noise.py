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


class ColumnNoise:
    """Applies the noise of a plan to the rows of a table as they come.

    With secure independent noise every row has noise of its own, so the column is one long
    run of points whatever series its rows belong to. Noise that depends on the place of a
    row in its series, seeded or correlated, has to be shown the blocks of each batch.
    """

    def __init__(self, plan: NoisePlan, source: Source, discretizer: Discretizer) -> None:
        self._noise = RowNoise(plan.noise, source)
        self._positions = Positions(beneath=plan.noise.ordered, named=not source.for_release)
        self._discretizer = discretizer
        self._digest = hashlib.sha256()
        self.rows = 0
        self.gaps = 0
        # The lowest and the highest state of the table; it is private.
        self.lowest, self.highest = NO_STATES

    @property
    def sha256(self) -> str:
        """Digest of all states released so far, a byte each; 255 is a gap."""
        return self._digest.hexdigest()

    def apply(self, codes: NDArray[np.uint8], blocks: Blocks | None = None) -> NDArray[np.uint8]:
        """The states to publish for the next rows."""
        if len(codes) == 0:
            return codes
        if self.lowest >= self.highest:
            self._watch(codes)
        rows = None
        if self._noise.needs_rows and blocks is not None:
            rows = self._positions.rows(blocks, self.rows)
        noisy = self._beneath(codes, rows)
        self._digest.update(np.ascontiguousarray(noisy, np.uint8).data)
        self.rows += len(codes)
        return noisy

    def _watch(self, codes: NDArray[np.uint8]) -> None:
        """Look which states occur, until there are two."""
        held = codes[~self._discretizer.gaps(codes)]
        if len(held):
            self.lowest = min(self.lowest, int(held.min()))
            self.highest = max(self.highest, int(held.max()))

    def _beneath(self, codes: NDArray[np.uint8], rows: Rows | None) -> NDArray[np.uint8]:
        """Noise for every row, the gaps included, which then stay gaps."""
        # The noise looks at the states once more, although a discretizer made them: a glance, of
        # 0.045 ms for a million rows, and then no way to the noise goes by unchecked.
        if self._discretizer.missing == "error":
            return self._noise.apply(codes, rows)
        gaps = self._discretizer.gaps(codes)
        noisy = self._noise.apply(np.where(gaps, np.uint8(0), codes), rows)
        noisy[gaps] = GAP
        self.gaps += int(np.count_nonzero(gaps))
        return noisy
