"""The largest sum of both sides of a target, over its values, its place and its report.

Each pair of values, residue of the target's index and label of its report is one *case*: a left
and a right :class:`~chainveil.privacy.letters.graph.Side`. All cases are laid out coarsely first;
the one with the highest bound is laid out again, with more nodes, until none exceeds what is
attained by more than the tolerance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import permutations, product

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.letters.graph import MOST_DEPTHS, UNIT, Side
from chainveil.privacy.letters.priors import Allowed, Priors
from chainveil.privacy.letters.shares import Shares
from chainveil.privacy.letters.sides import Reports, Script, Spelling
from chainveil.privacy.problem import Effort

# Turn by turn: nodes for each depth and label, and the share of the loss that covers may cost.
NODES = (6, 16, 32, 64, 96, 144, 216, 324, 486, 729, 1093, 1640, 2460, 3690)
LAST_TURN = len(NODES) - 1
# Turns of points that report before the silent ones have any.
EARLY_TURNS = 3
SHARE = 0.3
# Of words that attain the same up to this, the shortest is shown; more points count as so many.
SAME, MOST_SHOWN = 1e-13, 4096

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


@dataclass(frozen=True)
class Attack:
    """The best attack that was found."""

    value: float
    pair: Pair
    left: Half
    right: Half


@dataclass(frozen=True)
class Found:
    """Bound on the loss, the best attack, and how many words got a node."""

    upper: float
    attack: Attack | None
    nodes: int


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

    def __init__(self, make: Callable[[], Side]) -> None:
        self._make, self.turn = make, -1
        self._side: Side | None = None
        self._upper: FloatArray | None = None
        self._lower: FloatArray | None = None
        # Words that are worth up to this much may have been left out.
        self._left_out = -math.inf

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

    def improve(
        self, turn: int, low: float, tolerance: float, left: int, every_length: bool
    ) -> None:
        """Lay the side out with the nodes of a turn; words below ``low`` do not matter."""
        if turn <= self.turn or left <= 0:
            return
        most = NODES[turn]
        nearest = self.side.first_that_matters(low) if every_length and turn > 0 else 0
        fresh = self.side.fresh(nearest)
        fresh.build(tolerance, most, low, min(left, 1 << 20))
        # What the side before left out, this one does not see either.
        self._left_out = max(self._left_out, low)
        if fresh.priors.shares is not None:
            bound = max(fresh.settle(None), self._left_out)
            fresh.priors.shares.learn(fresh.pair, fresh.place, bound)
        self._side, self.turn = fresh, turn
        self._upper = self._lower = None

    def upper_by_points(self, points: int) -> FloatArray:
        """Bounds for words of up to 0, 1, … points."""
        if self._upper is None or len(self._upper) != points + 1:
            if points == 0 and self.side.allowed.limit is None:
                self._upper = np.array([self.side.settle(None)])
            else:
                self._upper = self.side.table(points)
        return self._upper

    def lower_by_points(self, points: int) -> FloatArray:
        """What words of up to 0, 1, … points attain."""
        if self._lower is None or len(self._lower) != points + 1:
            if points == 0 and self.side.allowed.limit is None:
                attained = self.side.graph.attained[: self.nodes]
                self._lower = np.array([attained.max()])
                return self._lower
            self._lower = np.maximum.accumulate(self.side.attained(points))
        return self._lower

    def half(self, points: int) -> Half:
        """The best word of up to ``points`` points."""
        value, node, kind = self.side.lower(points)
        place = int(np.argmax(value >= value.max() - SAME))
        which = int(node[place]), int(kind[place])
        reports, known = self.side.read(*which)
        label = int(self.side.graph.label[which[0]])
        taken = self.side.used(*which)
        return Half(float(value[place]), taken, tuple(reports), known, label)


@dataclass
class Case:
    """One pair of values at one place, with its bounds."""

    pair: Pair
    left: Laid | Nothing
    right: Laid
    reports: bool
    turn: int = -1
    upper: float = math.inf
    measured: bool = False

    @property
    def urgency(self) -> tuple[bool, float]:
        """Which one is laid out next: points that report first, then the highest bound.

        Attacks on points that report are mostly the best, and what they attain leaves little to
        look for at the silent ones.
        """
        return self.reports and self.turn < EARLY_TURNS, self.upper


@dataclass
class Search:
    """The loss of one script against one adversary."""

    script: Script
    adversary: AdversaryName | Adversary
    length: int | None
    effort: Effort
    low: float = 0.0
    best: tuple[Case, int, int] | None = None
    made: int = 0
    started: float = field(default_factory=time.monotonic)
    _kept: list[Case] | None = None

    @cached_property
    def spellings(self) -> tuple[Spelling, Spelling]:
        """The letters of both sides."""
        return self.script.spelling(True), self.script.spelling(False)

    @cached_property
    def priors(self) -> tuple[Priors, Priors]:
        """The powers of the chain on both sides."""
        numbers = self.script.numbers
        found = Priors(numbers, True), Priors(numbers, False)
        if self.adversary == "ignorant" and numbers.is_stationary:
            for one, spelling in zip(found, self.spellings, strict=True):
                one.shares = Shares(numbers, spelling)
        return found

    @cached_property
    def allowed(self) -> list[tuple[Allowed, Allowed]]:
        """Where both sides may end: the ways there are."""
        if isinstance(self.adversary, Adversary):
            return [self._named(self.adversary)]
        room = None if self.length is None else self.length - 1
        if self.adversary != "informed":
            one = Allowed(known=self.adversary == "any", limit=room)
            return [(one, one)]
        known, end = Allowed(end=False, known_at=1, limit=room), Allowed(known=False, end_at=0)
        if self.length == 1:
            return [(end, end)]
        ways = [(end, known), (known, end)] + [(known, known)] * (self.length != 2)
        return ways + [(end, end)] * (self.length is None)

    def _named(self, adversary: Adversary) -> tuple[Allowed, Allowed]:
        target = adversary.target
        before, behind = adversary.nearest
        spans = [target - (before or 0), 0 if behind is None else behind - target]
        if behind is None and self.length is not None:
            spans.append(self.length - 1 - target)
        if max(spans) > MOST_DEPTHS:
            raise NotSupported(
                "adversary: a named adversary on a chain of more than two states is offered up to "
                f"{MOST_DEPTHS} points on either side of its target."
            )
        left = Allowed(known=False, end_at=target, limit=target)
        if before is not None:
            values = self._possible_at(before)
            left = Allowed(end=False, known_at=target - before, limit=target, values=values)
        last = None if self.length is None else self.length - 1 - target
        right = Allowed(known=False, end_at=last)
        if behind is not None:
            right = Allowed(end=False, known_at=behind - target)
        return left, right

    def _possible_at(self, index: int) -> tuple[int, ...]:
        """The values that the point ``index`` may have."""
        possible, step = self.script.numbers.start > 0, self.script.numbers.transition > 0
        while index:
            if index & 1:
                possible = possible @ step
            step, index = step @ step, index >> 1
        return tuple(np.flatnonzero(possible).tolist())

    def cases(self) -> list[Case]:
        """All pairs, residues and labels, and all ways to end."""
        script, (left, right) = self.script, self.spellings
        found = []
        places = product(range(script.every), range(script.labels), self.allowed)
        for residue, label, allowed in places:
            early = script.has_none and label == script.labels - 1
            if not self._fits(residue, early, allowed):
                continue
            for pair in permutations(range(script.numbers.states), 2):
                place = residue, label
                first: Laid | Nothing = Nothing(residue)
                if not early:
                    first = Laid(partial(Side, left, self.priors[0], pair, place, allowed[0]))
                second = Laid(partial(Side, right, self.priors[1], pair, place, allowed[1]))
                reports = script.every > 1 and residue == script.first
                found.append(Case(pair, first, second, reports))
        return found

    def _fits(self, residue: int, early: bool, allowed: tuple[Allowed, Allowed]) -> bool:
        """Whether a target may stand there, with or without a report before it."""
        script = self.script
        if early and not (script.missing or residue < script.first):
            return False
        if isinstance(self.adversary, Adversary):
            target = self.adversary.target
            is_early = target < script.first and bool(script.sticky)
            return target % script.every == residue and (script.missing or early == is_early)
        if self.adversary != "informed":
            return True
        left, right = allowed
        if early and left.known != (residue > 0) and not script.missing:
            return False
        last = self.length is not None and right.end
        return not last or (self.length - 1) % script.every == residue  # type: ignore[operator]

    @property
    def points(self) -> int:
        """Entries of the tables by points; the last one stands for more of them as well."""
        if isinstance(self.adversary, Adversary):
            ends = (one.furthest for one in self.allowed[0])
            return max([MOST_SHOWN, *(end for end in ends if end is not None)]) + 2
        return 0 if self.length is None else min(MOST_DEPTHS, self.length - 1)

    def run(self, enough: float = math.inf) -> Found:
        """Bring both bounds together as far as the effort allows, or the lower above ``enough``.

        With another effort it goes on where it stopped.
        """
        if self._kept is None:
            self._kept = self.cases()
            if not self._every_length:
                self._measure_rest()
        cases = self._kept
        while self._left > 0 and self.low <= enough:
            still = [case for case in cases if self._is_open(case) and case.turn < LAST_TURN]
            if self.effort.attacks_only and self.script.every > 1:
                still = [case for case in still if case.reports]
            if not still:
                break
            case = max(still, key=lambda case: case.urgency)
            if not case.measured:
                self._measure(case)
                continue
            self._lay_out(case)
            self.made += case.left.nodes + case.right.nodes
            self._measure(case)
        if self.low <= enough and not self.effort.attacks_only:
            self._measure_rest()
        upper = max((case.upper for case in cases), default=-math.inf)
        if upper == -math.inf:
            # No target has two values that can both occur.
            return Found(0.0, None, self.made)
        upper = max(upper, 0.0)
        return Found(upper + 64 * UNIT * (1 + abs(upper)), self._attack(), self.made)

    @property
    def _every_length(self) -> bool:
        return self.length is None and not isinstance(self.adversary, Adversary)

    def _lay_out(self, case: Case) -> None:
        """Lay both sides of a case out again, with more nodes and less that covers may cost."""
        case.turn += 1
        share = 0.1 * SHARE**case.turn * max(min(case.upper, 50.0), self.low)
        width = max(self.effort.tolerance / 4, share)
        sides: list[Laid | Nothing] = [case.left, case.right]
        for number, side in enumerate(sides):
            other = sides[1 - number]
            low = self.low - float(other.upper_by_points(self.points)[-1])
            side.improve(case.turn, low, width, self._left, self._every_length)

    @property
    def _left(self) -> int:
        """Nodes that may still be made."""
        seconds = self.effort.max_seconds
        if seconds is not None and time.monotonic() - self.started > seconds:
            return 0
        return self.effort.max_nodes - self.made

    def _is_open(self, case: Case) -> bool:
        return case.upper > self.low + self.effort.tolerance * 0.95

    def _measure_rest(self) -> None:
        """Bounds of the cases that have none yet."""
        for case in self._kept or []:
            if not case.measured:
                self._measure(case)

    def _measure(self, case: Case) -> None:
        """Both bounds of a case."""
        case.measured, points = True, self.points
        uppers = case.left.upper_by_points(points), case.right.upper_by_points(points)
        lowers = case.left.lower_by_points(points), case.right.lower_by_points(points)
        upper, _ = self._divide(*uppers)
        # Sides may leave out words with which the sum would not exceed what is attained.
        case.upper = min(case.upper, max(upper, self.low) if self._every_length else upper)
        lower, divided = self._divide(*lowers)
        if lower > self.low or (self.best is None and lower > -math.inf):
            self.low, self.best = max(lower, self.low), (case, *divided)

    def _divide(self, left: FloatArray, right: FloatArray) -> tuple[float, tuple[int, int]]:
        """The largest sum of two sides in the room there is, and how it is divided."""
        last = len(left) - 1
        if isinstance(self.adversary, Adversary):
            first = min(self.adversary.target, last)
            return _sum(float(left[first]), float(right[last])), (first, last)
        if self.length is None or self.length - 1 > 2 * last:
            return _sum(float(left[-1]), float(right[-1])), (last, last)
        taken = np.arange(min(last, self.length - 1) + 1)
        rest = np.minimum(self.length - 1 - taken, last)
        with np.errstate(invalid="ignore"):
            total = left[taken] + right[rest]
        total = np.where(np.isnan(total), -np.inf, total)
        place = int(np.argmax(total))
        return float(total[place]), (int(taken[place]), int(rest[place]))

    def _attack(self) -> Attack | None:
        if self.best is None:
            return None
        case, first, second = self.best
        if self._every_length:
            first = second = MOST_SHOWN
        left, right = case.left.half(first), case.right.half(second)
        return Attack(left.value + right.value, case.pair, left, right)


def _sum(left: float, right: float) -> float:
    """Both sides together; nothing where one of them cannot be."""
    return -math.inf if -math.inf in (left, right) else left + right
