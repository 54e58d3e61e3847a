"""Numbers against known attacks: the least move, and the cheapest numbers on any scale."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.letters import losses
from chainveil.privacy.letters.attacks import Attacks
from chainveil.privacy.letters.calibrate import family
from chainveil.privacy.letters.choosing import cheapest, least_move
from chainveil.privacy.letters.loss import Closing
from chainveil.privacy.letters.shapes import Numbers, Shape, cost
from chainveil.privacy.problem import Aim, Effort, read_problem
from tests.machines import LEVELS

# It leaves its states once in hundreds of points: noise is within 1e-3 of hiding everything.
SLOW = cv.MarkovChain(
    [
        [0.996, 0.002, 0.001, 0.001],
        [0.001, 0.998, 0.0005, 0.0005],
        [0.0005, 0.0005, 0.9985, 0.0005],
        [0.001, 0.002, 0.002, 0.995],
    ]
)


def _attacks(chain: cv.MarkovChain, shape: Shape, levels: list[float]) -> Attacks:
    """Attacks on noise of one level or another, as a search finds them."""
    found = Attacks(chain, ())
    for level in levels:
        noise = shape.make(np.full(shape.size, level)).on_grid()
        closing = Closing(read_problem(chain, noise, None, "any"))
        found.add(closing.to(Effort(0.05, 20_000, attacks_only=True)).witness, noise)
    assert len(found) >= 2
    return found


def _gained(attacks: Attacks, shape: Shape, numbers: Numbers) -> float:
    return float(attacks.values([shape.make(numbers)]).max())


@pytest.mark.parametrize(("chain", "levels"), [(LEVELS, [0.8, 0.97]), (SLOW, [0.99, 0.9995])])
@pytest.mark.parametrize("sticky", [False, True])
def test_the_least_move_is_the_least(
    chain: cv.MarkovChain, levels: list[float], sticky: bool
) -> None:
    shape = family(4, "per-state", 1, sticky)[-1]
    attacks = _attacks(chain, shape, levels)
    for level in (0.3, 0.99):
        numbers = np.full(shape.size, level)
        for target in (0.5, 2.0):
            move = least_move(attacks, shape, numbers, target)
            assert _gained(attacks, shape, shape.moved(numbers, move)) <= target
            assert _gained(attacks, shape, shape.moved(numbers, move - 1e-5)) > target


def test_without_an_attack_nothing_is_moved() -> None:
    shape = family(4, "uniform", 1, False)[0]
    assert least_move(Attacks(LEVELS, ()), shape, np.array([0.5]), 1.0) == 0.0


@pytest.mark.parametrize(("chain", "levels"), [(LEVELS, [0.8, 0.97]), (SLOW, [0.99, 0.9995])])
@pytest.mark.parametrize("start", [0.2, 0.9999])
def test_the_cheapest_numbers_keep_the_budget_and_cost_no_more_than_even_ones(
    chain: cv.MarkovChain, levels: list[float], start: float
) -> None:
    epsilon, share, aim = 2.0, 0.99, Aim(2.0)
    shape = family(4, "per-state", 1, False)[-1]
    attacks = _attacks(chain, shape, levels)
    numbers = np.full(4, start)
    found = cheapest(attacks, shape, numbers, epsilon, share, lambda noise: cost(chain, noise, aim))
    even = shape.moved(numbers, least_move(attacks, shape, numbers, share * epsilon))
    assert _gained(attacks, shape, found) <= (share + 2e-4) * epsilon
    assert cost(chain, shape.make(found), aim) < cost(chain, shape.make(even), aim) - 1e-6


def test_numbers_leave_no_more_open_than_reach_says() -> None:
    aim, shape = Aim(2.0), family(4, "per-state", 1, False)[-1]
    attacks = _attacks(SLOW, shape, [0.99, 0.9995])
    even = shape.moved(np.full(4, 0.5), least_move(attacks, shape, np.full(4, 0.5), 1.98))
    found = cheapest(attacks, shape, even, 2.0, 0.99, lambda noise: cost(SLOW, noise, aim), 1.5)
    quotient = (1 - found) / (1 - even)
    assert quotient.max() <= 1.5 * (1 + 1e-9)
    assert quotient.min() >= (1 - 1e-9) / 1.5


def test_with_no_nodes_left_one_number_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = cv.MarkovChain([[0.8, 0.1, 0.1], [0.3, 0.4, 0.3], [0.05, 0.05, 0.9]])
    several = cv.calibrate(chain, 2.0, shape="per-state")
    one = cv.calibrate(chain, 2.0)
    assert several.expected_flips < one.expected_flips - 0.01
    monkeypatch.setattr(losses, "ALL", -1.0)
    cut = cv.calibrate(chain, 2.0, shape="per-state")
    assert cut.loss.epsilon <= 2.0
    assert cut.expected_flips <= one.expected_flips + 1e-9
