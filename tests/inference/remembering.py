"""Random noise that holds its last report or is silent at some points, and releases of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil import Channel
from chainveil.model.higher_order import HigherOrderChain
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise, TrackingNoise

KINDS = ("sticky", "tracking", "independent")


def random_noise(rng: np.random.Generator, kind: str, k: int, m: int, sparse: bool) -> Noise:
    """Noise of that kind with k states and m reports; ``sparse`` puts zeros into its laws."""

    def laws(*shape: int) -> Any:
        table = rng.dirichlet(np.ones(m), shape)
        if sparse:
            table[rng.random(table.shape) < 0.2] = 0
            table[table.sum(axis=-1) == 0] = 1
        return table / table.sum(axis=-1, keepdims=True)

    if kind == "sticky":
        return StickyNoise(laws(m, k), laws(k))
    if kind == "independent":
        return Channel(laws(k))
    return TrackingNoise(laws(m, k, k), laws(k), laws(m, k))


def random_order(rng: np.random.Generator, k: int, order: int) -> HigherOrderChain:
    """A chain of a higher order."""
    rows = rng.dirichlet(np.ones(k), k**order)
    return HigherOrderChain.from_json({"transition": rows.tolist()})


def drawn(x: Any, noise: Noise, rng: np.random.Generator) -> Any:
    """A release of rows x of shape (rows, n), from the definition: held over blocks.

    Masked points of x make no report and stay masked.
    """
    missing, states = np.ma.getmaskarray(np.ma.asarray(x)), np.ma.filled(x, 0)
    z = np.zeros(states.shape, np.uint8)
    for row in range(len(states)):
        last, when = -1, -1
        for t in range(states.shape[1]):
            begin = t - t % noise.every
            if t % noise.every == noise.first_place and not missing[row, t]:
                law = _law(noise, states[row], t, last, when)
                last, when = int(rng.choice(noise.outputs, p=law)), t
                z[row, begin:t] = last
            z[row, t] = max(last, 0)
    return np.ma.MaskedArray(z, mask=missing) if missing.any() else z


def _law(noise: Noise, x: Any, t: int, last: int, when: int) -> Any:
    if last < 0 or not noise.holds:
        return noise.first_law()[x[t]]
    if when == t - 1:
        return noise.step_law()[last, x[t - 1], x[t]]
    return noise.after_gap_law()[last, x[t]]
