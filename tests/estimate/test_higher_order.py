"""Planning and denoising for series with a longer memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.mechanism import sanitize, seeded
from chainveil.plan import NoisePlan
from chainveil.privacy.result import PrivacyLoss

CHAIN = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], order=2)
STICKY = cv.StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])
NOISES = [cv.Channel.binary(0.2, 0.2), STICKY]
ROWS, RUNS = 4000, 300


def _plan(noise: Any) -> NoisePlan:
    """Noise as it is, whatever it loses."""
    return NoisePlan(
        CHAIN, noise, PrivacyLoss(9.0, 0.0, None, "any", None), 9.0, "wrong-reports", None
    )


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=["independent", "sticky"])
@pytest.mark.parametrize("question", ["frequency", "transitions"])
def test_the_error_foretold_is_the_error_found(noise: Any, question: Any) -> None:
    """Spread of 300 estimates within 20% (five standard errors) of what was foretold."""
    plan = _plan(noise)
    expected = cv.estimate.error_at(plan, ROWS, question, "sampling")
    x = CHAIN.sample(ROWS, RUNS, rng=1)
    ask: Any = getattr(cv.estimate, question)
    found = []
    for z in sanitize(x, noise, rng=seeded(2)):
        found.append(ask(z, noise))
    values = np.array([one.value for one in found])
    np.testing.assert_allclose(values.std(axis=0), expected.standard_error, rtol=0.2)
    np.testing.assert_allclose(values.mean(axis=0), expected.value, rtol=0.05)


def test_plans_from_an_error() -> None:
    plan = cv.estimate.epsilon_for(CHAIN, 0.05, 2000, max_length=4)
    assert cv.estimate.error_at(plan, 2000).largest <= 0.05
    assert cv.estimate.rows_for(plan, 0.05) <= 2000


@pytest.mark.slow
def test_denoising_with_the_right_memory_does_better() -> None:
    noise, x = cv.Channel.binary(0.25, 0.25), CHAIN.sample(20_000, rng=3)
    z = sanitize(x, noise, rng=seeded(4))
    found = cv.estimate.denoise(z, noise, CHAIN)
    first = cv.estimate.denoise(z, noise, cv.MarkovChain.fit(x, public=True))
    right = [np.mean(part.probability.argmax(axis=1) == x) for part in (found, first)]
    assert right[0] > right[1]
    assert found.expected_accuracy == pytest.approx(right[0], abs=0.02)
    gaps = np.ma.MaskedArray(z[:50], mask=np.arange(50) % 7 == 3)
    assert np.isnan(cv.estimate.denoise(gaps, noise, CHAIN).probability[3]).all()


def test_intervals_with_a_chain_of_a_longer_memory() -> None:
    noise, x = cv.Channel.binary(0.2, 0.2), CHAIN.sample(20_000, rng=5)
    z = sanitize(x, noise, rng=seeded(6))
    share = cv.estimate.frequency(z, noise, covers="sampling", chain=CHAIN)
    assert share.low[1] < CHAIN.stationary[1] < share.high[1]
    lags = cv.estimate.autocorrelation(z, noise, [1, 2], covers="sampling", chain=CHAIN)
    assert np.all(lags.low < lags.high)
