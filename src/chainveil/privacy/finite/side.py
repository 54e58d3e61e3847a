"""One side of the target, prepared for branch and bound: sources, zones, priors, samples.

Going away from the target, a side ends at a *source*: a known point, or the end of the
series with nothing known. A source has a start vector v; the message that reaches the
target through j points is ``A_{z1} … A_{zj} v`` with ``A_z = M diag(B[:, z])`` and M the
transition matrix on the right, its transpose on the left (messages there run forwards in
time from the law of the first point, which need not be stationary). What the side adds to
the loss is the ratio of the message at a and b over the ratio of the prior ``M^j v``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.finite import ascent
from chainveil.privacy.finite import search as finite_search
from chainveil.privacy.finite.numbers import Numbers, successors
from chainveil.privacy.finite.zones import UNIT, IntArray, ZoneTable, deep_table, shallow_table

# Depths at which priors are kept; behind them they are bounded together.
MAX_STORED = 1 << 15


@dataclass(frozen=True)
class SideEnd:
    """The end of a side: ``known`` value or None, start vector, and the points it takes up.

    With j points between target and source the side takes ``j + extra`` points.
    """

    known: int | None
    start: FloatArray
    extra: int
    flat: bool = False


@dataclass(frozen=True)
class SideBounds:
    """Bounds on one side's log value for one pair, and the attack behind the lower one."""

    upper: float
    lower: float
    source: SideEnd | None = None
    depth: int = 0
    symbols: tuple[int, ...] = ()

    @property
    def room(self) -> int:
        """How many points this side takes up."""
        return 0 if self.source is None else self.depth + self.source.extra


@dataclass(frozen=True)
class SideTables:
    """Tables of one side; see the kernels for their layout."""

    sources: tuple[SideEnd, ...]
    matrix: FloatArray
    emission: FloatArray
    steps: FloatArray
    table: ZoneTable
    prior: FloatArray
    tail: FloatArray
    samples: FloatArray
    fillers: IntArray
    period: int

    def root_bounds(self, first: IntArray, last: IntArray) -> FloatArray:
        """Quick upper bounds for every pair, shape (k, k); -inf where there is no pair."""
        bounds: FloatArray = finite_search.root_bounds(
            *self.table, self.prior, self.tail, first, last, self.period
        )  # fmt: skip
        return bounds + self.rounding(0)

    def solve(
        self,
        pair: tuple[int, int],
        ranges: tuple[IntArray, IntArray],
        cutoff: float,
        tolerance: float,
        max_nodes: int,
        together: bool = True,
    ) -> tuple[SideBounds, int]:
        """Bounds for one pair to a tolerance or a cutoff, and the nodes it took."""
        start = ascent.strong_attack(
            self.matrix, self.emission, np.array([source.start for source in self.sources]),
            self.prior, *ranges, *pair,
        )  # fmt: skip
        upper, lower, source, depth, symbols, nodes, longest = finite_search.branch_and_bound(
            self.steps, *self.table, self.prior, self.tail, self.samples,
            *ranges, self.period, *pair, cutoff, tolerance, max_nodes, start[0], together,
        )  # fmt: skip
        upper += self.rounding(longest)
        if source < 0:
            if start[1] < 0:
                return SideBounds(upper, lower), nodes
            _, source, depth, symbols = start
        outwards = (*symbols.tolist(), *self._filler(source, depth - len(symbols)))
        return SideBounds(upper, lower, self.sources[source], int(depth), outwards), nodes

    def _filler(self, source: int, left: int) -> list[int]:
        """The outputs of a source's sample message, from the target outwards."""
        symbols: list[int] = self.fillers[source, 1 : left + 1][::-1].tolist()
        return symbols

    def rounding(self, longest: int) -> float:
        """Bound on what rounding can have taken off a log value (docs/finite-states.md)."""
        k = self.steps.shape[1]
        steps = longest + self.prior.shape[1] + 8
        return float(UNIT * (2 * (k + 12) * steps + 8 * k + 4096))


def sources_left(numbers: Numbers, known: bool, opened: bool = True) -> tuple[SideEnd, ...]:
    """What may lie at the left end: the first point, or a known value of a point before."""
    found = [SideEnd(None, numbers.start, 0, numbers.is_stationary)] if opened else []
    if known:
        arrival = first_arrivals(numbers)
        rows = numbers.transition
        found += [SideEnd(y, rows[y], 1 + arrival[y]) for y in range(numbers.states)]
    return tuple(found)


def sources_right(numbers: Numbers, known: bool, opened: bool = True) -> tuple[SideEnd, ...]:
    """What may lie at the right end: the last point, or a known value of a point behind."""
    found = [SideEnd(None, np.ones(numbers.states), 0, flat=True)] if opened else []
    if known:
        columns = numbers.transition.T
        found += [SideEnd(y, columns[y], 1) for y in range(numbers.states)]
    return tuple(found)


def first_arrivals(numbers: Numbers) -> list[int]:
    """For each state the first point that can have it."""
    possible = numbers.start > 0
    arrival = [0 if possible[y] else -1 for y in range(numbers.states)]
    for t in range(1, numbers.states**2 + 2):
        possible = successors(possible, numbers.transition > 0)
        arrival = [t if arrival[y] < 0 and possible[y] else arrival[y] for y in range(len(arrival))]
    return arrival


