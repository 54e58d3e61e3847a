"""The audit plays the adversary it names, and never says that anything passed."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import numpy as np
import pytest

from chainveil import Channel, InvalidInput, MarkovChain, calibrate, privacy_loss
from chainveil.attack import audit_release, audit_sanitizer
from chainveil.attack.audit import choose_witness, log_ratios, mixing_gap
from chainveil.attack.simulation import sample_given
from chainveil.mechanism import sanitize, seeded
from tests.inference.enumeration import joint

CHAIN = MarkovChain.symmetric(0.1)
CHANNEL = Channel.binary(0.02, 0.02)


def noise(channel: Channel, seed: int) -> Any:
    calls = count()
    return lambda x: sanitize(x, channel, rng=seeded(seed).child(next(calls)))


def test_ratio_of_the_worst_output_is_the_loss() -> None:
    loss = privacy_loss(CHAIN, CHANNEL, length=5)
    assert loss.witness is not None
    found = log_ratios(CHAIN, CHANNEL, loss.witness, np.array([loss.witness.output()]))
    assert found[0] == pytest.approx(loss.epsilon, abs=1e-9)


def test_bound_lies_below_the_true_loss() -> None:
    result = audit_sanitizer(
        noise(Channel.binary(0.3, 0.3), 0), CHAIN, Channel.binary(0.3, 0.3),
        trials=20_000, nominal=2.0, rng=1,
    )  # fmt: skip
    loss = privacy_loss(CHAIN, Channel.binary(0.3, 0.3), length=result.witness.length)
    assert 0 < result.lower_bound < loss.epsilon
    assert result.value_trials == result.other_trials == 10_000


def test_words() -> None:
    shown = audit_sanitizer(
        lambda x: x, CHAIN, Channel.binary(0.3, 0.3), length=3, trials=20_000, nominal=1, rng=0
    )
    assert shown.exceeds_nominal
    assert str(shown).startswith("at least epsilon >= ")
    assert "with 99% confidence: more than the nominal 1" in str(shown)
    unshown = audit_sanitizer(
        noise(Channel.binary(0.5, 0.5), 1), CHAIN, Channel.binary(0.4, 0.4),
        length=3, trials=2000, nominal=1, rng=0,
    )  # fmt: skip
    assert unshown.exceeds_nominal is False
    assert "was not refuted, which does not confirm it" in str(unshown)
    for text in (str(shown), str(unshown)):
        assert "pass" not in text.lower()


def test_length_that_promises_most_is_chosen() -> None:
    witness = choose_witness(CHAIN, Channel.binary(0.3, 0.3), None, "any", 100_000, 0.99)
    assert witness.length in (5, 7, 9)
    fixed = choose_witness(CHAIN, CHANNEL, 3, "ignorant", 1000, 0.99)
    assert fixed.length == 3
    assert not fixed.known


def test_conditional_sampling() -> None:
    chain = MarkovChain.binary(0.2, 0.4)
    drawn = sample_given(chain, {0: 1, 3: 0}, 5, 40_000, 7)
    assert np.all(drawn[:, 0] == 1)
    assert np.all(drawn[:, 3] == 0)
    mute = Channel([[1.0], [1.0]])
    table = joint(chain, mute, [0] * 5, {0: 1, 3: 0})
    total = sum(table.values())
    codes = drawn @ (2 ** np.arange(4, -1, -1))
    for path, probability in table.items():
        share = np.mean(codes == int("".join(map(str, path)), 2))
        # Five standard deviations, sixteen paths: false alarms below 1 in 100,000.
        p = probability / total
        assert abs(share - p) <= 5 * math.sqrt(p * (1 - p) / 40_000)


def test_release_with_its_original() -> None:
    """DP noise at epsilon = 1 on a strongly correlated chain gives away more than 1."""
    channel = Channel.binary(1 / (1 + math.e), 1 / (1 + math.e))
    x = MarkovChain.symmetric(0.05).sample(300_000, rng=0)
    z = sanitize(x, channel, rng=seeded(1))
    result = audit_release(x, z, MarkovChain.symmetric(0.05), channel, length=3, nominal=1.0)
    assert result.exceeds_nominal
    exact = privacy_loss(MarkovChain.symmetric(0.05), channel, length=3, adversary="ignorant")
    assert result.lower_bound < exact.epsilon


def test_gap_outlasts_the_memory() -> None:
    assert mixing_gap(MarkovChain.symmetric(0.5), CHANNEL) == 0
    assert 0.8 ** mixing_gap(CHAIN, CHANNEL) <= 0.01
    with pytest.raises(InvalidInput, match="never forgets"):
        mixing_gap(MarkovChain.binary(1.0, 1.0), CHANNEL)


def test_errors() -> None:
    with pytest.raises(InvalidInput, match="sanitizer: found an output of shape"):
        audit_sanitizer(lambda x: x[:, :1], CHAIN, CHANNEL, length=3, trials=200)
    with pytest.raises(InvalidInput, match="z: found lengths"):
        audit_release([0, 1, 1], [0, 1], CHAIN, CHANNEL)
    with pytest.raises(InvalidInput, match="trials: found 5"):
        audit_sanitizer(lambda x: x, CHAIN, CHANNEL, trials=5)


def test_series_of_one_point_are_audited_as_many() -> None:
    chain = MarkovChain.symmetric(0.2)
    plan = calibrate(chain, 1.0, max_length=1)
    found = audit_sanitizer(plan.sanitize, chain, plan.channel, length=1, trials=2000, rng=3)
    assert 0 < found.lower_bound <= 1.0
