"""Channels: make, check, round to the grid."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv
from chainveil.noise.base import GRID


def test_constructors() -> None:
    assert cv.Channel.binary(0.3, 0.25).matrix.tolist() == [[0.7, 0.3], [0.25, 0.75]]
    response = cv.Channel.randomized_response(4, 0.3)
    assert response.matrix[0] == pytest.approx([0.7, 0.1, 0.1, 0.1])
    assert (response.states, response.outputs) == (4, 4)
    wide = cv.Channel([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    assert (wide.states, wide.outputs) == (2, 3)
    assert pickle.loads(pickle.dumps(wide)) == wide
    assert eval(repr(wide), {"Channel": cv.Channel}) == wide


def test_expected_flips() -> None:
    chain = cv.MarkovChain.binary(0.1, 0.3)
    assert cv.Channel.binary(0.4, 0.2).expected_flips(chain) == pytest.approx(
        0.75 * 0.4 + 0.25 * 0.2
    )
    with pytest.raises(cv.InvalidInput, match="3 reports"):
        cv.Channel([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]).expected_flips(chain)
    with pytest.raises(cv.InvalidInput, match="3 states"):
        cv.Channel.randomized_response(3, 0.1).expected_flips(chain)


@given(st.integers(2, 6), st.floats(0, 1))
def test_grid_is_exact_and_adds_noise(states: int, rho: float) -> None:
    channel = cv.Channel.randomized_response(states, rho)
    realised = channel.on_grid()
    scaled = realised.matrix * GRID
    assert np.array_equal(scaled, np.round(scaled))
    assert np.array_equal(scaled.sum(axis=1), np.full(states, GRID))
    away = ~np.eye(states, dtype=bool)
    if rho < 0.99:
        assert np.all(realised.matrix[away] >= channel.matrix[away])
    assert realised.matrix == pytest.approx(channel.matrix, abs=states / GRID)
    assert realised.on_grid() == realised


def _units(row: list[float]) -> list[Fraction]:
    """A row in units of 2^-53, exactly."""
    return [Fraction(entry) * 2**53 for entry in row]


@st.composite
def _channels(draw: st.DrawFn) -> cv.Channel:
    """Rows with zeros, tiny entries and rows that lie on the grid already."""
    states, outputs = draw(st.integers(2, 4)), draw(st.integers(2, 5))
    entry = st.one_of(
        st.just(0.0), st.floats(0, 1), st.floats(1e-20, 1e-14), st.sampled_from([2.0**-53, 0.25])
    )
    row = st.lists(entry, min_size=outputs, max_size=outputs).filter(lambda r: sum(r) > 1e-3)
    rows = draw(st.lists(row, min_size=states, max_size=states))
    return cv.Channel(np.array([np.array(r) / np.sum(r) for r in rows]))


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(_channels())
def test_every_row_on_the_grid_sums_to_one_exactly(channel: cv.Channel) -> None:
    realised = channel.on_grid()
    for before, after in zip(channel.matrix.tolist(), realised.matrix.tolist(), strict=True):
        asked, given_ = _units(before), _units(after)
        assert all(unit.denominator == 1 for unit in given_)
        assert sum(given_) == 2**53
        assert [unit == 0 for unit in given_] == [unit == 0 for unit in asked]
        # One entry gets the rest; all others move by less than a unit, upwards.
        moved = [new - old for new, old in zip(given_, asked, strict=True)]
        assert sum(not 0 <= step < 1 for step in moved) <= 1
        if sum(asked) == 2**53:
            assert all(abs(step) < len(moved) for step in moved)
            if all(unit.denominator == 1 for unit in asked):
                assert before == after
    assert realised.on_grid() == realised


def test_one_row_that_is_hard_to_round_leaves_the_others_alone() -> None:
    channel = cv.Channel([[0, 1, 1e-17], [0, 0.5, 0.5], [0.3, 0.3, 0.4]])
    realised = channel.on_grid().matrix
    assert realised[0].tolist() == [0, 1 - 2.0**-53, 2.0**-53]
    assert realised[1].tolist() == [0, 0.5, 0.5]
    # Rounded up to more noise, whatever the first row needs.
    assert realised[2, :2].tolist() == [0.3 + 2.0**-54, 0.3 + 2.0**-54]


@pytest.mark.parametrize("value", [np.nan, -0.1, 1.1, np.inf, "x", None])
def test_bad_probabilities(value: object) -> None:
    with pytest.raises(cv.InvalidInput, match="rho0: found"):
        cv.Channel.binary(value, 0.5)  # type: ignore[arg-type]
    with pytest.raises(cv.InvalidInput, match="rho1: found"):
        cv.Channel.binary(0.5, value)  # type: ignore[arg-type]
    with pytest.raises(cv.InvalidInput, match="rho: found"):
        cv.Channel.randomized_response(3, value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], "sum to 1.1"),
        ([[1.0]], "two rows"),
        ([[np.nan, 1.0], [0.5, 0.5]], "row 0"),
        ([], "2-D"),
    ],
)
def test_bad_matrices(matrix: object, message: str) -> None:
    with pytest.raises(cv.InvalidInput, match=message):
        cv.Channel(matrix)  # type: ignore[arg-type]


def test_bad_number_of_states() -> None:
    for states in (1, 2.5, "2"):
        with pytest.raises(cv.InvalidInput, match="states"):
            cv.Channel.randomized_response(states, 0.1)  # type: ignore[arg-type]