def build_side(
    numbers: Numbers,
    left: bool,
    sources: tuple[SideEnd, ...],
    room: int | None,
    only: int | None,
    precision: float,
    apart: int,
) -> SideTables:
    """Tables for one side with up to ``room`` points (None: any number), or ``only`` one depth.

    ``precision`` is how far the log of the prior may still move behind what is stored;
    ``apart`` is at how many depths at least each source has zones of its own.
    """
    points = room if only is None else only
    matrix = np.ascontiguousarray(numbers.transition.T if left else numbers.transition)
    level = numbers.stationary if left else np.ones(numbers.states)
    steps = np.ascontiguousarray(matrix[None, :, :] * numbers.emission.T[:, None, :])
    period = _period(numbers.transition)
    shortest = max(apart, _transient(matrix, sources, period))
    starts = [source.start for source in sources]
    if points is not None and points < shortest:
        period, shortest = 1, points + 1
        table = shallow_table(steps, starts, shortest)
    else:
        table = deep_table(matrix, steps, starts, shortest, period)
    least = table.exact.shape[1] + 2 * period if only is None else only
    prior = _priors(matrix, level, sources, points, least, precision)
    samples, fillers = _samples(matrix, numbers.emission, sources, prior.shape[1])
    with np.errstate(divide="ignore"):
        logs = np.log(prior)
    tail = _tails(prior, level, period)
    return SideTables(
        sources,
        matrix,
        np.ascontiguousarray(numbers.emission),
        steps,
        table,
        logs,
        tail,
        samples,
        fillers,
        period,
    )


def _period(transition: FloatArray) -> int:
    """Greatest common divisor of the lengths of all cycles."""
    k = len(transition)
    distance = [-1] * k
    distance[0], queue, period = 0, [0], 0
    for x in queue:
        for y in np.flatnonzero(transition[x] > 0).tolist():
            if distance[y] < 0:
                distance[y] = distance[x] + 1
                queue.append(y)
            period = math.gcd(period, distance[x] + 1 - distance[y])
    return abs(period)


def _transient(matrix: FloatArray, sources: tuple[SideEnd, ...], period: int) -> int:
    """Depth from which the supports of all priors repeat with the period."""
    pattern = (matrix > 0).astype(np.int64)
    seen = [np.array([source.start > 0 for source in sources])]
    while len(seen) <= period or not np.array_equal(seen[-1], seen[-1 - period]):
        seen.append((seen[-1].astype(np.int64) @ pattern.T) > 0)
    return len(seen)


def _priors(
    matrix: FloatArray,
    level: FloatArray,
    sources: tuple[SideEnd, ...],
    points: int | None,
    least: int,
    precision: float,
) -> FloatArray:
    """``M^j v`` for each source and j = 0, 1, … until it hardly moves, shape (s, j, k)."""
    row = np.array([source.start for source in sources])
    flat = np.array([source.flat for source in sources])
    rows = [row]
    end = MAX_STORED if points is None else min(points, MAX_STORED)
    while len(rows) <= end:
        if len(rows) > least and _settled(rows[-1] / level, precision):
            break
        row = np.where(flat[:, None], row, row @ matrix.T)
        rows.append(row)
    return np.ascontiguousarray(np.array(rows).transpose(1, 0, 2))


def _settled(shares: FloatArray, precision: float) -> bool:
    high = shares.max(axis=1)
    low = np.where(shares > 0, shares, np.inf).min(axis=1)
    return bool(np.all(high <= low * (1 + precision)))


def _tails(prior: FloatArray, level: FloatArray, period: int) -> FloatArray:
    """Bound on the log prior of b over a behind the stored depths: (source, phase, a, b).

    Divided by the level (one, or the stationary law), a prior a period later is an average
    of the prior now over one cyclic class: it stays between its least and largest entry.
    """
    sources, stored, k = prior.shape
    tail = np.full((sources, period, k, k), -np.inf)
    for source in range(sources):
        for j in range(max(0, stored - period), stored):
            share = prior[source, j] / level
            inside = share > 0
            spread = math.log(share[inside].max() / share[inside].min())
            both = inside[:, None] & inside[None, :]
            ratio = np.log(level[None, :] / level[:, None]) + spread
            tail[source, j % period] = np.where(both, ratio, -np.inf)
    return tail


def _samples(
    matrix: FloatArray, emission: FloatArray, sources: tuple[SideEnd, ...], stored: int
) -> tuple[FloatArray, IntArray]:
    """One message per source and depth, made of likely outputs, and these outputs."""
    row = np.array([source.start for source in sources])
    samples = np.empty((len(sources), stored, len(matrix)))
    fillers = np.zeros((len(sources), stored), np.int64)
    for j in range(stored):
        if j > 0:
            symbols = np.argmax(row @ emission, axis=1)
            fillers[:, j] = symbols
            row = (row * emission.T[symbols]) @ matrix.T
        row = row / row.max(axis=1, keepdims=True)
        samples[:, j] = row
    return samples, fillers
