"""Random chains and random noise of every kind, some with values and reports that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import chainveil as cv
from chainveil.noise.memory import StickyNoise, TrackingNoise

KINDS = ("independent", "correlated", "sticky", "tracking")


def random_rows(
    rng: np.random.Generator, shape: tuple[int, ...], zeros: float = 0.0
) -> NDArray[np.float64]:
    """Laws over the last axis; each entry is 0 with probability ``zeros``, never all of a row."""
    weights = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
    weights = weights * (rng.random(shape) >= zeros)
    empty = weights.sum(axis=-1) == 0
    weights[empty, rng.integers(shape[-1])] = 1.0
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def random_chain(rng: np.random.Generator, states: int = 2, zeros: float = 0.0) -> cv.MarkovChain:
    """Lazy or not, stationary or not; a step from each state to the next one is always possible."""
    transition = random_rows(rng, (states, states), zeros)
    place = np.arange(states)
    transition[place, (place + 1) % states] += rng.uniform(0.01, 0.2, states)
    transition /= transition.sum(axis=1, keepdims=True)
    own_start = rng.random() < 0.5
    return cv.MarkovChain(transition, random_rows(rng, (states,), zeros) if own_start else None)


def random_noise(
    rng: np.random.Generator, kind: str, states: int = 2, outputs: int = 2, zeros: float = 0.0
) -> Any:
    """Noise of a kind, on every point or, where that is offered, on every second or third."""
    every = int(rng.choice([1, 1, 2, 3]))
    k, m = states, outputs
    if kind == "independent":
        return cv.Channel(random_rows(rng, (k, m), zeros), every)
    if kind == "correlated":
        rho0, rho1 = rng.uniform(0.05, 1.0, 2)
        return cv.CorrelatedNoise(rho0, rho1)
    first = random_rows(rng, (k, m), zeros)
    if kind == "sticky":
        return StickyNoise(random_rows(rng, (m, k, m), zeros), first, every)
    kernel, gap = random_rows(rng, (m, k, k, m), zeros), random_rows(rng, (m, k, m), zeros)
    return TrackingNoise(kernel, first, gap)
