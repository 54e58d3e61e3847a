"""Weights of two-state chains: their closed form, and what hulls over boxes rest on."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chainveil.checks import FloatArray
from chainveil.privacy.odds.kernels import weights_at, weights_between

PROBABILITIES = st.floats(-12, 0).map(lambda power: 10.0**power)
DISTANCES = st.integers(0, 10**7)
STATES = st.integers(0, 1)


def _weights(q: float, r: float, known: int, distance: int) -> FloatArray:
    found = np.empty(4)
    weights_at(q, r, np.array([1.0 - known, float(known)]), distance, found)
    return found


@settings(max_examples=300, deadline=None)
@given(PROBABILITIES, PROBABILITIES, STATES, st.integers(0, 60))
def test_weights_are_those_of_the_chain_stepped_point_by_point(
    q: float, r: float, known: int, distance: int
) -> None:
    step = np.array([[1 - q, q], [r, 1 - r]])
    law = np.eye(2)[known] @ np.linalg.matrix_power(step, distance)
    joint = law[:, None] * step
    totals = joint.sum(axis=0)
    expected = np.where(totals > 0, joint / np.where(totals > 0, totals, 1.0), 0.0)
    found = _weights(q, r, known, distance).reshape(2, 2).T
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=500, deadline=None)
@given(
    PROBABILITIES, PROBABILITIES, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1),
    st.floats(0, 1), STATES, DISTANCES, st.integers(0, 10**6),
)  # fmt: skip
def test_the_hull_over_a_box_and_distances_holds_every_chain_inside(
    q: float, r: float, wide: float, high: float, at_q: float, at_r: float, known: int,
    first: int, more: int,
) -> None:  # fmt: skip
    q, r = q / 2.1, r / 2.1
    box = np.array([q, q + wide * (0.49 - q), r, r + high * (0.49 - r)])
    hull = np.empty((1, 2, 4))
    row = np.array([1.0 - known, float(known)])
    weights_between(box, row, first, first + more, False, hull)
    inside = _weights(
        box[0] + at_q * (box[1] - box[0]), box[2] + at_r * (box[3] - box[2]), known,
        first + more // 2,
    )  # fmt: skip
    if first > 0:
        assert np.all(inside >= np.min(hull[0], axis=0) * (1 - 1e-12))
        assert np.all(inside <= np.max(hull[0], axis=0) * (1 + 1e-12))
