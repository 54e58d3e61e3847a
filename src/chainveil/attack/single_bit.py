"""The attacker who looks at one point at a time (the paper's Single Bit attacker)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.attack.base import Attack, put_known
from chainveil.inference.observations import is_masked, read, with_marks
from chainveil.noise.base import Noise, require_noise
from chainveil.sequences import Sequences


@dataclass(frozen=True)
class SingleBit(Attack):
    """Guess each point from its own output alone: the state most likely to have sent it.

    For ``rho0, rho1 < 1/2`` that is the output itself (Section 4.1). Knows the noise, as it
    falls on a point of which nothing else is known, and nothing of the chain. Under noise on one
    point in several a point's output is the report that stands for its block. A missing point is
    taken for 0.
    """

    noise: Noise

    def __post_init__(self) -> None:
        require_noise(self.noise)

    def reconstruct(self, z: Any, known: Any = None) -> Any:
        """Guess the series behind ``z``; see :meth:`chainveil.attack.Attack.reconstruct`."""
        states, outputs = self.noise.states, self.noise.outputs
        seen = read(with_marks(z, outputs), states, outputs + is_masked(z))
        guess = self._likeliest()[seen.symbols]
        series = Sequences(seen.symbols, seen.offsets)
        return seen.restore(put_known(guess, known, series, states))

    def _likeliest(self) -> NDArray[Any]:
        """The state that is likeliest for each report, and 0 for none."""
        law = np.asarray(self.noise.first_law())
        if self.noise.holds:
            # Nothing is known of what it looks back at: all alike.
            law = self.noise.step_law().mean(axis=(0, 1))
        dtype = np.uint8 if len(law) <= 256 else np.uint16
        return np.append(np.argmax(law, axis=0), 0).astype(dtype)
