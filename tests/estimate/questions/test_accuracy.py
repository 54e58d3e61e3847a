"""The share of right guesses is estimated without bias: every release is tried."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from chainveil import Channel, MarkovChain, StickyNoise, TrackingNoise, estimate, inference
from chainveil.mechanism import sanitize, seeded
from tests.inference.enumeration import reports_given

CHAIN = MarkovChain.binary(0.2, 0.3)
STICKY = StickyNoise.binary([[0.12, 0.45], [0.55, 0.88]], [0.35, 0.65])
NOISE: dict[str, Any] = {"independent": Channel.binary(0.2, 0.3), "sticky": STICKY}
SERIES = [0, 1, 1, 0, 1]


@pytest.mark.parametrize("kind", NOISE)
def test_without_bias(kind: str) -> None:
    noise, x = NOISE[kind], np.array(SERIES)
    told, right = 0.0, 0.0
    for reports in product(range(2), repeat=len(x)):
        z = np.array(reports)
        weight = reports_given(noise, x.tolist(), z)
        found = estimate.denoise(z, noise, CHAIN).accuracy
        assert found is not None
        look = inference.smoothed if kind == "independent" else inference.filtered
        guess = look(CHAIN, noise, z).argmax(axis=1)
        skipped = 0 if kind == "independent" else 1
        assert found.points == len(x) - skipped
        told += weight * found.value
        right += weight * np.mean(guess[skipped:] == x[skipped:])
    assert told == pytest.approx(right, abs=1e-12)


def test_a_release_of_another_law_says_what_the_chain_does_not() -> None:
    """The chain claims more than is true of a series that changes faster; the release does not."""
    x = MarkovChain.binary(0.3, 0.3).sample(8000, rng=1)
    z = sanitize(x, STICKY, rng=seeded(1))
    found = estimate.denoise(z, STICKY, MarkovChain.binary(0.02, 0.02))
    guess = inference.filtered(found.chain, STICKY, z).argmax(axis=1)
    truth = float(np.mean(guess[1:] == x[1:]))
    assert found.accuracy is not None
    assert found.accuracy.low < truth < found.accuracy.high
    assert found.expected_accuracy > truth + 0.05
    assert "by the release itself" in str(found.accuracy)


def test_reports_that_do_not_tell() -> None:
    tracking = TrackingNoise.binary(
        [[[0.1, 0.5], [0.15, 0.6]], [[0.4, 0.85], [0.5, 0.9]]], [0.3, 0.7]
    )
    z = sanitize(CHAIN.sample(500, rng=4), tracking, rng=seeded(4))
    assert estimate.denoise(z, tracking, CHAIN).accuracy is None
    assert estimate.denoise([0, 1, 1], Channel.binary(0, 0), CHAIN).accuracy is None
