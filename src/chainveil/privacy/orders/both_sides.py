"""Words that grow on both sides of a target in turn: their beginnings, and what is found."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.orders import around, rows
from chainveil.privacy.orders.graph import IntArray, Tables
from chainveil.privacy.orders.numbers import Alphabet, Letter
from chainveil.privacy.orders.spelling import Word

# Words that a beam keeps of each size, and entries of their tables together.
MOST_ALIKE, MOST_ALIKE_ENTRIES = 128, 131_072
# Letters of a word, and entries of the tables of all beginnings of one.
MOST_LETTERS, MOST_ENTRIES = 512, 4_000_000


@dataclass
class BothSides:
    """What words around the target attain, and a bound for all of them.

    Attributes
    ----------
    alphabet : Alphabet
    tables : Tables
    points : int or None
        Number of points of the series; None: any.
    looked : int
        Words that were looked at so far.
    expected : float
        How many it seemed to take in all, the last time.
    """

    alphabet: Alphabet
    tables: Tables
    points: int | None
    looked: int = 0
    expected: float = 0.0
    _roots: list[tuple[FloatArray, list[int], int]] = field(init=False)

    def __post_init__(self) -> None:
        room = np.inf if self.points is None else self.points - 1
        found = [root for label in range(self.alphabet.right) for root in self._begun(label)]
        self._roots = [root for root in found if root[1][around.POINTS] <= room]
        self._tables = np.array([root[0] for root in self._roots])
        self._states = np.array([root[1] for root in self._roots])

    @property
    def entries(self) -> int:
        """Entries of the tables of a word."""
        return 4 * len(self.tables.start) ** 2

    @property
    def _limit(self) -> int:
        return -1 if self.points is None else self.points - 1

    @property
    def _letters(self) -> int:
        """How many letters words may have."""
        most = min(MOST_LETTERS, max(32, MOST_ENTRIES // self.entries))
        # Beside its letters a word of a limited length may have an end on either side.
        return most if self.points is None else min(most, self.points + 1)

    def _begun(self, label: int) -> list[tuple[FloatArray, list[int], int]]:
        """The target alone: tables, state, and the letter that it is (-1: the first point)."""
        alphabet, tables = self.alphabet, self.tables
        if not alphabet.is_root(label):
            return []
        order, step = int(tables.right[rows.ORDER]), int(tables.right[rows.STEP])
        alone = self._alone(label)
        found = []
        for place, letter in enumerate(alphabet.letters[label]):
            if letter.turns:
                weighed = alone.copy()
                weighed[:2] *= np.array(letter.weight)[:, None, None]
                state = [label, letter.following, 0, 0, step, label]
                found.append((weighed, state, place))
        if tables.own[label, 1] > 0:
            first = np.zeros_like(alone)
            first[:, 0] = np.einsum("u,lut->lt", tables.start, alone)
            first[:2] *= tables.own[label, 1:, None, None]
            found.append((first, [label, around.ENDED, 0, order, 0, label], -1))
        return found

    def _alone(self, label: int) -> FloatArray:
        """The chain around the target, (4, contexts, contexts), without its report."""
        transition = self.tables.transition
        contexts, k = transition.shape
        rest = contexts // k
        found = np.zeros((4, contexts, contexts))
        for line in range(4):
            value = self.alphabet.read(label)[0][line % 2]
            for u in range(contexts):
                s = u % rest * k + value
                next_ones = slice(s % rest * k, s % rest * k + k)
                found[line, u, next_ones] = transition[u, value] * transition[s]
        return found

    def attack(self) -> tuple[float, Word | None]:
        """What a good word is worth, up to rounding, and the word."""
        if not self._roots:
            return 0.0, None
        most = max(16, min(MOST_ALIKE, MOST_ALIKE_ENTRIES // self.entries))
        letters = self._letters
        kept = np.zeros((letters + 1, max(most, len(self._roots)), 4), np.int64)
        path = np.zeros((letters + 1, 3), np.int64)
        value, best = around.beam(
            self.tables, self._tables, self._states, self._limit, most, kept, path
        )
        return float(value), self._word(path, best)

    def bound(self, lower: float, width: float, most: int) -> tuple[float, float, Word | None]:
        """A bound no more than ``width`` above what is attained; infinite where ``most`` words
        are not enough. Then what is attained, and the word if it is a better one.

        ``expected`` is then about how many words it takes, rather more than fewer.
        """
        if not self._roots:
            return 0.0, lower, None
        low, path = np.array([lower]), np.zeros((self._letters, 3), np.int64)
        share, top, looked, best = around.depth_first(
            self.tables, self._tables, self._states, self._limit, low, width, most, path
        )
        self.looked += int(looked)
        self.expected = float(looked) / max(float(share), 1e-300)
        upper = max(float(top), float(low[0])) if share == 1.0 else np.inf
        return upper, float(low[0]), self._word(path, best)

    def _word(self, path: IntArray, best: tuple[int, int, int, int]) -> Word | None:
        root, size, ending, label = best
        if root < 0:
            return None
        _, state, turn = self._roots[root]
        first = state[around.FIRST]
        sides: tuple[list[Letter], list[Letter]] = ([], [])
        if turn >= 0:
            sides[1].append(self.alphabet.letters[first][turn])
        end = (label, ending)
        for side, at, letter in path[:size].tolist():
            some = self.alphabet.letters[at]
            if letter < len(some):
                sides[side].append(some[letter])
            elif side == 1:
                end = (at, letter - len(some))
        return Word.spelled(self.alphabet, first, *sides, end)
