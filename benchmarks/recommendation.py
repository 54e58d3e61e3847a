"""Is the recommendation right? ``python -m benchmarks.recommendation``: 30 simulated studies.

In each, a chain, a number of series, a budget and a question are drawn; ``compare`` recommends a
setting; and every setting that it compared is then tried: releases are made of the very series,
the question is asked of them as an analyst would, and answers are compared with the truth. A hit
is a recommendation whose measured error is the least, or above it by no more than two standard
errors of the difference. Results lie in recommendation.csv; studies that are there are not run
again, so that a run can be interrupted.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import chainveil as cv
from chainveil import estimate, inference
from chainveil.comparison.recommend import For, answer
from chainveil.comparison.rows import Row
from chainveil.mechanism import seeded

GOAL = Path(__file__).with_suffix(".csv")
STUDIES, LEAST_HITS = 30, 27
# In the first studies the chain is fitted on the table, and noise calibrated for a box around it;
# in the others it is given, which takes less time.
FITTED = 4
QUESTIONS: tuple[For, ...] = ("share", "episodes", "points")
# Releases of each setting to begin with, and of those that look best then.
FIRST: dict[For, int] = {"share": 8, "episodes": 10, "points": 3}
RELEASES: dict[For, int] = {"share": 40, "episodes": 150, "points": 5}


@dataclass(frozen=True)
class Case:
    """One study: series of a chain, a budget and a question."""

    number: int
    chain: cv.MarkovChain
    series: list[Any]
    epsilon: float
    question: For

    @classmethod
    def drawn(cls, number: int) -> Case:
        """The study of a number, always the same."""
        rng = np.random.default_rng([20, number])
        pace, share = np.exp(rng.uniform(np.log(0.05), np.log(0.6))), rng.uniform(0.25, 0.75)
        chain = cv.MarkovChain.binary(q=float(pace * share), r=float(pace * (1 - share)))
        question = QUESTIONS[number % len(QUESTIONS)]
        count, points = int(rng.integers(5, 21)), int(rng.integers(1000, 4001))
        series = [chain.sample(points, rng=rng) for _ in range(count)]
        budgets = (2.0, 4.0) if question == "episodes" else (1.0, 2.0, 4.0)
        return cls(number, chain, series, float(rng.choice(budgets)), question)

    @property
    def table(self) -> pa.Table:
        """The series as a table."""
        points, count = len(self.series[0]), len(self.series)
        return pa.table({
            "series": np.repeat(np.arange(count), points), "state": np.concatenate(self.series),
        })  # fmt: skip


def errors(case: Case, row: Row, release: int) -> Any:
    """The errors of one release of a setting, as an array."""
    z = row.plan.sanitize(case.series, rng=seeded(1000 * case.number + release))
    return ASKED[case.question](case, row, z)


def _share(case: Case, row: Row, z: Any) -> Any:
    """By series: which points report is the same in every release, and so is the error of that.

    Where all answers are refused, as from too few points for the noise, there is no error to tell.
    """
    try:
        found = estimate.frequency(z, row.plan, by="series")
    except cv.InvalidInput:
        return np.full(len(z), np.inf)
    return found.value[:, 1] - np.array([x.mean() for x in case.series])


def _episodes(case: Case, row: Row, z: Any) -> Any:
    """Lengths of spells of both states, as shares of those that the series have."""
    spells = estimate.durations(z, row.plan).value
    own = cv.MarkovChain.fit(case.series, public=True).transition
    return spells * np.array([own[0, 1], own[1, 0]]) - 1


def _points(case: Case, row: Row, z: Any) -> Any:
    """Points at which the likelier state is wrong; the root makes its square their share."""
    own = cv.MarkovChain.fit(case.series, public=True)
    chances = inference.smoothed(own, row.plan.noise, z)
    wrong = [float(np.mean(p.argmax(axis=-1) != x)) for p, x in zip(chances, case.series,
             strict=True)]  # fmt: skip
    return np.sqrt(wrong)


ASKED: dict[For, Callable[[Case, Row, Any], Any]] = {
    "share": _share, "episodes": _episodes, "points": _points,
}  # fmt: skip


def measured(case: Case, row: Row, releases: range) -> list[Any]:
    """Square errors of each release, by series; of spells, that of the worse state."""
    found = []
    for release in releases:
        squares = np.square(errors(case, row, release))
        if case.question == "episodes":
            squares = squares.max(keepdims=True)
        # A spell without an end is no answer.
        found.append(np.where(np.isfinite(squares), squares, np.inf))
    return found


def study(number: int) -> dict[str, Any]:
    """Recommend, try everything, and say how the recommendation did."""
    case = Case.drawn(number)
    compared = cv.compare(
        case.table, "state", case.epsilon, for_=case.question, series="series", states=[0, 1],
        chain=None if number < FITTED else case.chain, pooled=number < FITTED,
    )  # fmt: skip
    best = compared.best(case.epsilon).row
    assert best is not None
    rows = [row for row in compared.rows if answer(row, case.question) is not None]
    # Noise that several objectives have found is tried once.
    rows = list({row.plan.noise: row for row in [*rows, best]}.values())
    first, last = FIRST[case.question], RELEASES[case.question]
    tried = {row.name: measured(case, row, range(first)) for row in rows}
    left = {row.name: row for row in rows}
    # The recommended one, and whatever looks better: until what looks best has been tried in full.
    name = best.name
    while name in left:
        tried[name] += measured(case, left.pop(name), range(first, last))
        name = min(tried, key=lambda one: float(np.mean(tried[one])))
    return _judged(case, best, tried)


def _judged(case: Case, best: Row, tried: dict[str, list[Any]]) -> dict[str, Any]:
    means = {name: float(np.mean(squares)) for name, squares in tried.items()}
    winner = min(means, key=lambda name: means[name])
    above = means[best.name] - means[winner]
    error = means[best.name] if case.question == "points" else np.sqrt(means[best.name])
    q, r = case.chain.transition[0, 1], case.chain.transition[1, 0]
    return {
        "study": case.number, "question": case.question, "epsilon": case.epsilon,
        "q": f"{q:.4f}", "r": f"{r:.4f}", "series": len(case.series), "points": len(case.series[0]),
        "settings": len(tried), "recommended": best.name, "measured": f"{error:.5f}",
        "least": winner, "ratio": f"{np.sqrt(means[best.name] / means[winner]):.4f}",
        "hit": int(above <= 2 * _noise(tried[best.name], tried[winner])),
    }  # fmt: skip


def _noise(one: list[Any], other: list[Any]) -> float:
    """Standard error of the difference of two mean squares.

    By series, in pairs, which counts the drawing of the series and of the noise; of
    spells, which have one answer, by release.
    """
    first, second = np.array(one), np.array(other)
    if first.shape[1] > 1:
        apart = first.mean(axis=0) - second.mean(axis=0)
        return float(apart.std(ddof=1) / np.sqrt(len(apart)))
    parts = [squares.std(ddof=1) / np.sqrt(len(squares)) for squares in (first, second)]
    return float(np.hypot(*parts))


def read() -> list[dict[str, str]]:
    """The studies that there are."""
    if not GOAL.exists():
        return []
    with GOAL.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main(numbers: range = range(STUDIES)) -> None:
    """Run the studies that are not there yet."""
    known = {int(row["study"]) for row in read()}
    for number in numbers:
        if number in known:
            continue
        begun = time.process_time()
        row = study(number)
        fresh = not GOAL.exists()
        with GOAL.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, row, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(row)
        print(f"{time.process_time() - begun:.0f} s", *row.values(), flush=True)
    hits = sum(int(row["hit"]) for row in read())
    print(f"{hits} of {len(read())}")


if __name__ == "__main__":
    main(range(*(int(number) for number in sys.argv[1:])) if len(sys.argv) > 1 else range(STUDIES))
