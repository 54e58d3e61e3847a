"""Draw docs/figures/memory-idea.png: one series, four releases at one budget.

Run from anywhere: ``python docs/figures/memory_idea.py``. Fixed seeds, no data. The part that is
shown is the first whose shares of wrong points are all near those of the long run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import chainveil as cv
from chainveil import plot
from chainveil.mechanism import seeded

HERE = Path(__file__).resolve().parent
CHAIN = cv.MarkovChain.binary(q=0.0893, r=0.1092)
EPSILON = 2.0
POINTS, SHOWN, NEAR = 200_000, 240, 0.015
MECHANISMS = {
    "independent": {"mechanism": "independent"},
    "sticky": {"mechanism": "sticky"},
    "sticky,\nevery = 5": {"mechanism": "sticky", "every": 5},
    "tracking": {"mechanism": "tracking"},
}


def typical(x: np.ndarray, rows: dict[str, np.ndarray], expected: dict[str, float]) -> slice:
    """The first part of the series that is like all of it, as far as wrong points go."""
    for begin in range(0, len(x) - SHOWN, SHOWN):
        part = slice(begin, begin + SHOWN)
        shares = {name: np.mean(row[part] != x[part]) for name, row in rows.items()}
        if all(abs(share - expected[name]) < NEAR for name, share in shares.items()):
            return part
    raise SystemExit("no part of the series is typical; take a longer one")


def main() -> None:
    """Sanitize, choose a part, draw it."""
    x = CHAIN.sample(POINTS, rng=2026)
    plans = {name: cv.calibrate(CHAIN, EPSILON, **how) for name, how in MECHANISMS.items()}
    rows = {name: plan.sanitize(x, rng=seeded(number))
            for number, (name, plan) in enumerate(plans.items())}  # fmt: skip
    part = typical(x, rows, {name: plan.expected_flips for name, plan in plans.items()})
    title = f"One series, four ways to publish it at ε = {EPSILON:g}"
    shown = {name: row[part] for name, row in rows.items()}
    plot.save(plot.release_figure(x[part], shown, title=title), HERE / "memory-idea.png")


if __name__ == "__main__":
    main()
