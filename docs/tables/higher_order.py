"""Print the tables of docs/higher-order.md: ``python docs/tables/higher_order.py``.

``--bounds`` prints those of all lengths instead: losses at the noise of order 1, and noise by
order, budget and rhythm; some ten minutes. Needs the heart-rate records (see ``heart_rate.py``
beside this file).
"""

from __future__ import annotations

import sys
import time
from typing import Any

from heart_rate import heart_rate

import chainveil as cv
from chainveil.privacy import engines
from chainveil.privacy.problem import read_problem

ORDERS, LENGTH, BUDGETS = (1, 2, 3, 4), 7, (1.0, 2.0, 4.0)
# Losses at the noise of order 1: record, order, who attacks, and how close bounds shall come.
LOSSES = [
    ("N5", 2, "ignorant", 5e-4), ("N5", 2, "any", 5e-4), ("N5", 3, "ignorant", 5e-3),
    ("N5", 3, "any", 5e-3), ("N5", 4, "ignorant", 1e-2), ("N5", 4, "any", 3e-2),
    ("N10", 2, "any", 5e-3), ("N10", 3, "any", 2e-2), ("N10", 4, "any", 5e-2),
]  # fmt: skip
STEPS = 500_000
# Noise for all lengths: record, order, budget, mechanism, points to a report.
PLANS = [
    ("N5", 2, 2.0, "independent", 1), ("N5", 2, 2.0, "independent", "auto"),
    ("N5", 2, 2.0, "sticky", 1), ("N5", 3, 4.0, "independent", 1), ("N5", 3, 2.0, "independent", 1),
    ("N5", 3, 2.0, "independent", 3), ("N5", 3, 1.0, "independent", 1),
    ("N10", 2, 2.0, "independent", 1), ("N10", 2, 2.0, "independent", "auto"),
    ("N10", 2, 2.0, "sticky", 5), ("N10", 3, 4.0, "independent", 1),
    ("N10", 3, 2.0, "independent", 1), ("N10", 3, 2.0, "independent", 7),
    ("N10", 3, 1.0, "independent", 1), ("N5", 4, 4.0, "independent", 1),
    ("N5", 4, 2.0, "independent", 1), ("N5", 4, 2.0, "independent", 5),
]  # fmt: skip


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
            plans = [cv.calibrate(chain, epsilon, max_length=LENGTH) for chain in chains]
            cells = [f"{plan.expected_flips:.1%}" for plan in plans]
            print(f"| {name} | {epsilon:g} | " + " | ".join(cells) + " |")
        rounded = cv.MarkovChain.fit(x, order=3).rounded()  # type: ignore[union-attr]
        print("rounded, order 3:", rounded.transition[:, 1].tolist())
        print("fitted, order 3: ", chains[2].transition[:, 1].round(4).tolist())


def bounds() -> None:
    """Both bounds at the noise of order 1, and plans for all lengths, with seconds."""
    _warm_up()
    print("| record | order | knows | attained | not exceeded | seconds |")
    print("|---|---|---|---|---|---|")
    for name, order, who, within in LOSSES:
        noise = cv.calibrate(_chain(name, 1), 2.0).noise
        chain, begun = _chain(name, order), time.process_time()
        loss = engines.loss(read_problem(chain, noise, None, who, STEPS, tolerance=within))
        print(f"| {name} | {order} | {who} | {loss.lower:.4f} | {loss.epsilon:.4f} | "
              f"{time.process_time() - begun:.1f} |", flush=True)  # fmt: skip
    print("| record | order | ε | noise | reports | wrong | certified | attained | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, order, epsilon, mechanism, every in PLANS:
        chain, begun = _chain(name, order), time.process_time()
        plan = cv.calibrate(chain, epsilon, mechanism=mechanism, every=every)  # type: ignore[call-overload]
        often = "every point" if plan.noise.every == 1 else f"one in {plan.noise.every}"
        print(f"| {name} | {order} | {epsilon:g} | {mechanism} | {often} | "
              f"{plan.expected_flips:.1%} | {plan.loss.epsilon:.3f} | {plan.loss.lower:.3f} | "
              f"{time.process_time() - begun:.0f} |", flush=True)  # fmt: skip


def _chain(name: str, order: int) -> Any:
    return cv.MarkovChain.fit(heart_rate(name), order=order, public=True)


def _warm_up() -> None:
    """Load the compiled loops."""
    cv.privacy_loss(_chain("N5", 2), cv.Channel.binary(0.3, 0.3))


if __name__ == "__main__":
    bounds() if "--bounds" in sys.argv[1:] else main()
