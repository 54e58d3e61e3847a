"""Climbing surfaces whose top is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from chainveil.estimate.likelihood.climbing import FARTHEST, LONGEST, View, climb, uphill

Floats = NDArray[np.float64]


class Tosses:
    """Log-likelihood of independent tosses by their log-odds, which counts the looks at it."""

    def __init__(self, heads: Floats, tosses: Floats) -> None:
        self.heads, self.tosses, self.looks = heads, tosses, 0

    def __call__(self, place: Floats) -> View:
        self.looks += 1
        share = 1 / (1 + np.exp(-place))
        height = float(self.heads @ place - self.tosses @ np.logaddexp(0, place))
        return View(place, height, self.heads - self.tosses * share, place * 0.999)

    @property
    def top(self) -> Floats:
        return np.log(self.heads / (self.tosses - self.heads))


@pytest.mark.parametrize("believed", [0.03, 1.0, 50.0])
def test_the_top_is_reached_whatever_curvature_was_believed(believed: float) -> None:
    tosses = Tosses(np.array([30.0, 2.0, 500.0]), np.array([100.0, 40.0, 900.0]))
    begin = tosses(np.zeros(3))
    found = climb(tosses, begin, believed * np.diag(tosses.tosses / 4), 1e-9, 100)
    assert found.left < 1e-9
    np.testing.assert_allclose(found.view.place, tosses.top, atol=1e-4)
    assert tosses.looks < 60


def test_the_curvature_is_learned() -> None:
    tosses = Tosses(np.array([30.0, 60.0]), np.array([100.0, 80.0]))
    found = climb(tosses, tosses(np.zeros(2)), 20 * np.eye(2), 1e-12, 100)
    share = tosses.heads / tosses.tosses
    true = tosses.tosses * share * (1 - share)
    slopes = np.diag(found.curvature)
    assert np.all(np.abs(slopes / true - 1) < 0.25)


@given(
    st.lists(st.floats(-6, 6), min_size=2, max_size=4),
    st.floats(1e-2, 1e3),
)
def test_a_climb_never_ends_lower(start: list[float], believed: float) -> None:
    d = len(start)
    tosses = Tosses(np.linspace(1, 40, d), np.full(d, 50.0))
    begin = tosses(np.array(start))
    found = climb(tosses, begin, believed * np.eye(d), 1e-6, 30)
    assert found.view.height >= begin.height
    assert found.left >= 0


def test_a_climb_that_leads_past_the_border_ends_there() -> None:
    tosses = Tosses(np.array([0.0, 10.0]), np.array([50.0, 20.0]))
    found = climb(tosses, tosses(np.zeros(2)), np.diag([12.0, 5.0]), 1e-12, 200)
    assert found.view.place[0] < -12
    assert abs(found.view.place[1]) < 1e-4
    wall = View(np.array([-FARTHEST, 0.0]), 0.0, np.array([-5.0, 0.0]), np.zeros(2))
    assert climb(tosses, wall, np.eye(2), 1e-6, 5).view is wall


def test_a_failing_step_falls_back_to_the_one_that_never_does() -> None:
    """A slope that lies makes every trial lower; the last resort is taken."""

    def look(place: Floats) -> View:
        height = -float(np.sum(np.abs(place)))
        return View(place, height, np.sign(place) * 3.0, place / 2)

    begin = look(np.array([1.0]))
    assert climb(look, begin, np.eye(1), 1e-6, 1).view.place == [0.5]


def test_a_step_is_moderate_and_climbs_where_the_surface_curves_up() -> None:
    step = uphill(np.diag([-4.0, 1e-9]), np.array([1.0, 1.0]))
    assert np.all(step > 0)
    assert np.abs(step).max() == pytest.approx(LONGEST)
