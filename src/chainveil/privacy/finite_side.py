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
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy import finite_kernels as kernels
from chainveil.privacy.finite_numbers import Numbers

IntArray = NDArray[np.int64]
Zones = dict[bytes, FloatArray]

UNIT = 2.0**-53
# Points next to a source whose zones are kept apart; behind them one zone serves all.
DEPTH = 16
# Depths at which priors are kept; behind them they are bounded together.
MAX_STORED = 1 << 15
# A zone that shall hold for every depth may be wider than need be by this, per step.
WIDENING = 1e-3
MAX_WIDENINGS = 600


@dataclass(frozen=True)
class Source:
    """The end of a side: ``known`` value or None, start vector, and the points it takes up.

    With j points between target and source the side takes ``j + extra`` points.
    """

    known: int | None
    start: FloatArray
    extra: int
    flat: bool = False


@dataclass(frozen=True)
class Found:
    """Bounds on one side's log value for one pair, and the attack behind the lower one."""

    upper: float
    lower: float
    source: Source | None = None
    depth: int = 0
    symbols: tuple[int, ...] = ()

    @property
    def room(self) -> int:
        """How many points this side takes up."""
        return 0 if self.source is None else self.depth + self.source.extra


@dataclass(frozen=True)
class Side:
    """Tables of one side; see the kernels for their layout."""

    sources: tuple[Source, ...]
    steps: FloatArray
    zones: FloatArray
    exact: IntArray
    union: IntArray
    prior: FloatArray
    tail: FloatArray
    samples: FloatArray
    fillers: IntArray
    period: int

    def root_bounds(self, first: IntArray, last: IntArray) -> FloatArray:
        """Quick upper bounds for every pair, shape (k, k); -inf where there is no pair."""
        bounds: FloatArray = kernels.root_bounds(
            self.zones, self.exact, self.union, self.prior, self.tail,
            first, last, self.period,
        )  # fmt: skip
        return bounds + self.rounding(0)

    def solve(
        self,
        pair: tuple[int, int],
        ranges: tuple[IntArray, IntArray],
        cutoff: float,
        tolerance: float,
        max_nodes: int,
    ) -> tuple[Found, int]:
        """Bounds for one pair to a tolerance or a cutoff, and the nodes it took."""
        upper, lower, source, depth, symbols, nodes, longest = kernels.branch_and_bound(
            self.steps, self.zones, self.exact, self.union, self.prior, self.tail, self.samples,
            ranges[0], ranges[1], self.period, *pair, cutoff, tolerance, max_nodes,
        )  # fmt: skip
        upper += self.rounding(longest)
        if source < 0:
            return Found(upper, lower), nodes
        outwards = (*symbols.tolist(), *self._filler(source, depth - len(symbols)))
        return Found(upper, lower, self.sources[source], int(depth), outwards), nodes

    def _filler(self, source: int, left: int) -> list[int]:
        """The outputs of a source's sample message, from the target outwards."""
        symbols: list[int] = self.fillers[source, 1 : left + 1][::-1].tolist()
        return symbols

    def rounding(self, longest: int) -> float:
        """Bound on what rounding can have taken off a log value (docs/finite-states.md)."""
        k = self.steps.shape[1]
        steps = longest + self.prior.shape[1] + 8
        return UNIT * (2 * (k + 12) * steps + 8 * k + 4096)


def sources_left(numbers: Numbers, known: bool, opened: bool = True) -> tuple[Source, ...]:
    """What may lie at the left end: the first point, or a known value of a point before."""
    found = [Source(None, numbers.start, 0, numbers.is_stationary)] if opened else []
    if known:
        arrival = first_arrivals(numbers)
        rows = numbers.transition
        found += [Source(y, rows[y], 1 + arrival[y]) for y in range(numbers.states)]
    return tuple(found)


def sources_right(numbers: Numbers, known: bool, opened: bool = True) -> tuple[Source, ...]:
    """What may lie at the right end: the last point, or a known value of a point behind."""
    found = [Source(None, np.ones(numbers.states), 0, flat=True)] if opened else []
    if known:
        columns = numbers.transition.T
        found += [Source(y, columns[y], 1) for y in range(numbers.states)]
    return tuple(found)


def first_arrivals(numbers: Numbers) -> list[int]:
    """For each state the first point that can have it."""
    possible = numbers.start > 0
    arrival = [0 if possible[y] else -1 for y in range(numbers.states)]
    for t in range(1, numbers.states**2 + 2):
        possible = (possible[:, None] & (numbers.transition > 0)).any(axis=0)
        arrival = [t if arrival[y] < 0 and possible[y] else arrival[y] for y in range(len(arrival))]
    return arrival


def build_side(
    numbers: Numbers,
    left: bool,
    sources: tuple[Source, ...],
    room: int | None,
    only: int | None,
    precision: float,
) -> Side:
    """Tables for one side with up to ``room`` points (None: any number), or ``only`` one depth.

    ``precision`` is how far the log of the prior may still move behind what is stored.
    """
    points = room if only is None else only
    matrix = np.ascontiguousarray(numbers.transition.T if left else numbers.transition)
    level = numbers.stationary if left else np.ones(numbers.states)
    steps = np.ascontiguousarray(matrix[None, :, :] * numbers.emission.T[:, None, :])
    period = _period(numbers.transition)
    depth = max(DEPTH, _transient(matrix, sources, period))
    if points is not None and points < depth:
        depth = points + 1
        period = 1
    least = depth + 2 * period if only is None else only
    prior = _priors(matrix, level, sources, points, least, precision)
    shallow = points is not None and points < depth
    deep = None if shallow else _deep(matrix, steps, sources, depth, period)
    zones, exact, union = _zone_tables(steps, sources, depth, period, deep)
    samples, fillers = _samples(matrix, numbers.emission, sources, prior.shape[1])
    with np.errstate(divide="ignore"):
        logs = np.log(prior)
    tail = _tails(prior, level, period)
    return Side(sources, steps, zones, exact, union, logs, tail, samples, fillers, period)


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


