"""The engine that enumerates, against the oracle and against the engines made for one noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.model.higher_order import HigherOrderChain
from chainveil.privacy.enumeration.loss import loss, solves
from chainveil.privacy.problem import read_problem
from tests.batches import batches
from tests.oracle.correlated import enumerate_losses
from tests.oracle.enumeration import loss_of_every_adversary, worst_loss

ADVERSARIES = ("any", "ignorant", "informed")


def found(chain: Any, noise: Any, n: int, adversary: Any = "any") -> Any:
    problem = read_problem(chain, noise, n, adversary)
    assert solves(problem)
    return loss(problem)


@pytest.mark.parametrize("seed", batches(12, 4))
def test_independent_noise_is_that_of_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 4)), int(rng.integers(1, 5))
    chain = cv.MarkovChain(rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(k)))
    channel = cv.Channel(rng.dirichlet(np.ones(3), k))
    oracle = loss_of_every_adversary(chain.start, chain.transition, channel.matrix, n)
    for adversary in ADVERSARIES:
        here = found(chain, channel, n, adversary)
        truth = worst_loss(oracle, n, adversary)
        assert here.lower <= truth + 1e-13
        assert truth <= here.epsilon <= truth + 1e-9
        assert here.lower >= here.epsilon - 1e-9
    for (target, known), truth in oracle.items():
        here = found(chain, channel, n, cv.Adversary(target, known))
        assert truth <= here.epsilon + 1e-15 <= truth + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_correlated_noise_is_that_of_the_oracle_and_of_its_own_engine(seed: int) -> None:
    q, r, rho0, rho1 = np.random.default_rng(seed).uniform(0.05, 0.95, 4)
    chain, noise = cv.MarkovChain.binary(q, r), cv.CorrelatedNoise(rho0, rho1)
    truth = max(enumerate_losses(q, r, rho0, rho1, 4).values())
    here = found(chain, noise, 4)
    assert truth <= here.epsilon <= truth + 1e-9
    assert here.epsilon == pytest.approx(cv.privacy_loss(chain, noise, length=4).epsilon, abs=1e-9)


def test_a_longer_memory_is_enumerated_too() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 500)
    first, second = cv.MarkovChain.fit(x, public=True), HigherOrderChain.fit(x, 2, 2)
    channel = cv.Channel.binary(0.2, 0.3)
    assert found(first, channel, 4).epsilon == pytest.approx(
        cv.privacy_loss(first, channel, length=4).epsilon,
        abs=1e-9,
    )
    law = second.series_law(4)
    assert law.sum() == pytest.approx(1)
    assert np.allclose(law.sum(axis=3), second.series_law(3))
    assert np.allclose(law.sum(axis=0), second.series_law(3))
    assert second.series_law(1) == pytest.approx(law.sum(axis=(1, 2, 3)))
    assert found(second, channel, 4).epsilon > 0


def test_an_output_that_rules_a_value_out_loses_everything() -> None:
    here = found(cv.MarkovChain.symmetric(0.2), cv.Channel([[0.5, 0.5], [0.0, 1.0]]), 3)
    assert here.epsilon == here.lower == math.inf


def test_long_series_are_left_to_others() -> None:
    chain, channel = cv.MarkovChain.symmetric(0.2), cv.Channel.binary(0.2, 0.2)
    assert not solves(read_problem(chain, channel, 40, "any"))
    assert not solves(read_problem(chain, channel, 10**12, "any"))
    assert not solves(read_problem(chain, channel, None, "any"))
    assert not solves(read_problem(chain, [channel, channel], 7, "any"))


def test_several_releases_lose_what_their_joint_channel_loses() -> None:
    chain, channels = cv.MarkovChain.binary(0.2, 0.3), [cv.Channel.binary(0.2, 0.3)] * 2
    problem = read_problem(chain, channels, 3, "any")
    assert solves(problem)
    truth = cv.privacy_loss(chain, channels, length=3)
    assert truth.lower <= loss(problem).epsilon <= truth.epsilon + 1e-9
