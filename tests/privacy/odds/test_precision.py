"""Against 60-digit arithmetic: never below the truth, and as close to it as is promised."""

from __future__ import annotations

import itertools
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr

import chainveil as cv
from chainveil.privacy.odds.loss import Question, bounds
from tests.batches import batches
from tests.oracle import recursion

BATCHES = 20
# Relative distance of the bounds at every length: usual, and of slow chains.
TOLERANCE, CLOSE, SLOW = "1e-4", "4e-3", 1e-2
FINITE, UNBOUNDED = 400, 100  # a batch: 10,000 parameter sets in all


def _spread(rng: np.random.Generator) -> float:
    """A probability over twelve orders of magnitude, from either end, or anywhere."""
    kind = rng.integers(4)
    tiny = float(10 ** rng.uniform(-12, 0))
    if kind == 0:
        return 1 - tiny if tiny < 1 else 0.5
    return tiny if kind < 3 else float(rng.random())


def _noise(rng: np.random.Generator) -> tuple[float, float]:
    """Two noise levels; one time in three so nearly useless that the loss is tiny."""
    rho0 = min(max(_spread(rng), 1e-12), 1 - 1e-12)
    if rng.random() < 1 / 3:
        rho1 = 1 - rho0 - float(10 ** rng.uniform(-10, -1)) * rho0
        return rho0, min(max(rho1, 1e-12), 1 - 1e-12)
    return rho0, min(max(_spread(rng), 1e-12), 1 - 1e-12)


def _check(found: float, truth: Any, context: object, share: str = "1e-9") -> None:
    exact = mpfr(found)
    assert exact >= truth, context
    # Rounding outwards shows in losses that are next to nothing.
    assert exact - truth <= mpfr(share) * truth + mpfr("1e-7"), context


@pytest.mark.parametrize("batch", batches(BATCHES, 1))
def test_finite_lengths(batch: int) -> None:
    rng = np.random.default_rng([20_241, batch])
    with recursion.in_digits():
        for _ in range(FINITE):
            q, r = (min(max(_spread(rng), 1e-12), 1 - 1e-12) for _ in range(2))
            noise = _noise(rng)
            n = int(rng.integers(1, 25))
            weight = min(max(_spread(rng), 1e-12), 1 - 1e-12)
            start = None if rng.random() < 0.5 else (weight, 1 - weight)
            adversary = "any" if rng.random() < 0.7 else "ignorant"
            truth = recursion.loss(recursion.case(q, r, *noise, start), n, adversary)
            chain = cv.MarkovChain.binary(q, r, start)
            found = cv.privacy_loss(chain, cv.Channel.binary(*noise), length=n, adversary=adversary)  # type: ignore[arg-type]
            _check(found.epsilon, truth, (q, r, noise, start, n, adversary))


@pytest.mark.parametrize("batch", batches(BATCHES, 1))
def test_every_length(batch: int) -> None:
    rng = np.random.default_rng([20_242, batch])
    with recursion.in_digits():
        for _ in range(UNBOUNDED):
            q, r = (float(10 ** rng.uniform(-12, -0.31)) for _ in range(2))
            noise = _noise(rng)
            adversary = "any" if rng.random() < 0.8 else "ignorant"
            truth = recursion.supremum(recursion.case(q, r, *noise), adversary)
            chain = cv.MarkovChain.binary(q, r)
            found = cv.privacy_loss(chain, cv.Channel.binary(*noise), adversary=adversary)  # type: ignore[arg-type]
            share = CLOSE if q + r < SLOW else TOLERANCE
            _check(found.epsilon, truth, (q, r, noise, adversary), share)


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 100, 101])
def test_longer_series_of_every_kind(n: int) -> None:
    rng = np.random.default_rng([20_243, n])
    with recursion.in_digits():
        for _ in range(60):
            q, r = (
                float(x) for x in np.clip(1 / (1 + np.exp(-rng.normal(0, 4, 2))), 1e-6, 1 - 1e-6)
            )
            noise = float(rng.uniform(0.02, 0.98)), float(rng.uniform(0.02, 0.98))
            weight = float(rng.random())
            start = None if rng.random() < 0.4 else (weight, 1 - weight)
            truth = recursion.loss(recursion.case(q, r, *noise, start), n, "any")
            found = cv.privacy_loss(
                cv.MarkovChain.binary(q, r, start), cv.Channel.binary(*noise), length=n
            )
            _check(found.epsilon, truth, (q, r, noise, start, n))


def test_units_of_two_points_with_a_rare_report() -> None:
    # The logarithms of rare reports are large and cancel; nothing else is rounded here.
    rng = np.random.default_rng(20_244)
    box = (0.3, 0.3, 0.4, 0.4)
    with recursion.in_digits():
        for _ in range(200):
            low, *middle, high = np.sort(rng.integers(1, 40, 4)) * rng.integers(1, 5) * 2.0**-53
            rare = [[low, high], middle]
            noise = cv.TrackingNoise.binary([rare, [[0.5, 0.5], [0.5, 0.5]]], [0.5, 0.5])
            found = bounds(Question(box, None, noise.automaton(), unit=2, length=2))
            entries = [mpfr(float(entry)) for entry in np.ravel(rare)]
            truth = max(gmpy2.log(x / y) for x, y in itertools.product(entries, entries))
            assert mpfr(found.upper) >= truth, rare
            assert found.upper <= float(truth) + 1e-9
