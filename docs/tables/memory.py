"""Write the tables of docs/memory.md: ``python docs/tables/memory.py``; fixed seeds.

Shares of wrong reports come from docs/figures/memory.csv (see ``docs/figures/memory.py``), losses
on chains of order 2 from memory_misfit.csv (it needs records of heart rate, see ``heart_rate.py``)
and errors of estimates from memory_estimates.csv beside this file. Results that are there are kept;
``--again`` computes them anew, in some minutes.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import chainveil as cv
from chainveil.attack import misfit
from chainveil.mechanism import seeded
from chainveil.model import HigherOrderChain

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "memory.md"
BUDGETS = (1.0, 2.0, 4.0)
# The chains of the table of wrong reports.
SHOWN = ("N10", "N5", "slow")
# A release whose share of wrong reports is that of guessing, as close as this, counts as constant.
CONSTANT = 1e-4
Row = dict[str, str]

# The next point depends on the last two: after a change the next change is likely.
ORDER_TWO = HigherOrderChain.from_json(
    {"transition": [[0.91, 0.09], [0.25, 0.75], [0.75, 0.25], [0.1, 0.9]]}
)
MISFIT_POINTS = 100_000
# Distance at which the fitted chain is compared with the data.
STEPS = 7
MISFIT_BUDGETS = (2.0, 4.0)
MISFIT = {
    "independent": {"mechanism": "independent"},
    "independent, every 7": {"mechanism": "independent", "every": 7},
    "sticky": {"mechanism": "sticky"},
    "sticky, every 5": {"mechanism": "sticky", "every": 5},
    "tracking": {"mechanism": "tracking"},
}

# Records of heart rate that are public; heart_rate.py beside this file says where they lie.
RECORDS = ("N5", "N10")

ESTIMATE_CHAIN = cv.MarkovChain.binary(q=0.0893, r=0.1092)
ESTIMATE_POINTS, RELEASES = 20_000, 2000
ESTIMATE = ("independent", "sticky")


def misfit_rows() -> list[Row]:
    """Losses on the fitted chains of order 1 and 2, of noise calibrated for that of order 1."""
    from heart_rate import heart_rate

    rows = []
    for data in ("simulated", *RECORDS):
        simulated = data == "simulated"
        x = ORDER_TWO.sample(MISFIT_POINTS, rng=1) if simulated else heart_rate(data)
        fitted = cv.MarkovChain.fit(x, public=True)
        for name, how in MISFIT.items():
            for epsilon in MISFIT_BUDGETS:
                plan = cv.calibrate(fitted, epsilon, **how)
                losses = [misfit(x, plan.noise, (1, 2)).reading(order).loss for order in (1, 2)]
                rows.append({
                    "data": data, "mechanism": name, "epsilon": f"{epsilon:g}",
                    "order 1": rounded_down(losses[0].lower),
                    "order 2": rounded_down(losses[1].lower),
                    "at most": repr(losses[1].epsilon), **far_apart(x, fitted),
                })  # fmt: skip
    return rows


def rounded_down(loss: float) -> str:
    """Four digits of a loss that an attack attains."""
    return f"{math.floor(loss * 1e4) / 1e4:.4f}"


def unbiased(plan: cv.NoisePlan, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each point's value and the variance of that, both right on average; from the second on."""
    kernel = np.array(plan.noise.step_law()[:, 0, :, 1])
    ones = kernel[z[:-1]]
    slope = ones[:, 1] - ones[:, 0]
    value = (z[1:] - ones[:, 0]) / slope
    variances = ones * (1 - ones) / slope[:, None] ** 2
    return value, variances[:, 0] + value * (variances[:, 1] - variances[:, 0])


def estimate_row(mechanism: str, epsilon: float) -> Row:
    """Errors over many releases of one series, and how often 95% intervals cover its share."""
    x = ESTIMATE_CHAIN.sample(ESTIMATE_POINTS, rng=1)
    plan = cv.calibrate(ESTIMATE_CHAIN, epsilon, mechanism=mechanism, objective="share")
    share, pairs = x[1:].mean(), (x[1:-1] * x[2:]).mean()
    errors, covered = [], 0
    for number in range(RELEASES):
        value, variance = unbiased(plan, plan.sanitize(x, rng=seeded(number)))
        wrong = value.mean() - share
        errors.append((wrong, (value[:-1] * value[1:]).mean() - pairs))
        covered += abs(wrong) <= 1.959964 * np.sqrt(max(variance.sum(), 0.0)) / len(value)
    deviation = np.sqrt(np.mean(np.square(errors), axis=0))
    return {
        "mechanism": mechanism, "epsilon": f"{epsilon:g}", "share": f"{deviation[0]:.5f}",
        "pairs": f"{deviation[1]:.5f}", "covered": f"{covered / RELEASES:.4f}",
    }  # fmt: skip


