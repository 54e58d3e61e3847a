"""From the columns of a table to those of its release, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from chainveil.table.request.clock import Clock
from chainveil.table.request.kept import Kept
from chainveil.table.request.request import Layout, one_column
from chainveil.table.states.positions import Positions
from chainveil.table.states.tracker import Blocks
from chainveil.table.write.metadata import plain_column, plain_field


class Shaping:
    """Makes the columns to publish of the batches of one pass over a table."""

    def __init__(self, kept: Kept, layout: Layout, columns: Sequence[str]) -> None:
        self._kept, self._layout = kept, layout
        self._clock = layout.clock()
        self._positions = Positions(beneath=True, named=False, unknown_gap=2)
        self.names = kept.published(layout, columns)

    def schema(self, schema: pa.Schema, released: pa.DataType) -> pa.Schema:
        """Names and types of the release, and nothing else of what the table came with."""
        kinds = {self._layout.column: released}
        if self._layout.time is not None and self._kept.time_as is not None:
            kinds[self._layout.time] = self._time_type(schema.field(self._layout.time).type)
        return pa.schema([plain_field(schema.field(name), kinds.get(name)) for name in self.names])

    def columns(self, batch: pa.RecordBatch, made: Mapping[str, pa.Array]) -> list[pa.Array]:
        """The columns to publish, of which ``made`` are new."""
        return [
            made[name] if name in made else plain_column(one_column(batch, name), name)
            for name in self.names
        ]

    def time(self, batch: Any, blocks: Blocks | None, first_row: int) -> pa.Array:
        """The time column as it is published, where it is not as it was."""
        assert self._clock is not None
        if self._kept.positions:
            assert blocks is not None
            return pa.array(self._positions.rows(blocks, first_row).points)
        return rounded(self._kept, self._clock, one_column(batch, self._clock.name), first_row)

    def _time_type(self, kind: pa.DataType) -> pa.DataType:
        if self._kept.positions:
            return pa.int64()
        assert self._clock is not None
        return self._clock.rounded_type(kind, _whole(self._kept))


def rounded(kept: Kept, clock: Clock, column: pa.Array, first_row: int) -> pa.Array:
    """Times rounded down to the width that was asked for."""
    width = kept.width
    assert width is not None
    return clock.rounded(column, width.value, width.seconds, first_row)


def _whole(kept: Kept) -> bool:
    return kept.width is not None and kept.width.value.is_integer()
