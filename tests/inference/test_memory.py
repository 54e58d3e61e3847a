"""What the engines hold at once, beyond the series they are given."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from chainveil import Channel, MarkovChain
from chainveil.inference import log_likelihood, smoothed, viterbi

N = 200_000


def peak(run: Callable[[], object]) -> float:
    """Largest number of bytes a point that arrays take while ``run`` runs, its result included."""
    run()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / N
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("k", "state", "allowed"),
    [(2, 1, 8), (2, None, 16 + 8), (5, None, 40), (8, 3, 64)],
    ids=["one number a point", "both states", "five states", "one of eight states"],
)
def test_smoothing(k: int, state: int | None, allowed: float) -> None:
    chain = MarkovChain(np.full((k, k), 1 / k))
    channel = Channel.randomized_response(k, 0.3)
    z = np.random.default_rng(0).integers(0, k, N, dtype=np.uint8)
    assert peak(lambda: smoothed(chain, channel, z, state=state)) < allowed + 1


def test_two_state_viterbi_takes_a_byte_a_point() -> None:
    chain, channel = MarkovChain.symmetric(0.1), Channel.binary(0.2, 0.3)
    z = np.random.default_rng(0).integers(0, 2, N, dtype=np.uint8)
    assert peak(lambda: viterbi(chain, channel, z)) < 1.5
    assert peak(lambda: log_likelihood(chain, channel, z)) < 0.5
