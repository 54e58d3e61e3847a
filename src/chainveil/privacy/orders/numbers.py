"""A chain of any order and its noise as floats, and the letters that words are made of.

The exact reading is what a loss refers to: each row of transitions and of every law of a report is
divided by its exact sum. The floats are within four units of it, and a zero stays a zero. The law
of the first points is that of the contexts, as the model gives it; it is stationary up to
``drift``, relatively.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.model.contexts import context_steps
from chainveil.noise.base import Noise
from chainveil.privacy.letters.numbers import _check_range, _floats, _normalised, exact_emission

# How far, relatively, a law may be moved by one step and still count as stationary.
FURTHEST = 1e-9


@dataclass(frozen=True)
class Numbers:
    """Chain and reports in floats.

    Attributes
    ----------
    order : int
    transition : array (k ** order, k)
        Law of the next value behind each context, its oldest value the leading digit; zeros for
        contexts that never occur.
    contexts : array (k ** order,)
        Law of the first values.
    drift : float
        How far, relatively, one step moves that law.
    first : array (k, m)
        Law of the first report; of every report where they are independent.
    kernel : array (m, k, m)
        Law of a report at ``[z, x]`` behind the report z, empty where they are independent.
    """

    order: int
    transition: FloatArray
    contexts: FloatArray
    drift: float
    first: FloatArray
    kernel: FloatArray

    @property
    def states(self) -> int:
        """Number of values k."""
        return int(self.transition.shape[1])

    @property
    def hides_all(self) -> bool:
        """Whether no report depends on its point."""
        laws = (self.first[None], self.kernel)
        return all(bool(np.all(law == law[:, :1])) for law in laws if law.size)

    @property
    def looks_back(self) -> bool:
        """Whether a report depends on the one before."""
        return self.kernel.size > 0


def read_numbers(model: Any, noise: Noise) -> Numbers:
    """Floats within four units in the last place of the exact reading."""
    contexts = np.asarray(model.contexts if model.order > 1 else model.start, np.float64)
    transition = _rows(model.transition) * (contexts > 0)[:, None]
    first, kernel = _laws(noise)
    for name, array in (("chain", transition), ("chain", contexts), ("noise", first)):
        _check_range(name, array)
    if kernel.size:
        _check_range("noise", kernel)
    drift = _drift(contexts, transition)
    return Numbers(model.order, transition, contexts, drift, first, kernel)


def _drift(contexts: FloatArray, transition: FloatArray) -> float:
    moved = contexts @ context_steps(transition)
    there = contexts > 0
    worst = float(np.max(np.abs(moved[there] / contexts[there] - 1)))
    if np.any(moved[~there] > 0) or worst > FURTHEST:
        raise NotSupported("the loss of a chain of this order is offered for a stationary start")
    return worst + 4 * len(contexts) * 2.0**-53


def _laws(noise: Noise) -> tuple[FloatArray, FloatArray]:
    if noise.sees == "point":
        first = _floats(exact_emission(noise))  # type: ignore[arg-type]
        return first, np.zeros((0, *first.shape))
    kernel, first = noise.step_law()[:, 0], noise.first_law()
    if np.array_equal(kernel, np.broadcast_to(first, kernel.shape)):
        # It could look at its last report and does not: reports are independent.
        return _rows(first), np.zeros((0, *first.shape))
    return _rows(first), _rows(kernel.reshape(-1, kernel.shape[-1])).reshape(kernel.shape)


def _rows(law: FloatArray) -> FloatArray:
    return _floats([_normalised(row) for row in np.asarray(law).tolist()])


@dataclass(frozen=True)
class Letter:
    """What one more point says.

    ``weight``: how it weighs the values of the point, (k,), or those of a and b of the target,
    (2,); ``known``: the value that is known, -1: none; ``report``: what is published;
    ``following``: the label it leads to; ``turns``: whether it is that of the
    target, behind which the rest lies to the left.
    """

    weight: tuple[float, ...]
    known: int
    report: int
    following: int
    turns: bool = False


class Alphabet:
    """Letters by label.

    A label to the right of the target is a pair of its values and, where noise looks back, its
    report and the last one; to the left it is the report of the next point, which is yet to be
    weighed. A report of independent noise is weighed with its own letter, and there is one label.
    """

    def __init__(self, numbers: Numbers, adversary: str) -> None:
        self.numbers = numbers
        # Whether points may be known, and whether they all are.
        self.known, self.all_known = adversary != "ignorant", adversary == "informed"
        k = numbers.states
        self.pairs = [(a, b) for a in range(k) for b in range(k) if a != b]
        self.reports = numbers.first.shape[1]
        left = self.reports if numbers.looks_back else 1
        self.each = left * left
        self.right = len(self.pairs) * self.each
        self.letters = [self._of(label) for label in range(self.right + left)]

    def _of(self, label: int) -> list[Letter]:
        if label >= self.right:
            return self._left(label - self.right)
        pair, own, last = self.read(label)
        base = label - last
        going_on = [
            Letter(x.weight, x.known, x.report, base + x.following) for x in self._right(last)
        ]
        return going_on + self._turns(pair, own)

    def read(self, label: int) -> tuple[tuple[int, int], int, int]:
        """A label to the right: the pair, the report of the target, and the last one."""
        pair, reports = divmod(label, self.each)
        own, last = divmod(reports, self.reports) if self.each > 1 else (0, 0)
        return self.pairs[pair], own, last

    def is_root(self, label: int) -> bool:
        """Whether words begin with this label: nothing is reported behind the target yet."""
        _, own, last = self.read(label)
        return label < self.right and own == last

    def _right(self, last: int) -> list[Letter]:
        law = self.numbers.kernel[last] if self.numbers.looks_back else self.numbers.first
        found = []
        for z in range(self.reports):
            found += self._letters(law[:, z], z, z if self.numbers.looks_back else 0)
        return found if self.numbers.looks_back else _once(found)

    def _left(self, pending: int) -> list[Letter]:
        if not self.numbers.looks_back:
            return [Letter(x.weight, x.known, x.report, self.right) for x in self._right(0)]
        found = []
        for z in range(self.reports):
            law = self.numbers.kernel[z][:, pending]
            found += self._letters(law, z, self.right + z)
        return found

    def _letters(self, law: FloatArray, report: int, following: int) -> list[Letter]:
        """The report with the value unknown, and with each value known that allows it."""
        if not law.any():
            return []
        found = [] if self.all_known else [Letter(tuple(law.tolist()), -1, report, following)]
        k = self.numbers.states
        if self.known:
            found += [
                Letter(tuple(np.eye(k)[y].tolist()), y, report, following)
                for y in range(k)
                if law[y] > 0
            ]
        return found

    def _turns(self, pair: tuple[int, int], own: int) -> list[Letter]:
        a, b = pair
        if self.numbers.looks_back:
            laws = [(z, self.numbers.kernel[z][:, own]) for z in range(self.reports)]
            return [
                Letter((float(law[a]), float(law[b])), -1, z, self.right + z, True)
                for z, law in laws
                if law[a] > 0
            ]
        best = max(range(self.reports), key=lambda z: odds(self.numbers.first, a, b, z))
        law = self.numbers.first[:, best]
        return [Letter((float(law[a]), float(law[b])), -1, best, self.right, True)]

    def first(self, label: int) -> tuple[float, float]:
        """Weights of a and b where the target is the first point; zeros: said by the turn."""
        if label >= self.right or not self.numbers.looks_back:
            return 0.0, 0.0
        (a, b), own, _ = self.read(label)
        return float(self.numbers.first[a, own]), float(self.numbers.first[b, own])

    def ends(self, label: int) -> list[tuple[FloatArray, FloatArray, int]]:
        """How the series may begin on the left: weights of contexts, and the known value or -1."""
        start, k = self.numbers.contexts, self.numbers.states
        if label < self.right:
            return []
        if not self.numbers.looks_back:
            return [(start, start, -1)]
        law = self.numbers.first[:, label - self.right]
        newest = np.arange(len(start)) % k
        found = [] if self.all_known else [(start * law[newest], start, -1)]
        for y in range(k):
            if self.known and law[y] > 0:
                only = start * (newest == y)
                found.append((only, only, y))
        return found


def odds(law: FloatArray, a: int, b: int, z: int) -> float:
    """Of a report: how much more often a is behind it than b."""
    if law[a, z] == 0:
        return -math.inf
    return math.inf if law[b, z] == 0 else float(law[a, z] / law[b, z])


def _once(letters: list[Letter]) -> list[Letter]:
    """Known values once, whatever is reported there: independent reports tell nothing more."""
    unknown = [x for x in letters if x.known < 0]
    known = {x.known: x for x in letters if x.known >= 0}
    return unknown + list(known.values())
