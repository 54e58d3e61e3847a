"""One calibration for all noise on two states: budgets are kept and used, and cost is low."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.errors import InvalidInput, NotSupported, UnreachableBudget
from chainveil.noise.base import noise_class
from chainveil.privacy.bounds import replay
from chainveil.privacy.calibrate import MOST_NOISE, least_noise
from chainveil.privacy.costs import Cost
from chainveil.privacy.gains import Known, Laws
from chainveil.privacy.odds.loss import Question, attacks, loss
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated

KINDS = ("independent", "sticky", "tracking", "correlated")
# Of the budget that may be left over where less noise would do, and of the cost that a start
# elsewhere may save.
UNUSED, LITTLE = 0.01, 1e-4
Rng = np.random.Generator


def problem(model: Any, earlier: tuple[Any, ...] = (), **asked: Any) -> Problem:
    length, who = asked.get("length"), asked.get("adversary", "any")
    return Problem(
        model, earlier, length, who, unit=asked.get("unit", 1), gaps=asked.get("gaps", False)
    )


def random_chain(rng: Rng) -> cv.MarkovChain:
    """Slow, usual and alternating chains, q and r far apart or close."""
    kind = rng.integers(3)
    low, high = ((-3.5, -2.4), (-2.0, -0.1), (-0.4, -0.02))[kind]
    q, r = (float(f"{p:.4g}") for p in 10 ** rng.uniform(low, high, 2))
    return cv.MarkovChain.binary(q, r)


def levels(found: Calibrated) -> Any:
    """Both noise levels of independent noise."""
    return found.noise.first_law()[[0, 1], [1, 0]]


def check(asked: Problem, aim: Aim, kind: str) -> Calibrated:
    """Within the budget, on the grid, and with nothing left over that less noise would use."""
    found = least_noise(kind, asked, aim)
    again = loss(asked.with_release(found.noise))
    assert found.loss.epsilon == again.epsilon <= aim.epsilon
    assert found.noise == found.noise.on_grid()
    assert found.noise.kind == kind
    if found.loss.epsilon < (1 - UNUSED) * aim.epsilon:
        # Then always naming the commonest state is wrong no more often, or a limit is met.
        chain = asked.model.likeliest
        guess = float(chain.stationary.min())
        at_limit = kind == "independent" and np.isclose(levels(found), MOST_NOISE).any()
        assert at_limit or found.noise.expected_flips(chain) <= guess * (1 + LITTLE)
    return found


def costs_no_more(asked: Problem, aim: Aim, kind: str, found: Calibrated) -> None:
    """Than independent noise for the same question."""
    chain = asked.model.likeliest
    plain = least_noise("independent", asked, aim)
    form = noise_class(kind).parametrization(chain.transition, found.noise.every, asked.gaps)
    cost = Cost(form, aim.objective)
    prices = []
    for noise in (found.noise, plain.noise):
        kernel = np.asarray(noise.step_law())
        move = form.move
        pairs = np.einsum("xy,zxyw->zxwy", move, kernel).reshape(4, 4)
        law = np.linalg.matrix_power(pairs, 1 << 40)[0].reshape(2, 2)
        prices.append(cost.smooth(kernel[None], law[None])[0])
    assert prices[0] <= prices[1] + LITTLE * max(1.0, abs(prices[1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_budgets_are_kept_and_used(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    asked, epsilon = problem(random_chain(rng)), float(rng.uniform(0.4, 6))
    found = check(asked, Aim(epsilon), kind)
    if kind in ("sticky", "tracking"):
        costs_no_more(asked, Aim(epsilon), kind, found)


@pytest.mark.parametrize("kind", ["independent", "sticky"])
@pytest.mark.parametrize(
    "asked",
    [
        {"every": 3}, {"every": 12}, {"unit": 2}, {"gaps": True}, {"gaps": True, "every": 2},
        {"length": 9}, {"length": 9, "adversary": "ignorant"}, {"adversary": "informed"},
        {"adversary": cv.Adversary(2, {0, 4}), "length": 6}, {"objective": "share"},
        {"objective": "share", "every": 2}, {"objective": "distance"},
    ],
    ids=str,
)  # fmt: skip
def test_every_question(kind: str, asked: dict[str, Any]) -> None:
    question = problem(cv.MarkovChain.binary(0.08, 0.13), **asked)
    aim = Aim(2.5, asked.get("objective", "wrong-reports"), every=asked.get("every", 1))
    found = check(question, aim, kind)
    assert found.noise.every == aim.every
    costs_no_more(question, aim, kind, found)


@pytest.mark.parametrize("kind", ["tracking", "correlated"])
@pytest.mark.parametrize("asked", [{"unit": 2}, {"gaps": True}, {"length": 9}], ids=str)
def test_noise_of_one_holder(kind: str, asked: dict[str, Any]) -> None:
    check(problem(cv.MarkovChain.binary(0.08, 0.13), **asked), Aim(2.5), kind)


@pytest.mark.parametrize(
    ("q", "r", "epsilon", "most"),
    # Without feasible starts a search stalls there with budget left.
    [(0.00447, 0.08658, 1.144, 0.4912), (0.318, 0.0074, 5.01, 0.2559)],
)
def test_correlated_noise_does_not_stall(q: float, r: float, epsilon: float, most: float) -> None:
    chain = cv.MarkovChain.binary(q, r)
    found = check(problem(chain), Aim(epsilon), "correlated")
    assert found.noise.expected_flips(chain) <= most
    assert found.loss.epsilon >= (1 - UNUSED) * epsilon


@pytest.mark.parametrize("kind", KINDS)
def test_with_earlier_releases(kind: str) -> None:
    earlier = (cv.Channel.binary(0.45, 0.45).on_grid(), cv.CorrelatedNoise(0.4, 0.5).on_grid())
    chain = cv.MarkovChain.binary(0.2, 0.3)
    alone = least_noise(kind, problem(chain), Aim(3.0))
    found = check(problem(chain, earlier), Aim(3.0), kind)
    assert found.noise.expected_flips(chain) >= alone.noise.expected_flips(chain)


def test_spent_budgets_are_told() -> None:
    earlier = (cv.Channel.binary(0.1, 0.1).on_grid(),)
    with pytest.raises(UnreachableBudget, match="earlier"):
        least_noise("sticky", problem(cv.MarkovChain.binary(0.1, 0.2), earlier), Aim(1.0))


@pytest.mark.parametrize("kind", ["independent", "sticky", "tracking"])
def test_boxes(kind: str) -> None:
    box = cv.ChainRegion((0.08, 0.1), (0.11, 0.14), (0.09, 0.12))
    found = check(problem(box), Aim(1.5), kind)
    assert found.loss.chain is not None
    corner = problem(cv.MarkovChain.binary(0.08, 0.11)).with_release(found.noise)
    assert loss(corner).lower <= found.loss.epsilon


@pytest.mark.parametrize("kind", KINDS)
def test_families(kind: str) -> None:
    chains = [cv.MarkovChain.binary(*pair) for pair in ((0.3, 0.02), (0.02, 0.3), (0.1, 0.12))]
    family = cv.ModelFamily(chains, ["Ann", "Bob", "Cyd"])
    found = check(problem(family), Aim(2.0), kind)
    assert found.loss.member in ("Ann", "Bob", "Cyd")
    for chain in chains:
        assert loss(problem(chain).with_release(found.noise)).lower <= found.loss.epsilon


@pytest.mark.parametrize("kind", KINDS)
def test_other_laws_of_the_first_point(kind: str) -> None:
    check(problem(cv.MarkovChain.binary(0.1, 0.2, initial=[0.9, 0.1])), Aim(2.0), kind)


def test_the_best_number_of_points_to_a_report() -> None:
    chain = cv.MarkovChain.binary(0.0893, 0.1092)
    found = check(problem(chain), Aim(2.0, every="auto"), "sticky")
    every = check(problem(chain), Aim(2.0), "sticky")
    assert found.noise.every > 1
    assert found.noise.expected_flips(chain) < every.noise.expected_flips(chain)


def test_smoothing_gets_less_wrong() -> None:
    chain = cv.MarkovChain.binary(0.1, 0.15)
    form = noise_class("sticky").parametrization(chain.transition)
    cost = Cost(form, "smoothed")

    def price(found: Calibrated) -> float:
        kernel = np.asarray(found.noise.step_law())
        pairs = np.einsum("xy,zxyw->zxwy", form.move, kernel).reshape(4, 4)
        return cost(kernel, np.linalg.matrix_power(pairs, 1 << 40)[0].reshape(2, 2))

    usual = least_noise("sticky", problem(chain), Aim(2.0))
    found = least_noise("sticky", problem(chain), Aim(2.0, "smoothed"))
    assert found.loss.epsilon <= 2
    assert price(found) <= price(usual) + 1e-4


def test_noise_levels_of_single_points_are_at_most_a_half() -> None:
    chain = problem(cv.MarkovChain.binary(0.25, 0.032))
    assert levels(check(chain, Aim(3.0), "independent")).max() == pytest.approx(MOST_NOISE)


def test_borders_of_the_noise_levels() -> None:
    chain = cv.MarkovChain.binary(0.1, 0.2)
    found = least_noise("independent", problem(chain, adversary="ignorant"), Aim(2.0))
    planes, paper = found.half_planes, cv.closed_form.half_planes(0.1, 0.2, 2.0)
    assert planes is not None
    assert (planes.u, planes.w) == pytest.approx((paper.u, paper.w), rel=1e-3)
    assert least_noise("independent", problem(cv.MarkovChain.binary(0.7, 0.6)),
                       Aim(2.0)).half_planes is None  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "aim", "error"),
    [
        ("tracking", Aim(2.0, every=2), NotSupported),
        ("correlated", Aim(2.0, every="auto"), NotSupported),
        ("tracking", Aim(2.0, "share"), InvalidInput),
        ("correlated", Aim(2.0, "smoothed"), InvalidInput),
        ("sticky", Aim(2.0, shape="ordinal"), InvalidInput),
    ],
)
def test_what_is_not_offered(kind: str, aim: Aim, error: type[Exception]) -> None:
    with pytest.raises(error):
        least_noise(kind, problem(cv.MarkovChain.binary(0.1, 0.2)), aim)


def test_turning_chains_report_odd_blocks() -> None:
    with pytest.raises(NotSupported, match="odd"):
        least_noise("sticky", problem(cv.MarkovChain.binary(1, 1)), Aim(2.0, every=2))


@pytest.mark.parametrize("seed", range(12))
def test_gains_are_those_of_a_replay(seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    q, r = 10 ** rng.uniform(-4 if seed % 2 else -1.5, -0.01, 2)
    kind = KINDS[seed % 4]
    every = int(rng.integers(1, 5)) if seed % 4 < 2 else 1
    form = noise_class(kind).parametrization(np.array([[1 - q, q], [r, 1 - r]]), every, seed > 6)
    earlier = cv.StickyNoise.binary(rng.random((2, 2)), rng.random(2), 2)
    spent = [earlier.automaton(seed > 6)] if seed % 3 == 0 else []
    laws = Laws(form, spent)
    start = form.starts(2.0)[0]
    logits = start + rng.normal(size=len(start))
    opens = (0.3, 0.7) if seed % 5 == 0 else None
    question = Question((q, q, r, r), opens, laws.automaton(logits), 1 + seed % 3)
    found = list(dict.fromkeys(attacks(question)))
    known = Known(laws, question.transition, question.start)
    assert known.add(found) == len(found) > 0
    gains = known.gains(laws.shared(laws.numbers(logits[None])[2]))[0]
    for attack, gain in zip(found, gains, strict=True):
        assert gain == pytest.approx(
            replay(question.chain, question.automaton, attack), rel=1e-9, abs=1e-9
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(120))
def test_many_random_questions(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    kind = KINDS[seed % 4]
    asked: dict[str, Any] = {}
    every: Any = 1
    if kind in ("independent", "sticky") and rng.random() < 0.4:
        every = int(rng.integers(2, 9))
    if rng.random() < 0.2:
        asked["gaps"] = True
    if rng.random() < 0.2:
        asked["unit"] = int(rng.integers(2, 4))
    if rng.random() < 0.2:
        asked["length"] = int(rng.integers(4, 40))
    question = problem(random_chain(rng), **asked)
    aim = Aim(float(10 ** rng.uniform(-0.5, 1)), every=every)
    found = check(question, aim, kind)
    if kind in ("sticky", "tracking"):
        costs_no_more(question, aim, kind, found)
