"""Chain and noise as the search reads them: floats within four units of the exact numbers.

The exact reading is what a loss refers to: each row of the transition matrix and of every law of a
report is divided by its exact sum. A zero stays a zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.model.chain import MarkovChain
from chainveil.noise.base import Noise
from chainveil.privacy.rationals import channel_entries, joint_row, start_law, transition_entries

Rows = Sequence[Sequence[Fraction]]
BoolArray = NDArray[np.bool_]

# Smaller positive probabilities could underflow in a product of two.
LEAST_PROBABILITY = 1e-50


@dataclass(frozen=True)
class Numbers:
    """Chain and reports in floats.

    Attributes
    ----------
    transition : array (k, k)
        Pr[next = y | now = x] at ``[x, y]``.
    start, stationary : array (k,)
        Law of the first point, and the stationary law.
    is_stationary : bool
        Whether the chain starts from its stationary law.
    laws : tuple of (array (k, m), array (m, k, m))
        For each release the law of its first report, and of one after the report z at ``[z]``.
    """

    transition: FloatArray
    start: FloatArray
    stationary: FloatArray
    is_stationary: bool
    laws: tuple[tuple[FloatArray, FloatArray], ...]

    @property
    def states(self) -> int:
        """Number of states k."""
        return len(self.transition)


def exact_transition(chain: MarkovChain) -> Rows:
    """The transition matrix in rationals; rows sum to one exactly."""
    if chain.states == 2:
        return transition_entries(chain)
    return _kept_transition(chain.transition.tobytes(), chain.states)


# Searches ask for one chain again and again, with other noise.
@lru_cache(maxsize=8)
def _kept_transition(transition: bytes, states: int) -> Rows:
    rows = np.frombuffer(transition).reshape(states, states)
    return tuple(tuple(_normalised(row)) for row in rows.tolist())


@lru_cache(maxsize=8)
def _kept_stationary(transition: bytes, states: int) -> Sequence[Fraction]:
    return tuple(exact_stationary(_kept_transition(transition, states)))


@lru_cache(maxsize=8)
def _kept_floats(transition: bytes, states: int) -> tuple[FloatArray, FloatArray]:
    found = _both_floats(_kept_transition(transition, states))
    for array in found:
        array.setflags(write=False)
    return found


def exact_emission(channel: Noise) -> Rows:
    """The channel in rationals; rows of more than two states sum to one exactly."""
    if channel.states == 2:
        return list(channel_entries(channel))
    if channel.parts:
        parts = [exact_emission(part) for part in channel.parts]
        return [joint_row([list(part[x]) for part in parts]) for x in range(channel.states)]
    return [_normalised(row) for row in channel.first_law().tolist()]


def exact_start(chain: MarkovChain) -> Sequence[Fraction]:
    """Law of the first point in rationals; the stationary law by elimination."""
    if chain.states == 2:
        return start_law(chain)
    if chain.initial is not None:
        return _normalised(chain.initial.tolist())
    return _kept_stationary(chain.transition.tobytes(), chain.states)


def exact_stationary(transition: Rows) -> list[Fraction]:
    """Stationary law of an irreducible chain by Grassmann-Taksar-Heyman elimination."""
    matrix = [list(row) for row in transition]
    k = len(matrix)
    for last in range(k - 1, 0, -1):
        leaving = sum(matrix[last][:last], Fraction(0))
        for x in range(last):
            if matrix[x][last] == 0:
                continue
            share = matrix[x][last] = matrix[x][last] / leaving
            for y in range(last):
                if matrix[last][y]:
                    matrix[x][y] += share * matrix[last][y]
    weights = [Fraction(1)]
    for y in range(1, k):
        weights.append(sum((weights[x] * matrix[x][y] for x in range(y)), Fraction(0)))
    total = sum(weights, Fraction(0))
    return [weight / total for weight in weights]


def read_numbers(chain: MarkovChain, releases: tuple[Noise, ...]) -> Numbers:
    """Floats within four units in the last place of the exact reading."""
    moves, stationary = _chain_floats(chain)
    start = stationary if chain.initial is None else _floats([exact_start(chain)])[0]
    laws = tuple(_laws(noise) for noise in releases)
    for name, array in (("chain", moves), ("chain", start)):
        _check_range(name, array)
    for first, kernel in laws:
        _check_range("noise", first)
        _check_range("noise", kernel if kernel.size else first)
    return Numbers(moves, start, stationary, chain.initial is None, laws)


def _chain_floats(chain: MarkovChain) -> tuple[FloatArray, FloatArray]:
    """Transitions and the stationary law."""
    if chain.states == 2:
        return _both_floats(exact_transition(chain))
    return _kept_floats(chain.transition.tobytes(), chain.states)


def _both_floats(transition: Rows) -> tuple[FloatArray, FloatArray]:
    return _floats(transition), _stationary_floats(transition)


def _laws(noise: Noise) -> tuple[FloatArray, FloatArray]:
    if noise.sees == "point":
        first = _floats(exact_emission(noise))
        return first, np.zeros((0, *first.shape))
    kernel = noise.step_law()[:, 0]
    rows = _rows(kernel.reshape(-1, kernel.shape[-1]))
    return _rows(noise.first_law()), rows.reshape(kernel.shape)


def _rows(law: FloatArray) -> FloatArray:
    return _floats([_normalised(row) for row in law.tolist()])


def _stationary_floats(transition: Rows) -> FloatArray:
    """The stationary law to the nearest float but one, by elimination in ball arithmetic.

    The elimination neither subtracts nor divides by anything but sums of what it has, so
    128 bits leave more than 100 correct ones in every entry.
    """
    from flint import arb, ctx

    before = ctx.prec
    try:
        ctx.prec = 128
        k = len(transition)
        matrix = [[arb(p.numerator) / arb(p.denominator) for p in row] for row in transition]
        for last in range(k - 1, 0, -1):
            leaving = sum(matrix[last][:last], arb(0))
            for x in range(last):
                share = matrix[x][last] = matrix[x][last] / leaving
                for y in range(last):
                    matrix[x][y] += share * matrix[last][y]
        weights = [arb(1)]
        for y in range(1, k):
            weights.append(sum((weights[x] * matrix[x][y] for x in range(y)), arb(0)))
        total = sum(weights, arb(0))
        return np.array([float(weight / total) for weight in weights])
    finally:
        ctx.prec = before


def _normalised(row: list[float]) -> list[Fraction]:
    entries = [Fraction(entry) for entry in row]
    total = sum(entries, Fraction(0))
    return [entry / total for entry in entries]


def _floats(rows: Rows) -> FloatArray:
    return np.array([[float(entry) for entry in row] for row in rows])


def _check_range(name: str, array: FloatArray) -> None:
    positive = array[array > 0]
    if positive.min() < LEAST_PROBABILITY:
        raise NotSupported(
            f"{name}: found the probability {positive.min():.3g}; with more than two states "
            f"positive probabilities below {LEAST_PROBABILITY:g} are not offered."
        )


def successors(possible: BoolArray, step: BoolArray) -> BoolArray:
    """The states that can follow one of the possible ones, shape (k,)."""
    return np.asarray((possible[:, None] & step).any(axis=0))
