"""Print the tables of docs/misfit.md: ``python docs/tables/misfit.py``. No randomness.

Needs the heart-rate records (see ``heart_rate.py`` beside this file).
"""

from __future__ import annotations

from heart_rate import heart_rate

from chainveil import MarkovChain, calibrate
from chainveil.attack import misfit

BUDGETS = (1.0, 2.0, 3.0, 4.0)


def main() -> None:
    """One row a record and budget; then what the tests of order say."""
    print("| record | ε asked | order 1 | order 2 | order 3 | order 4 |")
    print("|---|---|---|---|---|---|")
    found = {}
    for name in ("N5", "N10"):
        x = heart_rate(name)
        for epsilon in BUDGETS:
            plan = calibrate(MarkovChain.fit(x), epsilon)
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
