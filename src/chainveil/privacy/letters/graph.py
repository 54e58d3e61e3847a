"""The words on one side of a target for one pair of its values, and how far they may be worth.

``words`` holds the compiled search; here are its arrays, the priors that each depth brings, and
what both bounds are for words that take up a given number of points.
"""

from __future__ import annotations

import math

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters import words
from chainveil.privacy.letters.arrays import Tables, empty, no_nodes
from chainveil.privacy.letters.climb import climb
from chainveil.privacy.letters.priors import NEVER, Allowed, Priors
from chainveil.privacy.letters.sides import IntArray, Reports, Spelling
from chainveil.privacy.letters.tables import TableMaker

# Nodes and depths that are made room for at first; both double as they are needed.
FIRST_NODES, FIRST_DEPTHS = 8, 16
# Tables of more depths are not kept.
SHARED_DEPTHS = 4096
# Depths beyond which no word is followed.
MOST_DEPTHS = 1 << 15
UNIT = words.UNIT
# Words whose values differ by less are worth the same.
ALIKE = 1e-10
# Words of more letters take long to improve: so many of them are, each with an end of its own.
LONG, MOST_LONG = 256, 2


class Side:
    """One side for a pair (a, b), a residue of the target's index and a label of the target.

    Words that end before the depth ``nearest`` are known to be worth too little to matter; the
    bounds are for the others.
    """

    def __init__(
        self,
        spelling: Spelling,
        priors: Priors,
        pair: tuple[int, int],
        place: tuple[int, int],
        allowed: Allowed,
        nearest: int = 0,
        word: list[int] | None = None,
    ) -> None:
        self.spelling, self.priors, self.pair, self.place = spelling, priors, pair, place
        self.allowed, self.nearest = allowed, nearest
        self._open(word or [])

    def _open(self, word: list[int]) -> None:
        """Nodes of the target and of one word."""
        depths, nodes = FIRST_DEPTHS, FIRST_NODES
        while depths < len(word) + 2:
            depths *= 2
        while nodes < len(word) + 2:
            nodes *= 2
        self.tables = self._tables(depths)
        self.graph = graph = empty(nodes, self.tables)
        graph.rows[nodes] = self._rows(0)[0]
        graph.whole[nodes, [words.LABEL, words.PARENT, words.LETTER]] = self.place[1], -1, -1
        letters, none = np.array(word, np.int64), np.zeros((len(word) + 1, 2))
        words.build(graph, self.tables, -1, len(word), none, 0, none[0], letters)
        graph.real[0, words.REACH] = 0.0
        self._led = self.nodes - 1

    def _rows(self, letters: int) -> FloatArray:
        """Room for the rows of a word, behind those of the target."""
        spelling = self.spelling
        first = np.eye(len(spelling.matrix)) if spelling.is_left else spelling.matrix
        rows = np.zeros((letters + 1, 4, len(first)))
        rows[0, : words.UNDER + 1] = first[list(self.pair)]
        return rows

    def fresh(self, nearest: int) -> Side:
        """The same side, not laid out yet but for the best word so far."""
        # The target alone is no word.
        word = self.climbed() if self.nodes > 1 else []
        return Side(self.spelling, self.priors, self.pair, self.place, self.allowed, nearest, word)

    def climbed(self) -> list[int]:
        """The best word, improved letter by letter."""
        best, letters, long = -np.inf, [], 0
        attained = self.graph.attained[: self.nodes, : len(self.spelling.matrix) + 1]
        most = attained.max(axis=0)
        for kind in np.argsort(-most, kind="stable").tolist():
            if math.isfinite(most[kind]) and long < MOST_LONG:
                # The shortest of the best: words that go on repeating themselves gain a last digit.
                best_ones = np.flatnonzero(attained[:, kind] >= most[kind] - ALIKE)
                node = int(best_ones[np.argmin(self.graph.depth[best_ones])])
                word = np.array(self.word(node), np.int64)
                long += len(word) > LONG
                value = self._climb(word, kind, int(self.graph.whole[node, words.ENDING]))
                if value > best:
                    best, letters = value, word.tolist()
        return letters

    def _climb(self, word: IntArray, kind: int, ending: int) -> float:
        """Improve a word in place; what it is then worth with an end of this kind."""
        count, states, tables = len(word), len(self.spelling.matrix), self.tables
        labels = np.full(count + 1, self.place[1])
        for depth, letter in enumerate(word):
            labels[depth + 1] = tables.next[tables.phase[depth], labels[depth], letter]
        after = np.zeros((count + 3, states))
        after[count] = np.eye(states)[kind] if kind < states else 0.0
        if kind == states:
            after[count] = tables.ends[tables.phase[count], labels[count], ending]
        rows = self._rows(count)
        found = climb(tables, rows, after, word, labels, kind < states)
        return float(found + tables.prior[count, kind])

    def first_that_matters(self, low: float) -> int:
        """The least depth at which a side may end and be worth more than ``low``."""
        self.settle(None)
        graph, count = self.graph, self.nodes
        depth = graph.depth
        # No way leads to some nodes, whatever they are worth.
        least = np.full(len(graph.reach), np.inf)
        np.subtract(low, graph.reach, out=least, where=graph.reach > -np.inf)
        matters = graph.attained[:count].max(axis=1) > least
        first = int(depth[matters].min(initial=len(self.tables.phase)))
        closed = graph.kids[:count, 0] == -1
        cut = closed & (graph.bound > least)
        first = min(first, int(depth[cut].min(initial=first)) + 1)
        letters = np.arange(graph.kids.shape[1])[None, :]
        opened = self.tables.counts[0, self.tables.phase[depth], graph.label][:, None]
        lost = (graph.kids[:count] == words.CLOSED) & (letters < opened) & ~closed[:, None]
        lost &= graph.cost[:count] > least[:, None]
        return min(first, int(depth[lost.any(axis=1)].min(initial=first)) + 1)

    @property
    def nodes(self) -> int:
        """How many words have a node of their own."""
        return int(self.graph.made[0])

    @property
    def upper(self) -> float:
        """Bound on what the side is worth, in as much room as the last :meth:`refine` had."""
        return float(self.graph.real[0, words.BEST])

    @property
    def best(self) -> float:
        """What the best word attains."""
        return float(self.graph.attained[: self.nodes].max())

    def build(self, tolerance: float, most: int, low: float, nodes: int) -> None:
        """Lay out the words, until the bounds of what lies further out do not matter."""
        limit = self.allowed.limit
        attained = np.full(1 if limit is None else min(limit, 2 * MOST_DEPTHS) + 1, low)
        first, last, letters = 0, FIRST_DEPTHS - 1, np.zeros(0, np.int64)
        while first < MOST_DEPTHS:
            far = 10 + np.arange(len(self.tables.phase))
            share = tolerance * np.stack([1 - 10 / far, 5 / far**2], axis=1)
            first = words.build(
                self.graph, self.tables, first, last, share, most, attained, letters
            )
            furthest = self.allowed.furthest
            if first == last and not self._is_settled(last, attained, tolerance):
                if furthest is not None and last >= furthest:
                    return
                if self._is_unbounded(last):
                    return
                last = 2 * last + 1
                if last >= len(self.tables.phase):
                    self._deepen()
            elif first < last and self.nodes < nodes and self._waits(first):
                self._widen(2 * len(self.graph.kids))
            else:
                return

    def _waits(self, depth: int) -> bool:
        """Whether some node of this depth has letters that lead on."""
        there = self.graph.newest[depth, :, 0] >= 0
        return bool(np.any(there & (self.tables.counts[0, self.tables.phase[depth]] > 0)))

    def _is_unbounded(self, depth: int) -> bool:
        """Whether no bound is in sight: two values that never meet again in a periodic chain."""
        there = np.flatnonzero(self.graph.depth == depth)
        return depth > 8 * len(self.spelling.matrix) ** 2 and bool(
            np.isinf(self.graph.bound[there]).all()
        )

    def _is_settled(self, depth: int, low: FloatArray, tolerance: float) -> bool:
        """Whether what may follow the words of a depth is worth no more than is attained."""
        graph, count = self.graph, self.nodes
        reached = graph.reach > -np.inf
        there = np.flatnonzero((graph.depth == depth) & reached)
        best = (graph.bound[there] + graph.reach[there]).max(initial=-np.inf)
        met = np.where(reached, graph.reach, 0.0)[:, None] + graph.attained[:count]
        met[~reached] = -np.inf
        if self.allowed.limit is not None:
            # Of words with no more points than those that may follow.
            used = self.tables.used[graph.depth, graph.label, : met.shape[1]]
            met = np.where(used <= depth, met, -np.inf)
        lowest = float(low[min(depth, len(low) - 1)])
        return bool(best <= max(lowest, met.max()) + tolerance / 4)

    def settle(self, room: int | None) -> float:
        """The bound within ``room`` points."""
        tables = self.tables
        counts = tables.counts[0, tables.phase]
        words.settle(self.graph, tables.used, counts, NEVER - 1 if room is None else room)
        return self.upper

    def _deepen(self) -> None:
        """Twice as many depths."""
        graph = self.graph
        self.tables = self._tables(2 * len(self.tables.phase))
        newest = no_nodes(self.tables)
        newest[: len(graph.newest)] = graph.newest
        self.graph = graph._replace(newest=newest)

    def _widen(self, nodes: int) -> None:
        """Room for so many nodes."""
        graph, larger = self.graph, empty(nodes, self.tables)
        for old, new in zip(graph[1:-1], larger[1:-1], strict=True):
            new[: len(old)] = old
        self.graph = larger._replace(made=graph.made, newest=graph.newest)

    def lower(self, points: int) -> tuple[FloatArray, IntArray, IntArray]:
        """What words of up to 0, 1, … points attain at most, and which node and kind does.

        Where there is no limit, the last entry holds for any number of points.
        """
        graph, tables = self.graph, self.tables
        value = np.full(points + 1, -np.inf)
        node, kind = np.zeros(points + 1, np.int64), np.zeros(points + 1, np.int64)
        for which in range(graph.attained.shape[1]):
            used = tables.used[graph.depth, graph.label, which]
            at = np.minimum(used, points) if self.allowed.limit is None else used
            attained = graph.attained[: self.nodes, which]
            there = np.flatnonzero((attained > -np.inf) & (at <= points))
            # Of those with as many points, the best one is written last.
            there = there[np.argsort(attained[there], kind="stable")]
            there = there[attained[there] >= value[at[there]]]
            value[at[there]], node[at[there]], kind[at[there]] = attained[there], there, which
        return value, node, kind

    def attained(self, points: int) -> FloatArray:
        """What words of 0, 1, … points attain, as in :meth:`lower`."""
        graph = self.graph
        attained = graph.attained[: self.nodes]
        used = self.tables.used[graph.depth, graph.label, : attained.shape[1]]
        at = np.minimum(used, points) if self.allowed.limit is None else used
        there = (attained > -np.inf) & (at <= points)
        value = np.full(points + 1, -np.inf)
        np.maximum.at(value, at[there], attained[there])
        return value

    def table(self, points: int) -> FloatArray:
        """Bounds for words of up to 0, 1, … points, after a settling without limit.

        Where more than ``points`` are allowed, the last entry holds for any number of them.
        """
        self.settle(None)
        graph, tables, count = self.graph, self.tables, self.nodes
        bound = np.full(points + 1, -np.inf)
        depth, label, reach, kids = graph.depth, graph.label, graph.reach, graph.kids[:count]
        reached = reach > -np.inf
        attained = graph.attained[:count][reached]
        ends = tables.used[depth[reached], label[reached], : attained.shape[1]]
        used = self._in_table(ends, points)
        fits = used <= points
        np.maximum.at(bound, used[fits], (reach[reached, None] + attained)[fits])
        closed = kids[:, 0] == -1
        opened = tables.counts[0, tables.phase[depth], label]
        lost = (kids == words.CLOSED) & (np.arange(kids.shape[1]) < opened[:, None])
        links = np.where(lost, graph.cost[:count], -np.inf).max(axis=1)
        behind = np.where(closed, graph.bound, links)
        further = self._in_table(tables.used[depth, label, -1], points)
        fits = (further <= points) & reached
        np.maximum.at(bound, further[fits], reach[fits] + behind[fits])
        return np.maximum.accumulate(bound)

    def _in_table(self, used: IntArray, points: int) -> IntArray:
        """Entries of a table for ``points`` points: more of them count as the last, if allowed."""
        limit = self.allowed.limit
        if limit is not None and limit <= points:
            return used
        return np.where(used < NEVER, np.minimum(used, points), used)

    def used(self, node: int, kind: int) -> int:
        """Points that a node's word takes up with an end."""
        return int(self.tables.used[self.graph.depth[node], self.graph.label[node], kind])

    def word(self, node: int) -> list[int]:
        """The letters of a node's word, from the target outwards."""
        letters, whole = [], self.graph.whole
        while node > self._led:
            letters.append(whole.item(node, words.LETTER))
            node = whole.item(node, words.PARENT)
        # The nodes of the word that the graph began with lie in a row.
        return [*whole[1 : node + 1, words.LETTER].tolist(), *reversed(letters)]

    def read(self, node: int, kind: int) -> tuple[list[Reports], int | None]:
        """The reports of a node's word from the target outwards, and the known value at its end.

        On the right they are those of the points behind the target, on the left of the target
        itself and the points before it; those of the end, if it has any, are included.
        """
        label, reports = self.place[1], []
        for depth, letter in enumerate(self.word(node)):
            found = self.spelling.letters[int(self.tables.phase[depth]), label][letter]
            reports.append(found.reports)
            label = found.following
        if kind < len(self.spelling.matrix):
            return reports, kind
        phase = int(self.tables.phase[self.graph.depth[node]])
        if self.spelling.is_left:
            reports.append(
                self.spelling.ends[phase, label][int(self.graph.whole[node, words.ENDING])][1]
            )
        return reports, None

    def _tables(self, depths: int) -> Tables:
        """What the search reads; all labels, and sides laid out again, share most of them.

        They do not where what follows a point is told more of on the way.
        """
        maker = TableMaker(
            self.spelling, self.priors, self.pair, self.place[0], self.allowed, self.nearest
        )
        shared = depths <= FIRST_DEPTHS or (self.nearest == 0 and depths <= SHARED_DEPTHS)
        if not shared or self.priors.shares is not None:
            return maker.make(depths)
        place = self.pair, self.place[0], self.allowed, min(self.nearest, depths - 1), depths
        if place not in self.priors.tables:
            self.priors.tables[place] = maker.make(depths)
        return self.priors.tables[place]  # type: ignore[no-any-return]
