"""Where in a table something stands, and how an error says it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

from chainveil.errors import InvalidInput


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
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    advice = f"Did you mean {close[0]!r}?" if close else ""
    raise InvalidInput(argument, name, f"one of the columns {', '.join(map(repr, names))}", advice)
