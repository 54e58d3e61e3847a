"""A column's states by series, in memory: one byte a row, laid end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import TooLarge
from chainveil.sequences import Sequences
from chainveil.table.request.discretize import GAP, Discretizer, Label
from chainveil.table.request.request import Layout, Readable, one_column
from chainveil.table.states.groups import GroupColumn
from chainveil.table.states.prepare import Progress, check_not_empty, follow
from chainveil.table.states.tracker import Blocks, Tracker

IntArray = NDArray[np.int64]
# Rows that are held at once: a gigabyte.
MOST_ROWS = 1_000_000_000


@dataclass(frozen=True)
class SeriesStates:
    """The states of a table's series.

    Attributes
    ----------
    sequences : Sequences
        All points, series after series; ``GAP`` where a point is missing, and where a series is
        split.
    names : sequence
        The value of the series column for each; one name where there is none.
    groups : dict
        The numbers of the series of each group, by its label, where the table has groups.
    """

    sequences: Sequences
    names: Sequence[Any]
    groups: Mapping[Label, IntArray] = field(default_factory=dict)

    def group(self, label: Label) -> SeriesStates:
        """The series of one group."""
        flat, offsets = self.sequences.flat, self.sequences.offsets
        owners = self.groups[label].tolist()
        pieces = [flat[offsets[owner] : offsets[owner + 1]] for owner in owners]
        ends = np.cumsum([0, *(len(piece) for piece in pieces)])
        held = Sequences(np.concatenate(pieces), ends.astype(np.int64))
        return SeriesStates(held, [self.names[owner] for owner in owners])

    def stretches(self) -> tuple[list[NDArray[np.uint8]], list[int]]:
        """Stretches without a gap, and the number of the series that each belongs to."""
        flat, offsets = self.sequences.flat, self.sequences.offsets
        cuts = np.union1d(offsets, np.flatnonzero(flat == GAP))
        cuts = np.union1d(cuts, np.flatnonzero(flat == GAP) + 1)
        pieces = np.split(flat, cuts[1:-1])
        owners = np.searchsorted(offsets, cuts[:-1], side="right") - 1
        kept = [i for i, piece in enumerate(pieces) if len(piece) and piece[0] != GAP]
        return [pieces[i] for i in kept], [int(owners[i]) for i in kept]


def read_states(
    table: Readable, layout: Layout, discretizer: Discretizer, progress: Progress | None = None
) -> SeriesStates:
    """Read a table once, and lay its states out by series."""
    tracker, rows = Tracker(layout.series, layout.clock()), _Rows([], [], [], [])
    column = None if layout.group is None else GroupColumn(layout.group)
    group_of: dict[int, int] = {}
    for batch in table.batches(layout.names):
        before = tracker.rows
        codes = discretizer.codes(one_column(batch, layout.column), layout.column, before)
        blocks = follow(tracker, layout, batch, None)
        rows.add(codes, blocks, before)
        if column is not None:
            numbers = column.numbers(one_column(batch, column.name), before)[blocks.starts]
            group_of.update(zip(blocks.owner.tolist(), numbers.tolist(), strict=True))
        if tracker.rows > MOST_ROWS:
            raise TooLarge(f"series of more than {MOST_ROWS:,} rows together; take a part of them")
        if progress is not None:
            progress("reading series", batch.num_rows)
    check_not_empty(tracker.rows)
    numbers = np.array([group_of[owner] for owner in sorted(group_of)], np.int64)
    labels = [] if column is None else column.labels
    groups = {label: np.flatnonzero(numbers == number) for number, label in enumerate(labels)}
    return SeriesStates(rows.laid_out(tracker.series), tracker.names, groups)


@dataclass(frozen=True)
class _Rows:
    """What was read, batch by batch: states, and the blocks they stand in."""

    codes: list[NDArray[np.uint8]]
    owners: list[IntArray]
    sizes: list[IntArray]
    broken: list[IntArray]

    def add(self, codes: NDArray[np.uint8], blocks: Blocks, before: int) -> None:
        self.codes.append(codes)
        self.owners.append(blocks.owner)
        self.sizes.append(np.diff(blocks.starts, append=blocks.rows))
        self.broken.append(blocks.broken + before)

    def laid_out(self, series: int) -> Sequences:
        """Series after series, with a gap where one is split."""
        flat, owner = np.concatenate(self.codes), np.concatenate(self.owners)
        size, broken = np.concatenate(self.sizes), np.concatenate(self.broken)
        lengths = np.bincount(owner, weights=size, minlength=series).astype(np.int64)
        if np.any(owner[1:] < owner[:-1]):
            order = _by_owner(owner, size)
            flat = flat[order]
            broken = np.flatnonzero(np.isin(order, broken, assume_unique=True))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        if len(broken):
            flat = np.insert(flat, broken, GAP)
            offsets = offsets + np.searchsorted(np.sort(broken), offsets, side="left")
        return Sequences(flat, offsets)


def _by_owner(owner: IntArray, size: IntArray) -> IntArray:
    """The rows in the order of their series, from blocks of rows."""
    order = np.argsort(owner, kind="stable")
    starts = np.cumsum(size) - size
    size, starts = size[order], starts[order]
    return np.repeat(starts - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
