"""Exact loss of releases that report one point in several, all at the same points.

A window of points as the secret lies between two reports, or it contains some. Between two
reports both sides meet in one quotient (``block_kernel``); where a report stands in the window,
the sides part there and the reports of the window join them, as in ``window``. Targets before the
first report or behind the last are told no more than the one that reports: in logarithms the
chain's steps bring odds and prior odds closer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.memory import block_kernel
from chainveil.privacy.memory.blocks import AT_END, REPORTED, SILENT, BlockSide, Families
from chainveil.privacy.memory.layout import BoolArray, IntArray, Layout, layout
from chainveil.privacy.memory.sides import END, KNOWN_0, KNOWN_1, TOLERANCE
from chainveil.privacy.memory.window import IMPOSSIBLE, logarithms, through, together, unwind
from chainveil.privacy.problem import Problem

KINDS = {"any": (END, KNOWN_0, KNOWN_1), "ignorant": (END,), "informed": (END, KNOWN_0, KNOWN_1)}
# Series up to so many points are looked at position by position; for longer ones the bound of
# all lengths is given.
LONGEST_TABLE = 300
_ALL = np.ones((2, 2), bool)


def solves(problem: Problem) -> bool:
    """Releases of one chain that all report the same points, one in several."""
    rhythms = {noise.every for noise in problem.releases}
    if len(rhythms) != 1 or rhythms == {1} or not problem.model.single:
        return False
    q, r = (float(problem.chain.transition[a, 1 - a]) for a in range(2))
    sound = 0 < q < 1 and 0 < r < 1 and bool(np.all(problem.chain.start > 0))
    return sound and not isinstance(problem.adversary, Adversary) and not _labels(problem).early


def _labels(problem: Problem) -> Layout:
    return layout([noise.thinned(1) for noise in problem.releases], problem.gaps)


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
        ends = [block_kernel.over(*weights, odds) for odds in both]
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
        depth, family = np.nonzero(self.allowed & (found.high[:, :, label] >= 0))
        rows = np.column_stack([
            found.low[depth, family, label], found.high[depth, family, label],
            found.prior[depth, family],
        ])  # fmt: skip
        if self.tail and found.tail[label, 1] >= 0:
            rows = np.vstack([rows, found.tail[label]])
        return rows, np.column_stack([family, depth])


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
class Flank:
    """How one side of a worst case goes on from the window.

    ``label`` is that at the report of the candidate. ``step`` leads from it to the window, where
    a part of a block lies between; ``family``, ``depth`` and ``end`` are those of the candidate.
    No family: the series ends there, or ``matters`` is False.
    """

    label: int
    step: int | None = None
    family: int | None = None
    depth: int = 0
    end: int = 0
    matters: bool = True


@dataclass(frozen=True)
class Case:
    """The worst case: a place, the two values of the window, the steps between its reports.

    ``value`` and ``other`` hold the values of those points of the window that matter, by their
    places in it.
    """

    log: float
    place: Place
    value: dict[int, int]
    other: dict[int, int]
    steps: tuple[int, ...]
    left: Flank
    right: Flank


@dataclass(frozen=True)
class Blocks:
    """A problem seen from report to report."""

    problem: Problem
    layout: Layout
    left: BlockSide
    right: BlockSide

    @classmethod
    def of(cls, problem: Problem) -> Blocks:
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

    def worst(self) -> tuple[float, Case | None]:
        """A bound on the log ratio of every window, and the worst case found."""
        bound: float = IMPOSSIBLE
        found = None
        for place in self.places():
            above, case = self._worst_at(place, bound)
            bound = max(bound, above)
            if case is not None and (found is None or case.log > found.log):
                found = case
        return bound, found

    def parts(self) -> FloatArray:
        """The loss in parts, for searches: by label and values at the end of the secret."""
        inside, between = [np.full((self.layout.labels, 2, 2), IMPOSSIBLE)], [IMPOSSIBLE]
        for place in self.places():
            reports = self.reports_within(place.offset)
            if reports is not None:
                inside.append(self._totals(place, *reports)[0])
            else:
                # What is told less than elsewhere matters to no search.
                floor = max(float(np.max(inside)), max(between))
                between.append(self._worst_at(place, floor)[0])
        return np.append(np.max(inside, axis=0).ravel(), max(between))

    def _worst_at(self, place: Place, floor: float) -> tuple[float, Case | None]:
        """The same of one place; less than ``floor`` is not looked for."""
        inside = self.reports_within(place.offset)
        if inside is not None:
            return self._with_reports(place, *inside)
        if place.left is None or place.right is None:
            return IMPOSSIBLE, None
        if self.by_point and self.problem.event == 1:
            return self._by_point(place, place.left, place.right, floor)
        return self._between_reports(place, place.left, place.right, floor)

    @property
    def by_point(self) -> bool:
        """Whether reports look at their own point and the last report alone."""
        return bool(np.all(self.layout.factor[:, 0] == self.layout.factor[:, 1]))

    def _by_point(
        self, place: Place, left: Candidates, right: Candidates, floor: float
    ) -> tuple[float, Case | None]:
        """The worst silent target where the sides part at it; of all offsets from this one on.

        What the past tells falls from point to point, for the chain brings odds and prior odds
        closer; what the future tells rises. So the ends of a range bound all targets in it.
        """
        powers = self.left.powers
        told: dict[int, tuple[FloatArray, FloatArray]] = {}

        def tells(offset: int) -> tuple[FloatArray, FloatArray]:
            if offset not in told:
                labels = np.arange(self.layout.labels)
                past = left.tells(labels, np.ones((len(labels), 2)), powers[offset].T[None])
                factor, after = self.layout.factor[:, 0], powers[self.every - offset][None]
                future = right.tells(self.layout.target, factor, after)
                told[offset] = past.max(axis=3)[0][self.layout.source], future.max(axis=3)[0]
            return told[offset]

        bound: float = IMPOSSIBLE
        best, at = floor, None
        waiting = self._ranges(place)
        while waiting:
            low, high = waiting.pop()
            total = together(tells(low)[0], tells(high)[1])
            most = float(total.max())
            if most > best + TOLERANCE and low < high:
                middle = (low + high) // 2
                waiting += [(low, middle), (middle + 1, high)]
                continue
            bound = max(bound, most)
            if most > best + TOLERANCE:
                step, direction = (int(i) for i in np.unravel_index(total.argmax(), total.shape))
                best, at = most, (low, step, direction)
        return bound, None if at is None else self._parted(best, place, left, right, *at)

    def _ranges(self, place: Place) -> list[tuple[int, int]]:
        """Ranges of offsets to begin with; single ones where the chain turns over and over."""
        offsets = range(place.offset, self.every if place.report is None else place.offset + 1)
        if sum(self.left.corner) > 1:
            return [(offset, offset) for offset in offsets]
        return [(offsets[0], offsets[-1])]

    def _parted(
        self, log: float, place: Place, left: Candidates, right: Candidates, offset: int,
        step: int, direction: int,
    ) -> Case:  # fmt: skip
        """A worst case at a silent target where the sides part."""
        values = [direction, 1 - direction]
        source, target = (int(end[step]) for end in (self.layout.source, self.layout.target))
        past = self.left.powers[offset].T[values]
        after = self.left.powers[self.every - offset][values]
        told = left.best(source, past, past)
        future = right.best(target, after * self.layout.factor[step, 0], after)
        return Case(
            log, replace(place, offset=offset), {0: direction}, {0: 1 - direction}, (),
            Flank(source, step, *told.candidate), Flank(target, step, *future.candidate),
        )  # fmt: skip

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
        if sides[0] is None or sides[1] is None:
            raise NotSupported(
                "the loss did not settle within the points that can be followed: the chain "
                "forgets too slowly for this noise. Let fewer points report."
            )
        left, right = sides[0], sides[1]
        kinds = KINDS[str(self.problem.adversary)]
        # Where the sides part at a silent target, one place stands for all of them.
        parted = self.by_point and self.problem.event == 1
        whole = [Candidates(side, side.everywhere(kinds), not informed) for side in (left, right)]
        for offset in range(2 if parted else self.every):
            ends = whole
            if informed:
                ends = [
                    Candidates(side, _near(side, inner), False)
                    for side, inner in self._ends(offset, left, right)
                ]
            begins = 0 < self.every - offset <= self.left.first_place
            yield Place(offset, *ends, begins, True)

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
        assert left is not None and right is not None
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

    def _with_reports(self, place: Place, count: int, behind: int) -> tuple[float, Case | None]:
        """The worst case of a window that contains reports."""
        total, trail = self._totals(place, count, behind)
        best = unwind(total, trail, self.layout)
        if best.log == IMPOSSIBLE:
            return IMPOSSIBLE, None
        ends = self._flanks(place, behind, best.label, best.value, best.other, best.steps)
        return best.log, Case(best.log, place, *ends[0], best.steps, *ends[1])

    def _totals(self, place: Place, count: int, behind: int) -> tuple[FloatArray, list[IntArray]]:
        """Log ratios by label and two values at a window's last report, and the way to each."""
        at, trail = self._entering(place), []
        steps = np.arange(len(self.layout.source))
        for _ in range(count - 1):
            at, chosen = through(self.layout, _ALL, at, steps)
            trail.append(chosen)
        total = together(at, self._leaving(place, behind))
        if self.problem.event == 1:
            total = np.where(np.eye(2, dtype=bool)[None], IMPOSSIBLE, total)
        return total, trail

    def _entering(self, place: Place) -> FloatArray:
        """Logs of what is told up to the window's first report, (labels, 2, 2) by its values."""
        table = np.full((self.layout.labels, 2, 2), IMPOSSIBLE)
        for label, a, b in np.ndindex(table.shape):
            told = self._left_options(place, label, a, b)
            table[label, a, b] = max((log for log, *_ in told), default=IMPOSSIBLE)
        return table

    def _left_options(
        self, place: Place, label: int, a: int, b: int
    ) -> Iterator[tuple[float, Flank, tuple[int, int] | None]]:
        """Ways to come to a report with two values: log, how, and values of the first point."""
        if place.offset == 0:
            if a == b:
                if self.layout.usual[0][label]:
                    yield 0.0, Flank(label, matters=False), None
            elif place.left is not None:
                told = place.left.best(label, *_points(a, b))
                yield _log(told), Flank(label, None, *told.candidate), None
            return
        if place.begins or place.left is None:
            for first, factor, _ in self.layout.first:
                if first == label and factor[a] > 0:
                    yield _quotient(factor[a], factor[b]), Flank(label), (0, 0)
        if place.left is not None:
            move = self.left.powers[place.offset]
            for step in np.flatnonzero(self.layout.target == label):
                factor, source = self.layout.factor[step], int(self.layout.source[step])
                for c, d in product(range(2), repeat=2):
                    plain = np.array([move[:, c], move[:, d]])
                    weights = plain * np.array([factor[:, a], factor[:, b]])
                    told = place.left.best(source, weights, plain)
                    yield _log(told), Flank(source, int(step), *told.candidate), (c, d)

    def _leaving(self, place: Place, behind: int) -> FloatArray:
        """The same from the window's last report on."""
        table = np.full((self.layout.labels, 2, 2), IMPOSSIBLE)
        for label, a, b in np.ndindex(table.shape):
            told = self._right_options(place, behind, label, a, b)
            table[label, a, b] = max((log for log, *_ in told), default=IMPOSSIBLE)
        return table

    def _right_options(
        self, place: Place, behind: int, label: int, a: int, b: int
    ) -> Iterator[tuple[float, Flank, tuple[int, int] | None]]:
        if behind == 0:
            if a == b:
                yield 0.0, Flank(label, matters=False), None
            elif place.right is not None:
                told = place.right.best(label, *_points(a, b))
                yield _log(told), Flank(label, None, *told.candidate), None
            return
        if place.ends or place.right is None:
            yield 0.0, Flank(label), (0, 0)
        if place.right is not None:
            move = self.left.powers[self.every - behind]
            for step in np.flatnonzero(self.layout.source == label):
                factor, target = self.layout.factor[step], int(self.layout.target[step])
                for c, d in product(range(2), repeat=2):
                    plain = np.array([move[c], move[d]])
                    weights = plain * np.array([factor[a], factor[b]])
                    told = place.right.best(target, weights, plain)
                    yield _log(told), Flank(target, int(step), *told.candidate), (c, d)

    def _flanks(self, place, behind, label, value, other, steps):  # type: ignore[no-untyped-def]
        """The values of a window's points and both flanks of its worst case."""
        ahead, size = -place.offset % self.every, self.problem.event
        last = label if not steps else int(self.layout.target[steps[-1]])
        left = max(self._left_options(place, label, value[0], other[0]), key=_first)
        right = max(self._right_options(place, behind, last, value[-1], other[-1]), key=_first)
        both = ({}, {})
        for number, pair in enumerate(zip(value, other, strict=True)):
            for kept, bit in zip(both, pair, strict=True):
                kept[ahead + number * self.every] = bit
        for (_, _, ends), point in ((left, 0), (right, size - 1)):
            for kept, bit in zip(both, ends or (), strict=False):
                kept[point] = bit
        return both, (left[1], right[1])

    def _between_reports(
        self, place: Place, ahead: Candidates, behind: Candidates, floor: float
    ) -> tuple[float, Case | None]:
        """The worst case of a window with no report in it."""
        size = self.problem.event
        before = self.left.powers[place.offset]
        after = self.left.powers[self.every - place.offset - size + 1]
        left, right = ahead.trees, behind.trees
        best, bound, case = math.exp(max(floor, 0.0)), 0.0, None
        for step, (a, b) in product(range(len(self.layout.source)), _pairs(size)):
            ends = int(self.layout.source[step]), int(self.layout.target[step])
            place_of = np.zeros(4, np.int64)
            place_of[2], place_of[3] = len(left[ends[0]][1]), len(right[ends[1]][1])
            if not (place_of[2] and place_of[3]):
                continue
            past, future = before.T[[a[0], b[0]]], after[[a[1], b[1]]]
            weights = past[:, :, None] * future[:, None, :] * self.layout.factor[step]
            above, found = block_kernel.best_pair(
                left[ends[0]][2], right[ends[1]][2], ahead.tail, weights, past, future,
                best, TOLERANCE, place_of,
            )  # fmt: skip
            bound = max(bound, above)
            if found > best:
                best = found
                rows = [side[label] for label, side in zip(ends, (left, right), strict=True)]
                corner = _corner(weights, *(one[0][i] for one, i in zip(rows, place_of)))
                flanks = [
                    Flank(label, step, *(int(i) for i in one[1][i]), end)
                    for label, one, i, end in zip(ends, rows, place_of, corner)
                ]
                values = [{0: pair[0], size - 1: pair[1]} for pair in (a, b)]
                case = Case(math.log(best), place, *values, (), *flanks)
        return math.log(bound) if bound > 0 else IMPOSSIBLE, case


