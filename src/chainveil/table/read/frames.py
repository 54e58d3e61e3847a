"""Data frames of any kind, through narwhals, read like files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import pyarrow as pa

from chainveil.errors import InvalidInput
from chainveil.table.read.pieces import slices

ONE_NAME = "a name for each column"
KINDS = "a pandas, Polars or PyArrow table, a DuckDB relation, or another frame narwhals knows"


@dataclass(frozen=True)
class FrameSource:
    """A data frame that can be read like a file.

    Lazy frames are collected once: Polars as Polars, everything else through Arrow.
    """

    native: Any

    @cached_property
    def wrapped(self) -> Any:
        """The narwhals frame, eager or lazy."""
        try:
            return nw.from_native(self.native)
        except TypeError:
            raise InvalidInput("frame", type(self.native).__name__, KINDS) from None
        except nw.exceptions.DuplicateError:
            raise InvalidInput("frame", "two columns of one name", ONE_NAME) from None

    @cached_property
    def frame(self) -> nw.DataFrame[Any]:
        """The frame with its rows at hand."""
        if not isinstance(self.wrapped, nw.LazyFrame):
            return self.wrapped  # type: ignore[no-any-return]
        polars = self.wrapped.implementation.is_polars()
        return self.wrapped.collect("polars" if polars else "pyarrow")

    @property
    def columns(self) -> list[str]:
        """Names of all columns that have one; pandas also numbers them."""
        try:
            names = self.wrapped.collect_schema().names()
        except nw.exceptions.DuplicateError:
            raise InvalidInput("frame", "two columns of one name", ONE_NAME) from None
        return [name for name in names if isinstance(name, str)]

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of all columns that have a name."""
        return self.frame.head(0).select(self.columns).to_arrow().schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows at once."""
        names = self.columns if columns is None else list(dict.fromkeys(columns))
        # Only the columns asked for become Arrow; the others may be of any type.
        arrays = [_array(self.frame.get_column(name), name) for name in names]
        if len(self.frame):
            yield pa.RecordBatch.from_arrays(arrays, names=names)

    def pieces(self, layout: Any, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some rows from all over, in pieces of neighbours."""
        for first, rows in slices(len(self.frame)):
            piece = self.frame[first : first + rows]
            arrays = [_array(piece.get_column(name), name) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    @property
    def size(self) -> int | None:
        """Number of rows where they are at hand; lazy frames are not collected for it."""
        lazy = isinstance(self.wrapped, nw.LazyFrame) and "frame" not in vars(self)
        return None if lazy else len(self.frame)

    def rows(self, kept: Any) -> FrameSource:
        """The frame with some of its rows, by a mask; None: all of them."""
        if kept is None:
            return self
        some = FrameSource(self.native)
        # The frame is found once and kept: this one is found already.
        vars(some)["frame"] = self.frame.filter(kept.tolist())
        return some

    @property
    def all_columns(self) -> list[str]:
        """Names of all columns, numbers as text."""
        return [str(name) for name in self.wrapped.collect_schema().names()]


def _array(series: Any, name: str) -> pa.Array:
    try:
        column = series.to_arrow()
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        found = "values of several types, or of one that Arrow does not know"
        raise InvalidInput(name, found, "values of one type") from None
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    # Views and run-end encodings are of no use here and not known everywhere.
    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    return column
