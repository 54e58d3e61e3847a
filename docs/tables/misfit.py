"""Print the tables of docs/misfit.md: ``python docs/tables/misfit.py``; fixed seeds.

Needs the heart-rate records (see ``heart_rate.py`` beside this file), and some minutes.
"""

from __future__ import annotations

import sys

import numpy as np
from heart_rate import heart_rate

from chainveil import MarkovChain, calibrate, success_bound
from chainveil.attack import Misfit, misfit
from chainveil.inference import smoothed
from chainveil.mechanism import sanitize, seeded

BUDGETS = (1.0, 2.0, 3.0, 4.0)
RECORDS = ("N5", "N10")
ORDERS = (1, 2, 3, 4)
RUNS = 10
# Steps of one search.
STEPS = 500_000


def averages() -> None:
    """Accuracy of the attacker who knows the chain of each order, mean over releases."""
    print("\n| record | ε asked | order 1 | order 2 | order 3 | order 4 | bound |")
    print("|---|---|---|---|---|---|---|")
    for name in RECORDS:
        x = heart_rate(name)
        first = MarkovChain.fit(x, public=True)
        for epsilon in BUDGETS:
            channel = calibrate(first, epsilon, mechanism="independent").channel
            cells = []
            for order in ORDERS:
                fitted = MarkovChain.fit(x, order=order, public=True)
                rates = []
                for seed in range(RUNS):
                    z = sanitize(x, channel, rng=seeded(seed))
                    rates.append(np.mean((smoothed(fitted, channel, z, state=1) > 0.5) == x))
                cells.append(f"{np.mean(rates):.3f}")
            bound = success_bound(first, epsilon)
            print(f"| {name} | {epsilon:g} | {' | '.join(cells)} | {bound:.3f} |")


def cell(found: Misfit, order: int) -> str:
    """What is attained, cut off, and what is not exceeded, rounded up; one figure where alike."""
    loss = found.reading(order).loss
    low, high = np.floor(loss.lower * 100) / 100, np.ceil(loss.epsilon * 100 - 1e-6) / 100
    return f"{high:.2f}" if high - low <= 0.011 else f"{low:.2f} to {high:.2f}"


def main() -> None:
    """One row a record and budget; then what the tests of order say."""
    print("| record | ε asked | order 1 | order 2 | order 3 | order 4 |")
    print("|---|---|---|---|---|---|")
    found = {}
    for name in RECORDS:
        x = heart_rate(name)
        for epsilon in BUDGETS:
            plan = calibrate(MarkovChain.fit(x, public=True), epsilon, mechanism="independent")
            found[name] = misfit(x, plan, ORDERS, effort=STEPS)
            losses = " | ".join(cell(found[name], order) for order in ORDERS)
            print(f"| {name} | {epsilon:g} | {losses} |", flush=True)
    print("\n| record | order | likelihood ratio | degrees of freedom | p | largest gap |")
    print("|---|---|---|---|---|---|")
    for name, audit in found.items():
        for r in audit.readings[1:]:
            print(f"| {name} | {r.order} | {r.test.statistic:.0f} | {r.test.degrees} ", end="")
            print(f"| {r.test.p_value:.1g} | {r.gap:.2f} |")
    for name, audit in found.items():
        print(f"\n{name}, epsilon {BUDGETS[-1]:g}, order 4: {audit.readings[-1].loss.witness}")


if __name__ == "__main__":
    main()
    if "--averages" in sys.argv[1:]:
        averages()
