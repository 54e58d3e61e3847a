"""Pieces of Markdown for the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NONE = "–"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def number(value: float | None, digits: int = 4) -> str:
    """A number with fixed digits; a dash where there is none."""
    return NONE if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 4) -> str:
    """A difference with its sign; a dash where there is none."""
    return NONE if value is None else f"{value:+.{digits}f}"


def pair(first: float | None, second: float | None, digits: int = 4) -> str:
    """Two numbers in brackets; a dash where there are none."""
    if first is None or second is None:
        return NONE
    return f"({first:.{digits}f}, {second:.{digits}f})"
