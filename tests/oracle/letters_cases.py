"""Random chains of k states and any order, with the structures that are hard, and their noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import chainveil as cv
from chainveil.model.higher_order import HigherOrderChain
from chainveil.noise.memory import StickyNoise, TrackingNoise
from tests.oracle.memory_cases import random_rows

Rng = np.random.Generator
FloatArray = NDArray[np.float64]

STRUCTURES = ("dense", "sparse", "periodic", "cyclic", "birth-death", "absorbing")
CHANNELS = ("response", "ordinal", "per-state", "random")
NOISES = (*CHANNELS, "sticky response", "sticky random", "tracking")


def random_case(
    rng: Rng, states: int, order: int, kind: str, noise: str | None = None
) -> tuple[Any, Any]:
    """A chain of a structure, and noise: of the name, or of one of ``NOISES`` but tracking."""
    return random_model(rng, states, order, kind), random_noise(rng, states, noise)


def random_model(rng: Rng, states: int, order: int, kind: str) -> Any:
    """A chain with one set of contexts that come back, its start stationary but for order 1."""
    possible = np.stack([_possible(rng, states, last, kind) for last in range(states)])
    allowed = np.tile(possible, (states ** (order - 1), 1))
    if kind == "sparse":
        # A step to the next state is always possible, so every context leads into one cycle.
        drop = rng.random(allowed.shape) < 0.5
        drop[np.arange(len(drop)), (np.arange(len(drop)) + 1) % states] = False
        allowed = allowed & ~drop
    transition = random_rows(rng, allowed.shape) * allowed
    transition /= transition.sum(axis=1, keepdims=True)
    transition = _held(rng, transition, kind)
    if order > 1:
        return HigherOrderChain.from_json({"transition": transition})
    start = random_rows(rng, (states,), 0.2) if rng.random() < 0.25 else None
    return cv.MarkovChain(transition, start)


def _possible(rng: Rng, k: int, last: int, kind: str) -> NDArray[np.bool_]:
    """The values that may follow ``last``, shape (k,)."""
    values = np.arange(k)
    tests: dict[str, Callable[[], NDArray[np.bool_]]] = {
        "periodic": lambda: values % min(k, 3) == (last % min(k, 3) + 1) % min(k, 3),
        "cyclic": lambda: (values == last) | (values == (last + 1) % k),
        "birth-death": lambda: np.abs(values - last) <= 1,
    }
    return tests.get(kind, lambda: values >= 0)()


def _held(rng: Rng, transition: FloatArray, kind: str) -> FloatArray:
    """The same chain where it stays for longer: one state nearly for ever, or all a little."""
    k = transition.shape[1]
    own = np.arange(len(transition)) % k
    leave = np.ones(len(transition))
    if kind == "absorbing":
        leave[own == rng.integers(k)] = 10.0 ** -rng.uniform(1, 5)
    elif kind != "periodic" and rng.random() < 0.4:
        leave[:] = rng.uniform(0.05, 0.7)
    return np.asarray(leave[:, None] * transition + (1 - leave[:, None]) * np.eye(k)[own])


def random_noise(rng: Rng, states: int, name: str | None = None) -> Any:
    """Noise with as many reports as states, some of it impossible reports now and then."""
    if name is None:
        name = str(rng.choice(NOISES[:-1]))
    every = int(rng.choice([1, 1, 1, 2, 3]))
    zeros = 0.15 if rng.random() < 0.15 else 0.0
    k = states
    if name in CHANNELS:
        return _channel(rng, k, name, zeros).thinned(every)
    first = _channel(rng, k, str(rng.choice(CHANNELS)), zeros).matrix
    if name == "sticky response":
        afresh = _channel(rng, k, str(rng.choice(CHANNELS[:-1])), zeros).matrix
        a = rng.uniform(0.05, 1.0)
        return StickyNoise((1 - a) * np.eye(k)[:, None, :] + a * afresh, first, every)
    if name == "sticky random":
        return StickyNoise(_mild(random_rows(rng, (k, k, k), zeros), rng), first, every)
    assert name == "tracking", name
    return TrackingNoise(_mild(random_rows(rng, (k, k, k, k), zeros), rng), first)


def _channel(rng: Rng, k: int, name: str, zeros: float) -> cv.Channel:
    level = rng.uniform(0.1, 0.9)
    if name == "response":
        return cv.Channel.randomized_response(k, level * (k - 1) / k)
    if name == "ordinal":
        return cv.Channel.ordinal(k, level)
    if name == "per-state":
        return cv.Channel.per_state_response(rng.uniform(0.1, 0.9, k))
    assert name == "random", name
    return cv.Channel(_mild(random_rows(rng, (k, k), zeros), rng))


def _mild(rows: FloatArray, rng: Rng) -> FloatArray:
    """Rows drawn closer together, as those of private noise are; zeros stay where they are."""
    weight = rng.uniform(0.0, 0.8)
    even = (rows > 0) / (rows > 0).sum(axis=-1, keepdims=True)
    return np.asarray((1 - weight) * rows + weight * even)
