"""Loss and noise over boxes of chains: above every chain of the box, and tight."""

from __future__ import annotations

import math

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.two_state.region import RegionLoss


def dense_loss(q: np.ndarray, r: np.ndarray, channel: cv.Channel, depth: int = 400) -> np.ndarray:
    """Loss against any adversary and for all lengths, by plain recursion in floats."""
    rho0, rho1 = channel.flip_probabilities
    best = np.zeros(q.shape)
    for a, b, ratio in ((q, r, (1 - rho0) / rho1), (r, q, (1 - rho1) / rho0)):
        side = np.zeros(q.shape)
        for odds in (np.ones(q.shape), (1 - a) / b, a / (1 - b)):
            prior = odds.copy()
            for _ in range(depth):
                side = np.maximum(side, np.log(odds / prior))
                odds = odds * ratio
                odds = ((1 - a) * odds + a) / (b * odds + 1 - b)
                prior = ((1 - a) * prior + a) / (b * prior + 1 - b)
        best = np.maximum(best, math.log(ratio) + 2 * side)
    return best


@pytest.mark.parametrize("seed", range(3))
def test_no_chain_of_a_box_exceeds_the_certified_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        low = 10 ** rng.uniform(-1.3, -0.5, 2)
        high = np.minimum(low * rng.uniform(1, 2.5, 2), 0.49)
        region = cv.ChainRegion((low[0], high[0]), (low[1], high[1]))
        channel = cv.Channel.binary(*rng.uniform(0.03, 0.45, 2))
        loss = cv.privacy_loss(region, channel)
        grid = np.meshgrid(*(np.linspace(a, b, 40) for a, b in (region.q, region.r)))
        largest = float(dense_loss(grid[0], grid[1], channel).max())
        assert largest <= loss.epsilon + 1e-12
        assert loss.epsilon - largest <= 1e-6
        assert isinstance(loss, RegionLoss)
        assert loss.witness is not None
        assert loss.witness.replay(loss.chain, channel) == pytest.approx(loss.lower, abs=1e-9)


def test_models_and_lengths_over_a_region() -> None:
    region = cv.ChainRegion(q=(0.1, 0.2), r=(0.15, 0.2))
    channel, slow = cv.Channel.binary(0.3, 0.35), cv.MarkovChain.binary(*region.slowest)
    for model in ("ignorant", "informed"):
        for length in (None, 5):
            loss = cv.privacy_loss(region, channel, length, model)
            slowest = cv.privacy_loss(slow, channel, length, model)
            assert loss.epsilon == slowest.epsilon
    assert cv.privacy_loss(region, channel, 5).epsilon >= cv.privacy_loss(slow, channel, 5).epsilon
    with pytest.raises(cv.NotSupported, match="below 1"):
        cv.privacy_loss(cv.ChainRegion((0.1, 0.6), (0.1, 0.5)), channel)
    with pytest.raises(cv.NotSupported, match="named"):
        cv.privacy_loss(region, channel, adversary=cv.Adversary(3))


def test_noise_for_a_region_and_what_not_knowing_costs() -> None:
    region = cv.ChainRegion(q=(0.08, 0.12), r=(0.18, 0.22))
    plan = cv.calibrate(region, 2.0)
    assert plan.loss.epsilon <= 2
    assert plan.loss.gap < 1e-5
    assert plan.covers == region
    assert 0 < plan.cost_of_uncertainty < 0.05
    for q, r in ((0.08, 0.18), (0.12, 0.18), (0.1, 0.2)):
        assert cv.privacy_loss(cv.MarkovChain.binary(q, r), plan.channel).epsilon <= 2


def test_regions_from_counts_hold_the_truth() -> None:
    """400 fits at 90 %: fewer misses than 10 % but for chance (false alarm below 1e-4)."""
    truth = cv.MarkovChain.binary(0.1, 0.3)
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(400):
        chain = cv.MarkovChain.fit(truth.sample(400, rng=rng), states=2)
        region = chain.region(0.9)
        assert chain in region
        missed += truth not in region
    assert missed <= 65
    assert cv.MarkovChain.fit(truth.sample(400, rng=1)).region(0.99).q[0] < 0.1
    with pytest.raises(cv.InvalidInput, match="fitted"):
        truth.region(0.9)
    with pytest.raises(cv.InvalidInput, match="q: found"):
        cv.ChainRegion((0.2, 0.1), (0.1, 0.2))
