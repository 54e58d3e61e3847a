"""Every release of a short series, with its probability: means and covariances."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from chainveil import Channel, CorrelatedNoise
from chainveil.checks import FloatArray
from chainveil.estimate.counts.cells import read_cells
from chainveil.estimate.counts.covariance import credible, noise_covariance, released_law
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law

NOISES: list[Any] = [
    Channel.binary(0.3, 0.2),
    CorrelatedNoise(0.2, 0.5),
    CorrelatedNoise(0.6, 0.7),
    Channel.randomized_response(3, 0.4),
    Channel([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]),
]


def probability(noise: Any, x: NDArray[Any], z: NDArray[Any]) -> float:
    """``Pr[z | x]``, point by point."""
    if isinstance(noise.source, Channel):
        return float(np.prod(noise.source.matrix[x, z]))
    flips, chain = x ^ z, noise.source.flips
    return float(chain.stationary[flips[0]] * np.prod(chain.transition[flips[:-1], flips[1:]]))


def releases(noise: NoiseLaw, x: NDArray[Any]) -> list[tuple[NDArray[Any], float]]:
    every = itertools.product(range(noise.outputs), repeat=len(x))
    return [(z, probability(noise, x, z)) for z in (np.array(one, np.uint8) for one in every)]


def truth(x: NDArray[Any], states: int) -> Any:
    """The law of the states of the series itself."""
    cells = read_cells(x, states)

    def law(points: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        counts = cells.windows(points)
        total = counts.sum(axis=1).astype(np.float64)
        return counts / np.maximum(total, 1)[:, None], total

    return law


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("window", [(0,), (0, 1), (0, 2)], ids=str)
def test_shares_are_unbiased_and_their_covariance_is_exact(
    noise: Any, window: tuple[int, ...]
) -> None:
    source = as_noise_law(noise)
    n = 7 if source.outputs == 2 else 5
    x = np.random.default_rng(3).integers(0, source.states, n).astype(np.uint8)
    law = truth(x, source.states)
    values, estimated, weights = [], [], []
    for z, chance in releases(source, x):
        cells = read_cells(z, source.outputs)
        counts = cells.windows(window)[0]
        values.append(counts / counts.sum() @ source.inverse(window))
        law_seen = released_law(cells, source)
        estimated.append(noise_covariance(source, window, law_seen)[0, 0])
        weights.append(chance)
    mean = np.average(values, axis=0, weights=weights)
    assert sum(weights) == pytest.approx(1)
    np.testing.assert_allclose(mean, law(window)[0][0], atol=1e-10)
    spread = np.array(values) - mean
    exact = np.einsum("z,zi,zj->ij", weights, spread, spread)
    np.testing.assert_allclose(noise_covariance(source, window, law)[0], exact, atol=1e-10)
    # Whoever has the release alone is right about it on average.
    guessed = np.average(estimated, axis=0, weights=weights)
    np.testing.assert_allclose(guessed, exact, atol=1e-9)


def test_an_absurd_covariance_gives_way_to_a_valid_one() -> None:
    valid = np.array([[2.0, 0.5, 1.0]] * 5)
    unbiased = valid.copy()
    unbiased[1, 0] = 0.9  # a variance below half of the valid one
    unbiased[2] = [1.5, 1.3, 1.0]  # a combination of the two has less than half
    unbiased[3] = [1.5, 0.5, 0.7]  # smaller, and still a covariance
    unbiased[4] = -valid[4]
    top, across, bottom = credible(*np.stack([unbiased, valid]).transpose(2, 0, 1))
    found = np.stack([top, across, bottom], axis=1)
    np.testing.assert_array_equal(found, [*valid[:3], unbiased[3], valid[4]])
