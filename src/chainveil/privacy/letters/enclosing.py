"""Sides of cases bounded by cones, and attacks that these name, on chains whose words are long.

The label of the target's report hardly matters where noise remembers: cases that differ in it alone
are asked together first, which says something of all of them for the price of one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from chainveil.privacy.letters.cases import Case, Laid
from chainveil.privacy.letters.coarse import Coarse
from chainveil.privacy.letters.cones import Cones
from chainveil.privacy.letters.lane_kernel import ANY
from chainveil.privacy.letters.walks import Walks

# Steps that cost as much as a node of a graph.
STEPS = 3
# What is added where a bound is raised, as a share of the tolerance, and of the goal at most.
MARGIN, MOST_MARGIN = 0.3, 2.5e-3


class Enclosing:
    """Bounds by cones of both sides, and words that are read off them.

    Attributes
    ----------
    nodes : int
        What was done so far, in nodes of graphs.
    """

    def __init__(self, cones: tuple[Cones, Cones], coarse: tuple[Coarse, Coarse]) -> None:
        self._cones, self._coarse = cones, coarse
        self._steps = 0

    @property
    def nodes(self) -> int:
        """What was done so far, in nodes of graphs."""
        return self._steps // STEPS

    def bounds(
        self, cases: Sequence[Case], goal: float, tolerance: float, most: int
    ) -> list[float]:
        """Bounds of the sides of all these cases, which are a pair of values with some labels.

        Each may be worth so much that the cases just do not matter: ``goal`` together. Where a side
        is worth more, that is found, and a word that comes close to it. The last one is infinite
        where no bound is found in ``most`` nodes.
        """
        numbers = _sides(cases)
        groups = [[_side(case, number) for case in cases] for number in numbers]
        if self._coarse[0].points > 1 and all(math.isinf(sides[0].hoped) for sides in groups):
            # How the goal is best divided: raising a bound takes long.
            self.seek(cases, goal, tolerance, most)
        attained = [max(side.attained for side in sides) for sides in groups]
        hoped = [_hoped(sides, least) for sides, least in zip(groups, attained, strict=True)]
        start = max(attained[0], hoped[0] + (goal - sum(hoped)) / len(groups))
        margin = min(MARGIN * tolerance, MOST_MARGIN * goal)
        found: list[float] = []
        for number, least in zip(numbers, attained, strict=True):
            start = max(least, goal - found[0]) if found else start
            found.append(self._bound(cases, number, start, margin, most))
            if math.isinf(found[-1]):
                return found
        start = max(attained[0], goal - found[-1])
        if not groups[0][0].raised and start < found[0] and sum(found) > goal:
            # The first one may be worth less than it was asked for, which leaves more to the other.
            again = self._bound(cases, numbers[0], start, margin, most)
            found[0] = min(found[0], again)
        return found

    def _bound(
        self, cases: Sequence[Case], number: int, start: float, margin: float, most: int
    ) -> float:
        """A bound for one side of all cases, at least ``start``; its best word is tried."""
        label = cases[0].place[1] if len(cases) == 1 else ANY
        walks = Walks(self._cones[number], cases[0].pair, label, cases[0].width)
        found = walks.enclose(start, margin, STEPS * most)
        self._steps += walks.steps
        at, word = walks.word()
        for case in cases:
            side = _side(case, number)
            if word and case.place[1] == at:
                side.try_word(word)
            side.raised = found > start
            side.most = min(side.most, found)
        return found

    def seek(self, cases: Sequence[Case], goal: float, tolerance: float, most: int) -> set[int]:
        """Look for words of both sides that are worth more than the goal together.

        With which labels there may be some. Sides are looked through in blocks of points for what
        is worth more than a share of the goal; if one is, the other is for its best word. Words of
        several cases, whose labels may not go together, are not tried: they name the likely ones.
        """
        label, margin = cases[0].place[1] if len(cases) == 1 else ANY, MARGIN * tolerance
        numbers = _sides(cases)
        attained = [max(_side(case, number).attained for case in cases) for number in numbers]
        bounds = [least + max(0.0, goal - sum(attained)) / len(numbers) for least in attained]
        left, raised = list(range(len(numbers))), [False] * len(numbers)
        likely = set[int]()
        for best_ones in (False, True) if len(cases) == 1 else (False,):
            if best_ones and sum(bounds) <= goal:
                break
            for place in tuple(left):
                others = sum(bounds) - bounds[place]
                start = attained[place] if best_ones else max(attained[place], goal - others)
                coarse = self._coarse[numbers[place]]
                walks = Walks(coarse.cones, cases[0].pair, label, 1)
                walks.seek(start, margin, STEPS * most)
                self._steps += walks.steps
                bounds[place] = walks.bound
                raised[place] = walks.bound > start
                at, word = walks.word()
                likely.add(at)
                if word and label != ANY:
                    letters = coarse.prolonged(coarse.written_out(word, label))
                    _side(cases[0], numbers[place]).try_word(letters)
                    left.remove(place)
        for place, number in enumerate(numbers):
            # A side that was not raised is worth less than it was asked for.
            others = sum(bounds) - bounds[place]
            least = bounds[place] if raised[place] else min(bounds[place], goal - others)
            for case in cases:
                _side(case, number).hoped = least
        if sum(bounds) <= goal:
            return set()
        return {case.place[1] for case in cases} if ANY in likely else likely


def _hoped(sides: Sequence[Laid], attained: float) -> float:
    """What a side seems to be worth, by what it was raised to or by blocks of points."""
    if sides[0].raised:
        return (attained + min(side.most for side in sides)) / 2
    hoped = min(side.hoped for side in sides)
    return attained if math.isinf(hoped) else max(attained, hoped)


def _sides(cases: Sequence[Case]) -> list[int]:
    """Which sides tell something: 0 is the left one."""
    return [0, 1] if isinstance(cases[0].left, Laid) else [1]


def _side(case: Case, number: int) -> Laid:
    side = case.right if number else case.left
    assert isinstance(side, Laid)
    return side
