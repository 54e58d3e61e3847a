"""Tables from files, a batch at a time, as often as needed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from chainveil.errors import InvalidInput
from chainveil.table.read import formats
from chainveil.table.read.filtered import lent_to_arrow
from chainveil.table.read.formats import Format
from chainveil.table.read.header import UTF8_ADVICE, check_names, first_cells
from chainveil.table.read.pieces import MOST_SAMPLED, lines_by_size, spread
from chainveil.table.read.strict import StrictText
from chainveil.table.read.trouble import Text, in_words
from chainveil.table.read.unchanged import Identity, check_unchanged, identity
from chainveil.table.read.whitespace import TabbedLines

# Rows of a batch: large enough that the cost of a batch is nothing, small enough for memory.
BATCH_ROWS = 1 << 19
BLOCK_BYTES = 1 << 23


@dataclass(frozen=True)
class FileSource:
    """A table that can be read more than once.

    Attributes
    ----------
    place : path or bytes
        The file, a folder of Parquet files, or all of standard input.
    format : Format
    header : bool
        Whether the first line of a text file names the columns.
    text : bool
        Whether columns of a text file stay text, to the letter; else types are inferred.
    multiline : bool
        Whether cells of a CSV file may hold line ends, in quotes.
    types : schema, optional
        Types of the columns of a text file that does not stay text; else the first rows tell.
    """

    place: Path | bytes
    format: Format
    header: bool = True
    text: bool = True
    multiline: bool = False
    types: pa.Schema | None = None

    @property
    def name(self) -> str:
        """For messages."""
        return "standard input" if isinstance(self.place, bytes) else str(self.place)

    @cached_property
    def is_folder(self) -> bool:
        """Whether the rows lie in several part files."""
        return not isinstance(self.place, bytes) and self.place.is_dir()

    @cached_property
    def parts(self) -> list[FileSource]:
        """The part files of a folder in the order of their names; else the table itself."""
        if isinstance(self.place, bytes) or not self.is_folder:
            return [self]
        parts = [replace(self, place=path) for path in part_files(self.place)]
        other = next((part for part in parts if not part.schema.equals(parts[0].schema)), None)
        if other is not None:
            raise InvalidInput(
                f"table {other.name}", "other columns or types than the first part has",
                "the same columns in all files of a folder",
            )  # fmt: skip
        return parts

    @cached_property
    def columns(self) -> list[str]:
        """Names of all columns."""
        if self.format.is_text:
            return self._first_line
        with in_words(self.name):
            names = list(self._binary_schema().names)
        check_names(names)
        return names

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        if not self.format.is_text:
            with in_words(self.name):
                return self._binary_schema()
        if self.text:
            return pa.schema([(name, pa.string()) for name in self.columns])
        with self._in_words(), self._numbered(), self._csv(None) as reader:
            return reader.schema

    @cached_property
    def rows(self) -> int | None:
        """Number of rows where the file says so."""
        if self.format.name != "parquet":
            return None
        with in_words(self.name):
            return sum(int(pq.read_metadata(part._binary()).num_rows) for part in self.parts)

    @property
    def about_rows(self) -> int | None:
        """Number of rows, or about how many where that can be told without reading them."""
        if self.rows is not None or not self.format.is_text or self.format.compression:
            return self.rows
        told = [lines_by_size(path) for path in self._files]
        return None if not told or None in told else sum(filter(None, told))

    @cached_property
    def parquet(self) -> Any:
        """The metadata of a Parquet file or of the first one of a folder, else None."""
        if self.format.name != "parquet":
            return None
        return pq.read_metadata(self.parts[0]._binary())

    @cached_property
    def _identity(self) -> Identity:
        """The files as they were when they were first looked at."""
        return identity(self.name, self._files)

    @property
    def _files(self) -> list[Path]:
        if isinstance(self.place, bytes):
            return []
        return part_files(self.place) if self.is_folder else [self.place]

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows, in order; only ``columns`` where they are given.

        An error where the files are not what they were when the table was opened: what was
        fitted on one table must not be the noise of another.
        """
        check_unchanged(self.name, self._identity, self._files)
        yield from self._batches(columns)
        check_unchanged(self.name, self._identity, self._files)

    def _batches(self, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        wanted = None if columns is None else list(dict.fromkeys(columns))
        if self.is_folder:
            for part in self.parts:
                yield from part._batches(wanted)
            return
        with self._in_words():
            if self.format.is_text:
                with self._numbered(), self._csv(wanted) as reader:
                    yield from reader
            elif self.format.name == "parquet":
                with pq.ParquetFile(self._binary(), memory_map=True) as file:
                    yield from file.iter_batches(BATCH_ROWS, columns=wanted)
            else:
                yield from self._arrow(wanted)

    def pieces(self, layout: Any, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some rows in pieces of neighbours: the first ones of a text, else from all over."""
        if self.format.is_text:
            yield from _first(self.batches(columns), MOST_SAMPLED)
            return
        places = [(part, group) for part in self.parts for group in range(part._groups)]
        chosen = spread(len(places))
        size = MOST_SAMPLED // max(len(chosen), 1)
        for number in chosen:
            part, group = places[number]
            with part._in_words():
                yield from _first(part._group(group, list(columns), size), size)

    @cached_property
    def _groups(self) -> int:
        """Row groups of a Parquet file, or batches of an Arrow file; 1 for an Arrow stream."""
        with self._in_words():
            if self.format.name == "parquet":
                return int(pq.read_metadata(self._binary()).num_row_groups)
            with self._arrow_file() as reader:
                return int(getattr(reader, "num_record_batches", 1))

    def _group(self, group: int, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        if self.format.name == "parquet":
            with pq.ParquetFile(self._binary(), memory_map=True) as file:
                yield from file.iter_batches(rows, row_groups=[group], columns=columns)
            return
        with self._arrow_file() as reader:
            if hasattr(reader, "get_batch"):
                yield reader.get_batch(group).select(columns)
            else:
                yield from (batch.select(columns) for batch in reader)

    @contextmanager
    def _numbered(self) -> Iterator[None]:
        """Bytes that are not text, with the line in which they stand."""
        try:
            yield
        except pa.ArrowInvalid as error:
            row = self._first_bad_row() if "UTF8" in str(error) else None
            if row is None:
                raise
            raise InvalidInput(
                f"table {self.name}", f"bytes that are not UTF-8 in line {row}", "text in UTF-8",
                UTF8_ADVICE,
            ) from None  # fmt: skip

    def _in_words(self) -> AbstractContextManager[None]:
        """Errors told without a word of what stands in a text file."""
        text = Text(self.columns, self.header) if self.format.is_text else None
        return in_words(self.name, text)

    def _first_bad_row(self) -> int | None:
        with self._bytes() as file:
            for number, line in enumerate(io.BufferedReader(file), start=1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return number
        return None

    @cached_property
    def _first_line(self) -> list[str]:
        with in_words(self.name, Text()), self._tabbed() as file:
            cells = first_cells(file, self.name, self._delimiter, self.format.has_quotes)
        if not self.header:
            return [f"column{number}" for number in range(1, len(cells) + 1)]
        check_names(cells)
        return cells

    @property
    def _delimiter(self) -> str:
        return "\t" if self.format.name == "text" else self.format.separator

    @contextmanager
    def _csv(self, columns: list[str] | None) -> Iterator[Any]:
        known = [] if self.types is None else zip(self.types.names, self.types.types, strict=True)
        types = {name: pa.string() for name in self.columns} if self.text else dict(known)
        names = None if self.header else self.columns
        with self._tabbed(self.columns) as file:
            reader = pa_csv.open_csv(
                lent_to_arrow(file),
                read_options=pa_csv.ReadOptions(
                    use_threads=False, block_size=BLOCK_BYTES, column_names=names
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=self.multiline and self.format.has_quotes,
                    quote_char='"' if self.format.has_quotes else False,
                    ignore_empty_lines=False,
                ),
                convert_options=pa_csv.ConvertOptions(
                    column_types=types,
                    include_columns=columns,
                    strings_can_be_null=not self.text,
                    quoted_strings_can_be_null=False,
                ),
            )
            with reader:
                if any(pa.types.is_binary(kind) for kind in reader.schema.types):
                    raise pa.ArrowInvalid("invalid UTF8 data")
                yield reader

    @contextmanager
    def _tabbed(self, columns: Sequence[str] | None = None) -> Iterator[StrictText]:
        """Lines of cells, checked; ``columns`` where they are known already."""
        with self._bytes() as file:
            yield StrictText(
                TabbedLines(file) if self.format.name == "text" else file,
                self.name,
                self._delimiter,
                quoting=self.format.has_quotes,
                multiline=self.multiline,
                blank_lines=columns is None or len(columns) == 1,
                header=self.header,
                columns=columns,
            )

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        """The file as bytes, decompressed."""
        held, compression = isinstance(self.place, bytes), self.format.compression
        with pa.BufferReader(self.place) if held else pa.OSFile(_path(self.place), "r") as raw:
            if compression is None:
                yield raw
            else:
                with pa.CompressedInputStream(raw, compression) as file:
                    yield file

    def _binary(self) -> Any:
        held = isinstance(self.place, bytes)
        return pa.BufferReader(self.place) if held else pa.memory_map(_path(self.place), "r")

    def _binary_schema(self) -> pa.Schema:
        if self.is_folder:
            return self.parts[0].schema
        if self.format.name == "parquet":
            return pq.read_schema(self._binary())
        with self._arrow_file() as reader:
            return reader.schema

    def _arrow(self, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        with self._arrow_file() as reader:
            if hasattr(reader, "num_record_batches"):
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                batches = iter(reader)
            for batch in batches:
                chosen = batch if columns is None else batch.select(columns)
                # A file may hold all its rows in one batch.
                for begin in range(0, chosen.num_rows, BATCH_ROWS):
                    yield chosen.slice(begin, BATCH_ROWS)

    @contextmanager
    def _arrow_file(self) -> Iterator[Any]:
        """A reader of either kind of Arrow file: with an index at the end, or a stream."""
        with self._binary() as raw:
            indexed = raw.read(6) == b"ARROW1"
            raw.seek(0)
            with pa.ipc.open_file(raw) if indexed else pa.ipc.open_stream(raw) as reader:
                yield reader


def open_source(
    place: str | Path,
    form: str | None = None,
    header: bool = True,
    text: bool = True,
    *,
    delimiter: str | None = None,
    multiline: bool = False,
) -> FileSource:
    """A source from a path, or from standard input for ``-``.

    ``delimiter`` stands between the cells of CSV, by default a comma; ``multiline`` allows
    line ends in its quoted cells.
    """
    if str(place) == "-":
        held = sys.stdin.buffer.read()
        found = formats.by_bytes(held, form)
        return FileSource(held, found.delimited(delimiter), header, text, multiline)
    path = Path(place)
    if path.is_dir():
        _check_folder(path, form)
        binary = formats.Format("parquet").delimited(delimiter)
        return _known(FileSource(path, binary, header, text))
    if not path.exists():
        raise InvalidInput("table", str(path), "a file that exists")
    if not path.is_file():
        raise InvalidInput(
            "table", f"{path}, a pipe or device", "a file, which can be read twice",
            "Or - for standard input.",
        )  # fmt: skip
    found = formats.by_path(path, form).delimited(delimiter)
    return _known(FileSource(path, found, header, text, multiline))


def _known(source: FileSource) -> FileSource:
    """Remember the files from now on, before anything is read."""
    assert source._identity is not None
    return source


def _first(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """At most so many rows, and no batch read after them."""
    for batch in batches:
        piece = batch.slice(0, rows)
        rows -= piece.num_rows
        if piece.num_rows:
            yield piece
        if rows <= 0:
            return


def part_files(folder: Path) -> list[Path]:
    """The files of a folder, by name; those that begin with _ or . hold no rows."""
    found = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    inner = next((path for path in found if not path.is_file()), None)
    if inner is not None:
        raise InvalidInput("table", f"{inner}, which is no file", "a folder of Parquet files")
    if not found:
        raise InvalidInput("table", f"no files in {folder}", "a folder of Parquet files")
    return found


def _check_folder(folder: Path, form: str | None) -> None:
    endings = {path.suffix.lower() for path in part_files(folder)}
    names = {formats.ENDINGS.get(ending) for ending in endings}
    if formats.read_name(form, "format") not in (None, "parquet") or names != {"parquet"}:
        raise InvalidInput("table", str(folder), "a file, or a folder of Parquet files alone")


def _path(place: Any) -> bytes:
    """A path in the bytes of the file system: not every name is UTF-8."""
    return os.fsencode(place)
