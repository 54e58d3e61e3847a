"""Where a secret can stand among reports on one point in several, and what lies on its sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from chainveil.privacy.adversary import Adversary
from chainveil.privacy.memory.block_candidates import Candidates
from chainveil.privacy.memory.blocks import AT_END, REPORTED, SILENT, BlockSide, Families
from chainveil.privacy.memory.layout import BoolArray, Layout, layout
from chainveil.privacy.memory.sides import END, KNOWN_0, KNOWN_1, TOLERANCE
from chainveil.privacy.problem import Problem

KINDS = {"any": (END, KNOWN_0, KNOWN_1), "ignorant": (END,), "informed": (END, KNOWN_0, KNOWN_1)}
# Series up to so many points are looked at position by position; for longer ones the bound of
# all lengths is given.
LONGEST_TABLE = 300


def solves(problem: Problem) -> bool:
    """Releases of one chain that all report the same points, one in several.

    Reports look at their own point and the last report alone.
    """
    rhythms = {noise.every for noise in problem.releases}
    if len(rhythms) != 1 or rhythms == {1} or not problem.model.single:
        return False
    q, r = (float(problem.chain.transition[a, 1 - a]) for a in range(2))
    sound = 0 < q < 1 and 0 < r < 1 and bool(np.all(problem.chain.start > 0))
    if not sound or isinstance(problem.adversary, Adversary):
        return False
    labels = _labels(problem)
    return not labels.early and bool(np.all(labels.factor[:, 0] == labels.factor[:, 1]))


def _labels(problem: Problem) -> Layout:
    return layout([noise.thinned(1) for noise in problem.releases], problem.gaps)


@dataclass(frozen=True)
class Place:
    """Where a window can stand.

    ``offset`` counts the points from the last report to the window's first point, 0 where that
    one reports. ``left`` holds the candidates at that report, None where there is none; then or
    where ``begins``, the window's first report may be that of the series. ``right`` are those at
    the window's last report, where that is its last point, or else at the next report; ``ends``:
    there may be none. ``report`` is the number of the last report, where it matters.
    """

    offset: int
    left: Candidates | None
    right: Candidates | None
    begins: bool
    ends: bool
    report: int | None = None


@dataclass(frozen=True)
class Places:
    """A problem seen from report to report."""

    problem: Problem
    layout: Layout
    left: BlockSide
    right: BlockSide

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The sides of a problem that :func:`solves` knows."""
        chain, noise = problem.chain, problem.releases[0]
        corner = float(chain.transition[0, 1]), float(chain.transition[1, 0])
        start, labels = (float(chain.start[0]), float(chain.start[1])), _labels(problem)
        sides = (
            BlockSide(labels, corner, start, noise.every, noise.first_place, left)
            for left in (True, False)
        )
        return cls(problem, labels, *sides)

    @property
    def every(self) -> int:
        """How many points there are to a report."""
        return self.left.every

    def places(self) -> Iterator[Place]:
        """Where the window may stand; those that tell most first."""
        length = self.problem.length
        if length is None or length > LONGEST_TABLE:
            yield from self._of_every_length()
        else:
            yield from self._of_length(length)

    def _of_every_length(self) -> Iterator[Place]:
        informed = self.problem.adversary == "informed"
        depths = 1 if informed else None
        sides = [side.followed(depths, TOLERANCE) for side in (self.left, self.right)]
        left, right = sides
        kinds = KINDS[str(self.problem.adversary)]
        # The sides part at a silent target: one place stands for all of them.
        parted = self.problem.event == 1
        whole = [Candidates(side, side.everywhere(kinds), not informed) for side in (left, right)]
        for offset in range(2 if parted else self.every):
            ends = whole
            if informed:
                ends = [
                    Candidates(side, _near(side, inner), False)
                    for side, inner in self._ends(offset, left, right)
                ]
            begins = 0 < self.every - offset <= self.left.first_place
            yield Place(offset, ends[0], ends[1], begins, True)

    def _ends(
        self, offset: int, left: Families, right: Families
    ) -> Iterator[tuple[Families, bool]]:
        """Both sides, and whether the window ends with a report there."""
        inside = self.reports_within(offset)
        yield left, offset == 0
        yield right, inside is not None and inside[1] == 0

    def _of_length(self, length: int) -> Iterator[Place]:
        first, every = self.left.first_place, self.every
        reports = len(range(first, length, every))
        if not reports:
            return
        left, right = (side.followed(reports, TOLERANCE) for side in (self.left, self.right))
        kinds, beyond = KINDS[str(self.problem.adversary)], (length - 1 - first) % every
        for begin in range(length - self.problem.event + 1):
            report, offset = divmod(begin - first, every)
            inside = self.reports_within(offset)
            last = report + (0 if offset == 0 else 1)
            last += 0 if inside is None else inside[0] - 1 + (inside[1] > 0)
            if (inside is None and report < 0) or (inside is None and last >= reports):
                continue
            yield Place(
                offset, self._near_or_all(left, kinds, report, first, offset == 0),
                self._near_or_all(
                    right, kinds, reports - 1 - last, beyond,
                    inside is not None and inside[1] == 0,
                ),
                report < 0, last >= reports, report,
            )  # fmt: skip

    def _near_or_all(
        self, side: Families, kinds: tuple[int, ...], reports: int, beyond: int, inner: bool
    ) -> Candidates | None:
        if reports < 0:
            return None
        allowed = side.within(kinds, reports, beyond)
        if self.problem.adversary == "informed":
            allowed = allowed & _near(side, inner)
        return Candidates(side, allowed, False)

    def reports_within(self, offset: int) -> tuple[int, int] | None:
        """How many reports a window contains, and how many points behind the last; or None."""
        ahead = -offset % self.every
        left_over = self.problem.event - 1 - ahead
        if left_over < 0:
            return None
        return 1 + left_over // self.every, left_over % self.every


def _near(side: Families, inner: bool) -> BoolArray:
    """What an adversary has who knows all other points: ``inner``, next to a window's report."""
    hows = side.side.beginnings.how
    kept = (hows == SILENT) | (hows == AT_END) if inner else hows == REPORTED
    return np.asarray(kept & (np.arange(len(side.low))[:, None] == 0))
