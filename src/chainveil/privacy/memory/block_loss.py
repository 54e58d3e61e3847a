"""Exact loss of releases that report one point in several, all at the same points.

A window of points as the secret lies between two reports, or it contains some. At a single
silent point the sides part; of several silent points both sides meet in one quotient
(``block_kernel``); where a report stands in the window, the sides part there and the reports of
the window join them, as in ``window``. Targets before the first report or behind the last are told
no more than the one that reports: in logarithms the chain's steps bring odds and prior odds closer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.memory import block_kernel
from chainveil.privacy.memory.block_candidates import Candidates, Told
from chainveil.privacy.memory.block_places import Place, Places
from chainveil.privacy.memory.layout import IntArray
from chainveil.privacy.memory.sides import TOLERANCE
from chainveil.privacy.memory.window import IMPOSSIBLE, Worst, through, together, unwind

_ALL = np.ones((2, 2), bool)
# Values of both ends of a window of several points that are told apart.
PAIRS = tuple(permutations(product(range(2), repeat=2), 2))


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


# A way to go on from a window's report: log, how, and the values of the window's end.
Option = tuple[float, Flank, tuple[int, int] | None]


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
class Blocks(Places):
    """A problem seen from report to report."""

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
        if self.problem.event == 1:
            return self._silent_target(place, place.left, place.right, floor)
        return self._between_reports(place, place.left, place.right, floor)

    def _silent_target(
        self, place: Place, left: Candidates, right: Candidates, floor: float
    ) -> tuple[float, Case | None]:
        """The worst silent target, at which the sides part; of all offsets from this one on.

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
        """A worst case at a silent target."""
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

    def _with_reports(self, place: Place, count: int, behind: int) -> tuple[float, Case | None]:
        """The worst case of a window that contains reports."""
        total, trail = self._totals(place, count, behind)
        best = unwind(total, trail, self.layout)
        if best.log == IMPOSSIBLE:
            return IMPOSSIBLE, None
        return best.log, self._case(place, behind, best)

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

    def _left_options(self, place: Place, label: int, a: int, b: int) -> Iterator[Option]:
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
    ) -> Iterator[Option]:
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

    def _case(self, place: Place, behind: int, found: Worst) -> Case:
        """The values of a window's points and both flanks of its worst case."""
        ahead, size = -place.offset % self.every, self.problem.event
        last = found.label if not found.steps else int(self.layout.target[found.steps[-1]])
        ends = (found.value[0], found.other[0]), (found.value[-1], found.other[-1])
        left = max(self._left_options(place, found.label, *ends[0]), key=_log_of)
        right = max(self._right_options(place, behind, last, *ends[1]), key=_log_of)
        both: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for kept, values in zip(both, (found.value, found.other), strict=True):
            kept.update((ahead + number * self.every, bit) for number, bit in enumerate(values))
        for (_, _, points), at in ((left, 0), (right, size - 1)):
            if points is not None:
                both[0][at], both[1][at] = points
        return Case(found.log, place, both[0], both[1], found.steps, left[1], right[1])

    def _between_reports(
        self, place: Place, ahead: Candidates, behind: Candidates, floor: float
    ) -> tuple[float, Case | None]:
        """The worst case of a window of several points with no report in it."""
        size = self.problem.event
        before = self.left.powers[place.offset]
        after = self.left.powers[self.every - place.offset - size + 1]
        left, right = ahead.trees, behind.trees
        best, bound, case = math.exp(max(floor, 0.0)), 0.0, None
        for step, (a, b) in product(range(len(self.layout.source)), PAIRS):
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
                rows = left[ends[0]], right[ends[1]]
                where = [one[1][at] for one, at in zip(rows, place_of[:2], strict=True)]
                corner = _corner(weights, rows[0][0][place_of[0]], rows[1][0][place_of[1]])
                flanks = [
                    Flank(label, step, int(family), int(depth), end)
                    for label, (family, depth), end in zip(ends, where, corner, strict=True)
                ]
                values = [{0: pair[0], size - 1: pair[1]} for pair in (a, b)]
                case = Case(math.log(best), place, values[0], values[1], (), flanks[0], flanks[1])
        return math.log(bound) if bound > 0 else IMPOSSIBLE, case


def _corner(weights: FloatArray, left: FloatArray, right: FloatArray) -> tuple[int, int]:
    """The ends of two candidates' intervals at which a quotient is greatest."""

    def quotient(ends: tuple[int, int]) -> float:
        odds = right[ends[1]]
        far = np.array([0.0, 1.0]) if math.isinf(odds) else np.array([1.0, odds])
        top, bottom = weights @ far
        found = float(block_kernel.over(top, bottom, left[ends[0]]))
        return -1.0 if math.isnan(found) else found

    return max(((a, b) for a in range(2) for b in range(2)), key=quotient)


def _log_of(option: Option) -> float:
    return option[0]


def _points(a: int, b: int) -> tuple[FloatArray, FloatArray]:
    """Weights of a secret that is the point of the report itself."""
    unit = np.eye(2)[[a, b]]
    return unit, unit


def _log(told: Told) -> float:
    return math.log(told.ratio) if told.ratio > 0 else IMPOSSIBLE


def _quotient(top: float, bottom: float) -> float:
    return math.inf if bottom == 0 else math.log(top / bottom)
