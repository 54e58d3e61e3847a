"""A Spark frame where a table is asked for: names, types, and the columns that matter."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa

from chainveil.errors import InvalidInput
from chainveil.spark.trouble import surfaced
from chainveil.table.read.header import check_names
from chainveil.table.read.pieces import MOST_SAMPLED, PIECES
from chainveil.table.request.clock import Clock
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.request import Layout

ENCRYPTION = "spark.io.encryption.enabled"
_IN_THE_CLEAR = (
    "this Spark session writes raw rows to the disks of its workers where they are sorted, in "
    f"the clear, and leaves them there when it is killed: start it with {ENCRYPTION}=true"
)
# Rows that are looked at to find series to sample.
START = 2_000
BATCH_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"


@dataclass(frozen=True)
class SparkTable:
    """A Spark frame, with its columns as Arrow will hand them to a task."""

    frame: Any

    def __post_init__(self) -> None:
        if not hasattr(self.frame, "mapInArrow"):
            raise InvalidInput("frame", type(self.frame).__name__, "a Spark data frame")
        rows = int(self.session.conf.get(BATCH_SETTING))
        if rows <= 0:
            raise InvalidInput(
                BATCH_SETTING, rows, "a number above 0",
                "Without a limit a whole partition would be held in memory.",
            )  # fmt: skip
        if not self._encrypts:
            warnings.warn(_IN_THE_CLEAR, UserWarning, stacklevel=4)

    @property
    def session(self) -> Any:
        """The session the frame belongs to."""
        return self.frame.sparkSession

    @property
    def _encrypts(self) -> bool:
        """By the settings Spark was started with: what a session is told later has no effect."""
        try:
            found = self.session.sparkContext.getConf().get(ENCRYPTION, "false")
        except Exception:  # A session over Spark Connect does not show them.
            found = self.session.conf.get(ENCRYPTION, "false")
        return str(found).lower() == "true"

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return list(self.frame.columns)

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of all columns; no job is run for them."""
        check_names(self.columns)
        empty = self.session.createDataFrame([], self.frame.schema)
        return empty.limit(0).toArrow().schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Never: the rows stay where they are."""
        raise AssertionError("the rows of a Spark table are not read on the driver")

    def local_files(self) -> list[Path]:
        """The files that it is read from, as far as the driver can see them."""
        addresses = (urlsplit(address) for address in self.frame.inputFiles())
        paths = [Path(unquote(parts.path)) for parts in addresses if parts.scheme == "file"]
        return [path for path in paths if path.is_file()]

    def pieces(self, layout: Layout, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some rows for a sample: of a few whole series, or of one stretch of time, in order.

        Without a series and a time the rows have no order, and the first ones are taken.
        """
        names = dict.fromkeys([*columns, *layout.names])
        rows = self.columns_of(list(names))
        order = [quoted(name) for name in (layout.series, layout.time) if name is not None]
        if order:
            rows = _stretch(rows, rows.limit(START), layout).orderBy(*order)
        rows = rows.limit(MOST_SAMPLED)
        with surfaced():
            yield from rows.toArrow().combine_chunks().to_batches()

    def columns_of(self, names: Sequence[str]) -> Any:
        """The frame with these columns alone; names are taken to the letter."""
        return self.frame.select(*(quoted(name) for name in dict.fromkeys(names)))


def _stretch(rows: Any, start: Any, layout: Layout) -> Any:
    """Rows that belong together: of the series that come first, or from the first time on."""
    from pyspark.sql import functions

    with surfaced():
        if layout.series is not None:
            name = quoted(layout.series)
            found = [row[0] for row in start.select(name).distinct().limit(PIECES).collect()]
            return rows.where(functions.col(name).isin(found))
        time = quoted(str(layout.time))
        first = start.agg(functions.min(time)).first()[0]
        return rows.where(functions.col(time) >= functions.lit(first))


def mapped(frame: Any, task: Any, columns: Any) -> Any:
    """The frame that a task makes of another, batch by batch."""
    with warnings.catch_warnings():
        # Spark says so of pandas, which is not used here.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        return frame.mapInArrow(task, columns)


def quoted(name: str) -> str:
    """A column name in which dots and blanks mean nothing."""
    return "`" + name.replace("`", "``") + "`"


def check_types(table: SparkTable, layout: Layout, discretizer: Discretizer | None) -> None:
    """Error now, before any job, where a column has a type that cannot be used."""
    schema = table.schema
    if discretizer is not None:
        discretizer.codes(_none(schema, layout.column), layout.column)
    if layout.series is not None and pa.types.is_nested(schema.field(layout.series).type):
        kind = schema.field(layout.series).type
        raise InvalidInput(layout.series, f"a column of type {kind}", "text, numbers or times")
    if layout.time is not None:
        started_clock(table, layout)


def started_clock(table: SparkTable, layout: Layout) -> tuple[Clock, np.dtype[Any]]:
    """The clock of a table that knows its units, and what its ticks are: int64 or float64."""
    clock = layout.clock()
    assert clock is not None
    assert layout.time is not None
    kind = table.schema.field(layout.time).type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        raise InvalidInput(
            layout.time, "a column of text", "numbers, dates or times",
            "Rows are put in order by it on Spark: cast the column first.",
        )  # fmt: skip
    return clock, clock.ticks(_none(table.schema, layout.time), 0).dtype


def need_order(layout: Layout, purpose: str) -> None:
    """Error unless there is a time column: the rows of a Spark table have no order."""
    if layout.time is None:
        raise InvalidInput(
            "time", None, f"a column, for {purpose}",
            "The rows of a Spark table have no order of their own.",
        )  # fmt: skip


def _none(schema: pa.Schema, name: str) -> pa.Array:
    return pa.array([], schema.field(name).type)


def struct_type(schema: pa.Schema) -> Any:
    """An Arrow schema of a text table in Spark's types."""
    from pyspark.sql import types

    struct = types.StructType()
    for field in schema:
        struct.add(field.name, _spark_type(field.type, types))
    return struct


def _spark_type(kind: pa.DataType, types: Any) -> Any:
    if pa.types.is_timestamp(kind):
        return types.TimestampNTZType() if kind.tz is None else types.TimestampType()
    plain = {
        pa.bool_(): types.BooleanType(),
        pa.int64(): types.LongType(),
        pa.float64(): types.DoubleType(),
        pa.date32(): types.DateType(),
    }
    return plain.get(kind, types.StringType())


def without_notes(kind: Any) -> Any:
    """A type of Spark without what the fields inside it carry."""
    from pyspark.sql import types

    if isinstance(kind, types.StructType):
        plain = types.StructType()
        for field in kind:
            plain.add(field.name, without_notes(field.dataType), field.nullable)
        return plain
    if isinstance(kind, types.ArrayType):
        return types.ArrayType(without_notes(kind.elementType), kind.containsNull)
    if isinstance(kind, types.MapType):
        inner = without_notes(kind.keyType), without_notes(kind.valueType)
        return types.MapType(*inner, kind.valueContainsNull)
    return kind
