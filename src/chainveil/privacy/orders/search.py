"""Both bounds on the loss of a chain of any order, brought together in two ways.

Words that grow on both sides of the target show what is attained, and bound the loss where few of
them matter (``both_sides``): they are looked at within a width of what is attained, and again
within a smaller one. Where they become many, passes over words that cover each other take turns
with them, so that neither has cost much more than the other (``words``). A pass lays out the words
level by level. Ways that the nodes of earlier passes show to be worth no more than what is attained
are not followed again, so that a finer pass looks at fewer words.

What is done is counted in work, about a microsecond each, and does not depend on the machine; a
limit on seconds, where one is given, comes on top.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.orders import graph as graphs
from chainveil.privacy.orders import words
from chainveil.privacy.orders.both_sides import BothSides
from chainveil.privacy.orders.graph import Graph, Tables
from chainveil.privacy.orders.numbers import Alphabet
from chainveil.privacy.orders.spelling import Word
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
# Work: of a word on both sides, beside the entries of its tables, and entries that make one unit;
# for each node that is allowed; of a first look and a first pass, and by how much more a step may
# take than was expected of it.
ENTRIES_A_WORD, ENTRIES_A_UNIT = 400, 400
WORK_A_NODE = 150
ENTRIES_OF_COMPARISON = 700
FIRST_LOOK, FIRST_PASS, LONGER = 1e5, 1.2e6, 4.0
# How far above what is attained the bound of a pass is, as a share of its cost: the first, mostly.
PASS_SHARE = 0.5
# By how much more a pass may take where the last one did not end; by how much a finer one takes
# more, as long as only one is known, and at least; and entries of a row beyond which it is not
# tried again.
FAILED_PASS, FINER, LEAST_FINER, LONGEST_ROW = 5.0, 4.0, 1.5, 64
# Passes begin behind so much work: their loops take longest to compile.
PASSES_FROM = 1e6
# How many units are done in a second, where seconds are limited and it is not known yet, and at
# least in any case.
FIRST_RATE, LEAST_WORK = 1e5, 1e3
# How near to what is attained words are looked at first, as a share of it, by how much nearer each
# time, and at the least; words become more with this power of it, and more than that if one fails.
FIRST_WIDTH, FIRST_SHARE, NEARER, LEAST_NEARER = 1.2, 0.1, 4.0, 1.2
POWER, LEAST_POWER, STEEPER = 4.0, 1.6, 1.5
# By how much less near, with how much more work, until there is a first bound; a log of too much.
WIDER, MORE_WORK, TOO_MUCH = 4.0, 2.0, 700.0
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
    both_sides: BothSides = field(init=False)
    # The best word on both sides, and what it is worth.
    _found: tuple[float, Word | None] = (-math.inf, None)
    # How near to what is attained words on both sides were bounded, by how much work, and how
    # steeply it seems to grow; the first width, which is not known yet, and its work.
    _width: float = math.inf
    _work: float = 0.0
    _power: float = POWER
    _seen_power: float = POWER
    _first: tuple[float, float] = (FIRST_WIDTH, FIRST_LOOK)
    _cost: float = FIRST_COST
    # Passes that brought nothing, work that was done by passes, and what the next one may take,
    # and takes at least, it seems.
    _idle: int = 0
    _compared: float = 0.0
    _room_for_pass: float = FIRST_PASS
    _least_pass: float = 0.0
    # Work of the last pass that ended, by how much a finer one takes more, it seems, and how far
    # its bound was above what is attained, as a share of its cost.
    _passed: float = 0.0
    _finer: float = FINER
    _pass_share: float = PASS_SHARE
    _until: float = math.inf
    _begun: float = field(default_factory=time.monotonic)
    _rate: float = FIRST_RATE

    def __post_init__(self) -> None:
        self.tables = graphs.make_tables(self.alphabet.numbers, self.alphabet)
        self.both_sides = BothSides(self.alphabet, self.tables, self.points)
        self.graph = graphs.empty(self.tables, FIRST_NODES, FIRST_LEVELS)
        most = MOST_LEVELS * 2 if self.points is None else self.points - 1
        self.graph.made[words.LIMIT] = most

    def run(self, enough: float = math.inf) -> None:
        """Go on until the bounds are close, the lower one is above enough, or a limit strikes.

        With another effort it goes on where it stopped.
        """
        if self._found[1] is None:
            self._keep(*self.both_sides.attack())
        if self.effort.attacks_only:
            return
        self._idle, self._power = 0, self._seen_power
        while not self._is_done(enough):
            width, work = self._next_look()
            if self._is_pass_next(work):
                self._next_pass()
            else:
                self._look(width, work)

    def _is_done(self, enough: float) -> bool:
        return self.lower > enough or self.is_close or self._is_over()

    @property
    def is_close(self) -> bool:
        """Whether the bounds are as close as they shall be."""
        return self.upper == self.lower or self.upper - self.lower <= self.effort.tolerance

    def _is_over(self) -> bool:
        if self._laid_out == 0 and self.upper == math.inf:
            # The first pass begins in any case: without a word there is no bound.
            return False
        is_stuck = self._is_laid_out and self._next_look()[1] == math.inf
        return is_stuck or self._is_late() or self._worked >= self._most_work

    def _is_late(self) -> bool:
        limit = self.effort.max_seconds
        return limit is not None and time.monotonic() - self._begun > limit

    @property
    def _most_work(self) -> float:
        return WORK_A_NODE * self.effort.max_nodes

    @property
    def _most_pass_work(self) -> float:
        return min(self._most_work, self._until)

    @property
    def _worked(self) -> float:
        """Units of work that were done."""
        return self._compared + self.both_sides.looked * self._work_of_a_word

    @property
    def _work_of_a_word(self) -> float:
        return (self.both_sides.entries + ENTRIES_A_WORD) / ENTRIES_A_UNIT

    @property
    def _work_of_a_comparison(self) -> float:
        """About: most of them end early."""
        return 0.1 + math.sqrt(self._row) ** 3 / ENTRIES_OF_COMPARISON

    @property
    def _row(self) -> int:
        """Entries of a row of a pass."""
        return int(self.graph.rows.shape[2])

    def _in_time(self, work: float) -> float:
        """As much of the work as there seems to be time for."""
        if self.effort.max_seconds is None:
            return work
        left = self.effort.max_seconds - (time.monotonic() - self._begun)
        return min(work, max(LEAST_WORK, self._rate * left))

    def _timed(self, begun: float, work: float) -> None:
        taken = time.monotonic() - begun
        if taken > 0.01:
            self._rate = work / taken

    @property
    def _left(self) -> float:
        """Units of work that there is room and, it seems, time for."""
        return self._in_time(self._most_work - self._worked)

    def _next_look(self) -> tuple[float, float]:
        """How near words on both sides are looked at next, and about what work that takes.

        Infinite: nothing nearer is worth a look, or passes have shown more than a first one could.
        """
        if self._width == math.inf:
            width, work = self._first
            width = max(width, FIRST_SHARE * self.lower, self._least_width)
            return width, work if width < self.upper - self.lower else math.inf
        if self._width <= self._least_width:
            return self._width, math.inf
        # Both kinds of bounds tell how near they are; passes may be far nearer than looks can be.
        near = min(self._width, self.upper - self.lower)
        most = self._power * math.log(self._width / near)
        work = self._work * (self._width / near) ** self._power if most < TOO_MUCH else math.inf
        room = work / max(self._left, 1.0)
        # Not so near where that may take all that is left.
        nearer = NEARER ** min(1.0, LEAST_POWER / self._power)
        nearer = nearer if nearer**self._power * room < 1 / NEARER else math.sqrt(nearer)
        width = max(self._least_width, near / nearer, near * room ** (1 / self._power))
        if near < LEAST_NEARER * width and width > self._least_width:
            return near, math.inf
        return width, work * (near / width) ** self._power

    @property
    def _least_width(self) -> float:
        """A little less than what is asked for: rounding comes on top."""
        return 0.98 * self.effort.tolerance

    def _is_pass_next(self, work: float) -> bool:
        """Whether a pass has cost less so far, with the next one, than words on both sides have."""
        looked = self._worked - self._compared
        if self._is_laid_out:
            return False
        if work < math.inf and self._laid_out == 0 and looked + work < PASSES_FROM:
            return False
        return self._compared + self._expected_pass < looked + work

    @property
    def _expected_pass(self) -> float:
        """About what work passes take until one of them shows something new."""
        least = self._least_pass or self._room_for_pass / 2
        shown, known = self._pass_share * self._cost, self.upper - self.lower
        if self._passed == 0 or shown <= known:
            return least
        return least * self._finer ** math.ceil(math.log(known / shown) / math.log(FALL))

    def _look(self, width: float, work: float) -> None:
        """Bring the bound nearer by words on both sides.

        Where they are too many, they are expected to be more for the next time.
        """
        begun, before = time.monotonic(), self._worked
        allowed = min(LONGER * work, self._left)
        most = int(allowed / self._work_of_a_word) + 1
        upper, lower, word = self.both_sides.bound(self.lower, width, most)
        self._timed(begun, self._worked - before)
        self._keep(lower, word)
        self.upper = min(self.upper, upper)
        if upper < math.inf:
            worked = self._worked - before
            if self._width < math.inf:
                self._power = max(1.0, _power(self._width / width, worked / self._work))
                self._seen_power = self._power
            self._width, self._work = width, worked
        elif self._width == math.inf:
            self._first = WIDER * width, MORE_WORK * work
        else:
            self._power *= STEEPER

    def _keep(self, value: float, word: Word | None) -> None:
        if word is not None:
            self._found = value, word
            self.lower = max(self.lower, value)

    @property
    def _is_laid_out(self) -> bool:
        """Whether passes bring nothing more."""
        over = self._idle >= PATIENCE or self._laid_out >= self._most_nodes
        return over or (self.upper < math.inf and self._expected_pass > self._left)

    def _next_pass(self) -> None:
        """The next pass, with what it shows."""
        if self._laid_out == 0:
            self._compile_passes()
        before, worked = self.upper, self._compared
        self._until = self._worked + self._room_for_pass
        finished = self._pass(self._cost)
        shown = float(words.settle(self.graph, self.tables))
        self.upper = min(self.upper, shown)
        fine = self._cost <= self.effort.tolerance
        if not finished:
            # With long rows words of few letters are too many already.
            self._least_pass = self._room_for_pass if self._row <= LONGEST_ROW else math.inf
            self._room_for_pass *= FAILED_PASS
        else:
            passed = self._compared - worked
            if self._passed:
                self._finer = max(LEAST_FINER, passed / self._passed)
            self._passed, self._least_pass = passed, self._finer * passed
            self._pass_share = (shown - self.lower) / self._cost
            self._room_for_pass = max(LONGER * passed, FIRST_PASS)
            self._idle = self._idle + 1 if fine and self.upper == before else 0
            self._cost *= FALL

    def _compile_passes(self) -> None:
        """Load or compile their loops; seconds are those of the search."""
        begun = time.monotonic()
        graph = graphs.empty(self.tables, FIRST_NODES, FIRST_LEVELS)
        graphs.add_roots(graph, self.tables, [0])
        words.fill(graph, self.tables, 1, True, np.zeros(2), 1, np.zeros(4))
        words.settle(graph, self.tables)
        self._begun += time.monotonic() - begun

    @property
    def nodes(self) -> int:
        """Words that were looked at: on both sides, and with a node of their own."""
        return self.both_sides.looked + self._laid_out

    @property
    def _laid_out(self) -> int:
        """Words that have a node, in all passes together."""
        return int(self.graph.made[words.COUNT])

    @property
    def _most_nodes(self) -> int:
        return min(self.effort.max_nodes, MOST_BYTES // (int(self.graph.rows[0].nbytes) + 256))

    def _pass(self, cost: float) -> bool:
        """One pass; False where a limit struck before its end."""
        graph = self.graph
        graph.made[words.BASE] = self._laid_out
        graph.newest[:, :, 1] = 0
        self._make_room(self.alphabet.right)
        roots = [label for label in range(self.alphabet.right) if self.alphabet.is_root(label)]
        graphs.add_roots(self.graph, self.tables, roots)
        margin = max(cost, self.effort.tolerance) / 4
        low = np.array([self.lower, margin, -np.inf, np.inf])
        for level in range(min(MOST_LEVELS, int(self.graph.made[words.LIMIT]) + 1)):
            found = self._fill(level, cost, low)
            self.lower = max(self.lower, float(low[0]))
            if found < 0 or self._is_late() or self._worked >= self._most_pass_work:
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
            found = self._fill_side(arguments)
            if found < 0:
                if not self._make_room(-found):
                    return -1
                found = self._fill_side(arguments)
            total += found
        return total

    def _fill_side(self, arguments: tuple[int, bool, FloatArray, int, FloatArray]) -> int:
        """Fill one side of a level with as many comparisons as are allowed."""
        low, begun = arguments[-1], time.monotonic()
        room = self._in_time(max(1.0, self._most_pass_work - self._worked))
        low[3] = allowed = room / self._work_of_a_comparison
        found = words.fill(self.graph, self.tables, *arguments)
        worked = float(allowed - low[3]) * self._work_of_a_comparison
        self._compared += worked
        self._timed(begun, worked)
        return int(found)

    def _make_room(self, needed: int) -> bool:
        """Room for so many more nodes; False where there may be none."""
        count, room = self._laid_out, len(self.graph.whole)
        if count + needed > room:
            if count + needed > self._most_nodes:
                return False
            self.graph = graphs.widened(self.graph, self.tables, max(2 * room, count + needed))
        return True

    def word(self) -> Word:
        """The word that attains most."""
        value, found = self._found
        attained = self.graph.real[: self._laid_out, words.ATTAINED]
        if found is not None and value >= attained.max(initial=-math.inf):
            return found
        return Word.of(self.alphabet, self.graph, int(np.argmax(attained)))


def _power(nearer: float, more: float) -> float:
    """The power of the width with which work grew, and a little more."""
    return 1.1 * math.log(max(more, 1.0)) / math.log(nearer)
