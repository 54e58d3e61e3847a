"""Two-state losses by the engines that there were, against the recursion of odds; one run.

    python -m benchmarks.privacy_two_state [--repeats 15]

Both are asked in turn, question by question. Times are those of the processor, so that other
programs count little; ratios are those of pairs of calls: the median, the least and the greatest.
The last columns are the upper bound of the recursion and by how much it is above that of the
engines, relative.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import chainveil as cv
from chainveil.noise.automaton import product
from chainveil.privacy import engines
from chainveil.privacy.odds import loss
from chainveil.privacy.problem import read_problem

CHAINS = {
    "q=.0893 r=.1092": (0.0893, 0.1092),
    "q=r=1e-3": (1e-3, 1e-3),
    "q=1e-6 r=2e-6": (1e-6, 2e-6),
}
BY_LAST_REPORT = [[[0.1, 0.2], [0.25, 0.35]], [[0.65, 0.75], [0.8, 0.9]]]
NOISES: dict[str, Any] = {
    "independent": cv.Channel.binary(0.3, 0.25),
    "sticky": cv.StickyNoise.binary([[0.1, 0.3], [0.7, 0.9]], [0.3, 0.7]),
    "tracking": cv.TrackingNoise.binary(BY_LAST_REPORT, [0.3, 0.7]),
    "correlated": cv.CorrelatedNoise(0.15, 0.4),
}
# An engine that needs longer is asked once.
MOST_SECONDS = 2.0
# What counts as slower: by so much more than the other, and by so many seconds.
SLOWER, BY_SECONDS = 1.1, 5e-4


@dataclass(frozen=True)
class Asked:
    """One question: a model, its noise and options of ``privacy_loss``."""

    name: str
    model: Any
    noise: Any
    options: dict[str, Any]

    def old(self) -> float:
        """Upper bound of the engines."""
        return engines.loss(read_problem(self.model, self.noise, **self.options)).epsilon

    def new(self) -> float:
        """Upper bound of the recursion of odds, the greatest of a family."""
        releases = self.noise if isinstance(self.noise, list) else [self.noise]
        gaps = self.options.get("gaps", False)
        automaton = product([one.automaton(gaps) for one in releases])
        found = []
        for member in self.model.members:
            initial = getattr(member, "initial", None)
            question = loss.Question(
                member.box, None if initial is None else tuple(initial), automaton,
                self.options.get("unit", 1), self.options["adversary"], self.options["length"],
            )  # fmt: skip
            found.append(loss.bounds(question).upper)
        return max(found)


def questions() -> Iterator[Asked]:
    """All of them, chain by chain."""
    for name, (q, r) in CHAINS.items():
        chain = cv.MarkovChain.binary(q, r)
        for kind, noise in NOISES.items():
            for words in _plain(kind):
                yield _asked(f"{kind}{words.pop('name', '')}, {name}", chain, noise, **words)
        for kind in ("independent", "sticky"):
            for every in (5, 20):
                thinned = NOISES[kind].thinned(every)
                yield _asked(f"{kind} 1 in {every}, {name}", chain, thinned)
            yield _asked(f"{kind}, event 5, {name}", chain, NOISES[kind], unit=5)
        for kind in ("sticky", "tracking"):
            yield _asked(f"{kind}, gaps, {name}", chain, NOISES[kind], gaps=True)
        for one, two in (("independent", "independent"), ("sticky", "independent")):
            both = [NOISES[one], NOISES[two]]
            yield _asked(f"{one} and {two}, {name}", chain, both)
        box = cv.ChainRegion((q, 1.2 * q), (r, 1.2 * r))
        members = [cv.MarkovChain.binary(q * by, r) for by in (1.0, 1.5, 2.0)]
        family = cv.ModelFamily(members)
        for kind in ("independent", "sticky", "tracking"):
            yield _asked(f"{kind}, box, {name}", box, NOISES[kind])
            yield _asked(f"{kind}, family of 3, {name}", family, NOISES[kind])


def _plain(kind: str) -> Iterator[dict[str, Any]]:
    yield {}
    yield {"name": ", length 500", "length": 500}
    if kind in ("independent", "sticky"):
        yield {"name": ", ignorant", "adversary": "ignorant"}
        yield {"name": ", informed", "adversary": "informed"}
        yield {"name": ", given", "adversary": cv.Adversary(3, {0, 9}), "length": 12}


def _asked(name: str, model: Any, noise: Any, **options: Any) -> Asked:
    return Asked(name, model, noise, {"length": None, "adversary": "any"} | options)


def compare(asked: Asked, repeats: int) -> tuple[str, bool]:
    """A row, and whether the recursion of odds is slower."""
    values: list[float] = []
    taken: list[list[float]] = [[], []]
    try:
        first = [_timed(ask) for ask in (asked.old, asked.new)]
    except cv.ChainveilError as error:
        return f"{asked.name:44} {str(error)[:60]}", False
    # The first call may compile.
    values = [value for value, _ in first]
    for _ in range(repeats):
        for place, ask in enumerate((asked.old, asked.new)):
            if len(taken[place]) == 0 or taken[place][0] < MOST_SECONDS:
                taken[place].append(_timed(ask)[1])
    pairs = [new / taken[0][min(number, len(taken[0]) - 1)] for number, new in enumerate(taken[1])]
    old, new = (statistics.median(times) for times in taken)
    ratio, low, high = statistics.median(pairs), min(pairs), max(pairs)
    slower = ratio > SLOWER and new - old > BY_SECONDS
    apart = values[1] / values[0] - 1 if math.isfinite(values[0]) and values[0] > 0 else 0.0
    cells = f"{old * 1e3:10.2f} {new * 1e3:10.2f} {ratio:9.3f} ({low:.3f}-{high:.3f})"
    mark = "  slower" if slower else ""
    return f"{asked.name:44} {cells:46} {values[1]:12.6f} {apart:+.1e}{mark}", slower


def _timed(ask: Callable[[], float]) -> tuple[float, float]:
    begin = time.process_time()
    value = ask()
    return value, time.process_time() - begin


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    settings = parser.parse_args()
    print("milliseconds, medians; ratios of pairs: median (least-greatest)")
    print(f"{'question':44} {'engines':>10} {'odds':>10} {'ratio':>9} {'':17} {'upper bound':>12}")
    slower = 0
    ratios = []
    for asked in questions():
        row, is_slower = compare(asked, settings.repeats)
        print(row, flush=True)
        slower += is_slower
        parts = row[44:].split()
        ratios.append(float(parts[2]) if len(parts) > 3 and parts[3].startswith("(") else np.nan)
    quantiles = np.nanquantile(ratios, [0, 0.25, 0.5, 0.75, 1])
    print(f"\nratios: {', '.join(f'{one:.3f}' for one in quantiles)} (quartiles); {slower} slower")


if __name__ == "__main__":
    main()
