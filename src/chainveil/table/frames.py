"""Data frames of any kind, through narwhals: columns out, one column in, the same kind back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import pyarrow as pa

from chainveil.errors import InvalidInput

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

    def with_column(self, name: str, values: pa.Array, same_type: bool) -> Any:
        """The native frame with one column replaced; all others are the ones it came with."""
        old = self.frame.get_column(name)
        new = _series(name, values, self.frame)
        if same_type:
            new = _cast(new, old)
        changed = self.frame.with_columns(new)
        return self._as_it_came(changed)

    def _as_it_came(self, changed: nw.DataFrame[Any]) -> Any:
        if not isinstance(self.wrapped, nw.LazyFrame):
            return changed.to_native()
        if self.wrapped.implementation.is_polars():
            return changed.lazy().to_native()
        if self.wrapped.implementation.is_duckdb():
            return _relation(changed.to_native(), self.native)
        return changed.to_native()


def _cast(new: Any, old: Any) -> Any:
    """``new`` in the type of ``old``; pandas categories stay the ones there were."""
    if old.implementation.is_pandas():
        kind = old.to_native().dtype
        known = getattr(kind, "categories", None)
        if known is None or new.to_native().isin(known).all():
            return nw.from_native(new.to_native().astype(kind), series_only=True)
    return new if new.dtype == old.dtype else new.cast(old.dtype)


def _relation(table: pa.Table, original: Any) -> Any:
    """An Arrow table as a DuckDB relation, in the types of the original where Arrow lost them."""
    import duckdb

    relation = duckdb.from_arrow(table)
    before = dict(zip(original.columns, original.types, strict=True))
    now = dict(zip(relation.columns, relation.types, strict=True))
    parts = []
    for name in relation.columns:
        quoted = '"' + name.replace('"', '""') + '"'
        lost = str(before[name]).startswith("ENUM") and str(now[name]) == "VARCHAR"
        parts.append(f"CAST({quoted} AS {before[name]}) AS {quoted}" if lost else quoted)
    return relation.project(", ".join(parts))


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


def _series(name: str, values: pa.Array, frame: nw.DataFrame[Any]) -> Any:
    """An Arrow array as a column of the frame's own kind."""
    kind = frame.implementation
    if kind.is_pyarrow():
        return nw.from_native(pa.chunked_array([values]), series_only=True).alias(name)
    if kind.is_polars():
        import polars

        return nw.from_native(polars.Series(name, values), series_only=True)
    plain = values.to_pandas() if kind.is_pandas_like() else values.to_pylist()
    if kind.is_pandas():
        plain.index = frame.to_native().index
        return nw.from_native(plain, series_only=True).alias(name)
    return nw.new_series(name, list(plain), backend=kind)
