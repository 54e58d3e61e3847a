"""Loss and noise over boxes of chains: above every chain of the box, and tight."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv
from tests.oracle.dense import dense_loss, points_of, random_box


def test_no_chain_of_a_box_exceeds_the_certified_loss() -> None:
    """``benchmarks.regions`` does the same for 300 boxes and 10,000 chains in each."""
    rng = np.random.default_rng(17)
    for _ in range(12):
        region, channel = random_box(rng)
        loss = cv.privacy_loss(region, channel)
        q, r = points_of(region, 300, rng)
        losses = dense_loss(q, r, channel)
        assert losses.max() <= loss.epsilon
        assert loss.epsilon - losses.max() <= 2e-4 * loss.epsilon
        assert loss.chain is not None
        assert loss.witness is not None
        assert loss.witness.replay(loss.chain, channel) == pytest.approx(loss.lower, abs=1e-9)


def test_the_dense_search_is_the_exact_loss() -> None:
    rng = np.random.default_rng(18)
    for _ in range(10):
        region, channel = random_box(rng)
        q, r = points_of(region, 100, rng)
        assert len(q) == len(r) == 100
        assert region.slowest in {*zip(q, r, strict=True)}
        assert all(cv.MarkovChain.binary(*point) in region for point in zip(q, r, strict=True))
        losses = dense_loss(q, r, channel)
        for j in (0, 50, 99):
            exact = cv.privacy_loss(cv.MarkovChain.binary(q[j], r[j]), channel)
            assert losses[j] == pytest.approx(exact.epsilon, abs=1e-8)


def test_models_and_lengths_over_a_region() -> None:
    region = cv.ChainRegion(q=(0.1, 0.2), r=(0.15, 0.2))
    channel, slow = cv.Channel.binary(0.3, 0.35), cv.MarkovChain.binary(*region.slowest)
    for model in ("ignorant", "informed"):
        for length in (None, 5):
            loss = cv.privacy_loss(region, channel, length=length, adversary=model)
            slowest = cv.privacy_loss(slow, channel, length=length, adversary=model)
            assert loss.epsilon == pytest.approx(slowest.epsilon, rel=2e-4)
            assert loss.epsilon >= slowest.lower
    assert (
        cv.privacy_loss(region, channel, length=5).epsilon
        >= cv.privacy_loss(slow, channel, length=5).lower
    )
    with pytest.raises(cv.NotSupported, match="below 1"):
        cv.privacy_loss(cv.ChainRegion((0.1, 0.6), (0.1, 0.5)), channel)
    with pytest.raises(cv.NotSupported, match="give one chain"):
        cv.privacy_loss(region, channel, adversary=cv.Adversary(3))


def test_noise_for_a_region_and_what_not_knowing_costs() -> None:
    region = cv.ChainRegion(q=(0.08, 0.12), r=(0.18, 0.22))
    plan = cv.calibrate(region, 2.0)
    assert plan.loss.epsilon <= 2
    assert plan.loss.gap < 4e-4
    assert plan.region == region
    assert 0 < plan.cost_of_uncertainty < 0.05
    for q, r in ((0.08, 0.18), (0.12, 0.18), (0.1, 0.2)):
        assert cv.privacy_loss(cv.MarkovChain.binary(q, r), plan.channel).epsilon <= 2


def test_regions_from_counts_hold_the_truth() -> None:
    """400 fits at 90 %: fewer misses than 10 % but for chance (false alarm below 1e-4)."""
    truth = cv.MarkovChain.binary(0.1, 0.3)
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(400):
        series = truth.sample(400, rng=rng)
        chain = cv.MarkovChain.fit(series, states=2, public=True)
        region = chain.region(0.9)
        assert chain in region
        missed += truth not in region
    assert missed <= 65
    assert cv.MarkovChain.fit(truth.sample(400, rng=1), public=True).region(0.99).q[0] < 0.1
    with pytest.raises(cv.InvalidInput, match="fitted"):
        truth.region(0.9)
    with pytest.raises(cv.InvalidInput, match="q: found"):
        cv.ChainRegion((0.2, 0.1), (0.1, 0.2))


@pytest.mark.parametrize(("points", "series"), [(3000, 1), (30, 100), (2, 3000)])
def test_the_region_of_private_data_holds_that_of_its_counts(points: int, series: int) -> None:
    """It is made from a rounded fit; also where many short series begin in either state."""
    rng = np.random.default_rng(6)
    for start in (None, [0.9, 0.1], [0.1, 0.9]) if points > 2 else (None,):
        x = cv.MarkovChain.binary(0.1, 0.3, initial=start).sample(points, series, rng=rng)
        exact = cv.MarkovChain.fit(x, public=True).region(0.9)
        wide = cv.MarkovChain.fit(x).region(0.9)
        assert wide.q[0] <= exact.q[0] < exact.q[1] <= wide.q[1]
        assert wide.r[0] <= exact.r[0] < exact.r[1] <= wide.r[1]
    few = cv.MarkovChain.binary(0.02, 0.3).sample(200, rng=1)
    with pytest.raises(cv.InvalidInput, match="199 steps of private data"):
        cv.MarkovChain.fit(few).region(0.9)
