"""Expected transitions are those of the definition, and agree with the smoother."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from chainveil import Channel, CorrelatedNoise, InvalidInput, MarkovChain, NotSupported
from chainveil.inference import (
    ExpectedTransitions,
    expected_transitions,
    hidden_model,
    log_likelihood,
    report_laws,
    smoothed,
    step_weights,
)
from chainveil.model.higher_order import HigherOrderChain

NOISES: list[Any] = [
    Channel.binary(0.3, 0.2),
    CorrelatedNoise(0.2, 0.5),
    CorrelatedNoise(0.6, 0.7),
    Channel.randomized_response(3, 0.4),
    Channel([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]),
]
THREE = MarkovChain([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]])
CHANNEL = Channel.randomized_response(3, 0.25)


def expected(model: Any, noise: Any, series: list[NDArray[np.uint8]]) -> ExpectedTransitions:
    borders = np.cumsum([0, *(len(z) for z in series)])
    return expected_transitions(step_weights(model, noise), np.concatenate(series), borders)


def probability(noise: Any, x: NDArray[Any], z: NDArray[Any]) -> float:
    """``Pr[z | x]``, point by point."""
    if isinstance(noise, Channel):
        return float(np.prod(noise.matrix[x, z]))
    flips, chain = x ^ z, noise.chain
    return float(chain.stationary[flips[0]] * np.prod(chain.transition[flips[:-1], flips[1:]]))


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_definition(noise: Any) -> None:
    k, rng = noise.states, np.random.default_rng(1)
    chain = MarkovChain(rng.dirichlet(np.ones(k) * 3, k), rng.dirichlet(np.ones(k)))
    series = [rng.integers(0, noise.outputs, size).astype(np.uint8) for size in (5, 2, 1)]
    counts, start, likelihood = np.zeros((k, k)), np.zeros(k), 0.0
    for z in series:
        total, moves, first = 0.0, np.zeros((k, k)), np.zeros(k)
        for path in itertools.product(range(k), repeat=len(z)):
            x = np.array(path)
            chance = chain.start[x[0]] * np.prod(chain.transition[x[:-1], x[1:]])
            chance *= probability(noise, x, z)
            total += chance
            first[x[0]] += chance
            np.add.at(moves, (x[:-1], x[1:]), chance)
        counts, start = counts + moves / total, start + first / total
        likelihood += np.log(total)
    found = expected(chain, noise, series)
    np.testing.assert_allclose(found.counts, counts, atol=1e-12)
    np.testing.assert_allclose(found.start, start / len(series), atol=1e-12)
    assert found.log_likelihood == pytest.approx(likelihood, abs=1e-12)


@pytest.mark.parametrize("lengths", [(1,), (2, 1), (7, 0, 9), (40, 3), (1000,)])
def test_several_series_arrive_where_the_smoother_says(lengths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(lengths))
    series = [rng.integers(0, 3, n).astype(np.uint8) for n in lengths]
    seen = expected(THREE, CHANNEL, series)
    likelihood = sum(log_likelihood(THREE, CHANNEL, z) for z in series)
    assert seen.log_likelihood == pytest.approx(likelihood, rel=1e-12)
    arrived = sum(smoothed(THREE, CHANNEL, z)[1:].sum(axis=0) for z in series)
    np.testing.assert_allclose(seen.counts.sum(axis=0), arrived, atol=1e-9)


@pytest.mark.parametrize("noise", [Channel.binary(0.2, 0.35), CorrelatedNoise(0.2, 0.5)], ids=str)
def test_a_model_with_a_longer_memory_has_more_hidden_states(noise: Any) -> None:
    rng = np.random.default_rng(5)
    model = HigherOrderChain.fit(rng.integers(0, 2, 500), 2, 2)
    z = rng.integers(0, 2, 300).astype(np.uint8)
    seen = expected(model, noise, [z])
    assert seen.counts.shape == (4, 4)
    assert seen.log_likelihood == pytest.approx(log_likelihood(model, noise, z), rel=1e-12)
    # The value of a context is its last point.
    arrived = seen.counts.sum(axis=0).reshape(2, 2).sum(axis=0)
    np.testing.assert_allclose(arrived, smoothed(model, noise, z)[1:].sum(axis=0), atol=1e-9)


def test_messages_survive_tiny_weights() -> None:
    """They are brought back to one every few points only; that must be often enough."""
    tiny = Channel.randomized_response(3, 1e-12)
    z = np.tile(np.array([0, 1, 2], np.uint8), 200)
    sticky = MarkovChain(np.full((3, 3), 1e-8) + (1 - 3e-8) * np.eye(3), np.full(3, 1 / 3))
    seen = expected(sticky, tiny, [z])
    assert np.isfinite(seen.log_likelihood)
    assert seen.counts.sum() == pytest.approx(len(z) - 1)
    assert seen.log_likelihood == pytest.approx(log_likelihood(sticky, tiny, z), rel=1e-9)


def test_a_missing_point_says_nothing() -> None:
    laws = report_laws(CHANNEL, gaps=True)
    weights = laws.weights(THREE.start, THREE.transition)
    z = np.array([0, 3, 2, 1, 3, 3, 0], np.uint8)
    seen = expected_transitions(weights, z, np.array([0, len(z)]))
    seen_z = np.ma.masked_equal(z, 3)
    arrived = smoothed(THREE, CHANNEL, seen_z)[1:].sum(axis=0)
    np.testing.assert_allclose(seen.counts.sum(axis=0), arrived, atol=1e-12)
    with pytest.raises(NotSupported, match="correlated noise"):
        report_laws(CorrelatedNoise(0.2, 0.5), gaps=True)


@pytest.mark.parametrize("k", [2, 3])
def test_counts_of_what_cannot_be_are_no_numbers(k: int) -> None:
    chain = MarkovChain(np.full((k, k), 1 / k))
    silent = Channel(np.hstack([np.eye(k), np.zeros((k, 1))]))
    found = expected(chain, silent, [np.array([0, 1, k, 0], np.uint8)])
    assert np.isnan(found.counts).any()


def test_both_forms_of_a_model_want_noise_for_its_states() -> None:
    for form in (hidden_model, step_weights):
        with pytest.raises(InvalidInput, match="noise for 3 states"):
            form(THREE, Channel.binary(0.1, 0.2))
