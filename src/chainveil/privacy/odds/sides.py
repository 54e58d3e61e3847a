"""What lies before and after the secret: intervals of odds of all labels, and how they are
attained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.noise.automaton import Automaton, Observation
from chainveil.privacy.odds import kernels

IntArray = NDArray[np.int64]
# A sequence of edges and how often it is repeated.
Run: TypeAlias = tuple[tuple[int, ...], int]

# Segments of a walk, and policies of nodes in all of them, that there is room for at first.
RECORDED, MOST_RECORDED = 65_536, 2_000_000
# A law that stands for the stationary one.
STATIONARY = (-1.0, -1.0)


class Graph:
    """Places and labels that a series can pass through.

    A node is a class of places and a label. Classes are the phases of the noise, for series of
    every length and for long ones, or the places of a short series, one by one.

    Attributes
    ----------
    classes, labels : int
    wraps : bool
        Whether the last class is followed by the first one.
    source, target, edge : integer arrays of shape (arcs,)
        Nodes before and after a step, and the edge of the automaton; sorted by the class of the
        source.
    law : array of shape (arcs, 2, 2)
        Likelihoods of the edges.
    reach : boolean array of shape (nodes, 2)
        Which nodes and states can occur together.
    """

    def __init__(
        self, automaton: Automaton, transition: FloatArray, start: FloatArray, places: int | None
    ) -> None:
        self.automaton, self.start = automaton, start
        self.wraps = places is None
        self.classes = automaton.period if places is None else places
        self.labels = automaton.labels
        numbers = {id(edge): number for number, edge in enumerate(automaton.edges)}
        arcs = []
        for place in range(self.classes if self.wraps else self.classes - 1):
            after = (place + 1) % self.classes
            for edge in automaton.by_phase[(place + 1) % automaton.period]:
                source = place * self.labels + edge.source
                arcs.append((source, after * self.labels + edge.target, numbers[id(edge)]))
        self.first = [edge for edge in automaton.by_phase[0] if edge.source == automaton.start]
        self._before = self._reached(arcs, transition)
        self.reach = np.zeros((self.classes * self.labels, 2), bool)
        for node, x in self._before:
            self.reach[node, x] = True
        kept = [arc for arc in arcs if self.reach[arc[0]].any()]
        columns = np.array(kept, np.int64).reshape(-1, 3).T
        self.source, self.target, self.edge = (np.ascontiguousarray(column) for column in columns)
        laws = np.array([edge.law for edge in automaton.edges])
        self.law = np.ascontiguousarray(laws[self.edge]).reshape(-1, 2, 2)
        bounds = np.arange(self.classes + 1) * self.labels
        self.begins = np.searchsorted(self.source, bounds)

    def _reached(
        self, arcs: list[tuple[int, int, int]], transition: FloatArray
    ) -> dict[tuple[int, int], Any]:
        """Nodes and states that can occur, in the order of a breadth-first search, with the step to
        each.
        """
        before: dict[tuple[int, int], Any] = {}
        for edge in self.first:
            for x in range(2):
                if self.start[x] * edge.law[0, x] > 0:
                    before.setdefault((edge.target, x), (None, edge))
        leaving: dict[int, list[tuple[int, Any]]] = {}
        for source, target, number in arcs:
            leaving.setdefault(source, []).append((target, self.automaton.edges[number]))
        front = list(before)
        for node, x in front:  # Grows while it is read.
            for target, edge in leaving.get(node, ()):
                for y in range(2):
                    if (target, y) not in before and transition[x, y] * edge.law[x, y] > 0:
                        before[target, y] = ((node, x), edge)
                        front.append((target, y))
        return before

    def first_odds(self, edge: Any) -> float:
        """Odds after the first observation alone; NaN if it is impossible.

        A state that cannot occur counts like the other one.
        """
        law = edge.law[0]
        zero, one = np.where(self.start > 0, law, law[::-1])
        if zero > 0:
            return float(one / zero)
        return float("inf") if one > 0 else float("nan")

    def opening(self, node: int, end: int) -> Observation:
        """The first observation with the least (0) or greatest (1) odds that leads to a node."""
        fits = [
            edge for edge in self.first
            if edge.target == node and not np.isnan(self.first_odds(edge))
        ]  # fmt: skip
        choose = max if end else min
        return choose(fits, key=self.first_odds).observation

    def prefix(self, node: int, x: int) -> list[Observation]:
        """The shortest sequence of observations after which a node and a state occur."""
        seen, at = [], (node, x)
        while at is not None:
            at, edge = self._before[at]
            seen.append(edge.observation)
        return seen[::-1]

    def observations(self, edges: Sequence[int]) -> tuple[Observation, ...]:
        """What is published on arcs of the graph."""
        return tuple(self.automaton.edges[self.edge[arc]].observation for arc in edges)


@dataclass(frozen=True)
class Start:
    """How a side begins: at a known point with a value, or at an end of the series."""

    known: int | None
    intervals: FloatArray
    law: tuple[float, float]


@dataclass(frozen=True)
class Trace:
    """How one end of an interval is attained, from the secret outwards.

    ``node`` and ``end`` are those at the boundary; ``runs`` are the arcs from the secret to it.
    """

    known: int | None
    node: int
    end: int
    runs: tuple[Run, ...]


class Side:
    """Past or future of the secret in a graph, on one chain or on a box of chains.

    Parameters
    ----------
    graph : Graph
    box : tuple of float
        Least and greatest q, least and greatest r.
    past : bool
    opens : tuple of float
        The law of the first point; ``STATIONARY`` where it is that of the chain, and for the
        future.
    """

    def __init__(
        self, graph: Graph, box: tuple[float, float, float, float], past: bool, opens: Any
    ) -> None:
        self.graph, self.past, self.box = graph, past, np.array(box, np.float64)
        self._opens = tuple(float(p) for p in opens)
        ends = (graph.source, graph.target) if past else (graph.target, graph.source)
        self._arcs = (*ends, graph.law if past else np.swapaxes(graph.law, 1, 2).copy())
        self._inner = graph.source if past else graph.target
        # Chains that alternate have weights that do so too.
        self._parities = 2 if box[1] + box[3] > 1 else 1

    def at_end(self, last: int | None = None) -> Start:
        """Beginning at an end of the series; of a future, at the class of its last place."""
        graph = self.graph
        intervals = _nothing(len(graph.reach))
        if not self.past:
            nodes = np.arange(len(intervals)) // graph.labels
            ends = graph.reach.any(axis=1) & ((nodes == last) | (last is None))
            intervals[ends] = 1.0
            return Start(None, intervals, STATIONARY)
        for edge in graph.first:
            odds = graph.first_odds(edge)
            if not np.isnan(odds):
                low, high = odds * (1 - kernels.OUTWARD), odds * (1 + kernels.OUTWARD)
                old = intervals[edge.target]
                intervals[edge.target] = min(old[0], low), max(old[1], high)
        return Start(None, intervals, self._opens)  # type: ignore[arg-type]

    def at_known(self, place: int | None = None) -> list[Start]:
        """Beginning at a known point of either value, anywhere or in one class of places."""
        graph, found = self.graph, []
        nodes = np.arange(len(graph.reach)) // graph.labels
        for value in range(2):
            intervals = _nothing(len(graph.reach))
            intervals[graph.reach[:, value] & ((nodes == place) | (place is None))] = 1.0
            found.append(Start(value, intervals, (1.0 - value, float(value))))
        return found

    # ------------------------------------------------------------------- any distance
    def everywhere(self, starts: list[Start], slack: float, most: int) -> Everywhere:
        """Intervals at any distance from starts."""
        return Everywhere(self, starts, slack, most)

    # ------------------------------------------------------------------ given distances
    def at_places(self, start: Start, depth: int, first: int, kept: bool) -> AtPlaces:
        """Intervals at distances 0 to ``depth`` from a start at a place of the class ``first``."""
        return AtPlaces(self, start, depth, first, kept)


class Everywhere:
    """The intervals of each node at any distance: an upper bound, and what is attained."""

    def __init__(self, side: Side, starts: list[Start], slack: float, most: int) -> None:
        self.side, self.starts, self._slack, self._most = side, starts, slack, most
        nodes = len(side.graph.reach)
        self.hull, self.work = _nothing(nodes), 0
        self.found: list[FloatArray] = []
        self._at: list[IntArray] = []
        self._walked: list[tuple[FloatArray, int, IntArray, Any]] = []
        for start in starts:
            found, at, before = _nothing(nodes), np.zeros((nodes, 2), np.int64), self.hull.copy()
            room = min(RECORDED, 1 + MOST_RECORDED // nodes)
            segments, work, counts, policies = self._walk(start, self.hull, found, at, room)
            self.found.append(found)
            self._at.append(at)
            self._walked.append((before, segments, counts, policies))
            self.work += work

    def _policies(self, which: int) -> tuple[IntArray, Any]:
        """Steps and policies of all segments of a walk."""
        before, segments, counts, policies = self._walked[which]
        if segments > len(counts):
            # The same steps again, with room for all of them. The hull decides what is tried.
            found, at = _nothing(len(before)), np.zeros_like(self._at[which])
            counts, policies = self._walk(self.starts[which], before.copy(), found, at, segments)[
                2:
            ]
            self._walked[which] = before, segments, counts, policies
        return counts, policies

    def _walk(
        self, start: Start, hull: FloatArray, found: FloatArray, at: IntArray, segments: int
    ) -> Any:
        side, parities = self.side, self.side._parities
        graph = side.graph
        intervals = np.concatenate([start.intervals, _nothing(len(hull))][:parities])
        counts = np.empty(segments, np.int64)
        policies = np.empty((segments, len(intervals), 2), np.int32)
        done, work = kernels.walk(
            intervals, side.box, np.array(start.law), *side._arcs, graph.classes, self._slack,
            self._most, hull, found, at, counts, policies,
        )  # fmt: skip
        return done, work, counts, policies

    @cached_property
    def upper(self) -> FloatArray:
        """Largest log ratios, shape (classes, labels, 2, 2)."""
        return self._by_class(log_ratios([self.hull]))

    @cached_property
    def attained(self) -> FloatArray:
        """Log ratios that were met."""
        return self._by_class(log_ratios(self.found))

    def _by_class(self, table: FloatArray) -> FloatArray:
        graph = self.side.graph
        return table.reshape(graph.classes, graph.labels, 2, 2)

    def trace(self, place: int, label: int, value: int) -> Trace:
        """How the best ratio of a node for a value is attained, as nearly as blocks of steps
        allow.
        """
        node = place * self.side.graph.labels + label
        which = _best_of([found[node] for found in self.found], value)
        start, parities = self.starts[which], self.side._parities
        counts, policies = self._policies(which)
        segment, parity = divmod(int(self._at[which][node, value]), parities)
        nodes, inner = len(self.hull), self.side._inner
        arcs: list[int] = []
        runs: list[Run] = []
        at_node, end = parity * nodes + node, value
        while segment > 0:
            segment -= 1
            left, policy = int(counts[segment]), policies[segment]
            seen: dict[tuple[int, int], int] = {}
            path: list[int] = []
            # After a block a node may be asked for that was not met: then the attack is a shorter
            # one.
            while left > 0 and policy[at_node, end] >= 0:
                if (at_node, end) in seen and left > 1:
                    arcs += path[: seen[at_node, end]]
                    cycle = path[seen[at_node, end] :]
                    runs += [*_folded(arcs), (tuple(cycle), 1 + left // len(cycle))]
                    arcs, path, seen, left = [], [], {}, left % len(cycle)
                    if left == 0:
                        break
                seen[at_node, end] = len(path)
                arc, end = divmod(int(policy[at_node, end]), 2)
                other = (parities - 1 - at_node // nodes) if parities == 2 else 0
                at_node = other * nodes + int(inner[arc])
                path.append(arc)
                left -= 1
            arcs += path
        return Trace(start.known, at_node % nodes, end, _merged([*runs, *_folded(arcs)]))


class AtPlaces:
    """The intervals at given distances from a start."""

    def __init__(self, side: Side, start: Start, depth: int, first: int, kept: bool) -> None:
        self.side, self.start, self._depth, self._first, self._kept = (
            side,
            start,
            depth,
            first,
            kept,
        )
        labels = side.graph.labels
        self.found = np.empty((depth + 1, labels, 2))
        self._far = np.empty((depth + 1, labels, 2), np.int64)
        self.work = (len(side.graph.source) + 16) * depth
        self._run(np.zeros((0, len(start.intervals), 2), np.int32))

    def _run(self, policies: Any) -> None:
        side, graph = self.side, self.side.graph
        kernels.table(
            self.start.intervals, side.box, np.array(self.start.law), *side._arcs, self._depth,
            graph.classes, graph.labels, self._first, 1 if side.past else -1, self._kept,
            self.found, self._far, policies,
        )  # fmt: skip

    @cached_property
    def _policies(self) -> Any:
        policies = np.zeros((self._depth, len(self.start.intervals), 2), np.int32)
        self._run(policies)
        return policies

    def trace(self, depth: int, label: int, value: int) -> Trace:
        """How an end of the interval of a label is attained at a distance."""
        side, graph = self.side, self.side.graph
        place = (self._first + (depth if side.past else -depth)) % graph.classes
        node, end, arcs = place * graph.labels + label, value, []
        for step in range(int(self._far[depth, label, value]) - 1, -1, -1):
            arc, end = divmod(int(self._policies[step, node, end]), 2)
            arcs.append(arc)
            node = int(side._inner[arc])
        return Trace(self.start.known, node, end, tuple(_folded(arcs)))


def log_ratios(odds: Sequence[FloatArray]) -> FloatArray:
    """Largest log ratios ``[..., value, other]`` from intervals of odds, shape (..., 2), of several
    starts.

    -inf: the node cannot be met with both values possible.
    """
    low = np.min([one[..., 0] for one in odds], axis=0)
    high = np.max([one[..., 1] for one in odds], axis=0)
    found = np.full((*low.shape, 2, 2), -np.inf)
    with np.errstate(divide="ignore"):
        found[..., 1, 0], found[..., 0, 1] = np.log(np.maximum(high, 0)), -np.log(low)
    return found


def _best_of(intervals: Sequence[FloatArray], value: int) -> int:
    """Which of several intervals of a node reaches furthest for a value."""
    return int(np.argmax([high if value else -low for low, high in intervals]))


def best_of(tables: Sequence[AtPlaces], depth: int, label: int, value: int) -> AtPlaces:
    """Which of several starts attains most for a label at a distance."""
    return tables[_best_of([one.found[depth, label] for one in tables], value)]


def _nothing(nodes: int) -> FloatArray:
    """Empty intervals."""
    intervals = np.empty((nodes, 2))
    intervals[:, 0], intervals[:, 1] = np.inf, -1.0
    return intervals


def _merged(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Runs of which no two neighbours repeat the same pattern."""
    return tuple(
        (pattern, sum(count for _, count in group))
        for pattern, group in groupby(runs, key=lambda run: run[0])
    )


def _folded(arcs: Sequence[int]) -> Iterator[Run]:
    """Patterns of arcs and their repetitions that make up a sequence."""
    sequence = np.array(arcs, np.int64)
    sizes, counts = np.empty_like(sequence), np.empty_like(sequence)
    found = kernels.fold(sequence, MOST_FOLDED, sizes, counts)
    at = 0
    for size, count in zip(sizes[:found].tolist(), counts[:found].tolist(), strict=True):
        yield tuple(arcs[at : at + size]), count
        at += size * count


MOST_FOLDED = 64  # points; patterns of at most so many are looked for in an attack
