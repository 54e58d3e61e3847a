"""The attackers against one release, and the loss of its noise on another chain."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv
from chainveil.attack import Posterior, attack_release, own_loss, score
from chainveil.mechanism import seeded
from chainveil.model.fit_test import p_value
from chainveil.sequences import as_sequences

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


def test_a_loss_above_the_budget_is_named_where_the_series_contradicts_the_model() -> None:
    """Of short series of the chain itself many fits lose more than the budget."""
    followed = [own_loss([CHAIN.sample(80, rng=seed)], PLAN) for seed in range(30)]
    more = [own for own in followed if own.epsilon is not None and own.epsilon > PLAN.epsilon]
    assert len(more) > 5
    assert not any(own.above(PLAN.epsilon, 30) for own in followed)
    slow = cv.MarkovChain.binary(0.02, 0.03).sample(600, rng=1)
    assert own_loss([slow], PLAN).above(PLAN.epsilon, 30)
    quick = cv.MarkovChain.binary(0.4, 0.5).sample(600, rng=1)
    assert not own_loss([quick], PLAN).above(PLAN.epsilon, 30)


def test_known_points_are_no_part_of_what_contradicts_the_model() -> None:
    """The gap in the middle holds a state that changes all the time."""
    truth = [CHAIN.sample(400, rng=1), CHAIN.sample(300, rng=2)]
    truth[0][100:200] = np.resize([0, 1], 100)
    known = [np.full(400, -1), np.full(300, -1)]
    known[0][100:200] = truth[0][100:200]
    seen = [PLAN.sanitize(x, rng=seeded(5)) for x in truth]
    pieces = [truth[0][:100], truth[0][200:], truth[1]]
    found = attack_release(PLAN, truth, seen, known).p_value
    assert found == p_value(as_sequences("x", pieces), CHAIN)
    whole = attack_release(PLAN, truth, seen).p_value
    assert whole is not None
    assert found is not None
    assert whole < 1e-9 < found


def test_runs_are_not_joined_across_gaps() -> None:
    """0 0 | 1 1 has no step from 0 to 1, which the joined series has."""
    runs = [np.array([0, 0, 1, 0]), np.array([1, 1, 0])]
    apart = own_loss(runs, PLAN).chain
    assert apart is not None
    assert apart.transition[0].tolist() == [0.5, 0.5]


def test_earlier_releases_count() -> None:
    x = CHAIN.sample(2000, rng=3)
    both = cv.calibrate(CHAIN, 2.0, earlier=[cv.Channel.binary(0.46, 0.46)])
    fit = cv.MarkovChain.fit(x, public=True)
    together = cv.privacy_loss(fit, [*both.earlier, both.noise])
    assert own_loss([x], both).epsilon == together.epsilon


@pytest.mark.parametrize("x", [[0] * 50, [1] * 50, [0], []], ids=str)
def test_a_series_without_a_chain_has_no_loss(x: list[int]) -> None:
    found = own_loss([np.array(x, np.int64)], PLAN)
    assert (found.chain, found.epsilon) == (None, None)
    assert found.reason
