"""Passes over the words of a chain of any order, each finer than the one before.

A pass lays out the words level by level. Ways that the nodes of earlier passes show to be worth
no more than what is attained are not followed again, so that a finer pass looks at fewer words.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.orders import graph as graphs
from chainveil.privacy.orders import words
from chainveil.privacy.orders.graph import Graph, Tables
from chainveil.privacy.orders.numbers import Alphabet, Letter
from chainveil.privacy.problem import Effort

# What covers may cost along a way in the first pass, and by how much less in each that follows.
FIRST_COST, FALL = 1.0, 0.5
# Nodes and levels that are made room for at first, and levels beyond which no word is followed.
FIRST_NODES, FIRST_LEVELS, MOST_LEVELS = 512, 64, 4096
# Nodes of one label on one level, and entries of their rows together: beyond them words are led
# to the cheapest node there is.
MOST_ALIKE, MOST_ALIKE_ENTRIES = 1000, 32_000
# Half of what covers may cost is spent within so many levels.
HALFWAY = 20
# Bytes for the rows of all nodes.
MOST_BYTES = 1 << 30
# Passes finer than the tolerance without a better bound after which the search is given up.
PATIENCE = 3


@dataclass
class Search:
    """A search and what it has found so far.

    Attributes
    ----------
    alphabet : Alphabet
    points : int or None
        Number of points of the series; None: any.
    effort : Effort
    upper, lower : float
        Bound on the loss, and what a word attains up to rounding.
    """

    alphabet: Alphabet
    points: int | None
    effort: Effort
    upper: float = math.inf
    lower: float = 0.0
    tables: Tables = field(init=False)
    graph: Graph = field(init=False)
    _begun: float = field(default_factory=time.monotonic)
    _cost: float = FIRST_COST
    # Comparisons of words that are made in a second: few, until it is known.
    _rate: float = 1e3

    def __post_init__(self) -> None:
        self.tables = graphs.make_tables(self.alphabet.numbers, self.alphabet)
        self.graph = graphs.empty(self.tables, FIRST_NODES, FIRST_LEVELS)
        most = MOST_LEVELS * 2 if self.points is None else self.points - 1
        self.graph.made[words.LIMIT] = most

    def run(self, enough: float = math.inf) -> None:
        """Pass after pass, until the bounds are close, the lower above enough, or a limit strikes.

        With another effort it goes on where it stopped.
        """
        idle = 0
        while idle < PATIENCE and self.lower <= enough and not (self.is_close or self._is_over()):
            before = self.upper
            finished = self._pass(self._cost)
            self.upper = min(self.upper, float(words.settle(self.graph, self.tables)))
            idle = 0 if self.upper < before or self._cost > self.effort.tolerance else idle + 1
            if not finished:
                return
            self._cost *= FALL

    @property
    def is_close(self) -> bool:
        """Whether the bounds are as close as they shall be."""
        return self.upper == self.lower or self.upper - self.lower <= self.effort.tolerance

    def _is_over(self) -> bool:
        limit = self.effort.max_seconds
        # The first pass begins in any case: without a word there is no bound.
        late = limit is not None and self.nodes > 0 and time.monotonic() - self._begun > limit
        return late or self.nodes >= self._most_nodes

    @property
    def nodes(self) -> int:
        """Words that have a node, in all passes together."""
        return int(self.graph.made[words.COUNT])

    @property
    def _most_nodes(self) -> int:
        return min(self.effort.max_nodes, MOST_BYTES // (int(self.graph.rows[0].nbytes) + 256))

    def _pass(self, cost: float) -> bool:
        """One pass; False where a limit struck before its end."""
        graph = self.graph
        graph.made[words.BASE] = self.nodes
        graph.newest[:, :, 1] = 0
        self._make_room(self.alphabet.right)
        roots = [label for label in range(self.alphabet.right) if self.alphabet.is_root(label)]
        graphs.add_roots(self.graph, self.tables, roots)
        margin = max(cost, self.effort.tolerance) / 4
        low = np.array([self.lower, margin, -np.inf, np.inf])
        for level in range(min(MOST_LEVELS, int(self.graph.made[words.LIMIT]) + 1)):
            found = self._fill(level, cost, low)
            self.lower = max(self.lower, float(low[0]))
            if found < 0 or self._is_over():
                return False
            if found == 0 and level > 0:
                return True
        return self.points is not None and self.points <= MOST_LEVELS

    def _fill(self, level: int, cost: float, low: FloatArray) -> int:
        """Both sides of a level; how many words there are, -1: too many."""
        if level >= len(self.graph.newest):
            self.graph = graphs.deepened(self.graph)
        share = cost * np.array([level, HALFWAY / 2 / (HALFWAY + level)]) / (HALFWAY + level)
        total = 0
        for is_right in (True, False) if level else (False,):
            alike = min(MOST_ALIKE, MOST_ALIKE_ENTRIES // self.graph.rows.shape[2])
            arguments = (level, is_right, share, alike, low)
            found = self._in_time(arguments)
            if found < 0:
                if not self._make_room(-found):
                    return -1
                found = self._in_time(arguments)
            total += found
        return total

    def _in_time(self, arguments: tuple[int, bool, FloatArray, int, FloatArray]) -> int:
        """Fill one side of a level with as many comparisons as there seems to be time for."""
        low, begun = arguments[-1], time.monotonic()
        left = math.inf if self.effort.max_seconds is None else self.effort.max_seconds
        allowed = max(1e3, self._rate * (left - (begun - self._begun)))
        low[3] = allowed
        found = words.fill(self.graph, self.tables, *arguments)
        taken = time.monotonic() - begun
        if taken > 0.01 and allowed < math.inf:
            self._rate = (allowed - low[3]) / taken
        return int(found)

    def _make_room(self, needed: int) -> bool:
        """Room for so many more nodes; False where there may be none."""
        count, room = self.nodes, len(self.graph.whole)
        if count + needed > room:
            if count + needed > self._most_nodes:
                return False
            self.graph = graphs.widened(self.graph, self.tables, max(2 * room, count + needed))
        return True

    def word(self) -> Word:
        """The word that attains most."""
        node = int(np.argmax(self.graph.real[: self.nodes, words.ATTAINED]))
        return Word.of(self.alphabet, self.graph, node)


@dataclass(frozen=True)
class Word:
    """Reports and known values from the first point to the last.

    Attributes
    ----------
    target : int
    pair : tuple of int
        The value that the word speaks for, and the other.
    reports : tuple of int
    known : dict of int to int
    """

    target: int
    pair: tuple[int, int]
    reports: tuple[int, ...]
    known: dict[int, int]

    @classmethod
    def of(cls, alphabet: Alphabet, graph: Graph, node: int) -> Word:
        """The word of a node, as its letters spell it."""
        whole = graph.whole
        end, ending = int(whole[node, words.LABEL]), int(whole[node, words.ENDING])
        letters = []
        while whole[node, words.PARENT] >= 0:
            parent = int(whole[node, words.PARENT])
            label, letter = int(whole[parent, words.LABEL]), int(whole[node, words.LETTER])
            letters.append(alphabet.letters[label][letter])
            node = parent
        pair, own, _ = alphabet.read(int(whole[node, words.LABEL]))
        right, left = _sides(letters[::-1])
        if alphabet.numbers.looks_back:
            return cls._looking_back(alphabet, pair, own, right, left, (end, ending))
        reports = [x.report for x in left[:0:-1]] + [x.report for x in (*left[:1], *right)]
        target = len(left) - 1
        known = {target - place: x.known for place, x in enumerate(left) if place}
        known |= {target + 1 + place: x.known for place, x in enumerate(right)}
        return cls(target, pair, tuple(reports), _only(known))

    @classmethod
    def _looking_back(
        cls, alphabet: Alphabet, pair: tuple[int, int], own: int, right: list[Letter],
        left: list[Letter], end: tuple[int, int],
    ) -> Word:  # fmt: skip
        """A letter to the left weighs the report before it and names the next one."""
        target = len(left)
        reports = [x.report for x in left[::-1]] + [own] + [x.report for x in right]
        known = {target - place: x.known for place, x in enumerate(left) if place}
        known |= {target + 1 + place: x.known for place, x in enumerate(right)}
        if left:
            known[0] = alphabet.ends(end[0])[end[1]][2]
        return cls(target, pair, tuple(reports), _only(known))


def _sides(letters: list[Letter]) -> tuple[list[Letter], list[Letter]]:
    """Letters to the right of the target, and from the target to the left."""
    turn = next((place for place, x in enumerate(letters) if x.turns), len(letters))
    return letters[:turn], letters[turn:]


def _only(known: dict[int, int]) -> dict[int, int]:
    return {place: value for place, value in known.items() if value >= 0}
