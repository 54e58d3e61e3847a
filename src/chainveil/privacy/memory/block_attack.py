"""The worst case of reports on one point in several, written out point by point."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from chainveil.privacy.memory import kernel
from chainveil.privacy.memory.attack import reports_after, reports_before, symbol
from chainveil.privacy.memory.block_loss import Blocks, Case, Flank
from chainveil.privacy.memory.blocks import AT_END, REPORTED, SILENT, BlockSide
from chainveil.privacy.memory.layout import Layout
from chainveil.privacy.memory.witness import MemoryWitness, in_runs

Reports = tuple[int, ...]


@dataclass(frozen=True)
class Trail:
    """One side from the report of its candidate outwards.

    ``steps`` lead from report to report, the nearest first. ``known`` are points as reports
    further out, points behind that report, and value. ``opening`` is the first report of the
    series, where the side goes that far; ``value`` is known at the report where it begins.
    """

    steps: tuple[int, ...] = ()
    known: tuple[tuple[int, int, int], ...] = ()
    opening: Reports | None = None
    value: int | None = None


def build(case: Case, blocks: Blocks) -> MemoryWitness:
    """The attack in full, with outputs that are possible wherever they do not matter."""
    layout, every, first = blocks.layout, blocks.every, blocks.left.first_place
    left = _trail(blocks.left, case.left)
    past, steps = _past(case, blocks, left), [*left.steps[::-1]]
    report = len(past) - 1 + len(steps)
    begins = case.left.family is None and case.left.matters
    begin = first + (report - begins) * every + case.place.offset
    steps += [step for step in (case.left.step, *case.steps) if step is not None]
    if blocks.reports_within(case.place.offset) is not None and case.right.step is not None:
        steps.append(case.right.step)
    anchor = len(past) - 1 + len(steps)
    right = _trail(blocks.right, _to_the_end(case.right, blocks, anchor))
    steps += right.steps
    told = past + [tuple(layout.reports[step]) for step in steps]
    label = int(layout.target[steps[-1]]) if steps else case.left.label
    known = {first + (report - out) * every - away: value for out, away, value in left.known}
    known |= {first + (anchor + out) * every + away: value for out, away, value in right.known}
    return _written(case, blocks, told, known, begin, label)


def _past(case: Case, blocks: Blocks, left: Trail) -> list[Reports]:
    """The reports up to the one where the left side begins."""
    layout, flank = blocks.layout, case.left
    label = int(layout.source[left.steps[-1]]) if left.steps else flank.label
    if left.opening is not None:
        return [left.opening]
    if flank.family is None and flank.matters:
        a, b = (values[-case.place.offset % blocks.every] for values in (case.value, case.other))
        return [_extreme(layout, label, a, b)]
    start = 0 if case.place.report is None else case.place.report - len(left.steps)
    return reports_before(layout, start, label, left.value, None)


def _extreme(layout: Layout, label: int, a: int, b: int) -> Reports:
    """The first report with a label that speaks most for a against b."""
    fitting = [one for one in layout.first if one[0] == label]
    return max(fitting, key=lambda one: float(one[1][a]) / max(float(one[1][b]), 1e-300))[2]


def _to_the_end(flank: Flank, blocks: Blocks, anchor: int) -> Flank:
    """The same where a series of given length ends: far away it tells the same."""
    length, side = blocks.problem.length, blocks.right
    at_end = flank.family is not None and side.beginnings.how[flank.family] == AT_END
    if length is None or not at_end:
        return flank
    reports = len(range(side.first_place, length, side.every))
    return replace(flank, depth=max(reports - 1 - anchor, 0))


def _trail(side: BlockSide, flank: Flank) -> Trail:
    """The steps by which a candidate's end is reached."""
    if flank.family is None:
        return Trail()
    begins = side.beginnings
    how, away, value = (int(part[flank.family]) for part in (begins.how, begins.away, begins.value))
    low, high, _ = (part[0, flank.family] for part in side.started(1))
    path, end = kernel.trace(
        side.matrices, *side.ways, np.array([0, len(side.layout.source)]), 0, 1,
        low.copy(), high.copy(), flank.depth, flank.label, flank.end,
    )  # fmt: skip
    steps = tuple(int(step) for step in path)
    label = int(side.ways[0][steps[-1]]) if steps else flank.label
    if how == REPORTED:
        return Trail(steps, ((len(steps), 0, value),), None, value)
    if how == SILENT:
        step, behind = _past_known(side, label, int(end))
        known = (len(steps), away, value), (len(steps) + 1, 0, behind)
        return Trail((*steps, step), known, None, behind)
    opening = _extreme(side.layout, label, int(end), 1 - int(end)) if side.left else None
    return Trail(steps, ((len(steps), away, value),) if away else (), opening)


def _past_known(side: BlockSide, label: int, end: int) -> tuple[int, int]:
    """The step to a report past a known silent point, and the value of the point behind it."""
    factor = side.layout.factor if side.left else side.layout.factor.swapaxes(1, 2)
    options = [
        (factor[step, value, end] / max(factor[step, value, 1 - end], 1e-300), int(step), value)
        for step in np.flatnonzero(side.ways[1] == label)
        for value in range(2)
        if side.layout.usual[0][side.layout.source[step]]
    ]
    return max(options)[1:]


def _written(
    case: Case, blocks: Blocks, told: list[Reports], known: dict[int, int], begin: int, label: int
) -> MemoryWitness:
    """The attack with every point of its series."""
    problem, every, first = blocks.problem, blocks.every, blocks.left.first_place
    last = first + (len(told) - 1) * every
    length = problem.length or 1 + max(last, begin + problem.event - 1, *known, 0)
    reports = len(range(first, length, every))
    for report, count in reports_after(blocks.layout, len(told), reports, label):
        told += [report] * count
    silent = (-1,) * len(problem.releases)
    points = [(symbol(silent, problem.releases), first)]
    for report in told:
        points += [(symbol(report, problem.releases), 1)]
        points += [(symbol(silent, problem.releases), every - 1)]
    points[-1] = points[-1][0], length - first - (len(told) - 1) * every - 1
    runs = in_runs([run for run in points if run[1]])
    value, other = (
        int("".join(str(bits.get(place, 0)) for place in range(problem.event)), 2)
        for bits in (case.value, case.other)
    )
    return MemoryWitness(length, begin, known, value, other, runs, problem.event)
