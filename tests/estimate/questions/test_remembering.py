"""Questions about releases of noise that remembers, and of reports on one point in several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainveil import Channel, InvalidInput, MarkovChain, NotSupported, estimate
from chainveil.inference import log_likelihood, smoothed, viterbi
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
        for method in ("counts", "likelihood"):
            with pytest.raises(NotSupported, match="no two neighbours report"):
                question(z, noise, method=method)
    with pytest.raises(NotSupported, match="no two neighbours report"):
        estimate.denoise(z, noise)


def test_tracking_answers_by_likelihood_alone() -> None:
    z = sanitize(X, TRACKING, rng=seeded(3))
    for ask in (estimate.frequency, estimate.transitions, estimate.autocorrelation):
        with pytest.raises(NotSupported, match='method="likelihood"'):
            ask(z, TRACKING)
    found = estimate.transitions(z, TRACKING, method="likelihood", covers="sampling", level=0.9999)
    assert np.all((found.low < CHAIN.transition) & (CHAIN.transition < found.high))
    assert found.log_likelihood is not None
    fitted = log_likelihood(found.chain, TRACKING, z)
    assert found.log_likelihood == pytest.approx(fitted, abs=1.0)
    assert fitted > log_likelihood(CHAIN, TRACKING, z) - 0.01


def test_a_likelihood_that_is_too_flat_leaves_everything_open() -> None:
    faint = TrackingNoise.binary(
        [[[0.2, 0.25], [0.22, 0.28]], [[0.7, 0.75], [0.72, 0.8]]], [0.45, 0.55]
    )
    z = sanitize(X[:300], faint, rng=seeded(4))
    found = estimate.transitions(z, faint, method="likelihood")
    assert found.low.tolist() == [[0, 0], [0, 0]]
    assert found.high.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(InvalidInput, match="Give the chain"):
        estimate.denoise(z, faint)


@pytest.mark.slow
def test_the_likelihood_and_the_counts_of_sticky_noise_agree() -> None:
    """Within four standard errors of the counts, which waste more; a fixed seed."""
    z = sanitize(CHAIN.sample(40_000, rng=5), STICKY, rng=seeded(6))
    counts = estimate.transitions(z, STICKY, covers="sampling")
    likely = estimate.transitions(z, STICKY, method="likelihood", covers="sampling")
    assert np.all(likely.standard_error < counts.standard_error)
    assert np.all(np.abs(likely.value - counts.value) < 4 * counts.standard_error)
    with pytest.raises(NotSupported, match="by window"):
        estimate.transitions(z, STICKY, method="likelihood", window=5000)
    whole = estimate.frequency(z, STICKY, window=10_000, covers="sampling")
    assert whole.value.shape == (4, 2)


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


def test_a_chain_is_fitted_to_sticky_reports_over_gaps() -> None:
    z = np.ma.MaskedArray(sanitize(X, STICKY, rng=seeded(9)), mask=np.arange(len(X)) == 0)
    found = estimate.denoise(z, STICKY)
    assert abs(found.chain.transition[0, 1] - 0.0893) < 0.1
    assert found.expected_accuracy > 0.6


def test_too_few_reports() -> None:
    with pytest.raises(InvalidInput, match="at least two reports"):
        estimate.frequency([np.array([0]), np.array([1])], STICKY)
    with pytest.raises(InvalidInput, match="at least three points"):
        estimate.transitions([0, 1], STICKY)
    with pytest.raises(InvalidInput, match="at least one released point"):
        estimate.frequency([0, 1], CHANNEL.thinned(9))
    with pytest.raises(InvalidInput, match="too close to singular"):
        estimate.frequency([0, 1, 0], STICKY)