def _transient(matrix: FloatArray, sources: tuple[Source, ...], period: int) -> int:
    """Depth from which the supports of all priors repeat with the period."""
    pattern = (matrix > 0).astype(np.int64)
    seen = [np.array([source.start > 0 for source in sources])]
    while len(seen) <= period or not np.array_equal(seen[-1], seen[-1 - period]):
        seen.append((seen[-1].astype(np.int64) @ pattern.T) > 0)
    return len(seen)


def _priors(
    matrix: FloatArray,
    level: FloatArray,
    sources: tuple[Source, ...],
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
    matrix: FloatArray, emission: FloatArray, sources: tuple[Source, ...], stored: int
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


def _inflation(k: int) -> float:
    """Factor that covers the rounding of one zone step."""
    return 1 + 32 * (k + 8) * UNIT


def _point_zone(vector: FloatArray) -> FloatArray:
    """The zone of a single message."""
    inside = vector > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        zone = vector[:, None] / vector[None, :] * _inflation(len(vector))
    zone[~inside, :] = 0.0
    np.fill_diagonal(zone, inside.astype(float))
    return zone


def _advance(steps: FloatArray, zones: Zones) -> Zones:
    """All zones one point nearer to the target, those of one support joined."""
    images = [
        image
        for zone in zones.values()
        for image in kernels.zone_images(steps, zone, _inflation(steps.shape[1]))
        if image.any()
    ]
    return _joined(images)


def _joined(images: list[FloatArray]) -> Zones:
    joined: Zones = {}
    for image in images:
        key = (np.diag(image) > 0).tobytes()
        joined[key] = np.maximum(joined[key], image) if key in joined else image
    return joined


def _merged(first: Zones, second: Zones) -> Zones:
    return _joined([*first.values(), *second.values()])


def _deep(
    matrix: FloatArray, steps: FloatArray, sources: tuple[Source, ...], depth: int, period: int
) -> list[list[Zones]]:
    """For each source and phase, zones that hold at every depth from ``depth`` on."""
    if np.all(matrix > 0) and np.all(steps > 0):
        # Every message is M times something non-negative: a bound without iterating.
        zone = (matrix[:, None, :] / matrix[None, :, :]).max(axis=2) * _inflation(len(matrix))
        np.fill_diagonal(zone, 1.0)
        zones = _joined([zone])
        for _ in range(depth - 1):
            zones = _advance(steps, zones)
        return [[zones]] * len(sources)
    if period == 1:
        together: Zones = {}
        for source in sources:
            together = _merged(together, _levels(steps, source, depth + 1)[depth])
        return [_closed(steps, [together])] * len(sources)
    return [_closed(steps, _levels(steps, source, depth + period)[depth:]) for source in sources]


def _levels(steps: FloatArray, source: Source, count: int) -> list[Zones]:
    levels = [_joined([_point_zone(source.start)])]
    while len(levels) < count:
        levels.append(_advance(steps, levels[-1]))
    return levels


def _closed(steps: FloatArray, phases: list[Zones]) -> list[Zones]:
    """The least zones, a little widened, that hold the given ones and their own images."""
    for _ in range(MAX_WIDENINGS):
        done = True
        for phase in range(len(phases)):
            image = _advance(steps, phases[phase])
            target = (phase + 1) % len(phases)
            if not _contains(phases[target], image):
                wider = {key: _widened(zone) for key, zone in image.items()}
                phases[target] = _merged(phases[target], wider)
                done = False
        if done:
            return phases
    return [{key: _unbounded(zone) for key, zone in zones.items()} for zones in phases]


def _widened(zone: FloatArray) -> FloatArray:
    wider = zone * (1 + WIDENING)
    np.fill_diagonal(wider, np.diag(zone))
    return wider


def _contains(zones: Zones, others: Zones) -> bool:
    return all(key in zones and bool(np.all(others[key] <= zones[key])) for key in others)


def _unbounded(zone: FloatArray) -> FloatArray:
    """The zone that knows the support and nothing else."""
    inside = np.diag(zone) > 0
    loose = np.where(inside[:, None], np.inf, 0.0) * np.ones_like(zone)
    np.fill_diagonal(loose, inside.astype(float))
    return loose


def _zone_tables(
    steps: FloatArray,
    sources: tuple[Source, ...],
    depth: int,
    period: int,
    deep: list[list[Zones]] | None,
) -> tuple[FloatArray, IntArray, IntArray]:
    """All zones in one array, and where those of a source and depth stand in it."""
    table: list[FloatArray] = []
    exact = np.zeros((len(sources), depth, 2), np.int64)
    union = np.zeros((len(sources), depth + period, 2), np.int64)

    def store(zones: Zones) -> tuple[int, int]:
        table.extend(zones.values())
        return len(table) - len(zones), len(table)

    for number, source in enumerate(sources):
        levels = _levels(steps, source, depth)
        for j, zones in enumerate(levels):
            exact[number, j] = store(zones)
        if deep is None:
            continue
        behind = {depth + phase: deep[number][phase] for phase in range(period)}
        for j in range(depth - 1, -1, -1):
            behind[j] = _merged(levels[j], behind[j + period])
        for j, zones in behind.items():
            union[number, j] = store(zones)
    return np.array(table), exact, union
