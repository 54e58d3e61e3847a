"""Points without a report: what the points that report say of them is no less than the truth."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import chainveil as cv
from chainveil.privacy.letters.loss import loss as loss_by_words
from chainveil.privacy.letters.numbers import read_numbers
from chainveil.privacy.letters.search import Search
from chainveil.privacy.letters.sides import Script
from chainveil.privacy.problem import Effort, read_problem
from tests.oracle.letters import letters_loss
from tests.oracle.letters_cases import STRUCTURES, random_case

Array = NDArray[np.float64]
EVERY = 3


def _follows(law: Array, step: Array, end: Array, own_report: bool) -> list[tuple[Array, Array]]:
    """What may stand at a point that reports: with the reports and without, up to three of them."""
    k = len(step)
    powers = [np.linalg.matrix_power(step, j) for j in range(EVERY + 1)]
    nothing = [] if own_report else [(end, end)]
    found = nothing + [(one, one) for one in np.eye(k)]
    behind = [(end, end)] + [(one, one) for j in range(1, EVERY) for one in powers[j].T]
    for _ in range(3):
        now = [(law[:, z] * v, u) for v, u in behind for z in range(law.shape[1])]
        found += now
        behind = [(powers[EVERY] @ v, powers[EVERY] @ u) for v, u in now]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_silent_points_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = cv.MarkovChain(rng.dirichlet(np.ones(3), size=3) * 0.3 + 0.7 * np.eye(3))
    noise = cv.Channel(rng.dirichlet(np.full(3, 4.0), size=3), EVERY)
    search = Search(
        Script(read_numbers(chain, (noise,)), (noise,), False), "any", None, Effort(1e-3, 20_000)
    )
    search.run()
    law, step = noise.first_law(), np.asarray(chain.transition)
    sides = ((step.T, chain.stationary, True), (step, np.ones(3), False))
    for told, (move, end, own_report) in zip(search.silent.told, sides, strict=True):
        for distance in range(1, EVERY):
            away = np.linalg.matrix_power(move, distance)
            most = np.zeros((3, 3))
            for v, u in _follows(law, move, end, own_report):
                q = (away @ v) / (away @ u)
                most = np.maximum(most, np.log(q[:, None] / q))
            bound = told.bound(0, distance)
            assert np.all(bound >= most - 1e-12)
            # They say something.
            assert np.all(bound <= 6 * most.max())


@pytest.mark.parametrize("who", ["any", "ignorant"])
def test_with_next_to_no_nodes_the_bound_is_not_below_the_definition(who: str) -> None:
    tried = 0
    for seed, nodes in product(range(120), (50, 400)):
        rng = np.random.default_rng([12, seed])
        chain, noise = random_case(rng, 3, 1, STRUCTURES[seed % len(STRUCTURES)])
        n = int(rng.integers(2, 5))
        if noise.every == 1:
            continue
        tried += 1
        truth = letters_loss(chain, noise, n, who)
        found = loss_by_words(read_problem(chain, noise, n, who, nodes, tolerance=1e-6))
        near = 1e-11 * (1 + abs(truth)) if math.isfinite(truth) else 0.0
        assert found.epsilon >= truth - near, f"seed {seed}"
    assert tried >= 40


def test_rare_reports_of_eight_slow_states_have_a_bound() -> None:
    rng = np.random.default_rng(1)
    leave = np.exp(rng.uniform(math.log(1 / 200), math.log(1 / 10), (8, 1)))
    others = rng.dirichlet(np.ones(8), 8)
    chain = cv.MarkovChain((1 - leave) * np.eye(8) + leave * others)
    noise = cv.Channel.randomized_response(8, 0.8).thinned(25)
    loss = cv.privacy_loss(chain, noise, effort=30_000)
    assert loss.epsilon < 3 * loss.lower
