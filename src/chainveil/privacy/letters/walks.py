"""Whether words keep below a factor: one walk over the cones of each distance and end.

Whether any word of j letters is worth more than a factor is asked of functionals: what a word
weighs for the value a of the target, less the factor times what it weighs for b. The largest of all
words of a layer is convex, so on a cone it is at most the linear one with its values on the rays:
all words of a layer become one functional, or a few, each for words that are alike. Where they are
nowhere positive, at the end or before it, no word is worth more than the factor.

One such walk is made for every distance up to J and every known value; everything further out
follows the first J points as some vector, about which nothing is said. Where a walk fails, the
factor is raised to what it asks for.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.letters import cone_kernel, lane_kernel
from chainveil.privacy.letters.cones import Cones
from chainveil.privacy.letters.lane_kernel import CHUNK
from chainveil.privacy.letters.sides import IntArray

# Distances up to which walks are made at first.
FIRST_DISTANCES = 32
# So many distances come first, and so many are walked one by one.
SOME = 16
# An attack is sought up to where the chain tells so little, and at most so far away.
LITTLE, MOST_SOUGHT = 0.1, 1024
# Steps side by side that take as long as one by itself.
ABREAST = 10
# What part of all steps may be taken to narrow cones.
NARROWING = 0.5
# By how many margins a bound is raised for what lies behind the last distance; how many margins
# less twice the distance must ask for.
BEHIND, STALLED = 2, 0.5
# From so many distances on, a bound is raised by so many margins where that is enough for groups; a
# few of them are asked.
LONG, EASED, FEW = 1024, 1.5, 4
# How often a factor is raised for one distance.
MOST_RAISED = 40
# Logs of factors are below this.
MOST_EXPONENT = 700.0


class Walks:
    """All walks for a pair of values and a label of the target, or ANY, and the bound they ask for.

    Attributes
    ----------
    bound : float
        Log of the factor below which all words keep that were walked so far.
    steps : int
        Functionals so far.
    """

    def __init__(self, cones: Cones, pair: tuple[int, int], label: int, width: int) -> None:
        self._cones, self._pair, self._label, self._width = cones, pair, label, width
        self.bound, self.steps, self._away = -math.inf, 0, 0.0
        # Distance and end that raised the bound last, from and to what.
        self._worst: tuple[int, int, float, float] | None = None

    def enclose(self, start: float, margin: float, most: int) -> float:
        """A bound of the side, at least ``start``; infinite where none is found in ``most`` steps.

        ``margin`` is added where it is raised.
        """
        self.bound = start
        first, upto, k, before = 0, FIRST_DISTANCES, self._cones.states, math.inf
        while upto <= self._cones.furthest:
            self._set_out(upto, most)
            if not self._clear(first, margin, most):
                return math.inf
            asked = self._asked_behind(upto)
            if asked == -math.inf:
                return self.bound
            # More distances take long: the bound is raised a little, where it was raised already,
            # and as far as it takes, where more of them would hardly change anything.
            asked += margin / 2
            little = self.bound > start and asked <= self.bound + BEHIND * margin
            if (little or asked > before - STALLED * margin) and self._keeps_behind(upto, asked):
                return self.bound
            if math.isinf(self._priors[upto, k + 1]) and upto > 2 * k**2:
                # Two values that never meet again in a periodic chain.
                return math.inf
            if self.steps > most:
                return math.inf
            first, upto, before = upto + 1, 2 * upto, asked
        return math.inf

    def _asked_behind(self, upto: int) -> float:
        """What words of more letters ask for; minus infinity where they keep below the bound."""
        behind = np.array([(upto, self._cones.states + 1)])
        return -math.inf if self._sweep(behind, 2) else max(self.bound, self._asked())

    def _keeps_behind(self, upto: int, bound: float) -> bool:
        """Whether all words of more letters keep below this bound, which is taken then."""
        before, self.bound = self.bound, bound
        if bound < MOST_EXPONENT and self._sweep(np.array([(upto, self._cones.states + 1)])):
            return True
        self.bound = before
        return False

    def seek(self, start: float, margin: float, most: int) -> None:
        """Raise the bound for a few distances: it need not hold for others."""
        self.bound, upto, k = start, FIRST_DISTANCES, self._cones.states
        self._set_out(upto)
        # Beside what the end of the series tells: on the left that is not nothing.
        while upto < MOST_SOUGHT and not self._priors[upto, k + 1] < self._priors[upto, k] + LITTLE:
            upto *= 2
            self._set_out(upto)
        some = [upto * (place + 1) // SOME for place in range(SOME)][::-1]
        order = np.array([(j, end) for j in some for end in range(k + 1)])
        self._raise(self._abreast(order), margin, most)

    def _set_out(self, upto: int, most: float = 0.0) -> None:
        """Make ready for walks of up to so many letters; cones are narrowed for ``most`` steps."""
        before = self._cones.steps
        self._cones.layers(upto, ABREAST * max(0.0, NARROWING * most - self.steps))
        self.steps += (self._cones.steps - before) // ABREAST
        self._upto, self._priors = upto, self._cones.log_priors(self._pair, upto)
        self._room = self._cones.room(upto, self._width)

    def _begin(self, order: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Which walks can be, (n,), with what weights they begin, (2, k, n), and log priors, (n,).

        Weights are relative to the reference, which is what the chain says up to a factor and
        rounding; both are made up for in the log priors.
        """
        place, end = order.T
        reference = self._cones.layers(self._upto).reference[end, place].T
        weighed = self._cones.rows(self._pair)[:, :, None] * reference
        total, priors = weighed.sum(axis=1), self._priors[place, end]
        possible = np.flatnonzero((total > 0).all(axis=0) & (priors > -np.inf))
        total = total[:, possible]
        away = np.log(total[0]) - np.log(total[1]) + priors[possible]
        return possible, np.ascontiguousarray(weighed[:, :, possible] / total[:, None]), away

    def _clear(self, first: int, margin: float, most: int) -> bool:
        """Raise the bound until words of all distances from ``first`` on keep below it."""
        singles = self._singles(first, margin, most)
        if singles is None:
            return False
        failed = self._abreast(singles)
        while len(failed) > SOME:
            before = self.bound
            if not self._raise(_some(failed), margin, most):
                return False
            if self.bound == before:
                break
            failed = self._abreast(failed)
        return self._raise(failed, margin, most)

    def _singles(self, first: int, margin: float, most: int) -> IntArray | None:
        """Distances from ``first`` on with all ends, but for groups that keep below the bound.

        Where most do not, it is raised for a few of their distances first; None: in vain.
        """
        k, upto = self._cones.states, self._upto
        left = np.zeros((k + 1, upto + 1), np.bool_)
        left[:, first:] = True
        for level, (behind, count) in enumerate(self._cones.groups(upto)):
            if first <= behind:
                break
            # Distances after the last whole group are walked by themselves.
            last = first + (upto + 1 - first) // count * count
            end, place = np.nonzero(left[:, first:last].reshape(k + 1, -1, count).any(axis=2))
            # Groups have ends of their own, so many letters behind the distances that they hold.
            away = np.array([behind, -(k + 2 + level * (k + 1))])
            groups = np.column_stack([first + count * place, end])
            failed = self._failing_groups(groups - away, away, margin, most)
            if failed is None:
                return None
            left[:, first:last] = False
            for place_at, end_at in failed + away:
                left[end_at, place_at : place_at + count] = True
        end, place = np.nonzero(left)
        return np.column_stack([place, end])

    def _failing_groups(
        self, groups: IntArray, away: IntArray, margin: float, most: int
    ) -> IntArray | None:
        """Groups that do not keep below the bound, which is raised where there are many of them.

        ``away``: from a distance and an end to the group that begins there; None: in vain.
        """
        failed = self._abreast(groups)
        if len(failed) and self._upto >= LONG and self._ease(_some(failed, FEW), margin):
            failed = self._abreast(failed)
        while len(failed) > SOME:
            before = self.bound
            if not self._raise(self._abreast(_some(failed + away)), margin, most):
                return None
            if self.bound == before:
                break
            failed = self._abreast(failed)
        return self._still_failing(failed) if self._width > 1 else failed

    def _ease(self, groups: IntArray, margin: float) -> bool:
        """Whether the bound could be raised by a little so that these groups keep below it.

        Many distances are worth nearly the same on slow chains: to tell them apart takes long.
        """
        asked = -math.inf
        for group in groups:
            if not self._sweep(group[None], 2):
                asked = max(asked, self._asked())
        if not self.bound < asked <= self.bound + EASED * margin:
            return False
        self.bound = asked + margin / 8
        return True

    def _still_failing(self, order: IntArray) -> IntArray:
        """Those walks that a few functionals do not show to keep below the bound either."""
        found, done = [], 0
        while (done := done + self._sweep(order[done:])) < len(order):
            found.append(done)
            done += 1
        return order[found]

    def _abreast(self, order: IntArray) -> IntArray:
        """Those walks that one functional does not show to keep below the bound."""
        found = [order[:0]]
        for begin in range(0, len(order), CHUNK):
            some = order[begin : begin + CHUNK]
            found.append(some[self._failing(some)])
        return np.concatenate(found)

    def _failing(self, order: IntArray) -> NDArray[np.bool_]:
        """Whether each of a few walks fails."""
        layers, failed = self._cones.layers(self._upto), np.zeros(len(order), np.bool_)
        possible, first, away = self._begin(order)
        walks = np.column_stack([order[possible], possible])
        factor = np.exp(np.minimum(self.bound - away, MOST_EXPONENT))
        room = lane_kernel.room(self._cones.spelling.labels, first, factor)
        letters = self._cones.letters
        steps = lane_kernel.abreast(letters, layers, self._label, self._upto, walks, room, failed)
        self.steps += steps // ABREAST
        return failed

    def _sweep(self, order: IntArray, lines: int = 1) -> int:
        """How many walks keep below the bound before one does not; ``order`` (n, 2)."""
        room, layers = self._room, self._cones.layers(self._upto)
        possible, first, away = self._begin(order)
        factors = np.array([math.exp(min(self.bound - one, MOST_EXPONENT)) for one in away])
        room.told[cone_kernel.STEPS] = 0
        at = np.array([0, self._label, self._width, lines])
        letters, walks = self._cones.letters, order[possible]
        done = cone_kernel.sweep(letters, layers, walks, first, factors, at, room)
        self.steps += int(room.told[cone_kernel.STEPS])
        if done == len(possible):
            return len(order)
        self._away = float(away[done])
        return int(possible[done])

    def _asked(self) -> float:
        """What the last walk, which failed, asks for; infinite where nothing is enough."""
        above, below = self._room.told[[cone_kernel.ABOVE, cone_kernel.BELOW]]
        return math.log(above) - math.log(below) + self._away if below > 0.0 else math.inf

    def _raise(self, order: IntArray, margin: float, most: int) -> bool:
        """Raise the bound until all words with these ends keep below it; whether they do."""
        done = 0
        while (done := done + self._sweep(order[done:])) < len(order):
            for _ in range(MOST_RAISED):
                if self._sweep(order[done : done + 1], 2):
                    break
                asked = self._asked()
                if not asked < MOST_EXPONENT or self.steps > most:
                    return False
                distance, end = order[done]
                self._worst = int(distance), int(end), self.bound, max(asked, self.bound)
                self.bound = max(asked, self.bound) + margin
            else:
                return False
        return True

    def word(self) -> tuple[int, list[int]]:
        """The word to which the functionals lead at the end that raised the bound last.

        With the label of its target. It starts from the end and takes, letter by letter, what is
        worth most further in; without a letter where there is none.
        """
        if self._worst is None:
            return self._label, []
        distance, end, failing, bound = self._worst
        # Just below what was asked for, if that is above what some word is worth.
        for self.bound in (bound - 1e-7 * (1 + abs(bound)), failing):
            if not self._sweep(np.array([(distance, end)])):
                break
        else:
            return self._label, []
        letters, room = self._cones.letters, self._room
        vector = self._cones.layers(self._upto).reference[end, 0]
        label, best = 0, -math.inf
        for place in range(self._cones.spelling.labels):
            vectors = self._cones.ends(place) if end == self._cones.states else vector[None]
            worth = room.slopes[0, place, 0, : room.counts[0, place]] @ vectors.T
            if worth.size and worth.max() > best:
                best, label = float(worth.max()), place
                vector = vectors[int(np.argmax(worth.max(axis=0)))]
        word, work = np.zeros(distance, np.int64), np.zeros((2, len(vector)))
        work[0] = vector
        label = cone_kernel.lead(letters, room, label, work, word)
        return (self._label, []) if label < 0 else (label, word.tolist())


def _some(order: IntArray, count: int = SOME) -> IntArray:
    """A few of them, the last ones first."""
    return order[:: -max(1, len(order) // count)]
