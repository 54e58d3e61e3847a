"""Cases of a search: a pair of values of the target at one place, with what is laid out so far."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters.graph import Side
from chainveil.privacy.letters.sides import Reports

# Turn by turn: nodes for each depth and label.
NODES = (6, 16, 32, 64, 96, 144, 216, 324, 486, 729, 1093, 1640, 2460, 3690)
# Turns of points that report before the silent ones have any.
EARLY_TURNS = 3
# Of words that attain the same up to this, the shortest is shown.
SAME = 1e-13

Pair = tuple[int, int]


@dataclass(frozen=True)
class Half:
    """One side of an attack: its reports from the target outwards and what is known at its end.

    ``points`` is the target's index on the left, and on the right the number of points behind it.
    """

    value: float
    points: int
    reports: tuple[Reports, ...]
    known: int | None
    label: int


class Nothing:
    """The left side of a target before any report: it tells nothing."""

    def __init__(self, points: int) -> None:
        self.points, self.nodes = points, 0

    def upper_by_points(self, points: int) -> FloatArray:
        """Zero from the target's index on."""
        return np.where(np.arange(points + 1) >= self.points, 0.0, -np.inf)

    def lower_by_points(self, points: int) -> FloatArray:
        """The same: it is attained."""
        return self.upper_by_points(points)

    def half(self, points: int) -> Half:
        """No report, nothing known."""
        return Half(0.0, self.points, (), None, -1)

    def improve(
        self, turn: int, low: float, tolerance: float, left: int, every_length: bool
    ) -> None:
        """Nothing to improve."""


class Laid:
    """One side of one case: the best graph so far."""

    def __init__(self, make: Callable[..., Side]) -> None:
        self._make, self.turn = make, -1
        self._side: Side | None = None
        # Words that are worth up to this much may have been left out, since they did not matter.
        self._left_out = -math.inf
        # What the side is worth at most, as was shown otherwise.
        self.most = math.inf
        # What it seems to be worth, before anything is shown.
        self.hoped = math.inf
        # Whether some word seems to come close to that.
        self.raised = False
        # A word that was found otherwise, if it is worth more than all of the graph.
        self._better: Side | None = None
        self._upper: FloatArray | None = None
        self._lower: FloatArray | None = None

    @property
    def side(self) -> Side:
        """The graph, which is made when it is first asked for: many cases never are."""
        if self._side is None:
            self._side = self._make()
        return self._side

    @property
    def nodes(self) -> int:
        """Nodes of the graph."""
        return self.side.nodes

    @property
    def attained(self) -> float:
        """What the best word so far is worth, at least nothing."""
        made = self._better or self._side
        return 0.0 if made is None else max(0.0, made.best)

    def improve(
        self, turn: int, low: float, tolerance: float, left: int, every_length: bool
    ) -> None:
        """Lay the side out with the nodes of a turn; words below ``low`` do not matter."""
        if turn <= self.turn or left <= 0:
            return
        most = NODES[turn]
        nearest = self.side.first_that_matters(low) if every_length and turn > 0 else 0
        fresh = (self._better or self.side).fresh(nearest)
        fresh.build(tolerance, most, low, min(left, 1 << 20))
        # What the side before left out, this one does not see either.
        self._left_out = max(self._left_out, low)
        if fresh.priors.worth is not None:
            bound = max(fresh.settle(None), self._left_out)
            fresh.priors.worth.learn(fresh.pair, fresh.place, bound)
        self._side, self.turn, self._better = fresh, turn, None
        self._upper = self._lower = None

    def try_word(self, word: list[int]) -> None:
        """Keep a word, improved letter by letter, if it is worth more than all of the graph."""
        found = self._make(word=word).fresh(0)
        if found.best > (self._better or self.side).best:
            self._better, self._lower = found, None

    def upper_by_points(self, points: int) -> FloatArray:
        """Bounds for words of up to 0, 1, … points."""
        if self._upper is None or len(self._upper) != points + 1:
            if points == 0 and self.side.allowed.limit is None:
                self._upper = np.array([self.side.settle(None)])
            else:
                self._upper = self.side.table(points)
        return np.minimum(self._upper, self.most)

    def lower_by_points(self, points: int) -> FloatArray:
        """What words of up to 0, 1, … points attain."""
        if self._lower is None or len(self._lower) != points + 1:
            if points == 0 and self.side.allowed.limit is None:
                self._lower = np.array([(self._better or self.side).best])
                return self._lower
            attained = self.side.attained(points)
            if self._better is not None:
                attained = np.maximum(attained, self._better.attained(points))
            self._lower = np.maximum.accumulate(attained)
        return self._lower

    def half(self, points: int) -> Half:
        """The best word of up to ``points`` points."""
        sides = [self.side] if self._better is None else [self.side, self._better]
        side = max(sides, key=lambda one: float(one.lower(points)[0].max()))
        value, node, kind = side.lower(points)
        place = int(np.argmax(value >= value.max() - SAME))
        which = int(node[place]), int(kind[place])
        reports, known = side.read(*which)
        label = int(side.graph.label[which[0]])
        taken = side.used(*which)
        return Half(float(value[place]), taken, tuple(reports), known, label)


@dataclass
class Case:
    """One pair of values at one place, with its bounds."""

    pair: Pair
    place: tuple[int, int]
    left: Laid | Nothing
    right: Laid
    reports: bool
    turn: int = -1
    upper: float = math.inf
    # What is attained, and how the room there is for it is divided.
    lower: float = -math.inf
    divided: tuple[int, int] = (0, 0)
    measured: bool = False
    # Functionals for each layer and label when the sides are enclosed by cones, and whether they
    # were asked for an attack.
    width: int = 1
    sought: bool = False
    # Nodes with which cones found no bound; whether cases of other labels were bounded together
    # with this one, and asked for an attack.
    in_vain: int = 0
    bounded_together: bool = False
    sought_together: bool = False
    # Whether cones gave a bound, and whether more functionals did not bring it closer.
    enclosed: bool = False
    stalls: bool = False

    @property
    def nodes(self) -> int:
        """Nodes of both graphs."""
        return self.left.nodes + self.right.nodes
