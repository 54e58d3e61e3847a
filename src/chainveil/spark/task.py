"""What tasks do with the rows they are handed: states, ticks, and words for where a row is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from chainveil.errors import InvalidInput
from chainveil.mechanism.reading import Missing
from chainveil.spark.trouble import marked
from chainveil.table.error_text import moved
from chainveil.table.request.discretize import Discretizer, make_discretizer, numbers
from chainveil.table.request.request import Layout

SERIES, TICK, CODE, VALUE = "series", "tick", "code", "value"

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class StatesOf:
    """A task that turns rows into series, tick of the clock and state.

    Attributes
    ----------
    layout : Layout
    discretizer : Discretizer or None
        Without it every state is 0: only the times matter.
    """

    layout: Layout
    discretizer: Discretizer | None

    def __call__(self, batches: Batches) -> Batches:
        """One batch for each that comes."""
        with marked():
            for batch in batches:
                with placed(self.layout, batch):
                    yield self._changed(batch)

    def _changed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        layout, rows = self.layout, batch.num_rows
        codes = np.zeros(rows, np.int16)
        if self.discretizer is not None:
            codes = self.discretizer.codes(batch.column(layout.column), layout.column)
        clock = layout.clock()
        assert clock is not None
        ticks = clock.ticks(batch.column(layout.time), 0)
        series = pa.array(np.zeros(rows, np.int16)) if layout.series is None else (
            with_series(batch.column(layout.series), layout.series)
        )  # fmt: skip
        columns = [series, pa.array(ticks), pa.array(codes).cast(pa.int16())]
        return pa.RecordBatch.from_arrays(columns, names=[SERIES, TICK, CODE])


@dataclass(frozen=True)
class NumbersOf:
    """A task that reads a column as finite numbers; gaps that are kept are left out."""

    layout: Layout
    missing: Missing

    def __call__(self, batches: Batches) -> Batches:
        """One batch of doubles for each that comes."""
        name = self.layout.column
        # A discretizer knows what a gap is, and how to complain about one.
        reader = make_discretizer(threshold=0.0).keeping(self.missing)
        with marked():
            for batch in batches:
                column = batch.column(name)
                with placed(self.layout, batch):
                    codes = reader.codes(column, name)
                    column = column.filter(pa.array(~reader.gaps(codes)))
                    values = pa.array(numbers(column, name))
                yield pa.RecordBatch.from_arrays([values], names=[VALUE])


def with_series(column: pa.Array, name: str, first_row: int = 0) -> pa.Array:
    """The column that names the series; a row without one is an error."""
    if column.null_count:
        row = first_row + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InvalidInput(
            name, "no series", "a series in every row", f"It stands in row {row + 1}."
        )
    return column


class placed:  # noqa: N801
    """Errors about a row of a batch name its series: rows of Spark have no number.

    Its time is private, as its value is.
    """

    def __init__(self, layout: Layout, batch: pa.RecordBatch, first_row: int = 0) -> None:
        self._layout, self._batch, self._first = layout, batch, first_row

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, InvalidInput):
            raise moved(error, self._place()) from None

    def _place(self) -> Callable[[int], str]:
        name = self._layout.series

        def place(row: int) -> str:
            if name is None or name not in self._batch.schema.names:
                return in_words(None)
            return in_words(self._batch.column(name)[row - self._first].as_py())

        return place


def in_words(series: Any) -> str:
    """A row by its series, where that is known."""
    return "one of its rows" if series is None else f"a row of series {str(series)!r}"
