"""The worst case written out: what every release publishes at every point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.noise.base import Noise
from chainveil.privacy.memory.layout import Layout
from chainveil.privacy.memory.sides import END, KNOWN_0, Side
from chainveil.privacy.memory.window import Worst
from chainveil.privacy.memory.witness import MemoryWitness, in_runs


@dataclass(frozen=True)
class Flank:
    """How one side of the worst case begins: its kind, at which point, how far away."""

    kind: int
    time: int
    depth: int


@dataclass(frozen=True)
class Case:
    """The worst case: where the window begins, and both flanks; None: a side that tells nothing."""

    begin: int
    worst: Worst
    left: Flank | None
    right: Flank | None


# Runs of equal steps on one side of an attack: replaying them takes seconds.
MOST_RUNS = 5_000
# A step of the layout and how many points in a row it leads to.
Run = tuple[int, int]


def build(
    case: Case, left: Side, right: Side, releases: tuple[Noise, ...], length: int | None
) -> MemoryWitness:
    """The attack in full, with outputs that are possible wherever they do not matter."""
    layout, worst = left.layout, case.worst
    size = len(worst.value)
    free = length is None
    past, known, favoured = _flank_steps(case.left, left, worst.label, worst.value[0], free)
    last = worst.label if not worst.steps else int(layout.target[worst.steps[-1]])
    future, known_right, _ = _flank_steps(case.right, right, last, worst.value[-1], free)
    # Steps lead to points: those of the past end at the window's first point.
    steps = [*past[::-1], *((step, 1) for step in worst.steps), *future]
    behind, ahead = (sum(count for _, count in side) for side in (past, future))
    begin = case.left.time + behind if free and case.left is not None else case.begin
    first_time = begin - behind
    label = int(layout.source[steps[0][0]]) if past else worst.label
    end = int(layout.target[steps[-1][0]]) if steps else label
    runs = [(point, 1) for point in reports_before(layout, first_time, label, known, favoured)]
    runs += [(tuple(layout.reports[step]), count) for step, count in steps]
    done = sum(count for _, count in runs)
    total = done if length is None else length
    runs += reports_after(layout, done, total, end)
    symbols = [(symbol(point, releases), count) for point, count in runs]
    place = {first_time: known} if known is not None else {}
    if known_right is not None:
        place[begin + size - 1 + ahead] = known_right
    value, other = (int("".join(map(str, bits)), 2) for bits in (worst.value, worst.other))
    return MemoryWitness(total, begin, place, value, other, in_runs(symbols), size)


def _flank_steps(
    flank: Flank | None, side: Side, label: int, favoured: int, free: bool
) -> tuple[list[Run], int | None, int | None]:
    """The steps of a side from the target on, and the value that is known at their end.

    Where nothing is known there, the state that the first report shall speak for. A side of
    ``free`` length that turns too often to be written out is cut short: it tells a little less.
    """
    if flank is None:
        return [], None, None
    if flank.kind == END:
        low, high, _ = side.end()
    else:
        reach = side.layout.reach(flank.time) if side.left else np.ones(side.layout.labels, bool)
        low, high, _ = side.known(flank.kind - KNOWN_0, reach)
    depth = flank.depth
    found = side.trace(flank.time, low, high, depth, label, favoured, MOST_RUNS if free else None)
    while found is None:
        depth //= 2
        found = side.trace(flank.time, low, high, depth, label, favoured, MOST_RUNS)
    steps, end = found
    return (steps, None, end) if flank.kind == END else (steps, flank.kind - KNOWN_0, None)


def reports_before(
    layout: Layout, time: int, label: int, known: int | None, favoured: int | None
) -> list[tuple[int, ...]]:
    """Reports up to and at a point that leave this label there; ``known`` is its state.

    Where it is the first point, ``favoured`` is the state that its report shall speak for.
    """
    reports: list[tuple[int, ...]] = []
    while time > 0:
        phase, earlier = time % layout.period, layout.reach(time - 1)
        steps = [
            step for step in range(layout.offsets[phase], layout.offsets[phase + 1])
            if layout.target[step] == label and earlier[layout.source[step]]
        ]  # fmt: skip
        step = max(steps, key=lambda step: _weight(layout.factor[step], known))
        reports.append(tuple(layout.reports[step]))
        label, known, time = int(layout.source[step]), None, time - 1
    fitting = [one for one in layout.first if one[0] == label]
    if favoured is not None:
        reports.append(max(fitting, key=lambda one: _odds_for(one[1], favoured))[2])
        return reports[::-1]
    reports.append(max(fitting, key=lambda one: _weight(one[1][None], known))[2])
    return reports[::-1]


def reports_after(
    layout: Layout, time: int, total: int, label: int
) -> list[tuple[tuple[int, ...], int]]:
    """Possible reports from a point to the end of the series, in runs."""
    runs = []
    while time < total:
        phase = time % layout.period
        steps = [
            step for step in range(layout.offsets[phase], layout.offsets[phase + 1])
            if layout.source[step] == label
        ]  # fmt: skip
        step = max(steps, key=lambda step: float(layout.factor[step].min()))
        stays = layout.period == 1 and layout.target[step] == label
        count = total - time if stays else 1
        runs.append((tuple(layout.reports[step]), count))
        label, time = int(layout.target[step]), time + count
    return runs


def _weight(factor: FloatArray, known: int | None) -> float:
    column = factor if known is None else factor[:, known : known + 1]
    return float(column.min() + 1e-3 * column.max())


def _odds_for(factor: FloatArray, state: int) -> float:
    likely, other = float(factor[state]), float(factor[1 - state])
    return likely / other if other else math.inf if likely else -1.0


def symbol(reports: tuple[int, ...], releases: tuple[Noise, ...]) -> int:
    """What all releases publish at a point as one number; see ``witness.digits_of``."""
    number = 0
    for report, noise in zip(reports, releases, strict=True):
        number = number * (noise.outputs + 1) + (noise.outputs if report < 0 else int(report))
    return number
