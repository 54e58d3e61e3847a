"""Without knowledge, what follows a point has the shares that are claimed for it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.base import Noise
from chainveil.privacy.letters.numbers import read_numbers
from chainveil.privacy.letters.search import Search
from chainveil.privacy.letters.shares import Shares
from chainveil.privacy.letters.sides import Script
from chainveil.privacy.problem import Effort
from tests.machines import LEVELS

# Flip probabilities for each of four levels that the attacks found allow at epsilon = 1.55.
PER_STATE = cv.Channel(
    [[0.2576, 0.2475, 0.2475, 0.2474], [0.2417, 0.2749, 0.2417, 0.2417],
     [0.244, 0.244, 0.268, 0.244], [0.25, 0.25, 0.25, 0.25]]
)  # fmt: skip


def searched(chain: cv.MarkovChain, noise: Noise, nodes: int) -> tuple[Shares, Shares]:
    search = Search(
        Script(read_numbers(chain, (noise,)), (noise,), False),
        "ignorant",
        None,
        Effort(1e-4, nodes),
    )
    search.run()
    left, right = (priors.shares for priors in search.priors)
    assert left is not None
    assert right is not None
    return left, right


@pytest.mark.parametrize("seed", range(6))
def test_what_follows_has_at_least_these_shares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = cv.MarkovChain(rng.dirichlet(np.ones(3), size=3))
    noise = cv.Channel(rng.dirichlet(np.full(3, 5.0), size=3))
    left, right = searched(chain, noise, 4_000)
    law, step = noise.first_law(), np.asarray(chain.transition)
    starts = [law[:, z] * chain.stationary for z in range(3)]
    for shares, move, ends in ((left, step.T, starts), (right, step, [np.ones(3)])):
        nearest = np.inf
        for end, reports in product(ends, all_reports(5)):
            follows = end
            for report in reports:
                follows = law[:, report] * (move @ follows)
            share = follows / follows.sum()
            nearest = min(nearest, float((share / shares.least[0, 0]).min()))
        # They hold, and they say something.
        assert 1 <= nearest < 3


def all_reports(most: int) -> list[tuple[int, ...]]:
    """All reports of up to so many points."""
    return [word for count in range(most + 1) for word in product(range(3), repeat=count)]


def test_slow_chains_close_where_nothing_is_known() -> None:
    loss = cv.privacy_loss(
        LEVELS, PER_STATE, adversary="ignorant", tolerance=1e-4, max_nodes=50_000
    )
    assert loss.lower == pytest.approx(1.5540, abs=1e-4)
    assert loss.gap <= 1e-4
