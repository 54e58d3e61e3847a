"""What a page is made of. Values only: ``page.py`` writes them as HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from chainveil.text import printable

Tone = Literal["plain", "good", "careful", "bad"]
# Tables of more rows are turned page by page, so that the file and the browser stay quick.
MOST_ROWS = 100
# Characters of a name that a chart has room for.
LONGEST_NAME = 60


@dataclass(frozen=True)
class Block:
    """A part of a page; ``kind`` is the macro of ``templates/blocks.html`` that writes it."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Text(Block):
    """A paragraph; its tone is a box with a word in it, never colour alone."""

    kind: ClassVar[str] = "text"
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Facts(Block):
    """Names and what is to be said of each, in order; a name may come several times."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Bullets(Block):
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    items: tuple[str, ...]


@dataclass(frozen=True)
class Code(Block):
    """Lines to copy, and what they do."""

    kind: ClassVar[str] = "code"
    words: str
    lines: str


def shown_text(value: Any) -> str:
    """A name, label or word as it is; nothing for None."""
    return "" if value is None else printable(value)


def shown_number(value: Any) -> str:
    """Four digits; words where a number is not known or has no limit."""
    if value is None or math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "no limit"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and how its values are shown.

    ``show`` says what is read; the value itself is what is sorted by, and what programs find in
    the attribute ``data-value`` of the cell, to the last digit.
    """

    title: str
    show: Callable[[Any], str] = shown_text
    number: bool = False


def number(title: str, show: Callable[[Any], str] = shown_number) -> Column:
    """A column of numbers."""
    return Column(title, show, number=True)


@dataclass(frozen=True)
class Cell:
    """What is read, and the value behind it as text that JavaScript and Python read alike."""

    shown: str
    value: str


@dataclass(frozen=True)
class Table(Block):
    """Rows of values under their columns, which can be sorted.

    Attributes
    ----------
    caption : str
        The question that the table answers.
    columns : tuple of Column
    rows : sequence of rows, each of one value a column
    """

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Any]]

    @property
    def cells(self) -> list[list[Cell]]:
        """All rows as cells."""
        return [
            [_cell(column, value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    @property
    def paged(self) -> bool:
        """Whether there are more rows than are shown at a time."""
        return len(self.rows) > MOST_ROWS


def _cell(column: Column, value: Any) -> Cell:
    plain = value.item() if hasattr(value, "item") else value
    if not column.number:
        return Cell(column.show(plain), shown_text(plain))
    # Infinity and NaN as JavaScript writes them, which Python's float reads too.
    known = plain is not None and not math.isnan(plain)
    text = repr(plain).replace("inf", "Infinity") if known else "NaN"
    return Cell(column.show(plain), text)


@dataclass(frozen=True)
class Figure(Block):
    """A chart with its values.

    Attributes
    ----------
    title : str
        The question that it answers.
    told : str
        What it shows, for who cannot see it; the table has the values.
    spec : mapping
        Vega-Lite, as of ``charts``.
    table : Table
    """

    kind: ClassVar[str] = "figure"
    title: str
    told: str
    spec: Mapping[str, Any]
    table: Table


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...]


def short(name: Any) -> str:
    """A name that a chart has room for."""
    text = printable(name)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
