"""Exact loss with k states: against the definition, the two-state path, and itself."""

from __future__ import annotations

import math
import pickle
from typing import Any, Literal

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.letters.loss import loss as letters_loss
from chainveil.privacy.problem import read_problem
from chainveil.privacy.result import PrivacyLoss
from tests.batches import batches, some_quick
from tests.oracle.enumeration import loss_of_every_adversary, worst_loss
from tests.privacy.letters.random_chains import random_chain, random_channel

MODELS: tuple[Literal["any", "ignorant", "informed"], ...] = ("any", "ignorant", "informed")
FINE = 1e-9


def _loss(
    chain: cv.MarkovChain, channel: cv.Channel, n: int | None, who: Any, tolerance: float
) -> PrivacyLoss:
    """By this engine, also where another one would answer."""
    return letters_loss(read_problem(chain, channel, n, who, tolerance=tolerance))


def _agrees(case: tuple[float, float], truth: float) -> bool:
    upper, lower = case
    if math.isinf(truth):
        return upper == lower == truth
    return lower <= truth + 1e-12 and abs(upper - truth) < 1e-9 and abs(lower - truth) < 1e-9


def _instances(seed: int) -> list[tuple[cv.MarkovChain, cv.Channel, int]]:
    """52 chains, channels and lengths: three states up to 4 points, four states up to 3."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(52):
        k = int(rng.choice([3, 4]))
        n = int(rng.integers(1, 5 if k == 3 else 4))
        m = int(rng.integers(2, 4 if n == 4 else k + 2))
        drawn.append((random_chain(rng, k), random_channel(rng, k, m), n))
    return drawn


def test_the_instances_are_of_every_kind() -> None:
    drawn = [instance for seed in range(4) for instance in _instances(seed)]
    assert len(drawn) == 208
    kinds = [
        (chain.states, n, (channel.outputs > k) - (channel.outputs < k))
        for chain, channel, n in drawn
        for k in [chain.states]
    ]
    for k, longest in ((3, 3), (4, 3)):
        for n in range(1, longest + 1):
            assert {kind[2] for kind in kinds if kind[:2] == (k, n)} == {-1, 0, 1}
    assert sum(kind[:2] == (3, 4) for kind in kinds) >= 10
    chains = [chain for chain, _, _ in drawn]
    flows = [chain.stationary[:, None] * chain.transition for chain in chains]
    assert sum(bool((chain.transition == 0).any()) for chain in chains) >= 40
    assert sum(chain.initial is not None for chain in chains) >= 40
    assert sum(not np.allclose(flow, flow.T) for flow in flows) >= 160  # not reversible
    assert sum(bool((channel.matrix == 0).any()) for _, channel, _ in drawn) >= 20


@pytest.mark.parametrize("seed", batches(3, 1))
def test_agrees_with_the_definition(seed: int) -> None:
    # Each instance with three models and a few named adversaries.
    for chain, channel, n in _instances(seed):
        losses = loss_of_every_adversary(chain.start, chain.transition, channel.matrix, n)
        for model in MODELS:
            case = _loss(chain, channel, n, model, FINE)
            assert _agrees((case.epsilon, case.lower), worst_loss(losses, n, model))
        for target, known in list(losses)[:: max(1, len(losses) // 3)]:
            named = cv.Adversary(target, known)
            case = _loss(chain, channel, n, named, FINE)
            assert _agrees((case.epsilon, case.lower), losses[target, known])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_two_states_come_out_the_same(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    named = (cv.Adversary(5, [1, 9]), cv.Adversary(5, [3]), cv.Adversary(4, [8]), cv.Adversary(0))
    for _ in range(4):
        q, r = rng.uniform(0.02, 0.98, 2)
        start = None if rng.random() < 0.6 else rng.dirichlet([1, 1])
        chain = cv.MarkovChain.binary(q, r, start)
        channel = cv.Channel(rng.dirichlet(np.ones(int(rng.integers(2, 4))) * 2, size=2))
        for length in (None, 1, 2, 7, 30, 1000):
            for who in (*MODELS, *named):
                if isinstance(who, cv.Adversary) and length is not None and length < 10:
                    continue
                fast = cv.privacy_loss(chain, channel, length=length, adversary=who)
                slow = _loss(chain, channel, length, who, 1e-8)
                assert fast.lower <= slow.epsilon <= fast.epsilon + 2e-8
                assert fast.lower - 2e-8 <= slow.lower <= fast.epsilon


@pytest.mark.parametrize("k", some_quick([3, 4, 6], [3]))
def test_bounds_meet_and_the_witness_replays(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(8):
        chain = cv.MarkovChain(rng.dirichlet(np.ones(k), size=k))
        rho = (k - 1) / (k - 1 + math.exp(rng.uniform(0.8 if k < 6 else 2, 6)))
        channel = cv.Channel.randomized_response(k, rho)
        loss = cv.privacy_loss(chain, channel)
        assert 0 <= loss.gap <= 1e-6
        assert loss.witness is not None
        assert loss.witness.replay(chain, channel) == loss.lower
        assert pickle.loads(pickle.dumps(loss.witness)) == loss.witness
        for length in (1, 5, 40):
            short = cv.privacy_loss(chain, channel, length=length)
            assert short.gap <= 1e-6
            assert short.lower <= loss.epsilon
            assert short.witness is not None
            assert short.witness.length == length
        ignorant = cv.privacy_loss(chain, channel, adversary="ignorant")
        assert ignorant.lower <= loss.epsilon


def test_sampled_attacks_never_exceed_the_bound() -> None:
    """Random outputs, positions and known points, weighed by brute force along the series."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        k, n = 4, 9
        chain = random_chain(rng, k)
        channel = cv.Channel(rng.dirichlet(np.full(5, 1.0), size=k))
        bound = cv.privacy_loss(chain, channel, length=n).epsilon
        series = chain.sample(n, rng=rng)
        for _ in range(20):
            target = int(rng.integers(n))
            known = {int(j): int(series[j]) for j in range(n) if j != target and rng.random() < 0.3}
            outputs = rng.integers(0, 5, size=n)
            seen = _target_weights(chain, channel.matrix[:, outputs].T, target, known)
            prior = _target_weights(chain, np.ones((n, k)), target, known)
            ratios = seen[prior > 0] / prior[prior > 0]
            assert math.log(ratios.max() / ratios.min()) <= bound + 1e-9


