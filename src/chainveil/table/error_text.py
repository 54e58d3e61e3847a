"""Where in a table something stands, and how an error says it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

from chainveil.errors import InvalidInput

# Names of columns that an error lists.
MOST_NAMES = 30
NO_HEADER = (
    "The first line holds numbers: if it is a row and no header, say --no-header, and the columns "
    "are called column1, column2, …"
)
# Marks that stand between cells in files that are taken for another format.
DELIMITERS = {
    ";": "--delimiter ';'",
    "|": "--delimiter '|'",
    "\t": "--format tsv",
    ",": "--format csv",
}


def row_text(row: int) -> str:
    """A row by its number; ``row`` counts from 0, people count from 1."""
    return f"row {row + 1}"


def at_row(row: int) -> str:
    """Advice that names a row, ``row`` counted from 0."""
    return f"It stands in {row_text(row)} (rows counted from 1, without a header)."


def moved(error: InvalidInput, place: Callable[[int], str]) -> InvalidInput:
    """The error with its row named by ``place`` instead, where rows have no number."""

    def renamed(found: re.Match[str]) -> str:
        return place(int(found[1]) - 1)

    texts = [
        re.sub(r"\brow (\d+)(?: \(rows counted from 1, without a header\))?", renamed, text)
        for text in (str(error.found), error.advice)
    ]
    found = texts[0] if isinstance(error.found, str) else error.found
    return InvalidInput(error.argument, found, error.allowed, texts[1])


def check_released(argument: str, name: str | None, columns: Iterable[str]) -> None:
    """As :func:`check_column`, for a column that a release may have left out."""
    names = list(columns)
    if name is not None and name not in names:
        raise InvalidInput(
            argument, name, f"one of the released columns {', '.join(map(repr, names))}",
            "Others are published only when they are named: sanitize with --keep, or --keep-time "
            "or --time-as for the time.",
        )  # fmt: skip


def check_column(argument: str, name: str | None, columns: Iterable[str]) -> None:
    """Error unless ``name`` is a column; the closest name is suggested."""
    names = list(columns)
    if name is None or name in names:
        return
    if not isinstance(name, str):
        raise InvalidInput(argument, name, "the name of a column, a text")
    if not names:
        raise InvalidInput(argument, name, "a column, but none has a text for a name")
    if any(map(_holds_number, names)):
        # A first line of values is no list of names, but a private row.
        advice = f"{NO_HEADER} {_delimiter(names)}".rstrip()
        raise InvalidInput(argument, name, f"one of the {len(names):,} columns", advice)
    raise InvalidInput(argument, name, f"one of the columns {_listed(names)}", _advice(name, names))


def is_number(text: str) -> bool:
    """Whether a text is a number, as no name of a column is that somebody chose."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _holds_number(name: str) -> bool:
    """Whether a cell is a number, or several cells that are taken for one hold a number."""
    return any(is_number(cell) for cell in re.split("[;|\t,]", name))


def _listed(names: list[str]) -> str:
    """Names of columns, as many as somebody would read."""
    told = ", ".join(repr(name) for name in names[:MOST_NAMES])
    return told + (f" … and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else "")


def _delimiter(names: list[str]) -> str:
    """Why there is but one column, where a mark in its name may say so."""
    said = {mark: how for mark, how in DELIMITERS.items() if len(names) == 1 and mark in names[0]}
    if not said:
        return ""
    mark, how = max(said.items(), key=lambda pair: names[0].count(pair[0]))
    return f"The table has one column: if {mark!r} stands between the cells, say {how}."


def _advice(name: str, names: list[str]) -> str:
    """The name that was meant, or why there is but one column."""
    if said := _delimiter(names):
        return said
    folded = {other.casefold(): other for other in names}
    found = folded.get(name.casefold())
    if found is None:
        close = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.4)
        found = folded[close[0]] if close else None
    return "" if found is None else f"Did you mean {found!r}?"
