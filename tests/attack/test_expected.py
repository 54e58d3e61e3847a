"""The Bayes-optimal success equals its definition, and simulation agrees with it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from chainveil import Channel, InvalidInput, MarkovChain
from chainveil.attack import Posterior, expected_success
from tests.inference.enumeration import joint


def by_definition(chain: MarkovChain, channel: Channel, n: int, target: int) -> float:
    total = 0.0
    for z in product(range(channel.outputs), repeat=n):
        mass = np.zeros(chain.states)
        for path, probability in joint(chain, channel, z, {}).items():
            mass[path[target]] += probability
        total += mass.max()
    return float(total)


@pytest.mark.parametrize("target", range(5))
@pytest.mark.parametrize(
    ("chain", "channel"),
    [
        (MarkovChain.symmetric(0.1), Channel.binary(0.3, 0.3)),
        (MarkovChain.binary(0.1, 0.4), Channel.binary(0.05, 0.45)),
        (MarkovChain.binary(0.8, 0.7, [0.9, 0.1]), Channel.binary(0.2, 0.0)),
        (MarkovChain.binary(0.2, 0.3), Channel([[0.5, 0.25, 0.25], [0.0, 0.4, 0.6]])),
    ],
)
def test_two_states(chain: MarkovChain, channel: Channel, target: int) -> None:
    found = expected_success(chain, channel, 5, target)
    assert found.exact
    assert found.error == 0
    assert found.value == pytest.approx(by_definition(chain, channel, 5, target), abs=1e-13)


def test_three_states() -> None:
    chain = MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]])
    channel = Channel.randomized_response(3, 0.4)
    found = expected_success(chain, channel, 4, 1)
    assert found.exact
    assert found.value == pytest.approx(by_definition(chain, channel, 4, 1), abs=1e-13)


@pytest.mark.slow
def test_no_correlation_is_one_bit() -> None:
    """At theta = 1/2 the other points say nothing."""
    found = expected_success(MarkovChain.symmetric(0.5), Channel.binary(0.3, 0.3), 41, 20)
    assert found.exact
    assert found.value == pytest.approx(0.7, abs=1e-11)


def test_simulation_agrees_where_both_exist() -> None:
    """Beyond 41 points it is simulated; far points add next to nothing (5 sd)."""
    attack = Posterior(MarkovChain.symmetric(0.2), Channel.binary(0.3, 0.3))
    exact = attack.expected_success(41, 20)
    sampled = attack.expected_success(81, 40, samples=40_000, rng=3)
    assert not sampled.exact
    assert sampled.error > 0
    assert abs(sampled.value - exact.value) < 5 * sampled.error
    assert sampled.estimated_epsilon == pytest.approx(exact.estimated_epsilon, abs=0.05)


def test_errors() -> None:
    chain, channel = MarkovChain.symmetric(0.2), Channel.binary(0.3, 0.3)
    with pytest.raises(InvalidInput, match="target: found 5; allowed: positions 0 … 4"):
        expected_success(chain, channel, 5, 5)
    with pytest.raises(InvalidInput, match="noise: found 3 states"):
        expected_success(chain, Channel.randomized_response(3, 0.3), 5)
