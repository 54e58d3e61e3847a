"""Tables as they come in: files of every format and data frames, read strictly and once.

Polars reads the cells. What it would forgive is checked before: a stray quote makes one cell of
all rows up to the next quote, and a short row is filled up with empty cells. Its messages quote
cells, and are never passed on.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import gzip
import io
import os
import re
import stat
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from chainveil.compiled import compiled
from chainveil.errors import InvalidInput, MissingExtra

Name = Literal["csv", "tsv", "text", "parquet", "arrow"]
Compression = Literal["gzip", "zstd"]
NAMES: tuple[Name, ...] = ("csv", "tsv", "text", "parquet", "arrow")
ENDINGS: dict[str, Name] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "text", ".dat": "text", ".text": "text",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow",
}  # fmt: skip
COMPRESSED: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
READABLE = "a table that can be read"
COUNTED = "Rows are counted from 1, without a header."
UTF8_ADVICE = "Convert it first, for instance with iconv -f latin1 -t utf-8."
NO_HEADER = (
    "The first line holds numbers: if it is a row and no header, say --no-header, and the columns "
    "are called column1, column2, …"
)
FRAMES = "a pandas, Polars or PyArrow table, a DuckDB relation, or another frame narwhals knows"
# Names of columns that an error lists, and bytes of the first line of a text file.
MOST_NAMES, HEADER_BYTES = 30, 1 << 20
# Bytes of a text that are looked at together.
PIECE = 1 << 22
BOM = b"\xef\xbb\xbf"
# Marks between cells in files that are taken for another format, and what to say then.
DELIMITERS = {
    ";": "--delimiter ';'", "|": "--delimiter '|'", "\t": "--format tsv", ",": "--format csv",
}  # fmt: skip


@dataclass(frozen=True)
class Format:
    """A format, how the file as a whole is compressed, and what stands between cells of CSV."""

    name: Name
    compression: Compression | None = None
    delimiter: str = ","

    @property
    def is_text(self) -> bool:
        """Whether the file holds lines of text, and no types."""
        return self.name in ("csv", "tsv", "text")

    @property
    def separator(self) -> str:
        """What stands between the cells of a line."""
        return {"csv": self.delimiter, "tsv": "\t", "text": " "}[self.name]

    @property
    def has_quotes(self) -> bool:
        """Whether a quote is more than a character: only in CSV."""
        return self.name == "csv"

    @property
    def empty(self) -> str | None:
        """What a cell without a value holds in a text file: between blanks, a word."""
        return None if not self.is_text else "NaN" if self.name == "text" else ""

    def delimited(self, delimiter: str | None) -> Format:
        """The format with another delimiter for CSV; None keeps the one it has."""
        if delimiter is None:
            return self
        one = len(delimiter) == 1 and delimiter.isascii()
        if not one or delimiter in '"\r\n' or not (delimiter == "\t" or delimiter.isprintable()):
            raise InvalidInput(
                "delimiter", delimiter, "one ASCII character other than a quote or a line end"
            )
        if self.name in ("tsv", "text"):
            raise InvalidInput(
                "delimiter", f"{delimiter!r} for a table in {self.name}", "CSV alone has one",
                "If the table is CSV, say --format csv.",
            )  # fmt: skip
        return replace(self, delimiter=delimiter)

    def __str__(self) -> str:
        return self.name + (f"+{self.compression}" if self.compression else "")


def format_of_path(path: str | Path, name: str | None = None, argument: str = "table") -> Format:
    """The format of a file by its ending; ``name`` decides where it is given."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    compression = COMPRESSED.get(endings[-1]) if endings else None
    bare = endings[:-1] if compression else endings
    found = _known_format(name) or (ENDINGS.get(bare[-1]) if bare else None)
    if found is None:
        raise InvalidInput(
            argument, str(path), f"a file that ends in {', '.join(ENDINGS)} (and .gz or .zst)",
            "" if argument == "output" else "Or say the format with --format.",
        )  # fmt: skip
    return _uncompressed(Format(found, compression), argument)


