"""Batches to files of any format, without holding more than a batch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from chainveil.errors import InvalidInput
from chainveil.table.error_text import row_text
from chainveil.table.read.formats import Format
from chainveil.table.write.metadata import without_categories


class Writer(Protocol):
    """Takes batches of one schema."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the next rows."""

    def close(self) -> None:
        """Finish the file; the handle behind it stays open."""


def open_writer(
    file: Any, schema: pa.Schema, form: Format, header: bool = True, like: Any = None
) -> Writer:
    """A writer for a schema; ``like`` is the metadata of a Parquet file to resemble."""
    if form.is_text:
        return TextWriter(file, schema, form, header)
    if form.name == "parquet":
        return ParquetWriter(file, schema, like)
    return ArrowWriter(file, schema)


def written_schema(schema: pa.Schema, form: Format) -> pa.Schema:
    """The schema of a file: Arrow files hold plain values in place of categories.

    They have one list of categories for all rows, which is written before all rows are known.
    """
    if form.name != "arrow":
        return schema
    return pa.schema(
        [pa.field(part.name, without_categories(part.type), part.nullable) for part in schema]
    )


def written(columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """A batch of a schema that :func:`written_schema` gave."""
    plain = [
        column.dictionary_decode() if _decodes(column.type, kind) else column
        for column, kind in zip(columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(plain, schema=schema)


def _decodes(found: pa.DataType, wanted: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(found) and not pa.types.is_dictionary(wanted))


class ParquetWriter:
    """Parquet, compressed column by column as the input was."""

    def __init__(self, file: Any, schema: pa.Schema, like: Any) -> None:
        self._writer = pq.ParquetWriter(
            pa.PythonFile(file, mode="w"),
            schema,
            compression=_compression(schema, like),
            use_dictionary=[field.name for field in schema if _repeats(field.type)],
            column_encoding=_encodings(schema),
            write_page_index=False,
        )

    def write(self, batch: pa.RecordBatch) -> None:
        """One row group."""
        if batch.num_rows:
            self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class ArrowWriter:
    """Arrow's file format, also known as Feather."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._writer = pa.ipc.new_file(pa.PythonFile(file, mode="w"), schema, options=options)

    def write(self, batch: pa.RecordBatch) -> None:
        """One record batch."""
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class TextWriter:
    """Lines of cells; a cell is quoted only where it must be, and only in CSV."""

    def __init__(self, file: Any, schema: pa.Schema, form: Format, header: bool) -> None:
        self._form = form
        self._names, self._rows = schema.names, 0
        for field in schema:
            _check_writable(field, form)
        self._sink: Any = pa.PythonFile(file, mode="w")
        self._under: Any = None
        if form.compression is not None:
            self._under = self._sink
            self._sink = pa.CompressedOutputStream(self._under, form.compression)
        if header:
            self._lines([pa.array([name]) for name in schema.names], "the header")

    def write(self, batch: pa.RecordBatch) -> None:
        """The rows as lines."""
        if batch.num_rows:
            self._lines([as_text(column) for column in batch.columns])
            self._rows += batch.num_rows

    def close(self) -> None:
        """End the compressed stream."""
        self._sink.close()

    def _lines(self, columns: list[pa.Array], place: str | None = None) -> None:
        for name, column in zip(self._names, columns, strict=True):
            bad = first_unwritable(column, self._form)
            if bad is not None:
                raise _unwritable(self._form, name, place or row_text(self._rows + bad))
        cells = [_cell(column, self._form) for column in columns]
        lines = pc.binary_join_element_wise(*cells, self._form.separator)
        ended = pc.binary_join_element_wise(lines, "", "\n")
        self._sink.write(_characters(ended))


def as_text(column: pa.Array, gap: str = "") -> pa.Array:
    """Cells of a text file; ``gap`` where there is no value."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    text = column if pa.types.is_string(column.type) else column.cast(pa.string())
    return text.fill_null(gap)


def _characters(column: pa.Array) -> pa.Buffer:
    """All text of a column, one value after the other."""
    offsets, data = column.buffers()[1:]
    width = 8 if pa.types.is_large_string(column.type) else 4
    begin, end = (
        int.from_bytes(offsets[i * width : (i + 1) * width].to_pybytes(), "little")
        for i in (column.offset, column.offset + len(column))
    )
    return pa.py_buffer(b"") if data is None else data.slice(begin, end - begin)


def _cell(column: pa.Array, form: Format) -> pa.Array:
    """Text as it must stand in a file."""
    if not form.has_quotes or not _any_of(column, ('"', "\r", "\n", form.separator)):
        return column
    special = pc.match_substring_regex(column, f'["\r\n{re.escape(form.separator)}]')
    doubled = pc.replace_substring(column, '"', '""')
    quoted = pc.binary_join_element_wise('"', doubled, '"', "")
    return pc.if_else(special, quoted, column)


def _any_of(column: pa.Array, marks: tuple[str, ...]) -> bool:
    """Most columns hold no mark: a look at the bytes is quicker than a pattern for each cell."""
    characters = _characters(column).to_pybytes()
    return any(mark.encode() in characters for mark in marks)


def first_unwritable(column: pa.Array, form: Format) -> int | None:
    """The first row whose cell a format without quotes cannot hold; None where there is none."""
    if form.has_quotes or (form.name == "tsv" and not _any_of(column, ("\t", "\r", "\n"))):
        return None
    wrong = pc.match_substring_regex(column, r"[\t\r\n]" if form.name == "tsv" else r"^$|\s")
    row = pc.index(wrong, True).as_py()
    return None if row < 0 else int(row)


def _unwritable(form: Format, name: str, place: str) -> InvalidInput:
    what = {"tsv": "a tab or a line end", "text": "a blank, or nothing"}[form.name]
    allowed = {
        "tsv": "cells of one line without tabs: TSV has no quotes",
        "text": "cells without blanks, in white-space separated text",
    }[form.name]
    found = f"a cell that holds {what}, in {place}, column {name!r}"
    return InvalidInput("output", found, allowed, "Write CSV instead.")


def _check_writable(field: pa.Field, form: Format) -> None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise InvalidInput(
            "output",
            f"column {field.name!r} of type {field.type}",
            f"columns that {form.name} can hold",
            "Write Parquet or Arrow instead.",
        )


def _repeats(kind: pa.DataType) -> bool:
    """Whether a dictionary usually pays: text and categories, not numbers or times."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)
    )


def _encodings(schema: pa.Schema) -> dict[str, str]:
    """Whole numbers and times as packed differences: small, and quicker than a dictionary."""
    packed = {}
    for field in schema:
        kind = field.type
        if pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            packed[field.name] = "DELTA_BINARY_PACKED"
    return packed


def _compression(schema: pa.Schema, like: Any) -> str | dict[str, str]:
    """Zstandard, or what the columns of ``like`` have."""
    found = {}
    if like is not None and like.num_row_groups:
        group = like.row_group(0)
        for index in range(group.num_columns):
            column = group.column(index)
            found[column.path_in_schema] = column.compression.lower()
    names = {name: found[name] for name in schema.names if name in found}
    names = {n: "none" if codec == "uncompressed" else codec for n, codec in names.items()}
    complete = len(names) == len(schema.names)
    return names if complete else "zstd"
