"""Least noise for chains of order 2: within the budget, and not much above what it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chainveil.calibration import calibrate
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.higher_order import HigherOrderChain
from chainveil.noise.channel import Channel
from chainveil.noise.memory import StickyNoise
from chainveil.noise.wrong import wrong_share
from chainveil.privacy.orders.calibrate import least_noise, least_sticky
from chainveil.privacy.orders.loss import loss
from chainveil.privacy.problem import Aim, Problem
from tests.oracle.letters import letters_loss
from tests.privacy.orders.heart import THREE
from tests.privacy.orders.test_loss import CHAIN

EMPTY = Problem(CHAIN, (), None, "any")
# It mostly stays as it is.
SLOW = HigherOrderChain([[0.92, 0.08], [0.42, 0.58], [0.7, 0.3], [0.1, 0.9]], order=2)


@pytest.mark.parametrize("shape", ["uniform", "ordinal"])
@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
def test_the_noise_keeps_the_budget_and_uses_it(epsilon: float, shape: str) -> None:
    found = least_noise(EMPTY, Aim(epsilon, shape=shape))  # type: ignore[arg-type]
    assert found.loss.epsilon <= epsilon
    assert found.loss.lower >= 0.98 * epsilon
    again = replace(EMPTY.with_release(found.noise), tolerance=1e-3 * epsilon)
    assert loss(again).lower <= epsilon


def test_another_release_has_what_is_left() -> None:
    first = Channel.binary(0.4, 0.4)
    found = least_noise(replace(EMPTY, releases=(first,)), Aim(2.0))
    assert found.loss.epsilon <= 2.0
    alone = least_noise(EMPTY, Aim(2.0))
    assert found.noise.matrix[0, 1] > alone.noise.matrix[0, 1]  # type: ignore[attr-defined]


def test_sticky_response_tells_more_of_a_longer_memory() -> None:
    found, plain = least_sticky(EMPTY, Aim(2.0)), least_noise(EMPTY, Aim(2.0))
    assert found.noise.sees == "last report"
    assert 0.98 * 2.0 <= found.loss.epsilon <= 2.0
    assert wrong_share(found.noise, CHAIN) < 0.95 * wrong_share(plain.noise, CHAIN)
    again = loss(replace(EMPTY.with_release(found.noise), tolerance=1e-3))
    assert again.lower <= 2.0
    attack = found.loss.witness
    assert attack is not None
    assert attack.replay(CHAIN, found.noise) == found.loss.lower


def test_sticky_response_of_short_series_is_within_its_budget_by_enumeration() -> None:
    plan = calibrate(CHAIN, 1.0, max_length=5, mechanism="sticky")
    truth = letters_loss(CHAIN, plan.noise, 5, "any")
    assert 0.97 <= truth <= plan.loss.epsilon <= 1.0
    assert plan.expected_flips <= calibrate(CHAIN, 1.0, max_length=5).expected_flips * (1 + 1e-9)


def test_sticky_noise_that_never_repeats_loses_what_the_channel_does() -> None:
    channel = Channel.binary(0.3, 0.3).on_grid()
    never = StickyNoise.response(0.0, channel, channel)
    both = [loss(replace(EMPTY.with_release(noise), tolerance=1e-3)) for noise in (channel, never)]
    assert both[0].epsilon == both[1].epsilon


def test_noise_of_its_own_for_each_state_is_never_worse() -> None:
    own, common = least_noise(EMPTY, Aim(2.0, shape="per-state")), least_noise(EMPTY, Aim(2.0))
    assert own.loss.epsilon <= 2.0
    assert wrong_share(own.noise, CHAIN) <= wrong_share(common.noise, CHAIN) * (1 + 1e-9)


@pytest.mark.parametrize("every", [3, pytest.param("auto", marks=pytest.mark.slow)])
def test_rare_reports_keep_the_budget_and_tell_more_of_a_slow_chain(every: int | str) -> None:
    found = least_noise(replace(EMPTY, model=SLOW), Aim(2.0, every=every))  # type: ignore[arg-type]
    plain = least_noise(replace(EMPTY, model=SLOW), Aim(2.0))
    assert 0.98 * 2.0 <= found.loss.epsilon <= 2.0
    assert found.noise.every >= 3
    assert wrong_share(found.noise, SLOW) < 0.9 * wrong_share(plain.noise, SLOW)
    attack = found.loss.witness
    assert attack is not None
    assert attack.replay(SLOW, found.noise) == found.loss.lower >= 0.95 * 2.0
    for points in (3, 5, 6):
        assert letters_loss(SLOW, found.noise, points, "any") <= found.loss.epsilon


@pytest.mark.slow
def test_rare_sticky_reports_are_never_worse_than_rare_independent_ones() -> None:
    found = least_sticky(EMPTY, Aim(2.0, every=2))
    plain = least_noise(EMPTY, Aim(2.0, every=2))
    assert found.loss.epsilon <= 2.0
    assert wrong_share(found.noise, CHAIN) <= wrong_share(plain.noise, CHAIN) * (1 + 1e-9)


@pytest.mark.slow
def test_a_small_budget_at_order_three_keeps_noise_that_tells_something() -> None:
    found = least_noise(replace(EMPTY, model=THREE), Aim(1.0))
    assert 0.9 <= found.loss.epsilon <= 1.0
    assert found.loss.lower >= 0.85
    assert wrong_share(found.noise, THREE) <= 0.465


def test_what_is_not_offered_is_named() -> None:
    with pytest.raises(InvalidInput, match="objective"):
        least_noise(EMPTY, Aim(1.0, objective="share"))
    with pytest.raises(NotSupported, match="every, earlier"):
        least_noise(replace(EMPTY, releases=(Channel.binary(0.4, 0.4),)), Aim(2.0, every=2))
    with pytest.raises(NotSupported, match="earlier"):
        least_sticky(replace(EMPTY, releases=(Channel.binary(0.4, 0.4),)), Aim(2.0))
