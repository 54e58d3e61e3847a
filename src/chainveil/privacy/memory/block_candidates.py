"""The candidates of one side at a report: which of them there are, and what they tell at most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.memory import block_kernel
from chainveil.privacy.memory.blocks import Families
from chainveil.privacy.memory.layout import BoolArray, IntArray
from chainveil.privacy.memory.window import logarithms


@dataclass(frozen=True)
class Told:
    """The most that a side tells, as a ratio, and the candidate: family, depth, end of interval."""

    ratio: float
    family: int
    depth: int
    end: int

    @property
    def candidate(self) -> tuple[int, int, int]:
        """Family, depth and end."""
        return self.family, self.depth, self.end


@dataclass(frozen=True)
class Candidates:
    """The candidates of one side at one report; ``tail``: those further out matter too."""

    families: Families
    allowed: BoolArray
    tail: bool

    def best(self, label: int, weights: FloatArray, plain: FloatArray) -> Told:
        """The most that one of them tells about a secret (``block_kernel.one_sided``)."""
        found, side = self.families, self.families.side
        best, where = np.full(3, -1.0), np.zeros((3, 2), np.int64)
        block_kernel.best_of_side(
            found.low, found.high, found.prior, self.allowed, side.beginnings.kind, label,
            weights, plain, best, where,
        )  # fmt: skip
        kind = int(np.argmax(best))
        bound = float(best[kind])
        if self.tail and found.tail[label, 1] >= 0:
            low, high = found.tail[label, :2]
            further = block_kernel.one_sided(low, high, found.tail[label, 2:], weights, plain)
            bound = float(np.fmax(bound, further))
        family, depth = (int(i) for i in where[kind])
        both = found.low[depth, family, label], found.high[depth, family, label]
        ends = [block_kernel.over(weights[0], weights[1], odds) for odds in both]
        return Told(max(bound, 0.0), family, depth, int(ends[1] > ends[0]))

    def tells(self, labels: IntArray, factor: FloatArray, moves: FloatArray) -> FloatArray:
        """Logs of what is told to targets, (targets, entries, 2, 3); see ``told_to_targets``."""
        found, shape = self.families, (len(moves), len(labels), 2, 3)
        best = np.full(shape, -1.0)
        numbers = labels, factor, np.ascontiguousarray(moves)
        block_kernel.told_to_targets(
            found.low, found.high, found.prior, self.allowed, found.side.beginnings.kind,
            *numbers, best,
        )  # fmt: skip
        if self.tail:
            low, high, *prior = (part[None, None] for part in found.tail.T)
            none, ends = np.zeros(1, np.int64), np.array(prior)[:, 0, 0, :1].T[None]
            every = np.ones((1, 1), bool)
            block_kernel.told_to_targets(low, high, ends, every, none, *numbers, best)
        return logarithms(np.maximum(best, 0.0))

    @cached_property
    def trees(self) -> list[tuple[FloatArray, IntArray, FloatArray]]:
        """For each label the candidates (count, 4), their families and depths, and a tree."""
        found = (self._leaves(label) for label in range(self.families.side.layout.labels))
        return [(rows, where, block_kernel.tree_of(rows)) for rows, where in found]

    def _leaves(self, label: int) -> tuple[FloatArray, IntArray]:
        found = self.families
        # Depths of one family beside each other: they are alike, and the hulls of a tree narrow.
        family, depth = np.nonzero((self.allowed & (found.high[:, :, label] >= 0)).T)
        rows = np.column_stack([
            found.low[depth, family, label], found.high[depth, family, label],
            found.prior[depth, family],
        ])  # fmt: skip
        if self.tail and found.tail[label, 1] >= 0:
            rows = np.vstack([rows, found.tail[label]])
        return rows, np.column_stack([family, depth])
