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
        self._known: list[Witness] = []

    def add(self, attack: Witness) -> None:
        """One more attack."""
        self._known.append(attack)

    def values(self, noises: Sequence[Noise]) -> FloatArray:
        """What each attack gains, in nats, from each noise: shape (attacks, noises)."""
        laws = [(noise.first_law(), _kernel(noise)) for noise in noises]
        first = np.stack([law[0] for law in laws])
        kernel = np.stack([law[1] for law in laws])
        return np.array([self._value(attack, noises[0], first, kernel) for attack in self._known])

    def _value(
        self, attack: Witness, noise: Noise, first: FloatArray, kernel: FloatArray
    ) -> FloatArray:
        """One attack against all noises, whose laws are (noises, k, m) and (noises, m, k, m)."""
        releases = (*self._earlier, noise)
        gains = np.zeros(len(first))
        for value, sign in ((attack.value, 1.0), (attack.other, -1.0)):
            fixed = {**attack.known, attack.target: value}
            seen = np.tile(self._start, (len(first), 1))
            prior = self._start
            last: list[int | None] = [None] * len(releases)
            for index, symbol in enumerate(attack.output_array().tolist()):
                if index:
                    seen, prior = seen @ self._chain.transition, prior @ self._chain.transition
                digits = _digits(attack, symbol, releases)
                for number, digit in enumerate(digits):
                    if digit == releases[number].outputs:
                        continue
                    seen = seen * self._weight(number, digit, last[number], first, kernel)
                    last[number] = digit
                if index in fixed:
                    kept = np.arange(len(prior)) == fixed[index]
                    seen, prior = seen * kept, prior * kept
                scale = seen.sum(axis=1, keepdims=True)
                gains += sign * (np.log(scale[:, 0]) - np.log(prior.sum()))
                seen, prior = seen / scale, prior / prior.sum()
        return gains

    def _weight(
        self, number: int, digit: int, last: int | None, first: FloatArray, kernel: FloatArray
    ) -> FloatArray:
        """What a report says of each state: (noises, k), or (k,) for an earlier release."""
        if number < len(self._earlier):
            noise = self._earlier[number]
            first, kernel = noise.first_law(), _kernel(noise)
        return first[..., digit] if last is None else kernel[..., last, :, digit]


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
