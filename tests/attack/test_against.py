"""The attackers against one release, and the loss of its noise on another chain."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv
from chainveil.attack import Posterior, attack_release, own_loss, score
from chainveil.mechanism import seeded

CHAIN = cv.MarkovChain.binary(0.1, 0.2)
PLAN = cv.calibrate(CHAIN, 2.0)


def test_scores_are_those_of_the_attackers_and_gaps_need_no_guess() -> None:
    truth = [CHAIN.sample(300, rng=seed) for seed in (1, 2)]
    known = [np.where(np.arange(300) < 50, 0, -1)] * 2
    seen = [
        np.ma.MaskedArray(PLAN.sanitize(x, rng=seeded(5)), mask=mark == 0)
        for x, mark in zip(truth, known, strict=True)
    ]
    found = attack_release(PLAN, truth, seen, known)
    assert {one.trials for one in found.scores.values()} == {500}
    guess = Posterior(CHAIN, PLAN.noise).reconstruct(seen)
    assert found.scores["posterior"] == score(truth, guess, known)
    rest = np.concatenate([x[50:] for x in truth])
    assert found.guessing == max(rest.mean(), 1 - rest.mean())
    ignorant = cv.privacy_loss(CHAIN, PLAN.noise, adversary="ignorant").epsilon
    assert found.bound == cv.success_bound(CHAIN, ignorant)
    assert found.beaten == ()


def test_data_of_another_chain_beat_the_bound() -> None:
    """A series that never changes: guessing is always right, and the bound is for another chain."""
    still = np.zeros(400, np.int64)
    found = attack_release(PLAN, still, PLAN.sanitize(still, rng=seeded(1)))
    assert found.guessing == 1.0 > found.bound
    assert "guessing the commonest state" in found.beaten


def test_the_loss_on_its_own_chain_is_that_of_the_fit() -> None:
    slow = cv.MarkovChain.binary(0.02, 0.03).sample(4000, rng=1)
    found = own_loss([slow], PLAN)
    fit = cv.MarkovChain.fit(slow, public=True)
    assert found.chain == fit
    assert found.epsilon == cv.privacy_loss(fit, PLAN.noise).epsilon > PLAN.epsilon
    assert found.reason == ""


def test_runs_are_not_joined_across_gaps() -> None:
    """0 0 | 1 1 has no step from 0 to 1, which the joined series has."""
    runs = [np.array([0, 0, 1, 0]), np.array([1, 1, 0])]
    apart = own_loss(runs, PLAN).chain
    assert apart is not None
    assert apart.transition[0].tolist() == [0.5, 0.5]


def test_earlier_releases_count() -> None:
    x = CHAIN.sample(2000, rng=3)
    both = cv.calibrate(CHAIN, 2.0, spent=[cv.Channel.binary(0.46, 0.46)])
    fit = cv.MarkovChain.fit(x, public=True)
    together = cv.privacy_loss(fit, [*both.spent, both.noise])
    assert own_loss([x], both).epsilon == together.epsilon


@pytest.mark.parametrize("x", [[0] * 50, [1] * 50, [0], []], ids=str)
def test_a_series_without_a_chain_has_no_loss(x: list[int]) -> None:
    found = own_loss([np.array(x, np.int64)], PLAN)
    assert (found.chain, found.epsilon) == (None, None)
    assert found.reason
