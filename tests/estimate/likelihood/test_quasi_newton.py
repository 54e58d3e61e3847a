"""Maximising functions whose maximum is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from chainveil.estimate.likelihood.quasi_newton import (
    FARTHEST,
    LONGEST,
    Evaluation,
    ascend,
    ascent_step,
)

Floats = NDArray[np.float64]


class Tosses:
    """Log-likelihood of independent tosses by their log-odds, which counts its evaluations."""

    def __init__(self, heads: Floats, tosses: Floats) -> None:
        self.heads, self.tosses, self.evaluations = heads, tosses, 0

    def __call__(self, point: Floats) -> Evaluation:
        self.evaluations += 1
        share = 1 / (1 + np.exp(-point))
        value = float(self.heads @ point - self.tosses @ np.logaddexp(0, point))
        return Evaluation(point, value, self.heads - self.tosses * share, point * 0.999)

    @property
    def top(self) -> Floats:
        return np.log(self.heads / (self.tosses - self.heads))


@pytest.mark.parametrize("believed", [0.03, 1.0, 50.0])
def test_the_top_is_reached_whatever_curvature_was_believed(believed: float) -> None:
    tosses = Tosses(np.array([30.0, 2.0, 500.0]), np.array([100.0, 40.0, 900.0]))
    begin = tosses(np.zeros(3))
    found = ascend(tosses, begin, believed * np.diag(tosses.tosses / 4), 1e-9, 100)
    assert found.left < 1e-9
    np.testing.assert_allclose(found.last.point, tosses.top, atol=1e-4)
    assert tosses.evaluations < 60


def test_the_curvature_is_learned() -> None:
    tosses = Tosses(np.array([30.0, 60.0]), np.array([100.0, 80.0]))
    found = ascend(tosses, tosses(np.zeros(2)), 20 * np.eye(2), 1e-12, 100)
    share = tosses.heads / tosses.tosses
    true = tosses.tosses * share * (1 - share)
    slopes = np.diag(found.curvature)
    assert np.all(np.abs(slopes / true - 1) < 0.25)


@given(
    st.lists(st.floats(-6, 6), min_size=2, max_size=4),
    st.floats(1e-2, 1e3),
)
def test_an_ascent_never_ends_lower(start: list[float], believed: float) -> None:
    d = len(start)
    tosses = Tosses(np.linspace(1, 40, d), np.full(d, 50.0))
    begin = tosses(np.array(start))
    found = ascend(tosses, begin, believed * np.eye(d), 1e-6, 30)
    assert found.last.value >= begin.value
    assert found.left >= 0


def test_an_ascent_past_the_bounds_ends_there() -> None:
    tosses = Tosses(np.array([0.0, 10.0]), np.array([50.0, 20.0]))
    found = ascend(tosses, tosses(np.zeros(2)), np.diag([12.0, 5.0]), 1e-12, 200)
    assert found.last.point[0] < -12
    assert abs(found.last.point[1]) < 1e-4
    wall = Evaluation(np.array([-FARTHEST, 0.0]), 0.0, np.array([-5.0, 0.0]), np.zeros(2))
    assert ascend(tosses, wall, np.eye(2), 1e-6, 5).last is wall


def test_a_failing_step_falls_back_to_the_one_that_never_does() -> None:
    """A gradient that lies makes every trial lower; the last resort is taken."""

    def evaluate(point: Floats) -> Evaluation:
        value = -float(np.sum(np.abs(point)))
        return Evaluation(point, value, np.sign(point) * 3.0, point / 2)

    begin = evaluate(np.array([1.0]))
    assert ascend(evaluate, begin, np.eye(1), 1e-6, 1).last.point == [0.5]


def test_a_step_is_moderate_and_climbs_where_the_surface_curves_up() -> None:
    step = ascent_step(np.diag([-4.0, 1e-9]), np.array([1.0, 1.0]))
    assert np.all(step > 0)
    assert np.abs(step).max() == pytest.approx(LONGEST)
