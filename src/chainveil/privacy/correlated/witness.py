"""Attacks that attain the loss of correlated noise: writing them out, and replaying them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.privacy.correlated import kernel
from chainveil.privacy.correlated.search import MechanismNumbers, Worst
from chainveil.privacy.witness import Witness


@dataclass(frozen=True)
class CorrelatedWitness(Witness):
    """An attack on correlated noise: what it knows, what it sees, what it tells apart.

    Attributes
    ----------
    length, target, known, value, other
        As in every :class:`~chainveil.privacy.witness.Witness`.
    packed : bytes
        The output, eight points a byte (``numpy.packbits``); see :meth:`output_array`.
    """

    packed: bytes

    def output_array(self) -> NDArray[np.uint8]:
        """The whole output, shape (length,)."""
        return np.unpackbits(np.frombuffer(self.packed, np.uint8), count=self.length)

    def replay(self, chain: MarkovChain, noise: CorrelatedNoise) -> float:
        """Log likelihood ratio by a plain forward recursion over pairs (x, y).

        Independent of how the witness was found: no ratio maps, no reversal, no splitting
        at the target. Accurate to about ``length`` times 1e-15.
        """
        first, first_power = _likelihood(chain, noise, self, self.value)
        second, second_power = _likelihood(chain, noise, self, self.other)
        if first == second == 0:
            raise InvalidInput("noise", noise, "noise under which the output is possible")
        if second == 0:
            return math.inf
        if first == 0:
            return -math.inf
        return math.log(first / second) + (first_power - second_power) * math.log(2)

    def __str__(self) -> str:
        return self.in_words()


def _likelihood(
    chain: MarkovChain, noise: CorrelatedNoise, witness: CorrelatedWitness, value: int
) -> tuple[float, int]:
    """``Pr[output | x_target = value, x_known]`` as a number and a power of two."""
    fixed = np.full(witness.length, -1, dtype=np.int8)
    fixed[witness.target] = value
    for position, known in witness.known.items():
        fixed[position] = known
    transition = np.kron(chain.transition, noise.chain.transition)
    start = np.kron(chain.stationary, noise.chain.stationary)
    seen, power = kernel.forward(start, transition, fixed, witness.output_array().astype(np.int8))
    unseen = np.full(witness.length, -1, dtype=np.int8)
    prior, prior_power = kernel.forward(start, transition, fixed, unseen)
    return float(seen / prior), int(power - prior_power)


def build_witness(
    model: MechanismNumbers, worst: Worst, length: int | None, adversary: Any
) -> CorrelatedWitness:
    """Write the worst case out as a whole series."""
    top, weights = 1 - worst.direction, kernel.step_matrices(*model.parameters)
    left, right = (
        kernel.trace(weights, side.family, side.distance, worst.z, top)
        for side in (worst.left, worst.right)
    )
    output = np.concatenate([left[::-1], np.array([worst.z], np.uint8), right])
    target = len(left)
    known = {
        target + sign * side.distance: side.family - kernel.KNOWN_0
        for sign, side in ((-1, worst.left), (1, worst.right))
        if side.family != kernel.OPEN
    }
    shift, total = _placement(worst, target, len(output), length, adversary)
    known = {position + shift: value for position, value in known.items()}
    padded = _padded(output, shift, total, known)
    for position in _others_known(adversary, target + shift, total):
        # Further known points change nothing; zero is a value they can have.
        known.setdefault(position, 0)
    compared = worst.direction, 1 - worst.direction
    packed = np.packbits(padded).tobytes()
    return CorrelatedWitness(total, target + shift, known, *compared, packed)


def _padded(
    output: NDArray[np.uint8], shift: int, total: int, known: dict[int, int]
) -> NDArray[np.uint8]:
    """The outputs with a possible continuation beyond the known points at either end.

    Beyond them ``x = 0`` and ``y`` changes at every step, which no noise chain rules out.
    """
    end = shift + len(output)
    first, last = known.get(shift, 0) ^ int(output[0]), known.get(end - 1, 0) ^ int(output[-1])
    padded = np.empty(total, np.uint8)
    padded[:shift] = (first + np.arange(shift, 0, -1)) % 2
    padded[shift:end] = output
    padded[end:] = (last + np.arange(1, total - end + 1)) % 2
    return padded


def _placement(
    worst: Worst, target: int, least: int, length: int | None, adversary: Any
) -> tuple[int, int]:
    """How far the written-out window moves into the series, and the series' length."""
    if not isinstance(adversary, str):
        shift = int(adversary.target) - target
        furthest = max((int(j) + 1 for j in adversary.known), default=0)
        return shift, max(length or 0, shift + least, furthest)
    if length is None:
        return 0, least
    # A side that ends the series must end it in the witness too.
    return (0 if worst.left.family == kernel.OPEN else length - least), length


def _others_known(adversary: Any, target: int, total: int) -> Any:
    if adversary == "informed":
        return (j for j in range(total) if j != target)
    return () if isinstance(adversary, str) else sorted(int(j) for j in adversary.known)
