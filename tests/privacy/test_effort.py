"""Effort is counted in steps: the same question has the same answer, wherever it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy import engines
from chainveil.privacy.adversary import read_adversary
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss

TWO = cv.MarkovChain.binary(0.1, 0.2)
SLOW = cv.MarkovChain.binary(0.003, 0.004)
STICKY = cv.StickyNoise.binary([[0.1, 0.45], [0.55, 0.9]], [0.4, 0.6]).on_grid()
THREE = cv.MarkovChain([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
# Bounds of sticky noise do not meet on it.
FOUR = cv.MarkovChain(
    [[0.9, 0.08, 0.02, 0.0], [0.05, 0.88, 0.05, 0.02], [0.02, 0.05, 0.88, 0.05],
     [0.0, 0.02, 0.1, 0.88]]
)  # fmt: skip
LONGER = cv.HigherOrderChain([[0.91, 0.09], [0.25, 0.75], [0.75, 0.25], [0.1, 0.9]], order=2)
FAMILY = cv.ModelFamily([THREE, cv.MarkovChain(0.1 / 2 * (1 - np.eye(3)) + 0.9 * np.eye(3))])

PLANS: dict[str, Callable[[], cv.NoisePlan]] = {
    "sticky": lambda: cv.calibrate(TWO, 2.0, mechanism="sticky", gaps=True),
    "unit": lambda: cv.calibrate(TWO, 2.0, unit=2, max_length=9),
    "earlier": lambda: cv.calibrate(TWO, 2.0, earlier=[cv.Channel.binary(0.45, 0.45)]),
    "region": lambda: cv.calibrate(cv.ChainRegion((0.09, 0.11), (0.18, 0.22)), 2.0),
    "three states": lambda: cv.calibrate(THREE, 2.0, mechanism="sticky"),
    "four states": lambda: cv.calibrate(FOUR, 2.0, mechanism="sticky"),
    "per state": lambda: cv.calibrate(FOUR, 2.0, shape="per-state"),
    "ignorant": lambda: cv.calibrate(THREE, 2.0, adversary="ignorant", max_length=30),
    "order 2": lambda: cv.calibrate(LONGER, 2.0, max_length=6),
    "family": lambda: cv.calibrate(FAMILY, 2.0),
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_that_is_asked_again_says_the_same(kind: str) -> None:
    plan = PLANS[kind]()
    found = plan.loss
    again = cv.privacy_loss(
        plan.model, plan.shown, unit=plan.unit, length=found.length, adversary=found.adversary,
        gaps=plan.gaps, effort=found.effort,
    )  # fmt: skip
    assert again == found
    assert found.epsilon <= plan.epsilon
    assert found.steps > 0


@pytest.mark.parametrize(
    ("model", "noise"),
    [(SLOW, STICKY), (FOUR, cv.Channel.randomized_response(4, 0.6)), (LONGER, STICKY)],
    ids=["two states", "four states", "order 2"],
)
def test_fewer_steps_leave_bounds_that_hold(model: Any, noise: Any) -> None:
    full = cv.privacy_loss(model, noise)
    for steps in (1, 100):
        few = cv.privacy_loss(model, noise, effort=steps)
        assert few.lower <= full.epsilon * (1 + 1e-9)
        assert few.epsilon >= full.lower * (1 - 1e-9)
        assert few.effort == steps
        assert few.steps <= full.steps
        assert cv.privacy_loss(model, noise, effort=steps) == few
    assert cv.privacy_loss(model, noise, effort=1).epsilon > full.epsilon
    assert full.effort is None


def _too_weak(_kind: str, _problem: Problem, aim: Aim) -> Calibrated:
    """A search for noise that claims a loss which nobody finds."""
    noise = cv.Channel.randomized_response(3, 0.3).on_grid()
    return Calibrated(noise, PrivacyLoss(aim.epsilon, 0.0, None, "any", None))


def test_noise_whose_loss_is_not_found_again_gets_more_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "least_noise", _too_weak)
    weak = cv.privacy_loss(THREE, cv.Channel.randomized_response(3, 0.3))
    plan = cv.calibrate(THREE, 2.0)
    assert plan.loss == cv.privacy_loss(THREE, plan.noise)
    assert 1.99 <= plan.loss.epsilon <= 2.0 < weak.lower
    problem = Problem(THREE, (), None, read_adversary("any", None))
    assert engines.calibrated("independent", problem, Aim(2.0)).noise == plan.noise


def test_bounds_that_do_not_meet_get_more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Problem] = []
    usual = engines.loss

    def loss(problem: Problem) -> PrivacyLoss:
        found.append(problem)
        done = usual(problem)
        # Bounds lie on both sides of the budget until there are enough steps.
        wide = problem.effort is None
        return PrivacyLoss(
            3.0 if wide else done.epsilon, done.lower, done.witness, "any", None,
            steps=done.steps, effort=problem.effort,
        )  # fmt: skip

    monkeypatch.setattr(engines, "loss", loss)
    plan = cv.calibrate(THREE, 2.0)
    assert found[-1].effort == plan.loss.effort == engines.MORE * usual(found[-2]).steps
    monkeypatch.undo()
    assert cv.verify(plan.certificate()).holds
    assert plan.certificate()["loss.effort"] == plan.loss.effort
