"""Families of noise as numbers, and what noise costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.model.base import DataModel
from chainveil.noise.base import GRID, Noise
from chainveil.noise.channel import Channel
from chainveil.noise.memory import StickyNoise
from chainveil.noise.wrong import mean_distance, wrong_share
from chainveil.privacy.problem import Aim
from chainveil.privacy.result import PrivacyLoss

Numbers = FloatArray


@dataclass(frozen=True)
class Shape:
    """A family as numbers between 0 and 1, larger ones hiding more.

    ``make`` turns them into noise; ``starts`` names numbers to begin with, from the solution of the
    first shape of a family, which has one number and begins with 1/2.
    """

    make: Callable[[Numbers], Noise]
    size: int
    starts: Callable[[float], list[tuple[float, ...]]]
    # The first so many numbers, if they are all one, hide everything.
    hides: int

    def moved(self, numbers: Numbers, move: float) -> Numbers:
        """Numbers nearer to hiding everything by the factor exp(-move), or further from it."""
        found = np.array(numbers)
        answer = 1 - (1 - found[: self.hides]) * math.exp(-move)
        found[: self.hides] = np.clip(answer, 1e-9, 1.0)
        return found


@dataclass(frozen=True)
class Guess:
    """Numbers of a shape that attacks leave, and what they cost."""

    shape: Shape
    numbers: Numbers
    cost: float


@dataclass(frozen=True)
class Kept:
    """Noise within the budget, its certified loss, and the numbers from which a move led to it."""

    noise: Noise
    loss: PrivacyLoss
    shape: Shape
    numbers: Numbers


def cost(model: DataModel, noise: Noise, aim: Aim) -> float:
    """What an objective counts: wrong reports, mean flip probability, or mean distance."""
    if aim.objective == "distance":
        return float(mean_distance(noise, model))
    if aim.objective == "share" and noise.sees == "point":
        return float(noise.flip_probabilities.mean())
    return float(wrong_share(noise, model))


def hiding(k: int, like: Noise) -> Noise:
    """Noise whose reports do not depend on the points at all, on the grid."""
    share = math.floor(GRID / k) / GRID
    row = np.array([1 - (k - 1) * share, *[share] * (k - 1)])
    law = np.tile(row, (k, 1))
    if like.sees == "point":
        return Channel(law, like.every)
    return StickyNoise(np.tile(law, (k, 1, 1)), law, like.every)
