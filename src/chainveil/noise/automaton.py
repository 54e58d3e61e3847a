"""Noise as an automaton: what solvers, calibration, attacks and verification know of a noise.

After each point everybody knows a public *label*: the last report, "nothing reported yet", or
whatever else the next report depends on. An edge leads from a label to a label, publishes an
observation, and carries the likelihood ``law[x, x']`` of that observation given the states before
and at the point. Edges repeat with a period, so that noise on one point in ``every`` is an
automaton too: at the points in between it publishes ``None``, with likelihood one.

For each label, phase and pair of states the likelihoods of the edges that leave it add up to one;
where points may be missing, to one for the edges with a report and to one for the edge without.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported

# What is published at a point: a report, None where nothing is, or one of these for each release.
Observation: TypeAlias = "int | tuple[Observation, ...] | None"

_Step: TypeAlias = "tuple[int, int, Observation, FloatArray]"

# Labels of several releases together; beyond it the automaton is not made.
MOST_LABELS = 4096


@dataclass(frozen=True, eq=False)
class Edge:
    """A step to a point at ``phase``.

    Attributes
    ----------
    phase : int
        Position of the point, counted from 0 at the first point, modulo the period.
    source, target : int
        Labels before and after the point.
    observation : int, None or tuple
        What is published at the point.
    law : array of shape (k, k)
        ``law[x, x']``, the likelihood of the observation given the states before and at the point.
        At the first point all rows are equal.
    missing : bool
        Whether the point is missing, so that no release reports it.
    """

    phase: int
    source: int
    target: int
    observation: Observation
    law: FloatArray
    missing: bool = False


@dataclass(frozen=True, eq=False)
class Automaton:
    """Public labels, and edges that repeat with a period.

    Attributes
    ----------
    states : int
        Number of states k.
    labels : int
        Number of labels.
    start : int
        The label before the first point.
    period : int
        Number of phases.
    edges : tuple of Edge
    """

    states: int
    labels: int
    start: int
    period: int
    edges: tuple[Edge, ...]

    @cached_property
    def by_phase(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges of each phase."""
        return tuple(
            tuple(edge for edge in self.edges if edge.phase == phase)
            for phase in range(self.period)
        )

    @cached_property
    def steps(self) -> dict[tuple[int, int, Observation], int]:
        """The number of the edge with a phase, a source and an observation."""
        return {
            (edge.phase, edge.source, edge.observation): number
            for number, edge in enumerate(self.edges)
        }

    @property
    def has_zeros(self) -> bool:
        """Whether some observation rules out a state."""
        return any(not edge.law.all() for edge in self.edges)


def independent(first: FloatArray, every: int = 1, gaps: bool = False) -> Automaton:
    """Reports that depend on their own point alone: ``first[x, z]`` on one point in ``every``.

    ``gaps``: any point may be missing, for all to see.
    """
    k, m = first.shape
    reports: list[_Step] = [(0, 0, z, _by_point(first[:, z])) for z in range(m)]
    silent: list[_Step] = [(0, 0, None, np.ones((k, k)))]
    return _automaton(k, 1, 0, reports, silent, every, silent if gaps else ())


def remembering(
    kernel: FloatArray,
    first: FloatArray,
    every: int = 1,
    after_gap: FloatArray | None = None,
) -> Automaton:
    """Reports that depend on the last report, and on the states before and at their point.

    Parameters
    ----------
    kernel : array of shape (m, k, k, m)
        ``kernel[z, x, x', z']``, the probability of the report z' after the report z.
    first : array of shape (k, m)
        ``first[x, z]``, the probability of the first report.
    every : int
        One point in so many reports, the middle of each block.
    after_gap : array of shape (m, k, m), optional
        ``after_gap[z, x', z']``, the probability of the first report after missing points. With it
        any point may be missing, for all to see.

    Raises
    ------
    NotSupported
        If only one point in several reports and a report depends on the state before its point.
    """
    m, k = kernel.shape[:2]
    if every > 1 and np.any(kernel != kernel[:, :1]):
        raise NotSupported(
            "every: noise that depends on the state before its point reports every point; "
            "independent and sticky noise can report one point in several"
        )
    ones = np.ones((k, k))
    # Label z: the last report was z. Label m + z, with gaps: it was z, and points are missing
    # since. The last label: nothing was reported yet.
    start = m if after_gap is None else 2 * m
    reports: list[_Step] = [(z, w, w, kernel[z, :, :, w]) for z in range(m) for w in range(m)]
    reports += [(start, w, w, _by_point(first[:, w])) for w in range(m)]
    labels, missing = range(start + 1), list[_Step]()
    if after_gap is not None:
        reports += [
            (m + z, w, w, _by_point(after_gap[z, :, w])) for z in range(m) for w in range(m)
        ]
        missing = [(label, label if label >= m else m + label, None, ones) for label in labels]
    # A point that is missing where no report is due changes nothing.
    unreported: list[_Step] = [(label, label, None, ones) for label in labels]
    return _automaton(k, start + 1, start, reports, unreported, every, missing)


def product(automata: Sequence[Automaton]) -> Automaton:
    """Several releases of the same series, seen together."""
    if len(automata) == 1:
        return automata[0]
    sizes = [one.labels for one in automata]
    if math.prod(sizes) > MOST_LABELS:
        raise NotSupported(
            f"releases: {len(sizes)} releases with memory have {math.prod(sizes):,} labels "
            f"together, more than {MOST_LABELS:,}; count fewer releases together"
        )

    def number(labels: Sequence[int]) -> int:
        return int(np.ravel_multi_index(tuple(labels), sizes))

    period = math.lcm(*(one.period for one in automata))
    edges = []
    for phase in range(period):
        choices = [one.by_phase[phase % one.period] for one in automata]
        # A missing point is missing for all releases that report it.
        misses = [any(edge.missing for edge in edges) for edges in choices]
        for parts in itertools.product(*choices):
            missing = {part.missing for part, can in zip(parts, misses, strict=True) if can}
            if len(missing) > 1:
                continue
            law = np.prod([part.law for part in parts], axis=0)
            if np.any(law > 0):
                source = number([part.source for part in parts])
                target = number([part.target for part in parts])
                seen = tuple(part.observation for part in parts)
                edges.append(Edge(phase, source, target, seen, law, True in missing))
    start = number([one.start for one in automata])
    return Automaton(automata[0].states, math.prod(sizes), start, period, tuple(edges))


def with_laws(automaton: Automaton, laws: FloatArray) -> Automaton:
    """The same labels and edges with other likelihoods, shape (edges, k, k)."""
    edges = tuple(replace(edge, law=law) for edge, law in zip(automaton.edges, laws, strict=True))
    return replace(automaton, edges=edges)


def _automaton(
    states: int,
    labels: int,
    start: int,
    due: Sequence[_Step],
    unreported: Sequence[_Step],
    every: int,
    missing: Sequence[_Step] = (),
) -> Automaton:
    """Steps laid out in time: the middle of each block of ``every`` points is due to report."""
    edges = []
    for phase in range(every):
        steps = due if phase == (every - 1) // 2 else unreported
        edges += [Edge(phase, *step) for step in steps if np.any(step[3] > 0)]
        if phase == (every - 1) // 2:
            edges += [Edge(phase, *step, missing=True) for step in missing]
    return Automaton(states, labels, start, every, tuple(edges))


def _by_point(law: FloatArray) -> FloatArray:
    """A likelihood that depends on the point alone, shape (k,), as one of both points."""
    return np.broadcast_to(np.asarray(law, np.float64), (len(law), len(law)))
