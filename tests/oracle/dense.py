"""The loss of many two-state chains at once, by plain recursion along the series in floats.

Independent of the package's searches: every distance of a known point is looked at until
nothing moves any more. Its rounding is some 1e-13, far below what it is compared at.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import chainveil as cv

FloatArray = NDArray[np.float64]


def dense_loss(q: FloatArray, r: FloatArray, channel: cv.Channel) -> FloatArray:
    """Loss against any adversary and for all lengths, q + r < 1, two outputs; shape of ``q``."""
    rho0, rho1 = channel.flip_probabilities
    # Odds differ from where they end by at most (1 - q - r)^d, give or take a factor.
    depth = math.ceil(36 / -math.log(float((1 - q - r).max()))) + 1
    best = np.zeros(q.shape)
    for a, b, ratio in ((q, r, (1 - rho0) / rho1), (r, q, (1 - rho1) / rho0)):
        largest = np.ones(q.shape)
        for start in (np.ones(q.shape), (1 - a) / b, a / (1 - b)):
            odds, prior = start.copy(), start.copy()
            for _ in range(depth):
                odds *= ratio
                odds = ((1 - a) * odds + a) / (b * odds + (1 - b))
                prior = ((1 - a) * prior + a) / (b * prior + (1 - b))
                np.maximum(largest, odds / prior, out=largest)
        best = np.maximum(best, math.log(ratio) + 2 * np.log(largest))
    return best


def points_of(
    region: cv.ChainRegion, count: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """``count`` chains (q, r) of a box: a grid with its corners, the edges, and some at random."""
    side = int(math.sqrt(0.64 * count))
    edge = count // 25
    (q_low, q_high), (r_low, r_high) = region.q, region.r
    grid = np.meshgrid(np.linspace(q_low, q_high, side), np.linspace(r_low, r_high, side))
    along_q, along_r = (rng.uniform(low, high, (2, edge)) for low, high in (region.q, region.r))
    inside = count - side * side - 4 * edge
    q = [grid[0].ravel(), *along_q, np.full(edge, q_low), np.full(edge, q_high)]
    r = [grid[1].ravel(), np.full(edge, r_low), np.full(edge, r_high), *along_r]
    q.append(rng.uniform(q_low, q_high, inside))
    r.append(rng.uniform(r_low, r_high, inside))
    return np.concatenate(q), np.concatenate(r)


def random_box(rng: np.random.Generator) -> tuple[cv.ChainRegion, cv.Channel]:
    """A box with q + r < 1, up to four times as wide as its least entry, and noise for it."""
    low = 10 ** rng.uniform(-2.2, -0.4, 2)
    high = np.minimum(low * 4 ** rng.uniform(0, 1, 2), 0.999 - low[::-1])
    if high.sum() >= 0.999:
        high = low + (high - low) * (0.999 - low.sum()) / (high - low).sum()
    region = cv.ChainRegion((low[0], high[0]), (low[1], high[1]))
    return region, cv.Channel.binary(*rng.uniform(0.01, 0.49, 2))
