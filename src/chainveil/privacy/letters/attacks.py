"""Attacks that were found on the way, and what each of them gains from other noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chainveil.checks import FloatArray
from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise
from chainveil.privacy.letters.numbers import exact_start
from chainveil.privacy.letters.witness import SequenceWitness
from chainveil.privacy.memory.witness import digits_of
from chainveil.privacy.witness import Witness


class Attacks:
    """A collection of attacks on one chain, the noise of the last release still open.

    Values are in floats: they guide a search, and are no bound.
    """

    def __init__(self, chain: MarkovChain, earlier: tuple[Noise, ...]) -> None:
        self._chain, self._earlier = chain, earlier
        self._start = np.array([float(share) for share in exact_start(chain)])
        self._laws = [(noise.first_law(), _kernel(noise)) for noise in earlier]
        self._known: list[Witness] = []
        self._priors: list[float] = []

    def __len__(self) -> int:
        return len(self._known)

    def add(self, attack: Witness | None) -> None:
        """One more attack, if it is one and new."""
        if attack is not None and attack not in self._known:
            self._known.append(attack)
            self._priors.append(float(self._gain(attack, 1, [()] * attack.length)[0]))

    def values(self, noises: Sequence[Noise]) -> FloatArray:
        """What each attack gains, in nats, from each noise: shape (attacks, noises)."""
        first = np.stack([noise.first_law() for noise in noises])
        kernel = np.stack([_kernel(noise) for noise in noises])
        found = np.empty((len(self), len(noises)))
        for place, attack in enumerate(self._known):
            weights = self._weights(attack, noises[0], first, kernel)
            found[place] = self._gain(attack, len(noises), weights) - self._priors[place]
        return found

    def _gain(
        self, attack: Witness, noises: int, weights: list[tuple[FloatArray, ...]]
    ) -> FloatArray:
        """Log odds of the two values for each noise, given the weights of the reports."""
        seen = np.tile(self._start, (noises, 2, 1))
        move = np.asarray(self._chain.transition)
        states = np.arange(len(move))
        for index, said in enumerate(weights):
            if index:
                seen = seen @ move
            for weight in said:
                seen *= weight
            if index == attack.target:
                seen *= states == np.array([[attack.value], [attack.other]])
            elif index in attack.known:
                seen *= states == attack.known[index]
            if index % 4 == 3:
                seen /= np.maximum(seen.max(axis=(1, 2), keepdims=True), 1e-300)
        sums = seen.sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            gained = np.log(sums[:, 0]) - np.log(sums[:, 1])
        # Reports that cannot be made gain nothing.
        return np.where(sums[:, 0] > 0, gained, -np.inf)

    def _weights(
        self, attack: Witness, noise: Noise, first: FloatArray, kernel: FloatArray
    ) -> list[tuple[FloatArray, ...]]:
        """What the reports of each point say of its value, (noises or 1, 1, k) each.

        The laws of the open release are (noises, k, m) and (noises, m, k, m).
        """
        releases = (*self._earlier, noise)
        laws = [(one[None], two[None]) for one, two in self._laws] + [(first, kernel)]
        last: list[int | None] = [None] * len(releases)
        found = []
        for symbol in attack.output_array().tolist():
            said = []
            for number, digit in enumerate(_digits(attack, symbol, releases)):
                if digit == releases[number].outputs:
                    continue
                start, then = laws[number]
                before, last[number] = last[number], digit
                law = start[..., digit] if before is None else then[:, before, :, digit]
                said.append(law[:, None, :])
            found.append(tuple(said))
        return found


def _kernel(noise: Noise) -> FloatArray:
    """``Pr[z' | last report z, x']`` at ``[z, x', z']``."""
    return noise.step_law()[:, 0]


def _digits(attack: Witness, symbol: int, releases: Sequence[Noise]) -> list[int]:
    """The report of each release; the number after its last one stands for nothing."""
    if not isinstance(attack, SequenceWitness):
        return digits_of(symbol, releases)
    digits = []
    for noise in reversed(releases):
        symbol, digit = divmod(symbol, noise.outputs)
        digits.append(digit)
    return digits[::-1]
