"""Questions about releases of noise that remembers, and of reports on one point in several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import Channel, InvalidInput, MarkovChain, NotSupported, estimate
from chainveil.inference import smoothed, viterbi
from chainveil.mechanism import sanitize, seeded
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise, TrackingNoise
from tests.inference.remembering import drawn

CHAIN = MarkovChain.binary(0.0893, 0.1092)
STICKY = StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])
TRACKING = TrackingNoise.binary(
    [[[0.05, 0.5], [0.15, 0.35]], [[0.65, 0.85], [0.5, 0.95]]],
    [0.3, 0.7],
    [[0.1, 0.4], [0.5, 0.9]],
)
CHANNEL = Channel.binary(0.3, 0.2)
X = CHAIN.sample(4000, rng=1)


def held(noise: Noise, x: Any = X, seed: int = 2) -> tuple[Any, Any]:
    """Reports of the points that report, and the same held over their blocks."""
    places = noise.places(len(x))
    reports = sanitize(x[places], noise.thinned(1), rng=seeded(seed))
    blocks = np.minimum(np.arange(len(x)) // noise.every, len(reports) - 1)
    return reports, reports[blocks]


@pytest.mark.parametrize("noise", [STICKY.thinned(3), CHANNEL.thinned(5)], ids=["sticky", "plain"])
def test_reports_on_one_point_in_several_are_a_series_of_their_own(noise: Noise) -> None:
    reports, z = held(noise)
    alone = noise.thinned(1)
    for covers in ("noise", "sampling"):
        chain = CHAIN if covers == "sampling" else None
        between = MarkovChain(np.linalg.matrix_power(CHAIN.transition, noise.every))
        found = estimate.frequency(z, noise, covers=covers, chain=chain)
        same = estimate.frequency(
            reports,
            alone,
            covers=covers,
            chain=between if chain else None,
        )
        np.testing.assert_array_equal(found.value, same.value)
        np.testing.assert_allclose(found.noise_error, same.standard_error)
    far = estimate.autocorrelation(z, noise, lags=[noise.every])
    near = estimate.autocorrelation(reports, alone, lags=[1])
    np.testing.assert_array_equal(far.value, near.value)
    assert far.lags == (noise.every,)


def test_groups_of_reports_on_one_point_in_three() -> None:
    noise = CHANNEL.thinned(3)
    reports, z = held(noise)
    parts = estimate.frequency(z, noise, window=600)
    same = estimate.frequency(reports, CHANNEL, window=200)
    np.testing.assert_array_equal(parts.value, same.value)
    labels = np.arange(len(z)) % 2
    found = estimate.frequency(z, noise, by=labels)
    expected = estimate.frequency(reports, CHANNEL, by=labels[noise.places(len(z))])
    np.testing.assert_array_equal(found.value, expected.value)
    rows = estimate.frequency(z.reshape(8, 500), noise, by="series")
    assert rows.points.tolist() == [167] * 8
    packed = estimate.Packed(np.packbits(z), len(z))
    np.testing.assert_array_equal(
        estimate.frequency(packed, noise).value, estimate.frequency(z, noise).value
    )
    with pytest.raises(InvalidInput, match="multiples of 3"):
        estimate.frequency(z, noise, window=500)
    with pytest.raises(InvalidInput, match="one a released point"):
        estimate.frequency(z, noise, by=[1, 2])
    with pytest.raises(InvalidInput, match="multiples of 3"):
        estimate.autocorrelation(z, noise, lags=[1, 3])


@pytest.mark.parametrize("noise", [STICKY.thinned(3), CHANNEL.thinned(5)], ids=["sticky", "plain"])
def test_neighbours_that_do_not_report_are_not_made_up(noise: Noise) -> None:
    _, z = held(noise)
    for question in (estimate.transitions, estimate.durations):
        with pytest.raises(NotSupported, match="no two neighbours report"):
            question(z, noise)


def test_reports_that_mix_two_points_are_not_counted() -> None:
    z = sanitize(X, TRACKING, rng=seeded(3))
    for ask in (estimate.frequency, estimate.transitions, estimate.autocorrelation):
        with pytest.raises(NotSupported, match="two points: nothing undoes it without a model"):
            ask(z, TRACKING)


def test_windows_of_sticky_reports_cover_the_drawing_too() -> None:
    z = sanitize(CHAIN.sample(40_000, rng=5), STICKY, rng=seeded(6))
    alone = estimate.frequency(z, STICKY, window=10_000)
    found = estimate.frequency(z, STICKY, window=10_000, covers="sampling")
    assert found.value.shape == (4, 2)
    assert np.all(found.standard_error > alone.standard_error)


@pytest.mark.parametrize(
    "noise", [STICKY, TRACKING, STICKY.thinned(3), CHANNEL.thinned(2)],
    ids=["sticky", "tracking", "sticky, one in three", "one in two"],
)  # fmt: skip
def test_denoising_is_inference_and_says_nothing_about_gaps(noise: Noise) -> None:
    rng = np.random.default_rng(7)
    x = np.ma.MaskedArray(CHAIN.sample(30, 3, rng=8), mask=rng.random((3, 30)) < 0.2)
    z = drawn(x, noise, rng)
    found = estimate.denoise(z, noise, CHAIN)
    chances, path = smoothed(CHAIN, noise, z), viterbi(CHAIN, noise, z)
    there = ~np.ma.getmaskarray(z)
    np.testing.assert_array_equal(found.probability[there], chances[there])
    assert np.isnan(found.probability[~there]).all()
    np.testing.assert_array_equal(np.ma.getmaskarray(found.path), ~there)
    np.testing.assert_array_equal(found.path[there], path[there])
    several = estimate.denoise(list(z), noise, CHAIN)
    np.testing.assert_array_equal(several.probability[1], found.probability[1])


def test_too_few_reports() -> None:
    with pytest.raises(InvalidInput, match="at least two reports"):
        estimate.frequency([np.array([0]), np.array([1])], STICKY)
    with pytest.raises(InvalidInput, match="at least three points"):
        estimate.transitions([0, 1], STICKY)
    with pytest.raises(InvalidInput, match="at least one released point"):
        estimate.frequency([0, 1], CHANNEL.thinned(9))
    with pytest.raises(InvalidInput, match="too close to singular"):
        estimate.frequency([0, 1, 0], STICKY)
