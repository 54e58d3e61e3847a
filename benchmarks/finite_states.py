"""Exact loss with k states: time, nodes and gap on random chains; and the table of the docs.

python -m benchmarks.finite_states                 # a few minutes
python -m benchmarks.finite_states --count 200     # the full sweep
python -m benchmarks.finite_states --table         # exact epsilon against k and theta
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

import chainveil as cv
from chainveil.privacy.finite.state import Effort, finite_state_loss

STATES = (3, 4, 6, 8, 12)
THETAS = (0.05, 0.1, 0.2, 0.4)


def symmetric_chain(k: int, theta: float) -> cv.MarkovChain:
    """Stay with probability 1 - theta, else move to one of the others, all alike."""
    matrix = np.full((k, k), theta / (k - 1))
    np.fill_diagonal(matrix, 1 - theta)
    return cv.MarkovChain(matrix)


def response(k: int, epsilon: float) -> cv.Channel:
    """Randomized response whose single report has the loss ``epsilon``."""
    return cv.Channel.randomized_response(k, (k - 1) / (k - 1 + math.exp(epsilon)))


def sweep(k: int, count: int, max_nodes: int) -> None:
    """Random chains, randomized response at epsilon between .5 and 6, any adversary and length."""
    rng = np.random.default_rng(k)
    finite_state_loss(symmetric_chain(k, 0.3), response(k, 2.0), None, "any")
    seconds, nodes, gaps = [], [], []
    for _ in range(count):
        chain = cv.MarkovChain(rng.dirichlet(np.ones(k), size=k))
        channel = response(k, rng.uniform(0.5, 6))
        begin = time.perf_counter()
        case = finite_state_loss(chain, channel, None, "any", Effort(max_nodes=max_nodes))
        seconds.append(time.perf_counter() - begin)
        nodes.append(case.nodes)
        gaps.append(case.upper - case.lower)
    print(
        f"k={k:3d}  chains {count:4d}  median {np.median(seconds) * 1e3:8.1f} ms  "
        f"slowest {max(seconds):6.2f} s  nodes median {int(np.median(nodes)):6d}  "
        f"most {max(nodes):8d}  gap <= 1e-6: {sum(gap <= 1e-6 for gap in gaps):4d}  "
        f"largest gap {max(gaps):.2g}",
        flush=True,
    )


def table(epsilon: float = 1.0) -> None:
    """Exact loss of symmetric chains beside the bounds of Lange et al. and Zhao et al."""
    print(f"randomized response with epsilon_DP = {epsilon:g}; every length, any adversary")
    print("| k | theta | exact | Lange et al. | Zhao et al. Theorem 3 |")
    print("|---|---|---|---|---|")
    for k in (2, 3, 4, 6, 8):
        for theta in THETAS:
            loss = cv.privacy_loss(
                symmetric_chain(k, theta), response(k, epsilon), max_nodes=200_000
            )
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
    parser.add_argument("--max-nodes", type=int, default=200_000)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if arguments.table:
        table()
        return
    for k in arguments.states:
        sweep(k, arguments.count, arguments.max_nodes)


if __name__ == "__main__":
    main()
