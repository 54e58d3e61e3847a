"""Noise for chains with k states: within budget, certified, and not more than needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.letters.attacks import Attacks
from chainveil.privacy.letters.calibrate import family
from chainveil.privacy.letters.loss import Closing
from chainveil.privacy.letters.losses import Losses
from chainveil.privacy.letters.quest import Quest
from chainveil.privacy.letters.shapes import Guess
from chainveil.privacy.problem import Aim, Effort, Problem
from tests.batches import some_quick

CHAIN = cv.MarkovChain(
    [[0.7, 0.2, 0.1, 0.0], [0.2, 0.5, 0.2, 0.1], [0.1, 0.2, 0.5, 0.2], [0.0, 0.1, 0.2, 0.7]]
)
# Four levels that change slowly.
LEVELS = cv.MarkovChain(
    [
        [0.95, 0.04, 0.01, 0.0],
        [0.06, 0.88, 0.05, 0.01],
        [0.01, 0.1, 0.84, 0.05],
        [0.0, 0.02, 0.1, 0.88],
    ]
)


@pytest.mark.parametrize("shape", ["uniform", "ordinal"])
@pytest.mark.parametrize("epsilon", [2.0, 5.0])
def test_plans_meet_the_budget_and_use_it(shape: str, epsilon: float) -> None:
    plan = cv.calibrate(CHAIN, epsilon, shape=shape)  # type: ignore[call-overload]
    assert plan.loss.epsilon <= epsilon
    assert plan.loss.epsilon >= epsilon * (1 - 5e-3)
    assert plan.channel == plan.channel.on_grid()
    assert "state by state" in str(plan)
    sanitized = plan.sanitize(CHAIN.sample(500, rng=1))
    assert sanitized.max() <= 3


def test_noise_of_its_own_for_each_state_changes_fewer_points() -> None:
    chain = cv.MarkovChain([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.5, 0.3, 0.2]])
    common = cv.calibrate(chain, 2.0, max_length=3)
    own = cv.calibrate(chain, 2.0, max_length=3, shape="per-state")
    assert own.loss.epsilon <= 2
    assert own.expected_flips <= common.expected_flips * (1 + 1e-6)


# A ring, real heart rates in four levels, and three states that mostly stay.
RING = cv.MarkovChain(0.5 * np.eye(4) + 0.5 * np.roll(np.eye(4), 1, axis=1))
HEART = cv.MarkovChain(
    [[0.50, 0.32, 0.15, 0.03], [0.22, 0.30, 0.34, 0.14], [0.18, 0.26, 0.29, 0.27],
     [0.09, 0.12, 0.19, 0.60]]
)  # fmt: skip
STAYING = cv.MarkovChain(np.full((3, 3), 0.075) + 0.775 * np.eye(3))


@pytest.mark.parametrize(
    ("chain", "asked"),
    [
        (STAYING, {"max_length": 5}),
        (STAYING, {"max_length": 6, "every": 2}),
        pytest.param(CHAIN, {"max_length": 4, "shape": "ordinal"}, marks=pytest.mark.slow),
        pytest.param(RING, {}, marks=pytest.mark.slow),
        pytest.param(HEART, {}, marks=pytest.mark.slow),
        pytest.param(STAYING, {"shape": "per-state"}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("epsilon", some_quick([2.0, 4.0], [4.0]))
def test_sticky_response_is_never_worse(
    chain: cv.MarkovChain, asked: dict[str, Any], epsilon: float
) -> None:
    sticky = cv.calibrate(chain, epsilon, mechanism="sticky", **asked)
    plain = cv.calibrate(chain, epsilon, **asked)
    assert sticky.noise.kind == "sticky"
    assert sticky.loss.epsilon <= epsilon
    assert sticky.expected_flips <= plain.expected_flips * (1 + 1e-9)


@pytest.mark.slow
def test_the_best_rhythm_costs_no_more_than_every_point() -> None:
    # Searches for several numbers end where their starts lead them, and other rhythms lend some.
    chain = cv.MarkovChain([[0.411, 0.589, 0.0], [0.326, 0.0746, 0.5994], [0.0, 0.56, 0.44]])
    asked: dict[str, Any] = {"shape": "per-state", "mechanism": "sticky"}
    every, best = (cv.calibrate(chain, 4.0, every=at, **asked) for at in (1, "auto"))
    assert best.expected_flips <= every.expected_flips


def test_a_loss_looked_for_again_is_never_above_the_budget() -> None:
    # Bounds depend on the way a search goes: here they stay apart once noise is looked at again,
    # and where they are to come close.
    problem, seen = Problem(STAYING, (), 4, "any"), list[Any]()

    class Loose(Closing):
        def to(self, effort: Effort, enough: float = np.inf) -> cv.PrivacyLoss:
            if self not in seen:
                seen.append(self)
            again = sum(one.problem.releases == self.problem.releases for one in seen) > 1
            found = super().to(effort, enough)
            apart = 1e-2 if again or effort.tolerance < 1e-5 else 0.0
            return replace(found, epsilon=found.epsilon + apart)

    quest = Quest(Losses(problem, Aim(2.0), Loose))
    found = quest.best(family(3, "uniform", 1, False))
    assert any(one.problem.releases == (found.noise,) for one in seen)
    assert found.loss.epsilon <= 2.0


def test_sticky_noise_that_never_repeats_loses_what_the_channel_does() -> None:
    channel = cv.Channel.randomized_response(4, 0.6).on_grid()
    never = cv.StickyNoise.response(0.0, channel, channel)
    for length in (4, None):
        loss = cv.privacy_loss(CHAIN, channel, length=length)
        same = cv.privacy_loss(CHAIN, never, length=length)
        assert same.epsilon == loss.epsilon
        assert same.lower == pytest.approx(loss.lower, abs=1e-9)
        assert same.witness is not None
        assert same.witness.replay(CHAIN, never) == same.lower


@pytest.mark.parametrize("mechanism", ["independent", "sticky"])
@pytest.mark.parametrize("adversary", ["any", "ignorant"])
def test_a_periodic_chain_gets_noise_alone(mechanism: str, adversary: Any) -> None:
    # Each report tells in which class every point lies, and that adds up without end.
    steps = np.array([[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 1, 0]])
    chain = cv.MarkovChain(steps)
    plan = cv.calibrate(chain, 1.0, adversary=adversary, mechanism=mechanism)
    assert (plan.loss.epsilon, plan.loss.lower) == (0.0, 0.0)
    assert plan.expected_flips == pytest.approx(0.75)
    assert plan.noise == plan.noise.on_grid()
    assert set(np.unique(plan.sanitize(chain.sample(200, rng=2)))) <= {0, 1, 2, 3}


def test_a_periodic_chain_of_given_length_is_told_something() -> None:
    chain = cv.MarkovChain(np.roll(np.eye(3), 1, axis=1))
    plan = cv.calibrate(chain, 1.0, max_length=4)
    assert 0.99 <= plan.loss.epsilon <= 1.0
    assert plan.expected_flips < 2 / 3


def test_attacks_are_worth_in_floats_what_their_replay_says() -> None:
    first, second = cv.Channel.randomized_response(4, 0.6), cv.Channel.ordinal(4, 0.7)
    for releases in ([second], [first, second]):
        loss = cv.privacy_loss(CHAIN, releases, length=5)
        assert loss.witness is not None
        attacks = Attacks(CHAIN, tuple(releases[:-1]))
        attacks.add(loss.witness, second)
        attacks.add(loss.witness, second)
        assert len(attacks) == 1
        other = cv.Channel.ordinal(4, 0.8)
        value, less = attacks.values([second, other])[0]
        assert value == pytest.approx(loss.lower, abs=1e-9)
        assert less < value


def test_a_further_release() -> None:
    first = cv.calibrate(CHAIN, 1.0, max_length=4).channel
    plan = cv.calibrate(CHAIN, 3.0, max_length=4, earlier=[first])
    assert plan.loss.epsilon == cv.privacy_loss(CHAIN, [first, plan.channel], length=4).epsilon
    assert plan.loss.epsilon <= 3
    with pytest.raises(cv.UnreachableBudget, match="earlier"):
        cv.calibrate(CHAIN, 0.9, max_length=4, earlier=[first])


def test_ordinal_noise_falls_with_the_distance() -> None:
    channel = cv.Channel.ordinal(5, 0.6)
    for x in range(5):
        distance = np.abs(np.arange(5) - x)
        for near, far in ((y, z) for y in range(5) for z in range(5)):
            if distance[near] < distance[far]:
                assert channel.matrix[x, near] > channel.matrix[x, far]
    assert channel.expected_distance(cv.MarkovChain(np.full((5, 5), 0.2))) > 0


def test_bad_questions() -> None:
    with pytest.raises(cv.InvalidInput, match="shape: found"):
        cv.calibrate(CHAIN, 1.0, shape="laplace")  # type: ignore[call-overload]
    with pytest.raises(cv.InvalidInput, match="objective: found"):
        cv.calibrate(CHAIN, 1.0, objective="speed")  # type: ignore[call-overload]
    with pytest.raises(cv.NotSupported, match="correlated"):
        cv.calibrate(CHAIN, 1.0, mechanism="correlated")
    with pytest.raises(cv.InvalidInput, match="earlier: found"):
        cv.calibrate(CHAIN, 1.0, earlier=cv.Channel.randomized_response(4, 0.5))  # type: ignore[call-overload]
    with pytest.raises(cv.InvalidInput, match="rho: found"):
        cv.Channel.per_state_response([0.1, 1.2])


@pytest.mark.slow
def test_a_very_slow_chain_has_noise_that_tells_something() -> None:
    # One state stays with .997: a first bound takes more nodes than are usual.
    moves = [[0.9796, 0.02, 0.0002, 0.0002], [0.04, 0.9196, 0.04, 0.0004]]
    moves += [[0.0004, 0.08, 0.9192, 0.0004], [0.001, 0.001, 0.001, 0.997]]
    plan = cv.calibrate(cv.MarkovChain(moves), 2.0)
    assert 0.95 * 2 < plan.loss.lower <= plan.loss.epsilon <= 2


def test_a_very_slow_chain_gets_noise_that_uses_the_budget_up() -> None:
    # It takes thousands of points to forget: once bounds stayed at twice what is attained.
    chain = cv.MarkovChain(
        [
            [0.9953, 0.002, 0.0019, 0.0008],
            [0.0005, 0.9989, 0.0003, 0.0003],
            [0.0004, 0.0001, 0.9992, 0.0003],
            [0.0003, 0.0003, 0.0001, 0.9993],
        ]
    )
    plan = cv.calibrate(chain, 4.0)
    assert 0.95 * 4.0 < plan.loss.lower <= plan.loss.epsilon <= 4.0


def test_noise_that_was_put_off_for_another_comes_back() -> None:
    """Where noise that is hoped to cost less does not, what was put off for it is certified."""
    quest = Quest(Losses(Problem(LEVELS, (), None, "any"), Aim(4.0), Closing))
    one, several = family(4, "per-state", 1, False)
    # Too little noise: it comes to cost more than the other one is said to.
    near = np.array([0.97, 0.9, 0.93, 0.98])
    hoped = [Guess(one, np.array([0.97]), 0.01), Guess(several, near, 0.005)]
    found = quest.best([one, several], hoped)
    assert found.loss.epsilon <= 4.0
    assert found.noise.expected_flips(LEVELS) < cv.calibrate(LEVELS, 4.0).expected_flips - 0.01


def test_more_numbers_that_gain_nothing_are_not_looked_at() -> None:
    """Bounds of noise that remembers take longer, also where it hardly does."""
    quest = Quest(Losses(Problem(CHAIN, (), None, "any"), Aim(2.0), Closing))
    one, several = family(4, "per-state", 1, False)
    level = np.array([0.9])
    alike = Guess(one, level, 0.7), Guess(several, np.full(4, 0.9), 0.7 - 1e-7)
    assert quest._worth_a_look(list(alike)) == [alike[0]]
    better = Guess(several, np.full(4, 0.9), 0.6)
    assert quest._worth_a_look([alike[0], better]) == [better, alike[0]]
