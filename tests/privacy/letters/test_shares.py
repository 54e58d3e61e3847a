"""Without knowledge, what follows a point has the shares that are claimed for it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise
from chainveil.privacy.letters.cases import Laid
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


def to_search(chain: cv.MarkovChain, noise: Noise, nodes: int) -> Search:
    script = Script(read_numbers(chain, (noise,)), (noise,), False)
    return Search(script, "ignorant", None, Effort(1e-4, nodes))


def searched(chain: cv.MarkovChain, noise: Noise, nodes: int) -> tuple[Shares, Shares]:
    search = to_search(chain, noise, nodes)
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


def test_what_was_left_out_once_stays_below_the_bound() -> None:
    # The first report tells most, so that some short words are worth more than long ones.
    chain = cv.MarkovChain([[0.3, 0.4, 0.3], [0.2, 0.1, 0.7], [0.1, 0.8, 0.1]])
    first = np.array([[0.43, 0.18, 0.39], [0.88, 0.1, 0.02], [0.12, 0.76, 0.12]])
    kernel = [
        [[0.35, 0.32, 0.33], [0.38, 0.3, 0.32], [0.37, 0.25, 0.38]],
        [[0.45, 0.22, 0.33], [0.37, 0.36, 0.27], [0.34, 0.29, 0.37]],
        [[0.47, 0.3, 0.23], [0.32, 0.38, 0.3], [0.42, 0.28, 0.3]],
    ]
    noise = StickyNoise(np.array(kernel), first)
    exact, side = (
        next(
            case.left
            for case in to_search(chain, noise, 20_000).cases([0])
            if (case.pair, case.place) == ((0, 1), (0, 0))
        )
        for _ in range(2)
    )
    assert isinstance(exact, Laid)
    assert isinstance(side, Laid)
    exact.improve(3, -np.inf, 1e-5, 20_000, True)
    worth = float(exact.lower_by_points(0)[0])
    # Words that are worth as much do not matter, then they do: the other side got worse.
    for turn, low in enumerate([-np.inf, worth + 1e-6, worth - 0.01]):
        side.improve(turn, low, 0.3, 1_000, True)
        shown, place = side.side.priors.worth, (*side.side.place, *side.side.pair)
        assert shown is not None
        assert shown.bounds[place] >= worth - 1e-9
    assert side.side.settle(None) < worth - 0.01


def test_slow_chains_close_where_nothing_is_known() -> None:
    loss = cv.privacy_loss(LEVELS, PER_STATE, adversary="ignorant", effort=50_000)
    assert loss.lower == pytest.approx(1.5540, abs=1e-4)
    assert loss.gap <= 1e-4
