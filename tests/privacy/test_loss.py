"""What privacy_loss promises beyond agreement with the oracles."""

from __future__ import annotations

import itertools
import math
import pickle

import pytest

import chainveil as cv
from chainveil.privacy.bounds import Attack

# Relative distance of the bounds at every length, and the same for slow chains.
TOLERANCE, CLOSE = 1e-4, 4e-3


def _witness(loss: cv.PrivacyLoss) -> Attack:
    assert loss.witness is not None
    return loss.witness


def test_counterexample_to_theorem_2() -> None:
    chain, channel = cv.MarkovChain.symmetric(0.1), cv.Channel.binary(0.02, 0.02)
    any_adversary = cv.privacy_loss(chain, channel, length=5)
    assert round(any_adversary.epsilon, 2) == 9.41
    witness = _witness(any_adversary)
    assert (witness.target, dict(witness.known)) == (2, {0: 1, 4: 1})
    assert (witness.value, witness.other) == ((0,), (1,))
    assert witness.output() == [0, 0, 0, 0, 0]
    assert round(cv.privacy_loss(chain, channel, length=5, adversary="ignorant").epsilon, 2) == 8.24
    assert round(cv.privacy_loss(chain, channel, adversary="ignorant").epsilon, 3) == 8.246
    assert round(cv.privacy_loss(chain, channel).epsilon, 2) == 10.45


@pytest.mark.parametrize("length", [None, 10**12])
@pytest.mark.parametrize("size", [1e-6, 1e-9])
def test_slow_chains_of_any_length(length: int | None, size: float) -> None:
    # Noise that nearly hides everything: the worst known point lies very far away.
    chain = cv.MarkovChain.binary(size, 2 * size)
    channel = cv.Channel.binary(0.5 - size, 0.5 - size)
    loss = cv.privacy_loss(chain, channel, length=length)
    witness = _witness(loss)
    assert max(abs(witness.target - j) for j in witness.known) > 0.1 / size
    assert loss.gap <= CLOSE * loss.epsilon
    assert witness.replay(chain, channel) == pytest.approx(loss.lower, rel=1e-11)


def test_the_loss_grows_with_the_length_and_meets_the_supremum() -> None:
    chain, channel = cv.MarkovChain.binary(0.05, 0.2), cv.Channel.binary(0.3, 0.2)
    losses = [cv.privacy_loss(chain, channel, length=n) for n in (1, 2, 3, 5, 9, 30, 1000)]
    assert all(a.epsilon <= b.epsilon for a, b in itertools.pairwise(losses))
    supremum = cv.privacy_loss(chain, channel).epsilon
    assert losses[-1].lower <= supremum <= losses[-1].epsilon * (1 + TOLERANCE)


def test_adversaries_in_order() -> None:
    chain, channel = cv.MarkovChain.binary(0.1, 0.2), cv.Channel.binary(0.3, 0.2)
    epsilon = {
        who: cv.privacy_loss(chain, channel, length=20, adversary=who).epsilon
        for who in ("informed", "ignorant", "any")
    }
    assert epsilon["informed"] < epsilon["ignorant"] <= epsilon["any"]
    assert epsilon["informed"] == pytest.approx(math.log(0.7 / 0.2))


def test_more_outputs_that_say_nothing_new_change_nothing() -> None:
    chain = cv.MarkovChain.binary(0.7, 0.6)
    two = cv.Channel([[0.5, 0.5], [0.25, 0.75]])
    four = cv.Channel([[0.25, 0.25, 0.5, 0.0], [0.125, 0.125, 0.75, 0.0]])
    assert (
        cv.privacy_loss(chain, four, length=9).epsilon
        == cv.privacy_loss(chain, two, length=9).epsilon
    )


def test_relabelling_the_states_changes_nothing() -> None:
    loss = cv.privacy_loss(cv.MarkovChain.binary(0.1, 0.3), cv.Channel.binary(0.2, 0.4), length=12)
    other = cv.privacy_loss(cv.MarkovChain.binary(0.3, 0.1), cv.Channel.binary(0.4, 0.2), length=12)
    assert loss.epsilon == pytest.approx(other.epsilon, rel=1e-14)


