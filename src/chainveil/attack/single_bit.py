"""The attacker who looks at one point at a time (the paper's Single Bit attacker)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil.attack.base import Attack, put_known
from chainveil.inference.observations import read
from chainveil.noise.channel import Channel
from chainveil.sequences import as_sequences


@dataclass(frozen=True)
class SingleBit(Attack):
    """Guess each point from its own output alone: the state most likely to have sent it.

    For ``rho0, rho1 < 1/2`` that is the output itself (Section 4.1). Knows the channel and
    nothing of the chain.
    """

    channel: Channel

    def reconstruct(self, z: Any, known: Any = None) -> Any:
        """Guess the series behind ``z``; see :meth:`chainveil.attack.Attack.reconstruct`."""
        states, outputs = self.channel.states, self.channel.outputs
        seen = read(z, states, outputs)
        dtype = np.uint8 if states <= 256 else np.uint16
        likeliest = np.argmax(self.channel.matrix, axis=0).astype(dtype)
        flat = put_known(likeliest[seen.symbols], known, as_sequences("z", z, outputs), states)
        return seen.restore(flat)
