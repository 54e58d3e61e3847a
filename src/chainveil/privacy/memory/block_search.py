"""Losses of many kernels on one point in several, quickly and to a search's accuracy.

Nothing here is certified; what a search finds goes through ``loss`` afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.memory import block_kernel
from chainveil.privacy.memory.block_candidates import Candidates
from chainveil.privacy.memory.blocks import BlockSide
from chainveil.privacy.memory.layout import IntArray, Layout
from chainveil.privacy.memory.search import ACCURACY, NOTHING, Laws, Losses

# How close the best of two candidates for a silent target is searched for, as a ratio.
CLOSE = 1e-9
# Silent targets that are told less than this share of what a reporting one is do not matter.
NEARLY = 0.95


@dataclass(frozen=True)
class BlockLosses:
    """Loss of one kind of noise on one point in ``every``, over every length.

    ``losses`` are those of the same noise, and of earlier releases, on every point.
    """

    losses: Losses
    every: int
    first_place: int

    def parts(self, laws: Laws) -> FloatArray:
        """Log ratios by label or step, direction and how the sides begin, in a row."""
        return self._parts(laws, None)[0]

    def near(self, laws: Laws) -> Callable[[Laws], FloatArray]:
        """The parts for laws close to these: silent targets are told by the same candidates.

        Which ones tell most takes long to find out, and does not matter to a derivative.
        """
        if self._by_point:
            return self.parts
        worst = self._parts(laws, None)[1]
        return lambda close: self._parts(close, worst)[0]

    def _parts(self, laws: Laws, worst: IntArray | None) -> tuple[FloatArray, IntArray | None]:
        """The parts and the worst pairs for silent targets, looked for unless they are given."""
        labels = self.losses.with_laws(laws)
        left, right = (self._candidates(labels, side) for side in (True, False))
        found = [_joined(*(side.tells(*_at_report(labels)) for side in (left, right)))]
        if self._by_point:
            found.append(self._parted(labels, left, right))
        elif worst is None:
            told, worst = self._met(labels, left, right, float(np.exp(found[0].max())))
            found.append(told)
        else:
            found.append(self._met_at(labels, left, right, float(np.exp(found[0].max())), worst))
        return np.concatenate([part.ravel() for part in found]), worst

    def _candidates(self, labels: Layout, left: bool) -> Candidates:
        corner, start = self.losses.corners[0], self.losses.start
        side = BlockSide(labels, corner, start, self.every, self.first_place, left)
        families = side.followed(None, ACCURACY)
        return Candidates(families, families.everywhere(self.losses.kinds), False)

    def _parted(self, labels: Layout, left: Candidates, right: Candidates) -> FloatArray:
        """Silent targets at which the sides part, (steps, 2, 3, 3)."""
        before, after = self._moves
        everyone = np.arange(labels.labels)
        past = left.tells(everyone, np.ones((labels.labels, 2)), before)
        future = right.tells(labels.target, labels.factor[:, 0], after)
        return np.asarray(_joined(past[:, labels.source], future).max(axis=0))

    def _met(
        self, labels: Layout, left: Candidates, right: Candidates, reported: float
    ) -> tuple[FloatArray, IntArray]:
        """Silent targets at which they meet, (steps, 2), and the worst of them (steps, 2, 5).

        Looked for where they are told nearly as much as a target that reports, or more. The
        target, then family and depth of either candidate; -1 where there is none.
        """
        before, after = self._moves
        trees = [[tree for *_, tree in side.trees] for side in (left, right)]
        found = np.full((len(labels.source), 2), max(NEARLY * reported, NOTHING))
        leaves = np.full((len(labels.source), 2, 3), -1)
        block_kernel.best_pairs(
            tuple(trees[0]), tuple(trees[1]), labels.source, labels.target, labels.factor,
            before, after, CLOSE, found, leaves,
        )  # fmt: skip
        worst = np.full((len(labels.source), 2, 5), -1)
        for step, direction in zip(*np.nonzero(leaves[:, :, 0] >= 0), strict=True):
            target, one, other = leaves[step, direction]
            ends = (
                left.trees[labels.source[step]][1][one],
                right.trees[labels.target[step]][1][other],
            )
            worst[step, direction] = target, *ends[0], *ends[1]
        return np.asarray(np.log(found)), worst

    def _met_at(
        self, labels: Layout, left: Candidates, right: Candidates, reported: float, worst: IntArray
    ) -> FloatArray:
        """The same for given pairs."""
        before, after = self._moves
        found = np.full(worst.shape[:2], max(NEARLY * reported, NOTHING))
        rows = (
            left.rows(labels.source[:, None], worst[:, :, 1], worst[:, :, 2]),
            right.rows(labels.target[:, None], worst[:, :, 3], worst[:, :, 4]),
        )
        targets = np.ascontiguousarray(worst[:, :, 0])
        block_kernel.pairs_at(*rows, labels.factor, before, after, targets, found)
        return np.asarray(np.log(found))

    @cached_property
    def _by_point(self) -> bool:
        """Whether reports of this kind look at their own point and the last report alone."""
        factor = self.losses.template.factor
        return bool(np.all(factor[:, 0] == factor[:, 1]))

    @cached_property
    def _moves(self) -> tuple[FloatArray, FloatArray]:
        """From the value of a silent target to the report before it and the next, by offset."""
        side = BlockSide(
            self.losses.template, self.losses.corners[0], self.losses.start, self.every,
            self.first_place, True,
        )  # fmt: skip
        inside = range(1, self.every)
        before = np.array([side.powers[offset].T for offset in inside])
        return before, np.array([side.powers[self.every - offset] for offset in inside])


def _at_report(labels: Layout) -> tuple[IntArray, FloatArray, FloatArray]:
    """A target that reports, as ``told_to_targets`` wants it."""
    count = labels.labels
    return np.arange(count, dtype=np.int64), np.ones((count, 2)), np.eye(2)[None]


def _joined(left: FloatArray, right: FloatArray) -> FloatArray:
    """Sums of logs by how either side begins, (..., 3, 3)."""
    return left[..., :, None] + right[..., None, :]
