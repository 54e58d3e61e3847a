"""The least correlated noise: the notes' figures, the budget, and what it is compared with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from chainveil.calibration import calibrate
from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.privacy.loss import privacy_loss
from tests.batches import batches

UNUSED = 0.01  # of the budget; what a plan may leave over where less noise would do
NOISE = 2e-5  # wrong reports by which a plan may be above the least ones
ROUNDING = 1e-9  # relative; of formulas in floats
FIGURES = [(0.2, 4, 0.16415), (0.2, 2, 0.35906), (0.35, 4, 0.05495)]


def least_correlated_noise(
    chain: MarkovChain, epsilon: Any, length: int | None = None, adversary: Any = "any"
) -> CorrelatedNoise:
    noise = calibrate(
        chain, epsilon, max_length=length, adversary=adversary, mechanism="correlated"
    ).noise
    assert isinstance(noise, CorrelatedNoise)
    return noise


def theorem_1_noise(theta: float, epsilon: float) -> float:
    """Least noise against the ignorant adversary, symmetric lazy chain, in closed form."""
    grown = math.exp(epsilon)
    linear = theta - theta * grown
    root = math.sqrt(linear**2 + 4 * (1 - theta) ** 2 * grown)
    ratio = (root - linear) / (2 * (1 - theta))
    return grown / (grown + ratio**2)


def least_independent_rate(chain: MarkovChain, epsilon: float) -> float:
    """Bisection over noise without memory, apart from the calibration's own search."""
    low, high = 0.0, 0.5
    for _ in range(45):
        middle = (low + high) / 2
        noise = CorrelatedNoise(middle, 1 - middle)
        enough = privacy_loss(chain, noise).epsilon <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return high


@pytest.mark.parametrize(("theta", "epsilon", "rate"), FIGURES)
def test_reaches_the_known_flip_rates(theta: float, epsilon: float, rate: float) -> None:
    noise = least_correlated_noise(MarkovChain.symmetric(theta), epsilon)
    assert noise.flip_rate == pytest.approx(rate, abs=3e-5)
    assert noise.flip_rate == pytest.approx(theorem_1_noise(theta, epsilon), abs=1e-4)


@pytest.mark.parametrize("seed", batches(25, 6))
def test_never_above_the_budget_and_on_the_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, r = (float(p) for p in rng.uniform(0.02, 0.98, 2))
    epsilon = float(rng.choice([0.05, 0.3, 1, 2.5, 4, 7]))
    length = [None, 1, 2, 6, 50][seed % 5]
    adversary: Any = ["any", "ignorant", "informed"][seed % 3]
    chain = MarkovChain.binary(q, r)
    noise = least_correlated_noise(chain, epsilon, length, adversary)
    loss = privacy_loss(chain, noise, length=length, adversary=adversary)
    assert loss.epsilon <= epsilon
    assert loss.epsilon >= epsilon * (1 - 1e-3)
    for probability in (noise.rho0, noise.rho1):
        assert (probability * 2**53).is_integer()


@pytest.mark.parametrize("theta", [0.02, 0.1, 0.2, 0.35, 0.5, 0.8])
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4, 6])
def test_never_worse_than_independent_noise(theta: float, epsilon: float) -> None:
    chain = MarkovChain.symmetric(theta)
    rate = least_correlated_noise(chain, epsilon).flip_rate
    assert rate <= least_independent_rate(chain, epsilon) + 1e-4
    # Nobody can do better against everyone than against the ignorant adversary alone.
    assert rate >= theorem_1_noise(min(theta, 1 - theta), epsilon) - 1e-8


@pytest.mark.parametrize(("theta", "epsilon", "least_s"), [(0.2, 4, 0.3), (0.35, 2, 0.7)])
def test_memory_does_not_matter_to_the_ignorant(
    theta: float, epsilon: float, least_s: float
) -> None:
    chain, rate = MarkovChain.symmetric(theta), theorem_1_noise(theta, epsilon)
    for s in np.linspace(least_s, 1, 15):
        noise = CorrelatedNoise(rate * s, (1 - rate) * s)
        loss = privacy_loss(chain, noise, adversary="ignorant")
        assert loss.epsilon == pytest.approx(epsilon, rel=1e-8)
    least = least_correlated_noise(chain, epsilon, None, "ignorant").flip_rate
    assert least == pytest.approx(rate, abs=1e-8)


