"""Noise with a memory: a two-state chain that says which points are flipped."""

from __future__ import annotations

from dataclasses import dataclass

from chainveil import checks
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import GRID


@dataclass(frozen=True)
class CorrelatedNoise:
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
    """

    rho0: float
    rho1: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho0", checks.probability("rho0", self.rho0, zero=False))
        object.__setattr__(self, "rho1", checks.probability("rho1", self.rho1, zero=False))

    def on_grid(self) -> CorrelatedNoise:
        """The nearest noise whose probabilities are multiples of 2^-53, but never zero.

        This is what sanitizing realises, exactly. Neither direction is the private one for
        every chain, so a loss that is promised must be computed from the result.
        """
        rho0, rho1 = (max(1.0, float(round(rho * GRID))) / GRID for rho in (self.rho0, self.rho1))
        return CorrelatedNoise(rho0, rho1)

    @property
    def flip_rate(self) -> float:
        """Share of points that are flipped: ``rho0 / (rho0 + rho1)``."""
        return self.rho0 / (self.rho0 + self.rho1)

    @property
    def chain(self) -> MarkovChain:
        """The chain of flips itself (state 1 flips)."""
        return MarkovChain.binary(self.rho0, self.rho1)
