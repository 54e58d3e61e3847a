"""Both sides of a target: how they may begin, and what they tell at most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.privacy.memory import kernel, pairs, runs
from chainveil.privacy.memory.layout import BoolArray, IntArray, Layout

# The ways a side begins, in the order in which families come: an end of the series, or a known
# point of value 0 or 1.
END, KNOWN_0, KNOWN_1 = range(3)
# Intervals that are stepped in all, and points of a table: some seconds, some hundred MB.
MOST_WORK = 400_000_000
# How close the bound on what was not walked must come, as a ratio.
TOLERANCE = 1e-12

# Forgetting from point to point below which points are taken in leaps, and steps that may be
# walked between leaps.
FORGETS = 0.01
# A chain that only ever changes can be certain of its state for ever; it is followed so far.
MOST_CERTAIN = 64
MOST_WALKED = 1_000_000

Corner = tuple[float, float]


@dataclass(frozen=True)
class Side:
    """One side of the target.

    Attributes
    ----------
    layout : Layout
    corners : tuple of (q, r)
        One chain; boxes of chains are scanned by ``box_kernel``.
    start : tuple of two floats
        The law of the first point of the series.
    left : bool
        Whether it is the side of the past.
    """

    layout: Layout
    corners: tuple[Corner, ...]
    start: tuple[float, float]
    left: bool

    @cached_property
    def _beginning(self) -> list[tuple[bool, bool]]:
        """Which states the first points can have, as long as one of them is impossible."""
        q, r = self.corners[0]
        found: list[tuple[bool, bool]] = []
        now = self.start[0] > 0, self.start[1] > 0
        while not all(now) and len(found) < MOST_CERTAIN:
            found.append(now)
            now = (now[0] and q < 1) or now[1], (now[1] and r < 1) or now[0]
        return found

    def can_be(self, time: int, value: int) -> bool:
        """Whether a point of the series can have a value."""
        return time >= len(self._beginning) or self._beginning[time][value]

    @property
    def early(self) -> int:
        """Number of first points at which not all is as it is later."""
        return max(len(self.layout.early), len(self._beginning))

    @property
    def stride(self) -> int:
        """The way the phases go while one walks towards the target."""
        return 1 if self.left else -1

    @cached_property
    def matrices(self) -> FloatArray:
        """Steps towards the target, shape (corners, steps, 4)."""
        plain = np.array([[[1 - q, q], [r, 1 - r]] for q, r in self.corners])
        product = plain[:, None] * self.layout.factor[None]
        turned = product if self.left else product.swapaxes(2, 3)
        return np.ascontiguousarray(turned.reshape(len(plain), -1, 4))

    @cached_property
    def plain(self) -> FloatArray:
        """The same without reports, shape (corners, 4)."""
        if self.left:
            return np.array([[1 - q, q, r, 1 - r] for q, r in self.corners])
        return np.array([[1 - q, r, q, 1 - r] for q, r in self.corners])

    @property
    def ways(self) -> tuple[IntArray, IntArray]:
        """Labels that steps lead from and to, on the way to the target."""
        layout = self.layout
        return (layout.source, layout.target) if self.left else (layout.target, layout.source)

    def known(self, value: int, labels: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Intervals and prior at a known point, where these labels may stand."""
        odds = np.inf if value else 0.0
        low = np.where(labels, odds, np.inf)
        return low, np.where(labels, odds, -1.0), np.array([odds, odds])

    def end(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Intervals and prior at an end of the series: of the first point, or of the last."""
        labels = self.layout.labels
        if not self.left:
            return np.ones(labels), np.ones(labels), np.ones(2)
        low, high = np.full(labels, np.inf), np.full(labels, -1.0)
        zero, one = self.start
        prior = one / zero if zero > 0 else np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            for label, factor, _ in self.layout.first:
                odds = prior * np.divide(factor[1], factor[0])
                if not np.isnan(odds):
                    low[label] = min(low[label], odds * kernel.DOWN)
                    high[label] = max(high[label], odds * kernel.UP)
        return low, high, np.array([prior * kernel.DOWN, prior * kernel.UP])

    def empty(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A family that does not occur."""
        labels = self.layout.labels
        return np.full(labels, np.inf), np.full(labels, -1.0), np.ones(2)

    def table(
        self, kind: int, time: int, depth: int, labels: BoolArray | None = None
    ) -> FloatArray:
        """What one family tells at each depth, shape (depth + 1, labels, 2), as ratios."""
        if kind == END:
            low, high, prior = self.end()
        else:
            allowed = self.layout.reach(time) if labels is None else labels
            low, high, prior = self.known(kind - KNOWN_0, allowed)
        if depth * len(self.layout.source) / self.layout.period > MOST_WORK:
            raise NotSupported(f"a series of more than {depth:,} points with this noise")
        out = np.empty((depth + 1, self.layout.labels, 2))
        kernel.walk(
            self.matrices, self.plain, *self.ways, self.layout.offsets,
            self.first_phase(time), self.stride, low, high, prior, out,
        )  # fmt: skip
        return out

    def trace(
        self, time: int, low: FloatArray, high: FloatArray, depth: int, label: int, end: int,
        most: int | None = None,
    ) -> tuple[list[tuple[int, int]], int] | None:  # fmt: skip
        """The steps by which a family comes to an end of a label, the target's first.

        Steps and how often each is taken in a row, then the end from which the way starts;
        None where there would be more than ``most`` runs of a slow chain.
        """
        if self.is_slow:
            limit: Any = np.int64(depth if most is None else most)
            path, start = runs.trace_runs(
                *self._pairs, *self.ways, low, high, depth, label, end, limit
            )
            if start < 0:
                return None
            return [(int(step), int(count)) for step, count in path], int(start)
        path, start = kernel.trace(
            self.matrices, *self.ways, self.layout.offsets, self.first_phase(time), self.stride,
            low, high, depth, label, end,
        )  # fmt: skip
        return [(int(step), 1) for step in path], int(start)

    def first_phase(self, time: int) -> int:
        """The phase of the first step away from a point."""
        return (time + 1 if self.left else time) % self.layout.period

    def scan(
        self, kinds: tuple[int, ...], tolerance: float = TOLERANCE, walked: int = MOST_WALKED
    ) -> Reach:
        """What the side tells at most, over every length of the series.

        ``walked`` limits the points between leaps; ``met`` says whether it did.
        """
        begins = self.begins(kinds)
        low, high, prior = (
            np.array(part) for part in zip(*(b.interval for b in begins), strict=True)
        )
        phases = np.array([self.first_phase(begin.time) for begin in begins])
        period, labels = self.layout.period, self.layout.labels
        best = np.zeros((period, labels, 2, 3))
        where = np.zeros((period, labels, 2, 3, 2), np.int64)
        tails = np.full((period, labels, 2), np.inf)
        if self.is_slow:
            depth = runs.scan_runs(
                *self._pairs, *self.ways, low, high, prior, self._far, walked, tolerance,
                best, where, tails,
            )  # fmt: skip
        else:
            work = len(begins) * max(1, len(self.layout.source) // period)
            depth = kernel.scan(
                self.matrices, self.plain, *self.ways, self.layout.offsets, self.stride,
                phases, low, high, prior, MOST_WORK // work, tolerance, best, where, tails,
            )  # fmt: skip
        times = np.array([begin.time for begin in begins])
        return Reach(best, where, tails, times, depth > 0)

    @property
    def is_slow(self) -> bool:
        """Whether many points shall be one leap: every point reported, and a chain that forgets
        little from one to the next.
        """
        releases = self.layout.reports.shape[1]
        if self.layout.period > 1 or releases > 1:
            return False
        q, r = self.corners[0]
        return min(q + r, 2 - q - r) < FORGETS

    @cached_property
    def _pairs(self) -> tuple[FloatArray, FloatArray]:
        """Steps and transitions as pairs of doubles, (corners, steps, 4, 2) and (corners, 4, 2)."""
        plain = np.array([_exact_transition(q, r, self.left) for q, r in self.corners])
        factor = self.layout.factor if self.left else self.layout.factor.swapaxes(1, 2)
        steps = np.empty((len(plain), len(factor), 4, 2))
        pairs.pairs_of(plain, np.ascontiguousarray(factor.reshape(-1, 4)), steps)
        return steps, plain

    @property
    def _far(self) -> FloatArray:
        """Least and most prior odds far from where a family began."""
        odds = [q / r if self.left else 1.0 for q, r in self.corners]
        return np.array([min(odds) * kernel.DOWN, max(odds) * kernel.UP])

    def begins(self, kinds: tuple[int, ...]) -> list[Begin]:
        """The families in threes, by the phase of their beginning, and ANY at the end."""
        layout, begins = self.layout, []
        early = self.early if self.left else 0
        later = range(early, early + layout.period)
        for time in (*range(early), *later):
            ends = END in kinds and (not self.left or time == 0)
            begins.append(Begin(time, self.end() if ends else self.empty()))
            # Behind the target every label that may stand at it can lead on.
            labels = layout.reach(time) if self.left else np.ones(layout.labels, bool)
            for value in range(2):
                known = KNOWN_0 + value in kinds and (not self.left or self.can_be(time, value))
                begins.append(Begin(time, self.known(value, labels) if known else self.empty()))
        anything = np.zeros(layout.labels), np.full(layout.labels, np.inf), np.ones(2)
        if self.left:
            usual = layout.usual[later.start % layout.period]
            anything = np.where(usual, 0.0, np.inf), np.where(usual, np.inf, -1.0), np.ones(2)
        begins.append(Begin(later.start, anything))
        return begins


@dataclass(frozen=True)
class Begin:
    """Where a family begins, and with which intervals."""

    time: int
    interval: tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Reach:
    """What one side tells at most, by phase of the target, label and direction.

    ``best`` has the shape (period, labels, 2, 3), the last axis being the kind of beginning;
    ``where`` says at which family and depth; ``tails`` of shape (period, labels, 2) bounds
    what lies further out; ``times`` are those of the families; ``met`` says whether the tails
    came within the tolerance.
    """

    best: FloatArray
    where: IntArray
    tails: FloatArray
    times: IntArray
    met: bool

    @property
    def upper(self) -> FloatArray:
        """No less than what any family tells, shape (period, labels, 2); 0 where none does."""
        top = self.best.max(axis=3)
        return np.asarray(np.maximum(top, np.where(top > 0, self.tails, 0.0)))


def _exact_transition(q: float, r: float, left: bool) -> FloatArray:
    """A chain's matrix, transposed for the right side, as pairs of doubles, shape (4, 2)."""
    stay = [(1 - number, ((1 - (1 - number)) - number)) for number in (q, r)]
    change = [(q, 0.0), (r, 0.0)] if left else [(r, 0.0), (q, 0.0)]
    return np.array([stay[0], change[0], change[1], stay[1]])
