"""Calibration: never above the budget, as close to it as can be, and least."""

from __future__ import annotations

import contextlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv

N10 = cv.MarkovChain.binary(0.0893, 0.1092)
N5 = cv.MarkovChain.binary(0.2384, 0.3831)
UNUSED = 0.01  # of the budget; what a plan may leave over where less noise would do
NOISE = 2e-5  # wrong reports by which a plan may be above the least ones


@pytest.mark.parametrize(
    ("chain", "losses"),
    [
        (N10, {2: 2.08, 3: 3.30, 4: 4.68, 5: 6.15}),
        (N5, {2: 2.10, 4: 4.43}),
        (cv.MarkovChain.symmetric(0.2), {1: 1.001, 2: 2.040, 4: 4.411}),
    ],
)
def test_noise_by_theorem_1_breaks_its_promise(
    chain: cv.MarkovChain, losses: dict[float, float]
) -> None:
    for epsilon, true_loss in losses.items():
        plan = cv.calibrate(chain, epsilon, adversary="ignorant")
        digits = 3 if true_loss != round(true_loss, 2) else 2
        assert round(cv.privacy_loss(chain, plan.channel).epsilon, digits) == true_loss


def test_heart_rate_plans_of_the_paper() -> None:
    rho0, rho1 = cv.calibrate(N10, 1.0).channel.flip_probabilities
    assert (round(rho0, 3), rho1) == (0.447, 0.5)  # the limit at 1/2 is active
    assert cv.calibrate(N10, 3.0).expected_flips == pytest.approx(0.398, abs=5e-4)
    assert cv.calibrate(N10, 3.0, adversary="ignorant").expected_flips == pytest.approx(
        0.389, abs=5e-4
    )


@settings(max_examples=60, deadline=None)
@given(
    st.floats(1e-4, 0.99),
    st.floats(1e-4, 0.99),
    st.floats(0.05, 8),
    st.sampled_from([None, 1, 2, 7, 30, 10**12]),
    st.sampled_from(["any", "ignorant", "informed"]),
    st.sampled_from(["wrong-reports", "share"]),
)
def test_within_the_budget_and_close_to_it(
    q: float, r: float, epsilon: float, length: int | None, adversary: str, objective: str
) -> None:
    if q + r > 1:
        q, r = 1 - q, 1 - r
    chain = cv.MarkovChain.binary(q, r)
    plan = cv.calibrate(chain, epsilon, max_length=length, adversary=adversary, objective=objective)  # type: ignore[call-overload]
    assert plan.loss.epsilon <= epsilon
    corner = np.all(plan.channel.flip_probabilities == 0.5)
    assert corner or plan.loss.epsilon >= epsilon * (1 - UNUSED)
    again = cv.privacy_loss(chain, plan.channel, length=length, adversary=adversary)  # type: ignore[arg-type]
    assert again.epsilon == plan.loss.epsilon


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["wrong-reports", "share"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("chain", [N10, N5, cv.MarkovChain.binary(0.02, 0.4)])
def test_no_noise_on_a_grid_does_better(
    chain: cv.MarkovChain, epsilon: float, objective: str
) -> None:
    plan = cv.calibrate(chain, epsilon, objective=objective)  # type: ignore[call-overload]
    weights = chain.stationary if objective == "wrong-reports" else np.ones(2)
    best = float(weights @ plan.channel.flip_probabilities)
    for rho0, rho1 in itertools.product(np.linspace(0.025, 0.5, 20), repeat=2):
        cost = float(weights @ np.array([rho0, rho1]))
        if cost < best * (1 - 1e-9):
            loss = cv.privacy_loss(chain, cv.Channel.binary(rho0, rho1)).epsilon
            assert loss > epsilon


@pytest.mark.slow
@pytest.mark.parametrize(
    "chain",
    [
        cv.MarkovChain.symmetric(0.8),
        cv.MarkovChain.binary(0.97, 0.3),
        cv.MarkovChain.binary(0.9, 0.8, [0.2, 0.8]),
    ],
)
def test_chains_whose_neighbours_tend_to_differ(chain: cv.MarkovChain) -> None:
    plan = cv.calibrate(chain, 1.5, max_length=40)
    assert plan.half_planes is None
    assert 1.5 * (1 - UNUSED) <= plan.loss.epsilon <= 1.5
    best = plan.expected_flips
    for rho0, rho1 in itertools.product(np.linspace(0.02, 0.5, 13), repeat=2):
        if float(chain.stationary @ np.array([rho0, rho1])) < best * (1 - 1e-4):
            assert cv.privacy_loss(chain, cv.Channel.binary(rho0, rho1), length=40).epsilon > 1.5


def test_alternating_symmetric_chain_needs_what_its_mirror_needs() -> None:
    mirror = cv.calibrate(cv.MarkovChain.symmetric(0.2), 1.0)
    plan = cv.calibrate(cv.MarkovChain.symmetric(0.8), 1.0)
    assert plan.expected_flips == pytest.approx(mirror.expected_flips, rel=1e-6)


def test_start_that_is_not_stationary() -> None:
    chain = cv.MarkovChain.binary(0.05, 0.1, [0.99, 0.01])
    plan = cv.calibrate(chain, 2.0, max_length=15)
    assert 2.0 * (1 - UNUSED) <= plan.loss.epsilon <= 2.0


def test_named_adversary_needs_less_noise() -> None:
    named = cv.calibrate(N10, 2.0, max_length=30, adversary=cv.Adversary(10, {9, 11}))
    assert named.expected_flips < cv.calibrate(N10, 2.0, max_length=30).expected_flips
    # Both neighbours are known: nobody can do with less than for a single report.
    least = 1 / (1 + math.exp(2.0))
    assert least * (1 - 1e-12) <= named.expected_flips <= least + NOISE


def test_many_budgets_at_once() -> None:
    budgets = np.linspace(0.5, 4, 8)
    plans = cv.calibrate(N10, budgets)
    assert [plan.epsilon for plan in plans] == budgets.tolist()
    flips = [plan.expected_flips for plan in plans]
    assert flips == sorted(flips, reverse=True)
    assert cv.calibrate(N10, [2.0])[0] == cv.calibrate(N10, 2.0)
    assert cv.calibrate(N10, np.float64(2.0)) == cv.calibrate(N10, 2.0)


def test_limit_on_the_noise() -> None:
    skewed = cv.calibrate(cv.MarkovChain.binary(0.01, 0.3), 0.5)
    assert max(skewed.channel.flip_probabilities) <= 0.5


def test_the_plan_says_what_it_is() -> None:
    plan = cv.calibrate(N10, 1.0)
    assert plan.mechanism == "independent"
    assert "every adversary" in str(plan)
    assert "47.09%" in str(plan)
    # Noise levels are multiples of 2^-53, so that a sampler can realise them exactly.
    scaled = plan.channel.flip_probabilities * 2.0**53
    assert np.array_equal(scaled, np.round(scaled))


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e-17])
@pytest.mark.parametrize("epsilon", [0.01, 3.0])
def test_chains_that_hardly_ever_change(size: float, epsilon: float) -> None:
    """Either a plan within the budget, or an error that says so; never nonsense."""
    chain = cv.MarkovChain.symmetric(size)
    with contextlib.suppress(cv.UnreachableBudget, cv.NotSupported):
        assert cv.calibrate(chain, epsilon).loss.epsilon <= epsilon
