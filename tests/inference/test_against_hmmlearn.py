"""Posterior and Viterbi agree with an independent implementation (k = 2 … 8)."""

from __future__ import annotations

import numpy as np
import pytest

from chainveil import Channel, MarkovChain
from chainveil.inference import log_likelihood, smoothed, viterbi
from tests.inference.models import hmmlearn_model, path_score, random_model

pytest.importorskip("hmmlearn", reason="hmmlearn is the oracle of these tests")


@pytest.mark.parametrize("k", range(2, 9))
@pytest.mark.parametrize("seed", range(3))
def test_one_series(k: int, seed: int) -> None:
    rng = np.random.default_rng(100 * k + seed)
    chain, channel = random_model(rng, k, k + seed)
    z = rng.integers(0, k + seed, 2000 + seed)
    oracle = hmmlearn_model(chain, channel)
    score, expected = oracle.score_samples(z[:, None])
    np.testing.assert_allclose(smoothed(chain, channel, z), expected, rtol=0, atol=1e-10)
    assert log_likelihood(chain, channel, z) == pytest.approx(score, rel=1e-12)
    # Paths that visit the same states in another order can tie exactly, and then rounding
    # decides; so the likelihood is the claim, and the path wherever nothing ties.
    path, best = viterbi(chain, channel, z), oracle.predict(z[:, None])
    assert path_score(chain, channel, path, z) >= path_score(chain, channel, best, z) - 1e-9
    assert np.mean(path == best) > 0.99


@pytest.mark.parametrize("k", range(2, 9))
def test_paths_are_the_same_where_none_tie(k: int) -> None:
    """Every point emits an output of its own, so no two paths have the same factors."""
    rng = np.random.default_rng(k)
    for _ in range(10):
        chain, channel = random_model(rng, k, 60)
        z = rng.permutation(60)
        best = hmmlearn_model(chain, channel).predict(z[:, None])
        np.testing.assert_array_equal(viterbi(chain, channel, z), best)


@pytest.mark.parametrize("k", [2, 4])
def test_batches(k: int) -> None:
    rng = np.random.default_rng(k)
    chain, channel = random_model(rng, k, 30)
    z = rng.permuted(np.tile(np.arange(30), (70, 1)), axis=1)
    oracle = hmmlearn_model(chain, channel)
    lengths = [30] * 70
    expected = oracle.predict_proba(z.reshape(-1, 1), lengths).reshape(70, 30, k)
    np.testing.assert_allclose(smoothed(chain, channel, z), expected, rtol=0, atol=1e-10)
    best = oracle.predict(z.reshape(-1, 1), lengths).reshape(70, 30)
    np.testing.assert_array_equal(viterbi(chain, channel, z), best)


@pytest.mark.parametrize(("q", "r"), [(0.9, 0.8), (0.01, 0.02), (0.5, 0.5), (0.7, 0.3), (1, 0.2)])
def test_two_states_of_every_temper(q: float, r: float) -> None:
    """Chains that stay, that alternate, that forget, and one with a zero."""
    rng = np.random.default_rng(7)
    chain, channel = MarkovChain.binary(q, r), Channel.binary(0.31, 0.17)
    z = rng.integers(0, 2, 3001)
    oracle = hmmlearn_model(chain, channel)
    expected = oracle.predict_proba(z[:, None])
    np.testing.assert_allclose(smoothed(chain, channel, z), expected, rtol=0, atol=1e-10)
    found, best = viterbi(chain, channel, z), oracle.predict(z[:, None])
    assert path_score(chain, channel, found, z) == pytest.approx(
        path_score(chain, channel, best, z), rel=1e-12
    )
