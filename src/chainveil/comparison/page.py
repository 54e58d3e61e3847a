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
    "episodes": "95% half-width of a spell's length, as a share of it",
    "points": "share of points wrong after smoothing",
}
Value = Callable[[Row], float | None]
Columns = tuple[tuple[Column, Callable[[Row], Any]], ...]


def page(found: Comparison) -> Page:
    """Recommendation, trade-off, all figures, what is not compared, and where figures come from."""
    about = found.about
    return Page(
        f"Before a release: {ASKS[about.question]}",
        f"{about.points:,} points in {about.series:,} series; budgets "
        f"{', '.join(map(exact, found.epsilons))}",
        (
            *(_recommended(found, best) for best in found.recommendations),
            Section("What a larger budget buys", tuple(_figures(found))),
            Section("All figures", (Text(_reading(found)), *_tables(found))),
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


def _recommended(found: Comparison, best: Recommendation) -> Section:
    name = "nothing" if best.row is None else best.row.name
    return Section(f"Budget {exact(best.epsilon)}: take {name}", tuple(_why(found, best)))


def _why(found: Comparison, best: Recommendation) -> Iterator[Any]:
    yield Text(f"{best.reason[0].upper()}{best.reason[1:]}.")
    if best.row is not None:
        yield Text(f"Who must see what: {best.row.needs}.")
        if found.words:
            yield Code("The command for this release:", found.command(best.epsilon))
        else:
            lines = f"cv.sanitize_table(table, **comparison.call({best.epsilon!r}))"
            yield Code("The release in Python:", lines)
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
    columns = (Column("setting"), number("budget ε", exact), number(what))
    table = Table(
        f"Values of the chart: {what}",
        columns,
        [(row["of"], row["at"], row["value"]) for row in rows],
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
    for row in found.rows:
        there, key = value(row), (row.setting.line, row.epsilon)
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


def _bound(value: Any) -> str:
    """A figure that must not be read as less than it is."""
    return "not known" if value is None else upper(value, 4)


def _tables(found: Comparison) -> Iterator[Table]:
    yield _table(found, "How precise are the answers?", (
        (number("wrong reports"), lambda row: row.figures.wrong),
        (number("smoothed"), lambda row: row.figures.smoothed),
        (number("share ±"), lambda row: _half(row.figures.share)),
        (number("by series ±"), lambda row: _half(row.figures.by_series)),
        (number("transitions ±"), lambda row: _half(row.figures.transitions)),
        (number("sojourns ±"), lambda row: _half(row.figures.sojourns)),
    ))  # fmt: skip
    yield _table(found, "What is given away, and what does a report look at?", (
        (number("loss at most", _bound), lambda row: row.loss),
        (number("attacker right"), lambda row: row.figures.attacked.success),
        (number("at most", _bound), lambda row: row.figures.attacked.bound),
        (number("own loss, worst", _bound), lambda row: row.figures.own.worst),
        (number("median", _bound), lambda row: row.figures.own.median),
        (Column("looks at"), lambda row: row.sees),
    ))  # fmt: skip


def _table(found: Comparison, title: str, columns: Columns) -> Table:
    heads = (number("ε", exact), Column("setting"), *(column for column, _ in columns))
    rows = [
        [row.epsilon, _named(found, row), *(value(row) for _, value in columns)]
        for row in found.rows
    ]
    return Table(title, heads, rows)


def _named(found: Comparison, row: Row) -> str:
    taken = any(best.row is row for best in found.recommendations)
    return f"{row.name} (take this)" if taken else row.name


def _half(expected: Any) -> float | None:
    return None if expected is None else expected.half_width


def _reading(found: Comparison) -> str:
    about = found.about
    return (
        "± is half of a 95% interval. Smoothed: share of points wrong after smoothing. By series: "
        f"share of a state in a series of {about.of_a_series:,} points. Sojourns as shares of a "
        "spell. The attacker knows the chain and the noise and no point; without a release it is "
        f"right in {_guess(found)} of its guesses. Own loss: if a series followed the chain that "
        "fits it best, over "
        f"{about.own_series:,} series. Not known: the release does not answer it, or the points "
        "are too few."
    )


def _guess(found: Comparison) -> str:
    return f"{found.rows[0].figures.attacked.guess:.1%}" if found.rows else "some"


def _refused(found: Comparison) -> Iterator[str]:
    for one in found.refused:
        at = "" if one.epsilon is None else f" at budget {exact(one.epsilon)}"
        yield f"{one.setting}{at}: {one.reason}"


def _facts(found: Comparison) -> tuple[tuple[str, str], ...]:
    about = found.about
    seen = dict.fromkeys((f"looks at: {row.sees}", row.needs) for row in found.rows)
    return (
        *seen,
        ("chain", about.chain),
        ("noise", f"for {about.noise_for}"),
        ("simulated", about.simulated),
        ("private", PRIVATE),
        ("shares, transitions, sojourns", "expected variance of the estimate from counts, for that "
         "chain; where one point in several reports, the interval is on the safe side"),
        ("attacker", "simulated, no bound: \"right at most\" is one, certified"),
        ("losses", "certified upper bounds, rounded up"),
    )  # fmt: skip