def test_independent_points_lose_what_one_output_says() -> None:
    loss = cv.privacy_loss(cv.MarkovChain.binary(0.25, 0.75), cv.Channel.binary(0.25, 0.25))
    assert loss.lower <= math.log(3) <= loss.epsilon <= math.log(3) * (1 + TOLERANCE)


def test_noise_that_says_nothing_loses_nothing() -> None:
    loss = cv.privacy_loss(cv.MarkovChain.symmetric(0.01), cv.Channel.binary(0.5, 0.5))
    assert loss.epsilon == loss.lower == 0


def test_infinite_loss_has_a_witness() -> None:
    chain, channel = cv.MarkovChain.binary(0.1, 0.2), cv.Channel.binary(0.0, 0.2)
    loss = cv.privacy_loss(chain, channel)
    assert math.isinf(loss.epsilon)
    assert math.isinf(_witness(loss).replay(chain, channel))


def test_deterministic_alternation_is_infinite_for_every_length_only() -> None:
    chain, channel = cv.MarkovChain.binary(1.0, 1.0), cv.Channel.binary(0.2, 0.2)
    assert math.isinf(cv.privacy_loss(chain, channel).epsilon)
    assert cv.privacy_loss(chain, channel, length=7).epsilon == pytest.approx(7 * math.log(4))


def test_named_adversary_for_every_length() -> None:
    chain, channel = cv.MarkovChain.binary(0.1, 0.2), cv.Channel.binary(0.2, 0.1)
    unbounded = cv.privacy_loss(chain, channel, adversary=cv.Adversary(4, {1}))
    long = cv.privacy_loss(chain, channel, length=400, adversary=cv.Adversary(4, {1}))
    assert long.lower <= unbounded.epsilon <= long.epsilon * (1 + TOLERANCE)
    assert _witness(unbounded).replay(chain, channel) == pytest.approx(unbounded.lower, rel=1e-13)


def test_known_points_beyond_the_nearest_change_nothing() -> None:
    chain, channel = cv.MarkovChain.binary(0.1, 0.2), cv.Channel.binary(0.2, 0.1)
    near = cv.privacy_loss(chain, channel, length=12, adversary=cv.Adversary(6, {4, 9}))
    more = cv.privacy_loss(chain, channel, length=12, adversary=cv.Adversary(6, {0, 1, 4, 9, 11}))
    assert near.epsilon == more.epsilon


def test_witness_travels() -> None:
    chain, channel = cv.MarkovChain.binary(0.8, 0.7), cv.Channel.binary(0.2, 0.1)
    loss = cv.privacy_loss(chain, channel, length=9)
    copy = pickle.loads(pickle.dumps(loss))
    assert copy == loss
    witness = _witness(copy)
    output = witness.output()
    # Points beyond the known ones say nothing more.
    assert len(output) == witness.length <= 9
    assert witness.replay(chain, channel) == pytest.approx(loss.lower, rel=1e-12)
    assert len(set(output)) == 2  # neighbours tend to differ, and so does the worst output


def test_precision_of_the_caller_is_left_alone() -> None:
    from flint import ctx

    before = ctx.prec
    cv.privacy_loss(cv.MarkovChain.symmetric(0.1), cv.Channel.binary(0.2, 0.2))
    assert ctx.prec == before


@pytest.mark.parametrize("rho", [0.02, 0.1, 0.21, 0.3, 0.43])
def test_what_is_printed_is_a_bound_too(rho: float) -> None:
    loss = cv.privacy_loss(cv.MarkovChain.symmetric(0.1), cv.Channel.binary(rho, rho), length=5)
    shown = str(loss).removeprefix("epsilon <= ").split()[0]
    assert loss.epsilon <= float(shown) <= loss.epsilon * (1 + 1e-9)


def test_an_infinite_bound_is_printed_as_such() -> None:
    loss = cv.privacy_loss(cv.MarkovChain.symmetric(0.1), cv.Channel.binary(0.0, 0.2))
    assert str(loss).startswith("epsilon <= inf ")
