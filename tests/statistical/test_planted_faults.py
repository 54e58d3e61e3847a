"""An audit catches noise that protects less than it says, and clears nothing.

False alarms: a bound at 99% confidence exceeds the true loss in at most 1 of 100 fresh seeds;
the faults are wide enough, and the trials many enough, to be caught in nearly all. The seeds
are fixed.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

from chainveil import Channel, MarkovChain, calibrate, privacy_loss
from chainveil.attack import AuditResult, audit_sanitizer
from chainveil.mechanism import sanitize, seeded
from chainveil.privacy.baselines import dp_noise


def audit(chain: MarkovChain, channel: Channel, nominal: float, trials: int) -> AuditResult:
    calls = count()

    def sanitizer(x: Any) -> Any:
        return sanitize(x, channel, rng=seeded(5).child(next(calls)))

    return audit_sanitizer(sanitizer, chain, channel, trials=trials, nominal=nominal, rng=6)


@pytest.mark.parametrize(("theta", "epsilon"), [(0.05, 1.0), (0.1, 0.5)])
def test_dp_noise_on_correlated_data(theta: float, epsilon: float) -> None:
    chain = MarkovChain.symmetric(theta)
    channel = Channel.binary(dp_noise(epsilon), dp_noise(epsilon))
    result = audit(chain, channel, epsilon, 200_000)
    assert result.exceeds_nominal
    assert result.lower_bound > 3 * epsilon
    assert result.lower_bound < privacy_loss(chain, channel).epsilon


@pytest.mark.slow
def test_theorem_1_noise() -> None:
    """Protects against one who knows nothing, and gives away more to one who knows two points."""
    chain = MarkovChain.symmetric(0.2)
    channel = calibrate(chain, 5.0, adversary="ignorant").channel
    result = audit(chain, channel, 5.0, 2_000_000)
    assert result.exceeds_nominal
    assert len(result.witness.known) == 2


@pytest.mark.parametrize(("theta", "epsilon"), [(0.05, 1.0), (0.2, 5.0)])
def test_noise_for_any_adversary_is_not_refuted(theta: float, epsilon: float) -> None:
    chain = MarkovChain.symmetric(theta)
    result = audit(chain, calibrate(chain, epsilon).channel, epsilon, 200_000)
    assert result.exceeds_nominal is False
    assert result.lower_bound <= epsilon


def test_a_sanitizer_that_forgets_some_points() -> None:
    """It claims enough noise for epsilon = 1 and adds it to three points in four."""
    chain = MarkovChain.symmetric(0.3)
    channel = calibrate(chain, 1.0).channel
    rng = np.random.default_rng(7)
    calls = count()

    def forgetful(x: Any) -> Any:
        noisy = sanitize(x, channel, rng=seeded(7).child(next(calls)))
        return np.where(rng.random(x.shape) < 0.25, x, noisy)

    result = audit_sanitizer(forgetful, chain, channel, trials=200_000, nominal=1.0, rng=8)
    assert result.exceeds_nominal
