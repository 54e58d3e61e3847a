"""How results look in a notebook: a few lines of HTML, every text escaped, nothing loaded.

Styles stand at their elements and take the colours of the page, so that cards read well on light
and on dark pages, and in notebooks that strip style sheets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# Characters of a text, and rows of a table, that a card shows.
LONGEST_TEXT = 400
MOST_ROWS = 12

_CELL = "text-align:left;vertical-align:top;padding:.1em .9em .1em 0"


def card(title: str, lines: Iterable[tuple[str, object]], note: str = "", below: str = "") -> str:
    """A title, lines of name and text, and a remark in small print.

    Parameters
    ----------
    title : str
        What it is, with the figure that matters.
    lines : iterable of (name, text)
        Every text is escaped, and cut where it is longer than ``LONGEST_TEXT``.
    note : str
        What to mind.
    below : str
        HTML that is ready, such as that of :func:`grid`.
    """
    rows = "".join(
        f'<tr><th scope="row" style="{_CELL}">{plain(name)}</th>'
        f'<td style="{_CELL}">{plain(text)}</td></tr>'
        for name, text in lines
    )
    body = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    small = f"<div><small>{plain(note)}</small></div>" if note else ""
    return f"<div><div><strong>{plain(title)}</strong></div>{body}{below}{small}</div>"


def grid(names: Sequence[object], rows: Sequence[Sequence[object]], most: int = MOST_ROWS) -> str:
    """A table with a head, its first ``most`` rows, and how many more there are."""
    head = "".join(f'<th scope="col" style="{_CELL}">{plain(name)}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{plain(cell)}</td>' for cell in row) + "</tr>"
        for row in rows[:most]
    )
    left = len(rows) - most
    more = f"<div><small>… {left:,} more rows</small></div>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def plain(text: object) -> str:
    """Text that no browser takes for anything else, on one line and not too long."""
    words = " ".join(str(text).split())
    short = words if len(words) <= LONGEST_TEXT else words[: LONGEST_TEXT - 1] + "…"
    return escape(short)
