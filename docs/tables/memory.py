"""Write the tables of docs/memory.md: ``python docs/tables/memory.py``; fixed seeds.

Wrong points come from docs/figures/memory.csv (see ``docs/figures/memory.py``), the misfit audit
and the errors of estimates from memory_misfit.csv, memory_records.csv (heart rate, see
``heart_rate.py``) and memory_estimates.csv beside this file. Results that are there already are
kept; ``--again`` computes them anew, in some minutes.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import chainveil as cv
from chainveil.attack import Misfit, misfit
from chainveil.mechanism import seeded
from chainveil.model import HigherOrderChain

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "memory.md"
BUDGETS = (1.0, 2.0, 4.0)
# A release whose share of wrong points is that of guessing, as close as this, is called silent.
SILENT = 1e-4
Row = dict[str, str]

# The next point leans on the last two: it likes to turn back after a change.
ORDER_TWO = HigherOrderChain.from_json(
    {"transition": [[0.91, 0.09], [0.25, 0.75], [0.75, 0.25], [0.1, 0.9]]}
)
MISFIT_POINTS = 100_000
# Distance at which the fitted chain is compared with the data.
STEPS = 7
MISFIT = {
    "independent": {"mechanism": "independent"},
    "independent, one in 7": {"mechanism": "independent", "every": 7},
    "sticky": {"mechanism": "sticky"},
    "sticky, one in 5": {"mechanism": "sticky", "every": 5},
    "tracking": {"mechanism": "tracking"},
}

# The records are public, and lie where heart_rate.py beside this file looks for them.
RECORDS, RECORD_BUDGETS, RECORD_ORDERS = ("N5", "N10"), (2.0, 4.0), (1, 2, 4)

ESTIMATE_CHAIN = cv.MarkovChain.binary(q=0.0893, r=0.1092)
ESTIMATE_POINTS, RELEASES = 20_000, 2000
ESTIMATE = ("independent", "sticky")


def attained(audit: Misfit, order: int) -> str:
    """What an attack attains under the fit of an order, cut off after four digits."""
    return f"{math.floor(audit.reading(order).loss.lower * 1e4) / 1e4:.4f}"


def misfit_rows() -> list[Row]:
    """Noise made for the fitted chain of order 1, on data of order 2."""
    x = ORDER_TWO.sample(MISFIT_POINTS, rng=1)
    fitted = cv.MarkovChain.fit(x, public=True)
    rows = []
    for name, how in MISFIT.items():
        for epsilon in BUDGETS:
            plan = cv.calibrate(fitted, epsilon, **how)
            audit = misfit(x, plan.noise, (1, 2))
            rows.append({
                "mechanism": name, "epsilon": f"{epsilon:g}", "loss": repr(plan.loss.epsilon),
                **{f"order {order}": attained(audit, order) for order in (1, 2)},
                **far_apart(x, fitted),
            })  # fmt: skip
    return rows


def record_rows() -> list[Row]:
    """The same for records of heart rate, read as chains of several orders."""
    from heart_rate import heart_rate

    rows = []
    for record in RECORDS:
        x = heart_rate(record)
        fitted = cv.MarkovChain.fit(x, public=True)
        for name, how in MISFIT.items():
            for epsilon in RECORD_BUDGETS:
                noise = cv.calibrate(fitted, epsilon, **how).noise
                audit = misfit(x, noise, RECORD_ORDERS, effort=20_000)
                losses = {f"order {m}": attained(audit, m) for m in RECORD_ORDERS}
                rows.append({"record": record, "mechanism": name, "epsilon": f"{epsilon:g}"})
                rows[-1] |= losses | far_apart(x, fitted)
    return rows


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
    """A row a mechanism and budget."""
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
    """Lines of a table: a line a mechanism, a column a budget."""
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
    """Wrong points of every mechanism, a row a chain and budget."""
    with (HERE.parent / "figures" / "memory.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if float(row["epsilon"]) in BUDGETS]
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    lines = ["| chain | ε | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for chain in dict.fromkeys(row["chain"] for row in rows):
        for epsilon in BUDGETS:
            here = [row for row in rows
                    if row["chain"] == chain and float(row["epsilon"]) == epsilon]  # fmt: skip
            best = min((float(row["wrong"]) for row in here), default=0.0)
            cells = " | ".join(wrong_cell(row, best) for row in here)
            lines.append(f"| {chain} | {epsilon:g} | {cells} |")
    return "\n".join(lines)


def wrong_cell(row: Row, best: float) -> str:
    """Wrong points, the rhythm, and wrong points after smoothing."""
    if abs(float(row["wrong"]) - float(row["guessing"])) < SILENT:
        return "silent"
    wrong = f"{float(row['wrong']):.3f}"
    wrong = f"**{wrong}**" if float(row["wrong"]) <= best + 5e-4 else wrong
    often = f", {row['every']}" if row["mechanism"].startswith("thinned") else ""
    return f"{wrong} ({float(row['smoothed']):.3f}{often})"


def misfit_table(again: bool = False) -> str:
    """What the audit finds at order 1 and order 2."""
    rows = held(HERE / "memory_misfit.csv", misfit_rows, again)
    cells = by_budget(
        rows, lambda row: f"{float(row['order 1']):.2f} → {float(row['order 2']):.2f}"
    )
    return "\n".join([*head("mechanism"), *cells, "", apart_in_words(rows[0], "the data")])


def record_table(again: bool = False) -> str:
    """A row a record and mechanism: the readings at each order, for each budget."""
    rows = held(HERE / "memory_records.csv", record_rows, again)
    columns = [f"ε = {epsilon:g}, order {order}" for epsilon in RECORD_BUDGETS
               for order in RECORD_ORDERS]  # fmt: skip
    lines = ["| record | mechanism | " + " | ".join(columns) + " |",
             "|---|---|" + "---|" * len(columns)]  # fmt: skip
    for record in RECORDS:
        for name in MISFIT:
            here = [row for row in rows if (row["record"], row["mechanism"]) == (record, name)]
            cells = [f"{float(row[f'order {order}']):.1f}" for row in here
                     for order in RECORD_ORDERS]  # fmt: skip
            lines.append(f"| {record} | {name} | " + " | ".join(cells) + " |")
    firsts = [next(row for row in rows if row["record"] == record) for record in RECORDS]
    words = [apart_in_words(row, row["record"]) for row in firsts]
    return "\n".join([*lines, "", *words])


def far_apart(x: np.ndarray, fitted: cv.MarkovChain) -> Row:
    """Correlation of points some steps apart, in the data and in the fitted chain."""
    seen = np.corrcoef(x[:-STEPS], x[STEPS:])[0, 1]
    said = (1 - fitted.transition[0, 1] - fitted.transition[1, 0]) ** STEPS
    return {"seen": f"{seen:.4f}", "said": f"{said:.4f}"}


def apart_in_words(row: Row, where: str) -> str:
    """The same, for the page."""
    return (
        f"Correlation of points {STEPS} steps apart: {float(row['seen']):.2f} in {where}, "
        f"{float(row['said']):.2f} in the chain of order 1 that fits."
    )


def estimate_table(again: bool = False) -> str:
    """Root mean square errors, and coverage."""
    rows = held(HERE / "memory_estimates.csv", estimate_rows, again)
    lines = head("root mean square error")
    for title, field in (("share of ones", "share"), ("share of pairs 1, 1", "pairs")):
        cells = by_budget(rows, lambda row, field=field: f"{float(row[field]):.4f}")
        lines += [f"| {title}, {line[2:]}" for line in cells]
    covered = by_budget(rows, lambda row: f"{float(row['covered']):.1%}")
    return "\n".join([*lines, *(f"| intervals that cover, {line[2:]}" for line in covered)])


def page(text: str, again: bool = False) -> str:
    """The page with its tables made anew."""
    tables = {"wrong": wrong_table(), "misfit": misfit_table(again),
              "records": record_table(again), "estimates": estimate_table(again)}  # fmt: skip
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    return text


if __name__ == "__main__":
    again = "--again" in sys.argv[1:]
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), again), encoding="utf-8")
