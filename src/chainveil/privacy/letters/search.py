"""The largest sum of both sides of a target, over its values, its place and its report.

Each pair of values, residue of the target's index and label of its report is one *case*: a left
and a right :class:`~chainveil.privacy.letters.graph.Side`. All cases are laid out coarsely first;
the one with the highest bound is laid out again, with more nodes, until none exceeds what is
attained by more than the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import permutations, product

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.letters.cases import EARLY_TURNS, NODES, Case, Half, Laid, Nothing, Pair
from chainveil.privacy.letters.coarse import Coarse, points_of_a_block
from chainveil.privacy.letters.cones import MOST_DISTANCES, Cones
from chainveil.privacy.letters.enclosing import Enclosing
from chainveil.privacy.letters.graph import MOST_DEPTHS, UNIT, Side
from chainveil.privacy.letters.places import Places
from chainveil.privacy.letters.priors import Priors
from chainveil.privacy.letters.shares import Shares
from chainveil.privacy.letters.sides import Script, Spelling
from chainveil.privacy.letters.silent_targets import SilentTargets
from chainveil.privacy.letters.worth import Worth
from chainveil.privacy.problem import Effort

LAST_TURN = len(NODES) - 1
# Turn by turn the share of the loss that covers may cost, as a share of the one before.
SHARE = 0.3
# More points of an attack than these count as so many.
MOST_SHOWN = 4096
# Sides are enclosed by cones as well from this turn on, if they have so many nodes; how many more
# that may cost, beside the nodes of the graphs so far.
FIRST_ENCLOSED, LARGE, ENCLOSING = 2, 400, 4
# On chains whose words are long, the part of all nodes that one case may cost.
PARTS = 2
# Functionals for each layer and label at most. From so many on bounds that do not come closer by
# this part of what they are too high stay as they are, in haste.
MOST_WIDTH, MANY_FUNCTIONALS, STALLED = 256, 4, 0.3
# Words of more letters are long: graphs are large then, and cones come first.
DEEP = 48
# Series of fewer points are short; up to what distance cones are laid in those of some length.
SHORT, MOST_IN_A_SERIES = 32, 2048
# Points for which the laws after two values are compared.
FAR = 128


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


@dataclass
class Search:
    """The loss of one script against one adversary."""

    script: Script
    adversary: AdversaryName | Adversary
    length: int | None
    effort: Effort
    low: float = 0.0
    best: Case | None = None
    made: int = 0
    longest: int = 0
    _kept: list[Case] | None = None
    _has_silent: bool = False

    @cached_property
    def spellings(self) -> tuple[Spelling, Spelling]:
        """The letters of both sides."""
        return self.script.spelling(True), self.script.spelling(False)

    @cached_property
    def priors(self) -> tuple[Priors, Priors]:
        """What holds on both sides for all pairs of values."""
        numbers = self.script.numbers
        found = Priors(numbers, True), Priors(numbers, False)
        unknown = self.adversary == "ignorant" and numbers.is_stationary
        # All points are looked at alike, so that bounds for one say something of others.
        alike = self.adversary in ("any", "ignorant") and self.script.every > 1
        for one, spelling in zip(found, self.spellings, strict=True):
            one.worth = Worth(spelling) if alike or unknown else None
            one.shares = Shares(numbers, one.worth) if one.worth is not None and unknown else None
        return found

    @cached_property
    def cones(self) -> tuple[Cones, Cones] | None:
        """Cones of both sides, where any value may be known and every point reports.

        What they show holds for every length, which says little of short series, and of others on
        chains that remember longer.
        """
        if self.adversary != "any" or self.script.every > 1:
            return None
        if self.length is not None and self.length < SHORT:
            return None
        furthest = MOST_DISTANCES if self.length is None else MOST_IN_A_SERIES
        left, right = zip(self.spellings, self.priors, strict=True)
        return Cones(*left, furthest=furthest), Cones(*right, furthest=furthest)

    @cached_property
    def enclosing(self) -> Enclosing | None:
        """Bounds by cones, and attacks that are sought in blocks of several points."""
        if self.cones is None:
            return None
        numbers = self.script.numbers
        # Where points may be missing, letters are not numbered by labels alone.
        points = 1 if self.script.missing else points_of_a_block(numbers)
        left, right = self.spellings
        coarse = Coarse(left, numbers, points), Coarse(right, numbers, points)
        return Enclosing(self.cones, coarse)

    @cached_property
    def places(self) -> Places:
        """Where targets and the ends of their sides may be."""
        return Places(self.script, self.adversary, self.length)

    @cached_property
    def silent(self) -> SilentTargets:
        """What lowers the bounds of silent targets."""
        is_rare = self.script.every > 1
        worth = [one.worth for one in self.priors if is_rare]
        any_end = is_rare and self.adversary == "any"
        return SilentTargets(self.script, self.spellings, worth, any_end)

    def cases(self, residues: Sequence[int]) -> list[Case]:
        """All pairs and labels, and all ways to end, of targets with these residues."""
        script, (left, right) = self.script, self.spellings
        found = []
        places = product(residues, range(script.labels), self.places.allowed)
        for residue, label, allowed in places:
            early = script.has_none and label == script.labels - 1
            if not self.places.fits(residue, early, allowed):
                continue
            for pair in permutations(range(script.numbers.states), 2):
                place = residue, label
                first: Laid | Nothing = Nothing(residue)
                if not early:
                    first = Laid(partial(Side, left, self.priors[0], pair, place, allowed[0]))
                second = Laid(partial(Side, right, self.priors[1], pair, place, allowed[1]))
                reports = script.every > 1 and residue == script.first
                found.append(Case(pair, place, first, second, reports))
        apart = self._apart()
        return sorted(found, key=lambda case: -float(apart[case.pair]))

    def _all_cases(self, attacks_only: bool) -> list[Case]:
        """Those of targets that report; silent ones as well unless attacks alone are sought."""
        first, every = self.script.first, self.script.every
        if self._kept is None:
            self._kept = self.cases([first])
        if not attacks_only and not self._has_silent:
            self._kept += self.cases([residue for residue in range(every) if residue != first])
            self._has_silent = True
        return self._kept

    def _apart(self) -> FloatArray:
        """How long the laws of the points after two values differ, (k, k)."""
        law = np.eye(self.script.numbers.states)
        total = np.zeros_like(law)
        for _ in range(FAR):
            law = law @ self.script.numbers.transition
            total += np.abs(law[:, None] - law).sum(axis=2)
        return total

    @property
    def points(self) -> int:
        """Entries of the tables by points; the last one stands for more of them as well."""
        if isinstance(self.adversary, Adversary):
            ends = (one.furthest for one in self.places.allowed[0])
            return max([MOST_SHOWN, *(end for end in ends if end is not None)]) + 2
        return 0 if self.length is None else min(MOST_DEPTHS, self.length - 1)

    def begin_with(self, pair: Pair, label: int, words: list[list[int]]) -> None:
        """Take note of the words of an attack, each improved letter by letter."""
        for case in self._all_cases(attacks_only=True):
            if case.pair == pair and case.place[1] == label:
                for side, word in zip((case.left, case.right), words, strict=True):
                    if isinstance(side, Laid) and word:
                        side.try_word(word)
                self._measure(case)

    def run(self, enough: float = math.inf) -> Found:
        """Bring both bounds together as far as the effort allows, or the lower above ``enough``.

        With another effort it goes on where it stopped.
        """
        attacks_only = self.effort.attacks_only
        cases = self._all_cases(attacks_only)
        if not self._every_length:
            self._measure_rest()
        # Points that report first: attacks on them are mostly the best, and what they attain leaves
        # little to look for at the silent ones.
        reporting = [case for case in cases if case.reports]
        others = [case for case in cases if not case.reports]
        while self._left > 0 and self.low <= enough:
            # Bounds only come closer: a case that is not open any more stays so.
            reporting = [case for case in reporting if self._is_open(case)]
            still = [case for case in reporting if case.turn < EARLY_TURNS]
            if not still and (self.script.every == 1 or not attacks_only):
                others = [case for case in others if self._is_open(case)]
                still = reporting + others
            elif not still:
                still = reporting
            if attacks_only and self._deep and self.cones is not None:
                still = [case for case in still if not case.sought]
            if not still:
                break
            case = max(still, key=lambda case: case.upper)
            if not case.reports and case.turn < 0 and self._lower_silent(cases):
                continue
            if not case.measured:
                self._measure(case)
                continue
            before = case.upper
            self._lay_out(case)
            self._measure(case)
            case.stalls = self._comes_no_closer(case, before)
            if self._far_apart(cases):
                break
        if self.low <= enough and not attacks_only:
            self._measure_rest()
        if not attacks_only:
            self.silent.lower(cases, self.low)
        upper = max((case.upper for case in cases), default=-math.inf)
        if self.script.every > 1 and not self._has_silent:
            upper = math.inf
        if upper == -math.inf:
            # No target has two values that can both occur.
            return Found(0.0, None, self.made)
        upper = max(upper, 0.0)
        attack = None if self.best is None else self._attack_on(self.best)
        return Found(upper + 64 * UNIT * (1 + abs(upper)), attack, self.made)

    def _lower_silent(self, cases: list[Case]) -> bool:
        """Whether what is known of points that report lowers the bound of a silent target."""
        silent = self.silent
        return silent.lower(cases, self.low) or silent.lower_between(cases, self.low)

    def _far_apart(self, cases: list[Case]) -> bool:
        """Whether all open cases are enclosed, one so loosely that it is left as it is."""
        if max(case.upper for case in cases) - self.low <= self.effort.most_gap:
            return False
        return all(case.enclosed or not self._is_open(case) for case in cases)

    def _comes_no_closer(self, case: Case, before: float) -> bool:
        """Whether more functionals lowered the bound by little of what it is too high."""
        if not (self._deep and case.enclosed and case.width >= MANY_FUNCTIONALS):
            return False
        excess = before - self.low - self.effort.tolerance
        return case.upper > before - STALLED * excess

    @property
    def _every_length(self) -> bool:
        return self.length is None and not isinstance(self.adversary, Adversary)

    def _lay_out(self, case: Case) -> None:
        """Lay both sides of a case out again, with more nodes and less that covers may cost."""
        case.turn += 1
        if self._enclose(case):
            return
        share = 0.1 * SHARE**case.turn * max(min(case.upper, 50.0), self.low)
        width = max(self.effort.tolerance / 4, share)
        sides: list[Laid | Nothing] = [case.left, case.right]
        for number, side in enumerate(sides):
            other = sides[1 - number]
            low = self.low - float(other.upper_by_points(self.points)[-1])
            side.improve(case.turn, low, width, self._left, self._every_length)
        self.made += case.nodes
        laid = [side.side.graph.depth for side in sides if isinstance(side, Laid)]
        self.longest = max(self.longest, *(int(depth.max()) for depth in laid))

    def _enclose(self, case: Case) -> bool:
        """Bound both sides by cones, with more functionals turn by turn; whether that is best."""
        large = case.turn >= FIRST_ENCLOSED and case.nodes >= LARGE
        if not (self._deep or large) or self.enclosing is None:
            return False
        goal, tolerance = self.low + 0.9 * self.effort.tolerance, self.effort.tolerance
        nodes = self.effort.steps // PARTS if self._deep else ENCLOSING * case.nodes
        nodes, before = min(self._left, nodes), self.enclosing.nodes
        if nodes <= case.in_vain:
            return False
        try:
            if self.effort.attacks_only:
                self._seek(case, goal, nodes)
                return self._deep
            if self._enclose_together(case, goal, nodes):
                return True
            found = self.enclosing.bounds([case], goal, tolerance, nodes)
        finally:
            self.made += self.enclosing.nodes - before
        if math.isinf(found[-1]):
            # Graphs bound such chains at least loosely, if enough nodes are left.
            case.in_vain = nodes if self._deep else 0
            return False
        case.sought = case.enclosed = True
        case.width = min(2 * case.width, MOST_WIDTH)
        sides = [side for side in (case.left, case.right) if isinstance(side, Laid)]
        if self._deep and self._every_length:
            return sum(found) < sum(float(side.side.upper) for side in sides)
        upper, _ = self._divide(
            *(side.upper_by_points(self.points) for side in (case.left, case.right))
        )
        # Cones know nothing of lengths, and more functionals do not always say more: where less
        # than half of the gap is closed, graphs are laid out as well.
        return upper <= goal or upper - self.low < (case.upper - self.low) / 2

    def _enclose_together(self, case: Case, goal: float, nodes: int) -> bool:
        """Bound all cases that differ in the label alone at once; whether there is a bound now."""
        assert self.enclosing is not None
        alike = self._alike(case)
        if not self._deep or case.bounded_together or len(alike) == 1:
            return False
        found = self.enclosing.bounds(alike, goal, self.effort.tolerance, nodes)
        for one in alike:
            one.bounded_together = one.enclosed = True
            one.upper = min(one.upper, sum(found))
        return math.isfinite(found[-1])

    def _seek(self, case: Case, goal: float, nodes: int) -> None:
        """Look for an attack on this case; on all that differ in the label alone, at first."""
        assert self.enclosing is not None
        alike, tolerance = self._alike(case), self.effort.tolerance
        if not case.sought_together and len(alike) > 1:
            likely = self.enclosing.seek(alike, goal, tolerance, nodes)
            for one in alike:
                one.sought_together = True
                one.sought |= one.place[1] not in likely
        if not case.sought:
            case.sought = True
            self.enclosing.seek([case], goal, tolerance, nodes)

    def _alike(self, case: Case) -> list[Case]:
        """Cases of the same values, whatever the report of the target is."""
        if self.script.has_none:
            return [case]
        return [one for one in self._kept or [] if one.pair == case.pair]

    @property
    def _deep(self) -> bool:
        """Whether words of this chain are long, so that graphs are large."""
        return self.longest > DEEP

    @property
    def _left(self) -> int:
        """Nodes that may still be made."""
        return self.effort.steps - self.made

    def _is_open(self, case: Case) -> bool:
        """Whether a case may be worth more than what is attained, and can be laid out again."""
        stays = case.turn >= LAST_TURN or (case.stalls and self.effort.in_haste)
        return case.upper > self.low + self.effort.tolerance * 0.95 and not stays

    def _measure_rest(self) -> None:
        """Bounds of the cases that have none yet, or one that is too high."""
        for case in self._kept or []:
            if not case.measured and self._is_open(case):
                self._measure(case)

    def _measure(self, case: Case) -> None:
        """Both bounds of a case."""
        case.measured, points = True, self.points
        uppers = case.left.upper_by_points(points), case.right.upper_by_points(points)
        lowers = case.left.lower_by_points(points), case.right.lower_by_points(points)
        upper, _ = self._divide(*uppers)
        # Sides may leave out words with which the sum would not exceed what is attained.
        case.upper = min(case.upper, max(upper, self.low) if self._every_length else upper)
        case.lower, case.divided = self._divide(*lowers)
        if case.lower > self.low or (self.best is None and case.lower > -math.inf):
            self.low, self.best = max(case.lower, self.low), case

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

    def others(self, above: float, most: int) -> list[Attack]:
        """The best attacks on other values than those of the best one, if they attain so much."""
        cases = [case for case in self._kept or [] if case.lower > above and case is not self.best]
        cases = sorted(cases, key=lambda case: -case.lower)[:most]
        return [self._attack_on(case) for case in cases]

    def _attack_on(self, case: Case) -> Attack:
        first, second = (MOST_SHOWN, MOST_SHOWN) if self._every_length else case.divided
        left, right = case.left.half(first), case.right.half(second)
        return Attack(left.value + right.value, case.pair, left, right)


def _sum(left: float, right: float) -> float:
    """Both sides together; nothing where one of them cannot be."""
    return -math.inf if -math.inf in (left, right) else left + right
