"""Where each row stands in its series: the address of its noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism.randomness import series_number
from chainveil.mechanism.rows import Rows
from chainveil.table.error_text import at_row
from chainveil.table.request.clock import FLOAT_STEP
from chainveil.table.states.tracker import Blocks, previous_blocks

IntArray = NDArray[np.int64]


class Positions:
    """How far each series has come, from batch to batch.

    ``beneath`` counts the points that lie in gaps too: correlated noise runs on beneath
    them, and which points report is counted across them, or the release would be that of
    another mechanism than the certified one. ``named``
    says whether the numbers of series matter: secure noise has no use for them. ``unknown_gap``
    is how far a row lies behind a gap of unknown length; None: that is an error.
    """

    def __init__(self, beneath: bool, named: bool = True, unknown_gap: int | None = None) -> None:
        self._beneath, self._named, self._unknown = beneath, named, unknown_gap
        self._totals = np.zeros(1, np.int64)
        self._numbers = np.zeros(0, np.uint64)

    def rows(self, blocks: Blocks, first_row: int) -> Rows:
        """The places of a batch; ``first_row`` is the number of its first row in the table."""
        self._know(blocks)
        weights = np.ones(blocks.rows, np.int64)
        if self._beneath and len(blocks.broken):
            weights[blocks.broken] = self._behind(blocks, first_row)
        reached = np.cumsum(weights)
        ends = np.append(blocks.starts[1:], blocks.rows) - 1
        before = reached[blocks.starts] - weights[blocks.starts]
        begins = self._begins(blocks.owner, reached[ends] - before) - before
        sizes = ends + 1 - blocks.starts
        points = np.repeat(begins, sizes) + reached - 1
        return Rows(np.repeat(blocks.owner, sizes), points, self._numbers)

    def _behind(self, blocks: Blocks, first_row: int) -> IntArray | int:
        """How far the rows behind gaps are from the rows before them."""
        if blocks.steps is None and self._unknown is not None:
            return self._unknown
        return _whole_steps(blocks, first_row)

    def _begins(self, owner: IntArray, weights: IntArray) -> IntArray:
        """Points of each block's series before the block; the block's own are added."""
        order = np.argsort(owner, kind="stable")
        summed = np.cumsum(weights[order])
        first = previous_blocks(owner)[order] < 0
        group_before = (summed - weights[order])[first]
        lengths = np.diff(np.flatnonzero(first), append=len(order))
        inside = np.empty(len(owner), np.int64)
        inside[order] = summed - weights[order] - np.repeat(group_before, lengths)
        begins = self._totals[owner] + inside
        np.add.at(self._totals, owner, weights)
        return begins

    def _know(self, blocks: Blocks) -> None:
        """Number the series that are new."""
        known = len(self._numbers)
        count = int(blocks.owner.max()) + 1
        if count <= known:
            return
        owners, places = np.unique(blocks.owner, return_index=True)
        rows = blocks.starts[places[owners >= known]]
        numbers = np.zeros(count - known, np.uint64)
        if self._named and blocks.series is not None:
            numbers = series_numbers(blocks.series.take(pa.array(rows)))
        self._numbers = np.concatenate([self._numbers, numbers])
        room = max(count, 2 * len(self._totals)) if count > len(self._totals) else 0
        self._totals = np.pad(self._totals, (0, max(0, room - len(self._totals))))


def series_numbers(values: pa.Array) -> NDArray[np.uint64]:
    """The number of each series in a seeded source, from its value as text; shape (values,)."""
    return np.array([series_number(text) for text in _texts(values)], np.uint64)


def _texts(values: pa.Array) -> list[Any]:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        values = values.cast(pa.string())
    return list(values.to_pylist())


def _whole_steps(blocks: Blocks, first_row: int) -> IntArray:
    """How many points lie between the rows at a gap and the row before, one more than unseen."""
    row = first_row + int(blocks.broken[0])
    if blocks.steps is None:
        raise InvalidInput(
            "step", None, "the regular step of the time column, where correlated noise or rare "
            "reports meet a gap",
            f"{at_row(row)} The points that are missing have to be counted.",
        )  # fmt: skip
    whole = np.rint(blocks.steps)
    crooked = np.abs(blocks.steps - whole) > FLOAT_STEP * whole
    if crooked.any():
        place = int(np.argmax(crooked))
        raise InvalidInput(
            "time", "a gap that is no whole number of steps", "gaps of whole steps, where the "
            "noise has a memory, reports are rare or positions are published",
            at_row(first_row + int(blocks.broken[place])),
        )  # fmt: skip
    return whole.astype(np.int64)
