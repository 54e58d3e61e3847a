"""What may follow a word: how much more of it one context can be worth than another.

Behind a label, whatever is reported and known further out speaks for a context s against another
one t, beyond what is known alone, by at most a factor D(s, t). Such factors are found as losses
are, by walks on one side, and they may use themselves: if every word of at least one letter is
worth no more than D wherever what follows it keeps to D, then by induction over their lengths all
words do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.orders.kernel import UNIT
from chainveil.privacy.orders.tables import IntArray, Tables
from chainveil.privacy.orders.walks import ENDED, Items, Walk

# The factors that are tried first, as logs, and how often those for which they fail are given up.
FIRST, TRIES = 20.0, 4
# Rounds in which factors become smaller, each with those of the last one: which share of a factor
# may be left, how often what is between is halved, and functionals that one factor may take.
ROUNDS = (0.0, 6, 50.0), (0.5, 3, 150.0)
# By how much more than those of similar noise factors are guessed to be, and by how much more where
# that is not enough.
ROOM, MORE = 1.02, 1.3
# The least factor, as a log: narrower cones would lose digits.
LEAST = 1e-3
# Functionals that a first factor may take.
EACH = 150.0


@dataclass
class Cones:
    """Factors by label, and the rays that they make.

    Attributes
    ----------
    tables : Tables
    like : Cones, optional
        Those of similar noise, from which factors are guessed.
    room : float
        Units of work that they may take.
    worked : float
        Units of work that were done.
    """

    tables: Tables
    like: Cones | None = None
    room: float = np.inf
    worked: float = 0.0
    factors: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        contexts, labels = len(self.tables.start), len(self.tables.counts)
        self.factors = np.full((labels, contexts, contexts), LEAST)
        for side in (0, 1):
            pairs = self._pairs(self._labels(side))
            if self.like is not None and self._is_like(side, pairs, self.like):
                continue
            found = self._begun(side, pairs)
            for share, halvings, each in ROUNDS:
                least = np.maximum(
                    LEAST, np.where(np.isfinite(found), share * np.minimum(found, FIRST), 0.0)
                )
                found = self._narrowed(side, pairs, found, least, halvings, each)

    @property
    def rays(self) -> FloatArray:
        """D / (1 + D), rounded up, (labels, contexts, contexts)."""
        with np.errstate(over="ignore"):
            odds = np.exp(-self.factors)
        return np.minimum(1.0, (1.0 + 8 * UNIT) / (1.0 + odds))

    def _labels(self, side: int) -> IntArray:
        labels = np.arange(len(self.tables.counts))
        of_side = (labels < self.tables.right) == (side == 0)
        return np.asarray(labels[of_side & (self.tables.counts > 0)])

    def _pairs(self, labels: IntArray) -> IntArray:
        """Labels and two contexts that can be, (n, 3)."""
        there = np.flatnonzero(self.tables.start > 0)
        found = [(z, s, t) for z in labels for s in there for t in there if s != t]
        return np.array(found, np.int64).reshape(-1, 3)

    @property
    def _told(self) -> float:
        """The most that a report tells of two values, as a log."""
        weight = np.where(self.tables.known[:, :, None] < 0, self.tables.weight, 1.0)
        there = np.arange(weight.shape[1]) < self.tables.counts[:, None]
        with np.errstate(divide="ignore"):
            log = np.log(weight[there])
        return float((log.max(axis=1) - log.min(axis=1)).max(initial=LEAST))

    def _is_like(self, side: int, pairs: IntArray, like: Cones) -> bool:
        """Whether factors that are guessed keep to themselves; they are noted then."""
        if like.factors.shape != self.factors.shape:
            return False
        told = self._told, like._told
        # Of reports that rule values out nothing is guessed.
        if not np.isfinite(told).all():
            return False
        label, s, t = pairs.T
        found = np.maximum(LEAST, like.factors[label, s, t] * (told[0] / told[1]) * ROOM)
        for _ in range(TRIES):
            self._note(pairs, found)
            failed = self._fails(side, pairs, found) & np.isfinite(found)
            if not failed.any():
                return True
            found = np.where(failed, found * MORE, found)
        return False

    def _begun(self, side: int, pairs: IntArray) -> FloatArray:
        """Factors that keep to themselves; infinite where none is found."""
        found = np.full(len(pairs), FIRST)
        for _ in range(TRIES):
            self._note(pairs, found)
            failed = self._fails(side, pairs, found) & np.isfinite(found)
            if not failed.any():
                return found
            found[failed] = np.inf
        found[:] = np.inf
        self._note(pairs, found)
        return found

    def _narrowed(
        self, side: int, pairs: IntArray, high: FloatArray, low: FloatArray, halvings: int,
        each: float,
    ) -> FloatArray:  # fmt: skip
        """Smaller factors, as far as those known show."""
        for _ in range(halvings):
            tried = (low + np.minimum(high, FIRST)) / 2
            failed = self._fails(side, pairs, tried, each)
            low, high = np.where(failed, tried, low), np.where(failed, high, tried)
        self._note(pairs, high)
        return high

    def _note(self, pairs: IntArray, found: FloatArray) -> None:
        label, s, t = pairs.T
        self.factors[label, s, t] = np.maximum(found, LEAST)

    def _fails(
        self, side: int, pairs: IntArray, tried: FloatArray, each: float = EACH
    ) -> NDArray[np.bool_]:
        """For which pairs it is not shown that the factors that are tried hold."""
        if not len(pairs):
            return np.zeros(0, bool)
        left = self.room - self.worked
        walk = Walk(self.tables, self.rays, None, 1, left, each)
        failed = walk.fails(self._questions(side, pairs, tried))
        self.worked += walk.worked
        found = np.zeros(len(pairs), bool)
        found[list(failed)] = True
        return found

    def _questions(self, side: int, pairs: IntArray, tried: FloatArray) -> Items:
        """Whether s is worth more than the factor times t, for each pair."""
        contexts, count = len(self.tables.start), len(pairs)
        label, s, t = pairs.T
        rows = np.arange(count)
        table = np.zeros((count, contexts * contexts))
        # Of infinite factors nothing is asked.
        table[rows, s * contexts + t] = np.isfinite(tried)
        table[rows, t * contexts + s] = -np.exp(np.minimum(tried, FIRST))
        both = np.full((count, 2), ENDED)
        both[:, 1 - side] = label
        shape = (1, contexts**2) if side == 0 else (contexts**2, 1)
        return Items(
            table.reshape(count, *shape), both, np.zeros((count, 2), np.int64), rows, rows,
            [None] * count, 0,
        )  # fmt: skip
