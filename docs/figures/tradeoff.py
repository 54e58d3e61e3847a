"""Draw the trade-off of the start page from ``memory.csv``: ``python docs/figures/tradeoff.py``."""

from __future__ import annotations

import csv
from pathlib import Path

from chainveil import plot

HERE = Path(__file__).parent
SHOWN = {
    "independent": "independent", "correlated": "correlated", "sticky": "sticky",
    "thinned sticky": "sticky, some points only", "tracking": "tracking",
    "guessing": "no release: guessing",
}  # fmt: skip


def main() -> None:
    """Write tradeoff.png."""
    with (HERE / "memory.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["chain"] == "N10"]
    budgets = sorted({float(row["epsilon"]) for row in rows})
    curves: dict[str, list[float | None]] = {}
    for mechanism, name in SHOWN.items():
        found = {
            float(r["epsilon"]): float(r["wrong"]) for r in rows if r["mechanism"] == mechanism
        }
        if mechanism == "guessing":
            found = {float(row["epsilon"]): float(row["guessing"]) for row in rows}
        curves[name] = [found.get(budget) for budget in budgets]
    title = "Wrong reports against the budget, on a chain like a heart rate's"
    figure = plot.tradeoff(budgets, curves, title, "share of points whose report is wrong")
    figure.set_size_inches(6.0, 4.0)
    figure.savefig(HERE / "tradeoff.png", dpi=150)


if __name__ == "__main__":
    main()
