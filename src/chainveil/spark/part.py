"""One part of a release: what a task writes, and what it tells the driver about it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from chainveil.mechanism.randomness import Source
from chainveil.plan import NoisePlan
from chainveil.spark.task import Batches, placed, with_series
from chainveil.spark.trouble import marked
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.kept import Kept
from chainveil.table.request.request import Layout, one_column
from chainveil.table.states.column_noise import ColumnNoise
from chainveil.table.states.prepare import follow
from chainveil.table.states.tracker import Tracker
from chainveil.table.write.atomic import Digested
from chainveil.table.write.shaping import Shaping
from chainveil.table.write.writing import ParquetWriter

# A row group: large enough to be read quickly, small enough that a task holds little.
GROUP_ROWS = 1 << 19
GROUP_BYTES = 1 << 25

# Under this name a Parquet file tells Spark the types that Parquet itself does not know.
SPARK_TYPES = "org.apache.spark.sql.parquet.row.metadata"


@dataclass(frozen=True)
class Part:
    """A file that one attempt of one task has written, and nobody has seen yet.

    Attributes
    ----------
    partition : int
        Which share of the rows.
    file : str
        A name that no other attempt has.
    rows, gaps, bytes : int
    series, splits : int
        Series seen and gaps that split them, where series come whole; else 0.
    sha256, states_sha256 : str
        Digests of the file, and of the published states a byte each.
    lowest, highest : int
        Of the states before noise; for the driver alone.
    """

    partition: int
    file: str
    rows: int
    gaps: int
    series: int
    splits: int
    bytes: int
    sha256: str
    states_sha256: str
    lowest: int
    highest: int


TELLS = (
    "partition bigint, file string, rows bigint, gaps bigint, series bigint, splits bigint, "
    "bytes bigint, sha256 string, states_sha256 string, lowest bigint, highest bigint"
)


@dataclass(frozen=True)
class WritePart:
    """A task that draws the noise of its rows and writes them to a file of its own.

    The rows do not go back to Spark: only one line about the file does. A task that is run
    twice writes two files under two names with two keys; which of them becomes part of the
    release is for the driver to say, see ``sink.py``.

    Attributes
    ----------
    layout, kept, discretizer, plan, rng
        As on one machine.
    folder : str
        Where the file goes.
    types : str
        The released columns in Spark's own words.
    ordered : bool
        Whether the rows come series by series and in the order of time.
    """

    layout: Layout
    kept: Kept
    discretizer: Discretizer
    plan: NoisePlan
    rng: Source | None
    folder: str
    types: str
    ordered: bool

    def __call__(self, batches: Batches) -> Batches:
        """At most one row, about the file."""
        with marked():
            part = self._write(groups(batches))
            if part is not None:
                yield pa.RecordBatch.from_pylist([vars(part)])

    def _write(self, batches: Batches) -> Part | None:
        from pyspark import TaskContext

        first = next(batches, None)
        if first is None:
            return None
        context: Any = TaskContext.get()
        name = f"{context.partitionId()}-{context.taskAttemptId()}-{secrets.token_hex(8)}.parquet"
        path = Path(self.folder) / name
        try:
            with path.open("xb") as file:
                sink = Digested(file)
                noise, tracker = self._pour(first, batches, sink)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        followed = (0, 0) if tracker is None else (tracker.series, tracker.splits)
        tells = (noise.rows, noise.gaps, *followed, sink.bytes, sink.sha256, noise.sha256)
        return Part(context.partitionId(), name, *tells, noise.lowest, noise.highest)

    def _pour(
        self, first: pa.RecordBatch, rest: Batches, sink: Digested
    ) -> tuple[ColumnNoise, Tracker | None]:
        noise = ColumnNoise(self.plan, self.rng, self.discretizer.missing)
        layout = self.layout
        tracker = Tracker(layout.series, layout.clock()) if self.ordered else None
        shaping = Shaping(self.kept, layout, first.schema.names)
        kind = released_type(self.discretizer, first.schema.field(layout.column).type)
        # With Spark's own account of the types.
        schema = shaping.schema(first.schema, kind).with_metadata({SPARK_TYPES: self.types})
        writer = ParquetWriter(sink, schema, None)
        try:
            for batch in _again(first, rest):
                with placed(layout, batch, noise.rows):
                    columns = self._released(batch, kind, shaping, noise, tracker)
                    writer.write(pa.RecordBatch.from_arrays(columns, schema=schema))
            writer.close()
        except BaseException:
            sink.abandon()
            raise
        return noise, tracker

    def _released(
        self,
        batch: pa.RecordBatch,
        kind: pa.DataType,
        shaping: Shaping,
        noise: ColumnNoise,
        tracker: Tracker | None,
    ) -> list[pa.Array]:
        layout, row = self.layout, noise.rows
        column = one_column(batch, layout.column)
        codes = self.discretizer.codes(column, layout.column, row)
        if layout.series is not None:
            with_series(batch.column(layout.series), layout.series, row)
        blocks = None if tracker is None else follow(tracker, layout, batch, None)
        values = self.discretizer.values(noise.apply(codes, blocks), column.type)
        return shaping.columns(batch, values.cast(kind), blocks, row)


def released_type(discretizer: Discretizer, like: pa.DataType) -> pa.DataType:
    """The type of the published column; Spark knows no unsigned bytes."""
    kind = discretizer.values(np.empty(0, np.uint8), like).type
    return pa.int16() if kind == pa.uint8() else kind


def groups(batches: Batches) -> Batches:
    """Small batches joined to larger ones, so that the cost of a batch is nothing."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_batches(held)


def _again(first: pa.RecordBatch, rest: Batches) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest
