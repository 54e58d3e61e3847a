"""How often intervals cover the truth: the table of docs/estimates.md.

    python -m benchmarks.coverage [--repetitions 5000] [--length 1000 --length 30000] [--likelihood]

Every line is one setting: a chain, a mechanism, a budget, a length. Series are drawn from the
chain and released by the mechanism, with fixed seeds; each repetition is one series. Printed is
the share of repetitions whose 95% interval covers the truth, the lowest and the highest of all
states (or pairs of states). The Monte Carlo error of one share is 0.3 points at 5,000
repetitions. A dash: the estimator refuses, and the last column says how many points it needs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import Channel, CorrelatedNoise, InvalidInput, MarkovChain, calibrate, estimate
from chainveil.estimate.noise import as_noise
from chainveil.mechanism import sanitize, sanitize_correlated, seeded

BUDGETS = (0.5, 1.0, 2.0, 4.0)
# Randomized response on four states whose loss on FOUR, against any adversary, is the budget.
FOUR = MarkovChain(np.full((4, 4), 0.15) + 0.4 * np.eye(4))
FOUR_NOISE = dict(zip(BUDGETS, (0.71009, 0.66857, 0.57711, 0.33977), strict=True))
TWO = {
    "θ = .35": MarkovChain.symmetric(0.35),
    "q = .1, r = .15": MarkovChain.binary(0.1, 0.15),
}
POINTS_AT_ONCE = 30_000_000


@dataclass(frozen=True)
class Setting:
    """One line of the table."""

    name: str
    chain: MarkovChain
    noise: Channel | CorrelatedNoise
    mechanism: str
    epsilon: float


def settings() -> Iterator[Setting]:
    for name, chain in TWO.items():
        for epsilon in BUDGETS:
            independent = calibrate(chain, epsilon).channel
            yield Setting(name, chain, independent, "independent", epsilon)
            correlated = calibrate(chain, epsilon, mechanism="correlated").noise
            yield Setting(name, chain, correlated, "correlated", epsilon)
    for epsilon, rho in FOUR_NOISE.items():
        channel = Channel.randomized_response(4, rho)
        yield Setting("4 states", FOUR, channel, "independent", epsilon)


def draw(setting: Setting, length: int, rows: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Series and their releases, shape (rows, length) each."""
    x = setting.chain.sample(length, rows, seed)
    if isinstance(setting.noise, Channel):
        return x, sanitize(x, setting.noise, rng=seeded(seed))
    return x, sanitize_correlated(x, setting.noise, rng=seeded(seed))


def shares(x: NDArray[Any], k: int) -> NDArray[np.float64]:
    """Share of each state in each row, shape (rows, k)."""
    return np.stack([(x == state).mean(axis=1) for state in range(k)], axis=1)


def moves(x: NDArray[Any], k: int) -> NDArray[np.float64]:
    """Transitions that each row made, shape (rows, k, k)."""
    codes = x[:, :-1] * np.uint8(k) + x[:, 1:]
    counts = np.stack([(codes == code).sum(axis=1) for code in range(k * k)], axis=1)
    counts = counts.reshape(-1, k, k)
    return np.asarray(counts / np.maximum(counts.sum(axis=2, keepdims=True), 1))


def hits(found: Any, truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whether each interval covers, shape (rows, entries)."""
    inside = (found.low <= truth) & (truth <= found.high)
    return np.asarray(inside.reshape(len(inside), -1), dtype=np.float64)


def answers(
    setting: Setting, x: NDArray[Any], z: NDArray[Any], likelihood: bool
) -> dict[str, NDArray[np.float64]]:
    """Hits of every question on a batch of repetitions; questions that are refused are absent."""
    chain, noise, k = setting.chain, setting.noise, setting.chain.states
    spell = 1 / (1 - np.diag(chain.transition))
    made = moves(x, k)
    with np.errstate(divide="ignore"):
        lasted = 1 / (1 - np.diagonal(made, axis1=1, axis2=2))
    found: dict[str, NDArray[np.float64]] = {}
    found["frequency, noise"] = hits(estimate.frequency(z, noise, by="series"), shares(x, k))
    if likelihood:
        # One fit a repetition, as an analyst with that one series would make it.
        drawn = [estimate.frequency(row, noise, covers="sampling") for row in z]
        inside = [(f.low <= chain.stationary) & (chain.stationary <= f.high) for f in drawn]
        found["frequency, sampling"] = np.array(inside, dtype=np.float64)
    try:
        for covers, step, time in (
            ("noise", made, lasted),
            ("sampling", chain.transition, spell),
        ):
            given: dict[str, Any] = {"by": "series", "covers": covers}
            found[f"transitions, {covers}"] = hits(estimate.transitions(z, noise, **given), step)
            found[f"durations, {covers}"] = hits(estimate.durations(z, noise, **given), time)
        if likelihood:
            found["likelihood, sampling"] = hits(
                estimate.transitions(z, noise, by="series", covers="sampling",
                                     method="likelihood"), chain.transition
            )  # fmt: skip
    except InvalidInput as refusal:
        if refusal.argument != "noise":
            raise
    return found


def coverage(
    setting: Setting, length: int, repetitions: int, likelihood: bool = False, seed: int = 1
) -> dict[str, NDArray[np.float64]]:
    """Share of repetitions covered, for each question and entry."""
    batch = max(1, min(repetitions, POINTS_AT_ONCE // length))
    parts: dict[str, list[NDArray[np.float64]]] = {}
    for number, begin in enumerate(range(0, repetitions, batch)):
        rows = min(batch, repetitions - begin)
        x, z = draw(setting, length, rows, seed * 1000 + number)
        for question, inside in answers(setting, x, z, likelihood).items():
            parts.setdefault(question, []).append(inside)
    return {question: np.concatenate(held).mean(axis=0) for question, held in parts.items()}


def questions(likelihood: bool) -> list[str]:
    plain = [f"{q}, {c}" for q in ("transitions", "durations") for c in ("noise", "sampling")]
    more = ["frequency, sampling", "likelihood, sampling"] if likelihood else []
    return ["frequency, noise", *plain, *more]


def line(setting: Setting, length: int, found: dict[str, NDArray[np.float64]],
         asked: list[str]) -> str:  # fmt: skip
    cells = []
    for question in asked:
        part = found.get(question)
        if part is None:
            cells.append("–")
        else:
            low, high = 100 * part.min(), 100 * part.max()
            cells.append(f"{low:.1f}" if high - low < 0.05 else f"{low:.1f}–{high:.1f}")
    needed = as_noise(setting.noise).points_needed((0, 1))
    head = (setting.name, setting.mechanism, f"{setting.epsilon:g}", f"{length:,}")
    return "| " + " | ".join([*head, *cells, f"{needed:,}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repetitions", type=int, default=5000)
    parser.add_argument("--length", type=int, action="append")
    parser.add_argument("--likelihood", action="store_true", help="what needs a fit a repetition")
    arguments = parser.parse_args()
    asked = questions(arguments.likelihood)
    head = ["chain", "noise", "ε", "points", *asked, "pairs needed"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for length in arguments.length or (1000, 30_000):
        for setting in settings():
            found = coverage(setting, length, arguments.repetitions, arguments.likelihood)
            print(line(setting, length, found, asked), flush=True)


if __name__ == "__main__":
    main()
