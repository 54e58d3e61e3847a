"""Releases of series that are no chains of order 1 are flagged, those of such chains rarely."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from chainveil import (
    Channel,
    CorrelatedNoise,
    InvalidInput,
    MarkovChain,
    StickyNoise,
    TrackingNoise,
    estimate,
)
from chainveil.estimate.counts.cells import read_cells
from chainveil.estimate.likelihood.fit_test import LEVEL, fit_test
from chainveil.estimate.likelihood.moments import band_sums, pattern_sums
from chainveil.estimate.noise_law import as_noise_law
from chainveil.mechanism import sanitize, seeded

CHAIN = MarkovChain.binary(0.1, 0.15)
NOISE: dict[str, Any] = {
    "independent": Channel.binary(0.2, 0.15),
    "correlated": CorrelatedNoise(0.1, 0.3),
    "sticky": StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65]),
    "tracking": TrackingNoise.binary(
        [[[0.1, 0.5], [0.15, 0.6]], [[0.4, 0.85], [0.5, 0.9]]], [0.3, 0.7]
    ),
}


class Flickering:
    """A slow chain of which single points are flipped: two time scales, as real records have."""

    @staticmethod
    def sample(n: int, rng: int) -> Any:
        slow = MarkovChain.binary(0.02, 0.03).sample(n, rng=rng)
        return slow ^ (np.random.default_rng(rng).random(n) < 0.15).astype(np.uint8)


FLICKERING = Flickering()
every_noise = pytest.mark.parametrize("kind", NOISE)


def released(model: Any, kind: str, n: int = 4000, seed: int = 1) -> Any:
    return sanitize(model.sample(n, rng=seed), NOISE[kind], rng=seeded(seed))


@every_noise
def test_a_chain_is_not_flagged_and_the_answer_says_so(kind: str) -> None:
    found = estimate.transitions(released(CHAIN, kind), NOISE[kind], method="likelihood")
    assert found.fit is not None
    assert not found.misfit
    assert found.fit.tested == 4000
    assert "does not contradict" in found.meaning
    assert found.how == "likelihood, chain of order 1"


@pytest.mark.slow
@every_noise
def test_a_longer_memory_is_refused_or_marked(kind: str) -> None:
    z, noise = released(FLICKERING, kind, 8000), NOISE[kind]
    with pytest.raises(InvalidInput, match="contradicts the chain of order 1.*anyway=True"):
        estimate.transitions(z, noise, method="likelihood")
    found = estimate.durations(z, noise, method="likelihood", anyway=True)
    assert found.misfit
    assert found.meaning.startswith("MISFITTING")
    assert found.how == "likelihood, MISFIT"


@pytest.mark.slow
def test_denoised_series_are_refused_or_marked() -> None:
    z = released(FLICKERING, "sticky", 8000)
    with pytest.raises(InvalidInput, match="contradicts"):
        estimate.denoise(z, NOISE["sticky"])
    assert estimate.denoise(z, NOISE["sticky"], anyway=True).misfit


def test_counts_are_not_tested() -> None:
    found = estimate.transitions(released(FLICKERING, "sticky"), NOISE["sticky"])
    assert found.fit is None
    assert found.how == "counts, no model"


def test_few_points_are_not_tested() -> None:
    z = released(CHAIN, "independent", 60)
    found = estimate.denoise(z, NOISE["independent"], CHAIN)
    assert found.fit is not None
    assert found.fit.tested == 0
    assert "not tested" in str(found.fit)


def test_the_group_that_does_not_fit_is_told_apart() -> None:
    series = [
        released(CHAIN, "independent", 4000, 3),
        released(FLICKERING, "independent", 12_000, 4),
    ]
    found = estimate.transitions(
        series, NOISE["independent"], by="series", method="likelihood", anyway=True
    )
    assert found.fit is not None
    assert found.fit.flagged.tolist() == [False, True]
    assert "in 1 of 2 groups" in found.meaning


@pytest.mark.parametrize("kind", ["independent", "sticky", "tracking"])
def test_gaps(kind: str) -> None:
    x = np.ma.MaskedArray(CHAIN.sample(4000, rng=5), mask=False)
    x[::7] = np.ma.masked
    x[1000:1300] = np.ma.masked
    z = sanitize(x, NOISE[kind], rng=seeded(5), missing="keep")
    assert not estimate.transitions(z, NOISE[kind], method="likelihood").misfit


def test_rare_reports_are_tested_against_the_chain_from_report_to_report() -> None:
    noise = NOISE["sticky"].thinned(3)
    z = sanitize(CHAIN.sample(9000, rng=6), noise, rng=seeded(6))
    assert not estimate.denoise(z, noise, CHAIN).misfit
    with pytest.raises(InvalidInput, match="contradicts"):
        estimate.denoise(z, noise, MarkovChain.binary(0.4, 0.4))


@pytest.mark.slow
def test_at_most_the_level_is_flagged() -> None:
    """40 series of a given chain: 2 are expected at most, 7 or more have probability .003."""
    law = as_noise_law(NOISE["sticky"])
    flagged = 0
    for seed in range(40):
        cells = read_cells(released(CHAIN, "sticky", 400, 100 + seed), 2)
        flagged += fit_test([cells], law, [CHAIN]).misfit
    assert LEVEL == 0.05
    assert flagged < 7


def test_sums_of_products() -> None:
    rng = np.random.default_rng(1)
    values, borders = rng.normal(size=70), np.array([0, 25, 27, 70])
    bands, patterns = np.array([[1, 1], [3, 5], [20, 60]]), np.array([[1, 2, 0], [1, 2, 3]])
    found, told = np.zeros(3), np.zeros(2)
    band_sums(values, borders, bands, found)
    pattern_sums(values, borders, patterns, told)
    ends = list(pairwise(borders))
    pairs = [
        sum(values[t] * values[t + h] for b, e in ends for h in range(low, high + 1)
            for t in range(b, e - h))
        for low, high in bands
    ]  # fmt: skip
    threes = sum(
        values[t] * values[t + 1] * values[t + 2] for b, e in ends for t in range(b, e - 2)
    )
    fours = sum(np.prod(values[t : t + 4]) for b, e in ends for t in range(b, e - 3))
    np.testing.assert_allclose(found, pairs)
    np.testing.assert_allclose(told, [threes, fours])
