"""What other methods need, against their formulas and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy import baselines

N10 = cv.MarkovChain.binary(0.0893, 0.1092)
N5 = cv.MarkovChain.binary(0.2384, 0.3831)


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
        exact = cv.calibrate(chain, epsilon, 30, objective="estimate")
        for answer in baselines.compare(chain, epsilon, 30):
            if answer.rho is None:
                assert "epsilon" in answer.reason
                continue
            channel = cv.Channel.binary(answer.rho, answer.rho)
            loss = cv.privacy_loss(chain, channel, 30).epsilon
            if answer.method.startswith("DP"):
                assert loss > epsilon
                assert cv.privacy_loss(chain, channel, 30, "informed").epsilon <= epsilon
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


def test_unusable_chains() -> None:
    with pytest.raises(cv.UnreachableBudget, match="every transition"):
        baselines.lange_noise(cv.MarkovChain.binary(1.0, 0.5), 3.0)
    with pytest.raises(cv.NotSupported, match="3 states"):
        baselines.lange_noise(cv.MarkovChain(np.full((3, 3), 1 / 3)), 3.0)
    with pytest.raises(cv.UnreachableBudget, match="2 points"):
        baselines.zhao6_noise(N10, 3.0, 1)
