"""What has no formula, from series drawn from the chain of a study: always the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from chainveil import inference
from chainveil.checks import FloatArray
from chainveil.mechanism import sanitize, seeded
from chainveil.noise.base import Noise

# Points that are drawn, and series that they are cut into at least.
POINTS, FEWEST = 400_000, 40
# Points of a series, in times that the chain takes to forget, and at least.
FORGETTING, SHORTEST, LONGEST = 100, 2_000, 40_000
SEED = 20_26


@dataclass(frozen=True)
class Decoded:
    """How well the points of a release can be told by somebody who knows the chain.

    Attributes
    ----------
    wrong : float
        Expected share of points at which the likelier state is wrong, all points counted.
    error : float
        Its standard error, as one of a simulation.
    success : float
        Expected share of right guesses at the most exposed place: points that report, or those
        between, whichever is higher.
    success_error : float
    """

    wrong: float
    error: float
    success: float
    success_error: float


@lru_cache(maxsize=4)
def drawn(model: Any, length: int | None) -> Any:
    """Series of a chain, shape (series, points); as long as a promise lets them be."""
    points = min(max(SHORTEST, FORGETTING * _memory(model)), LONGEST, length or LONGEST)
    count = max(FEWEST, POINTS // points)
    return model.sample(points, count, np.random.default_rng(SEED))


def _memory(model: Any) -> int:
    """Points that a chain takes to forget where it began."""
    sizes = np.sort(np.abs(np.linalg.eigvals(model.hidden_chain()[1])))
    return int(min(1 / max(1 - sizes[-2], 1e-9), LONGEST)) if len(sizes) > 1 else 1


def decoded(model: Any, noise: Noise, length: int | None = None) -> Decoded:
    """Smooth the drawn series after the noise; the mean of the posterior, not of hits, is taken."""
    # The same numbers draw every noise.
    z = sanitize(drawn(model, length), noise, rng=seeded(SEED))
    best = inference.smoothed(model, noise, z).max(axis=-1)
    wrong, error = _mean(1 - best)
    places = [_mean(best[:, place :: noise.every]) for place in range(noise.every)]
    return Decoded(wrong, error, *max(places))


def _mean(values: FloatArray) -> tuple[float, float]:
    """Over all series, with its standard error; shape (series, points)."""
    if values.shape[1] == 0:
        return 0.0, 0.0
    rows = values.mean(axis=1)
    return float(rows.mean()), float(rows.std(ddof=1) / np.sqrt(len(rows)))
