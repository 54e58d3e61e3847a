"""Estimates as figures and tables: each number once, within its scale, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chainveil.estimate import Estimate
from chainveil.estimate.answer_table import in_words, once, place_words, shown
from chainveil.report import charts
from chainveil.report.blocks import (
    Block,
    Column,
    Figure,
    Table,
    distinct,
    number,
    short,
    shown_text,
)

# Lines of one chart: of more groups some are drawn, evenly by rank, and all are in the table.
MOST_LINES = 60


@dataclass(frozen=True)
class Row:
    """One number of an answer: of which group, what it is about, and the points behind it."""

    group: Any
    about: str
    value: float
    low: float
    high: float
    points: int

    @property
    def words(self) -> str:
        """The number with its interval."""
        return in_words(self.value, self.low, self.high, 4)


def rows(found: Estimate, labels: Sequence[Any]) -> list[Row]:
    """The numbers of an answer; what another one says already is left out."""
    places, groups = found.places(labels), [None] if found.groups is None else found.groups
    value, low, high = (part.reshape(len(groups), len(places)) for part in shown(found))
    points = found.points.reshape(len(groups), -1)
    return [
        Row(group, place_words(found, places[j]), float(value[i, j]), float(low[i, j]),
            float(high[i, j]), int(points[i, j * points.shape[1] // len(places)]))
        for i, group in enumerate(groups)
        for j in once(found, labels)
    ]  # fmt: skip


def table(caption: str, held: list[Row], group: str | None, unit: str) -> Table:
    """A line a number."""
    several = len({row.about for row in held}) > 1
    columns = [*([] if group is None else [Column(group)]), *([Column("state")] * several)]
    columns += [number(unit), number("low"), number("high"), number("points behind it")]
    lines = [
        [*([] if group is None else [row.group]), *([row.about] * several),
         row.value, row.low, row.high, row.points]
        for row in held
    ]  # fmt: skip
    return Table(caption, tuple(columns), lines)


def by_name(title: str, found: Estimate, labels: Sequence[Any], group: str) -> Block:
    """Intervals beside each other, a line a group."""
    held = rows(found, labels)
    values = table(title, held, group, found.unit)
    drawn, words = _some(held)
    if not drawn or len({row.about for row in held}) > len(charts.CYCLE):
        return values
    spec = charts.intervals(_marks(drawn), found.unit, _domain(found, drawn))
    return Figure(f"{title}{words}", told(drawn, found.unit), spec, values)


def along(title: str, found: Estimate, labels: Sequence[Any], scale: str) -> list[Block]:
    """Curves with their bands along the groups in their order, a figure a state."""
    held = rows(found, labels)
    kinds = list(dict.fromkeys(row.about for row in held))
    if len(kinds) > len(charts.CYCLE):
        return [table(title, held, scale, found.unit)]
    parts = [[row for row in held if row.about == kind] for kind in kinds]
    titles = [title if len(kinds) == 1 else f"{title}: {short(kind)}" for kind in kinds]
    return [_curve(words, found, part, scale) for words, part in zip(titles, parts, strict=True)]


def _curve(title: str, found: Estimate, held: list[Row], scale: str) -> Block:
    values = table(title, held, scale, found.unit)
    drawn = [row for row in held if not math.isnan(row.value)]
    if not drawn:
        return values
    pairs = zip(_marks(drawn), drawn, strict=True)
    marks = [{**mark, "at": row.group} for mark, row in pairs]
    spec = charts.curve(marks, scale, found.unit, _domain(found, drawn))
    return Figure(title, told(drawn, found.unit), spec, values)


def whole(title: str, found: Estimate, labels: Sequence[Any]) -> Block:
    """An answer about everything: a line a state."""
    held = rows(found, labels)
    lines = [(row.about, row.value, row.low, row.high, row.points) for row in held]
    columns = (Column("state"), number(found.unit), number("low"), number("high"),
               number("points behind it"))  # fmt: skip
    return Table(title, columns, lines)


def told(drawn: list[Row], unit: str) -> str:
    """What a chart shows, for who cannot see it."""
    least, most = min(row.value for row in drawn), max(row.value for row in drawn)
    return f"{len(drawn):,} values, as {unit}, from {least:.4g} to {most:.4g}, with intervals."


def _some(held: list[Row]) -> tuple[list[Row], str]:
    """The rows that a chart has room for, and how they were chosen."""
    known = [row for row in held if not math.isnan(row.value)]
    groups = list(dict.fromkeys(row.group for row in known))
    if len(groups) <= MOST_LINES:
        return known, ""
    rank = {row.group: row.value for row in reversed(known)}
    ordered = sorted(groups, key=lambda group: rank[group])
    last = len(ordered) - 1
    chosen = [ordered[round(place * last / (MOST_LINES - 1))] for place in range(MOST_LINES)]
    at = {group: place for place, group in enumerate(chosen)}
    some = sorted((row for row in known if row.group in at), key=lambda row: at[row.group])
    return some, f" ({MOST_LINES} of {len(groups):,}, evenly by rank; all are in the table)"


def _marks(drawn: list[Row]) -> list[dict[str, Any]]:
    """What a chart draws; an interval without a limit goes to the end of the scale."""
    top = _top(drawn)
    names, kinds = (distinct(part) for part in zip(*((row.group, row.about) for row in drawn),
                                                   strict=True))  # fmt: skip
    return [
        {"name": names[row.group], "of": kinds[row.about], "value": row.value, "low": row.low,
         "high": min(row.high, top),
         "told": f"{_named(row, drawn)}: {row.words}"}
        for row in drawn
    ]  # fmt: skip


def _named(row: Row, drawn: list[Row]) -> str:
    group = short(shown_text(row.group))
    if len({one.about for one in drawn}) == 1:
        return group
    return f"{group}, {short(row.about)}"


def _top(drawn: list[Row]) -> float:
    finite = [x for row in drawn for x in (row.value, row.high) if math.isfinite(x)]
    return 1.2 * max(finite, default=1.0)


def _domain(found: Estimate, drawn: list[Row]) -> tuple[float, float]:
    low, high = found.scale
    return (low, high) if math.isfinite(high) else (low, _top(drawn))
