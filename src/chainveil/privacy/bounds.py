"""Answers about a loss: an upper bound, and an attack that anyone can replay."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.noise.automaton import Automaton, Observation, product

if TYPE_CHECKING:
    from chainveil.model.base import DataModel
    from chainveil.noise.base import Noise

# Runs that an attack in words names.
MOST_SHOWN = 12
# Observations, and how often in a row they are published.
Run = tuple[tuple[Observation, ...], int]


@dataclass(frozen=True)
class Attack:
    """An output, what its observer knows, and the two values that it tells apart.

    Attributes
    ----------
    target : int
        Index of the first point of the protected unit, counted from 0.
    value, other : tuple of int
        Values of the points of the unit: the output speaks for ``value`` against ``other``.
    known : mapping of int to int
        Index and value of the points that the observer knows; points that change nothing are left
        out.
    runs : tuple of (observations, count)
        The output from the first point on: sequences of observations and how often each is
        repeated. An observation is a report, None where nothing is published, or one of these for
        each release.
    """

    target: int
    value: tuple[int, ...]
    other: tuple[int, ...]
    known: Mapping[int, int]
    runs: tuple[Run, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", MappingProxyType(dict(sorted(self.known.items()))))

    def __reduce__(self) -> tuple[Any, ...]:
        # A view of a mapping cannot be pickled, the mapping can.
        return Attack, (self.target, self.value, self.other, dict(self.known), self.runs)

    def __hash__(self) -> int:
        return hash((self.target, self.value, self.other, tuple(self.known.items()), self.runs))

    @property
    def length(self) -> int:
        """Number of points of the attacked series."""
        return sum(len(pattern) * count for pattern, count in self.runs)

    def output(self) -> list[Observation]:
        """The whole output, one observation a point."""
        return [z for pattern, count in self.runs for _ in range(count) for z in pattern]

    def replay(self, model: DataModel, noise: Noise | Sequence[Noise], gaps: bool = False) -> float:
        """What the attack attains, from the laws of model and noise alone, rounded down.

        Parameters
        ----------
        model : MarkovChain, HigherOrderChain or another model of one law
            What the series follow.
        noise : Noise, or sequence of Noise
            That of the release, or of all releases seen together.
        gaps : bool
            Whether points may be missing where a report is due.
        """
        releases = noise if isinstance(noise, Sequence) else (noise,)
        automaton = product([release.automaton(gaps) for release in releases])
        return replay(model.hidden_chain(), automaton, self)

    def __str__(self) -> str:
        size = len(self.value)
        near = sorted(self.known.items(), key=lambda item: abs(item[0] - self.target))[:2]
        known = " and ".join(f"point {j} = {v}" for j, v in sorted(near)) or "no other point"
        if size == 1:
            unit, value, other = f"point {self.target}", str(self.value[0]), str(self.other[0])
        else:
            unit = f"points {self.target} to {self.target + size - 1}"
            value, other = ("".join(map(str, one)) for one in (self.value, self.other))
        return (
            f"an adversary after {unit} of {self.length}, knowing {known}, "
            f"sees {_in_words(self.runs)} and weighs {value} against {other}"
        )


def attack_on(
    target: int,
    values: tuple[int, int],
    known: Mapping[int, int],
    output: Iterable[Observation],
) -> Attack:
    """An attack on one point, from its output point by point."""
    runs = tuple(((seen,), len(list(run))) for seen, run in groupby(output))
    value, other = (int(one) for one in values)
    places = {int(place): int(state) for place, state in known.items()}
    return Attack(int(target), (value,), (other,), places, runs)


def _in_words(runs: Sequence[Run]) -> str:
    """Observations with their counts, cut to a readable number."""
    words = []
    for pattern, run in groupby(runs, key=lambda run: run[0]):
        count = sum(times for _, times in run)
        shown = [_shown(one) for one in pattern]
        text = shown[0] if len(shown) == 1 else f"({' '.join(shown)})"
        words.append(f"{text} x{count}" if count > 1 else text)
    if len(words) == 1 and len(runs[0][0]) == 1:
        return f"{_shown(runs[0][0][0])} everywhere"
    return ", ".join(words[:MOST_SHOWN]) + (", …" if len(words) > MOST_SHOWN else "")


def _shown(observation: Observation) -> str:
    if isinstance(observation, tuple):
        return "/".join(_shown(one) for one in observation)
    return "-" if observation is None else str(observation)


@dataclass(frozen=True)
class Bounds:
    """A loss from above and from below, in nats.

    Attributes
    ----------
    upper : float
        Never below the loss.
    lower : float
        What ``witness`` attains, rounded down; 0 without one.
    witness : Attack or None
    steps : int
        What was spent, in edges visited.
    """

    upper: float
    lower: float
    witness: Attack | None
    steps: int = 0


class NotAnAttack(InvalidInput):
    """What is said to be an attack has points, values or observations that do not exist."""


def replay(
    chain: tuple[FloatArray, FloatArray, Any], automaton: Automaton, attack: Attack
) -> float:
    """Log likelihood ratio of an attack, from the laws of model and noise alone, rounded down.

    Parameters
    ----------
    chain : tuple
        Law of the first hidden state, shape (s,), transitions between hidden states, shape (s, s),
        and the value of each, shape (s,); of a chain of order 1 the states are the values.
    automaton : Automaton
        The noise of all releases together.
    attack : Attack
        What is replayed.

    Returns
    -------
    float
        -inf if one of the compared values cannot occur with the known ones, or if ``value`` rules
        out the output.

    Notes
    -----
    ----- A forward recursion over vectors of hidden states, for both values of the unit, with the
    output and without. Repeated observations are a power of a matrix. A product or sum of
    non-negative numbers has a relative error of at most 2^-53, so that s + 6 of them a point bound
    the error of each logarithm.
    """
    start, transition, value = chain
    size, steps = len(start), len(attack.value)
    total = attack.length
    if not 0 <= attack.target <= total - steps or len(attack.other) != steps or not steps:
        raise NotAnAttack("witness", "a unit outside of the series", "points of the series")
    fixed = [dict(attack.known), dict(attack.known)]
    for place in range(steps):
        if attack.target + place in attack.known:
            raise NotAnAttack("witness", "a known point of the unit", "other known points")
        for side, values in zip(fixed, (attack.value, attack.other), strict=True):
            side[attack.target + place] = values[place]
    special = sorted({place for side in fixed for place in side})
    if special and (special[0] < 0 or special[-1] >= total):
        raise NotAnAttack("witness", "a known point outside of the series", "points of the series")
    fits = [{x: np.asarray(value) == x for x in set(side.values())} for side in fixed]
    vectors, logs = np.ones((2, 2, size)), np.zeros((2, 2))

    def advance(seen: FloatArray, plain: FloatArray, last: int, opening: bool) -> None:
        for side in range(2):
            for kind, matrix in enumerate((seen, plain)):
                before = start * matrix[0] if opening else vectors[side, kind] @ matrix
                if last in fixed[side]:
                    before = before * fits[side][fixed[side][last]]
                top = before.max()
                logs[side, kind] += math.log(top) if top > 0 else -math.inf
                vectors[side, kind] = before / top if top > 0 else before

    for place, count, matrices in _matrices(automaton, transition, value, attack.runs, special):
        # Both hypotheses have the same scales.
        advance(*matrices, place + count - 1, place == 0)
    with np.errstate(divide="ignore"):
        # What lies after the last point says nothing: the laws sum to one.
        logs += np.log(vectors.sum(axis=2))
    if logs[:, 1].min() == -math.inf or logs[0, 0] == -math.inf:
        return -math.inf
    found = (logs[0, 0] - logs[0, 1]) - (logs[1, 0] - logs[1, 1])
    if found == math.inf:
        return math.inf
    return float(found - 4 * (size + 6) * (total + 8) * 2.0**-53)


def _matrices(
    automaton: Automaton,
    transition: FloatArray,
    value: Any,
    runs: Sequence[Run],
    special: list[int],
) -> Iterator[tuple[int, int, tuple[FloatArray, FloatArray]]]:
    """Place, number of points, and matrices with and without the output, each up to a factor."""
    index = np.ix_(value, value)
    made = {}
    ones = np.ones_like(transition)
    label, place = automaton.start, 0

    def step(observation: Observation) -> tuple[FloatArray, FloatArray]:
        nonlocal label
        at = (place % automaton.period, label, observation)
        if at not in automaton.steps:
            silent = observation is None
            found = "nothing where a report is due" if silent else "an observation that cannot be"
            raise NotAnAttack("witness output", found, "what the noise can publish at this point")
        edge = automaton.edges[automaton.steps[at]]
        label = edge.target
        if place == 0:
            return edge.law[index], ones
        if at not in made:
            made[at] = transition * edge.law[index]
        return made[at], transition

    for pattern, count in runs:
        left = count
        while left > 0:
            end = place + len(pattern) * (left - 1)
            free = place > 0 and left > 2 and not any(place <= at < end for at in special)
            if not free:
                for observation in pattern:
                    yield place, 1, step(observation)
                    place += 1
                left -= 1
                continue
            before, seen, plain = label, np.eye(len(transition)), np.eye(len(transition))
            moved = place
            for observation in pattern:
                matrices = step(observation)
                seen, plain = seen @ matrices[0], plain @ matrices[1]
                place += 1
            place = moved
            if label != before or len(pattern) % automaton.period:
                # The labels have not come round: point by point.
                label = before
                for observation in pattern:
                    yield place, 1, step(observation)
                    place += 1
                left -= 1
                continue
            yield place, end - place, (_power(seen, left - 1), _power(plain, left - 1))
            place, left = end, 1


def _power(matrix: FloatArray, n: int) -> FloatArray:
    """A power of a matrix of non-negative numbers up to a factor."""
    result = np.eye(len(matrix))
    while n:
        if n & 1:
            result = result @ matrix
            result = result / max(result.max(), 1e-300)
        matrix = matrix @ matrix
        matrix, n = matrix / max(matrix.max(), 1e-300), n >> 1
    return result
