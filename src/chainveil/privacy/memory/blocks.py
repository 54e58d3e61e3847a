"""Reports on one point in several, seen from report to report: how a side can begin.

The steps are those of the same releases on every point (``layout``), between blocks of silent
points. A known point between two reports cuts the series, and a side begins there: how far it is
from the report towards the target matters, and its value, and what lies further out does not. (An
attack is written out with the reported point on its far side known as well.)

    the end of the series
    a known point before the first report, or after the last one
    a known point that reports
    a known silent point
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.privacy.memory import kernel
from chainveil.privacy.memory.block_kernel import follow_families
from chainveil.privacy.memory.layout import BoolArray, IntArray, Layout
from chainveil.privacy.memory.sides import END, KNOWN_0, Corner

# How families begin: at an end, at a known point beyond the reports, at a known point that
# reports, at a known silent point.
AT_END, BEYOND, REPORTED, SILENT = range(4)
# Candidates that are kept: some hundred MB.
MOST_CANDIDATES = 8_000_000
# Families that are further apart than this, as a ratio, do not agree.
LOOSEST = 1e-4
# Depths that are followed at first; then so many more at a time.
FEW_DEPTHS, MORE = 32, 4
BITS = 160


@dataclass(frozen=True)
class Beginnings:
    """The ways in which a side begins, each array of shape (families,).

    ``how`` it begins, ``away`` how many points from its first report, ``value`` that is known
    there, and ``kind`` as the other sides count them.
    """

    how: IntArray
    away: IntArray
    value: IntArray
    kind: IntArray


@lru_cache(maxsize=256)
def _beginnings(every: int, beyond: int) -> Beginnings:
    """Those of a block of ``every`` points, with so many points beyond the reports."""
    rows = [(AT_END, 0, 0), (REPORTED, 0, 0), (REPORTED, 0, 1)]
    for value in range(2):
        rows += [(SILENT, away, value) for away in range(1, every)]
        rows += [(BEYOND, away, value) for away in range(1, beyond + 1)]
    how, away, known = np.array(rows, np.int64).T.copy()
    return Beginnings(how, away, known, np.where(how == AT_END, END, KNOWN_0 + known))


@lru_cache(maxsize=64)
def powers(q: float, r: float, most: int) -> FloatArray:
    """The powers 0 … ``most`` of a chain's matrix, each entry rounded once: (most + 1, 2, 2)."""
    from flint import arb, ctx

    before, ctx.prec = ctx.prec, BITS
    try:
        up, down = arb(q), arb(r)
        kept, now = 1 - up - down, arb(1)
        total, found = up + down, np.empty((most + 1, 2, 2))
        for power in range(most + 1):
            change, stay = (1 - now) / total, now
            found[power] = [
                [float((stay + down * change).mid()), float((up * change).mid())],
                [float((down * change).mid()), float((stay + up * change).mid())],
            ]
            now = now * kept
        found.setflags(write=False)
        return found
    finally:
        ctx.prec = before


