"""The attacker who looks at one point at a time (the paper's Single Bit attacker)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil.attack.base import Attack, put_known
from chainveil.inference.observations import read
from chainveil.noise.base import Noise
from chainveil.sequences import as_sequences


@dataclass(frozen=True)
class SingleBit(Attack):
    """Guess each point from its own output alone: the state most likely to have sent it.

    For ``rho0, rho1 < 1/2`` that is the output itself (Section 4.1). Knows the noise, as it
    falls on a point of which nothing else is known, and nothing of the chain.
    """

    noise: Noise
    gaps: bool = False

    def reconstruct(self, z: Any, known: Any = None) -> Any:
        """Guess the series behind ``z``; see :meth:`chainveil.attack.Attack.reconstruct`."""
        law = np.asarray(self.noise.first_law())
        if self.gaps:
            # A missing point says nothing: as good a guess as any.
            law = np.hstack([law, np.ones((len(law), 1))])
        states, outputs = law.shape
        seen = read(z, states, outputs)
        dtype = np.uint8 if states <= 256 else np.uint16
        likeliest = np.argmax(law, axis=0).astype(dtype)
        flat = put_known(likeliest[seen.symbols], known, as_sequences("z", z, outputs), states)
        return seen.restore(flat)
