"""Several releases of one series: seen together, and paid for together."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import chainveil as cv
from tests.oracle.enumeration import loss_of_every_adversary, worst_loss


def test_joint_channels_multiply() -> None:
    a, b = cv.Channel.binary(0.3, 0.2), cv.Channel.randomized_response(2, 0.4)
    both = cv.Channel.joint(a, b)
    assert both.outputs == 4
    assert both.matrix[1, 2] == pytest.approx(a.matrix[1, 1] * b.matrix[1, 0])
    assert pickle.loads(pickle.dumps(both)) == both
    assert cv.Channel.joint(both, a).parts == (a, b, a)
    assert cv.Channel.joint(a) == a
    with pytest.raises(cv.InvalidInput, match=r"channels\[1\]"):
        cv.Channel.joint(a, cv.Channel.randomized_response(3, 0.4))
    with pytest.raises(cv.InvalidInput, match="at least one"):
        cv.Channel.joint()


@pytest.mark.parametrize("k", [2, 3])
def test_the_loss_of_two_releases_agrees_with_the_definition(k: int) -> None:
    rng = np.random.default_rng(k)
    chain = cv.MarkovChain(rng.dirichlet(np.ones(k), size=k))
    a, b = (cv.Channel(rng.dirichlet(np.full(2, 2.0), size=k)) for _ in range(2))
    losses = loss_of_every_adversary(
        chain.start, chain.transition, cv.Channel.joint(a, b).matrix, 3
    )
    loss = cv.privacy_loss(chain, [a, b], length=3)
    assert loss.epsilon == pytest.approx(worst_loss(losses, 3, "any"), abs=1e-9)
    alone = [cv.privacy_loss(chain, one, length=3).epsilon for one in (a, b)]
    assert max(alone) <= loss.epsilon <= sum(alone) * 3


@pytest.mark.parametrize(
    "chain",
    [
        cv.MarkovChain.binary(0.1, 0.2),
        cv.MarkovChain.symmetric(0.3),
        cv.MarkovChain.binary(0.7, 0.6),
    ],
)
def test_a_further_release_stays_within_the_total(chain: cv.MarkovChain) -> None:
    first = cv.calibrate(chain, 1.0).channel
    plan = cv.calibrate(chain, 2.5, earlier=[first])
    together = cv.privacy_loss(chain, [first, plan.channel]).epsilon
    assert together == plan.loss.epsilon
    assert 2.5 * (1 - 1e-6) <= together <= 2.5
    assert plan.earlier == (first,)
    with pytest.raises(cv.UnreachableBudget, match="earlier"):
        cv.calibrate(chain, 0.9, earlier=[first])


def test_one_sided_spending() -> None:
    # An earlier release that is nearly exact leaves no room at all.
    chain = cv.MarkovChain.binary(0.1, 0.2)
    with pytest.raises(cv.UnreachableBudget):
        cv.calibrate(chain, 1.0, earlier=[cv.Channel.binary(0.0, 0.4)])
    assert math.isinf(cv.privacy_loss(chain, [cv.Channel.binary(0.0, 0.4)] * 2).epsilon)
