"""Print the tables of docs/misfit.md: ``python docs/tables/misfit.py``; fixed seeds.

Needs the heart-rate records (see ``heart_rate.py`` beside this file).
"""

from __future__ import annotations

import numpy as np
from heart_rate import heart_rate

from chainveil import MarkovChain, calibrate, success_bound
from chainveil.attack import misfit
from chainveil.inference import smoothed
from chainveil.mechanism import sanitize, seeded
from chainveil.model.higher_order import fit_order
from chainveil.sequences import as_sequences

BUDGETS = (1.0, 2.0, 3.0, 4.0)
RUNS = 10


def averages() -> None:
    """Accuracy of the attacker who knows the chain of each order, mean over releases."""
    print("\n| record | ε asked | order 1 | order 2 | order 3 | order 4 | bound |")
    print("|---|---|---|---|---|---|---|")
    for name in ("N5", "N10"):
        x = heart_rate(name)
        first = MarkovChain.fit(x, public=True)
        for epsilon in BUDGETS:
            channel = calibrate(first, epsilon).channel
            cells = []
            for order in (1, 2, 3, 4):
                fitted = fit_order(as_sequences("x", x), 2, order)
                rates = []
                for seed in range(RUNS):
                    z = sanitize(x, channel, rng=seeded(seed))
                    rates.append(np.mean((smoothed(fitted, channel, z, state=1) > 0.5) == x))
                cells.append(f"{np.mean(rates):.3f}")
            bound = success_bound(first, epsilon)
            print(f"| {name} | {epsilon:g} | {' | '.join(cells)} | {bound:.3f} |")


def main() -> None:
    """One row a record and budget; then what the tests of order say."""
    print("| record | ε asked | order 1 | order 2 | order 3 | order 4 |")
    print("|---|---|---|---|---|---|")
    found = {}
    for name in ("N5", "N10"):
        x = heart_rate(name)
        for epsilon in BUDGETS:
            plan = calibrate(MarkovChain.fit(x, public=True), epsilon)
            found[name] = misfit(x, plan.channel, nominal=epsilon)
            losses = " | ".join(f"{r.worst.loss:.2f}" for r in found[name].readings)
            print(f"| {name} | {epsilon:g} | {losses} |")
    print("\n| record | order | likelihood ratio | degrees of freedom | p | largest gap |")
    print("|---|---|---|---|---|---|")
    for name, audit in found.items():
        for r in audit.readings[1:]:
            print(f"| {name} | {r.order} | {r.statistic:.0f} | {r.degrees} ", end="")
            print(f"| {r.p_value:.1g} | {r.gap:.2f} |")
    for name, audit in found.items():
        worst = audit.readings[-1].worst
        print(f"\n{name}, epsilon {BUDGETS[-1]:g}, order 4: point {worst.target} of 15, ", end="")
        print(f"{worst.value} against {worst.other}, output {''.join(map(str, worst.output))}")


if __name__ == "__main__":
    main()
    averages()
