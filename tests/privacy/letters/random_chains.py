"""Random chains and channels with k states, some with zeros, for tests and oracles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import chainveil as cv


def random_chain(rng: np.random.Generator, k: int) -> cv.MarkovChain:
    """An irreducible chain: half of them with zero transitions, half not stationary at first."""
    while True:
        matrix = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0, 3.0])), size=k)
        if rng.random() < 0.5:
            matrix = matrix * (rng.random((k, k)) < 0.6)
        matrix[matrix < 1e-6] = 0.0
        if np.any(matrix.sum(axis=1) == 0):
            continue
        start = _start(rng, k) if rng.random() < 0.5 else None
        try:
            return cv.MarkovChain(matrix / matrix.sum(axis=1, keepdims=True), start)
        except cv.InvalidInput:
            continue  # not irreducible


def random_channel(rng: np.random.Generator, k: int, m: int) -> cv.Channel:
    """A channel; a quarter of them can rule a state out."""
    matrix = rng.dirichlet(np.full(m, rng.choice([0.5, 2.0])), size=k)
    if rng.random() < 0.25:
        matrix = matrix * (rng.random((k, m)) < 0.8)
        matrix[matrix.sum(axis=1) == 0, 0] = 1.0
    matrix[matrix < 1e-6] = 0.0
    return cv.Channel(matrix / matrix.sum(axis=1, keepdims=True))


def _start(rng: np.random.Generator, k: int) -> NDArray[np.float64]:
    weights = rng.dirichlet(np.ones(k))
    if rng.random() < 0.5:
        weights = weights * (rng.random(k) < 0.5)
    if weights.sum() == 0:
        weights[0] = 1.0
    return np.asarray(weights / weights.sum())
