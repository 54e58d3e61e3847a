"""Variances of estimates where the series has a longer memory, against enumeration."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

import chainveil as cv
from chainveil.estimate.counts.covariance import (
    chain_law,
    drawing_covariance,
    noise_covariance,
    share_drawing,
)
from chainveil.estimate.counts.series_law import SeriesLaw
from chainveil.estimate.noise_law import as_noise_law

CHAIN = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], order=2)
CHANNEL = cv.Channel.binary(0.3, 0.2)
N = 5


def test_patterns_are_those_of_the_law_of_series() -> None:
    series, law = SeriesLaw.of(CHAIN), CHAIN.series_law(4)
    assert not series.plain
    assert series.stationary == pytest.approx(CHAIN.stationary)
    np.testing.assert_allclose(series.patterns((0, 1, 2, 3)), law.reshape(-1), atol=1e-15)
    np.testing.assert_allclose(series.patterns((0, 3)), law.sum(axis=(1, 2)).reshape(-1))
    np.testing.assert_allclose(series.between(2).patterns((0, 1)), series.patterns((0, 2)))
    first = cv.MarkovChain.binary(0.2, 0.3, initial=[1.0, 0.0])
    assert SeriesLaw.of(first).plain
    np.testing.assert_allclose(SeriesLaw.of(first).start, first.stationary)


def _pair_shares(x: tuple[int, ...]) -> np.ndarray:
    shares = np.zeros(4)
    for a, b in pairwise(x):
        shares[2 * a + b] += 1 / (N - 1)
    return shares


def test_what_drawing_adds() -> None:
    law = CHAIN.series_law(N)
    shares = np.array([_pair_shares(x) for x in product((0, 1), repeat=N)])
    weights = law.reshape(-1)
    mean = weights @ shares
    truth = np.einsum("n,na,nb->ab", weights, shares - mean, shares - mean)
    found = drawing_covariance(SeriesLaw.of(CHAIN), (0, 1), N)
    np.testing.assert_allclose(found, truth, atol=1e-14)
    ones = np.array([[x.count(0), x.count(1)] for x in product((0, 1), repeat=N)]) / N
    spread = weights @ (ones - weights @ ones) ** 2
    pi = CHAIN.stationary
    pairs = lambda h: np.array([float(N - h)])  # noqa: E731
    np.testing.assert_allclose(
        share_drawing(SeriesLaw.of(CHAIN), pairs, N)[0] * pi * (1 - pi), spread, atol=1e-14
    )


def test_what_the_noise_adds() -> None:
    """The mean over series of the covariance of debiased shares of pairs, written out."""
    inverse = np.kron(*[np.linalg.inv(CHANNEL.matrix)] * 2)
    law = CHAIN.series_law(N)
    reports = list(product((0, 1), repeat=N))
    debiased = np.array([_pair_shares(z) @ inverse for z in reports])
    truth = np.zeros((4, 4))
    for x in product((0, 1), repeat=N):
        chances = np.array([np.prod(CHANNEL.matrix[list(x), list(z)]) for z in reports])
        stray = debiased - chances @ debiased
        truth += law[x] * np.einsum("n,na,nb->ab", chances, stray, stray)
    noise = as_noise_law(CHANNEL)
    found = noise_covariance(noise, (0, 1), chain_law(SeriesLaw.of(CHAIN), N))[0, 0]
    np.testing.assert_allclose(found, truth, atol=1e-13)
