"""How often checks of the data against the model raise an alarm: on data that follow it, and not.

    python -m benchmarks.false_alarms [--runs 40] [--slow-runs 4]

The first table counts false alarms on data that a plan's own model draws: chains of two states,
quick to very slow, of three states, of order 2, series from all over a box, and members of a
family, 1 to 50 series of 50 to 5,000 points each. It counts runs in which a check names any
series, and series that are named, with Wilson's 95% intervals, and says of which pair of a model
and a size it names most. The second table counts alarms on data that do not follow the model, with
the model of a chain with q = 0.2 and r = 0.3. ``misfit`` computes losses that take long, so it has
``--slow-runs`` of each pair; ``series_check`` of two states has ten times ``--runs``. Takes some
twenty minutes of one processor.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import chainveil as cv
from chainveil.attack import attack_release, audit_release, misfit, own_loss, series_check
from chainveil.counts import wilson
from chainveil.table.read.frames import FrameSource
from chainveil.table.request.request import Layout, StateRules
from chainveil.table.states.fitting import fit_table

EPSILON = 2.0
SIZES = ((1, 50), (1, 200), (1, 1000), (1, 5000), (10, 200), (10, 1000), (50, 200), (50, 1000))
SECOND = cv.HigherOrderChain([[0.95, 0.05], [0.6, 0.4], [0.4, 0.6], [0.05, 0.95]], order=2)
FAMILY = cv.ModelFamily([cv.MarkovChain.binary(*ends) for ends in ((0.05, 0.1), (0.2, 0.3))])
MODELS: dict[str, Any] = {
    "two states, quick": cv.MarkovChain.binary(0.3, 0.4),
    "two states, slow": cv.MarkovChain.binary(0.02, 0.03),
    "two states, very slow": cv.MarkovChain.binary(0.005, 0.004),
    "two states, one rare": cv.MarkovChain.binary(0.01, 0.5),
    "two states, q + r near 1": cv.MarkovChain.binary(0.45, 0.5),
    "three states": cv.MarkovChain([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]]),
    "order 2": SECOND,
    "box": cv.ChainRegion((0.05, 0.2), (0.1, 0.3)),
    "family": FAMILY,
}
# A check names so many of so many series, or of one run.
Found = tuple[int, int]
Series = list[np.ndarray[Any, Any]]


def drawn(model: Any, series: int, points: int, rng: np.random.Generator) -> Series:
    """Series of a model, each of a chain of its own where the model has several."""
    if model.box is not None:
        low, high = np.reshape(model.box, (2, 2)).T
        chains = [cv.MarkovChain.binary(*rng.uniform(low, high)) for _ in range(series)]
    else:
        chains = [model.members[rng.integers(len(model.members))] for _ in range(series)]
    return [chain.sample(points, rng=rng) for chain in chains]


def of_series(plan: cv.NoisePlan, x: Series) -> Iterator[tuple[str, Found]]:
    """What ``series_check`` says of each."""
    found = series_check(x, plan)
    read = int(found.read.sum())
    yield "own chain loses more", (int(found.above.sum()), read)
    yield "drift", (found.drifting, read)
    yield "longer memory", (int((found.order > (plan.model.order or 0)).sum()), read)


def of_own(plan: cv.NoisePlan, x: Series) -> Iterator[tuple[str, Found]]:
    """The careful words of the curator's page and of a comparison."""
    if plan.noise.states == 2:
        named = sum(own_loss([one], plan).above(EPSILON, len(x)) for one in x)
        yield "own chain, page and compare", (named, len(x))


def of_attack(plan: cv.NoisePlan, x: Series) -> Iterator[tuple[str, Found]]:
    """Whether attackers are said to beat the bound."""
    if plan.model.order == 1:  # The bound for a chain of order 2 takes a second.
        z = [plan.sanitize(one) for one in x]
        yield "bound beaten", (bool(attack_release(plan, x, z).beaten), 1)


def of_fit(plan: cv.NoisePlan, x: Series) -> Iterator[tuple[str, Found]]:
    """What ``fit`` says of memory, where one chain of order 1 is behind all series."""
    if plan.model.order == 1 and plan.model.single:
        who = np.repeat(np.arange(len(x)), [len(one) for one in x])
        table = FrameSource(pa.table({"x": np.concatenate(x), "who": who}))
        rules = StateRules(states=list(range(plan.noise.states)))
        try:
            said = fit_table(table, Layout("x", "who"), rules).memory_in_words
        except cv.InvalidInput:
            return
        yield "memory, fit", ("quite follow" in said or "series differ" in said, 1)


def of_family(plan: cv.NoisePlan, x: Series) -> Iterator[tuple[str, Found]]:
    """Whether a family of the series is said to leave out some that one chain draws."""
    if plan.noise.states == 2 and plan.model.order == 1 and plan.model.single:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                cv.ModelFamily.fit(x, 2, order=1)
            except cv.ChainveilError:
                return
        yield "left out of a family", (any("leaves out" in str(one.message) for one in told), 1)


