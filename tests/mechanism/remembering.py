"""Noise with memory for tests, and whether reports follow its laws, point by point."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

import chainveil as cv
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise, TrackingNoise

STICKY = StickyNoise.binary([[0.10, 0.45], [0.62, 0.93]], [0.35, 0.71])
# After some last reports the likelier report is the other one: turns that are no mixtures.
TURNING = StickyNoise.binary([[0.80, 0.97], [0.05, 0.31]], [0.5, 0.6])
TRACKING = TrackingNoise.binary(
    [[[0.07, 0.61], [0.22, 0.48]], [[0.43, 0.83], [0.31, 0.96]]],
    [0.35, 0.71],
    [[0.15, 0.52], [0.41, 0.88]],
)


def laws(generator: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    """Random laws over the last axis, no entry near 0."""
    raw = generator.random(shape) + 0.2
    return np.asarray(raw / raw.sum(axis=-1, keepdims=True))


def sticky_of(states: int, outputs: int, seed: int = 0) -> StickyNoise:
    generator = np.random.default_rng(seed)
    kernel = laws(generator, outputs, states, outputs)
    return StickyNoise(kernel, laws(generator, states, outputs))


def tracking_of(states: int, outputs: int, seed: int = 0) -> TrackingNoise:
    generator = np.random.default_rng(seed)
    kernel = laws(generator, outputs, states, states, outputs)
    gap = laws(generator, outputs, states, outputs)
    return TrackingNoise(kernel, laws(generator, states, outputs), gap)


THREE = sticky_of(3, 3)
WIDE = tracking_of(2, 3)
TWO_STATES: dict[str, Noise] = {
    "sticky": STICKY,
    "turning": TURNING,
    "tracking": TRACKING,
}
FOUR = StickyNoise.response(0.6, cv.Channel.randomized_response(4, 0.5), cv.Channel.ordinal(4, 0.6))
# Up to eight reports are drawn by one way, more by another.
HOLDING: dict[str, Noise] = TWO_STATES | {
    "three": THREE,
    "four": FOUR,
    "eight": sticky_of(8, 8),
    "ten": sticky_of(10, 10),
    "wide": WIDE,
    "both": tracking_of(3, 4),
}
THINNED: dict[str, Noise] = {
    "sticky, 2": STICKY.thinned(2),
    "sticky, 5": STICKY.thinned(5),
    "turning, 64": TURNING.thinned(64),
    "three, 3": THREE.thinned(3),
    "four, 5": FOUR.thinned(5),
    "channel, 3": cv.Channel.binary(0.3, 0.2).thinned(3),
    "five states, 4": cv.Channel.randomized_response(5, 0.4).thinned(4),
    "thirty states, 7": cv.Channel.randomized_response(30, 0.4).thinned(7),
}
ALL = HOLDING | THINNED


def data(noise: Noise, n: int, seed: int = 0, gaps: float = 0.0) -> NDArray[np.int16]:
    """States that stay for a while, with a share of gaps, -1, in runs."""
    generator = np.random.default_rng(seed)
    runs = np.repeat(generator.integers(0, noise.states, n), generator.integers(1, 5, n))[:n]
    missing = np.repeat(generator.random(n) < gaps, generator.integers(1, 4, n))[:n]
    return np.where(missing, -1, runs).astype(np.int16)


def seen(noise: Noise, x: NDArray[Any], z: NDArray[Any]) -> dict[Any, NDArray[np.int64]]:
    """How often each report was made, by what the definition says that it looks at.

    ``z`` holds a report at each of ``noise.places``; a point of -1 is missing.
    """
    found: dict[Any, NDArray[np.int64]] = defaultdict(lambda: np.zeros(noise.outputs, np.int64))
    last: int | None = None
    before: int | None = None
    for state, report in zip(x[noise.first_place :: noise.every].tolist(), z.tolist(), strict=True):
        if state < 0:
            before = None
            continue
        if last is None or not noise.ordered:
            key: tuple[Any, ...] = ("first", state)
        elif before is None:
            key = ("after gap", last, state)
        else:
            key = ("step", last, before, state)
        found[key][report] += 1
        last, before = report, state
    return found


def law_of(noise: Noise, key: tuple[Any, ...]) -> NDArray[np.float64]:
    """The law that the reports behind a key of ``seen`` follow."""
    word, *place = key
    if word == "first":
        return np.asarray(noise.first_law()[tuple(place)])
    if word == "after gap" and noise.holds:
        return np.asarray(noise.after_gap_law()[tuple(place)])
    if word == "after gap":
        return np.asarray(noise.first_law()[place[-1]])
    return np.asarray(noise.step_law()[tuple(place)])


def follows(noise: Noise, counts: dict[Any, NDArray[np.int64]]) -> bool:
    """Chi-squared over all laws with 20 reports or more expected; wrong once in a million seeds."""
    total, freedom = 0.0, 0
    for key, made in counts.items():
        expected = law_of(noise, key) * made.sum()
        if expected.min() >= 20:
            total += float(((made - expected) ** 2 / expected).sum())
            freedom += noise.outputs - 1
    assert freedom > 0
    return total < float(chi2.isf(1e-6, freedom))
