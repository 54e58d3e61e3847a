"""Intervals cover as often as they say, and estimates are unbiased: 5,000 releases a setting.

Durations, whose intervals follow from those of transitions, are asked for of 1,000 of them.
The seeds are fixed. A share of 5,000 repetitions has a standard error of 0.31 points, so an
interval of exactly 95% coverage leaves 94% to 96% once in 830 runs of one comparison. There are
about 200 comparisons, most of them dependent: with other seeds a run of this file would fail
about one time in six without a fault. ``benchmarks.coverage`` does the same for more settings,
and 5,000 times for 30,000 points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from chainveil import Channel, CorrelatedNoise, MarkovChain, calibrate, estimate
from chainveil.estimate.counts.cells import read_cells
from chainveil.mechanism import sanitize, seeded
from chainveil.noise import Noise

REPETITIONS, SOME = 5000, 1000
# Where noise hides nearly everything, intervals that would miss the scale altogether begin at its
# nearer end: they cover a little more often than they say.
LOW, HIGH = 0.94, 0.97
LAGS = (1, 5)
TWO = MarkovChain.symmetric(0.35)
HEART = MarkovChain.binary(0.1, 0.15)
FOUR = MarkovChain(np.full((4, 4), 0.15) + 0.4 * np.eye(4))


def released(
    chain: MarkovChain, noise: Any, length: int, rows: int = REPETITIONS
) -> tuple[NDArray[Any], NDArray[Any]]:
    x = chain.sample(length, rows, 11)
    return x, sanitize(x, noise, rng=seeded(12))


def pair_shares(x: NDArray[Any], k: int, lag: int = 1) -> NDArray[np.float64]:
    """Share of each pair of states ``lag`` points apart in each row, shape (rows, k, k)."""
    codes = x[:, :-lag] * np.uint8(k) + x[:, lag:]
    shares = [np.count_nonzero(codes == code, axis=1) for code in range(k * k)]
    return np.asarray(np.stack(shares, axis=1).reshape(-1, k, k) / codes.shape[1])


def correlation(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlation of being in each state at both points of a pair, shape (rows, k)."""
    first, second = shares.sum(axis=2), shares.sum(axis=1)
    top = np.diagonal(shares, axis1=1, axis2=2) - first * second
    return np.asarray(top / (first * (1 - first)))


def assert_covers(found: estimate.Estimate, truth: Any) -> None:
    inside = (found.low <= truth) & (truth <= found.high)
    share = inside.reshape(len(inside), -1).mean(axis=0)
    reach = 4 * np.sqrt(0.95 * 0.05 / len(inside))
    # With fewer repetitions, and for single entries of several: four standard errors from 95%.
    most = max(HIGH, 0.95 + reach)
    low, high = (LOW, HIGH) if len(inside) == REPETITIONS else (0.95 - reach, most)
    assert low <= share.mean() <= high, share
    assert share.min() >= 0.95 - reach, share
    assert share.max() <= most, share


def assert_unbiased(errors: NDArray[np.float64]) -> None:
    """Within four standard errors of the mean: fails once in 16,000 comparisons."""
    error = errors.std(axis=0) / np.sqrt(len(errors))
    assert np.all(np.abs(errors.mean(axis=0)) <= 4 * error + 1e-12)


def two_state_settings() -> list[Any]:
    """One setting, and every other one among the slow tests."""
    slow = pytest.mark.slow
    cases = []
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        for mechanism in ("independent", "correlated"):
            name = f"{mechanism} noise, epsilon {epsilon:g}"
            marks = [] if (epsilon, mechanism) == (2, "independent") else [slow]
            cases.append(pytest.param(TWO, epsilon, mechanism, 1000, id=name, marks=marks))
    for chain, epsilon, mechanism, length, name in (
        (HEART, 4.0, "independent", 1000, "long spells"),
        (HEART, 2.0, "correlated", 1000, "long spells, correlated"),
        (TWO, 1.0, "independent", 30_000, "30,000 points"),
        (HEART, 4.0, "correlated", 30_000, "30,000 points, correlated"),
    ):
        cases.append(pytest.param(chain, epsilon, mechanism, length, id=name, marks=slow))
    return cases