def format_of_bytes(start: bytes, name: str | None = None) -> Format:
    """The format of a stream by its first bytes: Parquet, Arrow, or else CSV."""
    compression: Compression | None = None
    if start[:2] == b"\x1f\x8b":
        compression = "gzip"
    elif start[:4] == b"\x28\xb5\x2f\xfd":
        compression = "zstd"
    found = _known_format(name)
    if found is None:
        is_arrow = start[:6] == b"ARROW1" or start[:4] == b"\xff\xff\xff\xff"
        found = "parquet" if start[:4] == b"PAR1" else "arrow" if is_arrow else "csv"
    return _uncompressed(Format(found, compression), "table")


def _known_format(name: str | None) -> Name | None:
    if name is None or name in NAMES:
        return name
    raise InvalidInput("format", name, " or ".join(NAMES))


def _uncompressed(form: Format, argument: str) -> Format:
    if form.compression and not form.is_text:
        raise InvalidInput(
            argument, str(form), "Parquet and Arrow without .gz or .zst",
            "These formats compress their columns themselves.",
        )  # fmt: skip
    return form


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read: the names of its columns, and a way to their values.

    Attributes
    ----------
    name : str
        For messages.
    columns : list of str
    kind : str
        "file", or the kind of data frame: "pandas", "polars", "arrow".
    format : Format
        Of a file.
    text : bool
        Whether all columns are text, because the format knows no types.
    files : tuple of path
        The files that hold the rows, which no command may overwrite.
    """

    name: str
    columns: list[str]
    kind: str
    _take: Callable[[list[str]], pl.DataFrame] = field(repr=False)
    format: Format = field(default_factory=lambda: Format("arrow"))
    text: bool = False
    files: tuple[Path, ...] = ()

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Some columns with all rows, in the order in which they are named.

        Columns of a text file are text, to the letter; an empty cell is an empty text.
        """
        return self._take(list(dict.fromkeys(columns)))


def check_column(argument: str, name: Any, columns: Iterable[str]) -> None:
    """Error unless ``name`` is a column; the closest name is suggested."""
    names = list(columns)
    if name in names:
        return
    if not isinstance(name, str):
        raise InvalidInput(argument, name, "the name of a column, a text")
    if any(map(_holds_number, names)):
        # A first line of values is no list of names, but a private row.
        advice = f"{NO_HEADER} {_other_delimiter(names)}".rstrip()
        raise InvalidInput(argument, name, f"one of the {len(names):,} columns", advice)
    listed = ", ".join(map(repr, names[:MOST_NAMES]))
    listed += f", and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    close = difflib.get_close_matches(name, names, 1)
    advice = f"Did you mean {close[0]!r}?" if close else _other_delimiter(names)
    raise InvalidInput(argument, name, f"one of the columns {listed}", advice)


def _other_delimiter(names: list[str]) -> str:
    """Where all columns became one: the delimiter is another one."""
    marks = [mark for mark in DELIMITERS if len(names) == 1 and mark in names[0]]
    return (
        f"The cells seem to lie between other marks: try {DELIMITERS[marks[0]]}." if marks else ""
    )


