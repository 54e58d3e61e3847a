"""The attacker who knows the chain and weighs the whole release (correlation aware)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil import inference
from chainveil.attack.base import Attack
from chainveil.attack.expected import ExpectedSuccess, expected_success
from chainveil.model.base import DataModel, require_model
from chainveil.noise.base import Noise, require_noise


@dataclass(frozen=True)
class Posterior(Attack):
    """Guess each point's likeliest state given all of ``z`` (Correlation Aware, Section 4.1).

    ``noise`` is a channel, or noise with a memory, whose flips are then guessed together with
    the states. ``z`` may be masked where points are missing. No attacker with the same
    knowledge guesses more points right on average.
    """

    chain: DataModel
    noise: Noise

    def __post_init__(self) -> None:
        require_model(self.chain)
        require_noise(self.noise)

    def probabilities(self, z: Any, known: Any = None) -> Any:
        """``Pr[X_t = x | z, known]``; see :func:`chainveil.inference.smoothed`."""
        return inference.smoothed(self.chain, self.noise, z, known)

    def reconstruct(self, z: Any, known: Any = None) -> Any:
        """Guess the series behind ``z``; see :meth:`chainveil.attack.Attack.reconstruct`."""
        if self.chain.states == 2:
            found = inference.smoothed(self.chain, self.noise, z, known, state=1)
            if isinstance(found, list):
                return [(part > 0.5).astype(np.uint8) for part in found]
            return (found > 0.5).astype(np.uint8)
        found = self.probabilities(z, known)
        if isinstance(found, list):
            return [np.argmax(part, axis=-1) for part in found]
        return np.argmax(found, axis=-1)

    def expected_success(
        self,
        length: int,
        target: int | None = None,
        samples: int = 20_000,
        rng: np.random.Generator | int | None = None,
    ) -> ExpectedSuccess:
        """How often this attacker guesses one point right; see ``attack.expected``."""
        return expected_success(self.chain, self.noise, length, target, samples, rng)
