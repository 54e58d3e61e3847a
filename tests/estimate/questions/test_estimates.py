"""What the questions answer, and how they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from chainveil import (
    Channel,
    CorrelatedNoise,
    InvalidInput,
    MarkovChain,
    ModelFamily,
    NotSupported,
    calibrate,
    estimate,
)
from chainveil.estimate.noise_law import as_noise_law
from chainveil.estimate.simplex import project
from chainveil.mechanism import sanitize, seeded

CHAIN = MarkovChain.binary(0.1, 0.15)
CLEAR = Channel.binary(0, 0)
X = CHAIN.sample(4000, rng=1)
Z = sanitize(X, Channel.binary(0.2, 0.1), rng=seeded(2))


def test_without_noise_the_answers_are_those_of_the_series() -> None:
    found = estimate.frequency(X, CLEAR)
    np.testing.assert_allclose(found.value, [1 - X.mean(), X.mean()])
    np.testing.assert_allclose(found.standard_error, 0, atol=1e-12)
    steps = estimate.transitions(X, CLEAR)
    fitted = MarkovChain.fit(X)
    np.testing.assert_allclose(steps.value, fitted.transition)
    np.testing.assert_allclose(steps.low, steps.high, atol=1e-6)
    spells = estimate.durations(X, CLEAR)
    np.testing.assert_allclose(spells.value, 1 / (1 - np.diag(fitted.transition)))
    product = (X[:-1] * X[1:]).mean() - X[:-1].mean() * X[1:].mean()
    expected = product / (X[:-1].mean() * (1 - X[:-1].mean()))
    np.testing.assert_allclose(estimate.autocorrelation(X, CLEAR, 1).value, expected)


def test_without_noise_sampling_intervals_are_those_of_wilson() -> None:
    steps = estimate.transitions(X, CLEAR, covers="sampling")
    counts = MarkovChain.fit(X).counts
    assert counts is not None
    n, p, d = counts[0].sum(), counts[0, 1] / counts[0].sum(), 1.959963984540054
    middle = (p + d**2 / (2 * n)) / (1 + d**2 / n)
    half = d / (1 + d**2 / n) * np.sqrt(p * (1 - p) / n + d**2 / (4 * n**2))
    np.testing.assert_allclose([steps.low[0, 1], steps.high[0, 1]], [middle - half, middle + half])


def test_two_states_agree_and_results_cannot_be_changed() -> None:
    found = estimate.frequency(Z, Channel.binary(0.2, 0.1))
    assert found.value.sum() == pytest.approx(1)
    assert found.value[1] == pytest.approx((Z.mean() - 0.2) / 0.7)
    assert found.standard_error[0] == pytest.approx(found.standard_error[1])
    assert found.groups is None
    assert "noise" in found.meaning
    with pytest.raises(ValueError, match="read-only"):
        found.value[0] = 1
    low, high = found.interval
    assert np.all(low < high)
    wide = estimate.frequency(Z, Channel.binary(0.2, 0.1), level=0.99)
    assert np.all(wide.high - wide.low > high - low)


def test_groups_have_answers_of_their_own() -> None:
    channel = Channel.binary(0.2, 0.1)
    halves = np.repeat([0, 1], 2000)
    by_label = estimate.frequency(Z, channel, by=halves)
    by_window = estimate.frequency(Z, channel, window=2000)
    by_series = estimate.frequency(Z.reshape(2, 2000), channel, by="series")
    for found in (by_window, by_series):
        np.testing.assert_allclose(found.value, by_label.value)
        np.testing.assert_allclose(found.standard_error, by_label.standard_error)
    one = estimate.frequency(Z[2000:], channel)
    np.testing.assert_allclose(by_label.value[1], one.value)
    steps = estimate.transitions(Z, channel, window=2000)
    assert steps.value.shape == (2, 2, 2)
    np.testing.assert_allclose(steps.value[0], estimate.transitions(Z[:2000], channel).value)
    lags = estimate.autocorrelation(Z, channel, [1, 3], by=halves)
    assert lags.value.shape == (2, 2, 2)
    assert lags.lags == (1, 3)


@pytest.mark.slow
def test_labels_that_alternate_know_correlated_noise() -> None:
    """Two groups whose points take turns: neighbours within a group are two points apart."""
    noise = CorrelatedNoise(0.1, 0.2)
    rows = 3000
    x = MarkovChain.symmetric(0.4).sample(200, rows, 1)
    z = sanitize(x, noise, rng=seeded(1))
    found = [estimate.frequency(row, noise, by=np.arange(200) % 2) for row in z[:400]]
    errors = np.array([f.value[:, 1] for f in found]) - np.stack(
        [x[:400, ::2].mean(axis=1), x[:400, 1::2].mean(axis=1)], axis=1
    )
    claimed = np.sqrt(np.mean([f.standard_error[:, 1] ** 2 for f in found], axis=0))
    # The standard deviation of 400 errors is within 15% of the truth but once in 50,000 runs.
    np.testing.assert_allclose(errors.std(axis=0) / claimed, 1, atol=0.15)


def test_projection() -> None:
    rows = project(np.array([[1.2, -0.2], [0.3, 0.7]]))
    np.testing.assert_allclose(rows, [[1.0, 0.0], [0.3, 0.7]])
    np.testing.assert_allclose(project(np.array([0.5, 0.9, -0.4])), [0.3, 0.7, 0])
    z = np.ones(400, np.uint8)
    raw = estimate.frequency(z, Channel.binary(0.2, 0.2))
    assert raw.value[1] > 1
    near = estimate.frequency(z, Channel.binary(0.2, 0.2), project=True)
    np.testing.assert_allclose(near.value, [0, 1])
    assert near.high.max() <= 1


def test_more_reports_than_states() -> None:
    channel = Channel([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    z = sanitize(X, channel, rng=seeded(4))
    found = estimate.frequency(z, channel)
    assert abs(found.value[1] - X.mean()) < 5 * found.standard_error[1]
    assert estimate.transitions(z, channel).value.shape == (2, 2)


def test_denoise_knows_the_memory_of_the_noise() -> None:
    noise = CorrelatedNoise(0.02, 0.05)
    x = MarkovChain.symmetric(0.4).sample(4000, rng=8)
    z = sanitize(x, noise, rng=seeded(9))
    known = estimate.denoise(z, noise, MarkovChain.symmetric(0.4))
    assert known.probability.shape == (4000, 2)
    np.testing.assert_allclose(known.probability.sum(axis=1), 1)
    right = (known.probability.argmax(axis=1) == x).mean()
    # Four standard errors: points are far from independent, so twice the binomial ones.
    assert abs(right - known.expected_accuracy) < 4 * 2 * 0.5 / np.sqrt(4000)
    several = estimate.denoise([z[:2000], z[2000:]], noise, MarkovChain.symmetric(0.4))
    assert [len(part) for part in several.path] == [2000, 2000]
    assert several.standard_error[0].shape == (2000, 2)
    clear = estimate.denoise(x, CLEAR, MarkovChain.symmetric(0.4))
    np.testing.assert_array_equal(clear.path, x)


def test_denoise_takes_the_model_of_the_plan() -> None:
    plan = calibrate(CHAIN, 3)
    z = plan.sanitize(X[:500], rng=seeded(3))
    found, same = estimate.denoise(z, plan), estimate.denoise(z, plan.noise, CHAIN)
    assert found.chain == CHAIN
    np.testing.assert_array_equal(found.probability, same.probability)
    other = MarkovChain.binary(0.3, 0.3)
    assert estimate.denoise(z, plan, other).chain == other
    for noise in (plan.noise, calibrate(ModelFamily([CHAIN, other]), 3)):
        with pytest.raises(InvalidInput, match=r"^model: .*--model FILE"):
            estimate.denoise(z, noise)
    with pytest.raises(InvalidInput, match="^model: found several models"):
        estimate.denoise(z, plan, ModelFamily([CHAIN, other]))


def test_noise_that_says_too_little() -> None:
    weak = Channel.binary(0.48, 0.48)
    with pytest.raises(InvalidInput, match=r"at least 625 of them"):
        estimate.frequency(Z[:600], weak)
    assert estimate.frequency(Z[:700], weak).value.shape == (2,)
    with pytest.raises(InvalidInput, match=r"at least 105,625 of them"):
        estimate.transitions(Z, weak)
    with pytest.raises(InvalidInput, match="cannot be inverted"):
        estimate.frequency(Z, Channel.binary(0.5, 0.5))
    with pytest.raises(InvalidInput, match="cannot be inverted"):
        estimate.frequency(Z, Channel([[0.5, 0.5], [0.3, 0.7], [0.1, 0.9]]))


def test_questions_that_cannot_be_answered() -> None:
    channel = Channel.binary(0.2, 0.1)
    with pytest.raises(InvalidInput, match="at least two points"):
        estimate.transitions([1], channel)
    with pytest.raises(InvalidInput, match="below the 4000 points"):
        estimate.autocorrelation(Z, channel, lags=4000)
    with pytest.raises(InvalidInput, match="covers"):
        estimate.frequency(Z, channel, covers="everything")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="level"):
        estimate.frequency(Z, channel, level=1)
    with pytest.raises(InvalidInput, match="noise"):
        estimate.frequency(Z, 0.2)
    with pytest.raises(InvalidInput, match="states 0 … 1"):
        estimate.frequency([0, 1, 2], channel)
    with pytest.raises(InvalidInput, match="one answer"):
        _ = estimate.transitions(Z, channel, window=2000).chain
    with pytest.raises(InvalidInput, match="one point"):
        estimate.frequency([1], CLEAR, covers="sampling")
    weak = Channel.binary(0.45, 0.45)
    with pytest.raises(InvalidInput, match=r"at least 3,025 of them.* Give the chain \(chain=\)"):
        estimate.frequency(Z[:1000], weak, covers="sampling")
    given = estimate.frequency(Z[:1000], weak, covers="sampling", chain=CHAIN)
    assert np.all(given.standard_error > estimate.frequency(Z[:1000], weak).standard_error)
    with pytest.raises(NotSupported, match="20,000 points"):
        _ = as_noise_law(CorrelatedNoise(1e-5, 3e-5)).reach
    with pytest.raises(InvalidInput, match="a MarkovChain of 2 states"):
        estimate.denoise(Z, CorrelatedNoise(0.1, 0.2), MarkovChain(np.full((3, 3), 1 / 3)))


def test_a_plan_is_noise_and_a_chain_can_be_given() -> None:
    plan = calibrate(CHAIN, 4)
    z = plan.sanitize(X, rng=seeded(5))
    assert np.array_equal(
        estimate.frequency(z, plan).value, estimate.frequency(z, plan.channel).value
    )
    given = estimate.frequency(z, plan, covers="sampling", chain=CHAIN)
    fitted = estimate.frequency(z, plan, covers="sampling")
    assert np.all(given.standard_error > estimate.frequency(z, plan).standard_error)
    np.testing.assert_allclose(given.standard_error, fitted.standard_error, rtol=0.3)
    assert np.all(given.effective_size < len(z))
