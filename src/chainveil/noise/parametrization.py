"""Noise on two states as a vector of logits: what a search for the least noise knows of a kind.

Each kind of noise names its own parametrization (``Noise.parametrization``), in its own file.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from chainveil.checks import FloatArray
from chainveil.noise.automaton import Automaton, remembering

if TYPE_CHECKING:
    from chainveil.noise.base import Noise

# Largest absolute logit: probabilities of 1e-11 and more, which the grid of 2^-53 resolves.
FARTHEST = 25.0


@dataclass(frozen=True, eq=False)
class Parametrization(ABC):
    """Noise of one kind that reports one point in ``every`` of a two-state chain.

    Attributes
    ----------
    transition : array of shape (2, 2)
        The chain that noise is weighed by. First reports, and those after missing points, are
        drawn as in the middle of a long series of it, so that they cost no privacy of their own.
    every : int
    gaps : bool
        Whether points may be missing.
    max_noise : float
        Largest probability to change a point, for noise that offers such a limit.
    """

    # Objectives that noise of the kind can be chosen by.
    objectives: ClassVar[tuple[str, ...]] = ("wrong-reports", "distance", "smoothed")
    # Whether noise of the kind can report one point in several, and be held below a level.
    thins: ClassVar[bool] = False
    limited: ClassVar[bool] = False
    # Whether its loss is searched for over boxes of chains.
    covers_boxes: ClassVar[bool] = True
    # A kind that is a special case of this one: noise of it is a start, and a bound of the cost.
    simpler: ClassVar[str | None] = None

    transition: FloatArray
    every: int = 1
    gaps: bool = False
    max_noise: float = 0.5

    @abstractmethod
    def kernel(self, logits: FloatArray) -> FloatArray:
        """``[..., z, x, x', z']``, the probability of the report z' after the report z."""

    @abstractmethod
    def noise(self, kernel: FloatArray, first: FloatArray, after_gap: FloatArray) -> Noise:
        """The noise with a kernel, a first law ``[x, z]`` and a law after gaps ``[z, x', z']``."""

    @abstractmethod
    def starts(self, epsilon: float) -> list[FloatArray]:
        """Logits to begin a search at, most promising ones first."""

    @abstractmethod
    def quiet(self, logits: FloatArray) -> FloatArray:
        """Logits of the nearest noise of the kind that says as little as it may."""

    def more_starts(self, epsilon: float) -> list[FloatArray]:
        """Logits to begin at where the first ones lead to a poor plan."""
        return []

    def limits(self, size: int) -> tuple[FloatArray, FloatArray]:
        """Least and greatest logits."""
        return np.full(size, -FARTHEST), np.full(size, FARTHEST)

    def embedded(self, logits: FloatArray) -> FloatArray:
        """Logits of noise of the ``simpler`` kind."""
        return logits

    def slowed(self, logits: FloatArray, rate: float) -> FloatArray | None:
        """Logits for a chain that changes ``rate`` times as often as the one they were found for.

        None where noise of the kind does not follow the changes of a chain.
        """
        return None

    def automaton(self, kernel: FloatArray, first: FloatArray, after_gap: FloatArray) -> Automaton:
        """Labels and edges of the noise; as those of ``noise(…)`` where nothing is impossible."""
        return remembering(kernel, first, self.every, after_gap if self.gaps else None)

    @property
    def move(self) -> FloatArray:
        """Transitions from one report to the next, shape (2, 2)."""
        return np.asarray(np.linalg.matrix_power(self.transition, self.every))


def probabilities(logits: FloatArray) -> FloatArray:
    """Those of both reports, ``[..., z]``, from the logits to report 1; accurate at either end."""
    return np.stack([1 / (1 + np.exp(logits)), 1 / (1 + np.exp(-logits))], axis=-1)


def logits_of(ones: FloatArray | Sequence[float] | float) -> FloatArray:
    """Logits of probabilities, within limits."""
    p = np.asarray(ones, np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(p) - np.log1p(-p), -FARTHEST, FARTHEST))


def repeating(setting: Parametrization, epsilon: float, leans: Sequence[float]) -> list[FloatArray]:
    """Repeat the last report or answer afresh by randomised response, shape (2, 2, 2).

    The other report is repeated where the chain alternates. ``leans`` are logits by which the
    state before moves the report.
    """
    q, r = setting.transition[0, 1], setting.transition[1, 0]
    pace = 1 - abs(1 - q - r) ** setting.every
    answer = 0.5 + 0.5 * math.tanh(epsilon / 4) * np.array([-1.0, 1.0])
    kept = np.arange(2.0) if setting.move[0, 0] >= setting.move[1, 0] else np.array([1.0, 0.0])
    found = []
    for fresh in (min(1.0, pace), min(1.0, 4 * pace)):
        ones = (1 - fresh) * kept[:, None, None] + fresh * answer + np.zeros((2, 2, 2))
        for lean in leans:
            found.append(logits_of(ones) + lean * np.array([[0.5, -0.5], [-0.5, 0.5]]))
    return found
