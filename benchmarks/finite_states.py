"""Chains with k states: how often both bounds of a loss meet, how fast, and how long plans take.

python -m benchmarks.finite_states                       # 20 chains of each kind: some minutes
python -m benchmarks.finite_states --count 200           # the full sweep
python -m benchmarks.finite_states --kinds cycle --states 5
python -m benchmarks.finite_states --table               # the loss against k and theta
python -m benchmarks.finite_states --plans --count 3     # seconds of ``calibrate``, for k = 4 and 8
python -m benchmarks.finite_states --plans --rare --kinds slow --count 1  # one report in B
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import chainveil as cv

STATES = (3, 4, 6, 8)
# A case is closed where its bounds are within this share of the loss.
CLOSED = 1e-3
# Steps that the sweep allows for each chain, unless told.
MANY_STEPS = 10**6
THETAS = (0.05, 0.1, 0.2, 0.4)
# Plans: numbers of states, budgets, and kinds of noise.
PLAN_STATES, BUDGETS = (4, 8), (1.0, 2.0, 4.0)
NOISES: dict[str, dict[str, Any]] = {
    "response": {},
    "ordinal": {"shape": "ordinal"},
    "per-state": {"shape": "per-state"},
    "sticky response": {"mechanism": "sticky"},
}

Rng = np.random.Generator
Matrix = NDArray[np.float64]


def _uniform(k: int, rng: Rng) -> Matrix:
    return np.asarray(rng.dirichlet(np.ones(k), k))


def _sticky(k: int, rng: Rng) -> Matrix:
    stay = rng.uniform(0.3, 0.95, (k, 1))
    return np.asarray(stay * np.eye(k) + (1 - stay) * _uniform(k, rng))


def _leaving(k: int, rng: Rng, least: float, most: float) -> Matrix:
    leave = np.exp(rng.uniform(math.log(least), math.log(most), (k, 1)))
    others = _uniform(k, rng)
    np.fill_diagonal(others, 0.0)
    others /= others.sum(axis=1, keepdims=True)
    return np.asarray((1 - leave) * np.eye(k) + leave * others)


def _slow(k: int, rng: Rng) -> Matrix:
    return _leaving(k, rng, 1 / 200, 1 / 10)


def _very_slow(k: int, rng: Rng) -> Matrix:
    return _leaving(k, rng, 1 / 2000, 1 / 200)


def _cycle(k: int, rng: Rng) -> Matrix:
    stay = rng.uniform(0.02, 0.8, (k, 1))
    return np.asarray(stay * np.eye(k) + (1 - stay) * np.roll(np.eye(k), 1, axis=1))


def _birth_death(k: int, rng: Rng) -> Matrix:
    matrix = np.zeros((k, k))
    for x, weights in enumerate(rng.dirichlet(np.ones(3), k)):
        for y, weight in zip((x, max(x - 1, 0), min(x + 1, k - 1)), weights, strict=True):
            matrix[x, y] += weight
    return matrix


def _sparse(k: int, rng: Rng) -> Matrix:
    matrix = _uniform(k, rng) * (rng.random((k, k)) < 0.5) + 0.1 * np.roll(np.eye(k), 1, axis=1)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _absorbing(k: int, rng: Rng) -> Matrix:
    matrix = _uniform(k, rng)
    leave = 10 ** rng.uniform(-3, -1.5)
    matrix[-1] = leave / (k - 1)
    matrix[-1, -1] = 1 - leave
    return matrix


# "uniform": rows uniform on the simplex. "sticky": each state stays with a probability of its own
# between .3 and .95 on top. "slow": it leaves with one between 1/200 and 1/10, uniform in its
# logarithm. "cycle": it stays with one between .02 and .8, else the next state follows.
# "birth-death": it stays, or moves to a neighbour. "sparse": half of all transitions are zero, that
# to the next state is not. "absorbing": the last state is left with one between 1/1000 and 1/32.
# "very slow": each state is left with one between 1/2000 and 1/200.
KINDS: dict[str, Callable[[int, Rng], Matrix]] = {
    "uniform": _uniform,
    "sticky": _sticky,
    "slow": _slow,
    "cycle": _cycle,
    "birth-death": _birth_death,
    "sparse": _sparse,
    "absorbing": _absorbing,
    "very slow": _very_slow,
}


class Run(NamedTuple):
    """One chain of the sweep: seconds of one processor, and the gap as a share of the loss."""

    seconds: float
    gap: float


def symmetric_chain(k: int, theta: float) -> cv.MarkovChain:
    """Stay with probability 1 - theta, else move to one of the others, all alike."""
    matrix = np.full((k, k), theta / (k - 1))
    np.fill_diagonal(matrix, 1 - theta)
    return cv.MarkovChain(matrix)


def response(k: int, epsilon: float) -> cv.Channel:
    """Randomized response whose single report has the loss ``epsilon``."""
    return cv.Channel.randomized_response(k, (k - 1) / (k - 1 + math.exp(epsilon)))


def random_chain(kind: str, k: int, rng: Rng) -> cv.MarkovChain:
    """A chain of one of ``KINDS``."""
    return cv.MarkovChain(KINDS[kind](k, rng))


def run(chain: cv.MarkovChain, epsilon: float, steps: int = MANY_STEPS) -> Run:
    """Any adversary, every length; ``epsilon`` is that of one report.

    The loss is at least ``epsilon``, so a gap of a share of that is no more of the loss.
    """
    begin = time.process_time()
    loss = cv.privacy_loss(chain, response(chain.states, epsilon), effort=steps)
    taken = time.process_time() - begin
    return Run(taken, loss.gap / loss.epsilon if math.isfinite(loss.epsilon) else loss.gap)


def sweep(kind: str, k: int, count: int, steps: int = MANY_STEPS) -> None:
    """Random chains, randomized response at epsilon between .5 and 6; prints a row."""
    rng = np.random.default_rng([k, list(KINDS).index(kind)])
    runs = [
        run(random_chain(kind, k, rng), float(rng.uniform(0.5, 6)), steps) for _ in range(count)
    ]
    closed = sum(one.gap <= CLOSED for one in runs)
    times = [one.seconds for one in runs]
    print(
        f"| {kind} | {k} | {closed} of {count} | {max(one.gap for one in runs):.1e} "
        f"| {np.median(times):.2f} | {max(times):.2f} |",
        flush=True,
    )


def table(epsilon: float = 1.0) -> None:
    """Loss of symmetric chains beside the bounds of Lange et al. and Zhao et al."""
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


def plans(kind: str, k: int, count: int, every: Any) -> None:
    """Plans of every noise within each budget for random chains; prints a row for each noise.

    What attacks attain is a share of the budget; it is nothing where a plan tells nothing.
    """
    rng = np.random.default_rng([k, list(KINDS).index(kind), 1])
    chains = [random_chain(kind, k, rng) for _ in range(count)]
    for name, noise in NOISES.items():
        times, attained = [], []
        for chain in chains:
            for epsilon in BUDGETS:
                begin = time.process_time()
                plan = cv.calibrate(chain, epsilon, every=every, **noise)
                times.append(time.process_time() - begin)
                attained.append(plan.loss.lower / epsilon)
        print(
            f"| {kind} | {k} | {name} | {np.median(times):.2f} | {max(times):.2f} "
            f"| {np.median(attained):.3f} | {min(attained):.3f} |",
            flush=True,
        )


def _all_plans(kinds: list[str], states: list[int], count: int, every: Any) -> None:
    print("calibrate within 1, 2 and 4: seconds of a processor, once warm; shares of the budget")
    print("| chains | k | noise | median | worst | attained, median | least |")
    print("|---|---|---|---|---|---|---|")
    for noise in NOISES.values():
        # Compiled by now.
        chain = random_chain("slow", 4, np.random.default_rng(1))
        cv.calibrate(chain, 2.0, every=1 if every == 1 else 20, **noise)
    for k in states:
        for kind in kinds:
            plans(kind, k, count, every)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="chains of each kind and k")
    parser.add_argument("--states", type=int, nargs="*", help="3 4 6 8, of plans 4 8")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--steps", type=int, default=MANY_STEPS, help="at most, for each chain")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--rare", action="store_true", help="plans with one report in the best B")
    arguments = parser.parse_args()
    if arguments.table:
        table()
        return
    if arguments.plans:
        every = "auto" if arguments.rare else 1
        _all_plans(arguments.kinds, arguments.states or list(PLAN_STATES), arguments.count, every)
        return
    print(
        f"closed: bounds within {CLOSED:g} of the loss; times in seconds of a processor, once warm"
    )
    print("| chains | k | closed | largest gap, share of the loss | median | worst |")
    print("|---|---|---|---|---|---|")
    for kind in arguments.kinds:
        for k in arguments.states or STATES:
            run(symmetric_chain(k, 0.3), 2.0)  # compiled by now
            sweep(kind, k, arguments.count, arguments.steps)


if __name__ == "__main__":
    main()
