"""Chains that were hard to close, and noise that leans on the last report."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.letters.loss import loss as loss_by_words
from chainveil.privacy.problem import read_problem

# Each state stays or moves on, and no other: most transitions are zero.
RING = cv.MarkovChain(
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.5, 0.5], [0.5, 0.0, 0.0, 0.5]]
)
STAYING = cv.MarkovChain(np.full((3, 3), 0.075) + 0.775 * np.eye(3))
LEVELS = cv.MarkovChain(
    [
        [0.95, 0.04, 0.01, 0.0],
        [0.06, 0.88, 0.05, 0.01],
        [0.01, 0.1, 0.84, 0.05],
        [0.0, 0.02, 0.1, 0.88],
    ]
)


def test_a_ring_is_calibrated_to_its_budget() -> None:
    plan = cv.calibrate(RING, 2.0)
    assert 2.0 * 0.99 <= plan.loss.epsilon <= 2.0
    # What the certificate rests on: an independent bound for the noise as it is published.
    again = cv.privacy_loss(RING, plan.noise)
    assert again.epsilon <= 2.0
    assert again.lower >= 2.0 * 0.99
    assert plan.loss.witness is not None
    assert plan.loss.witness.replay(RING, plan.noise) == plan.loss.lower


def test_noise_that_hides_almost_everything_on_a_ring() -> None:
    loss = cv.privacy_loss(RING, cv.Channel.randomized_response(4, 0.749))
    assert loss.gap < 1e-3 * 0.0273
    assert loss.epsilon == pytest.approx(0.0273, rel=5e-3)


def test_a_ring_of_five_states_with_loops() -> None:
    stay = np.array([0.04, 0.64, 0.21, 0.22, 0.68])
    chain = cv.MarkovChain(np.diag(stay) + np.roll(np.diag(1 - stay), 1, axis=1))
    noise = cv.Channel.randomized_response(5, 0.5)
    loss = cv.privacy_loss(chain, noise)
    assert loss.epsilon == pytest.approx(12.9956, abs=1e-3)
    assert loss.gap <= 1e-3
    assert loss.witness is not None
    assert loss.witness.replay(chain, noise) == loss.lower


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "most", "independent"), [(2.0, 0.43, 0.541), (4.0, 0.226, 0.398)]
)
def test_sticky_response_for_series_of_five_points(
    epsilon: float, most: float, independent: float
) -> None:
    plan = cv.calibrate(STAYING, epsilon, max_length=5, mechanism="sticky")
    assert plan.expected_flips <= most
    assert plan.loss.epsilon <= epsilon
    assert cv.privacy_loss(STAYING, plan.noise, length=5).epsilon <= epsilon
    plain = cv.calibrate(STAYING, epsilon, max_length=5)
    assert plain.expected_flips == pytest.approx(independent, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "most", "independent"), [(2.0, 0.55, 0.609), (4.0, 0.385, 0.524)]
)
def test_sticky_response_for_every_length(epsilon: float, most: float, independent: float) -> None:
    plan = cv.calibrate(STAYING, epsilon, mechanism="sticky")
    assert plan.expected_flips <= most
    assert plan.loss.epsilon <= epsilon
    plain = cv.calibrate(STAYING, epsilon)
    assert plain.expected_flips == pytest.approx(independent, abs=1e-3)


@pytest.mark.parametrize("length", [2, 3, pytest.param(6, marks=pytest.mark.slow)])
def test_longer_series_need_no_less_noise(length: int) -> None:
    shorter = cv.calibrate(LEVELS, 2.0, max_length=length - 1)
    longer = cv.calibrate(LEVELS, 2.0, max_length=length)
    assert longer.expected_flips >= shorter.expected_flips * (1 - 1e-5)
    # Noise for the longer series keeps the budget for the shorter ones as well.
    assert cv.privacy_loss(LEVELS, longer.noise, length=length - 1).epsilon <= 2.0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [2.0, 6.0])
def test_every_length_needs_the_most_noise(epsilon: float) -> None:
    # Of 200 points the bounds met below the budget, and more noise was taken than for every length.
    lengths = [1, 3, 8, 20, 50, 200, None]
    plans = [cv.calibrate(LEVELS, epsilon, max_length=n) for n in lengths]
    for shorter, longer in pairwise(plan.expected_flips for plan in plans):
        assert longer >= shorter * (1 - 1e-5)
    assert plans[-1].expected_flips < 0.75
    assert plans[-1].loss.lower >= epsilon * (1 - 1e-4)


@pytest.mark.slow
def test_every_length_needs_the_most_noise_for_each_state() -> None:
    plans = [cv.calibrate(LEVELS, 6.0, max_length=n, shape="per-state") for n in (200, None)]
    assert plans[0].expected_flips <= plans[1].expected_flips * (1 + 1e-5)
    assert max(plan.loss.epsilon for plan in plans) <= 6


LONG = [pytest.param(length, marks=pytest.mark.slow) for length in (6000, 20_000, 10**9)]


@pytest.mark.parametrize("length", [None, *LONG])
def test_attacks_of_many_thousand_points_count(length: int | None) -> None:
    # Two states, where another engine knows the loss: thousands of reports on each side matter.
    chain, noise = cv.MarkovChain.binary(1e-4, 1e-4), cv.Channel.randomized_response(2, 0.4997)
    known = cv.privacy_loss(chain, noise, length=length)
    found = loss_by_words(read_problem(chain, noise, length, "any", tolerance=1e-3))
    assert known.lower <= found.epsilon <= known.epsilon + 1e-3
    assert found.gap <= 1e-3
