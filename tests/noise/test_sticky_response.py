"""Sticky response: repeat the last report, or answer afresh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainveil as cv
from chainveil.errors import InvalidInput
from chainveil.noise import Channel, StickyNoise, read_noise

shares = st.floats(0, 1)


@given(states=st.integers(2, 6), repeat=shares, rho=shares, every=st.integers(1, 4))
def test_the_kernel_is_the_mixture(states: int, repeat: float, rho: float, every: int) -> None:
    answer, first = Channel.randomized_response(states, rho), Channel.ordinal(states, 0.5)
    noise = StickyNoise.response(repeat, answer, first, every)
    for last in range(states):
        for state in range(states):
            expected = (1 - repeat) * answer.matrix[state] + repeat * np.eye(states)[last]
            np.testing.assert_allclose(noise.kernel[last, state], expected, atol=1e-15)
    assert np.array_equal(noise.first, first.matrix)
    assert noise.every == every
    assert read_noise(noise.to_json()) == noise


def test_repeating_by_state_and_by_last_report() -> None:
    answer = Channel.per_state_response([0.1, 0.2, 0.3])
    by_state = StickyNoise.response([0.5, 0.6, 0.7], answer, answer)
    by_both = StickyNoise.response(np.tile([0.5, 0.6, 0.7], (3, 1)), answer, answer)
    assert by_state == by_both
    assert by_state.kernel[1, 2, 1] == pytest.approx(0.7 + 0.3 * 0.15)
    assert by_state.kernel[0, 2, 1] == pytest.approx(0.3 * 0.15)


def test_more_reports_than_states() -> None:
    answer = Channel([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    noise = StickyNoise.response(0.4, answer, answer)
    assert (noise.states, noise.outputs, noise.kernel.shape) == (2, 3, (3, 2, 3))
    assert noise.describe() == "report by the point and the last report, 3 reports"


def test_words_name_its_numbers_also_on_the_grid() -> None:
    answer = Channel.randomized_response(4, 0.4)
    noise = StickyNoise.response(0.7, answer, answer, 5)
    words = "repeat the last report with 0.7000, else report another state with 0.4000"
    assert noise.describe() == f"{words} on one point in 5"
    assert noise.on_grid().describe() == noise.describe()
    uneven = StickyNoise.response([0.1, 0.2, 0.3], Channel.per_state_response([0.4, 0.5, 0.6]),
                                  Channel.ordinal(3, 0.5))  # fmt: skip
    assert "0.1000, 0.2000, 0.3000, else" in uneven.describe()
    assert uneven.describe().endswith("0.4000, 0.5000, 0.6000")


def test_words_of_kernels_that_are_no_response() -> None:
    kernel = np.random.default_rng(1).dirichlet(np.ones(3), (3, 3))
    noise = StickyNoise(kernel, Channel.ordinal(3, 0.5).matrix)
    assert noise.describe() == "report by the point and the last report, 3 reports"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"repeat": 1.5}, "repeat"),
        ({"repeat": [0.1, 0.2]}, "repeat"),
        ({"repeat": float("nan")}, "repeat"),
        ({"answer": cv.CorrelatedNoise(0.1, 0.2)}, "answer"),
        ({"first": Channel.ordinal(4, 0.5)}, "first"),
        ({"first": 0.3}, "first"),
        ({"every": 0}, "every"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], named: str) -> None:
    channel = Channel.ordinal(3, 0.5)
    good: dict[str, Any] = {"repeat": 0.5, "answer": channel, "first": channel}
    with pytest.raises(InvalidInput, match=f"^{named}: found"):
        StickyNoise.response(**(good | change))
