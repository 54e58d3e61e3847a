"""Noise for chains with k states: within budget, certified, and not more than needed."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv

CHAIN = cv.MarkovChain(
    [[0.7, 0.2, 0.1, 0.0], [0.2, 0.5, 0.2, 0.1], [0.1, 0.2, 0.5, 0.2], [0.0, 0.1, 0.2, 0.7]]
)


@pytest.mark.parametrize("family", ["response", "ordinal"])
@pytest.mark.parametrize("epsilon", [2.0, 5.0])
def test_plans_meet_the_budget_and_use_it(family: str, epsilon: float) -> None:
    plan = cv.calibrate(CHAIN, epsilon, family=family)  # type: ignore[call-overload]
    assert plan.loss.epsilon <= epsilon
    assert plan.loss.epsilon >= epsilon * (1 - 5e-3)
    assert plan.channel == plan.channel.on_grid()
    assert "state by state" in str(plan)
    sanitized = plan.sanitize(CHAIN.sample(500, rng=1))
    assert sanitized.max() <= 3


def test_noise_of_its_own_for_each_state_changes_fewer_points() -> None:
    chain = cv.MarkovChain([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.5, 0.3, 0.2]])
    common = cv.calibrate(chain, 2.0, length=3)
    own = cv.calibrate(chain, 2.0, length=3, family="per-state")
    assert own.loss.epsilon <= 2
    assert own.expected_flips <= common.expected_flips * (1 + 1e-6)


def test_a_further_release() -> None:
    first = cv.calibrate(CHAIN, 1.0, length=4).channel
    plan = cv.calibrate(CHAIN, 3.0, length=4, spent=[first])
    assert (
        plan.loss.epsilon
        == cv.privacy_loss(CHAIN, [first, plan.channel], 4, tolerance=1e-7).epsilon
    )
    assert plan.loss.epsilon <= 3
    with pytest.raises(cv.UnreachableBudget, match="spent"):
        cv.calibrate(CHAIN, 0.9, length=4, spent=[first])


def test_ordinal_noise_falls_with_the_distance() -> None:
    channel = cv.Channel.ordinal(5, 0.6)
    for x in range(5):
        distance = np.abs(np.arange(5) - x)
        for near, far in ((y, z) for y in range(5) for z in range(5)):
            if distance[near] < distance[far]:
                assert channel.matrix[x, near] > channel.matrix[x, far]
    assert channel.expected_distance(cv.MarkovChain(np.full((5, 5), 0.2))) > 0


def test_bad_questions() -> None:
    with pytest.raises(cv.InvalidInput, match="family: found"):
        cv.calibrate(CHAIN, 1.0, family="laplace")  # type: ignore[call-overload]
    with pytest.raises(cv.InvalidInput, match="objective: found"):
        cv.calibrate(CHAIN, 1.0, objective="speed")  # type: ignore[call-overload]
    with pytest.raises(cv.NotSupported, match="correlated"):
        cv.calibrate(CHAIN, 1.0, mechanism="correlated")
    with pytest.raises(cv.InvalidInput, match="max_noise: found 0.2"):
        cv.calibrate(CHAIN, 1.0, max_noise=0.2)
    with pytest.raises(cv.InvalidInput, match="spent: found"):
        cv.calibrate(CHAIN, 1.0, spent=cv.Channel.randomized_response(4, 0.5))  # type: ignore[call-overload]
    with pytest.raises(cv.InvalidInput, match="rho: found"):
        cv.Channel.per_state_response([0.1, 1.2])
