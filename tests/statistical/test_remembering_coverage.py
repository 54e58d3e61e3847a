"""Intervals from reports that look back, or that are few, cover as often as they say.

The chain of the heart-rate record N10 and a sticky kernel. Seeds are fixed. A share of 4,000
releases has a standard error of 0.34 points, so an interval of exactly 95% coverage leaves 94%
to 96% once in 270 runs of one comparison, and one of 8,000 once in 24,000. There are about ten
of the first kind, most of them dependent: with other seeds a run of this file would fail about
one time in thirty without a fault. Means stray by more than five of their standard errors once
in 1.7 million comparisons.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import Channel, MarkovChain, estimate
from chainveil.mechanism import sanitize, seeded
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise
from tests.statistical.test_estimate_coverage import correlation, pair_shares

RELEASES, POINTS = 4000, 1000
N10 = MarkovChain.binary(0.0893, 0.1092)
STICKY = StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])


def assert_covers(found: estimate.Estimate, truth: Any, reach: float = 0.01) -> None:
    inside = (found.low <= truth) & (truth <= found.high)
    share = inside.reshape(len(inside), -1).mean(axis=0)
    assert np.all(np.abs(share - 0.95) <= reach), share


def assert_unbiased(error: Any) -> None:
    flat = error.reshape(len(error), -1)
    assert np.all(np.abs(flat.mean(axis=0)) < 5 * flat.std(axis=0) / np.sqrt(len(flat)))


@pytest.fixture(scope="module")
def release() -> tuple[Any, Any]:
    x = N10.sample(POINTS, RELEASES, 103)
    return x, sanitize(x, STICKY, rng=seeded(203))


def shares(x: Any) -> Any:
    ones = x.mean(axis=1)
    return np.stack([1 - ones, ones], axis=1)


def test_shares(release: tuple[Any, Any]) -> None:
    x, z = release
    found = estimate.frequency(z, STICKY, by="series")
    # The first report of a series is not looked at.
    truth = shares(x[:, 1:])
    assert_covers(found, truth)
    assert_unbiased(found.value - truth)
    behind = estimate.frequency(z, STICKY, by="series", covers="sampling", chain=N10)
    assert_covers(behind, N10.stationary)


@pytest.mark.slow
def test_transitions_and_durations(release: tuple[Any, Any]) -> None:
    x, z = release
    pairs = pair_shares(x[:, 1:], 2)
    truth = pairs / pairs.sum(axis=2, keepdims=True)
    found = estimate.transitions(z, STICKY, by="series")
    assert_covers(found, truth)
    assert_unbiased(found.pairs - pairs)
    spells = estimate.durations(z, STICKY, by="series")
    assert_covers(spells, 1 / (1 - np.diagonal(truth, axis1=1, axis2=2)))
    behind = estimate.transitions(z, STICKY, by="series", covers="sampling")
    assert_covers(behind, N10.transition)


def test_autocorrelations(release: tuple[Any, Any]) -> None:
    x, z = release
    found = estimate.autocorrelation(z, STICKY, lags=[1, 4], by="series")
    truth = [correlation(pair_shares(x[:, 1:], 2, lag)) for lag in (1, 4)]
    assert_covers(found, np.stack(truth, axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [STICKY.thinned(5), Channel.binary(0.25, 0.3).thinned(7)])
def test_shares_of_the_points_that_report(noise: Noise) -> None:
    x = N10.sample(4 * POINTS, 2 * RELEASES, 3)
    places = noise.places(x.shape[1])
    reports = sanitize(x[:, places], noise.thinned(1), rng=seeded(4))
    z = np.zeros_like(x)
    z[:, places] = reports
    found = estimate.frequency(z, noise, by="series")
    first = 1 if noise.ordered else 0
    truth = shares(x[:, places[first:]])
    assert_unbiased(found.value - truth)
    # The part that is noise is about the points that report, the whole about all of them: what
    # the silent points add is counted on the safe side.
    inside = np.abs(found.value - truth) <= 1.959964 * found.noise_error
    assert abs(inside[:, 0].mean() - 0.95) <= 0.01
    all_rows = shares(x)[:, 0]
    covered = (found.low[:, 0] <= all_rows) & (all_rows <= found.high[:, 0])
    assert 0.94 <= covered.mean() <= 0.98
    behind = estimate.frequency(z, noise, by="series", covers="sampling", chain=N10)
    assert_covers(behind, N10.stationary)
