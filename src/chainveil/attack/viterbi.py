"""The attacker who guesses the whole series at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chainveil import inference
from chainveil.attack.base import Attack
from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise


@dataclass(frozen=True)
class Viterbi(Attack):
    """Guess the single likeliest series (the paper's Viterbi attacker, Section 4.3).

    That maximises the chance that *every* point is right; :class:`chainveil.attack.Posterior`
    maximises the share of points that are.
    """

    chain: MarkovChain
    noise: Noise
    gaps: bool = False

    def reconstruct(self, z: Any, known: Any = None) -> Any:
        """Guess the series behind ``z``; see :meth:`chainveil.attack.Attack.reconstruct`."""
        return inference.viterbi(self.chain, self.noise, z, known, self.gaps)