def of_audit(plan: cv.NoisePlan, x: Series) -> Iterator[tuple[str, Found]]:
    """Whether an audit of the release shows more than epsilon."""
    if plan.noise.states == 2 and plan.model.single and plan.model.order == 1:
        z = [plan.sanitize(one) for one in x]
        found = audit_release(x, z, plan.chain, plan.noise, nominal=EPSILON)
        yield "audit of a release", (bool(found.exceeds_nominal), 1)


def of_misfit(plan: cv.NoisePlan, x: Series) -> Iterator[tuple[str, Found]]:
    """The verdict on all series together, and with each of up to ten."""
    how: dict[str, Any] = {"effort": 20, "pseudocount": 0.5}
    ways: dict[str, Any] = {"misfit, orders 1 and 2": {"orders": (1, 2)}}
    ways |= {"misfit, each": {"orders": (1,), "each": True}}
    for name, way in ways.items():
        verdict = misfit(x[:10], plan, **way, **how).verdict
        yield name, (verdict.startswith(("Above", "Not shown")), 1)


Check = Callable[[cv.NoisePlan, Series], Iterator[tuple[str, Found]]]
QUICK: tuple[Check, ...] = (of_own, of_attack, of_fit, of_family, of_audit)


def counted(
    plan: cv.NoisePlan, draw: Callable[[], Series], checks: tuple[Check, ...], runs: int
) -> dict[str, list[Found]]:
    """What each check says in each run."""
    found = defaultdict(list)
    for _ in range(runs):
        x = draw()
        for check in checks:
            for name, one in check(plan, x):
                found[name].append(one)
    return found


def words(found: list[Found]) -> str:
    """Runs with an alarm, and series that are named, with intervals."""
    runs = _share(sum(named > 0 for named, _ in found), len(found))
    return f"{runs} | {_share(sum(n for n, _ in found), sum(of for _, of in found))}"


def _share(named: int, trials: int) -> str:
    low, high = wilson(named / max(trials, 1), max(trials, 1))
    return f"{named:,} of {trials:,}, {low:.2%} to {high:.2%}"


def false_alarms(runs: int, slow_runs: int) -> None:
    """Print the table of data that follow the model."""
    rng = np.random.default_rng(1)
    cells: dict[str, dict[str, list[Found]]] = defaultdict(dict)
    for called, model in MODELS.items():
        plan = cv.calibrate(model, EPSILON, mechanism="independent")
        for series, points in SIZES:
            draw = partial(drawn, model, series, points, rng)
            told = counted(plan, draw, (of_series,), runs * (10 if model.states == 2 else 1))
            told |= counted(plan, draw, QUICK, runs) | counted(plan, draw, (of_misfit,), slow_runs)
            for name, found in told.items():
                cells[name][f"{called}, {series} of {points:,}"] = found
    print("| check | runs with an alarm | series named | worst pair |\n|---|---|---|---|")
    for name, parts in cells.items():
        rates = {cell: np.mean([named > 0 for named, _ in found]) for cell, found in parts.items()}
        worst = max(rates, key=lambda cell: float(rates[cell]))
        together = [one for found in parts.values() for one in found]
        print(f"| {name} | {words(together)} | {rates[worst]:.0%}: {worst} |", flush=True)


def power(runs: int) -> None:
    """Print the table of data that do not follow the model."""
    rng, plain = np.random.default_rng(2), cv.MarkovChain.binary(0.2, 0.3)
    slow, quick = cv.MarkovChain.binary(0.06, 0.1), cv.MarkovChain.binary(0.3, 0.4)

    def second(points: int) -> Series:
        return [SECOND.sample(points, rng=rng) for _ in range(10)]

    def drifting(points: int) -> Series:
        half = points // 2
        return [
            np.concatenate([slow.sample(half, rng=rng), quick.sample(half, rng=rng)])
            for _ in range(10)
        ]

    def apart(points: int) -> Series:
        return [(slow, quick)[i % 2].sample(points, rng=rng) for i in range(10)]

    def crossing(points: int) -> Series:
        turning = cv.MarkovChain.binary(0.8, 0.7)
        return [(turning, slow)[i % 2].sample(points, rng=rng) for i in range(10)]

    def rare(points: int) -> Series:
        return [cv.MarkovChain.binary(0.01, 0.3).sample(points, rng=rng) for _ in range(10)]

    cases: tuple[tuple[str, Any, tuple[Check, ...]], ...] = (
        ("order 2", second, (of_series, of_misfit, of_fit)),
        ("quick after slow", drifting, (of_series,)),
        ("slow and quick", apart, (of_series, of_own, of_attack)),
        ("q + r above 1", crossing, (of_family,)),
        ("nearly always one state", rare, (of_attack,)),
    )
    print("\n| data | points | check | runs with an alarm | series named |\n|---|---|---|---|---|")
    plan = cv.calibrate(plain, EPSILON, mechanism="independent")
    for called, draw, checks in cases:
        for points in (200, 1000, 5000):
            told = counted(plan, partial(draw, points), checks, runs)
            for name, found in told.items():
                print(f"| {called} | {points:,} | {name} | {words(found)} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--slow-runs", type=int, default=4)
    given = parser.parse_args()
    false_alarms(given.runs, given.slow_runs)
    power(given.runs)


if __name__ == "__main__":
    main()
