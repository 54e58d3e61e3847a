"""What must hold for every chain, channel and release."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chainveil import Channel, MarkovChain
from chainveil.inference import filtered, log_likelihood, smoothed, viterbi
from tests.inference.models import path_score, random_model

seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, k=st.integers(2, 5), n=st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_probabilities_are_probabilities(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    chain, channel = random_model(rng, k, 3)
    z = rng.integers(0, 3, n)
    for posterior in (smoothed(chain, channel, z), filtered(chain, channel, z)):
        assert np.all((posterior >= 0) & (posterior <= 1))
        np.testing.assert_allclose(posterior.sum(axis=1), 1, atol=1e-12)
    last = smoothed(chain, channel, z)[-1]
    np.testing.assert_allclose(last, filtered(chain, channel, z)[-1], atol=1e-12)


@given(
    q=st.floats(1e-6, 1 - 1e-6), r=st.floats(1e-6, 1 - 1e-6),
    rho0=st.floats(0, 1), rho1=st.floats(0.001, 0.999), seed=seeds, n=st.integers(1, 80),
)  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_time_and_names_do_not_matter(
    q: float, r: float, rho0: float, rho1: float, seed: int, n: int
) -> None:
    """A two-state chain looks the same backwards, and its states may swap their names."""
    chain, channel = MarkovChain.binary(q, r), Channel.binary(rho0, rho1)
    swapped = MarkovChain.binary(r, q), Channel(channel.matrix[::-1])
    # Drawn from the model, because with zeros in the channel not every output can occur.
    rng = np.random.default_rng(seed)
    z = (rng.random(n) < channel.matrix[chain.sample(n, rng=rng), 1]).astype(int)
    forth = smoothed(chain, channel, z, state=1)
    np.testing.assert_allclose(smoothed(chain, channel, z[::-1], state=1)[::-1], forth, atol=1e-11)
    np.testing.assert_allclose(smoothed(*swapped, z, state=0), forth, atol=1e-11)


@given(seed=seeds, k=st.integers(2, 4), n=st.integers(2, 30))
@settings(max_examples=60, deadline=None)
def test_knowing_is_conditioning(seed: int, k: int, n: int) -> None:
    """Pr[z] = sum over y of Pr[z, X_t = y], and the ratio is the posterior."""
    rng = np.random.default_rng(seed)
    chain, channel = random_model(rng, k, k)
    z, t = rng.integers(0, k, n), int(rng.integers(0, n))
    parts = np.array([log_likelihood(chain, channel, z, {t: y}) for y in range(k)])
    whole = log_likelihood(chain, channel, z)
    np.testing.assert_allclose(np.exp(parts - whole), smoothed(chain, channel, z)[t], atol=1e-11)


@given(seed=seeds, k=st.integers(2, 4), n=st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_no_path_beats_viterbi(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    chain, channel = random_model(rng, k, k)
    z = rng.integers(0, k, n)
    best = viterbi(chain, channel, z)
    top = path_score(chain, channel, best, z)
    for _ in range(20):
        other = np.where(rng.random(n) < 0.1, rng.integers(0, k, n), best)
        assert path_score(chain, channel, other, z) <= top + 1e-9
