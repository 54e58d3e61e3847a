"""An attack on any model and noise, replayed by adding up every series that it leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil.noise.base import Noise
from chainveil.privacy.rounding import down
from chainveil.privacy.witness import DescribedAttack, Witness, log_odds_gained

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class KernelWitness(Witness):
    """An attack whose output is written out point by point."""

    output: tuple[int, ...]

    @classmethod
    def of(cls, attack: DescribedAttack) -> KernelWitness:
        """The attack as it is described."""
        return cls(*attack.place, tuple(attack.output().tolist()))

    def output_array(self) -> NDArray[Any]:
        """The whole output, shape (length,)."""
        return np.array(self.output, np.int64)

    def replay(self, model: Any, noise: Noise, /) -> float:
        """Log likelihood ratio of the output, in ball arithmetic, rounded down.

        Each series weighs what the model gives it as a double; that rounding is in the balls.
        """
        both = [self._weights(model, noise, value) for value in (self.value, self.other)]
        seen, prior = zip(*both, strict=True)
        return down(log_odds_gained(seen, prior, model))

    def _weights(self, model: Any, noise: Noise, value: int) -> tuple[arb, arb]:
        """Of the target's value and the known ones: with the output, and without it."""
        from flint import arb

        law, first, step = model.series_law(self.length), noise.first_law(), noise.step_law()
        fixed = {**self.known, self.target: value}
        choices = [(fixed[t],) if t in fixed else range(model.states) for t in range(self.length)]
        # A product of n rounded factors is off by less than n + 1 parts in 2^53.
        rounding = arb(1, (self.length + 1) * 2.0**-53)
        seen, prior = arb(0), arb(0)
        for x in product(*choices):
            weight = arb(float(law[x])) * rounding
            prior += weight
            weight *= arb(float(first[x[0], self.output[0]]))
            for t in range(1, self.length):
                weight *= arb(float(step[self.output[t - 1], x[t - 1], x[t], self.output[t]]))
            seen += weight
        return seen, prior

    def __str__(self) -> str:
        return self.in_words("".join(map(str, self.output)))
