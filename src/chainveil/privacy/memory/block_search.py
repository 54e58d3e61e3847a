"""Losses of many kernels on one point in several, quickly and to a search's accuracy.

Nothing here is certified; what a search finds goes through ``loss`` afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.memory.block_candidates import Candidates
from chainveil.privacy.memory.blocks import BlockSide
from chainveil.privacy.memory.layout import IntArray, Layout
from chainveil.privacy.memory.search import ACCURACY, Laws, Losses


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
        labels = self.losses.with_laws(laws)
        left, right = (self._candidates(labels, side) for side in (True, False))
        reported = _joined(*(side.tells(*_at_report(labels)) for side in (left, right)))
        return np.concatenate([reported.ravel(), self._silent(labels, left, right).ravel()])

    def _candidates(self, labels: Layout, left: bool) -> Candidates:
        corner, start = self.losses.corners[0], self.losses.start
        side = BlockSide(labels, corner, start, self.every, self.first_place, left)
        families = side.followed(None, ACCURACY)
        return Candidates(families, families.everywhere(self.losses.kinds), False)

    def _silent(self, labels: Layout, left: Candidates, right: Candidates) -> FloatArray:
        """Silent targets, at which the sides part, (steps, 2, 3, 3)."""
        before, after = self._moves
        everyone = np.arange(labels.labels)
        past = left.tells(everyone, np.ones((labels.labels, 2)), before)
        future = right.tells(labels.target, labels.factor[:, 0], after)
        return np.asarray(_joined(past[:, labels.source], future).max(axis=0))

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
