"""Attacks: words that grow on both sides of a target in turn, the most promising of each size."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.orders import around
from chainveil.privacy.orders.alphabet import Alphabet
from chainveil.privacy.orders.around import Words
from chainveil.privacy.orders.spelling import Word
from chainveil.privacy.orders.tables import Tables

# Words that are kept of each size, and entries of their tables together.
MOST_ALIKE, MOST_ALIKE_ENTRIES = 128, 131_072
# It ends when so many letters gained nothing: so many, and so many times a block on either side.
PATIENCE, BLOCKS = 24, 6
# Points that may be known where most of them are silent: the ways to know many would crowd others
# out.
FEW_KNOWN = 3


@dataclass
class Beam:
    """A search for a good word.

    Attributes
    ----------
    alphabet : Alphabet
    tables : Tables
    points : int or None
        Number of points of the series; None: any.
    limited : bool
        Whether one side may end so that the other has more points.
    """

    alphabet: Alphabet
    tables: Tables
    points: int | None
    limited: bool = False
    # Words that grew, by size.
    _going: list[Words] = field(default_factory=list)

    def attack(self) -> tuple[float, Word | None]:
        """What a good word is worth, up to rounding, and the word."""
        most = max(16, min(MOST_ALIKE, MOST_ALIKE_ENTRIES // around.entries(self.tables)))
        every = self.alphabet.numbers.every
        free = around.MANY if every == 1 else FEW_KNOWN
        words = around.begun(self.tables, self.alphabet.roots, free)
        bound = around.at_most(self.tables, words)
        best, found, idle = -np.inf, None, 0
        letters = around.most_letters(self.tables, self.points)
        patience = PATIENCE if every == 1 else max(PATIENCE, BLOCKS * every)
        while len(words.table):
            value, can_be = around.worth(self.tables, words)
            attained = np.where(can_be, value, -np.inf)
            if attained.max() > best:
                idle = 0 if attained.max() > best + 1e-9 else idle
                best, found = float(attained.max()), self._spelled(words, attained)
            if idle > patience or best == np.inf or len(self._going) >= letters:
                break
            score = value + np.minimum(bound, 1e3)
            goes_on = (value > -np.inf) & self._has_room(words)
            order = np.argsort(-score, kind="stable")
            self._going.append(words.at(order[goes_on[order]][:most]))
            size = len(self._going) - 1
            words, bound, _ = around.grown(self.tables, self._going[-1], size, self.limited)
            idle += 1
        return best, found

    def _has_room(self, words: Words) -> NDArray[np.bool_]:
        """Whether there may be more points."""
        points = words.state[:, around.POINTS]
        return points < (np.inf if self.points is None else self.points - 1)

    def _spelled(self, words: Words, value: FloatArray) -> Word:
        """The word of the largest value, letter by letter."""
        at = int(np.argmax(value))
        letters = []
        for lot in (words, *self._going[::-1]):
            before, side, label, letter = lot.origin[at].tolist()
            if side >= 0:
                if letter >= 0:
                    letters.append((side, self.alphabet.letters[label][letter]))
                at = before
        return Word.spelled(self.alphabet.roots[before], letters[::-1])
