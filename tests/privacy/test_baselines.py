"""What other methods need, against their formulas and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy import baselines

N10 = cv.MarkovChain.binary(0.0893, 0.1092)
N5 = cv.MarkovChain.binary(0.2384, 0.3831)
ROUNDING = 1e-11  # relative; upper bounds are rounded up, and these losses lie at the budget


@pytest.mark.parametrize(("chain", "lange", "zhao"), [(N10, 9.29, 13.80), (N5, 4.65, 5.70)])
def test_smallest_reachable_budgets(chain: cv.MarkovChain, lange: float, zhao: float) -> None:
    for noise, least in ((baselines.lange_noise, lange), (baselines.zhao3_noise, zhao)):
        with pytest.raises(cv.UnreachableBudget, match="needs epsilon above"):
            noise(chain, least - 0.01)
        assert noise(chain, least + 0.01) == pytest.approx(0.5, abs=0.01)


def test_dp_and_group() -> None:
    assert baselines.dp_noise(0.5) == pytest.approx(0.3775, abs=5e-5)
    assert baselines.group_noise(3.0, 30) == pytest.approx(1 / (1 + math.exp(0.1)))
    assert baselines.dp_noise(700.0) > 0


LEVELS = cv.MarkovChain([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]])


def test_more_than_two_states() -> None:
    epsilon = 20.0
    found = {answer.method: answer.rho for answer in baselines.compare(LEVELS, epsilon, 10)}
    expected = {
        "DP (ignores dependence)": epsilon,
        "Lange et al.": epsilon - 4 * math.log(7),
        "Zhao et al. Theorem 3": epsilon - 6 * math.log(7),
        "group privacy": epsilon / 10,
    }
    assert set(found) == set(expected)
    for method, level in expected.items():
        rho = 2 / (math.exp(level) + 2)
        assert found[method] == pytest.approx(rho, rel=1e-12)
        # Randomized response with that probability has that level of differential privacy.
        channel = cv.Channel.randomized_response(3, rho)
        informed = cv.privacy_loss(LEVELS, channel, length=1).epsilon
        assert informed == pytest.approx(level, rel=1e-9)
    for method in ("Lange et al.", "Zhao et al. Theorem 3"):
        needed = found[method]
        assert needed is not None
        channel = cv.Channel.randomized_response(3, needed)
        assert cv.privacy_loss(LEVELS, channel).epsilon <= epsilon
    zeros = cv.MarkovChain([[0.5, 0.5, 0.0], [0.2, 0.4, 0.4], [0.3, 0.3, 0.4]])
    assert [answer.rho is None for answer in baselines.compare(zeros, 5.0)] == [False, *[True] * 3]


def test_the_bound_on_success_holds_for_more_states() -> None:
    plan = cv.calibrate(LEVELS, 1.0, max_length=1)
    bound = baselines.success_bound(LEVELS, plan.loss.epsilon)
    prior = LEVELS.stationary
    joint = prior[:, None] * plan.channel.matrix
    best = (joint / joint.sum(axis=0)).max()
    assert best <= bound
    odds = prior.max() * math.exp(plan.loss.epsilon)
    largest = odds / (odds + 1 - prior.max())
    assert bound == pytest.approx(largest, rel=1e-6)
    two = cv.MarkovChain.binary(0.1, 0.3)
    assert baselines.success_bound(two, 1.0) == pytest.approx(3 * math.e / (1 + 3 * math.e))


def test_zhao_theorem_3_without_the_spurious_factor() -> None:
    theta, epsilon = 0.35, 5.0
    expected = (1 - theta) ** 6 / (theta**6 * math.exp(epsilon) + (1 - theta) ** 6)
    found = baselines.zhao3_noise(cv.MarkovChain.symmetric(theta), epsilon)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("theta", [0.01, 0.35, 0.45, 0.8])
@pytest.mark.parametrize("length", [2, 30, 1001])
def test_zhao_theorem_6_is_the_best_step(theta: float, length: int) -> None:
    chain = cv.MarkovChain.symmetric(theta)
    t = np.arange(1, length // 2 + 1)
    power = np.abs(1 - 2 * theta) ** t
    for epsilon in (0.5, 3.0, 8.0):
        share = ((epsilon - 6 * np.log((1 + power) / (1 - power))) / (2 * t - 1)).max()
        if share <= 0:
            with pytest.raises(cv.UnreachableBudget, match="Theorem 6"):
                baselines.zhao6_noise(chain, epsilon, length)
        else:
            found = baselines.zhao6_noise(chain, epsilon, length)
            assert found == pytest.approx(1 / (1 + math.exp(share)), rel=1e-9)


@pytest.mark.parametrize("chain", [N10, N5, cv.MarkovChain.symmetric(0.35)])
def test_every_bdp_baseline_is_private_but_needs_more(chain: cv.MarkovChain) -> None:
    for epsilon in (1.0, 6.0, 15.0):
        exact = cv.calibrate(chain, epsilon, max_length=30, objective="share")
        for answer in baselines.compare(chain, epsilon, 30):
            if answer.rho is None:
                assert "epsilon" in answer.reason
                continue
            channel = cv.Channel.binary(answer.rho, answer.rho)
            loss = cv.privacy_loss(chain, channel, length=30).epsilon
            if answer.method.startswith("DP"):
                assert loss > epsilon
                informed = cv.privacy_loss(chain, channel, length=30, adversary="informed")
                assert informed.lower <= epsilon
                assert informed.epsilon <= epsilon * (1 + ROUNDING)
            else:
                assert loss <= epsilon
                assert 2 * answer.rho >= float(exact.channel.flip_probabilities.sum()) * (1 - 1e-9)


def test_without_a_length() -> None:
    answers = {answer.method: answer for answer in baselines.compare(N10, 2.0)}
    assert answers["group privacy"].rho is None
    assert 0 < (answers["Zhao et al. Theorem 6"].rho or 0) < 0.5


def test_success_bound_is_above_guessing_and_the_printed_one_is_not() -> None:
    for chain in (N10, N5):
        majority = float(chain.stationary.max())
        for epsilon in (0.01, 1.0, 4.0):
            odds = majority / (1 - majority) * math.exp(epsilon)
            assert cv.success_bound(chain, epsilon) == pytest.approx(odds / (1 + odds))
            assert cv.success_bound(chain, epsilon) > majority
        assert baselines.success_bound_as_printed(chain, 0.01) < majority


STARTED = [
    cv.MarkovChain.binary(0.5, 0.5, initial=[0.99, 0.01]),
    cv.MarkovChain.binary(0.9, 0.8, initial=[0.4, 0.6]),
    cv.MarkovChain.binary(0.01, 0.02, initial=[0.3, 0.7]),
    cv.MarkovChain([[0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.6, 0.3, 0.1]], initial=[0.5, 0.2, 0.3]),
    # Every third point is the same one again: it never settles.
    cv.MarkovChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]], initial=[0.6, 0.2, 0.2]),
]


@pytest.mark.parametrize("chain", STARTED)
def test_success_bound_holds_before_the_chain_has_settled(chain: cv.MarkovChain) -> None:
    """Against the best guess at any of the first 200 points, and against the best attack."""
    law, largest = chain.start, 0.0
    for _ in range(200):
        largest = max(largest, float(law.max()))
        law = law @ chain.transition
    for epsilon in (1e-6, 0.5, 3.0):
        bound = cv.success_bound(chain, epsilon)
        odds = largest / (1 - largest) * math.exp(epsilon)
        assert odds / (1 + odds) <= bound
        assert bound <= min(1.0, odds / (1 + odds) * (1 + 1e-6)) or chain.power(3)[0, 0] == 1


@pytest.mark.parametrize("chain", STARTED[:4])
def test_success_bound_holds_against_the_best_attack(chain: cv.MarkovChain) -> None:
    from chainveil.attack import expected_success

    noise = cv.Channel.randomized_response(chain.states, 0.3)
    loss = cv.privacy_loss(chain, noise, length=5, adversary="ignorant").epsilon
    for target in range(5):
        assert expected_success(chain, noise, 5, target).value <= cv.success_bound(chain, loss)


def test_a_point_that_is_certain_beforehand_is_guessed_with_certainty() -> None:
    assert cv.success_bound(cv.MarkovChain.binary(0.1, 0.2, initial=[1, 0]), 0.1) == 1


def test_unusable_chains() -> None:
    with pytest.raises(cv.UnreachableBudget, match="every transition"):
        baselines.lange_noise(cv.MarkovChain.binary(1.0, 0.5), 3.0)
    with pytest.raises(cv.NotSupported, match="3 states"):
        baselines.zhao6_noise(cv.MarkovChain(np.full((3, 3), 1 / 3)), 3.0)
    with pytest.raises(cv.UnreachableBudget, match="2 points"):
        baselines.zhao6_noise(N10, 3.0, 1)
