"""Bounds for one side by the distance of its end: what follows a point lies in a narrow cone.

A value that is known at a given distance, or the end of the series there, leaves little freedom to
what follows the points before it: reports say little, and the chain forgets. What follows a point
with i letters to come is a vector over its states, relative to what the chain alone says of them
from the end, and lies in a cone with a ray for each state (least shares, found from the end
inwards). Whether any word of j letters is worth more than a factor is asked of functionals: what a
word weighs for the value a of the target, less the factor times what it weighs for b. The largest
of all words of a layer is convex, so on a cone it is at most the linear one with its values on the
rays: all words of a layer become one functional, or a few, each for words that are alike. Where
they are nowhere positive, at the end or before it, no word is worth more than the factor.

One such walk is made for every distance up to J and every known value; everything further out
follows the first J points as some vector, about which nothing is said. Where a walk fails, the
factor is raised to what it asks for.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.letters import cone_kernel, lane_kernel
from chainveil.privacy.letters.priors import Priors
from chainveil.privacy.letters.sides import IntArray, Spelling

UNIT = cone_kernel.UNIT
# Distances up to which walks are made at first, and at most.
FIRST_DISTANCES, MOST_DISTANCES = 32, 2048
# So many distances come first, and so many are walked one by one.
SOME = 16
# An attack is sought up to where the chain tells so little, and at most so far away.
LITTLE, MOST_SOUGHT = 0.1, 1024
# Steps side by side that take as long as one by itself, and how many walks are side by side.
ABREAST, CHUNK = 10, 512
# How often a factor is raised for one distance.
MOST_RAISED = 40
# Logs of factors are below this.
MOST_EXPONENT = 700.0
# What priors are raised and first shares lowered by: far more than rounding takes.
MARGIN, WIDER = 1e-12, 1e-9


class Letters(NamedTuple):
    """What the compiled walk reads of a spelling.

    Weights are scaled to at most 1, and so are the sums of the rows of the matrix, which on the
    left are up to k: bounds of rounding rest on both, and no multiple of either matters.
    """

    matrix: FloatArray
    weight: FloatArray
    next: IntArray
    counts: IntArray


class Layers(NamedTuple):
    """Cones by end and letters to come: references, steps between layers, least shares.

    ``phase`` is that of a layer's letters.
    """

    phase: IntArray
    reference: FloatArray
    step: FloatArray
    share: FloatArray


class LaneRoom(NamedTuple):
    """What walks side by side read and write; the last index is the walk."""

    first: FloatArray
    reference: FloatArray
    share: FloatArray
    rest: FloatArray
    value: FloatArray
    slope: FloatArray
    image: FloatArray
    alive: FloatArray
    here: FloatArray
    line: FloatArray


class Room(NamedTuple):
    """What compiled walks write: functionals of each layer, on rays and as slopes.

    And what they read of a pair of values: its rows at the target, log priors by distance and end.
    """

    values: FloatArray
    slopes: FloatArray
    counts: IntArray
    told: FloatArray
    first: FloatArray
    rows: FloatArray
    priors: FloatArray


class Cones:
    """What one side is worth at most, whatever is known on it, where every point reports."""

    def __init__(self, spelling: Spelling, priors: Priors) -> None:
        self.spelling, self.priors = spelling, priors
        count, weight, following, _, _ = spelling.arrays
        if spelling.labels > 1:
            # Whether a word keeps below a factor does not depend on how likely it is. Functionals
            # of several words are joined, and a report that is repeated shall not count for more.
            likely = weight @ priors.numbers.stationary
            weight = weight / np.where(likely > 0, likely, 1.0)[..., None]
        scaled = weight / weight.max()
        matrix = spelling.matrix / max(1.0, spelling.matrix.sum(axis=1).max())
        self.letters = Letters(np.ascontiguousarray(matrix), scaled, following, count)
        self._layers: dict[int, Layers] = {}
        self._priors: dict[tuple[tuple[int, int], int], FloatArray] = {}
        self._room: Room | None = None

    @property
    def states(self) -> int:
        """Number of states k."""
        return len(self.spelling.matrix)

    def layers(self, upto: int) -> Layers:
        """Cones of up to so many letters before each end.

        Ends: a known value; k where the series ends; k + 1 for whatever may follow; then, for the
        first k + 1 of them, any of ``group(upto)`` distances together.
        """
        if upto not in self._layers:
            k, labels = self.states, self.spelling.labels
            ends = 2 * k + 3
            layers = Layers(
                np.zeros(upto + 1, np.int64), np.ones((ends, upto + 1, k)),
                np.zeros((ends, upto, k, k)), np.zeros((ends, upto + 1, labels, k)),
            )  # fmt: skip
            for end in range(k):
                layers.reference[end, 0] = np.eye(k)[end]
                layers.share[end, 0, :, end] = 1.0 - cone_kernel.FREE
            if self.spelling.is_left:
                start = self.priors.numbers.start
                layers.reference[k, 0] = start / start.max()
            for label in range(labels):
                layers.share[k, 0, label] = self._end_shares(label, layers.reference[k, 0])
            for end in range(ends):
                if end > k + 1:
                    self._join_distances(layers, end, end - k - 2, upto)
                cone_kernel.lay(self.letters, layers, end, np.zeros(k))
            self._layers[upto] = layers
        return self._layers[upto]

    @staticmethod
    def group(upto: int) -> tuple[int, int]:
        """Distances that are taken together: letters before they are, and how many."""
        return upto // 4, max(1, upto // 64)

    def _join_distances(self, layers: Layers, end: int, single: int, upto: int) -> None:
        """A first cone that holds those of several layers before a single end."""
        behind, count = self.group(upto)
        references = layers.reference[single, behind : behind + count]
        shares = layers.share[single, behind : behind + count]
        layers.reference[end, 0] = reference = references[count // 2]
        layers.share[end, 0] = -1.0
        if np.any((references > 0) != (reference > 0)):
            # Not all values are possible at all of them: nothing is said of these together.
            layers.share[end, 0], layers.reference[end, 0] = 0.0, 1.0
            return
        relative = np.divide(
            references, reference, out=np.zeros_like(references), where=reference > 0
        )
        for label in range(shares.shape[1]):
            share = shares[shares[:, label, 0] >= 0, label]
            if len(share):
                kept = relative[shares[:, label, 0] >= 0]
                rays = share[:, None] + (1 - share.sum(axis=1))[:, None, None] * np.eye(self.states)
                rays = (rays * kept[:, None])[:, reference > 0]
                least = (rays / rays.sum(axis=2, keepdims=True)).min(axis=(0, 1))
                layers.share[end, 0, label] = _widened(least)

    def ends(self, label: int, reference: FloatArray) -> FloatArray:
        """The vectors with which a word may end at a label, relative to a reference, (n, k)."""
        vectors = [vector for vector, _ in self.spelling.ends[0, label] if vector.any()]
        found = np.zeros((len(vectors), self.states))
        if vectors:
            np.divide(vectors, reference, out=found, where=reference > 0)
        return found

    def _end_shares(self, label: int, reference: FloatArray) -> FloatArray:
        """Least shares of these vectors; -1 where there is none."""
        vectors = self.ends(label, reference)
        if not len(vectors):
            return np.full(self.states, -1.0)
        return _widened((vectors / vectors.sum(axis=1, keepdims=True)).min(axis=0))

    def room(self, pair: tuple[int, int], upto: int, width: int) -> Room:
        """Room for functionals of so many layers, with what the walks of a pair read."""
        room, rows = self._room, np.eye(self.states)
        if room is None or len(room.values) < upto + 2 or room.values.shape[3] < width + 1:
            shape = upto + 2, self.spelling.labels, 2, width + 1, self.states
            room = Room(
                np.zeros(shape), np.zeros(shape), np.zeros(shape[:2], np.int64), np.zeros(4),
                np.zeros((2, self.states)), rows, rows,
            )  # fmt: skip
            self._room = room
        if not self.spelling.is_left:
            rows = self.spelling.matrix
        if (pair, upto) not in self._priors:
            self._priors[pair, upto] = self._log_priors(pair, upto)
        return room._replace(rows=rows[list(pair)], priors=self._priors[pair, upto])

    def _log_priors(self, pair: tuple[int, int], upto: int) -> FloatArray:
        """Of b over a by distance and end, (upto + 1, 2 k + 3)."""
        rows, starts = self.priors.upto(upto + 1)
        a, b = pair
        priors = np.zeros((upto + 1, self.states + 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = rows[:, b] / rows[:, a]
            possible = (rows[:, a] > 0) & (rows[:, b] > 0)
            priors[:, :-2] = np.where(possible, np.log(quotient), -np.inf)
            if self.spelling.is_left:
                possible = (starts[:, a] > 0) & (starts[:, b] > 0)
                priors[:, -2] = np.where(possible, np.log(starts[:, b] / starts[:, a]), -np.inf)
            # A prior further out is a mixture of the columns at this depth.
            priors[:, -1] = np.log(np.where(rows[:, b] > 0, quotient, 0.0).max(axis=1))
        slack = 2 * (np.arange(upto + 1) + 4) * (self.states + 6) * UNIT + MARGIN
        priors += slack[:, None]
        behind, count = self.group(upto)
        together = np.full((upto + 1, self.states + 1), np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(priors[behind:, :-1], count, axis=0)
        together[: len(windows)] = windows.max(axis=2)
        return np.hstack([priors, together])


def _widened(least: FloatArray) -> FloatArray:
    """Shares of a cone that is a little wider, and leaves something free.

    What is free of a share is known up to a thousand times what rounding takes.
    """
    most = 1 - cone_kernel.FREE
    least = least * (1 - WIDER)
    return least * (most / max(most, float(least.sum())))


class Walks:
    """All walks for a pair of values and a label of the target, and the bound they ask for.

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
        # Distance and end that raised the bound last, and to what.
        self._worst: tuple[int, int, float] | None = None

    def enclose(self, start: float, margin: float, most: int) -> float:
        """A bound of the side, at least ``start``; infinite where none is found in ``most`` steps.

        ``margin`` is added where it is raised.
        """
        self.bound = start
        first, upto, k = 0, FIRST_DISTANCES, self._cones.states
        while upto <= MOST_DISTANCES:
            self._room = self._cones.room(self._pair, upto, self._width)
            self._upto = upto
            # A few of them first, since they raise the bound for their neighbours.
            some = range(upto, first, -max(1, (upto - first) // SOME))
            order = np.array([(j, end) for j in some for end in range(k + 1)])
            if not self._raise(self._abreast(order), margin, most):
                return math.inf
            if not self._clear(first, margin, most):
                return math.inf
            if self._sweep(np.array([(upto, k + 1)])) == 1:
                return self.bound
            if math.isinf(self._room.priors[upto, k + 1]) and upto > 2 * k**2:
                # Two values that never meet again in a periodic chain.
                return math.inf
            if self.steps > most:
                return math.inf
            first, upto = upto + 1, 2 * upto
        return math.inf

    def seek(self, start: float, margin: float, most: int) -> bool:
        """Whether a few distances raise the bound, which need not hold for others."""
        self.bound, self._upto, k = start, FIRST_DISTANCES, self._cones.states
        while self._upto < MOST_SOUGHT:
            self._room = self._cones.room(self._pair, self._upto, self._width)
            if self._room.priors[self._upto, k + 1] < LITTLE:
                break
            self._upto *= 2
        else:
            self._room = self._cones.room(self._pair, self._upto, self._width)
        some = [self._upto * (place + 1) // SOME for place in range(SOME)][::-1]
        order = np.array([(j, end) for j in some for end in range(k + 1)])
        self._raise(self._abreast(order), margin, most)
        return self._worst is not None

    def _clear(self, first: int, margin: float, most: int) -> bool:
        """Raise the bound until words of all distances from ``first`` on keep below it."""
        failed = self._abreast(self._together(first))
        while len(failed) > SOME:
            before = self.bound
            some = failed[:: -max(1, len(failed) // SOME)]
            if not self._raise(some, margin, most):
                return False
            if self.bound == before:
                break
            failed = self._abreast(failed)
        return self._raise(failed, margin, most)

    def _together(self, first: int) -> IntArray:
        """Distances from ``first`` on with all ends, but for groups that keep below the bound."""
        k, upto = self._cones.states, self._upto
        behind, count = self._cones.group(upto)
        single = np.array([(j, end) for end in range(k + 1) for j in range(first, upto + 1)])
        if first <= behind or count == 1:
            return single
        starts = np.arange(first, upto + 2 - count, count)
        ends = np.arange(k + 1)
        groups = np.stack(np.meshgrid(ends, starts, indexing="ij"), axis=-1).reshape(-1, 2)
        walks = np.column_stack([groups[:, 1] - behind, groups[:, 0] + k + 2])
        failed = self._abreast(walks)
        # Those after the last whole group are walked by themselves.
        left = np.zeros((k + 1, upto + 1), np.bool_)
        left[:, starts[-1] + count :] = True
        for place, end in failed:
            left[end - k - 2, place + behind : place + behind + count] = True
        found: IntArray = single[left[single[:, 1], single[:, 0]]]
        return found

    def _abreast(self, order: IntArray) -> IntArray:
        """Those walks that one functional does not show to keep below the bound."""
        found = [order[:0]]
        for begin in range(0, len(order), CHUNK):
            some = order[begin : begin + CHUNK]
            found.append(some[self._failing(some)])
        return np.concatenate(found)

    def _failing(self, order: IntArray) -> NDArray[np.bool_]:
        """Whether each of a few walks fails."""
        k, labels, count = self._cones.states, self._cones.spelling.labels, len(order)
        layers, failed = self._cones.layers(self._upto), np.zeros(count, np.bool_)
        place, end = order.T
        weighed = self._room.rows[:, :, None] * layers.reference[end, place].T
        total, priors = weighed.sum(axis=1), self._room.priors[place, end]
        possible = np.flatnonzero((total > 0).all(axis=0) & (priors > -np.inf))
        total = total[:, possible]
        away = np.log(total[0]) - np.log(total[1]) + priors[possible]
        walks = np.column_stack([order[possible], possible])
        shape = labels, k, len(possible)
        first = np.ascontiguousarray(weighed[:, :, possible] / total[:, None])
        room = LaneRoom(
            first, np.zeros(shape[1:]), np.zeros(shape),
            np.zeros(shape[::2]), np.zeros(shape), np.zeros(shape), np.zeros(shape[1:]),
            np.zeros(shape[::2]), np.zeros(shape[::2]), np.zeros((9, len(possible))),
        )  # fmt: skip
        room.line[lane_kernel.FACTOR] = np.exp(np.minimum(self.bound - away, MOST_EXPONENT))
        letters = self._cones.letters
        steps = lane_kernel.abreast(letters, layers, self._label, walks, room, failed)
        self.steps += steps // ABREAST
        return failed

    def _sweep(self, order: IntArray, lines: int = 1) -> int:
        """How many walks keep below the bound before one does not; ``order`` (n, 2)."""
        room, layers = self._room, self._cones.layers(self._upto)
        for done, (distance, end) in enumerate(order.tolist()):
            weighed = room.rows * layers.reference[end, distance]
            total, prior = weighed.sum(axis=1), float(room.priors[distance, end])
            if not total.min() > 0.0 or prior == -math.inf:
                continue
            # Relative to the reference, which is what the chain says up to a factor and rounding.
            self._away = math.log(total[0]) - math.log(total[1]) + prior
            factor = math.exp(min(self.bound - self._away, MOST_EXPONENT))
            room.first[:] = weighed / total[:, None]
            room.told[cone_kernel.STEPS] = 0
            at = np.array([distance, self._label, self._width, lines])
            cone_kernel.follow(self._cones.letters, layers, end, at, factor, room)
            self.steps += int(room.told[cone_kernel.STEPS])
            if room.told[cone_kernel.LEFT] > 0:
                return done
        return len(order)

    def _raise(self, order: IntArray, margin: float, most: int) -> bool:
        """Raise the bound until all words with these ends keep below it; whether they do."""
        told = self._room.told
        done = 0
        while (done := done + self._sweep(order[done:])) < len(order):
            for _ in range(MOST_RAISED):
                if self._sweep(order[done : done + 1], 2):
                    break
                above, below = told[cone_kernel.ABOVE], told[cone_kernel.BELOW]
                asked = math.inf
                if below > 0.0:
                    asked = math.log(above) - math.log(below) + self._away
                if not asked < MOST_EXPONENT or self.steps > most:
                    return False
                distance, end = order[done]
                self._worst = int(distance), int(end), max(asked, self.bound)
                self.bound = max(asked, self.bound) + margin
            else:
                return False
        return True

    def word(self) -> list[int]:
        """The word to which the functionals lead at the end that raised the bound last.

        It starts from the end and takes, letter by letter, what is worth most further in.
        """
        if self._worst is None:
            return []
        distance, end, bound = self._worst
        self.bound = bound - 1e-7 * (1 + abs(bound))
        if self._sweep(np.array([(distance, end)])):
            return []
        letters, layers, room = self._cones.letters, self._cones.layers(self._upto), self._room
        vector, reference = layers.reference[end, 0], layers.reference[end, 0]
        label, best = 0, -math.inf
        for place in range(self._cones.spelling.labels):
            vectors = np.array([vector > 0], float)
            if end == self._cones.states:
                vectors = self._cones.ends(place, reference)
            worth = room.slopes[0, place, 0, : room.counts[0, place]] @ vectors.T
            if worth.size and worth.max() > best:
                best, label = float(worth.max()), place
                vector = vectors[int(np.argmax(worth.max(axis=0)))]
        word = []
        for layer in range(1, distance + 1):
            flow = layers.step[end, layer - 1] @ vector
            best, taken, before = -math.inf, 0, label
            for place in range(self._cones.spelling.labels):
                slopes = room.slopes[layer, place, 0, : room.counts[layer, place]]
                there = letters.next[0, place, : letters.counts[0, place]] == before
                if not len(slopes) or not there.any():
                    continue
                images = letters.weight[0, place, : len(there)] * flow
                worth = np.where(there, (slopes @ images.T).max(axis=0), -np.inf)
                if worth.max() > best:
                    best, label, taken = float(worth.max()), place, int(np.argmax(worth))
            word.append(taken)
            vector = letters.weight[0, label, taken] * flow
            if not vector.max() > 0.0:
                # Rounding led to letters that cannot follow each other.
                return []
            vector = vector / vector.max()
        return word[::-1]
