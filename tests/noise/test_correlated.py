"""Correlated noise as numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.base import read_noise

CHAIN = cv.MarkovChain.binary(0.0893, 0.1092)


def test_noise_is_written_down_and_read_again() -> None:
    noise = cv.CorrelatedNoise(0.25, 0.625)
    for again in (read_noise(noise.to_json()), pickle.loads(pickle.dumps(noise)), noise.on_grid()):
        assert again == noise
    assert repr(noise) == "CorrelatedNoise(rho0=0.25, rho1=0.625)"
    assert noise.describe() == "begin flipping with 0.25, stop with 0.625"


def test_wrong_points_are_those_of_a_simulation() -> None:
    """400,000 points, of which neighbours depend on each other: 6 errors of 0.001."""
    noise = cv.CorrelatedNoise(0.2, 0.6)
    x = CHAIN.sample(400_000, rng=1)
    z = cv.mechanism.sanitize(x, noise, rng=cv.mechanism.seeded(2))
    assert noise.expected_flips(CHAIN) == noise.flip_rate
    flips = (x != z).astype(float)
    assert flips.mean() == pytest.approx(noise.flip_rate, abs=0.006)
    lag = np.corrcoef(flips[:-1], flips[1:])[0, 1]
    assert lag == pytest.approx(noise.memory, abs=0.02)
