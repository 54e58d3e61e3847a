"""Errors of Arrow as ours: which row and column and what is wrong, never what stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from chainveil.errors import InvalidInput

READABLE = "a table that can be read"
_CELLS = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
_TYPE = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+)")
_KINDS = {
    "int64": "a whole number",
    "double": "a number",
    "bool": "true or false",
    "date32": "a date",
    "time32": "a time of day",
    "timestamp": "a time",
    "null": "empty",
    "string": "text",
}


@dataclass(frozen=True)
class Text:
    """What is known of a text file when an error is told: its columns, and its header."""

    columns: Sequence[str] = ()
    header: bool = True

    def row(self, line: str | None) -> str:
        """Arrow counts the header as a row."""
        return "a row" if line is None else f"row {int(line) - self.header}"

    def column(self, number: str) -> str:
        """By its name where that is known; Arrow counts from 0."""
        index = int(number)
        return repr(self.columns[index]) if index < len(self.columns) else str(index + 1)


@contextmanager
def in_words(name: str, text: Text | None = None) -> Iterator[None]:
    """Arrow's errors about the file ``name`` as ours; ``text`` where it is a text file."""
    try:
        yield
    except pa.ArrowCancelled:
        raise
    except pa.ArrowException as error:
        raise _told(f"table {name}", " ".join(str(error).split()), text) from None
    except PermissionError:
        raise InvalidInput(f"table {name}", "no permission", "a file that may be read") from None
    except OSError as error:
        if type(error) is not OSError:
            raise
        words = " ".join(str(error).split())
        raise InvalidInput(f"table {name}", words, READABLE) from None


def _told(table: str, words: str, text: Text | None) -> InvalidInput:
    """Of a text file nothing that Arrow quotes: it quotes lines and cells."""
    if text is None:
        return InvalidInput(table, words, READABLE)
    if cells := _CELLS.search(words):
        count = f"{cells[3]} cell{'s' if cells[3] != '1' else ''}"
        return InvalidInput(
            table, f"{count} in {text.row(cells[1])}", f"{cells[2]} cells, one a column",
            "Rows are counted from 1, without a header.",
        )  # fmt: skip
    if cell := _TYPE.search(words):
        kind = _KINDS.get(cell[3], cell[3])
        return InvalidInput(
            table,
            f"a cell that is not {kind}, in {text.row(cell[2])}, column {text.column(cell[1])}",
            f"cells that are {kind}, as the first ones of that column are",
            "A release in a text format, such as CSV, keeps them as they are.",
        )
    if "straddling" in words:
        return InvalidInput(table, "a row of more than 8 MiB", "shorter rows")
    return InvalidInput(table, "text that is no table", READABLE)
