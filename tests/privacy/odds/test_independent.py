"""Against the enumerated definition: every target, every known set, every value and output."""

from __future__ import annotations

import math

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.result import PrivacyLoss
from tests.batches import batches
from tests.oracle.enumeration import Case, loss_of_every_adversary, worst_loss

BATCHES, INSTANCES = 20, 110  # 2,200 instances


def _probability(rng: np.random.Generator) -> float:
    """Anywhere in (0, 1), near either end, or a round number."""
    kind = rng.integers(6)
    if kind < 3:
        return float(rng.random())
    if kind < 5:
        near = float(10 ** -rng.uniform(0.01, 4))
        return near if kind == 3 else 1 - near
    return float(rng.choice([0.5, 0.25, 0.75]))


def _channel(rng: np.random.Generator) -> cv.Channel:
    kind = rng.integers(8)
    if kind < 5:
        return cv.Channel.binary(_probability(rng), _probability(rng))
    rows = rng.dirichlet([0.7, 0.7, 0.7], 2)
    if kind == 7:
        rows = rows[:, :1] @ np.ones((1, 1)) * 0.5 + np.array([[0.0], [0.3]])
        rows = np.hstack([rows, 1 - rows])
    return cv.Channel(rows)


def _start(rng: np.random.Generator) -> list[float] | None:
    kind = rng.integers(4)
    if kind < 2:
        return None
    weight = float(rng.random()) if kind == 2 else float(rng.choice([0.0, 1.0, 0.5, 1e-6]))
    return [weight, 1 - weight]


def _check(found: PrivacyLoss, truth: float, chain: cv.MarkovChain, channel: cv.Channel) -> None:
    context = (chain, channel, found, truth)
    if math.isinf(truth):
        assert math.isinf(found.epsilon), context
    else:
        assert abs(found.epsilon - truth) <= 1e-9 * max(1, truth), context
        assert found.epsilon - found.lower <= 1e-9 * max(1, found.epsilon), context
    assert found.lower <= found.epsilon, context
    if found.witness is None:
        # Nothing to tell apart; or no noise at all on a chain whose start is certain.
        assert truth <= 1e-12 or (0 in chain.start and np.all(channel.matrix % 1 == 0)), context
    else:
        replayed = found.witness.replay(chain, channel)
        same = replayed == found.lower or abs(replayed - found.lower) <= 1e-11 * (1 + replayed)
        assert same, context


def _ask(rng: np.random.Generator, chain: cv.MarkovChain, channel: cv.Channel, n: int) -> None:
    truth = loss_of_every_adversary(chain.start, chain.transition, channel.matrix, n)
    for model in ("any", "ignorant", "informed"):
        found = cv.privacy_loss(chain, channel, length=n, adversary=model)
        _check(found, worst_loss(truth, n, model), chain, channel)
    cases: list[Case] = list(truth)
    for j in rng.choice(len(cases), min(len(cases), 6), replace=False):
        target, known = cases[j]
        found = cv.privacy_loss(chain, channel, length=n, adversary=cv.Adversary(target, known))
        _check(found, truth[cases[j]], chain, channel)


@pytest.mark.parametrize("batch", batches(BATCHES, 2))
def test_random_instances(batch: int) -> None:
    rng = np.random.default_rng([1_729, batch])
    for _ in range(INSTANCES):
        chain = cv.MarkovChain.binary(_probability(rng), _probability(rng), _start(rng))
        channel = _channel(rng)
        n = int(rng.integers(1, 6 if channel.outputs == 2 else 5))
        _ask(rng, chain, channel, n)


@pytest.mark.slow
@pytest.mark.parametrize("start", [None, [1.0, 0.0], [0.0, 1.0], [0.3, 0.7]])
@pytest.mark.parametrize("q", [1.0, 0.4])
@pytest.mark.parametrize("r", [1.0, 0.7])
@pytest.mark.parametrize("noise", [(0.2, 0.1), (0.0, 0.3), (0.0, 0.0), (0.5, 0.5), (0.3, 1.0)])
def test_impossible_transitions_and_certain_starts(
    start: list[float] | None, q: float, r: float, noise: tuple[float, float]
) -> None:
    chain, channel = cv.MarkovChain.binary(q, r, start), cv.Channel.binary(*noise)
    rng = np.random.default_rng(5)
    for n in range(1, 6):
        _ask(rng, chain, channel, n)


def test_the_oracle_itself_on_one_point() -> None:
    truth = loss_of_every_adversary(
        np.array([0.4, 0.6]),
        np.array([[0.9, 0.1], [0.2, 0.8]]),
        np.array([[0.8, 0.2], [0.3, 0.7]]),
        1,
    )
    assert truth == {(0, frozenset()): pytest.approx(math.log(0.7 / 0.2))}
