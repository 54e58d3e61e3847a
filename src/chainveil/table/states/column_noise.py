"""A plan's noise on a column of states, batch after batch, with its digest."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chainveil.certificate import Released, ReleasedFile
from chainveil.errors import ChainveilWarning, InvalidInput
from chainveil.mechanism.randomness import Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.mechanism.release import source_word
from chainveil.mechanism.rows import RowNoise, Rows
from chainveil.plan import NoisePlan
from chainveil.table.request.discretize import GAP, Discretizer
from chainveil.table.request.request import Layout, Readable, Request
from chainveil.table.states.positions import Positions
from chainveil.table.states.prepare import Seen
from chainveil.table.states.tracker import Blocks, Tracker

# The lowest and the highest of no states at all.
NO_STATES = (256, -1)


class ColumnNoise:
    """Applies the noise of a plan to the rows of a table as they come.

    With secure independent noise every row has noise of its own, so the column is one long
    run of points whatever series its rows belong to. Noise that depends on the place of a
    row in its series, seeded or correlated, has to be shown the blocks of each batch.
    """

    def __init__(self, plan: NoisePlan, rng: Source | None, missing: Missing = "error") -> None:
        self._source = as_source(rng)
        self._noise = RowNoise(plan.noise, self._source)
        named = not self._source.for_release
        self._positions = Positions(beneath=plan.noise.ordered, named=named)
        self._keeps_gaps = missing == "keep"
        self._digest = hashlib.sha256()
        self.rows = 0
        self.gaps = 0
        # The lowest and the highest state of the table; it is private.
        self.lowest, self.highest = NO_STATES

    @property
    def source(self) -> Literal["release", "study"]:
        """As a certificate names it."""
        return source_word(self._source)

    @property
    def sha256(self) -> str:
        """Digest of all states released so far, a byte each; 255 is a gap."""
        return self._digest.hexdigest()

    def follower(self, seen: Tracker | None, layout: Layout, positions: bool = False) -> Tracker:
        """The tracker that has seen the table, or a new one that has to see it on the way.

        ``positions`` says whether the places of rows are published.
        """
        if seen is not None and not self._noise.needs_rows and not positions:
            return seen
        return Tracker(layout.series, layout.clock())

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
        held = codes[codes != GAP] if self._keeps_gaps else codes
        if len(held):
            self.lowest = min(self.lowest, int(held.min()))
            self.highest = max(self.highest, int(held.max()))

    def _beneath(self, codes: NDArray[np.uint8], rows: Rows | None) -> NDArray[np.uint8]:
        """Noise for every row, the gaps included, which then stay gaps."""
        if not self._keeps_gaps:
            return self._noise.apply(codes, rows)
        gaps = codes == GAP
        noisy = self._noise.apply(np.where(gaps, np.uint8(0), codes), rows)
        noisy[gaps] = GAP
        self.gaps += int(np.count_nonzero(gaps))
        return noisy


def released_rows(
    table: Readable,
    request: Request,
    noise: ColumnNoise,
    seen: Tracker,
    file: ReleasedFile | None = None,
) -> Released:
    """What a certificate says of the rows that were released."""
    layout = request.layout
    return Released(
        layout.column, layout.series, noise.rows, seen.series, noise.sha256, file,
        noise.gaps, seen.splits, **released_columns(table, request),
    )  # fmt: skip


def check_same_rows(seen: Seen | None, rows: int) -> None:
    """Error if the table had another number of rows when it was fitted than when it was read."""
    if seen is not None and seen.rows != rows:
        raise InvalidInput(
            "table", f"{seen.rows:,} rows at first, {rows:,} rows later",
            "a table that stays the same while it is read", "Work on a copy.",
        )  # fmt: skip


def warn_of_one_state(discretizer: Discretizer, rows: int, lowest: int, highest: int) -> None:
    """Say so where limits leave all values in one state.

    No error: whether a release appears must not depend on the values.
    """
    if discretizer.edges and rows > 1 and lowest == highest:
        warnings.warn(
            "the limits (threshold or edges) leave only one state: all values lie on the same side "
            "of each. Are they in the units of the column? The release is made all the same, "
            "since whether there is one must not depend on the values",
            ChainveilWarning,
            stacklevel=2,
        )


def released_columns(table: Readable, request: Request) -> dict[str, Any]:
    """What a certificate says of the other columns of a release."""
    kept, layout = request.kept, request.layout
    return {
        "kept": tuple(kept.others(layout, table.columns)),
        "time": kept.time_in_words(layout),
        "allowed_leaks": kept.allow_leak,
    }


def check_length(plan: NoisePlan, seen: Seen) -> None:
    """Error if a series is longer than the plan's promise covers."""
    length = plan.loss.length
    if length is None:
        return
    if seen.splits:
        # Points on both sides of a gap still depend on each other, across unseen points.
        raise InvalidInput(
            "length", length, "None, where series are split at gaps",
            "A gap hides how many points lie in it.",
        )  # fmt: skip
    if seen.longest > length:
        raise InvalidInput(
            "table", f"a series of {seen.longest} rows", f"at most {length} rows, the length "
            "the noise was calibrated for", "Leave the length out: the promise then holds for any.",
        )  # fmt: skip