def test_a_short_series_tempts_the_ignorant_to_flip_all_or_nothing() -> None:
    chain, epsilon = MarkovChain.symmetric(0.2), 4
    noise = least_correlated_noise(chain, epsilon, 5, "ignorant")
    assert noise.rho0 + noise.rho1 < 1e-3
    assert noise.flip_rate == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-3)
    assert privacy_loss(chain, noise, length=5).epsilon > 5 * epsilon


@pytest.mark.parametrize("epsilon", [0.5, 2, 5])
def test_the_informed_need_no_memory(epsilon: float) -> None:
    noise = least_correlated_noise(MarkovChain.binary(0.1, 0.3), epsilon, None, "informed")
    assert noise.rho0 + noise.rho1 == pytest.approx(1, abs=NOISE)
    least = 1 / (1 + math.exp(epsilon))
    assert least * (1 - ROUNDING) <= noise.flip_rate <= least + NOISE


@pytest.mark.parametrize("theta", [0.02, 0.1, 0.35, 0.45])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3, 8, 14])
def test_memory_brings_the_noise_down_to_theorem_1(theta: float, epsilon: float) -> None:
    """Seen for symmetric chains, not proved; the documentation page says so too."""
    rate = least_correlated_noise(MarkovChain.symmetric(theta), epsilon).flip_rate
    least = theorem_1_noise(theta, epsilon)
    assert least * (1 - ROUNDING) <= rate <= least + NOISE


@pytest.mark.parametrize(("epsilon", "rate"), [(1, 0.457), (4, 0.247)])
def test_the_documented_asymmetric_figures(epsilon: float, rate: float) -> None:
    noise = least_correlated_noise(MarkovChain.binary(0.02, 0.4), epsilon)
    assert noise.flip_rate == pytest.approx(rate, abs=5e-4)


def test_asymmetric_chains_gain_from_memory() -> None:
    chain = MarkovChain.binary(q=0.0893, r=0.1092)
    noise = least_correlated_noise(chain, 3)
    assert noise.flip_rate < least_independent_rate(chain, 3) - 0.01


def test_no_random_noise_chain_flips_less() -> None:
    rng = np.random.default_rng(5)
    chain, epsilon = MarkovChain.binary(0.1, 0.4), 3.0
    least = least_correlated_noise(chain, epsilon).flip_rate
    for rate, s in zip(least * rng.random(300), rng.uniform(0.05, 1, 300), strict=True):
        noise = CorrelatedNoise(rate * s, (1 - rate) * s)
        assert privacy_loss(chain, noise).lower > epsilon


@pytest.mark.parametrize("epsilon", [1e-6, 40.0, 300.0])
def test_extreme_budgets(epsilon: float) -> None:
    chain = MarkovChain.binary(0.1, 0.4)
    noise = least_correlated_noise(chain, epsilon)
    assert privacy_loss(chain, noise).epsilon <= epsilon


@pytest.mark.parametrize(("epsilon", "share"), [(1e-3, 1 - UNUSED), (1e-6, 0.9), (1e-13, 0)])
def test_small_budgets_of_slow_chains(epsilon: float, share: float) -> None:
    """Used as far as bounds in floats resolve them, and never exceeded."""
    chain = MarkovChain.symmetric(0.002)
    noise = least_correlated_noise(chain, epsilon)
    assert share * epsilon <= privacy_loss(chain, noise).epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, "1", None])
def test_budgets_that_are_none(epsilon: object) -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        least_correlated_noise(MarkovChain.symmetric(0.2), epsilon)


def test_chains_that_hardly_change() -> None:
    chain = MarkovChain.symmetric(1e-5)
    every, short = least_correlated_noise(chain, 1.0), least_correlated_noise(chain, 1.0, 100)
    for noise, length in ((every, None), (short, 100)):
        assert 1 - UNUSED <= privacy_loss(chain, noise, length=length).epsilon <= 1.0
    assert privacy_loss(chain, every, length=100).epsilon <= 1.0 < privacy_loss(chain, short).lower
    least = theorem_1_noise(1e-5, 1.0)
    assert least * (1 - ROUNDING) <= every.flip_rate <= least + NOISE
    assert short.flip_rate < every.flip_rate
