"""The parts of the report on mechanisms that remember, and on the best of all mechanisms."""

from __future__ import annotations

from typing import Any

from experiments.limit import LIMIT, MECHANISMS
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
    late = ", one late" if row["delay"] else ""
    return f"{number(row['wrong'], 3)} ({number(row['smoothed'], 3)}){block}{late}"


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
    """Each mechanism beside the limit, by budget and length."""
    found: dict[tuple[Any, ...], Any] = {
        (row["epsilon"], row["length"], row["mechanism"]): row for row in result.rows
    }
    columns = [name for name in (*MECHANISMS, LIMIT) if any(key[2] == name for key in found)]
    cases = sorted({key[:2] for key in found})
    rows = []
    for epsilon, length in cases:
        own = [found.get((epsilon, length, name)) for name in columns]
        cells = [number(None if row is None else row["wrong"]) for row in own]
        rows.append((f"{epsilon:g}", str(length), *cells))
    bests = [row for row in result.rows if row["mechanism"] == LIMIT]
    gap = max(0.0, *(row["attained"] - row["wrong"] for row in bests))
    theta = result.record["settings"]["theta"]
    return [
        "## The limit of every mechanism",
        "How much is lost by keeping to one kind of noise? For short series the least share of "
        "wrong reports over *all* mechanisms, any law of the reports given the whole series, is a "
        "linear programme. Its constraints are those of the definition: every point, known set, "
        f"known value and output. Symmetric chain with θ = {theta:g}, any adversary; each "
        "mechanism is calibrated for that length:",
        table(("ε", "n", *(_title(name) for name in columns)), rows),
        _verdict(found, columns, _largest(cases)),
        "The programmes are solved in floating point, with constraints added until none is "
        f"violated; mechanisms that keep the budget come within {gap:.0e} of each limit.",
    ]


def _title(name: str) -> str:
    return "limit" if name == LIMIT else name


def _largest(cases: list[tuple[float, int]]) -> tuple[float, int]:
    """The middle budget at the greatest length that all budgets have."""
    budgets = sorted({epsilon for epsilon, _ in cases})
    length = min(max(n for e, n in cases if e == epsilon) for epsilon in budgets)
    return budgets[len(budgets) // 2], length


def _verdict(found: dict[tuple[Any, ...], Any], columns: list[str], case: tuple[float, int]) -> str:
    """How far each mechanism is from the limit at one case."""
    best = found[(*case, LIMIT)]["wrong"]
    parts = [
        f"{name} noise {found[(*case, name)]['wrong'] / best:.2f} times"
        for name in columns if name != LIMIT and (*case, name) in found
    ]  # fmt: skip
    listed = ", ".join(parts) or NONE
    return (
        f"At ε = {case[0]:g} and n = {case[1]} the limit is {best:.4f} wrong reports; {listed} as "
        "many. A best mechanism reads the whole series before it speaks, so its limit says what "
        "looking ahead could still give, not what owners of single points could reach."
    )
