"""The attacker who knows the chain and weighs the whole release (correlation aware)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil import inference
from chainveil.attack.base import Attack
from chainveil.attack.expected import ExpectedSuccess, expected_success
from chainveil.errors import NotSupported
from chainveil.inference.hidden import hidden, is_plain
from chainveil.model.chain import MarkovChain, check_chain
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise, check_noise


@dataclass(frozen=True)
class Posterior(Attack):
    """Guess each point's likeliest state given all of ``z`` (Correlation Aware, Section 4.1).

    ``noise`` is a channel, or noise with a memory, whose flips are then guessed together with
    the states. ``z`` may be masked where points are missing. No attacker with the same
    knowledge guesses more points right on average.
    """

    chain: MarkovChain
    noise: Channel | CorrelatedNoise

    def __post_init__(self) -> None:
        check_chain(self.chain)
        check_noise(self.noise)

    def probabilities(self, z: Any, known: Any = None) -> Any:
        """``Pr[X_t = x | z, known]``; see :func:`chainveil.inference.smoothed`."""
        if isinstance(self.noise, Channel) and is_plain(self.noise, z):
            return inference.smoothed(self.chain, self.noise, z, known)
        model = hidden(self.chain, self.noise, z, known)
        found = inference.smoothed(model.chain, model.channel, model.reports)
        return model.probabilities(found)

    def reconstruct(self, z: Any, known: Any = None) -> Any:
        """Guess the series behind ``z``; see :meth:`chainveil.attack.Attack.reconstruct`."""
        two = self.chain.states == 2
        if two and isinstance(self.noise, Channel) and is_plain(self.noise, z):
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
        if not isinstance(self.noise, Channel):
            raise NotSupported("noise: expected success is offered for independent noise.")
        return expected_success(self.chain, self.noise, length, target, samples, rng)
