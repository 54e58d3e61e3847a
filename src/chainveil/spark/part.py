"""One part of a release: what a task writes, and what it tells the driver about it."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from chainveil.spark.task import Batches, placed, with_series
from chainveil.spark.trouble import marked
from chainveil.table.release import RowRelease, Steps
from chainveil.table.write.atomic import Digested
from chainveil.table.write.writing import ParquetWriter

# A row group: large enough to be read quickly, small enough that a task holds little.
GROUP_ROWS = 1 << 19
GROUP_BYTES = 1 << 25

# Under this name a Parquet file tells Spark the types that Parquet itself does not know.
SPARK_TYPES = "org.apache.spark.sql.parquet.row.metadata"


@dataclass(frozen=True)
class WrittenPart:
    """A file that one attempt of one task has written, and nobody has seen yet.

    Attributes
    ----------
    partition : int
        Which share of the rows.
    file : str
        A name that no other attempt has.
    points, rows, gaps, bytes : int
        Rows that came, and rows of the file.
    series, splits : int
        Series seen and gaps that split them, where series come whole; else 0.
    heard : int
        As in :class:`chainveil.table.release.Drawn`.
    sha256, states_sha256 : str
        Digests of the file, and of the published states a byte each.
    lowest, highest : int
        Of the states before noise; for the driver alone.
    """

    partition: int
    file: str
    points: int
    rows: int
    gaps: int
    series: int
    splits: int
    bytes: int
    sha256: str
    states_sha256: str
    lowest: int
    highest: int
    heard: int


TELLS = (
    "partition bigint, file string, points bigint, rows bigint, gaps bigint, series bigint, "
    "splits bigint, bytes bigint, sha256 string, states_sha256 string, lowest bigint, "
    "highest bigint, heard bigint"
)


@dataclass(frozen=True)
class WritePart:
    """A task that draws the noise of its rows and writes them to a file of its own.

    The rows do not go back to Spark: only one line about the file does. A task that is run
    twice writes two files under two names with two keys; which of them becomes part of the
    release is for the driver to say, see ``staging.py``.

    Attributes
    ----------
    steps : Steps
        As on one machine. Rows come series by series and in the order of time where they must.
    folder : str
        Where the file goes.
    types : str
        The released columns in Spark's own words.
    """

    steps: Steps
    folder: str
    types: str

    def __call__(self, batches: Batches) -> Batches:
        """At most one row, about the file."""
        with marked():
            part = self._write(groups(batches))
            if part is not None:
                yield pa.RecordBatch.from_pylist([vars(part)])

    def _write(self, batches: Batches) -> WrittenPart | None:
        from pyspark import TaskContext

        first = next(batches, None)
        if first is None:
            return None
        context: Any = TaskContext.get()
        name = f"{context.partitionId()}-{context.taskAttemptId()}-{secrets.token_hex(8)}.parquet"
        path = Path(self.folder) / name
        try:
            with path.open("xb") as file:
                out = Digested(file)
                rows = self._poured(first, batches, out)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        noise, tracker = rows.noise, rows.tracker
        followed = (0, 0) if tracker is None else (tracker.series, tracker.splits)
        came = noise.rows, noise.released, noise.gaps
        tells = (*came, *followed, out.bytes, out.sha256, noise.sha256)
        states = noise.lowest, noise.highest, noise.heard
        return WrittenPart(context.partitionId(), name, *tells, *states)

    def _poured(self, first: pa.RecordBatch, rest: Batches, out: Digested) -> RowRelease:
        steps, layout = self.steps, self.steps.layout
        rows = RowRelease(steps, first.schema.names, steps.ordered)
        # With Spark's own account of the types.
        schema = steps.schema(first.schema).with_metadata({SPARK_TYPES: self.types})
        writer = ParquetWriter(out, schema, None)
        try:
            for batch in chain([first], rest):
                with placed(layout, batch, rows.noise.rows):
                    if layout.series is not None:
                        with_series(batch.column(layout.series), layout.series, rows.noise.rows)
                    columns = rows.columns(batch)
                    writer.write(pa.RecordBatch.from_arrays(columns, schema=schema))
            writer.close()
        except BaseException:
            out.abandon()
            raise
        return rows


def spark_values(values: pa.Array) -> pa.Array:
    """The published column; Spark knows no unsigned bytes."""
    return values.cast(pa.int16()) if values.type == pa.uint8() else values


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
