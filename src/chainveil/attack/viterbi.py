"""The attacker who guesses the whole series at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chainveil import inference
from chainveil.attack.base import Attack
from chainveil.model.base import DataModel, require_model
from chainveil.noise.base import Noise, require_noise


@dataclass(frozen=True)
class Viterbi(Attack):
    """Guess the single likeliest series (the paper's Viterbi attacker, Section 4.3).

    That maximises the chance that *every* point is right; :class:`chainveil.attack.Posterior`
    maximises the share of points that are. ``noise`` and ``z`` are as there; with a memory of
    the noise it is the likeliest pair of series and flips.
    """

    chain: DataModel
    noise: Noise

    def __post_init__(self) -> None:
        require_model(self.chain)
        require_noise(self.noise)

    def reconstruct(self, z: Any, known: Any = None) -> Any:
        """Guess the series behind ``z``; see :meth:`chainveil.attack.Attack.reconstruct`."""
        return inference.viterbi(self.chain, self.noise, z, known)
