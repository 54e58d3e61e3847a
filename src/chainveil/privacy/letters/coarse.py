"""A slow chain seen at every B-th point: attacks are sought there, and then tried point by point.

The best words of slow chains are long runs of one report, or, where noise remembers, of two in
turn. A word over blocks of B points has so many letters less, and is found so much sooner. Between
two blocks there are B steps of the chain, and what the reports of a block say is taken to be said
of its middle, which is only about right: what such a word is worth is known when it has been
written out.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters.cones import Cones
from chainveil.privacy.letters.numbers import Numbers
from chainveil.privacy.letters.priors import Priors
from chainveil.privacy.letters.sides import Letter, Spelling

# A chain tells next to nothing of points so far away that the logs of all its odds are below this.
LITTLE = 0.1
# Blocks up to there at least, and of more than SHORT points; the longest distance of all.
BLOCKS, SHORT, MORE_BLOCKS, FURTHEST = 8, 8, 128, 1 << 15


def points_of_a_block(numbers: Numbers) -> int:
    """How many points are taken together: so many that few blocks reach as far as the chain.

    A power of two.
    """
    distance = memory_of(numbers.transition)
    return max(1, min(distance // BLOCKS, SHORT), distance // MORE_BLOCKS)


def memory_of(law: FloatArray) -> int:
    """How many steps it takes until a chain tells next to nothing: a power of two."""
    distance = 1
    while distance < FURTHEST and not _tells_little(law):
        law, distance = law @ law, 2 * distance
    return distance


def _tells_little(law: FloatArray) -> bool:
    """Whether no column has odds that matter."""
    least = law.min(axis=0)
    return bool(np.all(law.max(axis=0) <= np.exp(LITTLE) * least))


class Coarse:
    """One side of a chain in blocks of so many points, where every point reports."""

    def __init__(self, spelling: Spelling, numbers: Numbers, points: int) -> None:
        self._spelling, self.points = spelling, points
        labels = range(spelling.labels)
        self._blocks = {label: self._blocks_at(label) for label in labels}
        letters = {
            (0, label): [self._letter(label, block) for block in self._blocks[label]]
            for label in labels
        }
        power = np.linalg.matrix_power(spelling.matrix, points)
        # What a block says is said of the point in its middle.
        half = (points - 1 if spelling.is_left else points + 1) // 2
        first = np.linalg.matrix_power(spelling.matrix, half)
        between = replace(numbers, transition=power.T if spelling.is_left else power)
        priors = Priors(between, spelling.is_left, first)
        self.cones = Cones(replace(spelling, matrix=power, letters=letters), priors, False)

    def _blocks_at(self, label: int) -> list[list[int]]:
        """The letters of each block at a label: all lead to one label, or back and forth.

        The letters of a label are numbered by the label they lead to and by other reports.
        """
        if self.points == 1:
            return [[number] for number in range(len(self._spelling.letters[0, label]))]
        others = len(self._spelling.letters[0, label]) // self._spelling.labels
        found = []
        for to, number in product(range(self._spelling.labels), range(others)):
            found.append([to * others + number] * self.points)
            if to != label and self.points % 2 == 0:
                there_and_back = [to * others + number, label * others + number]
                found.append(there_and_back * (self.points // 2))
        return found

    def _letter(self, label: int, block: list[int]) -> Letter:
        """A block as one letter."""
        weight = np.ones(len(self._spelling.matrix))
        for number in block:
            letter = self._spelling.letters[0, label][number]
            weight, label = weight * letter.weight, letter.following
        return Letter(weight, label, letter.reports)

    def written_out(self, word: list[int], label: int) -> list[int]:
        """The word point by point; ``label``: that of the target."""
        found = []
        for number in word:
            block = self._blocks[label][number]
            found += block
            for letter in block:
                label = self._spelling.letters[0, label][letter].following
        return found

    def prolonged(self, letters: list[int]) -> list[int]:
        """A word that was written out, and as long again as it ends.

        Blocks are looked at up to where the chain tells little; further out it tells a little more.
        """
        return letters + letters[-2:] * (len(letters) // 2 if self.points > 1 else 0)
