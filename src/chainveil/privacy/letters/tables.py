"""Tables that the search of one side reads: priors, phases and points that words take up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters import words
from chainveil.privacy.letters.arrays import Tables
from chainveil.privacy.letters.priors import NEVER, Allowed, Priors
from chainveil.privacy.letters.sides import IntArray, Spelling

UNIT = words.UNIT


@dataclass(frozen=True)
class TableMaker:
    """Makes the tables of a side for a pair (a, b) and a residue of the target's index.

    ``nearest``: words that end before this depth are known to be worth too little to matter.
    """

    spelling: Spelling
    priors: Priors
    pair: tuple[int, int]
    residue: int
    allowed: Allowed
    nearest: int

    def make(self, depths: int) -> Tables:
        """All of them, for so many depths."""
        spelling, (a, b) = self.spelling, self.pair
        rows, starts = self.priors.upto(depths)
        k = spelling.matrix.shape[0]
        slack = UNIT * 2 * (np.arange(depths) + 4) * (k + 6)
        with np.errstate(divide="ignore", invalid="ignore"):
            known = np.log(rows[:, b]) - np.log(rows[:, a])
            end = np.log(starts[:, b]) - np.log(starts[:, a])
        known = np.where((rows[:, a] > 0) & (rows[:, b] > 0), known + slack[:, None], -np.inf)
        if spelling.is_left:
            end = np.where((starts[:, a] > 0) & (starts[:, b] > 0), end + slack, -np.inf)
        else:
            end = np.zeros(depths)
        behind = self._behind(rows, end) + slack
        near = min(self.nearest, depths - 1)
        behind[:near] = behind[near]
        index = np.arange(depths)
        extra = 0 if spelling.is_left else 1
        if self.allowed.values is not None:
            others = np.setdiff1d(np.arange(k), self.allowed.values)
            known[:, others] = -np.inf
        if not self.allowed.known:
            known[:] = -np.inf
        elif self.allowed.known_at is not None:
            known[index + extra != self.allowed.known_at] = -np.inf
        if not self.allowed.end:
            end[:] = -np.inf
        elif self.allowed.end_at is not None:
            end[index != self.allowed.end_at] = -np.inf
        residue = self.residue
        phase = (residue - index if spelling.is_left else residue + 1 + index) % spelling.period
        used = self._used(phase, extra)
        last = self.allowed.last_depth(extra)
        if last is not None:
            behind[index >= last] = -np.inf
        if self.allowed.limit is not None:
            least = np.minimum.accumulate(used.min(axis=(1, 2))[::-1])[::-1]
            behind[least > self.allowed.limit] = -np.inf
        count, weight, following, end_count, ends = spelling.arrays
        prior = np.column_stack([known, end, behind])
        tables = Tables(
            spelling.matrix, weight, following, np.stack([count, end_count]), ends, phase, prior,
            np.concatenate([used, np.zeros_like(used[:, :, :2])], axis=2),
            np.zeros((depths, spelling.labels, k)),
            NEVER if self.allowed.limit is None else self.allowed.limit,
        )  # fmt: skip
        words.prepare(tables, near, np.zeros((2, k)))
        if self.priors.shares is not None:
            np.maximum(tables.mix, self.priors.shares.least[phase], out=tables.mix)
        return tables

    def _used(self, phase: IntArray, extra: int) -> IntArray:
        """Points that a word takes up at least, by depth, label and end: (depths, labels, k + 1).

        On the left this is the least index of the target: a known value must be possible where
        it stands, and what remembers must have made a report by then.
        """
        spelling, k = self.spelling, len(self.spelling.matrix)
        depths = len(phase)
        used = np.empty((depths, spelling.labels, k + 1), np.int64)
        used[:] = np.arange(depths)[:, None, None]
        if not spelling.is_left:
            used[:, :, :k] += extra
            return used
        first = spelling.first if spelling.remembers else 0
        earliest = self.priors.earliest(spelling.period, first)
        used[:, :, :k] += earliest[phase][:, None, :]
        if spelling.none >= 0:
            before = self.priors.earliest(spelling.period, 0)
            used[:, spelling.none, :k] = np.arange(depths)[:, None] + before[phase]
        return used

    def _behind(self, rows: FloatArray, end: FloatArray) -> FloatArray:
        """Largest log prior of b over a from a depth on, over all that may lie behind it.

        A prior further out is a mixture of the columns at this depth, so it stays below the
        largest quotient of theirs.
        """
        a, b = self.pair
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = np.where(rows[:, b] > 0, rows[:, b] / rows[:, a], 0.0).max(axis=1)
            known = np.log(quotient)
        together = np.any((rows[:, a] > 0) & (rows[:, b] > 0), axis=1)
        # Values that no column allows together never meet again: they lie in different classes
        # of a periodic chain. (At depth 0 on the left every column is one value alone.)
        apart = ~together & (np.arange(len(rows)) >= 2 * rows.shape[1] ** 2)
        known = np.where(apart, -np.inf, known)
        if not self.allowed.known:
            known[:] = -np.inf
        if not self.allowed.end:
            return known
        if not self.spelling.is_left:
            return np.maximum(known, 0.0)
        if self.priors.numbers.is_stationary:
            return np.maximum(known, end)
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(known, np.log(quotient)))
