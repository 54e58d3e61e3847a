"""A release as a data frame of the kind its table came in, with nothing else of that frame.

Names, types and the rows of the columns that are published: no index, no notes, no categories
that no row has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa

from chainveil.table.read.frames import FrameSource
from chainveil.table.write.metadata import plain_column, plain_field


def framed(
    source: FrameSource, names: Sequence[str], made: Mapping[str, pa.Array], typed: Sequence[str]
) -> Any:
    """A frame of the columns ``names``: those of ``made`` are new, the others as they came.

    New columns that are in ``typed`` get the type of the old ones.
    """
    kind = source.frame.implementation
    if kind.is_polars():
        return _polars(source, names, made, typed)
    if kind.is_pandas():
        return _pandas(source.frame.to_native(), names, made, typed)
    if kind.is_pyarrow():
        table = _arrow(source.frame.to_native(), names, made)
        return _relation(table) if source.wrapped.implementation.is_duckdb() else table
    new = [nw.new_series(name, values.to_pylist(), backend=kind) for name, values in made.items()]
    return source.frame.select(names).with_columns(*new).to_native()


def _arrow(table: pa.Table, names: Sequence[str], made: Mapping[str, pa.Array]) -> pa.Table:
    columns, fields = [], []
    for name in names:
        if name in made:
            columns.append(made[name])
            fields.append(pa.field(name, made[name].type))
        else:
            columns.append(plain_column(table.column(name), name))
            fields.append(plain_field(table.schema.field(name)))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _relation(table: pa.Table) -> Any:
    """An Arrow table as a DuckDB relation; categories are ENUMs of those that occur."""
    import duckdb

    relation = duckdb.from_arrow(table)
    parts = []
    for name in relation.columns:
        quoted = '"' + name.replace('"', '""') + '"'
        words = _categories(table.column(name))
        listed = ", ".join("'" + word.replace("'", "''") + "'" for word in words)
        parts.append(f"CAST({quoted} AS ENUM({listed})) AS {quoted}" if words else quoted)
    return relation.project(", ".join(parts))


def _categories(column: pa.ChunkedArray) -> list[str]:
    """The categories of a column of text; none where it has another type."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or not pa.types.is_string(kind.value_type):
        return []
    return list(column.combine_chunks().dictionary.to_pylist()) if column.num_chunks else []


def _polars(
    source: FrameSource, names: Sequence[str], made: Mapping[str, pa.Array], typed: Sequence[str]
) -> Any:
    import polars as pl

    frame: Any = source.frame.to_native()
    columns = []
    for name in names:
        old = frame.get_column(name)
        if name not in made:
            columns.append(_occurring(old))
            continue
        new = pl.Series(name, made[name])
        if name in typed and isinstance(old.dtype, pl.Enum):
            new = new.cast(pl.String).cast(pl.Enum(_labels(made[name])))
        elif name in typed:
            new = new.cast(old.dtype)
        columns.append(new)
    released = pl.DataFrame(columns)
    return released.lazy() if isinstance(source.wrapped, nw.LazyFrame) else released


def _occurring(column: Any) -> Any:
    """A Polars column whose categories are those that its rows have; text where they are inside."""
    import polars as pl

    kind = column.dtype
    if isinstance(kind, pl.Enum):
        found = set(column.cast(pl.String).unique().drop_nulls())
        words = [word for word in kind.categories if word in found]
        return column.cast(pl.String).cast(pl.Enum(words))
    return column.cast(_without_categories(kind)) if kind.is_nested() else column


def _without_categories(kind: Any) -> Any:
    """A nested Polars type with text in place of categories."""
    import polars as pl

    if isinstance(kind, pl.Enum | pl.Categorical):
        return pl.String()
    if isinstance(kind, pl.List):
        return pl.List(_without_categories(kind.inner))
    if isinstance(kind, pl.Array):
        return pl.Array(_without_categories(kind.inner), kind.size)
    if isinstance(kind, pl.Struct):
        fields = [pl.Field(field.name, _without_categories(field.dtype)) for field in kind.fields]
        return pl.Struct(fields)
    return kind


def _labels(values: pa.Array) -> list[str]:
    """What a released column can hold, as text."""
    known = values.dictionary if pa.types.is_dictionary(values.type) else values.unique()
    return [str(word) for word in known.to_pylist() if word is not None]


def _pandas(
    frame: Any, names: Sequence[str], made: Mapping[str, pa.Array], typed: Sequence[str]
) -> Any:
    import pandas as pd

    columns = {}
    for name in names:
        old = frame[name].dtype
        if name not in made:
            columns[name] = _plain_pandas(frame[name])
            continue
        new = made[name].to_pandas()
        categories = isinstance(old, pd.CategoricalDtype) or _holds_categories(old)
        # Rows that no report reaches have no value, which whole numbers cannot show.
        fits = name in typed and not categories and not made[name].null_count
        columns[name] = new.astype(old) if fits else new
    return pd.DataFrame(columns)


def _plain_pandas(column: Any) -> Any:
    """A pandas column without its index and its notes."""
    import pandas as pd

    plain = pd.Series(column.array)
    if isinstance(plain.dtype, pd.CategoricalDtype):
        return plain.cat.remove_unused_categories()
    if not isinstance(plain.dtype, pd.ArrowDtype):
        return plain
    values = plain_column(pa.chunked_array(pa.array(plain.array)), str(column.name))
    return pd.Series(pd.arrays.ArrowExtensionArray(values))


def _holds_categories(kind: Any) -> bool:
    import pandas as pd

    return isinstance(kind, pd.ArrowDtype) and pa.types.is_dictionary(kind.pyarrow_dtype)
