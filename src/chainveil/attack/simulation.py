"""Series drawn from a chain with some of their points fixed, for audits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.model.base import DataModel


def sample_given(
    chain: DataModel,
    known: Mapping[int, int],
    length: int,
    size: int,
    rng: np.random.Generator | int | None = None,
) -> NDArray[np.uint8]:
    """Draw series of the chain with some points fixed, shape (size, length).

    Messages ``Pr[known points from t on | S_t]`` of the hidden states run from the end to the
    beginning; the states are then drawn in order, each weighed by the message of what is still
    to come.
    """
    generator = np.random.default_rng(rng)
    start, transition, value = chain.hidden_chain()
    ahead = _messages(transition, value, known, length)
    series = np.empty((length, size), dtype=np.int64)
    weights = start * ahead[0]
    if weights.sum() <= 0:
        raise InvalidInput(
            "known", "states of probability zero", "states that the chain allows together"
        )
    series[0] = _draw(weights[None, :], np.zeros(size, dtype=np.int64), generator)
    for t in range(1, length):
        series[t] = _draw(transition * ahead[t], series[t - 1], generator)
    return np.ascontiguousarray(value[series.T].astype(np.uint8))


def _messages(
    transition: FloatArray, value: NDArray[np.int64], known: Mapping[int, int], length: int
) -> FloatArray:
    ahead = np.ones((length, len(value)))
    for t in range(length - 1, -1, -1):
        if t < length - 1:
            ahead[t] = transition @ ahead[t + 1]
        if t in known:
            ahead[t, value != known[t]] = 0.0
        ahead[t] /= ahead[t].max() if ahead[t].max() > 0 else 1.0
    return ahead


def _draw(
    weights: FloatArray, rows: NDArray[Any], generator: np.random.Generator
) -> NDArray[np.int64]:
    """One draw for each entry of ``rows`` from that row of ``weights``."""
    sums = np.cumsum(weights, axis=1)
    uniforms = generator.random(len(rows)) * sums[rows, -1]
    drawn = np.zeros(len(rows), dtype=np.int64)
    for state in range(weights.shape[1] - 1):
        drawn += uniforms >= sums[rows, state]
    return drawn
