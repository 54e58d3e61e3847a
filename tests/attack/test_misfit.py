"""Higher orders: counts, laws, the loss of every output, and the figures on heart rate."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from chainveil import Channel, InvalidInput, MarkovChain, calibrate, privacy_loss
from chainveil.attack import misfit
from chainveil.attack.longer_memory import output_law, worst_output
from chainveil.inference import log_likelihood
from chainveil.model.contexts import count_contexts
from chainveil.model.higher_order import HigherOrderChain, fit_order
from chainveil.sequences import as_sequences
from tests.attack.heart_rate import heart_rate

CHANNEL = Channel.binary(0.2, 0.35)


def test_counts_by_hand() -> None:
    series = as_sequences("x", [[0, 1, 1, 0, 1], [1, 1, 1, 1, 0]])
    counts = count_contexts(series, 2, 2, 2)
    assert counts.tolist() == [[0, 0], [0, 1], [0, 1], [2, 2]]
    assert count_contexts(series, 2, 1, 2).tolist() == [[0, 1], [2, 3]]


def test_order_one_is_the_chain() -> None:
    x = MarkovChain.binary(0.2, 0.3).sample(4000, rng=0)
    fitted, chain = fit_order(as_sequences("x", x), 2, 1), MarkovChain.fit(x, public=True)
    np.testing.assert_allclose(fitted.transition, chain.transition)
    np.testing.assert_allclose(fitted.contexts, chain.stationary)
    worst = worst_output(fitted, CHANNEL, 7)
    exact = privacy_loss(chain, CHANNEL, length=7, adversary="ignorant")
    assert worst.loss == pytest.approx(exact.epsilon, abs=1e-10)


def test_unseen_contexts_fall_back() -> None:
    series = as_sequences("x", np.tile([0, 0, 1], 50))
    fitted = fit_order(series, 2, 2)
    assert fitted.counts is not None
    assert fitted.counts[3].sum() == 0
    # After "1 1", which never occurs: what follows "1" is always 0.
    assert fitted.transition[3].tolist() == [1, 0]


def enumerated(chain: HigherOrderChain, window: int, target: int, value: int) -> Any:
    k, order = chain.states, chain.order
    law = np.zeros((2,) * window)
    for path in product(range(k), repeat=window):
        if path[target] != value:
            continue
        context = int("".join(map(str, path[:order])), k)
        probability = chain.contexts[context]
        for t in range(order, window):
            context = int("".join(map(str, path[t - order : t])), k)
            probability *= chain.transition[context, path[t]]
        for z in product(range(2), repeat=window):
            law[z] += probability * np.prod(CHANNEL.matrix[list(path), list(z)])
    return law.reshape(-1) / law.sum()


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_law_of_every_output(order: int) -> None:
    rng = np.random.default_rng(order)
    fitted = fit_order(as_sequences("x", rng.integers(0, 2, 3000)), 2, order)
    for target in range(5):
        for value in (0, 1):
            found = output_law(fitted, CHANNEL, 5, target, value)
            np.testing.assert_allclose(found, enumerated(fitted, 5, target, value), atol=1e-15)


def test_contexts_as_a_chain_of_their_own() -> None:
    """Likelihoods by inference, on contexts, are those of the contraction."""
    fitted = fit_order(as_sequences("x", np.random.default_rng(5).integers(0, 2, 500)), 2, 2)
    law = sum(
        output_law(fitted, CHANNEL, 4, 3, value) * fitted.contexts[value::2].sum()
        for value in (0, 1)
    )
    for number, z in enumerate(product(range(2), repeat=3)):
        # The first point of a window of four is only context to the chain of contexts.
        both = np.reshape(law, (2, 8))[:, number].sum()
        assert np.exp(log_likelihood(fitted, CHANNEL, list(z))) == pytest.approx(both)


def test_likelihood_ratio_of_true_and_false_chains() -> None:
    """Order-1 data are not rejected (fixed seed, p > 0.001); order-2 data are."""
    rng = np.random.default_rng(1)
    first = misfit(MarkovChain.binary(0.2, 0.3).sample(20_000, rng=2), CHANNEL, window=6)
    assert all(reading.p_value > 0.001 for reading in first.readings)
    x = [0, 0]
    for uniform in rng.random(20_000):
        x.append(int(uniform < (0.2, 0.5, 0.6, 0.8)[2 * x[-2] + x[-1]]))
    second = misfit(x, CHANNEL, window=6)
    assert second.readings[0].degrees == 0
    assert second.readings[1].degrees == 2
    assert second.readings[1].p_value < 1e-6
    assert second.readings[1].gap > 0.1
    assert second.readings[1].unseen == 0


@pytest.mark.parametrize(
    ("name", "epsilon", "expected"),
    [
        ("N5", 1.0, (1.00, 0.96, 1.74, 2.24)),
        ("N5", 2.0, (2.00, 2.10, 3.65, 4.19)),
        ("N5", 4.0, (3.89, 4.53, 6.09, 6.77)),
        ("N10", 2.0, (1.74, 1.99, 2.13, 2.24)),
    ],
)
def test_heart_rate(name: str, epsilon: float, expected: tuple[float, ...]) -> None:
    x = heart_rate(name)
    channel = calibrate(MarkovChain.fit(x, public=True), epsilon).channel
    found = misfit(x, channel, nominal=epsilon)
    np.testing.assert_allclose([r.worst.loss for r in found.readings], expected, atol=0.006)
    assert found.loss(3) == found.readings[2].worst.loss
    assert found.readings[2].p_value < 1e-10
    line = f"nominal epsilon={epsilon:g}, order-3 reading: at least {expected[2]:.2f}"
    assert line in str(found)


def test_errors() -> None:
    with pytest.raises(InvalidInput, match="orders: found 5; allowed: orders from 1 to 4"):
        misfit([0, 1, 1, 0], CHANNEL, orders=[5])
    with pytest.raises(InvalidInput, match="window: found 16; allowed: at most 15"):
        misfit([0, 1, 1, 0] * 10, CHANNEL, window=16)
    with pytest.raises(InvalidInput, match="x: found a number above the last state"):
        misfit([0, 1, 2], CHANNEL)
    with pytest.raises(InvalidInput, match="x: found 3 points"):
        misfit([0, 1, 1], CHANNEL)