@pytest.mark.parametrize(("chain", "epsilon", "mechanism", "length"), two_state_settings())
def test_two_states(chain: MarkovChain, epsilon: float, mechanism: Any, length: int) -> None:
    noise = calibrate(chain, epsilon, mechanism=mechanism).noise
    check(chain, noise, length, REPETITIONS if length == 1000 else 500)


@pytest.mark.parametrize(
    ("epsilon", "length"),
    [
        pytest.param(0.5, 1000, marks=pytest.mark.slow),
        pytest.param(1.0, 30_000, marks=pytest.mark.slow),
        pytest.param(4.0, 1000, marks=pytest.mark.slow),
    ],
)
def test_four_states(epsilon: float, length: int) -> None:
    rows = REPETITIONS if length == 1000 else 500
    check(FOUR, calibrate(FOUR, epsilon).noise, length, rows, pairs=epsilon > 0.5)


def check(
    chain: MarkovChain,
    noise: Noise,
    length: int,
    rows: int,
    pairs: bool = True,
) -> None:
    """Coverage and bias of frequency, transitions and durations in one setting."""
    x, z = released(chain, noise, length, rows)
    k = chain.states
    shares = np.stack([np.count_nonzero(x == a, axis=1) for a in range(k)], axis=1) / length
    # Read once: all questions share what is counted.
    cells = read_cells(z, k, by="series")
    level = estimate.frequency(cells, noise)
    assert_covers(level, shares)
    assert_unbiased(level.value - shares)
    if not pairs:
        return
    made = pair_shares(x, k)
    moves = made / made.sum(axis=2, keepdims=True)
    steps = estimate.transitions(cells, noise)
    assert_unbiased((steps.pairs - made).reshape(len(x), -1))
    assert_covers(steps, moves)
    drawn = estimate.transitions(cells, noise, covers="sampling")
    assert_covers(drawn, chain.transition)
    lags = np.stack([correlation(pair_shares(x, k, lag)) for lag in LAGS], axis=1)
    assert_covers(estimate.autocorrelation(cells, noise, LAGS), lags)
    if rows < REPETITIONS:
        return
    # The intervals of durations are those of transitions, sent through a formula.
    cells, moves = read_cells(z[:SOME], k, by="series"), moves[:SOME]
    for covers, stay in (("noise", moves), ("sampling", chain.transition)):
        about: Any = covers
        spells = estimate.durations(cells, noise, covers=about)
        with np.errstate(divide="ignore"):
            lasting = 1 / (1 - np.diagonal(stay, axis1=-2, axis2=-1))
        assert_covers(spells, lasting)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["independent", "correlated"])
def test_frequency_of_the_chain(mechanism: Any) -> None:
    """With a chain fitted to each release alone; 600 repetitions, standard error 0.9 points.

    The limits are four of them from 95%: false alarms once in 16,000.
    """
    noise = calibrate(HEART, 4, mechanism=mechanism).noise
    _, z = released(HEART, noise, 1000, 600)
    found = [estimate.frequency(row, noise, covers="sampling") for row in z]
    inside = [bool(f.low[1] <= HEART.stationary[1] <= f.high[1]) for f in found]
    assert 0.914 <= np.mean(inside) <= 0.986


def test_errors_that_ignore_the_memory_of_the_noise_are_found_out() -> None:
    """The same release read as if its flips were independent: far from 95%, at any seed."""
    noise = calibrate(HEART, 4, mechanism="correlated").noise
    assert isinstance(noise, CorrelatedNoise)
    x, z = released(HEART, noise, 1000, 1000)
    forgetful = Channel.binary(noise.flip_rate, noise.flip_rate)
    found = estimate.frequency(z, forgetful, by="series")
    inside = (found.low[:, 1] <= x.mean(axis=1)) & (x.mean(axis=1) <= found.high[:, 1])
    assert inside.mean() < 0.9
