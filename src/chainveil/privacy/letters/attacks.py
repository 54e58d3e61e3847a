"""Attacks that were found on the way, and what each of them gains from other noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.model.contexts import context_steps
from chainveil.noise.base import Noise
from chainveil.privacy.letters.numbers import exact_start
from chainveil.privacy.memory.witness import MemoryWitness, digits_of
from chainveil.privacy.witness import Witness


class Attacks:
    """A collection of attacks on one chain of any order, the noise of the last release still open.

    Values are in floats: they guide a search, and are no bound. They are sums over contexts, the
    last points together, as ``model.contexts`` counts them; of a chain of order 1 over its states.
    """

    def __init__(self, model: Any, earlier: tuple[Noise, ...]) -> None:
        self._order, self._states, self._earlier = model.order, model.states, earlier
        first = model.contexts if model.order > 1 else exact_start(model)
        self._start = np.array([float(share) for share in first])
        self._move = context_steps(np.asarray(model.transition))
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
        pair = np.array([[attack.value], [attack.other]])
        for index, said in enumerate(weights):
            if index >= self._order:
                seen = seen @ self._move
            value = self._value(index)
            for weight in said:
                seen = seen * (weight if self._order == 1 else weight[:, :, value])
            if index == attack.target:
                seen = seen * (value == pair)
            elif index in attack.known:
                seen = seen * (value == attack.known[index])
            if index % 4 == 3:
                seen /= np.maximum(seen.max(axis=(1, 2), keepdims=True), 1e-300)
        sums = seen.sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            gained = np.log(sums[:, 0]) - np.log(sums[:, 1])
        # Reports that cannot be made gain nothing.
        return np.where(sums[:, 0] > 0, gained, -np.inf)

    def _value(self, index: int) -> NDArray[np.int64]:
        """The value that each context has at a point: the first points are one context."""
        place = max(self._order - 1 - index, 0)
        contexts = np.arange(len(self._start))
        return np.asarray(contexts // self._states**place % self._states)

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
    if isinstance(attack, MemoryWitness):
        return digits_of(symbol, releases)
    digits = []
    for noise in reversed(releases):
        symbol, digit = divmod(symbol, noise.outputs)
        digits.append(digit)
    return digits[::-1]
