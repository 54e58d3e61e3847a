"""The parts of the report on mechanisms that remember, and on the best of all mechanisms."""

from __future__ import annotations

from typing import Any

from experiments.limit import LIMIT, MECHANISMS, limit_name
from experiments.markdown import NONE, number, table
from experiments.memory import CONTENDERS
from experiments.parts import Row
from experiments.report_fig4 import NAMES
from experiments.run import Result


def memory(result: Result) -> list[str]:
    """Wrong reports of every mechanism, series by series."""
    settings = result.record["settings"]
    parts = [
        "## Mechanisms that remember",
        "Share of points whose report is wrong, in brackets after smoothing by somebody who knows "
        "the chain (the posterior attacker, the best there is on data that follow it). A report of "
        "a thinned mechanism stands for its block, whose size, after the slash, is the one with "
        f"the fewest wrong reports under the chain. Means over {settings['releases']} releases; "
        "calibrated for the chain that a series was drawn from or that was fitted to it, for every "
        "length and any adversary.",
    ]
    for name in dict.fromkeys(row["series"] for row in result.rows):
        own = [row for row in result.rows if row["series"] == name]
        parts += [f"### {NAMES.get(name, name)}", _by_budget(own), _best(own)]
    return parts


def _by_budget(rows: list[Row]) -> str:
    found = {(row["mechanism"], row["epsilon"]): row for row in rows}
    names = [c.name for c in CONTENDERS if any(key[0] == c.name for key in found)]
    lines = [
        (f"{epsilon:g}", *(_cell(found.get((name, epsilon))) for name in names))
        for epsilon in sorted({row["epsilon"] for row in rows})
    ]
    return table(("ε", *names), lines)


def _cell(row: Row | None) -> str:
    if row is None:
        return NONE
    block = f" / {row['every']}" if row["mechanism"].startswith("thinned") else ""
    return f"{number(row['wrong'], 3)} ({number(row['smoothed'], 3)}){block}"


def _best(rows: list[Row]) -> str:
    """Which mechanism has the fewest wrong points at each budget, and what guessing has."""
    spread = max(row["deviation"] for row in rows)
    return (
        f"Fewest wrong reports: {_fewest(rows, 'wrong')}. After smoothing: "
        f"{_fewest(rows, 'smoothed')}. Always naming the more frequent state is wrong in "
        f"{rows[0]['guessing']:.3f}; wrong reports of one release deviate by at most {spread:.4f}."
    )


def _fewest(rows: list[Row], column: str) -> str:
    """The best mechanism with the budgets at which it is."""
    at: dict[str, list[str]] = {}
    for epsilon in sorted({row["epsilon"] for row in rows}):
        own = [row for row in rows if row["epsilon"] == epsilon]
        best = min(own, key=lambda row: float(row[column]))
        at.setdefault(best["mechanism"], []).append(f"{epsilon:g}")
    return "; ".join(f"{name} at ε = {', '.join(budgets)}" for name, budgets in at.items())


def limit(result: Result) -> list[str]:
    """Each mechanism beside the limits, by budget and length."""
    found: dict[tuple[Any, ...], float] = {
        (row["epsilon"], row["length"], row["mechanism"]): row["wrong"] for row in result.rows
    }
    asked = (*MECHANISMS, limit_name(0), LIMIT)
    columns = [name for name in asked if any(key[2] == name for key in found)]
    cases = sorted({key[:2] for key in found})
    rows = [
        (f"{epsilon:g}", str(n), *(number(found.get((epsilon, n, name))) for name in columns))
        for epsilon, n in cases
    ]
    gaps = [row["attained"] - row["wrong"] for row in result.rows if "attained" in row]
    theta = result.record["settings"]["theta"]
    return [
        "## The limit of every mechanism",
        "How much is lost by keeping to one kind of noise? For short series the least share of "
        "wrong reports over *all* mechanisms, any law of the reports given the whole series, is a "
        "linear programme. Its constraints are those of the definition: every point, known set, "
        "known value and output. “0 ahead” is the least over all that publish a report as soon as "
        f"its point is there, whatever they remember. Symmetric chain with θ = {theta:g}, any "
        "adversary; each mechanism is calibrated for that length:",
        table(("ε", "n", *columns), rows),
        _distances(found, columns, _middle(cases)),
        _looking_ahead(found),
        "The programmes are solved in floating point, with constraints added until none is "
        f"violated; mechanisms that keep the budget come within {max(0.0, *gaps):.0e} of each "
        "limit.",
    ]


def _middle(cases: list[tuple[float, int]]) -> tuple[float, int]:
    """The middle budget at the greatest length that all budgets have."""
    budgets = sorted({epsilon for epsilon, _ in cases})
    length = min(max(n for e, n in cases if e == epsilon) for epsilon in budgets)
    return budgets[len(budgets) // 2], length


def _distances(
    found: dict[tuple[Any, ...], float], columns: list[str], case: tuple[float, int]
) -> str:
    """How far each mechanism is from the limit at one case."""
    best = found[(*case, LIMIT)]
    times = [
        f"{name} noise {found[(*case, name)] / best:.2f} times"
        for name in columns if name in MECHANISMS and (*case, name) in found
    ]  # fmt: skip
    return (
        f"At ε = {case[0]:g} and n = {case[1]} the limit is {best:.4f}; {', '.join(times)} as many "
        f"wrong reports, the best without looking ahead {found[(*case, limit_name(0))] / best:.2f} "
        "times."
    )


def _looking_ahead(found: dict[tuple[Any, ...], float]) -> str:
    """What each point of looking ahead gives, where it was asked."""
    lines = []
    for epsilon, n in sorted({key[:2] for key in found if key[2] == limit_name(1)}):
        steps = [d for d in range(n) if (epsilon, n, limit_name(d)) in found]
        values = [number(found[epsilon, n, limit_name(d)]) for d in [*steps, None]]
        lines.append(
            f"A report that may look {', '.join(map(str, steps))} points ahead or everywhere, at "
            f"ε = {epsilon:g} and n = {n}: {', '.join(values)}."
        )
    return " ".join(lines)
