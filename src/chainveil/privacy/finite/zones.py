"""Zones: sound bounds on the ratios of messages, depth by depth and for all depths.

A zone Z is a k x k array with m(x) <= Z[x, y] m(y) for every message m it stands for; its
diagonal is one on the support and zero off it. Messages of different supports have zones
of their own. The image of a zone under one more point is bounded by
``kernels.row_bound``; every image is widened by a factor that covers its rounding,
so a zone holds for the real numbers, not only for the floats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.finite import kernels

IntArray = NDArray[np.int64]
# The zones of one depth, by their support.
Zones = dict[bytes, FloatArray]

UNIT = kernels.UNIT
# A zone that shall hold for every depth may be wider than need be by this, per step.
WIDENING = 1e-3
MAX_WIDENINGS = 600
# Zones are taken on from depth to depth until no log ratio moves more than this.
SETTLED = 1e-4
# Work that may go into zones, in terms m k^4 of one step, and the most steps whatever k is.
WORK = 2e8
MOST_LEVELS = 2000


class ZoneTable(NamedTuple):
    """All zones of one side in one array, and where those of a source and depth stand.

    Attributes
    ----------
    zones : array (count, k, k)
    orders : array (count, k * k)
        The pairs of each zone by rising ratio.
    exact : array (sources, depth, 2)
        First and last + 1 of the zones of messages with exactly so many points.
    union : array (sources, depths, 2)
        The same for messages with so many points or whole periods more; the entries of
        the last period hold for everything behind them.
    """

    zones: FloatArray
    orders: IntArray
    exact: IntArray
    union: IntArray


def shallow_table(steps: FloatArray, starts: list[FloatArray], depth: int) -> ZoneTable:
    """Zones for sides that have fewer than ``depth`` points."""
    levels = [_levels(steps, _joined([_point_zone(start)]), depth) for start in starts]
    return _stored(levels, [[] for _ in starts], depth)


def deep_table(
    matrix: FloatArray, steps: FloatArray, starts: list[FloatArray], shortest: int, period: int
) -> ZoneTable:
    """Zones for any number of points; ``shortest`` is where all supports have become periodic."""
    behind = _behind(matrix, steps, starts, shortest, period)
    levels = [_levels(steps, _joined([_point_zone(start)]), shortest) for start in starts]
    unions = []
    for one, all_behind in zip(levels, behind, strict=True):
        union = dict(enumerate(all_behind[shortest:], shortest))
        for j in range(shortest - 1, -1, -1):
            union[j] = _merged(one[j], union[j + period])
        unions.append([union[j] for j in range(len(union))])
    return _stored(levels, unions, shortest)


def _behind(
    matrix: FloatArray, steps: FloatArray, starts: list[FloatArray], shortest: int, period: int
) -> list[list[Zones]]:
    """For each source, zones by depth that hold there and any number of periods behind.

    Depths below ``shortest`` are not meant; they are there to count from zero.
    """
    if np.all(matrix > 0) and np.all(steps > 0):
        # Every message is M times something non-negative: a bound to begin with, for depth 1.
        zone = (matrix[:, None, :] / matrix[None, :, :]).max(axis=2) * _inflation(len(matrix))
        np.fill_diagonal(zone, 1.0)
        first = _joined([zone])
        return [[first, *_until_settled(steps, [first], shortest + 1)]] * len(starts)
    filler: list[Zones] = [{}] * shortest
    levels = [_levels(steps, _joined([_point_zone(start)]), shortest + period) for start in starts]
    if period == 1:
        together: Zones = {}
        for one in levels:
            together = _merged(together, one[shortest])
        closed = _closed(steps, [together])
        return [[*filler, *_until_settled(steps, closed, 2)]] * len(starts)
    return [
        [*filler, *_until_settled(steps, _closed(steps, one[shortest:]), 2 * period)]
        for one in levels
    ]


def _until_settled(steps: FloatArray, zones: list[Zones], least: int) -> list[Zones]:
    """Images of images, at least so many, until they do not move any more; they only shrink."""
    period = len(zones)
    most = max(least, min(MOST_LEVELS, int(WORK / steps.size / steps.shape[1] ** 2)))
    levels = list(zones)
    while len(levels) < most:
        levels += _shrinking(steps, levels[-period:], max(16, period))
        if len(levels) >= least and _moved(levels[-1 - period], levels[-1]) <= SETTLED:
            break
    return levels


def _moved(before: Zones, after: Zones) -> float:
    """Largest change of a finite log ratio."""
    largest = 0.0
    for key, zone in after.items():
        was = before.get(key)
        finite = np.isfinite(zone) & (zone > 0)
        if was is None or not np.all(np.isfinite(was[finite])):
            return np.inf
        largest = max(largest, float(np.abs(np.log(zone[finite] / was[finite])).max(initial=0.0)))
    return largest


def _inflation(k: int) -> float:
    """Factor that covers the rounding of one zone step (docs/finite-states.md)."""
    return 1 + 32 * (k + 8) * UNIT


def _point_zone(vector: FloatArray) -> FloatArray:
    """The zone of a single message."""
    inside = vector > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        zone = vector[:, None] / vector[None, :] * _inflation(len(vector))
    zone[~inside, :] = 0.0
    np.fill_diagonal(zone, inside.astype(float))
    return zone


def _levels(steps: FloatArray, zones: Zones, count: int) -> list[Zones]:
    """``zones`` and their images after 1, 2, … points, ``count`` in all."""
    if len(zones) == 1 and np.all(steps > 0):
        ((key, zone),) = zones.items()
        rows = kernels.zone_levels(steps, zone, count, _inflation(steps.shape[1]), False)
        return [{key: row} for row in rows]
    levels = [zones]
    while len(levels) < count:
        levels.append(_advance(steps, levels[-1]))
    return levels


def _shrinking(steps: FloatArray, zones: list[Zones], count: int) -> list[Zones]:
    """``count`` further levels behind ``zones``, one period that holds for all depths behind it.

    What is a period further on lies in the zones of the period before as well, so the two
    may be intersected: images alone need not shrink, as their bounds are not monotone.
    """
    period = len(zones)
    if period == 1 and len(zones[0]) == 1 and np.all(steps > 0):
        ((key, zone),) = zones[0].items()
        rows = kernels.zone_levels(steps, zone, count + 1, _inflation(steps.shape[1]), True)
        return [{key: row} for row in rows[1:]]
    levels = list(zones)
    while len(levels) < period + count:
        levels.append(_met(_advance(steps, levels[-1]), levels[-period]))
    return levels[period:]


def _met(zones: Zones, others: Zones) -> Zones:
    """Zones of the messages that lie in both, support by support."""
    return {key: np.minimum(zone, others[key]) for key, zone in zones.items() if key in others}


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


def _stored(levels: list[list[Zones]], unions: list[list[Zones]], depth: int) -> ZoneTable:
    table: list[FloatArray] = []
    places: dict[int, tuple[int, int]] = {}

    def store(zones: Zones) -> tuple[int, int]:
        # Sources share the zones of great depths: one copy is enough.
        if id(zones) not in places:
            table.extend(zones.values())
            places[id(zones)] = len(table) - len(zones), len(table)
        return places[id(zones)]

    exact = np.array([[store(zones) for zones in one[:depth]] for one in levels], np.int64)
    width = max(len(union) for union in unions)
    union = np.array([[store(zones) for zones in one] for one in unions], np.int64)
    orders = np.array([kernels.pair_order(zone) for zone in table])
    return ZoneTable(np.array(table), orders, exact, union.reshape(len(levels), width, 2))
