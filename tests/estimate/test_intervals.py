"""Intervals stay on their scale, cover as often as they say, and are never empty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainveil.estimate.answer_table import in_words
from chainveil.estimate.intervals import quantile, ratio_interval, share_interval
from tests.batches import some_quick

finite = st.floats(-2, 3)
positive = st.floats(1e-3, 2)
D = quantile(0.95)


@settings(deadline=None)
@given(finite, positive)
def test_an_interval_is_never_nothing(value: float, error: float) -> None:
    """However far off the scale, though a value that is far off leaves less."""
    low, high = share_interval(np.array([value]), np.array([error**2]), 0.0, D)
    assert 0 <= low[0] < high[0] <= 1


def test_feldman_and_cousins() -> None:
    """Their Table X at 95%: a normal number of spread 1 that is not negative."""
    found = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0])
    scale = 1e-3
    low, high = share_interval(found * scale, np.full(8, scale**2), 0.0, D)
    np.testing.assert_allclose(low / scale, [0, 0, 0, 0, 0, 0.35, 1.14, 2.04], atol=0.01)
    np.testing.assert_allclose(
        high / scale, [0.42, 0.62, 1.10, 1.96, 2.96, 3.96, 4.96, 5.96], atol=0.01
    )


def test_far_from_the_ends_nothing_changes() -> None:
    value, error = np.array([0.3, 0.5, 0.6]), np.array([0.05, 0.1, 0.02])
    low, high = share_interval(value, error**2, 0.0, D)
    np.testing.assert_allclose([low, high], [value - D * error, value + D * error])


def test_without_noise_it_is_wilsons() -> None:
    """Drawing takes no share off its scale: not even where all points are alike."""
    low, high = share_interval(np.array([1.0, 0.5]), np.zeros(2), np.array([0.01, 0.01]), D)
    np.testing.assert_allclose(low, [100 / (100 + D**2), 0.5 - D / 2 / np.sqrt(100 + D**2)])
    np.testing.assert_allclose(high, [1.0, 0.5 + D / 2 / np.sqrt(100 + D**2)])


@pytest.mark.parametrize("lean", [0.0, 0.1, -0.1])
@pytest.mark.parametrize("p", some_quick([0.0, 0.03, 0.4, 1.0], [0.03]))
@pytest.mark.parametrize(("bottom", "spread"), [(1.0, 0.0), (0.5, 0.1), (0.5, 0.2)])
def test_ratios_cover_as_often_as_they_say(
    bottom: float, spread: float, p: float, lean: float
) -> None:
    """Top and bottom normal, the variances that are shown off by what they lean."""
    rng = np.random.default_rng(5)
    covariance = np.array([[0.15**2, 0.5 * 0.15 * spread], [0.5 * 0.15 * spread, spread**2]])
    y = rng.multivariate_normal([p * bottom, bottom], covariance, 4000)
    direction = np.array([1.0, -p])
    t = y @ direction / np.sqrt(direction @ covariance @ direction)
    shown = np.einsum("n,ij->ijn", 1 + lean * t, covariance)
    parts = shown[0, 0], shown[0, 1], shown[1, 1]
    low, high = ratio_interval(y[:, 0], y[:, 1], parts, np.zeros(1), D, lean=lean)
    cover = np.mean((low <= p + 1e-8) & (p - 1e-8 <= high))
    # Three errors of the simulation; a bottom that is hardly known leaves too much on one side.
    assert 0.94 < cover < (0.97 if spread == 0.2 else 0.96)


def test_without_noise_no_interval_is_turned_round() -> None:
    value, lean = np.array([-0.2, 1.3, 1.3]), np.array([-0.3, 0.3, 0.1])
    low, high = share_interval(value, np.zeros(3), np.array([0.2, 0.27, 0.8]), 1.28, lean)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))


def test_words() -> None:
    assert in_words(0.25, 0.2, 0.3) == "0.25 (0.2 to 0.3)"
    assert in_words(0.0, 0.0, 0.3) == "0 to 0.3"
    assert in_words(np.inf, 12.5, np.inf) == "at least 12.5"
    assert in_words(np.nan, 0, 1) == "not known"