def estimate_rows() -> list[Row]:
    """A row for each mechanism and budget."""
    return [estimate_row(mechanism, epsilon) for mechanism in ESTIMATE for epsilon in BUDGETS]


def held(path: Path, compute: Callable[[], list[Row]], again: bool = False) -> list[Row]:
    """Results from a file beside this one, or computed and written to it."""
    if again or not path.exists():
        rows = compute()
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_budget(rows: list[Row], cell: Callable[[Row], str]) -> list[str]:
    """Lines of a table: a line for each mechanism, a column for each budget."""
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    return [
        f"| {name} | " + " | ".join(cell(row) for row in rows if row["mechanism"] == name) + " |"
        for name in names
    ]


def head(first: str) -> list[str]:
    """The first lines of such a table."""
    return [f"| {first} | " + " | ".join(f"ε = {epsilon:g}" for epsilon in BUDGETS) + " |",
            "|---|" + "---|" * len(BUDGETS)]  # fmt: skip


def wrong_table() -> str:
    """Share of wrong reports, a row for each chain and budget.

    Correlated noise has a table on its own page.
    """
    with (HERE.parent / "figures" / "memory.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file)
                if row["chain"] in SHOWN and float(row["epsilon"]) in BUDGETS
                and row["mechanism"] != "correlated"]  # fmt: skip
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    lines = ["| chain | ε | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for chain in SHOWN:
        for epsilon in BUDGETS:
            here = [row for row in rows
                    if row["chain"] == chain and float(row["epsilon"]) == epsilon]  # fmt: skip
            best = min(float(row["wrong"]) for row in here)
            cells = " | ".join(wrong_cell(row, best) for row in here)
            lines.append(f"| {chain} | {epsilon:g} | {cells} |")
    return "\n".join(lines)


def wrong_cell(row: Row, best: float) -> str:
    """Wrong reports, and the number of points for each report of thinned noise."""
    if abs(float(row["wrong"]) - float(row["guessing"])) < CONSTANT:
        return "constant"
    wrong = f"{float(row['wrong']):.3f}"
    wrong = f"**{wrong}**" if float(row["wrong"]) <= best + 5e-4 else wrong
    return f"{wrong} ({row['every']})" if row["mechanism"].startswith("thinned") else wrong


def misfit_table(again: bool = False) -> str:
    """Losses on chains of order 2, a column for each series of data."""
    rows = held(HERE / "memory_misfit.csv", misfit_rows, again)
    columns = list(dict.fromkeys(row["data"] for row in rows))
    lines = ["| mechanism | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for name in MISFIT:
        cells = []
        for data in columns:
            losses = [float(row["order 2"]) for row in rows
                      if (row["data"], row["mechanism"]) == (data, name)]  # fmt: skip
            cells.append(", ".join(f"{loss:.2f}" for loss in losses))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    far = [next(row for row in rows if row["data"] == data) for data in columns]
    cells = [f"{float(row['seen']):.2f}, {float(row['said']):.2f}" for row in far]
    lines.append(f"| *correlation at distance {STEPS}: data, fit* | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def far_apart(x: np.ndarray, fitted: cv.MarkovChain) -> Row:
    """Correlation of points some steps apart, in the data and in the fitted chain."""
    seen = np.corrcoef(x[:-STEPS], x[STEPS:])[0, 1]
    said = (1 - fitted.transition[0, 1] - fitted.transition[1, 0]) ** STEPS
    return {"seen": f"{seen:.4f}", "said": f"{said:.4f}"}


def estimate_table(again: bool = False) -> str:
    """Root mean square errors."""
    rows = held(HERE / "memory_estimates.csv", estimate_rows, again)
    lines = head("error of")
    for title, field in (("share of ones", "share"), ("share of pairs 1, 1", "pairs")):
        cells = by_budget(rows, lambda row, field=field: f"{float(row[field]):.3f}")
        lines += [f"| {title}, {line[2:]}" for line in cells]
    return "\n".join(lines)


def page(text: str, again: bool = False) -> str:
    """The page with its tables made anew."""
    tables = {"wrong": wrong_table(), "misfit": misfit_table(again),
              "estimates": estimate_table(again)}  # fmt: skip
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    return text


if __name__ == "__main__":
    again = "--again" in sys.argv[1:]
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), again), encoding="utf-8")
