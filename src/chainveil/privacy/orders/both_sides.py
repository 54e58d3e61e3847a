"""Words that grow on both sides of a target in turn: their beginnings, and what is found.

A beam keeps the most promising words of each size and finds attacks; all words together, longer
ones first, give a bound. Where a chain forgets within a few points, or the noise is strong, few of
them have to be looked at until none that is left can be worth more than what is attained.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.orders import around, rows
from chainveil.privacy.orders.around import Words
from chainveil.privacy.orders.graph import IntArray, Tables, onwards
from chainveil.privacy.orders.numbers import Alphabet, Letter
from chainveil.privacy.orders.spelling import Word

# Words that a beam keeps of each size, and entries of their tables together.
MOST_ALIKE, MOST_ALIKE_ENTRIES = 128, 131_072
# A beam ends when so many letters gained nothing.
PATIENCE = 24
# Words of one size that grow at a time, and entries of their tables together.
MOST_AT_ONCE, ENTRIES_AT_ONCE = 128, 32_768
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
    """

    alphabet: Alphabet
    tables: Tables
    points: int | None
    looked: int = 0
    _roots: list[tuple[FloatArray, list[int], int]] = field(init=False)
    _begin: Words = field(init=False)

    def __post_init__(self) -> None:
        room = np.inf if self.points is None else self.points - 1
        found = [root for label in range(self.alphabet.right) for root in self._begun(label)]
        self._roots = [root for root in found if root[1][around.POINTS] <= room]
        if self._roots:
            table, state = (np.array([root[part] for root in self._roots]) for part in (0, 1))
            self._begin = around.begun(table, state)

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
        return onwards(self.tables, found)

    def attack(self) -> tuple[float, Word | None]:
        """What a good word is worth, up to rounding, and the word.

        The most promising words of each size go on, by what they are worth and may become worth.
        """
        if not self._roots:
            return 0.0, None
        most = max(16, min(MOST_ALIKE, MOST_ALIKE_ENTRIES // self.entries))
        words, going = self._begin, list[Words]()
        bound = around.at_most(self.tables, words)
        best, found, idle = -np.inf, None, 0
        while True:
            value, ending = around.worth(self.tables, words)
            if value.max() > best:
                idle = 0 if value.max() > best + 1e-9 else idle
                best, found = float(value.max()), self._spelled(words, going, value, ending)
            if idle > PATIENCE or best == np.inf or len(going) >= self._letters:
                break
            score = value + np.minimum(bound, 1e3)
            goes_on = (value > -np.inf) & self._has_room(words)
            order = np.argsort(-score, kind="stable")
            going.append(words.at(order[goes_on[order]][:most]))
            words, bound, _, _ = around.grown(self.tables, going[-1], len(going) - 1, False)
            idle += 1
            if not len(words.table):
                break
        return best, found

    def _has_room(self, words: Words) -> NDArray[np.bool_]:
        """Whether there may be more points."""
        points = words.state[:, around.POINTS]
        return np.full(len(points), True) if self.points is None else points < self._limit

    def bound(self, lower: float, width: float, most: int) -> tuple[float, float, Word | None]:
        """A bound no more than ``width`` above what is attained; infinite where ``most`` words
        are not enough. Then what is attained, and the word if it is a better one.
        """
        if not self._roots:
            return 0.0, lower, None
        look = _Look(self, lower, width)
        upper = max(look.top, look.low) if look.through(most) else np.inf
        self.looked += look.looked
        return upper, look.low, look.found

    def _spelled(
        self, words: Words, going: list[Words], value: FloatArray, ending: IntArray
    ) -> Word:
        """The word of the largest value; ``going``: the words that it grew from, by size."""
        at = int(np.argmax(value))
        end = int(words.state[at, around.LEFT]), int(ending[at])
        letters = []
        for lot in (words, *going[::-1]):
            before, side, label, letter = lot.origin[at].tolist()
            if side >= 0:
                letters.append((side, label, letter))
                at = before
        _, state, turn = self._roots[before]
        first = state[around.FIRST]
        sides: tuple[list[Letter], list[Letter]] = ([], [])
        if turn >= 0:
            sides[1].append(self.alphabet.letters[first][turn])
        for side, label, letter in letters[::-1]:
            some = self.alphabet.letters[label]
            if letter < len(some):
                sides[side].append(some[letter])
            elif side == 1:
                end = (label, letter - len(some))
        return Word.spelled(self.alphabet, first, *sides, end)


class _Look:
    """All words that may be worth more than ``width`` above what is attained, longer ones first.

    ``low``: what is attained, and ``found`` by which word, where a better one is found; ``top``:
    the largest bound of words that were not followed; ``looked``: how many words there were.
    """

    def __init__(self, words: BothSides, low: float, width: float) -> None:
        self.words, self.low, self.width = words, low, width
        self.top, self.looked = -np.inf, 0
        self.found: Word | None = None
        # By size: the words that are growing, and those that wait with their bounds.
        self.going = list[Words]()
        self.waiting = list[tuple[Words, FloatArray]]()

    def through(self, most: int) -> bool:
        """Whether ``most`` words were enough."""
        words, tables = self.words, self.words.tables
        limited = words.points is not None
        begin = words._begin
        self.looked = len(begin.table)
        self._wait(begin, around.at_most(tables, begin))
        at_once = max(8, min(MOST_AT_ONCE, ENTRIES_AT_ONCE // words.entries))
        while self.waiting:
            some, bound = self.waiting[-1]
            going = bound > self.low + self.width
            self.top = max(self.top, bound[~going].max(initial=-np.inf))
            places, size = np.flatnonzero(going), len(self.waiting) - 1
            if not len(places):
                self.waiting.pop()
                continue
            if size >= words._letters or self.looked >= most or self.low == np.inf:
                return False
            few = min(at_once, max(1, (most - self.looked) // 8))
            rest, places = places[:-few], places[-few:]
            self.waiting[-1] = some.at(rest), bound[rest]
            self.going[size:] = [some.at(places)]
            slack = self._slack(size + 1)
            limit = self.low + self.width - slack
            grown, above, looked, top = around.grown(tables, self.going[-1], size, limited, limit)
            self.looked, self.top = self.looked + looked, max(self.top, top + slack)
            self._wait(grown, above)
        return True

    def _slack(self, size: int) -> float:
        """What rounding may cost words of this size."""
        return (size + 4) * float(self.words.tables.slack)

    def _wait(self, words: Words, bound: FloatArray) -> None:
        """Look at words; those that have to be followed wait, the most promising ones last."""
        tables, size = self.words.tables, len(self.waiting)
        slack = self._slack(size)
        bound = bound + slack
        order = np.argsort(bound, kind="stable")
        words, bound = words.at(order), bound[order]
        value, ending = around.worth(tables, words)
        if value.max(initial=-np.inf) > self.low:
            self.low = float(value.max())
            self.found = self.words._spelled(words, self.going, value, ending)
        self.top = max(self.top, value.max(initial=-np.inf) + slack)
        # Where nothing that may follow matters the bound stays.
        over = around.turn_of(tables, words.state, size) < 0
        self.top = max(self.top, bound[over].max(initial=-np.inf))
        on = self.words._has_room(words) & ~over
        self.waiting.append((words.at(on), bound[on]))
