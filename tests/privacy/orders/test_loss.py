"""Loss of chains of order 2 and 3: against enumeration, against its own replay, and its limits."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv
from chainveil.model.higher_order import HigherOrderChain
from chainveil.privacy.orders.loss import Closing, loss, solves
from chainveil.privacy.problem import Effort, Problem, read_problem
from tests.oracle.letters import letters_loss
from tests.oracle.letters_cases import NOISES, STRUCTURES, random_case

TOLERANCE = 1e-4
# Order 2 of a heart rate: short alternations are rarer than a chain of order 1 would have them.
CHAIN = HigherOrderChain.from_json(
    {"transition": [[0.72, 0.28], [0.42, 0.58], [0.90, 0.10], [0.36, 0.64]]}
)
NOISE = cv.Channel.binary(0.30, 0.26)


def _random_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    states, order = ((2, 2), (2, 3), (3, 2))[seed % 3]
    kind, name = str(rng.choice(STRUCTURES)), str(rng.choice(NOISES[:-1]))
    model, noise = random_case(rng, states, order, kind, name)
    points = int(rng.integers(1, 7 if states == 2 else 5))
    adversary = str(rng.choice(["any", "ignorant"]))
    return read_problem(model, noise, points, adversary, tolerance=TOLERANCE)


def _agrees(problem: Problem) -> None:
    (noise,) = problem.releases
    truth = letters_loss(problem.model, noise, problem.length or 0, str(problem.adversary))
    found = loss(problem)
    assert solves(problem)
    assert found.lower <= truth + 1e-9
    assert truth <= found.epsilon + 1e-13
    assert found.epsilon == truth or found.epsilon <= truth + 2 * TOLERANCE
    assert found.lower == truth or found.lower >= truth - 2 * TOLERANCE


@pytest.mark.parametrize("seed", range(5, 35))
def test_bounds_enclose_what_enumeration_finds(seed: int) -> None:
    _agrees(_random_problem(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(35, 535))
def test_bounds_enclose_what_enumeration_finds_in_many_cases(seed: int) -> None:
    _agrees(_random_problem(seed))


@pytest.mark.parametrize("adversary", ["any", "ignorant"])
def test_every_length_is_what_long_series_come_to(adversary: str) -> None:
    every = loss(read_problem(CHAIN, NOISE, None, adversary, tolerance=1e-3))
    assert every.gap <= 1.1e-3
    before = 0.0
    for points in (2, 4, 8, 30):
        found = loss(read_problem(CHAIN, NOISE, points, adversary, tolerance=1e-3))
        assert before - 1e-3 <= found.epsilon <= every.epsilon + 2e-3
        before = found.epsilon
    assert before >= every.lower - 2e-3


def test_the_attack_is_one_that_enumeration_confirms() -> None:
    problem = read_problem(CHAIN, NOISE, 6, "any", tolerance=1e-6)
    found = loss(problem)
    attack = found.witness
    assert attack is not None
    told = letters_loss(CHAIN, NOISE, 6, cv.Adversary(attack.target, attack.known))
    assert found.lower <= told + 1e-12
    assert found.lower == attack.replay(CHAIN, NOISE)


def test_a_report_that_rules_a_value_out_tells_everything() -> None:
    noise = cv.Channel([[0.5, 0.5], [0.0, 1.0]])
    found = loss(read_problem(CHAIN, noise, None, "any"))
    assert found.epsilon == found.lower == np.inf


def test_noise_that_hides_everything_loses_nothing() -> None:
    found = loss(read_problem(CHAIN, cv.Channel.binary(0.5, 0.5), None, "any"))
    assert (found.epsilon, found.lower) == (0.0, 0.0)


def test_who_knows_all_other_points_learns_the_target_alone() -> None:
    found = loss(read_problem(CHAIN, NOISE, None, "informed", tolerance=1e-6))
    told = max(np.log(0.74 / 0.30), np.log(0.70 / 0.26))
    assert found.lower == pytest.approx(told, abs=1e-9)
    assert told <= found.epsilon <= told + 2e-6


def test_limits_of_the_effort_leave_a_bound_that_holds() -> None:
    exact = loss(read_problem(CHAIN, NOISE, 8, "any", tolerance=1e-5))
    few = loss(read_problem(CHAIN, NOISE, 8, "any", 2, tolerance=1e-5))
    assert few.epsilon >= exact.lower
    assert few.gap > exact.gap


def test_steps_are_told_and_more_of_them_bring_bounds_closer() -> None:
    few, many = (loss(read_problem(CHAIN, NOISE, None, "any", steps)) for steps in (1, None))
    assert many.lower <= few.epsilon
    assert many.gap <= 5e-4 * many.lower
    assert few.steps < many.steps


def test_a_search_goes_on_where_it_stopped() -> None:
    closing = Closing(read_problem(CHAIN, NOISE, None, "any"))
    coarse = closing.to(Effort(0.1))
    before = closing.nodes
    fine = closing.to(Effort(1e-3))
    assert closing.nodes > before
    assert coarse.lower <= fine.lower <= fine.epsilon <= coarse.epsilon
    assert fine.gap <= 1.1e-3
    assert closing.to(Effort(1e-9), enough=0.1) == fine


def test_what_other_engines_answer_is_left_to_them() -> None:
    order_one = cv.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    assert not solves(read_problem(order_one, NOISE, None, "any"))
    assert not solves(read_problem(CHAIN, NOISE, 5, "informed"))
    assert not solves(read_problem(CHAIN, NOISE, 5, cv.Adversary(1, {0})))


@pytest.mark.parametrize("points", [3, None])
def test_a_value_that_never_occurs_is_no_secret(points: int | None) -> None:
    # The other two are tossed with a fair coin, and each of their reports is told twice as often.
    chain = HigherOrderChain.from_json({"transition": [[0.5, 0.5, 0.0]] * 9})
    noise = cv.Channel.randomized_response(3, 0.5)
    found = loss(read_problem(chain, noise, points, "any", tolerance=1e-6))
    assert found.lower <= np.log(2) + 1e-12
    assert np.log(2) <= found.epsilon <= np.log(2) + 1e-6
