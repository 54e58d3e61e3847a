"""How the variance that is shown leans with the share that is shown, beside simulated releases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import MarkovChain
from chainveil.checks import FloatArray
from chainveil.estimate.counts.cells import read_cells
from chainveil.estimate.counts.pair_shares import PairShares, pair_shares
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.mechanism import sanitize, seeded
from chainveil.noise.memory import StickyNoise

TWO = StickyNoise.binary([[0.1, 0.25], [0.7, 0.9]], [0.42, 0.6])
UNIFORM = np.full((3, 3), 1 / 3)
THREE = StickyNoise(
    0.4 * UNIFORM + 0.3 * np.eye(3)[:, None] + 0.3 * np.eye(3), 0.5 * UNIFORM + 0.5 * np.eye(3)
)
CASES = {
    # A noise, a chain, how many releases, and the part by which the lean may be off.
    "independent states": (TWO, MarkovChain.binary(0.3, 0.7), 3000, 0.1),
    "lasting states": (TWO, MarkovChain.binary(0.05, 0.1), 3000, 0.15),
    "three states": (THREE, MarkovChain(np.tile([0.2, 0.3, 0.5], (3, 1))), 600, 0.5),
}
LENGTH = 500


def strays(name: str) -> tuple[FloatArray, FloatArray, PairShares]:
    """Errors of ``pairs(a, b) - p pairs(a)``, and the variances that are shown for them."""
    noise, chain, releases, _ = CASES[name]
    x = chain.sample(LENGTH, releases, 3)
    z = sanitize(x, noise, rng=seeded(3))
    found = pair_shares(read_cells(z, noise.outputs, by="series"), NoiseLaw(noise))
    k, p = noise.states, chain.transition
    codes = x[:, 1:-1].astype(int) * k + x[:, 2:]
    made = np.stack([np.mean(codes == code, axis=1) for code in range(k * k)], axis=1)
    apart: Any = found.shares - made.reshape(-1, k, k)
    top, between, bottom = (part[0] for part in found.ways())
    shown = top - 2 * p * between + p**2 * bottom
    return apart - p * apart.sum(axis=2, keepdims=True), shown, found


@pytest.mark.parametrize("name", CASES)
def test_the_lean_is_that_of_simulated_releases(name: str) -> None:
    error, shown, found = strays(name)
    simulated = np.mean(error * shown, axis=0) / np.mean(error**2, axis=0) ** 1.5
    computed = np.median(found.lean, axis=0)
    assert np.abs(simulated).max() > 0.05
    np.testing.assert_allclose(computed, simulated, atol=CASES[name][3] * np.abs(simulated).max())


def test_nothing_leans_without_noise() -> None:
    exact = StickyNoise.binary([[0.0, 1.0], [0.0, 1.0]], [0.0, 1.0])
    found = pair_shares(read_cells([0, 1, 1, 0, 0, 1], 2), NoiseLaw(exact))
    assert np.all(np.asarray(found.lean) == 0)
