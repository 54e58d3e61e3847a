"""How often to report: the best of many rhythms, one report in so many points each.

Attacks alone say quickly what noise a rhythm needs; rhythms are compared by that, and only the
best ones are certified. That the cost falls to its least and rises from there is seen, not proved;
the loss of what is returned is certified all the same, and it never costs more than noise on every
point does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from chainveil.noise.channel import Channel
from chainveil.privacy.letters.quest import Quest
from chainveil.privacy.letters.shapes import Guess, Shape, cost
from chainveil.privacy.result import Calibrated

# Rhythms that are tried first, before those between the best of them and its neighbours.
RHYTHMS = (
    1, 2, 3, 5, 7, 11, 15, 21, 31, 45, 63, 91, 127, 181, 255, 361, 511, 723, 1023, 1447, 2047,
)  # fmt: skip
# Rhythms that cost more one after the other, after which no others are tried.
PATIENCE = 2
# Rhythms that could cost less by no more than this, as a share, are not looked for.
FLAT = 1e-3
# How much less than a guess noise on every point may cost, as a share: searches that begin
# elsewhere end elsewhere.
NEAR = 1e-2


class Rhythms:
    """The search over rhythms for the shapes of one family.

    Attributes
    ----------
    quest : callable
        The search for noise of one rhythm.
    shapes : callable
        The shapes of a rhythm.
    most : float
        The longest rhythm, in points to a report.
    """

    def __init__(
        self,
        quest: Callable[[int], Quest],
        shapes: Callable[[int], Sequence[Shape]],
        most: float,
    ) -> None:
        self._quest, self._shapes, self._most = quest, shapes, most
        self._quests: dict[int, tuple[Quest, Sequence[Shape]]] = {}
        self._guesses: dict[tuple[int, int], Guess] = {}

    def best(self) -> Calibrated:
        """The best plan of all that were certified."""
        kinds = range(len(self._shapes(1)))
        rhythms = [1]
        for number in kinds:
            rhythms.append(self._least(number, rhythms[-1]))
        for number in kinds:
            self._guess(number, 1)

        def hoped(every: int) -> float:
            return min(found.cost for (_, at), found in self._guesses.items() if at == every)

        best, least = None, math.inf
        # Noise on every point last: most often what it can cost at least is known to be more.
        for every in sorted(set(rhythms), key=lambda every: (every == 1, hoped(every))):
            # Noise on every point is found as where all points report: it is never to cost more.
            afresh = every == 1 and len(kinds) > 1
            if hoped(every) >= least * (1 + NEAR if afresh else 1):
                continue
            quest, shapes = (self._quest(1), self._shapes(1)) if afresh else self._of(every)
            known = [] if afresh else [self._guesses.get((number, every)) for number in kinds]
            found = quest.best(shapes, known)
            value = cost(quest.problem.model, found.noise, quest.aim)
            if value < least:
                best, least = found, value
        assert best is not None
        return best

    def _of(self, every: int) -> tuple[Quest, Sequence[Shape]]:
        if every not in self._quests:
            self._quests[every] = self._quest(every), self._shapes(every)
        return self._quests[every]

    def _guess(self, number: int, every: int) -> float:
        """What a shape costs at a rhythm, against attacks alone."""
        if (number, every) not in self._guesses:
            quest, shapes = self._of(every)
            near = self._nearest(number, every)
            plain = self._guesses.get((0, every)) or self._nearest(0, every)
            level = 0.5 if plain is None else float(plain.numbers[0])
            starts = quest.starts(shapes[number], level, near)
            self._guesses[number, every] = quest.guess(shapes[number], starts)
        return self._guesses[number, every].cost

    def _nearest(self, number: int, every: int) -> Guess | None:
        """What was found for the same shape at the nearest rhythm."""
        others = [at for which, at in self._guesses if which == number]
        if not others:
            return None
        return self._guesses[number, min(others, key=lambda at: abs(math.log(at / every)))]

    def _floor(self, every: int) -> float:
        """What reports without any noise cost: their silent points differ from them."""
        quest, _ = self._of(1)
        model = quest.problem.model
        return cost(model, Channel(np.eye(model.states), every), quest.aim)

    def _least(self, number: int, start: int) -> int:
        """The rhythm at which a shape costs least; the search begins at one of RHYTHMS."""
        rhythms = [every for every in RHYTHMS if every <= max(1, self._most)]
        near = min(rhythms, key=lambda every: abs(every - start))
        up = rhythms[rhythms.index(near) :]
        down = rhythms[: rhythms.index(near)][::-1]
        best = self._followed(number, up, near)
        if best == near:
            best = self._followed(number, down, near)
        return self._between(number, best)

    def _followed(self, number: int, rhythms: Sequence[int], best: int) -> int:
        """The best of the rhythms, of which the last ones are not tried if some cost more."""
        worse = 0
        for every in rhythms:
            least = self._guess(number, best)
            if every > best and self._floor(every) >= least:
                break
            value = self._guess(number, every)
            worse = 0 if value < least or every == best else worse + 1
            best = every if value < least else best
            if worse == PATIENCE:
                break
        return best

    def _between(self, number: int, best: int) -> int:
        """The best rhythm between those tried already: halfway to its neighbours, and so on."""
        while True:
            halfway = [every for every in self._halfway(number, best) if every != best]
            if not halfway:
                return best
            best = min([best, *halfway], key=lambda every: self._guess(number, every))

    def _halfway(self, number: int, best: int) -> list[int]:
        """Rhythms halfway to the neighbours of the best, where they may cost less.

        If the cost bends upwards, it lies above the line through the best and the neighbour
        beyond it.
        """
        tried = sorted(every for which, every in self._guesses if which == number)
        place, least = tried.index(best), self._guess(number, best)
        beside = tried[max(place - 1, 0) : place] + tried[place + 1 : place + 2]
        found = []
        for other in beside:
            half = (best + other) // 2 if other > best else -((-best - other) // 2)
            slopes = [
                (self._guess(number, beyond) - least) / abs(beyond - best)
                for beyond in beside
                if beyond != other
            ]
            if not slopes or slopes[0] * abs(half - best) > FLAT * least:
                found.append(half)
        return found
