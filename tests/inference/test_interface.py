"""Shapes in and out, known points in every form, and the errors."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from chainveil import Channel, CorrelatedNoise, InvalidInput, MarkovChain, NotSupported
from chainveil.inference import (
    filtered,
    hidden_model,
    log_likelihood,
    report_laws,
    smoothed,
    step_weights,
    viterbi,
)

CHAIN = MarkovChain.binary(0.2, 0.3)
CHANNEL = Channel.binary(0.1, 0.25)
Z = np.array([0, 1, 1, 0, 1, 0, 0])


def test_importing_compiles_nothing() -> None:
    code = (
        "import sys, chainveil, chainveil.inference;"
        "assert not {'numba', 'scipy', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("function", [smoothed, filtered])
def test_shapes(function: Any) -> None:
    one = function(CHAIN, CHANNEL, Z)
    assert one.shape == (7, 2)
    assert one.dtype == np.float64
    np.testing.assert_allclose(function(CHAIN, CHANNEL, Z, state=1), one[:, 1])
    np.testing.assert_allclose(function(CHAIN, CHANNEL, Z, state=0), one[:, 0])
    many = function(CHAIN, CHANNEL, np.tile(Z, (20, 1)))
    assert many.shape == (20, 7, 2)
    np.testing.assert_allclose(many, np.tile(one, (20, 1, 1)), atol=1e-14)
    ragged = function(CHAIN, CHANNEL, [Z, Z[:3], Z[:0]], state=1)
    assert [part.shape for part in ragged] == [(7,), (3,), (0,)]


def test_shapes_of_paths_and_likelihoods() -> None:
    assert viterbi(CHAIN, CHANNEL, Z).dtype == np.uint8
    assert viterbi(CHAIN, CHANNEL, Z.tolist()).shape == (7,)
    assert viterbi(CHAIN, CHANNEL, np.tile(Z, (3, 1))).shape == (3, 7)
    assert [len(part) for part in viterbi(CHAIN, CHANNEL, [Z, Z[:2]])] == [7, 2]
    assert isinstance(log_likelihood(CHAIN, CHANNEL, Z), float)
    assert log_likelihood(CHAIN, CHANNEL, np.tile(Z, (3, 1))).shape == (3,)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (20, 0)])
def test_nothing_at_all(shape: tuple[int, ...]) -> None:
    empty = np.zeros(shape, dtype=np.uint8)
    assert smoothed(CHAIN, CHANNEL, empty).shape == (*shape, 2)
    assert viterbi(CHAIN, CHANNEL, empty).shape == shape


def test_known_points_in_every_form() -> None:
    array = np.full(7, -1)
    array[[2, 5]] = 0, 1
    expected = smoothed(CHAIN, CHANNEL, Z, {2: 0, 5: 1})
    assert expected[2].tolist() == [1, 0]
    assert expected[5].tolist() == [0, 1]
    np.testing.assert_array_equal(smoothed(CHAIN, CHANNEL, Z, array), expected)
    rows = smoothed(CHAIN, CHANNEL, np.tile(Z, (2, 1)), {2: [0, 1], 5: 1})
    np.testing.assert_array_equal(rows[0], expected)
    np.testing.assert_array_equal(rows[1], smoothed(CHAIN, CHANNEL, Z, {2: 1, 5: 1}))
    ragged = smoothed(CHAIN, CHANNEL, [Z, Z[:3]], [array, array[:3]])
    np.testing.assert_array_equal(ragged[0], expected)
    path = viterbi(CHAIN, CHANNEL, Z, {2: 0, 5: 1})
    assert (path[2], path[5]) == (0, 1)


@pytest.mark.parametrize("function", [smoothed, filtered, viterbi, log_likelihood])
@pytest.mark.parametrize(
    ("z", "known", "message"),
    [
        ([0, 2, 1], None, "z: found a number above the last state; allowed: states 0 … 1"),
        ([0, -1, 1], None, "z: found a number below 0"),
        ([0.5, 1.0], None, "z: found a number that is not whole"),
        ([0, 1], {2: 0}, "known: found position 2; allowed: positions 0 … 1"),
        ([0, 1], {-1: 0}, "known: found -1"),
        ([0, 1], {1: 2}, "known: found a number above the last state; allowed: states 0 … 1"),
        ([0, 1], [0, -1, 1], "known: found series of lengths"),
        ([0, 1], [0, -2], "known: found a number below 0"),
        ([0, 1], "both", "known: found an object of type str"),
    ],
)
def test_errors(function: Any, z: Any, known: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        function(CHAIN, CHANNEL, z, known)
    assert message in str(caught.value)


def test_impossible_known_points() -> None:
    silent = Channel.binary(0.0, 0.2)
    with pytest.raises(InvalidInput, match="known: found a state at point 1"):
        smoothed(CHAIN, silent, [0, 1, 1], {1: 0})
    fixed = MarkovChain.binary(0.2, 0.3, initial=[1, 0])
    with pytest.raises(InvalidInput, match="known: found a state at point 0 of series 1"):
        smoothed(fixed, CHANNEL, [[1, 0], [1, 1]], {0: [0, 1]})
    alternating = MarkovChain.binary(1.0, 1.0)
    with pytest.raises(InvalidInput, match="known: found a state at point 1"):
        viterbi(alternating, CHANNEL, [0, 0], {0: 0, 1: 0})


def test_mismatched_channel_and_state() -> None:
    with pytest.raises(InvalidInput, match="noise: found 3 states"):
        smoothed(CHAIN, Channel.randomized_response(3, 0.2), [0, 1])
    with pytest.raises(InvalidInput, match="state: found 2"):
        smoothed(CHAIN, CHANNEL, [0, 1], state=2)


def test_both_forms_of_a_model_want_noise_for_its_states() -> None:
    for form in (hidden_model, step_weights):
        with pytest.raises(InvalidInput, match="noise for 3 states"):
            form(MarkovChain(np.full((3, 3), 1 / 3)), CHANNEL)


def test_noise_that_runs_on_beneath_gaps_has_no_weights_of_steps() -> None:
    with pytest.raises(NotSupported, match="correlated noise"):
        report_laws(CorrelatedNoise(0.2, 0.5), gaps=True)


def test_more_symbols_than_a_byte_holds() -> None:
    rng = np.random.default_rng(0)
    chain = MarkovChain(rng.dirichlet(np.ones(20), 20))
    channel = Channel(rng.dirichlet(np.ones(20), 20))
    z = rng.integers(0, 20, 50)
    posterior = smoothed(chain, channel, z, {49: 19})
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert posterior[49, 19] == 1