def _target_weights(
    chain: cv.MarkovChain, weights: np.ndarray, target: int, known: dict[int, int]
) -> np.ndarray:
    """Weight of every value of the target, by forward recursion, shape (k,)."""
    k = chain.states
    result = np.zeros(k)
    for value in range(k):
        row = np.array(chain.start)
        for index in range(len(weights)):
            row = row @ chain.transition if index else row
            fixed = value if index == target else known.get(index)
            row = row * weights[index] * (1.0 if fixed is None else np.eye(k)[fixed])
        result[value] = row.sum()
    return result


def test_a_limit_leaves_both_bounds_and_shows_the_gap() -> None:
    chain = cv.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.1, 0.6]])
    channel = cv.Channel.randomized_response(3, 0.4)
    tight = cv.privacy_loss(chain, channel)
    loose = cv.privacy_loss(chain, channel, effort=1)
    assert loose.lower <= tight.lower + 1e-12
    assert loose.epsilon >= tight.lower
    assert loose.gap > tight.gap
    assert loose.steps < tight.steps
    assert (loose.effort, tight.effort) == (1, None)


def test_a_cycle_gives_everything_away_in_the_long_run() -> None:
    chain = cv.MarkovChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    channel = cv.Channel.randomized_response(3, 0.3)
    assert cv.privacy_loss(chain, channel, effort=20_000).epsilon == math.inf
    # Whoever knows a point knows all others: there is nothing left to tell apart.
    assert cv.privacy_loss(chain, channel, adversary="informed", length=3).epsilon == 0
    one = cv.privacy_loss(chain, channel, length=1)
    assert one.epsilon == pytest.approx(math.log(0.7 / 0.15))
    three = cv.privacy_loss(chain, channel, length=3, adversary="ignorant")
    assert three.epsilon == pytest.approx(3 * math.log(0.7 / 0.15))


def test_a_certain_start_hides_nothing_at_first() -> None:
    chain = cv.MarkovChain([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]], initial=[1, 0, 0])
    channel = cv.Channel.randomized_response(3, 0.3)
    assert cv.privacy_loss(chain, channel, length=1).epsilon == 0
    assert cv.privacy_loss(chain, channel, length=1).witness is None
    assert cv.privacy_loss(chain, channel, length=2).epsilon > 0


def test_revealing_outputs_are_infinite_and_say_how() -> None:
    chain = cv.MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
    erasing = cv.Channel([[0.5, 0, 0, 0.5], [0, 0.5, 0, 0.5], [0, 0, 0.5, 0.5]])
    for length in (None, 1, 6):
        for model in MODELS:
            loss = cv.privacy_loss(chain, erasing, length=length, adversary=model)
            assert loss.epsilon == loss.lower == math.inf
            assert loss.gap == 0
            assert loss.witness is not None
            assert loss.witness.replay(chain, erasing) == math.inf


def test_limits_are_checked() -> None:
    chain = cv.MarkovChain(np.full((3, 3), 1 / 3))
    channel = cv.Channel.randomized_response(3, 0.4)
    with pytest.raises(cv.InvalidInput, match="effort: found"):
        cv.privacy_loss(chain, channel, effort=0)
    with pytest.raises(cv.NotSupported, match="32768 points"):
        cv.privacy_loss(chain, channel, adversary=cv.Adversary(10**6))
    with pytest.raises(cv.NotSupported, match="probability"):
        cv.privacy_loss(chain, cv.Channel.randomized_response(3, 1e-60))
