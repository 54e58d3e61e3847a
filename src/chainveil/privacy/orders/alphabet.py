"""The letters that words are made of: what one more point of a series says.

A word grows from a target outwards, on its right and on its left. Which letters there are next
depends on a *label*: where the next point lies in its block, and, where noise looks back, a report.
To the right that is the last report so far; to the left it is the report, named but not weighed
yet, of the next point that makes one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.orders.numbers import Numbers

# The report of a point that makes none.
SILENT = -1


@dataclass(frozen=True)
class Letter:
    """What one more point says.

    ``weight``: how it weighs the values of the point, (k,); ``known``: the value that is known, -1:
    none; ``report``: what is published, -1: nothing; ``following``: the label it leads to.
    """

    weight: tuple[float, ...]
    known: int
    report: int
    following: int


@dataclass(frozen=True)
class Root:
    """A target alone: a word without letters.

    ``pair``: the value that words speak for, and the other; ``weight``: what its report says of
    either; ``report``: its report, -1: none; ``right`` and ``left``: the labels on either side.
    """

    pair: tuple[int, int]
    weight: tuple[float, float]
    report: int
    right: int
    left: int


class Alphabet:
    """Letters by label, those on the right first, and the targets that words begin with.

    Attributes
    ----------
    numbers : Numbers
    right : int
        How many labels there are on the right.
    begun : int
        The label of a left side that has come to the beginning of its series.
    letters : list of lists of Letter
    roots : list of Root
    """

    def __init__(self, numbers: Numbers, adversary: str) -> None:
        self.numbers = numbers
        # Whether points may be known, and whether they all are.
        self.known, self.all_known = adversary != "ignorant", adversary == "informed"
        self.reports = int(numbers.first.shape[1])
        # Reports that a label may name, and one more for none so far.
        self._named = self.reports + 1 if numbers.looks_back else 1
        self.right = self._named * numbers.every
        self.begun = 2 * self.right
        right = [self._of_right(*divmod(label, numbers.every)) for label in range(self.right)]
        left = [self._of_left(*divmod(label, numbers.every)) for label in range(self.right)]
        self.letters = [*right, *left, []]
        self.roots = self._roots()

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return len(self.letters)

    def is_beginning(self, label: int) -> bool:
        """Whether a series may begin behind a label on the left."""
        if self.numbers.looks_back or label < self.right:
            return label == self.begun
        return label == self.begun or (label + 1 - self.right) % self.numbers.every == 0

    def is_first(self, label: int) -> bool:
        """Whether no report lies further out on the left."""
        none = self.right + self.reports * self.numbers.every
        return self.numbers.looks_back and label >= none

    def _to_right(self, named: int, place: int) -> int:
        return named * self.numbers.every + place % self.numbers.every

    def _to_left(self, named: int, place: int) -> int:
        """The label of a point on the left; before the first report a series just begins."""
        if self.numbers.looks_back and named == self.reports and place < 0:
            return self.begun
        return self.right + self._to_right(named, place)

    def _law(self, named: int) -> FloatArray:
        """Law of a report behind the one that is named."""
        if not self.numbers.looks_back or named == self.reports:
            return self.numbers.first
        found: FloatArray = self.numbers.kernel[named]
        return found

    def _of_right(self, named: int, place: int) -> list[Letter]:
        if place != self.numbers.place:
            return self._silent(self._to_right(named, place + 1))
        law, found = self._law(named), list[Letter]()
        for z in range(self.reports):
            following = self._to_right(z if self.numbers.looks_back else 0, place + 1)
            found += self._letters(law[:, z], z, following)
        return found if self.numbers.looks_back else _once(found)

    def _of_left(self, named: int, place: int) -> list[Letter]:
        if not self.numbers.looks_back:
            further = self._to_left(0, place - 1)
            letters = self._of_right(0, place)
            return [Letter(x.weight, x.known, x.report, further) for x in letters]
        if named == self.reports:
            # Behind the first report, which has been weighed: only silent points are left.
            return (
                self._silent(self._to_left(named, place - 1)) if place < self.numbers.place else []
            )
        if place != self.numbers.place:
            return self._silent(self._to_left(named, place - 1))
        found = []
        for z in range(self._named):
            found += self._letters(self._law(z)[:, named], named, self._to_left(z, place - 1))
        return found

    def _silent(self, following: int) -> list[Letter]:
        return self._letters(np.ones(self.numbers.states), SILENT, following)

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

    def _roots(self) -> list[Root]:
        k, every = self.numbers.states, self.numbers.every
        pairs = [(a, b) for a in range(k) for b in range(k) if a != b]
        there = [root for pair in pairs for place in range(every) for root in self._at(pair, place)]
        return [root for root in there if root.weight[0] > 0]

    def _at(self, pair: tuple[int, int], place: int) -> list[Root]:
        """Targets at a place of their block, by their own report and those before."""
        if place != self.numbers.place:
            return [
                Root(pair, (1.0, 1.0), SILENT, self._to_right(z, place + 1), left)
                for z in range(self._named)
                for left in self._before(z, place)
            ]
        a, b = pair
        if not self.numbers.looks_back:
            law = self.numbers.first
            best = max(range(self.reports), key=lambda z: odds(law, a, b, z))
            says = float(law[a, best]), float(law[b, best])
            return [
                Root(pair, says, best, self._to_right(0, place + 1), self._to_left(0, place - 1))
            ]
        return [
            Root(pair, (float(self._law(z)[a, own]), float(self._law(z)[b, own])), own,
                 self._to_right(own, place + 1), left)
            for own in range(self.reports)
            for z in range(self._named)
            for left in self._before(z, place)
        ]  # fmt: skip

    def _before(self, named: int, place: int) -> list[int]:
        """The label to the left of a target, if a report can be the last one before it."""
        if not self.numbers.looks_back or named < self.reports:
            return [self._to_left(named, place - 1)]
        return [self._to_left(named, place - 1)] if place <= self.numbers.place else []


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
