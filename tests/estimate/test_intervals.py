"""Intervals stay on their scale, and one that misses it is no certainty."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chainveil.estimate.answer_table import in_words
from chainveil.estimate.intervals import ratio_interval, within

finite = st.floats(-2, 3)
positive = st.floats(1e-6, 2)


@given(finite, positive, positive)
def test_what_is_left_of_an_interval_is_never_nothing(middle: float, half: float, d: float) -> None:
    low, high = within(np.array(middle - half), np.array(middle + half), np.array(d))
    assert 0 <= low <= high <= 1
    if middle + half < 0:
        assert [float(low), float(high)] == [0, min(d, 1)]
    elif middle - half > 1:
        assert high == 1
        assert low == np.clip(1 - d, 0, 1)
    else:
        assert low == np.clip(middle - half, 0, 1)


def test_a_ratio_off_the_scale() -> None:
    """The set of all ratios that fit lies below 0, or above 1: it is as wide as its error."""
    spread = (np.array([1e-4]), np.zeros(1), np.array([1e-4]))
    for top, expected in ((-0.1, (0.0, 0.0392)), (0.7, (0.9446, 1.0))):
        low, high = ratio_interval(np.array([top]), np.array([0.5]), spread, np.zeros(1), 1.96)
        np.testing.assert_allclose([low[0], high[0]], expected, atol=1e-4)


def test_words() -> None:
    assert in_words(0.25, 0.2, 0.3) == "0.25 (0.2 to 0.3)"
    assert in_words(0.0, 0.0, 0.3) == "0 to 0.3"
    assert in_words(np.inf, 12.5, np.inf) == "at least 12.5"
    assert in_words(np.nan, 0, 1) == "not known"
