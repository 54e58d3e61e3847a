"""Wrong points of every mechanism over budgets and chains: memory.csv and memory.png.

Run from anywhere: ``python docs/figures/memory.py``. Rows that memory.csv has already are kept;
``--again`` computes all of them, which takes about half an hour on one core. Fixed seeds, no data.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import chainveil as cv
from chainveil.attack import Posterior
from chainveil.mechanism import seeded
from chainveil.plot import style
from chainveil.plot.tradeoff import draw_tradeoff

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "memory.csv"
FIELDS = (
    "chain", "epsilon", "mechanism", "every", "wrong", "smoothed", "guessing", "loss",
)  # fmt: skip
# The fitted chains of the records N10 and N5, a symmetric one, and a slow one.
CHAINS = {
    "theta = 0.1": (0.1, 0.1),
    "N10": (0.0893, 0.1092),
    "N5": (0.2384, 0.3831),
    "slow": (0.01, 0.02),
}
TABLE = (1.0, 2.0, 4.0)
CURVE = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0)
BUDGETS = {"theta = 0.1": TABLE, "N10": CURVE, "N5": CURVE, "slow": TABLE}
# How rare reports may be: all of these are tried where a mechanism is thinned.
EVERY = {
    "theta = 0.1": range(1, 13),
    "N10": range(1, 13),
    "N5": range(1, 6),
    "slow": (15, 20, 25, 30, 40, 50, 60, 75, 90),
}
MECHANISMS = {
    "independent": {"mechanism": "independent"},
    "thinned independent": {"mechanism": "independent"},
    "correlated": {"mechanism": "correlated"},
    "sticky": {"mechanism": "sticky"},
    "thinned sticky": {"mechanism": "sticky"},
    "tracking": {"mechanism": "tracking"},
}
# Points on which smoothing is tried.
POINTS = 400_000
DRAWN = {"N10": "A chain like N10's (q = 0.0893, r = 0.1092)",
         "N5": "A chain like N5's (q = 0.2384, r = 0.3831)"}  # fmt: skip


def row(name: str, epsilon: float, mechanism: str) -> dict[str, str]:
    """Certified loss, wrong points, and wrong points after smoothing, of one plan."""
    chain = cv.MarkovChain.binary(*CHAINS[name])
    tries = EVERY[name] if mechanism.startswith("thinned") else (1,)
    plans = [cv.calibrate(chain, epsilon, every=every, **MECHANISMS[mechanism]) for every in tries]
    plan = min(plans, key=lambda one: one.expected_flips)
    x = chain.sample(POINTS, rng=1)
    z = plan.sanitize(x, rng=seeded(2))
    smoothed = 1 - Posterior(chain, plan.noise).success(x, z).rate
    return {
        "chain": name, "epsilon": f"{epsilon:g}", "mechanism": mechanism,
        "every": str(plan.noise.every),
        "wrong": f"{plan.expected_flips:.5f}", "smoothed": f"{smoothed:.4f}",
        "guessing": f"{guessing(name):.5f}", "loss": repr(plan.loss.epsilon),
    }  # fmt: skip


def read() -> list[dict[str, str]]:
    """The rows of memory.csv."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(rows: list[dict[str, str]]) -> None:
    """All rows, in the order of the settings."""
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def compute(again: bool) -> list[dict[str, str]]:
    """Every row of the settings; those that are there already are taken as they are."""
    held = [] if again or not RESULTS.exists() else read()
    known = {(old["chain"], float(old["epsilon"]), old["mechanism"]): old for old in held}
    wanted = [(name, epsilon, mechanism) for name, budgets in BUDGETS.items()
              for epsilon in budgets for mechanism in MECHANISMS]  # fmt: skip
    for key in wanted:
        if key not in known:
            known[key] = row(*key)
            write([known[one] for one in wanted if one in known])
    return [known[key] for key in wanted]


def guessing(name: str) -> float:
    """Share of wrong points of whoever always names the likelier state."""
    return float(cv.MarkovChain.binary(*CHAINS[name]).stationary.min())


def curves(rows: list[dict[str, str]], name: str) -> dict[str, list[float]]:
    """Wrong points over the budget, a curve a mechanism."""
    found = {
        mechanism: [float(one["wrong"]) for one in rows
                    if (one["chain"], one["mechanism"]) == (name, mechanism)]
        for mechanism in MECHANISMS
    }  # fmt: skip
    return found | {"guessing": [guessing(name)] * len(BUDGETS[name])}


def draw(rows: list[dict[str, str]]) -> None:
    """A panel a chain."""
    figure, panels = style.new_panels(len(DRAWN), 10.4, 5.0, share_y=True)
    for axes, (name, title) in zip(panels, DRAWN.items(), strict=True):
        draw_tradeoff(axes, np.array(BUDGETS[name]), curves(rows, name), title)
        axes.label_outer()
    panels[0].set_ylabel("share of points whose report is wrong")
    style.legend_below(figure, 4)
    style.save(figure, HERE / "memory.png")


if __name__ == "__main__":
    draw(compute("--again" in sys.argv[1:]))
