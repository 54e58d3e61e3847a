"""An attack on any noise that has a first law and a step law, replayed in ball arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise
from chainveil.privacy.rounding import down
from chainveil.privacy.witness import Witness, log_odds_gained

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class KernelWitness(Witness):
    """An attack whose output is written out point by point."""

    output: tuple[int, ...]

    def output_array(self) -> NDArray[Any]:
        """The whole output, shape (length,)."""
        return np.array(self.output, np.int64)

    def replay(self, chain: MarkovChain, noise: Noise, /) -> float:
        """Log likelihood ratio of the output, by messages along the series, rounded down."""
        both = (self.value, self.other)
        seen = [self._probability(chain, noise, value, True) for value in both]
        prior = [self._probability(chain, noise, value, False) for value in both]
        return down(log_odds_gained(seen, prior, chain))

    def _probability(self, chain: MarkovChain, noise: Noise, value: int, seen: bool) -> arb:
        """Of the target's value and the known ones, with the output where it is ``seen``."""
        from flint import arb

        first, step = noise.first_law(), noise.step_law()
        fixed = {**self.known, self.target: value}
        message: list[arb] = []
        for t, report in enumerate(self.output):
            before = self.output[t - 1]
            weights = []
            for x in range(chain.states):
                if fixed.get(t, x) != x:
                    weights.append(arb(0))
                elif t == 0:
                    weights.append(
                        arb(float(chain.start[x])) * (_ball(first[x, report]) if seen else 1)
                    )
                else:
                    weights.append(
                        sum(
                            (
                                message[a]
                                * _ball(chain.transition[a, x])
                                * (_ball(step[before, a, x, report]) if seen else 1)
                                for a in range(chain.states)
                            ),
                            arb(0),
                        )
                    )
            message = weights
        return sum(message, arb(0))

    def __str__(self) -> str:
        digits = "".join(map(str, self.output))
        return self.in_words(digits)


def _ball(number: Any) -> arb:
    from flint import arb

    return arb(float(number))
