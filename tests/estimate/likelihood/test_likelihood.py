"""The likeliest chain and the likelihood's limits, against an independent computation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from chainveil import Channel, InvalidInput, MarkovChain, estimate
from chainveil.estimate.counts.cells import read_cells
from chainveil.estimate.likelihood.fitting import fit_likelihood, fit_release
from chainveil.estimate.likelihood.maximum import Fit
from chainveil.estimate.likelihood.passes import ReleasePasses
from chainveil.estimate.likelihood.profile import logit_limits
from chainveil.estimate.likelihood.quasi_newton import FARTHEST
from chainveil.estimate.noise_law import as_noise_law
from chainveil.mechanism import sanitize, seeded

Floats = NDArray[np.float64]
THREE = MarkovChain([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]])
CHANNEL = Channel.randomized_response(3, 0.25)


def release_of(points: int, seed: int = 3) -> tuple[Any, ReleasePasses, Fit]:
    z = sanitize(THREE.sample(points, rng=seed), CHANNEL, rng=seeded(seed))
    cells, noise = read_cells(z, 3), as_noise_law(CHANNEL)
    return z, ReleasePasses(cells, noise), fit_likelihood(cells, noise)


def rows(weights: Floats) -> Floats:
    """Chains from logarithms, the first state of each row for comparison."""
    whole = np.exp(np.hstack([np.zeros((3, 1)), weights.reshape(3, 2)]))
    return np.asarray(whole / whole.sum(axis=1, keepdims=True))


def test_the_top_is_that_of_another_optimiser() -> None:
    _, release, fit = release_of(800)

    def below(weights: Floats) -> float:
        return -release.expect(rows(weights), fit.start).log_likelihood

    found = minimize(below, np.zeros(6), method="BFGS", options={"gtol": 1e-4})
    assert -found.fun <= fit.log_likelihood + 1e-6
    np.testing.assert_allclose(rows(found.x), fit.transition, atol=2e-3)


def test_the_chain_alone_is_the_same_chain() -> None:
    z, _, fit = release_of(800)
    alone = fit_release(read_cells(z, 3), as_noise_law(CHANNEL)).transition
    np.testing.assert_allclose(alone, fit.transition, atol=2e-3)


def test_limits_lie_where_the_likelihood_has_fallen_as_far_as_asked() -> None:
    _, release, fit = release_of(500)
    p = fit.transition
    variance = np.diag(fit.covariance).reshape(3, 3) / (p * (1 - p)) ** 2
    reach = 1.96
    low, high = logit_limits(release, fit, variance, np.full(3, reach))
    for entry in ((0, 0), (0, 2), (2, 1)):
        for limit in (low[entry], high[entry]):
            if abs(limit) >= FARTHEST:
                continue
            height = best_with(release, fit, entry, float(limit))
            fallen = np.sqrt(2 * (fit.log_likelihood - height))
            assert fallen == pytest.approx(reach, abs=0.03)


def best_with(release: ReleasePasses, fit: Fit, entry: tuple[int, int], logit: float) -> float:
    """The greatest log-likelihood with one transition held, by scipy."""
    a, b = entry
    held = 1 / (1 + np.exp(-logit))

    def chain(weights: Floats) -> Floats:
        found = rows(weights)
        found[a, b] = 0.0
        found[a] *= (1 - held) / found[a].sum()
        found[a, b] = held
        return found

    def below(weights: Floats) -> float:
        return -release.expect(chain(weights), fit.start).log_likelihood

    start = np.log(fit.transition[:, 1:] / fit.transition[:, :1]).ravel()
    found = minimize(below, start, method="BFGS", options={"gtol": 1e-4})
    return -float(found.fun)


def test_a_flat_likelihood_is_refused_and_counts_are_named() -> None:
    z = MarkovChain.binary(0.1, 0.15).sample(1000, rng=0)
    channel = Channel.binary(0.41, 0.41)
    assert estimate.transitions(z, channel).value.shape == (2, 2)
    with pytest.raises(InvalidInput, match=r'"counts" asks for fewer'):
        estimate.transitions(z, channel, method="likelihood")
