"""Tables from files, a batch at a time, as often as needed."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from chainveil.errors import InvalidInput
from chainveil.table import formats
from chainveil.table.formats import Format
from chainveil.table.pieces import MOST_SAMPLED, spread
from chainveil.table.whitespace import TabbedLines

# Rows of a batch: large enough that the cost of a batch is nothing, small enough for memory.
BATCH_ROWS = 1 << 19
BLOCK_BYTES = 1 << 23
HEADER_BYTES = 1 << 20


@dataclass(frozen=True)
class Source:
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
    """

    place: Path | bytes
    format: Format
    header: bool = True
    text: bool = True

    @property
    def name(self) -> str:
        """For messages."""
        return "standard input" if isinstance(self.place, bytes) else str(self.place)

    @cached_property
    def is_folder(self) -> bool:
        """Whether the rows lie in several part files."""
        return not isinstance(self.place, bytes) and self.place.is_dir()

    @cached_property
    def parts(self) -> list[Source]:
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
        with _in_words(self.name):
            names = list(self._binary_schema().names)
        check_names(names)
        return names

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        if not self.format.is_text:
            with _in_words(self.name):
                return self._binary_schema()
        if self.text:
            return pa.schema([(name, pa.string()) for name in self.columns])
        with _in_words(self.name), self._numbered(), self._csv(None) as reader:
            return reader.schema

    @cached_property
    def rows(self) -> int | None:
        """Number of rows where the file says so."""
        if self.format.name != "parquet":
            return None
        with _in_words(self.name):
            return sum(int(pq.read_metadata(part._binary()).num_rows) for part in self.parts)

    @cached_property
    def parquet(self) -> Any:
        """The metadata of a Parquet file or of the first one of a folder, else None."""
        if self.format.name != "parquet":
            return None
        return pq.read_metadata(self.parts[0]._binary())

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows, in order; only ``columns`` where they are given."""
        wanted = None if columns is None else list(dict.fromkeys(columns))
        if self.is_folder:
            for part in self.parts:
                yield from part.batches(wanted)
            return
        with _in_words(self.name):
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
            with _in_words(part.name):
                yield from _first(part._group(group, list(columns), size), size)

    @cached_property
    def _groups(self) -> int:
        """Row groups of a Parquet file, or batches of an Arrow file; 1 for an Arrow stream."""
        with _in_words(self.name):
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
                "Convert it first, for instance with iconv -f latin1 -t utf-8.",
            ) from None  # fmt: skip

    def _first_bad_row(self) -> int | None:
        with self._bytes() as file:
            for number, line in enumerate(io.BufferedReader(_Raw(file)), start=1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return number
        return None

    @cached_property
    def _first_line(self) -> list[str]:
        with _in_words(self.name), self._tabbed() as file:
            start = file.read(HEADER_BYTES)
        start = start if isinstance(start, bytes) else bytes(start)
        text = start.decode("utf-8-sig", errors="replace")
        lines = csv.reader(io.StringIO(text), delimiter=self._delimiter, strict=False)
        cells = next((line for line in lines if line), [])
        if not cells:
            raise InvalidInput("table", f"no rows in {self.name}", "at least one row")
        if not self.header:
            return [f"column{number}" for number in range(1, len(cells) + 1)]
        check_names(cells)
        return cells

    @property
    def _delimiter(self) -> str:
        return "\t" if self.format.name == "text" else self.format.separator

    @contextmanager
    def _csv(self, columns: list[str] | None) -> Iterator[Any]:
        types = {name: pa.string() for name in self.columns} if self.text else {}
        names = None if self.header else self.columns
        with self._tabbed() as file:
            reader = pa_csv.open_csv(
                file,
                read_options=pa_csv.ReadOptions(
                    use_threads=False, block_size=BLOCK_BYTES, column_names=names
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=self.format.name != "text",
                    quote_char=False if self.format.name == "text" else '"',
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
    def _tabbed(self) -> Iterator[Any]:
        with self._bytes() as file:
            if self.format.name == "text":
                yield pa.PythonFile(TabbedLines(file), mode="r")
            else:
                yield file

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        """The file as bytes, decompressed."""
        raw = pa.BufferReader(self.place) if isinstance(self.place, bytes) else None
        raw = raw or pa.OSFile(str(self.place), "r")
        with raw:
            if self.format.compression is None:
                yield raw
            else:
                with pa.CompressedInputStream(raw, self.format.compression) as file:
                    yield file

    def _binary(self) -> Any:
        return pa.BufferReader(self.place) if isinstance(self.place, bytes) else str(self.place)

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
        if isinstance(self.place, bytes):
            raw: Any = pa.BufferReader(self.place)
        else:
            raw = pa.memory_map(str(self.place), "r")
        with raw:
            indexed = raw.read(6) == b"ARROW1"
            raw.seek(0)
            with pa.ipc.open_file(raw) if indexed else pa.ipc.open_stream(raw) as reader:
                yield reader


def open_source(
    place: str | Path, form: str | None = None, header: bool = True, text: bool = True
) -> Source:
    """A source from a path, or from standard input for ``-``."""
    if str(place) == "-":
        held = sys.stdin.buffer.read()
        return Source(held, formats.by_bytes(held, form), header, text)
    path = Path(place)
    if path.is_dir():
        _check_folder(path, form)
        return Source(path, formats.Format("parquet"), header, text)
    if not path.exists():
        raise InvalidInput("table", str(path), "a file that exists")
    return Source(path, formats.by_path(path, form), header, text)


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


def check_names(names: list[str]) -> None:
    """Error where two columns have one name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput("table", f"two columns named {twice!r}", "a name for each column")


class _Raw(io.RawIOBase):
    """An Arrow stream as a Python file, to read lines from."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        taken = self._file.read(len(buffer))
        buffer[: len(taken)] = taken
        return len(taken)


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    """Arrow's errors as ours, with the name of the file."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        text = " ".join(str(error).split())
        raise InvalidInput(f"table {name}", text, "a table that can be read") from None
    except PermissionError:
        raise InvalidInput(f"table {name}", "no permission", "a file that may be read") from None
    except OSError as error:
        if type(error) is not OSError:
            raise
        text = " ".join(str(error).split())
        raise InvalidInput(f"table {name}", text, "a table that can be read") from None
