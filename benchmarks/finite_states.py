"""Exact loss with k states: time, nodes and gap on random chains; and the table of the docs.

python -m benchmarks.finite_states                 # a few minutes
python -m benchmarks.finite_states --count 200     # the full sweep, about an hour
python -m benchmarks.finite_states --kinds sticky  # only chains that like to stay
python -m benchmarks.finite_states --table         # exact epsilon against k and theta
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

import chainveil as cv
from chainveil.privacy.finite.state import MAX_NODES, SearchBudget, finite_state_loss

STATES = (3, 4, 6, 8, 12)
KINDS = ("uniform", "sticky", "slow")
THETAS = (0.05, 0.1, 0.2, 0.4)


def symmetric_chain(k: int, theta: float) -> cv.MarkovChain:
    """Stay with probability 1 - theta, else move to one of the others, all alike."""
    matrix = np.full((k, k), theta / (k - 1))
    np.fill_diagonal(matrix, 1 - theta)
    return cv.MarkovChain(matrix)


def response(k: int, epsilon: float) -> cv.Channel:
    """Randomized response whose single report has the loss ``epsilon``."""
    return cv.Channel.randomized_response(k, (k - 1) / (k - 1 + math.exp(epsilon)))


def random_chain(kind: str, k: int, rng: np.random.Generator) -> cv.MarkovChain:
    """Rows uniform on the simplex; "sticky" and "slow" chains stay more often than that.

    "sticky": each state stays with a probability of its own between .3 and .95 on top;
    "slow": it leaves with a probability between 1/200 and 1/10, uniform in its logarithm.
    """
    rows = rng.dirichlet(np.ones(k), size=k)
    if kind == "uniform":
        return cv.MarkovChain(rows)
    if kind == "sticky":
        stay = rng.uniform(0.3, 0.95, (k, 1))
    else:
        stay = 1 - 10 ** rng.uniform(-2.3, -1, (k, 1))
    return cv.MarkovChain(stay * np.eye(k) + (1 - stay) * rows)


def sweep(kind: str, k: int, count: int, max_nodes: int) -> None:
    """Random chains, randomized response at epsilon between .5 and 6, any adversary and length."""
    rng = np.random.default_rng(k)
    finite_state_loss(symmetric_chain(k, 0.3), response(k, 2.0), None, "any")
    seconds, nodes, gaps = [], [], []
    for _ in range(count):
        chain = random_chain(kind, k, rng)
        channel = response(k, rng.uniform(0.5, 6))
        begin = time.process_time()
        case = finite_state_loss(chain, channel, None, "any", SearchBudget(max_nodes=max_nodes))
        seconds.append(time.process_time() - begin)
        nodes.append(case.nodes)
        gaps.append(case.upper - case.lower)
    closed = sum(gap <= 1e-6 for gap in gaps)
    middle, late = np.quantile(seconds, [0.5, 0.95])
    print(
        f"| {kind} | {k} | {closed} of {count} | {max(gaps):.1e} | {middle:.3f} | {late:.3f} "
        f"| {max(seconds):.2f} | {int(np.median(nodes)):,} | {max(nodes):,} |",
        flush=True,
    )


def table(epsilon: float = 1.0) -> None:
    """Exact loss of symmetric chains beside the bounds of Lange et al. and Zhao et al."""
    print(f"randomized response with epsilon_DP = {epsilon:g}; every length, any adversary")
    print("| k | theta | exact | Lange et al. | Zhao et al. Theorem 3 |")
    print("|---|---|---|---|---|")
    for k in (2, 3, 4, 6, 8):
        for theta in THETAS:
            loss = cv.privacy_loss(symmetric_chain(k, theta), response(k, epsilon))
            ratio = abs(math.log((1 - theta) * (k - 1) / theta))
            note = "" if loss.gap <= 1e-6 else f" (gap {loss.gap:.1g})"
            exact = f"{math.ceil(loss.epsilon * 1e4) / 1e4:.4f}{note}"
            print(
                f"| {k} | {theta:g} | {exact} | {epsilon + 4 * ratio:.3f} "
                f"| {epsilon + 6 * ratio:.3f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="chains for each k")
    parser.add_argument("--states", type=int, nargs="*", default=list(STATES))
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS[:2]))
    parser.add_argument("--max-nodes", type=int, default=MAX_NODES)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if arguments.table:
        table()
        return
    print("times in seconds of one processor, once warm")
    print("| chains | k | closed | largest gap | median | 95 % | slowest | nodes, median | most |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind in arguments.kinds:
        for k in arguments.states:
            sweep(kind, k, arguments.count, arguments.max_nodes)


if __name__ == "__main__":
    main()
