"""An estimate as a figure: one curve a state, one place a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.estimate.answer_table import once, place_words, shown
from chainveil.plot.intervals import intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from chainveil.estimate.results import Estimate


def draw(found: Estimate, labels: Sequence[Any] | None = None, **words: Any) -> Figure:
    """Draw an answer; see :meth:`chainveil.estimate.Estimate.plot`.

    ``words`` are titles and the truth, as in :func:`chainveil.plot.intervals`.
    """
    names = [place_words(found, place) for place in found.places(labels)]
    parts = [part.reshape(-1, len(names)) for part in shown(found)]
    kept = once(found, labels)
    words = {"ylabel": found.unit, "title": f"{found.level:.12g} intervals ({found.how})"} | words
    if found.groups is None:
        value, low, high = (part[0][kept] for part in parts)
        question = type(found).__name__.lower()
        return intervals({question: (value, low, high)}, [names[j] for j in kept], **words)
    curves = {names[j]: tuple(part[:, j] for part in parts) for j in kept}
    places = [group if isinstance(group, int | float) else str(group) for group in found.groups]
    return intervals(curves, places, **words)  # type: ignore[arg-type]


def estimates(frame: Any, **words: Any) -> Figure:
    """Draw the frame of :func:`chainveil.estimate_table`, or of ``to_frame``.

    The last column of its groups runs along the figure; every other group and state is a curve. Of
    two states that share everything the last is drawn. ``words`` as in
    :func:`chainveil.plot.intervals`.
    """
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    if not {"state", "estimate", "low", "high", "unit"} <= set(table.columns):
        raise InvalidInput("frame", list(table.columns), "the columns of estimate_table")
    by = table.columns[: table.columns.index("state")]
    rows = [row for row in table.iter_rows(named=True) if _told(row, table)]
    along = by[-1] if by else "state"
    places = list(dict.fromkeys(row[along] for row in rows))
    curves: dict[str, Any] = {}
    for row in rows:
        lines = curves.setdefault(_curve(row, by, table), np.full((3, len(places)), np.nan))
        lines[:, places.index(row[along])] = row["estimate"], row["low"], row["high"]
    words = {"xlabel": along, "ylabel": str(rows[0]["unit"])} | words
    plain = [place if isinstance(place, int | float) else str(place) for place in places]
    return intervals({name: tuple(lines) for name, lines in curves.items()}, plain, **words)


def _told(row: dict[str, Any], table: Any) -> bool:
    """Whether a row says something that another one does not say already."""
    states = list(dict.fromkeys(table["state"].to_list()))
    if len(states) != 2 or row["unit"] not in ("share", "probability") or "lag" in row:
        return True
    return bool(row["next"] != row["state"] if "next" in row else row["state"] == states[1])


def _curve(row: dict[str, Any], by: list[str], table: Any) -> str:
    """The name of the curve of a row: the groups that are not along the figure, and the state."""
    parts = [str(row[name]) for name in by[:-1]]
    if by:
        several = "next" in row or len(set(table["state"].to_list())) > 2 or row["unit"] == "points"
        move = f"{row['state']} -> {row['next']}" if "next" in row else str(row["state"])
        parts += [move] if several or not parts else []
    return ", ".join(parts) or "estimate"
