"""Estimates from reports that look back at the last one are unbiased: every release is tried."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from chainveil import InvalidInput, NotSupported
from chainveil.estimate.counts.cells import read_cells
from chainveil.estimate.counts.last_report import (
    last_report_pairs,
    last_report_shares,
    look_back,
)
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.estimate.report_weights import conditional_spread, report_weights
from chainveil.noise.memory import StickyNoise
from tests.inference.enumeration import reports_given

TWO = StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])
RNG = np.random.default_rng(1)
THREE = StickyNoise(
    0.5 * RNG.dirichlet(np.ones(4), (4, 3)) + 0.5 * np.eye(3, 4)[None], RNG.dirichlet(np.ones(4), 3)
)
SERIES = {
    "two states": (TWO, [0, 1, 1, 0, 1, 1], []),
    "gaps": (TWO, [0, 1, 1, 0, 1, 1, 0], [2, 4]),
    "the first is missing": (TWO, [0, 1, 0, 0, 1], [0]),
    "three states, four reports": (THREE, [0, 2, 1, 1], []),
}
every_series = pytest.mark.parametrize("name", SERIES)


def releases(name: str) -> Any:
    """Every release of a series, and how probable it is."""
    noise, x, missing = SERIES[name]
    mask = np.isin(np.arange(len(x)), missing)
    for reports in product(range(noise.outputs), repeat=int((~mask).sum())):
        z = np.ma.MaskedArray(np.zeros(len(x), np.int64), mask=mask)
        z[~mask] = reports
        yield z, reports_given(noise, x, z)


def moments(name: str, estimate: Any) -> tuple[Any, Any, Any]:
    """Mean of the value, its covariance, and the mean of the covariance that is estimated."""
    values, spreads, weights = [], [], []
    for z, weight in releases(name):
        value, spread = estimate(read_cells(z, SERIES[name][0].outputs))
        values.append(value)
        spreads.append(spread)
        weights.append(weight)
    assert sum(weights) == pytest.approx(1)
    mean = np.average(values, axis=0, weights=weights)
    apart = np.array(values) - mean
    covariance = np.einsum("n,na,nb->ab", weights, apart, apart)
    return mean, covariance, np.average(spreads, axis=0, weights=weights)


def looked_at(name: str) -> list[int]:
    """Points that have a report before them."""
    _, x, missing = SERIES[name]
    return [t for t in range(len(x)) if t not in missing][1:]


@every_series
def test_shares(name: str) -> None:
    noise, x, _ = SERIES[name]
    points = looked_at(name)

    def shares(cells: Any) -> Any:
        value, covariance, count = last_report_shares(cells, NoiseLaw(noise))
        assert count.tolist() == [len(points)]
        return value[0], covariance[0, 0]

    mean, covariance, estimated = moments(name, shares)
    truth = np.bincount([x[t] for t in points], minlength=noise.states) / len(points)
    np.testing.assert_allclose(mean, truth, atol=1e-12)
    np.testing.assert_allclose(estimated, covariance, atol=1e-12)


@every_series
@pytest.mark.parametrize("lag", [1, 2])
def test_pairs(name: str, lag: int) -> None:
    noise, x, _ = SERIES[name]
    k, points = noise.states, looked_at(name)
    pairs = [(x[t], x[t + lag]) for t in points if t + lag in points]
    if not pairs:
        pytest.skip("no such pairs")

    def shares(cells: Any) -> Any:
        value, covariance, count = last_report_pairs(cells, NoiseLaw(noise), lag)
        assert count.tolist() == [len(pairs)]
        assert np.linalg.eigvalsh(covariance[1, 0]).min() > -1e-9
        return value[0], covariance[0, 0]

    mean, covariance, estimated = moments(name, shares)
    truth = np.bincount([a * k + b for a, b in pairs], minlength=k * k) / len(pairs)
    np.testing.assert_allclose(mean, truth, atol=1e-11)
    np.testing.assert_allclose(estimated, covariance, atol=1e-10)


def test_weights_by_hand() -> None:
    """``(z' - k(z, 0)) / (k(z, 1) - k(z, 0))`` for state 1."""
    found = report_weights(TWO)[:, 1].reshape(2, 2)
    for z, (low, high) in enumerate([(0.12, 0.45), (0.55, 0.88)]):
        np.testing.assert_allclose(found[z], [-low / (high - low), (1 - low) / (high - low)])
        spread = conditional_spread(TWO)[z, :, 1, 1]
        np.testing.assert_allclose(
            spread, np.array([low * (1 - low), high * (1 - high)]) / (high - low) ** 2
        )


def test_groups_look_back_across_their_borders() -> None:
    z = np.array([[0, 1, 1, 0], [1, 0, 0, 1]])
    windows = read_cells(z, 2, window=2)
    assert look_back(windows, NoiseLaw(TWO)).tolist() == [-1, 1, 3, 2, -1, 2, 0, 1]
    shares, _, points = last_report_shares(windows, NoiseLaw(TWO))
    assert points.tolist() == [1, 2, 1, 2]
    labels = read_cells(z, 2, by=[0, 0, 1, 1, 0, 0, 1, 1])
    together, _, count = last_report_shares(labels, NoiseLaw(TWO))
    assert count.tolist() == [2, 4]
    np.testing.assert_allclose(together[0], (shares[0] + shares[2]) / 2)
    # Pairs stay inside a group.
    assert last_report_pairs(windows, NoiseLaw(TWO), 1)[2].tolist() == [0, 1, 0, 1]


def test_noise_that_cannot_be_undone() -> None:
    coin = StickyNoise.binary([[0.5, 0.5], [0.2, 0.8]], [0.5, 0.5])
    with pytest.raises(InvalidInput, match="cannot be inverted"):
        last_report_shares(read_cells([0, 1, 1], 2), NoiseLaw(coin))


def test_noise_that_runs_on_beneath_gaps() -> None:
    class Running(StickyNoise):
        holds = False

    running = NoiseLaw(Running(TWO.kernel, TWO.first))
    z = np.ma.MaskedArray([0, 1, 1], mask=[False, True, False])
    with pytest.raises(NotSupported, match="gaps"):
        look_back(read_cells(z, 2), running)
