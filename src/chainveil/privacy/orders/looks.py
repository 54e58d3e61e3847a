"""A bound by looking at all words that may be worth more than some loss, longer ones first.

Words are tables (``around``), which take far less room and time than functionals, but reports are
not joined. Where a chain forgets within a few points, or noise is weak, few words have to be looked
at; of chains with many contexts it is the only bound.
"""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.orders import around
from chainveil.privacy.orders.alphabet import Alphabet
from chainveil.privacy.orders.around import Words
from chainveil.privacy.orders.tables import Tables

# Words of one size that grow at a time, and entries of their tables together.
AT_ONCE, ENTRIES_AT_ONCE = 128, 32_768
# Units of work of a word, and entries of its tables that make another one.
UNITS_A_WORD, ENTRIES_A_UNIT = 1.0, 400


class Look:
    """All words that may be worth more than ``asked``.

    ``top``: the largest bound of words that were not followed; ``worked``: units of work.
    """

    def __init__(
        self, alphabet: Alphabet, tables: Tables, points: int | None, asked: float
    ) -> None:
        self._tables, self._points, self._asked = tables, points, asked
        self._begin = around.begun(tables, alphabet.roots)
        self._lost = around.slack(tables, alphabet.numbers.drift)
        self.top, self.worked = -np.inf, 0.0
        self._entries = around.entries(tables)
        self._letters = around.most_letters(tables, points)
        # By size: the words that wait, with their bounds.
        self._waiting = list[tuple[Words, FloatArray]]()

    def through(self, room: float) -> bool:
        """Whether so much work is enough; then nothing is worth more than ``top``."""
        self._wait(self._begin, around.at_most(self._tables, self._begin))
        at_once = max(8, min(AT_ONCE, ENTRIES_AT_ONCE // self._entries))
        while self._waiting:
            some, bound = self._waiting[-1]
            size = len(self._waiting) - 1
            if not len(bound):
                self._waiting.pop()
                continue
            if size >= self._letters or self.worked > room or self.top > self._asked:
                return False
            self._waiting[-1] = some.at(slice(0, -at_once)), bound[:-at_once]
            lost = (size + 5) * self._lost
            grown, above, top = around.grown(
                self._tables, some.at(slice(-at_once, None)), size, self._points is not None,
                self._asked - lost,
            )  # fmt: skip
            letters = int(self._tables.counts.max()) + 2
            work = UNITS_A_WORD + self._entries / ENTRIES_A_UNIT
            self.worked += min(at_once, len(bound)) * letters * work
            self.top = max(self.top, top + lost)
            self._wait(grown, above)
        return True

    def _wait(self, words: Words, bound: FloatArray) -> None:
        """Those that have to be followed wait, the most promising ones last."""
        size = len(self._waiting)
        lost = (size + 4) * self._lost
        order = np.argsort(bound, kind="stable")
        words, bound = words.at(order), bound[order] + lost
        value, _ = around.worth(self._tables, words)
        over = around.turn_of(self._tables, words.state, size) < 0
        if self._points is not None:
            over |= words.state[:, around.POINTS] >= self._points - 1
            # Where no letter is left words are worth what they are.
            bound = np.where(over, np.minimum(bound, value + lost), bound)
        self.top = max(self.top, float(value.max(initial=-np.inf)) + lost)
        self.top = max(self.top, float(bound[over].max(initial=-np.inf)))
        going = ~over & (bound > self._asked)
        self.top = max(self.top, float(bound[~going].max(initial=-np.inf)))
        self._waiting.append((words.at(going), bound[going]))
