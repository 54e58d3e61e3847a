"""The noise has the law it promises. Fixed seeds: a test passes always or never.

Each comparison is one that a correct sampler fails for one seed in a million
(two-sided, 4.9 standard deviations or the quantile of chi-squared); there are about 170.
A change of the seeded noise may thus raise a false alarm with probability below 2e-4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

import chainveil as cv
from chainveil.mechanism import Stream, sanitize, sanitize_packed, seeded
from chainveil.mechanism.draws import Draws, Reports
from chainveil.mechanism.pieces import one_series
from chainveil.noise.correlated import CorrelatedNoise
from tests.batches import some_quick

FALSE_ALARM = 1e-6
DEVIATIONS = 4.9
N = 4_000_000
SMALL = 200_000


def data(n: int, k: int = 2) -> NDArray[np.uint8]:
    """Sticky series, so that neighbouring points are alike."""
    generator = np.random.default_rng(7)
    moves = generator.random(n) < 0.2
    return np.asarray((np.cumsum(moves * generator.integers(1, k, n)) % k).astype(np.uint8))


def check_rate(hits: int, trials: int, rate: float) -> None:
    spread = math.sqrt(trials * rate * (1 - rate))
    assert abs(hits - trials * rate) <= DEVIATIONS * spread + 1e-9


def check_rows(x: NDArray[Any], z: NDArray[Any], matrix: NDArray[np.float64]) -> None:
    """Chi-squared of the reports of each state."""
    for state, row in enumerate(matrix):
        counts = np.bincount(z[x == state], minlength=len(row))
        possible = row > 0
        assert not counts[~possible].any()
        expected = row[possible] * counts.sum()
        statistic = ((counts[possible] - expected) ** 2 / expected).sum()
        assert statistic <= chi2.isf(FALSE_ALARM, max(1, int(possible.sum()) - 1))


def by_array(x: Any, channel: cv.Channel) -> Any:
    return sanitize(x, channel, rng=seeded(11))


def by_rows(x: Any, channel: cv.Channel) -> Any:
    return sanitize(x.reshape(-1, 100), channel, rng=seeded(12)).reshape(-1)


def by_packed(x: Any, channel: cv.Channel) -> Any:
    bits = sanitize_packed(np.packbits(x), channel, len(x), rng=seeded(13))
    return np.unpackbits(bits)[: len(x)]


def by_stream(x: Any, channel: cv.Channel) -> Any:
    stream = Stream(channel, rng=seeded(14))
    return np.concatenate([stream.push(part) for part in np.array_split(x, 1000)])


def by_points(x: Any, channel: cv.Channel) -> Any:
    stream = Stream(channel, rng=seeded(15))
    few = [stream.push(int(value)) for value in x[:SMALL]]
    return np.concatenate([np.array(few, np.uint8), stream.push(x[SMALL:])])


def by_general(x: Any, channel: cv.Channel) -> Any:
    """Two states the way of many."""
    out = np.empty_like(x)
    noise = Reports(channel, Draws(seeded(16)))
    for begin in range(0, len(x), 100_000):
        end = min(begin + 100_000, len(x))
        noise.apply(one_series(0, begin, end - begin), x[begin:end], out[begin:end])
    return out


WAYS = [by_array, by_rows, by_packed, by_stream, by_points, by_general]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rates", some_quick([(0.3, 0.2), (0.003, 0.4985)], [(0.3, 0.2)]))
def test_flip_rates_and_independence_of_neighbours(way: Any, rates: tuple[float, float]) -> None:
    channel = cv.Channel.binary(*rates)
    x = data(N)
    z = way(x, channel)
    flips = x != z
    for state, rate in enumerate(rates):
        check_rate(int(flips[x == state].sum()), int((x == state).sum()), rate)
    for lag in (1, 2, 8, 64):
        _check_pairs(x, flips, lag, rates)


def _check_pairs(
    x: NDArray[np.uint8], flips: NDArray[np.bool_], lag: int, rates: tuple[float, float]
) -> None:
    """Flips at a distance are independent: covariance of what is left after the mean."""
    left = flips - np.array(rates)[x]
    products = left[lag:] * left[:-lag]
    spread = math.sqrt(float((products**2).sum()))
    assert abs(float(products.sum())) <= DEVIATIONS * spread


@pytest.mark.parametrize("k", [3, 8, 9, 40])
def test_many_states_follow_their_channel(k: int) -> None:
    generator = np.random.default_rng(k)
    matrix = generator.dirichlet(np.full(k, 0.5), size=k)
    matrix[0, 1] = 0
    matrix /= matrix.sum(axis=1, keepdims=True)
    channel = cv.Channel(matrix)
    x = data(N // 4, k)
    z = sanitize(x, channel, rng=seeded(21))
    check_rows(x, z, channel.on_grid().matrix)
    moved = (z != x).astype(float) - channel.flip_probabilities[x]
    products = moved[1:] * moved[:-1]
    assert abs(products.sum()) <= DEVIATIONS * math.sqrt((products**2).sum())


def test_small_probabilities_are_met_beyond_a_byte() -> None:
    rate = 1.5 / 2**20
    z = sanitize(np.zeros(1 << 26, np.uint8), cv.Channel.binary(rate, 0.5), rng=seeded(31))
    # Poisson with mean 96: a correct sampler leaves 50 … 150 less than once in a million.
    assert 50 <= int(z.sum()) <= 150


@pytest.mark.parametrize("rates", [(0.1, 0.3), (0.5, 0.5), (0.02, 0.01), (0.9, 0.7)])
def test_the_noise_chain_moves_at_its_rates(rates: tuple[float, float]) -> None:
    noise = CorrelatedNoise(*rates)
    x = data(N)
    y = sanitize(x, noise, rng=seeded(41)) ^ x
    for state, rate in enumerate(rates):
        here = y[:-1] == state
        check_rate(int((y[1:][here] != state).sum()), int(here.sum()), rate)
    # Order one and no more: given the present, the past says nothing.
    for before in (0, 1):
        here = (y[1:-1] == 0) & (y[:-2] == before)
        check_rate(int(y[2:][here].sum()), int(here.sum()), rates[0])


@pytest.mark.parametrize("rates", [(0.1, 0.3), (0.02, 0.01), (1.0, 1.0), (1e-9, 3e-9)])
def test_noise_chains_start_in_equilibrium(rates: tuple[float, float]) -> None:
    noise = CorrelatedNoise(*rates)
    rows = sanitize(np.zeros((SMALL, 5), np.uint8), noise, rng=seeded(42))
    for column in (0, 1, 4):
        check_rate(int(rows[:, column].sum()), SMALL, noise.flip_rate)
    starts = [Stream(noise, rng=seeded(43).child(j)).push(0) for j in range(3000)]
    check_rate(sum(starts), 3000, noise.flip_rate)


def test_series_are_independent_of_each_other() -> None:
    rows = sanitize(np.zeros((2000, 1000), np.uint8), cv.Channel.binary(0.3, 0.3), rng=seeded(51))
    left = rows - 0.3
    products = left[1:] * left[:-1]
    spread = math.sqrt((products**2).sum())
    assert abs(products.sum()) <= DEVIATIONS * spread


def test_secure_noise_has_the_same_law() -> None:
    """Not seeded: fails less than twice in ten million runs (5.4 deviations, twice)."""
    x = data(N)
    flips = sanitize(x, cv.Channel.binary(0.3, 0.2)) != x
    for state, rate in ((0, 0.3), (1, 0.2)):
        trials = int((x == state).sum())
        spread = math.sqrt(trials * rate * (1 - rate))
        assert abs(int(flips[x == state].sum()) - trials * rate) <= 5.4 * spread
