"""An estimate as a figure: one curve a state, one place a group, one panel a series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.estimate.answer_table import once, place_words, shown
from chainveil.plot import style
from chainveil.plot.intervals import interval_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from chainveil.estimate.results import Estimate

# Curves over the same groups that can be told apart; more have a panel each.
MOST_CURVES = 4
TIMES = ("points", "seconds", "hours")


def draw(
    found: Estimate,
    labels: Sequence[Any] | None = None,
    *,
    about: str = "",
    truth: Any = None,
    **words: Any,
) -> Figure:
    """Draw an answer; see :meth:`chainveil.estimate.Estimate.plot`.

    ``about`` is a second line of the title; ``truth`` an answer of the same shape from the
    original, drawn as lines; ``words`` are titles as in :func:`chainveil.plot.intervals`.
    """
    places = found.places(labels)
    names = [place_words(found, place) for place in places]
    kept = once(found, labels)
    told = [names[j] for j in kept]
    if found.groups is None:
        # What is asked about runs along the figure.
        groups: list[tuple[str, Any]] = [("", name) for name in told]
        values = [part.reshape(-1)[kept][:, None] for part in shown(found)]
        told = [type(found).__name__.lower()]
        right = None if truth is None else truth.value.reshape(-1)[kept][:, None]
    else:
        groups = [found.place_of(group) for group in found.groups]
        values = [part.reshape(-1, len(names))[:, kept] for part in shown(found)]
        right = None if truth is None else truth.value.reshape(-1, len(names))[:, kept]
    question = _question(found.unit, told if len(told) == 1 and found.groups else [], places[0])
    by = words.pop("by", "")
    words = {"title": _title(question, by, found.level, about), "xlabel": by} | words
    return _drawn(groups, told, values, right, found.unit, words)


def _drawn(
    groups: Sequence[tuple[str, Any]],
    names: Sequence[str],
    values: Any,
    right: Any,
    unit: str,
    words: dict[str, Any],
) -> Figure:
    """Panels by the first part of a group, places by the second; ``values`` (groups, names)."""
    panels: dict[str, Any] = {}
    truths: dict[str, Any] = {}
    for panel in dict.fromkeys(panel for panel, _ in groups):
        rows = [i for i, (name, _) in enumerate(groups) if name == panel]
        places = [_plain(groups[i][1]) for i in rows]
        curves = {
            name: tuple(part[rows, j] for part in values) for j, name in enumerate(names)
        }  # fmt: skip
        panels[panel] = curves, places
        if right is not None:
            several = {name: right[rows, j] for j, name in enumerate(names)}
            truths[panel] = several if len(names) > 1 else right[rows, 0]
    words = {"ylabel": _axis(unit)} | _look(unit) | words
    return interval_panels(panels, truths=truths or None, **words)


def estimates(frame: Any, *, about: str = "", level: float | None = None, **words: Any) -> Figure:
    """Draw the frame of :func:`chainveil.estimate_table`, or of ``to_frame``.

    The last column of its groups runs along the figure. Of the other groups and the states up to
    ``MOST_CURVES`` are curves; where there are more, each of the other groups has a panel. Of
    two states that share everything the last is drawn. ``about`` is a second line of the title,
    ``level`` that of the intervals; ``words`` as in :func:`chainveil.plot.intervals`.
    """
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    if not {"state", "estimate", "low", "high", "unit"} <= set(table.columns):
        raise InvalidInput("frame", list(table.columns), "the columns of estimate_table")
    if not len(table):
        raise InvalidInput("frame", "no rows", "one or more")
    first = min(table.columns.index(name) for name in ("state", "lag") if name in table.columns)
    by = table.columns[:first]
    states = list(dict.fromkeys(table["state"].to_list()))
    rows = [row for row in table.iter_rows(named=True) if _told(row, states)]
    compared = [name for name in by if f"other {name}" in by]
    if compared:
        by = [", ".join(compared)]
        rows = [row | {by[0]: _pair(row, compared)} for row in rows]
    return _from_rows(rows, by, about, level, words)


def _pair(row: dict[str, Any], names: list[str]) -> str:
    """Two groups that are compared, in one name."""
    sign = " / " if str(row["unit"]).startswith("ratio") else " − "
    groups = (", ".join(str(row[f"{other}{name}"]) for name in names) for other in ("", "other "))
    return sign.join(groups)


def _from_rows(
    rows: list[dict[str, Any]],
    by: list[str],
    about: str,
    level: float | None,
    words: dict[str, Any],
) -> Figure:
    unit, along = str(rows[0]["unit"]), by[-1] if by else "lag" if "lag" in rows[0] else "state"
    drawn = list(dict.fromkeys(row["state"] for row in rows))
    outer = [", ".join(str(row[name]) for name in by[:-1]) for row in rows]
    inner = [_inner(row, along, len(drawn) > 1) for row in rows]
    apart = len(set(outer)) > 1 and len(set(zip(outer, inner, strict=True))) > MOST_CURVES
    curve = inner if apart else [", ".join(filter(None, pair))
                                 for pair in zip(outer, inner, strict=True)]  # fmt: skip
    placed = [(name if apart else "", row[along]) for name, row in zip(outer, rows, strict=True)]
    groups, names = list(dict.fromkeys(placed)), list(dict.fromkeys(curve))
    values = np.full((3, len(groups), len(names)), np.nan)
    for row, place, name in zip(rows, placed, curve, strict=True):
        at = groups.index(place), names.index(name)
        values[:, *at] = row["estimate"], row["low"], row["high"]
    question = _question(unit, drawn if len(drawn) == 1 and by else [], rows[0])
    words = {"title": _title(question, ", ".join(by), level, about), "xlabel": along} | words
    told = [name or "estimate" for name in names]
    return _drawn(groups, told, values, None, unit, words)


def _told(row: dict[str, Any], states: list[Any]) -> bool:
    """Whether a row says something that another one does not say already."""
    kinds = ("share", "probability", "difference of share", "difference of probability")
    if len(states) != 2 or row["unit"] not in kinds or "lag" in row:
        return True
    return bool(row["next"] != row["state"] if "next" in row else row["state"] == states[1])


def _inner(row: dict[str, Any], along: str, several: bool) -> str:
    """What a row is about beside its group; the state where there are several."""
    if "next" in row:
        return f"{row['state']} -> {row['next']}"
    parts = [f"lag {row['lag']}"] if "lag" in row and along != "lag" else []
    parts += [str(row["state"])] if several and along != "state" else []
    return ", ".join(parts)


def _plain(place: Any) -> Any:
    return place if isinstance(place, int | float | np.number) else str(place)


def _look(unit: str) -> dict[str, Any]:
    """Lines at the ends of the scale, or at no difference; spells by their ratios."""
    if unit in TIMES:
        return {"log": True}
    if unit.startswith(("difference", "ratio")):
        return {"marks": (0.0,) if unit.startswith("difference") else (1.0,)}
    return {"marks": (0.0, 1.0)}


def _axis(unit: str) -> str:
    return f"{unit}, log scale" if unit in TIMES else unit


def _question(unit: str, state: Sequence[Any], place: dict[str, Any]) -> str:
    """What the figure answers; ``state`` is the only one drawn, if there is one."""
    of = f" in {style.words(state[0])}" if state else " in each state"
    if unit == "share":
        return "Share of pairs of states" if "next" in place else f"Share of points{of}"
    names = {"probability": "Probability of the next state", "correlation": "Autocorrelation"}
    return names.get(unit, "How long a spell lasts" if unit in TIMES else unit.capitalize())


def _title(question: str, by: str, level: float | None, about: str) -> str:
    grouped = f", by {style.words(by)}" if by else ""
    sure = "with intervals" if level is None else f"{100 * level:.12g}% intervals"
    return f"{question}{grouped}, {sure}" + (f"\n{style.words(about, 100)}" if about else "")
