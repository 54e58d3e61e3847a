"""What the public sees from point to point, as labels and steps between them.

A label is what the next report depends on and everybody knows: the last report of each release
(or that there is none yet), and whether points are missing since. A step from one point to the
next goes from label to label with a factor ``E[x, x']``, the probability of what is published
at the second point given the two states; 1 where nothing is published. Which releases report
at a point follows from its place alone, so the steps repeat with a period.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.noise.base import Noise

# Labels, points of a period and steps of one: beyond that a loss would take minutes.
MOST_LABELS, LONGEST_PERIOD, MOST_STEPS = 64, 10_000, 200_000

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
_ONE = np.ones((2, 2))


@dataclass(frozen=True)
class Step:
    """One way from a label to the next one: ``report`` is None where nothing is published."""

    source: int
    target: int
    factor: FloatArray
    report: int | None


@dataclass(frozen=True)
class Layout:
    """Labels and steps of one or several releases together.

    Attributes
    ----------
    labels, period : int
    offsets : int array of shape (period + 1,)
        Steps ``offsets[p] … offsets[p + 1] - 1`` lead to points t with ``t % period == p``.
    source, target : int arrays of shape (steps,)
    factor : array of shape (steps, 2, 2)
        ``E[x, x']``, the state before and the state at the point.
    reports : int array of shape (steps, releases)
        What each release publishes, -1 for nothing.
    parts : int array of shape (steps, releases)
        The step of each release's own, by its place in ``steps_of(release)``.
    first : tuple of (label, factor of shape (2,), reports)
        What may be published at the first point.
    early : tuple of bool arrays of shape (labels,)
        Labels that can stand at point 0, 1, …, as long as they are not the usual ones.
    usual : bool array of shape (period, labels)
        Labels that can stand at any later point t, by ``t % period``.
    """

    labels: int
    period: int
    offsets: IntArray
    source: IntArray
    target: IntArray
    factor: FloatArray
    reports: IntArray
    parts: IntArray
    first: tuple[tuple[int, FloatArray, tuple[int, ...]], ...]
    early: tuple[BoolArray, ...]
    usual: BoolArray

    def reach(self, time: int) -> BoolArray:
        """Labels that can stand at a point."""
        if time < len(self.early):
            return self.early[time]
        return np.asarray(self.usual[time % self.period])


@dataclass(frozen=True)
class _Automaton:
    """The labels of one release: steps where it reports, where it does not, and the first."""

    labels: int
    none: int
    reporting: tuple[Step, ...]
    silent: tuple[Step, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, those with a report first."""
        return self.reporting + self.silent


def layout(releases: Sequence[Noise], gaps: bool) -> Layout:
    """The labels and steps of releases seen together; ``gaps``: any point may be missing."""
    automata = [_automaton(noise, gaps) for noise in releases]
    labels = math.prod(one.labels for one in automata)
    period = math.lcm(*(noise.every for noise in releases))
    if labels > MOST_LABELS or period > LONGEST_PERIOD:
        raise NotSupported(
            f"{len(releases)} releases together have {labels} labels and repeat after {period} "
            f"points; at most {MOST_LABELS} and {LONGEST_PERIOD:,} are offered"
        )
    missing = gaps and any(noise.holds for noise in releases)
    phases = [list(_steps(releases, automata, phase, missing)) for phase in range(period)]
    first = tuple(_first(releases, automata, missing))
    early, usual = _reached(first, phases, labels)
    # Steps that no series takes, such as those from "none yet" where the first point reports.
    taken = np.any([*early, *usual], axis=0)
    phases = [[step for step in phase if taken[step[0]]] for phase in phases]
    steps = [step for phase in phases for step in phase]
    if len(steps) > MOST_STEPS:
        raise NotSupported(f"releases with {len(steps):,} steps, above {MOST_STEPS:,}")
    offsets = np.cumsum([0, *(len(phase) for phase in phases)])
    source, target = (np.array([step[end] for step in steps], np.int64) for end in range(2))
    return Layout(
        labels, period, offsets.astype(np.int64), source, target,
        np.array([step[2] for step in steps]),
        np.array([step[3] for step in steps], np.int64),
        np.array([step[4] for step in steps], np.int64),
        first, early, usual,
    )  # fmt: skip


def _automaton(noise: Noise, gaps: bool) -> _Automaton:
    if not noise.ordered:
        law = np.asarray(noise.first_law())
        loud = tuple(Step(0, 0, _by_point(law[:, z]), z) for z in range(noise.outputs))
        return _Automaton(1, 0, loud, (Step(0, 0, _ONE, None),))
    return _with_memory(noise, gaps and noise.holds)


def _with_memory(noise: Noise, gaps: bool) -> _Automaton:
    """Labels: the last report, the same with points missing since (if it matters), none yet."""
    step, m = np.asarray(noise.step_law()), noise.outputs
    after = np.asarray(noise.after_gap_law()) if gaps else None
    by_point = bool(np.all(step == step[:, :1]))
    if noise.every > 1 and not by_point:
        raise NotSupported(
            f"{noise.kind} noise on one point in {noise.every}: the loss of rare reports is "
            "computed where none of them depends on the point before its own"
        )
    twins = after is not None and not (by_point and np.array_equal(after, step[:, 0]))
    none = 2 * m if twins else m
    loud = [Step(z, w, step[z, :, :, w], w) for z in range(m) for w in range(m)]
    loud += [Step(none, w, _by_point(noise.first_law()[:, w]), w) for w in range(m)]
    quiet = [Step(label, label, _ONE, None) for label in range(none + 1)]
    if twins:
        assert after is not None
        loud += [Step(m + z, w, _by_point(after[z, :, w]), w) for z in range(m) for w in range(m)]
        quiet = [Step(z, m + z % m, _ONE, None) for z in range(2 * m)]
        quiet.append(Step(none, none, _ONE, None))
    return _Automaton(none + 1, none, tuple(loud), tuple(quiet))


def _by_point(law: FloatArray) -> FloatArray:
    """A probability given the state at a point, whatever the state before: ``E[x, x']``."""
    return np.broadcast_to(np.asarray(law)[None, :], (2, 2))


Joint = tuple[int, int, FloatArray, tuple[int, ...], tuple[int, ...]]


def factors_of(noise: Noise, gaps: bool) -> FloatArray:
    """``E[x, x']`` of the steps of one release, in the order that ``Layout.parts`` counts."""
    one = _automaton(noise, gaps)
    return np.array([step.factor for step in one.steps])


def _steps(
    releases: Sequence[Noise], automata: Sequence[_Automaton], phase: int, gaps: bool
) -> Iterator[Joint]:
    """All steps to points of a phase, those of the releases multiplied."""
    for numbers in _choices(releases, automata, phase, gaps):
        parts = [one.steps[number] for one, number in zip(automata, numbers, strict=True)]
        source = target = 0
        factor = _ONE
        for one, part in zip(automata, parts, strict=True):
            source, target = source * one.labels + part.source, target * one.labels + part.target
            factor = factor * part.factor
        if np.any(factor > 0):
            yield source, target, factor, _reports(parts), numbers


def _choices(
    releases: Sequence[Noise], automata: Sequence[_Automaton], phase: int, gaps: bool
) -> Iterator[tuple[int, ...]]:
    """The releases' own steps that go together at points of a phase, by their places.

    A missing point is missing for all releases; noise that runs on beneath it is taken to
    report all the same, of which what is published is a part.
    """
    pairs = list(zip(releases, automata, strict=True))
    loud = [range(len(one.reporting)) for one in automata]
    quiet = [range(len(one.reporting), len(one.steps)) for one in automata]
    due = [(phase - noise.first_place) % noise.every == 0 for noise in releases]
    yield from product(*(a if now else b for a, b, now in zip(loud, quiet, due, strict=True)))
    if gaps and any(due):
        runs_on = [noise.ordered and not noise.holds for noise, _ in pairs]
        yield from product(*(a if on else b for a, b, on in zip(loud, quiet, runs_on, strict=True)))


def _reports(parts: Sequence[Step]) -> tuple[int, ...]:
    return tuple(-1 if part.report is None else part.report for part in parts)


def _first(
    releases: Sequence[Noise], automata: Sequence[_Automaton], gaps: bool
) -> Iterator[tuple[int, FloatArray, tuple[int, ...]]]:
    """What may be published at point 0: as after no report at all, by its state alone."""
    for numbers in _choices(releases, automata, 0, gaps):
        parts = [one.steps[number] for one, number in zip(automata, numbers, strict=True)]
        if any(part.source != one.none for one, part in zip(automata, parts, strict=True)):
            continue
        label, factor = 0, np.ones(2)
        for one, part in zip(automata, parts, strict=True):
            label, factor = label * one.labels + part.target, factor * part.factor[0]
        if np.any(factor > 0):
            yield label, factor, _reports(parts)


def _reached(
    first: tuple[tuple[int, FloatArray, tuple[int, ...]], ...],
    phases: Sequence[Sequence[Joint]],
    labels: int,
) -> tuple[tuple[BoolArray, ...], BoolArray]:
    """Labels by time until they repeat with the period, and the ones that repeat."""
    period = len(phases)
    now = np.zeros(labels, bool)
    now[[label for label, *_ in first]] = True
    seen = [now]
    while (
        len(seen) <= period
        or not all(
            np.array_equal(seen[-1 - back], seen[-1 - back - period])
            for back in range(min(period, len(seen) - period))
        )
        or len(seen) < 2 * period
    ):
        after = np.zeros(labels, bool)
        for source, target, *_ in phases[len(seen) % period]:
            after[target] |= seen[-1][source]
        seen.append(after)
    usual = np.array([seen[-period:][(p - len(seen)) % period] for p in range(period)])
    early = len(seen)
    while early > 0 and np.array_equal(seen[early - 1], usual[(early - 1) % period]):
        early -= 1
    return tuple(seen[:early]), usual
