"""A comparison as a page, and its trade-off as a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from chainveil.comparison.recommend import ASKS, For, Recommendation, answer
from chainveil.comparison.results import PRIVATE, Comparison
from chainveil.comparison.rows import Row
from chainveil.privacy.rounding import exact, upper
from chainveil.report import (
    Bullets,
    Code,
    Column,
    Facts,
    Figure,
    Page,
    Section,
    Table,
    Text,
    charts,
    number,
)

MARK = "private: do not publish"
# What is drawn of the question asked for, and what its figure is called.
ERRORS: dict[For, str] = {
    "share": "95% half-width of the share of a state",
    "pattern": "95% half-width of the share of a state in one part",
    "episodes": "95% half-width of a spell's length, as a share of it",
    "points": "share of points wrong after smoothing",
}
Value = Callable[[Row], float | None]


def page(found: Comparison) -> Page:
    """Recommendation, trade-off, all figures, what is not compared, and where figures come from."""
    about = found.about
    return Page(
        f"What each release would tell: {ASKS[about.question]}",
        f"{about.points:,} points in {about.series:,} series; budgets "
        f"{', '.join(map(exact, found.epsilons))}",
        (
            Section("What to take", tuple(_recommended(found))),
            Section("What a larger budget buys", tuple(_figures(found))),
            Section("All figures", (Text(_reading(found)), _table(found))),
            Section("Not compared", (Bullets(tuple(_refused(found))),)),
            Section("Where the figures come from", (Facts(_facts(found)),)),
        ),
        MARK,
    )


def chart(found: Comparison) -> Any:
    """The trade-off of the question asked for, as a chart of Altair."""
    question = found.about.question
    alt = charts.altair()
    rows = _lines(found, lambda row: _reach(row, question), ERRORS[question])
    return alt.Chart.from_dict(charts.curve(rows, "budget ε", ERRORS[question]))


def _recommended(found: Comparison) -> Iterator[Any]:
    for best in found.recommendations:
        yield from _one(found, best)


def _one(found: Comparison, best: Recommendation) -> Iterator[Any]:
    name = "nothing" if best.row is None else best.row.name
    yield Text(f"Budget {exact(best.epsilon)}: take {name}. {best.reason}.", "good")
    if best.row is not None:
        yield Text(f"Who must see what: {best.row.needs}.")
        words = f"{name}, at budget {exact(best.epsilon)}"
        if found.words:
            yield Code(f"The release by {words}:", found.command(best.epsilon))
        else:
            lines = f"cv.sanitize_table(table, **comparison.call({best.epsilon!r}))"
            yield Code(f"The release by {words}, in Python:", lines)
    if best.warning:
        yield Text(f"{best.warning}.", "careful")


def _figures(found: Comparison) -> Iterator[Figure]:
    question = found.about.question
    yield _figure(found, ERRORS[question], lambda row: _reach(row, question))
    yield _figure(found, "share of wrong reports", lambda row: row.figures.wrong)
    if question != "points":
        yield _figure(found, ERRORS["points"], lambda row: row.figures.smoothed)
    yield _figure(
        found, "share of points that the best attacker gets right, simulated",
        lambda row: row.figures.attacked.success,
    )  # fmt: skip


def _figure(found: Comparison, what: str, value: Value) -> Figure:
    rows = _lines(found, value, what)
    columns = (Column("setting"), number("budget ε", _plain), number(what))
    table = Table(
        f"Values of the chart: {what}", columns, [(row["of"], row["at"], row["value"]) for row in rows]
    )
    told = (
        f"A line for each mechanism, over budgets {', '.join(map(exact, found.epsilons))}; of "
        "several objectives the best at each budget."
    )
    return Figure(f"{what[0].upper()}{what[1:]}, by budget", told,
                  charts.curve(rows, "budget ε", what), table)  # fmt: skip


def _lines(found: Comparison, value: Value, what: str) -> list[dict[str, Any]]:
    """The points of a chart: of each way to report, the objective that does best at a budget."""
    best: dict[tuple[str, float], float] = {}
    # The fewer right guesses of an attacker the better for who is guarded, but not for who reads.
    for row in found.rows:
        there, key = value(row), (row.setting.way, row.epsilon)
        if there is not None:
            best[key] = min(there, best.get(key, there))
    return [
        {"of": way, "at": at, "value": there, "low": there, "high": there,
         "told": f"{way}, budget {exact(at)}: {there:.4g}, {what}"}
        for (way, at), there in best.items()
    ]  # fmt: skip


def _reach(row: Row, question: For) -> float | None:
    there = answer(row, question)
    return None if there is None else there.half_width


def _plain(value: Any) -> str:
    return exact(value)


def _bound(value: Any) -> str:
    """A figure that must not be read as less than it is."""
    return "not known" if value is None else upper(value, 4)


def _table(found: Comparison) -> Table:
    columns: tuple[tuple[Column, Callable[[Row], Any]], ...] = (
        (number("budget ε", _plain), lambda row: row.epsilon),
        (Column("setting"), lambda row: row.name),
        (Column("recommended"), lambda row: "yes" if _taken(found, row) else ""),
        (number("wrong reports"), lambda row: row.figures.wrong),
        (number("wrong after smoothing"), lambda row: row.figures.smoothed),
        (number("share ±"), lambda row: _half(row.figures.share)),
        (number("share by series ±"), lambda row: _half(row.figures.by_series)),
        (number("share by part ±"), lambda row: _half(row.figures.by_part)),
        (number("transitions ±"), lambda row: _half(row.figures.transitions)),
        (number("sojourns ±"), lambda row: _half(row.figures.sojourns)),
        (number("attacker right"), lambda row: row.figures.attacked.success),
        (number("attacker right at most", _bound), lambda row: row.figures.attacked.bound),
        (number("loss at most", _bound), lambda row: row.loss),
        (number("own loss, worst", _bound), lambda row: row.figures.own.worst),
        (number("own loss, median", _bound), lambda row: row.figures.own.median),
        (Column("who must see what"), lambda row: row.needs),
    )
    rows = [[value(row) for _, value in columns] for row in found.rows]
    return Table("What does each setting leave?", tuple(column for column, _ in columns), rows)


def _taken(found: Comparison, row: Row) -> bool:
    return any(best.row is row for best in found.recommendations)


def _half(expected: Any) -> float | None:
    return None if expected is None else expected.half_width


def _reading(found: Comparison) -> str:
    about = found.about
    return (
        "± is half of a 95% interval. Share by series: of a series of "
        f"{about.of_a_series:,} points; by part: {about.part}, {about.of_a_part:,} points. Sojourns "
        "as shares of a spell. The attacker knows the chain and the noise and no point; without a "
        f"release it is right in {_guess(found)} of its guesses. Own loss: if a series followed the "
        f"chain that fits it best, over {about.own_series:,} series. Not known: the release does "
        "not answer it, or the points are too few."
    )


def _guess(found: Comparison) -> str:
    return f"{found.rows[0].figures.attacked.guess:.1%}" if found.rows else "some"


def _refused(found: Comparison) -> Iterator[str]:
    for one in found.refused:
        at = "" if one.epsilon is None else f" at budget {exact(one.epsilon)}"
        yield f"{one.setting}{at}: {one.reason}"


def _facts(found: Comparison) -> tuple[tuple[str, str], ...]:
    about = found.about
    return (
        ("chain", about.chain),
        ("simulated", about.simulated),
        ("private", PRIVATE),
        ("shares", "expected variance of the estimate from counts, for that chain; where one point "
         "in several reports, the interval is on the safe side"),
        ("transitions, sojourns", "by counts or by likelihood, whichever is more precise; the "
         "likelihood leans on the series being a chain"),
        ("attacker", "simulated, no bound: \"right at most\" is one, certified"),
        ("losses", "certified upper bounds, rounded up"),
    )  # fmt: skip
