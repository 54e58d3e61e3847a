"""How often an attack is right, with an interval, and what that would mean as an epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.counts import wilson
from chainveil.errors import InvalidInput
from chainveil.inference.observations import UNKNOWN, known_points
from chainveil.sequences import Sequences, as_sequences

# Below this many blocks their spread says too little to correct an interval with.
FEWEST_BLOCKS = 8


@dataclass(frozen=True)
class Success:
    """Guesses, how many were right, and an interval for the probability of being right.

    Attributes
    ----------
    successes, trials : int
        Points guessed right, and points guessed. Known points are not guesses.
    low, high : float
        Interval for the probability of success at level ``confidence``.
    effective_trials : float
        How many independent guesses the interval is worth. Guesses in one series depend on
        each other, so their interval is wider than that of as many coins.
    """

    successes: int
    trials: int
    low: float
    high: float
    confidence: float
    effective_trials: float

    @property
    def rate(self) -> float:
        """Share of guesses that were right."""
        return self.successes / self.trials

    @property
    def estimated_epsilon(self) -> float:
        """The paper's estimated privacy ``ln(p / (1-p))`` (Section 4.1) at the observed rate."""
        return estimated_epsilon(self.rate)

    def __str__(self) -> str:
        return (
            f"right in {self.rate:.4f} of {self.trials:,} guesses "
            f"({self.confidence:.0%} interval {self.low:.4f} to {self.high:.4f}), "
            f"estimated epsilon {self.estimated_epsilon:.3f}"
        )


def estimated_epsilon(probability: float) -> float:
    """``ln(p / (1-p))``, infinite at 0 and 1."""
    if probability in (0.0, 1.0):
        return math.copysign(math.inf, probability - 0.5)
    return math.log(probability / (1 - probability))


def clopper_pearson(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Two-sided interval that covers with at least ``confidence``, for independent trials."""
    from scipy.special import betaincinv

    tail, failures = (1 - confidence) / 2, trials - successes
    low = betaincinv(successes, failures + 1, tail) if successes > 0 else 0.0
    high = betaincinv(successes + 1, failures, 1 - tail) if failures > 0 else 1.0
    return float(low), float(high)


def score(
    x: Any,
    guess: Any,
    known: Any = None,
    target: int | None = None,
    confidence: float = 0.95,
) -> Success:
    """Compare guesses with the truth.

    With a ``target`` (a 0-based position) only that point of each series counts; the series
    are independent, and the interval is Clopper and Pearson's. Without one every point that
    is not known counts, and the interval is Wilson's with the dependence inside a series
    estimated from blocks.
    """
    confidence = checks.probability("confidence", confidence, zero=False, one=False)
    truth, guesses = as_sequences("x", x), as_sequences("guess", guess)
    if not np.array_equal(truth.lengths, guesses.lengths):
        raise InvalidInput(
            "x",
            f"series of lengths {truth.lengths.tolist()[:5]}",
            f"the lengths of the release, {guesses.lengths.tolist()[:5]}",
        )
    right = np.asarray(truth.flat == guesses.flat)
    if target is not None:
        return _at_target(right, truth, target, confidence)
    open_points = np.ones(len(right), dtype=bool)
    if known is not None:
        states = int(max(truth.flat.max(), guesses.flat.max())) + 1
        open_points = known_points(known, truth, max(states, 2)) == UNKNOWN
    return _everywhere(right, open_points, truth, confidence)


def _at_target(
    right: NDArray[np.bool_], truth: Sequences, target: int, confidence: float
) -> Success:
    target = checks.whole("target", target, 0)
    if truth.count == 0 or target >= int(truth.lengths.min()):
        raise InvalidInput("target", target, "a position inside every series, from 0")
    hits = right[truth.offsets[:-1] + target]
    successes, trials = int(hits.sum()), len(hits)
    low, high = clopper_pearson(successes, trials, confidence)
    return Success(successes, trials, low, high, confidence, float(trials))


def _everywhere(
    right: NDArray[np.bool_],
    open_points: NDArray[np.bool_],
    truth: Sequences,
    confidence: float,
) -> Success:
    successes, trials = int((right & open_points).sum()), int(open_points.sum())
    if trials == 0:
        raise InvalidInput("known", "every point", "at least one point left to guess")
    effective = _effective_trials(right, open_points, truth, successes / trials)
    low, high = wilson(successes / trials, effective, confidence)
    return Success(successes, trials, low, high, confidence, effective)


def _effective_trials(
    right: NDArray[np.bool_], open_points: NDArray[np.bool_], truth: Sequences, rate: float
) -> float:
    """Trials, divided by how much more block sums vary than those of independent guesses."""
    trials = int(open_points.sum())
    starts = _block_starts(truth)
    if len(starts) < FEWEST_BLOCKS or rate in (0.0, 1.0):
        return float(trials)
    excess = np.where(open_points, right - rate, 0.0)
    sums = np.add.reduceat(excess, starts)
    return trials / max(1.0, float(sums @ sums) / (trials * rate * (1 - rate)))


def _block_starts(truth: Sequences) -> NDArray[np.int64]:
    """First points of blocks of about the square root of all points, never across a border."""
    width = max(1, math.isqrt(truth.flat.size))
    parts = [
        np.arange(begin, end, width)
        for begin, end in zip(truth.offsets[:-1], truth.offsets[1:], strict=True)
        if end - begin > width
    ]
    short = truth.offsets[:-1][(truth.lengths > 0) & (truth.lengths <= width)]
    return np.sort(np.concatenate([short, *parts]))