def _near(side: Families, inner: bool) -> BoolArray:
    """What an adversary has who knows all other points: ``inner``, next to a window's report."""
    hows = side.side.beginnings.how
    kept = (hows == SILENT) | (hows == AT_END) if inner else hows == REPORTED
    return np.asarray(kept & (np.arange(len(side.low))[:, None] == 0))


def _corner(weights: FloatArray, left: FloatArray, right: FloatArray) -> tuple[int, int]:
    """The ends of two candidates' intervals at which a quotient is greatest."""

    def quotient(ends: tuple[int, int]) -> float:
        far = np.array([1.0, right[ends[1]]]) if right[ends[1]] <= 1 else None
        far = np.array([1 / right[ends[1]], 1.0]) if far is None else far
        found = float(block_kernel.over(*(weights @ far), left[ends[0]]))
        return -1.0 if math.isnan(found) else found

    return max(product(range(2), repeat=2), key=quotient)


def _first(option: tuple[float, Flank, tuple[int, int] | None]) -> float:
    return option[0]


def _points(a: int, b: int) -> tuple[FloatArray, FloatArray]:
    """Weights of a secret that is the point of the report itself."""
    unit = np.eye(2)[[a, b]]
    return unit, unit


def _log(told: Told) -> float:
    return math.log(told.ratio) if told.ratio > 0 else IMPOSSIBLE


def _quotient(top: float, bottom: float) -> float:
    return math.inf if bottom == 0 else math.log(top / bottom)


def _pairs(size: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Values of the ends of a window that are told apart."""
    ends = [(0, 0), (1, 1)] if size == 1 else list(product(range(2), repeat=2))
    return [(a, b) for a in ends for b in ends if a != b]
