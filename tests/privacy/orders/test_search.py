"""How bounds are brought together: what is asked next, where it ends, and where it goes on."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

import chainveil as cv
from chainveil.model.higher_order import HigherOrderChain
from chainveil.noise.memory import StickyNoise
from chainveil.privacy.orders.alphabet import Alphabet
from chainveil.privacy.orders.loss import Closing, loss
from chainveil.privacy.orders.numbers import read_numbers
from chainveil.privacy.orders.search import Search
from chainveil.privacy.problem import Effort, read_problem
from tests.oracle.letters_cases import random_case
from tests.privacy.orders.heart import FOUR, NOISE, THREE
from tests.privacy.orders.test_loss import CHAIN


def test_attacks_alone_are_looked_for_without_a_bound() -> None:
    closing = Closing(read_problem(CHAIN, NOISE, None, "any"))
    quick = closing.to(Effort(1e-3, attacks_only=True))
    assert closing.nodes == 0
    assert quick.epsilon == math.inf
    found = closing.to(Effort(1e-3))
    assert quick.lower <= found.lower <= found.epsilon < math.inf


def test_order_three_of_a_heart_rate() -> None:
    found = loss(read_problem(THREE, NOISE, None, "any", tolerance=0.02))
    assert found.gap <= 0.02
    assert 4.59 <= found.lower <= 4.61


@pytest.mark.slow
def test_order_four_of_a_heart_rate_to_one_per_cent() -> None:
    found = loss(read_problem(FOUR, NOISE, None, "any", tolerance=0.06))
    assert found.gap <= 0.01 * found.lower
    assert 6.18 <= found.lower <= 6.21


@pytest.mark.parametrize(
    ("level", "most"), [(0.46, 0.95), pytest.param(0.498, 0.2, marks=pytest.mark.slow)]
)
def test_noise_that_hides_much_is_bounded_by_what_it_tells(level: float, most: float) -> None:
    # What is known tells more than the reports do; bounds of reports and knowledge apart from each
    # other stay above 1.2, whatever the noise.
    noise = cv.Channel.binary(level, level)
    found = loss(read_problem(THREE, noise, None, "any", 60_000, tolerance=0.1))
    assert 0.0 < found.lower <= found.epsilon <= most


@pytest.mark.parametrize("every", [1, 2, 5])
@pytest.mark.parametrize("sticky", [False, True])
def test_a_chain_of_order_one_written_as_one_of_order_two(every: int, sticky: bool) -> None:
    # Two engines that share nothing: odds of two states, and functionals of contexts.
    q, r = 0.12, 0.2
    one = cv.MarkovChain.binary(q=q, r=r)
    two = HigherOrderChain([[1 - q, q], [r, 1 - r]] * 2, order=2)
    noise = cv.Channel.binary(0.3, 0.25).on_grid().thinned(every)
    if sticky:
        afresh, first = cv.Channel.binary(0.2, 0.2), cv.Channel.binary(0.35, 0.35)
        noise = StickyNoise.response(0.4, afresh.on_grid(), first.on_grid(), every)  # type: ignore[assignment]
    exact = cv.privacy_loss(one, noise).epsilon
    found = loss(read_problem(two, noise, None, "any", tolerance=2e-3))
    assert found.lower <= exact + 1e-9
    assert exact <= found.epsilon + 1e-9
    assert found.epsilon <= exact + 4e-3


def test_the_clock_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = read_problem(THREE, NOISE, None, "any", 1000, tolerance=1e-3)
    found = loss(problem)
    assert found.gap > 1e-3
    clock = itertools.count(0.0, 1e6)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert loss(problem) == found


@pytest.mark.slow
def test_similar_noise_tells_where_to_begin_and_bounds_hold() -> None:
    first = Closing(read_problem(THREE, cv.Channel.binary(0.35, 0.35), None, "any"))
    first.to(Effort(0.05))
    problem = read_problem(THREE, cv.Channel.binary(0.37, 0.37), None, "any", tolerance=0.05)
    again, alone = Closing(problem, first), Closing(problem)
    found, other = again.to(Effort(0.05)), alone.to(Effort(0.05))
    assert found.lower <= other.epsilon
    assert other.lower <= found.epsilon
    assert again._search.cones is not None
    assert alone._search.cones is not None
    assert again._search.cones.worked < alone._search.cones.worked


def test_many_contexts_are_bounded_without_functionals() -> None:
    chain, noise = random_case(np.random.default_rng(3), 3, 3, "dense", "response")
    closing = Closing(read_problem(chain, noise.thinned(1), None, "any"))
    found = closing.to(Effort(0.5, 20_000))
    assert closing._search.cones is None
    assert found.lower <= found.epsilon


def test_a_search_for_attacks_alone_begins_no_walk() -> None:
    alphabet = Alphabet(read_numbers(CHAIN, NOISE), "any")
    search = Search(alphabet, None, Effort(1e-3, attacks_only=True))
    search.run()
    assert search.upper == math.inf
    assert search.lower > 0


def test_attacks_on_long_series_stay_within_them() -> None:
    # Bounds for so many points are those of every length; an attack may not be longer.
    stay = [[0.99995, 0.00005], [0.00005, 0.99995]]
    chain, noise = HigherOrderChain(stay * 2, order=2), cv.Channel.binary(0.49, 0.49)
    found = loss(read_problem(chain, noise, 257, "any", 200, tolerance=0.1))
    assert found.witness is not None
    assert found.witness.length <= 257


def test_what_may_follow_takes_no_more_than_is_left() -> None:
    closing = Closing(read_problem(FOUR, NOISE.thinned(5), None, "any"))
    found = closing.to(Effort(0.2, 5_000))
    assert closing.nodes < 15_000
    assert found.lower <= found.epsilon
