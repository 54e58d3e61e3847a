"""Noise with a memory: a two-state chain that says which points are flipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise, Sees, register
from chainveil.noise.parametrization import Parametrization, logits_of, probabilities

# z = x XOR y: the flip behind a state and its report.
_BITS = np.arange(2)
_FLIP = _BITS[:, None] ^ _BITS[None, :]


@register
@dataclass(frozen=True, repr=False)
class CorrelatedNoise(Noise):
    """The noise of Section 3.3: ``z = x XOR y`` with ``y`` a stationary two-state chain.

    Only the holder of a whole two-state series can apply it, since each flip depends on
    the one before.

    Attributes
    ----------
    rho0 : float
        ``Pr[y_{t+1} = 1 | y_t = 0]``, the probability to begin flipping.
    rho1 : float
        ``Pr[y_{t+1} = 0 | y_t = 1]``, the probability to stop flipping.
        ``rho0 + rho1 = 1`` is independent noise.

    Examples
    --------
    >>> import chainveil as cv
    >>> noise = cv.CorrelatedNoise(rho0=0.125, rho1=0.375)
    >>> noise.flip_rate
    0.25
    """

    kind: ClassVar[str] = "correlated"
    sees: ClassVar[Sees] = "series"

    rho0: float
    rho1: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho0", checks.probability("rho0", self.rho0, zero=False))
        object.__setattr__(self, "rho1", checks.probability("rho1", self.rho1, zero=False))

    def __repr__(self) -> str:
        return f"CorrelatedNoise(rho0={self.rho0!r}, rho1={self.rho1!r})"

    def quieter(self, share: float, weights: FloatArray) -> CorrelatedNoise:
        """A share of the way to tossing a coin for every flip."""
        rho0, rho1 = ((1 - share) * rho + share / 2 for rho in (self.rho0, self.rho1))
        return CorrelatedNoise(rho0, rho1)

    @property
    def flip_rate(self) -> float:
        """Share of reports that are flipped: ``rho0 / (rho0 + rho1)``."""
        return self.rho0 / (self.rho0 + self.rho1)

    @property
    def flips(self) -> MarkovChain:
        """The chain of flips: a point in state 1 of it is flipped."""
        return MarkovChain.binary(self.rho0, self.rho1)

    @property
    def memory(self) -> float:
        """``1 - rho0 - rho1``, the factor by which the correlation of two flips shrinks."""
        return 1.0 - self.rho0 - self.rho1

    def first_law(self) -> FloatArray:
        """The stationary law of the flips: shape (2, 2)."""
        return np.asarray(self.flips.stationary[_FLIP])

    @classmethod
    def parametrization(
        cls, transition: FloatArray, every: int = 1, gaps: bool = False, max_noise: float = 0.5
    ) -> Parametrization:
        """By the logits to begin flipping, and to stop."""
        # The chain of flips runs on beneath missing points.
        return _Flips(transition, every, False, max_noise)

    def step_law(self) -> FloatArray:
        """``W(z XOR x, z' XOR x')`` at ``[z, x, x', z']``."""
        before, after = _FLIP[:, :, None, None], _FLIP[None, None, :, :]
        return np.asarray(self.flips.transition[before, after])

    def joint_law(self, offsets: Sequence[int]) -> FloatArray:
        """The law of the flips at the offsets, read as reports given states."""
        law = np.array(self.flips.stationary)
        for step in np.diff(offsets):
            moved = law.reshape(-1, 2)[:, :, None] * self.flips.power(int(step))[None, :, :]
            law = moved.reshape(-1)
        size = len(law)
        return np.asarray(law[np.arange(size)[:, None] ^ np.arange(size)[None, :]])

    def expected_flips(self, chain: DataModel) -> float:
        """The flip rate, whatever the chain."""
        if chain.states != 2:
            raise InvalidInput("chain", f"{chain.states} states", "a chain with 2 states")
        return self.flip_rate

    def to_matrix(self) -> list[list[float]]:
        """The transitions of the chain of flips."""
        return [[1 - self.rho0, self.rho0], [self.rho1, 1 - self.rho1]]

    @classmethod
    def from_matrix(cls, rows: Any) -> CorrelatedNoise:
        """The noise whose flips have these transitions."""
        matrix = checks.stochastic_matrix("noise.matrix", rows)
        noise = cls(float(matrix[0, -1]), float(matrix[-1, 0]))
        if noise.to_matrix() != matrix.tolist():
            allowed = "two rows of two whose diagonal is what is left of one"
            raise InvalidInput("noise.matrix", f"shape {matrix.shape}", allowed)
        return noise

    def describe(self) -> str:
        """How often flipping begins and stops."""
        return f"begin flipping with {self.rho0!r}, stop with {self.rho1!r}"


@dataclass(frozen=True, eq=False)
class _Flips(Parametrization):
    """Two logits: to begin flipping, and to stop."""

    objectives = ("wrong-reports", "distance")
    covers_boxes = False

    def kernel(self, logits: FloatArray) -> FloatArray:
        law = probabilities(logits)
        # [..., flipped before, flips now]
        flips = np.stack([law[..., 0, :], law[..., 1, ::-1]], axis=-2)
        return np.asarray(flips[..., _FLIP[:, :, None, None], _FLIP[None, None, :, :]])

    def noise(
        self, kernel: FloatArray, first: FloatArray, after_gap: FloatArray
    ) -> CorrelatedNoise:
        return CorrelatedNoise(float(kernel[0, 0, 0, 1]), float(kernel[0, 1, 0, 0]))

    def starts(self, epsilon: float) -> list[FloatArray]:
        # Flips that hardly ever change are best for short series.
        return [logits_of(np.array([0.3, 0.7]) * both) for both in (0.4, 1.0, 1.4, 0.001)]

    def more_starts(self, epsilon: float) -> list[FloatArray]:
        # Over all memories of the flips, from long spells to flips that alternate.
        sums = (0.02, 0.1, 0.2, 0.6, 0.8, 1.2, 1.6, 1.8)
        rates = (0.45, 0.3, 0.15)
        chances = [np.array([rate, 1 - rate]) * both for both in sums for rate in rates]
        return [logits_of(one) for one in chances if one.max() < 1]

    def slowed(self, logits: FloatArray, rate: float) -> FloatArray:
        # The share of flipped points comes as much closer to a half.
        return np.asarray(logits.mean() + rate * (logits - logits.mean()))

    def quiet(self, logits: FloatArray) -> FloatArray:
        # A fair coin for every flip.
        return np.zeros(2)