def _holds_number(name: str) -> bool:
    return any(map(_is_number, re.split(r"[;,|\t ]", name)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def at_row(row: int) -> str:
    """Advice that names a row, ``row`` counted from 0."""
    return f"It stands in row {row + 1} (rows counted from 1, without a header)."


def open_table(
    place: Any,
    form: str | None = None,
    header: bool = True,
    *,
    delimiter: str | None = None,
    multiline: bool = False,
    argument: str = "table",
) -> Table:
    """A table from a path, from standard input for ``-``, or from a data frame.

    Parameters
    ----------
    place : path, "-", or data frame
        A path may be a folder of Parquet files.
    form, header, delimiter, multiline
        How a text file is read: its format, whether the first line names the columns, what stands
        between the cells of CSV, and whether its quoted cells may hold line ends.
    argument : str
        The argument that names the table, for messages.
    """
    if isinstance(place, Table):
        return place
    if not isinstance(place, str | os.PathLike):
        return _of_frame(place)
    how = {"header": header, "multiline": multiline}
    if str(place) == "-":
        held = sys.stdin.buffer.read()
        return _of_bytes("standard input", held, format_of_bytes(held, form).delimited(delimiter),
                         (), **how)  # fmt: skip
    path = Path(place)
    if path.is_dir():
        return _of_folder(path, form)
    if not path.exists():
        raise InvalidInput(argument, str(path), "a file that exists")
    found = format_of_path(path, form).delimited(delimiter)
    return _of_bytes(str(path), _snapshot(path), found, (path,), **how)


def _snapshot(path: Path) -> bytes:
    """All bytes of a file that did not change meanwhile."""
    try:
        with path.open("rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                return file.read()
            held = file.read()
            after, named = os.fstat(file.fileno()), path.stat()
    except PermissionError:
        raise InvalidInput(f"table {path}", "no permission", "a file that may be read") from None
    except OSError as error:
        raise InvalidInput(f"table {path}", str(error.strerror), READABLE) from None
    same = _identity(before) == _identity(after) == _identity(named)
    if not same or len(held) != before.st_size:
        raise InvalidInput(
            f"table {path}", "a file that was changed, exchanged or removed while it was read",
            "a table that stays the same while it is read", "Nothing was written. Work on a copy.",
        )  # fmt: skip
    return held


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _of_folder(path: Path, form: str | None) -> Table:
    if form not in (None, "parquet"):
        raise InvalidInput("format", form, "parquet, for a folder of part files")
    files = part_files(path)
    parts = [_of_bytes(str(file), _snapshot(file), Format("parquet"), (file,)) for file in files]

    def take(names: list[str]) -> pl.DataFrame:
        frames = [part.read(names) for part in parts]
        for file, frame in zip(files, frames, strict=True):
            if frame.schema != frames[0].schema:
                raise InvalidInput(
                    f"table {file}", "other columns or types than the first part has",
                    "the same columns in all files of a folder",
                )  # fmt: skip
        return pl.concat(frames)

    if any(part.columns != parts[0].columns for part in parts):
        raise InvalidInput(
            f"table {path}", "parts with different columns", "the same columns in all files of a "
            "folder",
        )  # fmt: skip
    return Table(str(path), parts[0].columns, "file", take, Format("parquet"), files=tuple(files))


def part_files(path: Path) -> list[Path]:
    """The Parquet files of a folder in the order of their names; hidden ones are left out."""
    files = sorted(
        file for file in path.iterdir()
        if file.suffix.lower() in (".parquet", ".pq") and file.name[0] not in "._"
    )  # fmt: skip
    if not files:
        raise InvalidInput("table", f"{path}, a folder without Parquet files",
                           "a file, or a folder of Parquet files")  # fmt: skip
    return files


def _of_bytes(
    name: str, held: bytes, form: Format, files: tuple[Path, ...], header: bool = True,
    multiline: bool = False,
) -> Table:  # fmt: skip
    if form.is_text:
        return _of_text(name, held, form, files, header, multiline)
    names = list(_binary(name, held, form, None).columns)
    _check_names(names)

    def take(columns: list[str]) -> pl.DataFrame:
        return _binary(name, held, form, columns)

    return Table(name, names, "file", take, form, False, files)


def _binary(name: str, held: bytes, form: Format, columns: list[str] | None) -> pl.DataFrame:
    """Columns of a Parquet or Arrow file; None: the names alone, no rows."""
    few: dict[str, Any] = {"n_rows": 0} if columns is None else {"columns": columns}
    with _in_words(name), _quiet():
        if form.name == "parquet":
            frame = pl.read_parquet(held, **few)
        elif held[:6] == b"ARROW1":
            frame = pl.read_ipc(held, **few)
        else:
            frame = pl.read_ipc_stream(held, **few)
    return frame if columns is None else frame.select(columns)


@contextlib.contextmanager
def _in_words(name: str) -> Iterator[None]:
    """Errors of Polars as ours, without a word of what they quote."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, ValueError, TypeError, OverflowError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"table {name}", "bytes that cannot be read as its format says",
                           READABLE, "Is the file whole, and is its format the one that its name "
                           "tells?") from None  # fmt: skip
    except MemoryError:
        raise InvalidInput(f"table {name}", "sizes that do not fit into memory", READABLE) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise InvalidInput(f"table {name}", "bytes that cannot be read as its format says",
                           READABLE) from None  # fmt: skip


_STDERR = threading.Lock()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Polars writes to standard error about a damaged file from being shown."""
    try:
        handle = 2
        kept = os.dup(handle)
    except OSError:
        yield
        return
    with _STDERR:
        sink = os.open(os.devnull, os.O_WRONLY)
        try:
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os.dup2(sink, handle)
            yield
        finally:
            os.dup2(kept, handle)
            os.close(sink)
            os.close(kept)


def _check_names(names: Sequence[str]) -> None:
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        # A number is no name: the first line may be a private row.
        number = _is_number(twice)
        found = "two columns named by one number" if number else f"two columns named {twice!r}"
        raise InvalidInput("table", found, "a name for each column", NO_HEADER if number else "")


def _of_text(
    name: str, held: bytes, form: Format, files: tuple[Path, ...], header: bool, multiline: bool
) -> Table:
    held = _plain(name, held, form).removeprefix(BOM)
    if form.name == "text":
        held = _tabbed(held)
    mark = "\t" if form.name == "text" else form.separator
    cells = _first_cells(held, name, mark, form.has_quotes)
    names = cells if header else [f"column{number}" for number in range(1, len(cells) + 1)]
    _check_names(names)
    _check_lines(held, name, mark, form.has_quotes, multiline, header, names)
    places = {column: place for place, column in enumerate(names)}

    def take(columns: list[str]) -> pl.DataFrame:
        chosen = sorted(places[column] for column in columns)
        try:
            with _quiet():
                frame = pl.read_csv(
                    held, columns=chosen, has_header=header, separator=mark,
                    quote_char='"' if form.has_quotes else None, infer_schema=False,
                    empty_string_is_null=False, missing_columns="raise", raise_if_empty=False,
                )  # fmt: skip
        except (pl.exceptions.PolarsError, OSError, ValueError):
            raise _wrong_text(name, held) from None
        frame.columns = [names[place] for place in chosen]
        return frame.select(columns)

    return Table(name, names, "file", take, form, True, files)


def _wrong_text(name: str, held: bytes) -> InvalidInput:
    try:
        held.decode()
    except UnicodeDecodeError as error:
        line = held.count(b"\n", 0, error.start) + 1
        return InvalidInput(f"table {name}", f"bytes that are not UTF-8 in line {line}",
                            "text in UTF-8", UTF8_ADVICE)  # fmt: skip
    return InvalidInput(f"table {name}", "text that is no table", READABLE)


def _plain(name: str, held: bytes, form: Format) -> bytes:
    """The text of a file, decompressed."""
    whole = "a whole file: it ends too early, or bytes of it are wrong"
    if form.compression == "gzip":
        try:
            return gzip.decompress(held)
        except (OSError, EOFError, zlib.error):
            raise InvalidInput(f"table {name}", "gzip data that cannot be read", whole) from None
    if form.compression == "zstd":
        try:
            with _quiet():
                lines = pl.read_lines(io.BytesIO(held)).to_series().to_list()
        except (pl.exceptions.PolarsError, OSError) as error:
            if "utf8" in str(error):
                raise InvalidInput(f"table {name}", "bytes that are not UTF-8", "text in UTF-8",
                                   UTF8_ADVICE) from None  # fmt: skip
            raise InvalidInput(f"table {name}", "zstd data that cannot be read", whole) from None
        return ("\n".join(lines) + "\n").encode() if lines else b""
    return held


def _tabbed(held: bytes) -> bytes:
    """Cells between blanks as cells between tabs; blanks at the ends of a line mean nothing."""
    return re.sub(rb"(?m)^\t|\t(?=\r?$)", b"", re.sub(rb"[ \t]+", b"\t", held))


def _first_cells(held: bytes, name: str, mark: str, quotes: bool) -> list[str]:
    """The cells of the first line."""
    if not held.strip():
        raise InvalidInput("table", f"no rows in {name}", "at least one row")
    start = held[:HEADER_BYTES]
    if len(held) > HEADER_BYTES:
        start = start[: start.rfind(b"\n") + 1]
    lines = (line.decode() for line in io.BytesIO(start))
    rule: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    try:
        cells = next(csv.reader(lines, delimiter=mark, quoting=rule, strict=True), None)
    except UnicodeDecodeError:
        raise InvalidInput(
            f"table {name}", "bytes that are not UTF-8 in line 1", "text in UTF-8", UTF8_ADVICE
        ) from None
    except csv.Error:
        # The check of all lines says what is wrong, and where.
        _check_lines(held, name, mark, quotes, False, True, [])
        cells = None
    if cells is None:
        raise InvalidInput(f"table {name}", f"a first line of more than {HEADER_BYTES:,} bytes",
                           "shorter names, or fewer columns")  # fmt: skip
    if not cells:
        raise InvalidInput(f"table {name}", "a blank first line", "columns in the first line")
    return cells


QUOTE, RETURN, LINE_END = 0x22, 0x0D, 0x0A
# Where in a cell the reader stands.
BEGIN, BARE, QUOTED, CLOSED, RETURNED = range(5)
# What can be wrong, and what to do about it.
FINE, IN_BARE, AFTER_CLOSED, LINE_IN_QUOTES, LONE_RETURN, BLANK, UNCLOSED, CELLS = range(8)
IN_QUOTES = 'cells such as "say ""hi""": in quotes, and the quotes inside doubled'
FAULTS = {
    IN_BARE: ("a quote inside a cell that does not begin with one", IN_QUOTES,
              "A file whose quotes are ordinary characters is TSV."),
    AFTER_CLOSED: ("text after the closing quote of a cell", IN_QUOTES, ""),
    LINE_IN_QUOTES: ("a quote that is not closed on its line", "cells of one line",
                     "If cells hold several lines on purpose, say --multiline (multiline=True in "
                     "Python)."),
    LONE_RETURN: ("a carriage return that ends no line", "lines that end in LF or CR LF",
                  "Convert it first: tr '\\r' '\\n' does it for files in which CR alone ends a "
                  "line."),
    BLANK: ("a blank line", "a line of cells for each row", "Remove the line."),
    UNCLOSED: ("a quote that is never closed", "a closing quote for each that opens", ""),
}  # fmt: skip


def _check_lines(
    held: bytes, name: str, mark: str, quotes: bool, multiline: bool, header: bool,
    names: Sequence[str],
) -> None:  # fmt: skip
    """Error at the first byte that breaks RFC 4180, and at the first row of another length.

    Nothing is guessed: a quote that opens by mistake would make one cell of all rows up to the
    next quote, and a row that is too short would move its cells to other columns.
    """
    plain = not (quotes and b'"' in held) and b"\r" not in held
    text = np.frombuffer(held, np.uint8)
    rules = (ord(mark), quotes, multiline, len(names) == 1)
    if plain and names and _is_regular(text, ord(mark), len(names)):
        return
    fault, lines, cells = _follow(text, rules, len(names))
    if fault == FINE:
        return
    row = lines if header else lines + 1
    where = f"row {row}" if row else "the header"
    if fault == CELLS:
        count = f"{cells} cell{'s' if cells != 1 else ''} in {where}"
        raise InvalidInput(f"table {name}", count, f"{len(names)} cells, one a column", COUNTED)
    found, allowed, advice = FAULTS[fault]
    if fault not in (BLANK, LONE_RETURN):
        where += f", column {repr(names[cells]) if cells < len(names) else cells + 1}"
    advice = f"{advice} {COUNTED}" if row else advice
    raise InvalidInput(f"table {name}", f"{found}, in {where}", allowed, advice.strip())


def _is_regular(text: NDArray[np.uint8], mark: int, count: int) -> bool:
    """Whether all lines of a text without quotes and returns have so many cells.

    A piece with as many marks as its lines need has them where they belong if the first and the
    last mark of each line lie within it.
    """
    begin, marks = 0, count - 1
    while begin < len(text):
        end = min(begin + PIECE, len(text))
        if end < len(text):
            found = np.flatnonzero(text[begin:end] == LINE_END)
            if not len(found):
                return False
            end = begin + int(found[-1]) + 1
        piece = text[begin:end]
        ends = np.flatnonzero(piece == LINE_END)
        if piece[-1] != LINE_END:
            ends = np.append(ends, len(piece))
        starts = np.concatenate([[0], ends[:-1] + 1])
        places = np.flatnonzero(piece == mark)
        if len(places) != marks * len(ends) or (marks and (ends == starts).any()):
            return False
        if marks:
            table = places.reshape(len(ends), marks)
            if (table[:, 0] < starts).any() or (table[:, -1] > ends).any():
                return False
        begin = end
    return True


@compiled(nogil=True)
def _follow(
    text: NDArray[np.uint8], rules: tuple[int, bool, bool, bool], count: int
) -> tuple[int, int, int]:
    """Any text, byte by byte; ``count`` 0: rows of any length."""
    mark, quoting, multiline, blank_lines = rules
    state, lines, cells = BEGIN, 0, 0
    for byte in text:
        if state == QUOTED:
            if byte == QUOTE:
                state = CLOSED
            elif (byte == LINE_END and not multiline) or (byte == RETURN and not multiline):
                return LINE_IN_QUOTES, lines, cells
            continue
        if state == RETURNED and byte != LINE_END:
            return LONE_RETURN, lines, cells
        if byte == QUOTE and quoting:
            if state == BARE:
                return IN_BARE, lines, cells
            # After a closing quote it was none: the second of a doubled quote.
            state = QUOTED
        elif byte in (LINE_END, RETURN):
            if state == BEGIN and cells == 0 and not blank_lines:
                return BLANK, lines, cells
            if byte == RETURN:
                state = RETURNED
                continue
            if count and cells + 1 != count:
                return CELLS, lines, cells + 1
            state, lines, cells = BEGIN, lines + 1, 0
        elif byte == mark:
            state, cells = BEGIN, cells + 1
        elif state == CLOSED:
            return AFTER_CLOSED, lines, cells
        else:
            state = BARE
    if state == QUOTED:
        return UNCLOSED, lines, cells
    if state == RETURNED:
        return LONE_RETURN, lines, cells
    if count and (state != BEGIN or cells > 0) and cells + 1 != count:
        return CELLS, lines, cells + 1
    return FINE, lines, cells


def _of_frame(native: Any) -> Table:
    try:
        wrapped: Any = nw.from_native(native)
        names = wrapped.collect_schema().names()
    except TypeError:
        raise InvalidInput("frame", type(native).__name__, FRAMES) from None
    except nw.exceptions.DuplicateError:
        raise InvalidInput("frame", "two columns of one name", "a name for each column") from None
    backend = wrapped.implementation
    kind = "pandas" if backend.is_pandas() else "polars" if backend.is_polars() else "arrow"
    if isinstance(wrapped, nw.LazyFrame):
        wrapped = wrapped.collect("polars")
    # Columns that pandas numbers have no name that could be asked for.
    texts = [name for name in names if isinstance(name, str)]

    def take(columns: list[str]) -> pl.DataFrame:
        return pl.DataFrame([_column(wrapped.get_column(name), name) for name in columns])

    return Table("frame", texts, kind, take)


def _column(series: Any, name: str) -> pl.Series:
    try:
        found = series.to_polars() if hasattr(series, "to_polars") else pl.Series(series.to_arrow())
    except ModuleNotFoundError:
        raise MissingExtra("pyarrow", "spark", "a frame that is not one of Polars") from None
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("pyarrow", "polars", "builtins"):
            raise
        found = "values of several types, or of one that no table can hold"
        raise InvalidInput(name, found, "values of one type") from None
    if found.dtype == pl.Object:
        found = "values of several types, or of one that no table can hold"
        raise InvalidInput(name, found, "values of one type")
    return found.alias(name)
