"""Print the tables of docs/higher-order.md: ``python docs/tables/higher_order.py``.

Needs the heart-rate records (see ``heart_rate.py`` beside this file).
"""

from __future__ import annotations

from heart_rate import heart_rate

import chainveil as cv

ORDERS, LENGTH, BUDGETS = (1, 2, 3, 4), 7, (1.0, 2.0, 4.0)


def main() -> None:
    """BIC of each order, and the changed points of series of a few points."""
    for name in ("N5", "N10"):
        x = heart_rate(name)
        choice = cv.choose_order(x)
        print(f"\n{name}: {choice}")
        print("| record | ε | " + " | ".join(f"order {order}" for order in ORDERS) + " |")
        print("|---|---|" + "---|" * len(ORDERS))
        chains = [cv.MarkovChain.fit(x, order=order, public=True) for order in ORDERS]
        for epsilon in BUDGETS:
            plans = [cv.calibrate(chain, epsilon, LENGTH) for chain in chains]
            cells = [f"{plan.expected_flips:.1%}" for plan in plans]
            print(f"| {name} | {epsilon:g} | " + " | ".join(cells) + " |")
        rounded = cv.MarkovChain.fit(x, order=3).rounded()  # type: ignore[union-attr]
        print("rounded, order 3:", rounded.transition[:, 1].tolist())
        print("fitted, order 3: ", chains[2].transition[:, 1].round(4).tolist())


if __name__ == "__main__":
    main()