@dataclass(frozen=True)
class BlockSide:
    """One side of the target, from report to report.

    Attributes
    ----------
    layout : Layout
        Labels and steps of the releases on every point.
    corner : (q, r)
    start : the law of the first point of the series
    every, first_place : int
        How many points there are to a report, and which is the first that reports.
    left : bool
        Whether it is the side of the past.
    """

    layout: Layout
    corner: Corner
    start: tuple[float, float]
    every: int
    first_place: int
    left: bool

    @cached_property
    def powers(self) -> FloatArray:
        """Powers of the chain's matrix, (every + 1, 2, 2)."""
        return powers(*self.corner, self.every)

    @property
    def beginnings(self) -> Beginnings:
        """All families: the end of the series, a reported point known to be 0 or 1, the others."""
        return _beginnings(self.every, self.first_place if self.left else self.every - 1)

    @property
    def ways(self) -> tuple[IntArray, IntArray]:
        """Labels that steps lead from and to, on the way to the target."""
        layout = self.layout
        return (layout.source, layout.target) if self.left else (layout.target, layout.source)

    @property
    def matrices(self) -> FloatArray:
        """Steps towards the target from report to report, shape (1, steps, 4)."""
        product = self.powers[self.every] * self.layout.factor
        turned = product if self.left else product.swapaxes(1, 2)
        return np.ascontiguousarray(turned.reshape(1, -1, 4))

    @property
    def plain(self) -> FloatArray:
        """The same without reports, shape (1, 4)."""
        move = self.powers[self.every]
        return np.ascontiguousarray((move if self.left else move.T).reshape(1, 4))

    @property
    def _forgets(self) -> float:
        """What the chain forgets from report to report, 0 to 1."""
        changes = min(sum(self.corner), 2 - sum(self.corner))
        # Not by way of 1 - changes, which is 1 for the slowest chains.
        return -math.expm1(self.every * math.log1p(-min(changes, 1 - 2.0**-53)))

    def followed(self, depths: int | None, tolerance: float) -> Families:
        """All families for so many depths, or until they agree; an error where they never do."""
        # Ends that are moved outwards at each report come no closer than this.
        tolerance = max(tolerance, min(LOOSEST, 4 * (kernel.UP - kernel.DOWN) / self._forgets))
        room = FEW_DEPTHS if depths is None else depths
        size = len(self.beginnings.how) * self.layout.labels
        while room * size <= MOST_CANDIDATES:
            low, high, prior = self.started(room)
            # Where depths are given they are all wanted, agreed or not.
            wanted = tolerance if depths is None else -1.0
            reached = follow_families(
                self.matrices, self.plain, *self.ways, wanted, low, high, prior
            )
            if depths is not None:
                return Families(self, low, high, prior, False)
            if reached > 0:
                end = reached + 1
                return Families(self, low[:end], high[:end], prior[:end], True)
            room *= MORE
        raise NotSupported(
            f"reports on one point in {self.every} of a chain that forgets {self._forgets:.1e} of "
            "its state from one report to the next: their loss would take too much memory. Let "
            "fewer points report, or all of them (every=1)."
        )

    def started(self, room: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Intervals and priors with depth 0 filled in."""
        begin, labels = self.beginnings, self.layout.labels
        shape = room, len(begin.how), labels
        low, high, prior = np.empty(shape), np.empty(shape), np.empty((*shape[:2], 2))
        told = np.empty((2, shape[1], labels))
        told[:, begin.how == SILENT] = self._told_past_known()[:, None]
        told[:, np.isin(begin.how, (AT_END, BEYOND))] = self._first_told()[:, None]
        nothing = np.where(self.layout.usual[0], [[1.0], [1.0]], [[np.inf], [-1.0]])
        told[:, begin.how == REPORTED] = nothing[:, None]
        odds = self._odds[begin.away, begin.value]
        odds = np.where(begin.how == AT_END, self._start_odds if self.left else 1.0, odds)
        prior[0] = np.column_stack([odds * kernel.DOWN, odds * kernel.UP])
        empty, odds = told[1] < 0, odds[:, None]
        # What is certain is so whatever a report tells.
        certain = (odds == 0) | np.isinf(odds)
        with np.errstate(invalid="ignore"):
            low[0] = np.where(certain, odds, told[0] * odds * kernel.DOWN)
            high[0] = np.where(certain, odds, told[1] * odds * kernel.UP)
        low[0][empty], high[0][empty] = np.inf, -1.0
        return low, high, prior

    @cached_property
    def _odds(self) -> FloatArray:
        """Odds of the report next to a known point, by how far it is away and its value."""
        with np.errstate(divide="ignore"):
            if self.left:
                return np.asarray(self.powers[:, :, 1] / self.powers[:, :, 0])
            return np.asarray(self.powers[:, 1, :] / self.powers[:, 0, :])

    @cached_property
    def _start_odds(self) -> float:
        """Odds of the first point that reports."""
        zero, one = self.start @ self.powers[self.first_place]
        return float(one / zero)

    def _first_told(self) -> FloatArray:
        """What the first report tells, or nothing behind the last: (2, labels), low and high."""
        if not self.left:
            return np.ones((2, self.layout.labels))
        rows = ((label, factor[1], factor[0]) for label, factor, _ in self.layout.first)
        return _hull(rows, self.layout.labels)

    def _told_past_known(self) -> FloatArray:
        """What the report next to a known silent point tells."""
        layout = self.layout
        possible = layout.usual[0][layout.source]
        factor = layout.factor if self.left else layout.factor.swapaxes(1, 2)
        rows = (
            (label, pair[1], pair[0])
            for label, matrix, can in zip(self.ways[1], factor, possible, strict=True)
            for pair in matrix
            if can
        )
        return _hull(rows, layout.labels)


def _hull(rows: object, labels: int) -> FloatArray:
    """Least and greatest quotient of each label; (inf, -1) where there is none."""
    found = np.array([[np.inf] * labels, [-1.0] * labels])
    for label, top, bottom in rows:  # type: ignore[attr-defined]
        if top > 0 or bottom > 0:
            ratio = top / bottom if bottom > 0 else np.inf
            found[0, label] = min(found[0, label], ratio)
            found[1, label] = max(found[1, label], ratio)
    return found


@dataclass(frozen=True)
class Families:
    """All candidates of one side: ``low``, ``high`` (depths, families, labels), ``prior``.

    ``agreed``: whether whatever began further out lies within the last depth.
    """

    side: BlockSide
    low: FloatArray
    high: FloatArray
    prior: FloatArray
    agreed: bool

    @property
    def tail(self) -> FloatArray:
        """Low, high and the ends of the prior of all that is not followed, (labels, 4)."""
        two = slice(1, 3)
        low, high = self.low[-1, two].min(axis=0), self.high[-1, two].max(axis=0)
        ends = self.prior[-1, two, 0].min(), self.prior[-1, two, 1].max()
        return np.column_stack([low, high, np.full(len(low), ends[0]), np.full(len(low), ends[1])])

    def everywhere(self, kinds: tuple[int, ...]) -> BoolArray:
        """The candidates of the kinds asked for, over every length: (depths, families)."""
        begin = self.side.beginnings
        # Known points behind the last report tell nothing that silent ones do not tell too.
        usable = np.isin(begin.kind, kinds) & (self.side.left | (begin.how != BEYOND))
        return np.broadcast_to(usable, self.low.shape[:2])

    def within(self, kinds: tuple[int, ...], reports: int, beyond: int) -> BoolArray:
        """Those with ``reports`` reports further out, and then so many points beyond."""
        begin, depth = self.side.beginnings, np.arange(len(self.low))[:, None]
        ends = (begin.how == AT_END) | ((begin.how == BEYOND) & (begin.away <= beyond))
        inside = (begin.how == REPORTED) & (depth <= reports)
        inside |= (begin.how == SILENT) & (depth <= reports - 1)
        return np.asarray(np.isin(begin.kind, kinds) & (inside | (ends & (depth == reports))))
