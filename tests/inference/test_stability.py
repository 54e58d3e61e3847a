"""Long series and extreme probabilities: nothing overflows, vanishes or drifts."""

from __future__ import annotations

import numpy as np
import pytest

from chainveil import Channel, MarkovChain
from chainveil.inference import filtered, log_likelihood, smoothed, viterbi
from tests.inference.enumeration import joint, posterior


@pytest.mark.parametrize("k", [2, 3])
def test_long_series_equal_their_middle(k: int) -> None:
    """Far from the ends a long series agrees with a window of itself."""
    n = 10**7 if k == 2 else 10**6
    chain = MarkovChain(np.full((k, k), 0.1 / (k - 1)) + (0.9 - 0.1 / (k - 1)) * np.eye(k))
    channel = Channel.randomized_response(k, 0.2)
    z = np.random.default_rng(0).integers(0, k, n, dtype=np.uint8)
    whole = smoothed(chain, channel, z, state=1)
    window = smoothed(chain, channel, z[n // 2 : n // 2 + 2000], state=1)
    np.testing.assert_allclose(
        whole[n // 2 + 500 : n // 2 + 1500], window[500:1500], rtol=0, atol=1e-12
    )
    assert np.all(np.isfinite(whole))


def test_ten_million_equal_points() -> None:
    n = 10**7
    chain, channel = MarkovChain.binary(1e-9, 1e-9), Channel.binary(1e-9, 1e-9)
    z = np.zeros(n, dtype=np.uint8)
    assert smoothed(chain, channel, z, state=1).max() < 1e-8
    assert not viterbi(chain, channel, z).any()
    expected = np.log(0.5) + n * np.log1p(-1e-9) + (n - 1) * np.log1p(-1e-9)
    assert log_likelihood(chain, channel, z) == pytest.approx(expected, rel=1e-6)


def test_evidence_that_comes_back() -> None:
    """An alternating chain never forgets: 20,000 points for one phase, then as many against."""
    chain, channel = MarkovChain.binary(1.0, 1.0), Channel.binary(0.1, 0.1)
    half = np.tile([0, 1], 10_000)
    z = np.concatenate([half, 1 - half])
    np.testing.assert_allclose(smoothed(chain, channel, z), 0.5, atol=1e-9)
    assert filtered(chain, channel, z)[20_000, 0] == pytest.approx(1.0)
    even = log_likelihood(chain, channel, z)
    assert even == pytest.approx(20_000 * (np.log(0.1) + np.log(0.9)), rel=1e-12)


@pytest.mark.parametrize("tiny", [1e-13, 1e-80, 1e-200])
def test_tiny_probabilities(tiny: float) -> None:
    chain, channel = MarkovChain.binary(tiny, 0.3), Channel.binary(tiny, 0.2)
    for z in ([0, 0, 1, 0], [1, 1, 1, 0], [0, 1, 0, 1]):
        table = joint(chain, channel, z, {})
        if sum(table.values()) == 0:  # the enumeration itself underflows
            continue
        expected = posterior(table, len(z), 2)
        np.testing.assert_allclose(smoothed(chain, channel, z), expected, rtol=1e-10, atol=1e-14)
        assert log_likelihood(chain, channel, z) == pytest.approx(np.log(sum(table.values())))


def test_the_smallest_double_is_not_zero() -> None:
    """Output 1 in state 0 is all but impossible, and still likelier than a change of state."""
    chain = MarkovChain.binary(5e-324, 0.3, initial=[1, 0])
    posterior = smoothed(chain, Channel.binary(5e-324, 0.2), [0, 0, 1, 0])
    # By hand, in units of the tiny number: staying in 0 weighs 1, moving to 1 before the second
    # point or before the third weighs what follows; .44 is the last point, kept or left.
    second, third = 0.2 * 0.7 * 0.8 * 0.44, 0.8 * 0.44
    expected = np.array([0, second, second + third]) / (1 + second + third)
    np.testing.assert_allclose(posterior[:3, 1], expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9])
def test_certain_points_everywhere(n: int) -> None:
    chain, channel = MarkovChain.binary(0.2, 0.3), Channel.binary(0.0, 0.0)
    z = np.arange(n) % 3 == 0
    np.testing.assert_array_equal(smoothed(chain, channel, z, state=1), z)
    np.testing.assert_array_equal(viterbi(chain, channel, z), z)
    assert log_likelihood(chain, channel, z, dict(enumerate(z.astype(int)))) < 0
