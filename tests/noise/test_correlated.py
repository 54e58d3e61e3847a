"""Correlated noise as numbers: on every point, and on one in several."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.base import read_noise

CHAIN = cv.MarkovChain.binary(0.0893, 0.1092)


def test_thinned_noise_is_written_down_and_read_again() -> None:
    noise = cv.CorrelatedNoise(0.2, 0.6, 5)
    assert noise.thinned(1) == cv.CorrelatedNoise(0.2, 0.6) != noise
    for again in (read_noise(noise.to_json()), pickle.loads(pickle.dumps(noise)), noise.on_grid()):
        assert again.every == 5
    assert repr(noise) == "CorrelatedNoise(rho0=0.2, rho1=0.6, every=5)"
    assert noise.describe().endswith("on one point in 5")
    with pytest.raises(cv.InvalidInput, match="every"):
        cv.CorrelatedNoise(0.2, 0.6, 0)


def test_wrong_points_are_those_of_a_simulation() -> None:
    """400,000 points, of which those of a block depend on each other: 6 errors of 0.002."""
    noise = cv.CorrelatedNoise(0.2, 0.6, 5)
    x = CHAIN.sample(400_000, rng=1)
    z = cv.mechanism.sanitize(x, noise, rng=cv.mechanism.seeded(2))
    assert np.mean(x != z) == pytest.approx(noise.expected_flips(CHAIN), abs=0.012)
    at_reports = noise.places(len(x))
    assert np.mean((x != z)[at_reports]) == pytest.approx(noise.flip_rate, abs=0.012)
    flips = (x != z)[at_reports].astype(float)
    lag = np.corrcoef(flips[:-1], flips[1:])[0, 1]
    # The chain of flips steps once from report to report.
    assert lag == pytest.approx(noise.memory, abs=0.02)
