"""Shares of whole series from rare reports: noise, and the points that do not report."""

from __future__ import annotations

import numpy as np
import pytest

from chainveil import Channel, MarkovChain, StickyNoise, calibrate, estimate
from chainveil.mechanism import sanitize, seeded

NOISE = {
    "sticky": StickyNoise.binary([[0.05, 0.8], [0.2, 0.95]], [0.1, 0.9], every=4),
    "independent": Channel.binary(0.05, 0.1).thinned(4),
}


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("change", [0.02, 0.5])
def test_the_whole_series_is_covered(kind: str, change: float) -> None:
    """150 series, slow and without memory: 95% or more; fewer than 132 have chance 1e-4."""
    chain, noise = MarkovChain.symmetric(change), NOISE[kind]
    covered = 0
    for seed in range(150):
        x = chain.sample(4000, rng=seed)
        found = estimate.frequency(sanitize(x, noise, rng=seeded(seed)), noise)
        covered += bool(found.low[1] <= x.mean() <= found.high[1])
    assert covered >= 132


def test_parts_are_told_apart() -> None:
    z = sanitize(MarkovChain.symmetric(0.2).sample(8000, rng=1), NOISE["sticky"], rng=seeded(1))
    found = estimate.frequency(z, NOISE["sticky"])
    assert found.sampling_error is not None
    squares = found.noise_error**2 + found.sampling_error**2
    np.testing.assert_allclose(squares, found.standard_error**2)
    assert np.all(found.sampling_error > 0)
    assert "points that do not report" in found.meaning
    assert estimate.frequency(z, NOISE["sticky"], covers="sampling").sampling_error is None
    dense = estimate.frequency([0, 1, 1, 0] * 50, Channel.binary(0.1, 0.1))
    assert dense.sampling_error is None
    np.testing.assert_array_equal(dense.noise_error, dense.standard_error)


def test_the_error_is_known_before() -> None:
    chain = MarkovChain.binary(0.1, 0.15)
    plan = calibrate(chain, 4, mechanism="sticky", every=3)
    expected = estimate.error_at(plan, 20_000).largest
    x = chain.sample(20_000, rng=1)
    found = estimate.frequency(plan.sanitize(x, rng=seeded(1)), plan)
    assert found.standard_error.max() == pytest.approx(expected, rel=0.15)
