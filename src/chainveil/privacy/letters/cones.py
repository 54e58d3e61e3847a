"""Bounds for one side by the distance of its end: what follows a point lies in a narrow cone.

A value that is known at a given distance, or the end of the series there, leaves little freedom to
what follows the points before it: reports say little, and the chain forgets. What follows a point
with i letters to come is a vector over its states, relative to what the chain alone says of them
from the end, and lies in a cone with a ray for each state (least shares, found from the end
inwards). Here are the cones; ``walks`` bounds words by them.
"""

from __future__ import annotations

import math

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters import cone_kernel
from chainveil.privacy.letters.cone_kernel import Layers, Letters, Room
from chainveil.privacy.letters.ends import Ends, empty, joined, widened
from chainveil.privacy.letters.priors import Priors
from chainveil.privacy.letters.sides import Spelling
from chainveil.privacy.letters.words import UNIT

# What priors are raised by: far more than rounding takes.
MARGIN = 1e-12
# Distances up to which walks are made at most.
MOST_DISTANCES = 16384
# Priors of more distances are worked out again for each walk: those of all pairs would fill memory.
MOST_KEPT = 1024
# Distances that are taken together at once, as far as their number is a multiple of that.
NEIGHBOURS = 16


class Cones:
    """What one side is worth at most, whatever is known on it, where every point reports.

    ``is_close``: whether cones are made as narrow as can be shown quickly, and neighbouring
    distances may be asked together; ``furthest``: up to what distance walks are made at most.
    """

    def __init__(
        self,
        spelling: Spelling,
        priors: Priors,
        is_close: bool = True,
        furthest: int = MOST_DISTANCES,
    ) -> None:
        self.spelling, self.priors, self._is_close = spelling, priors, is_close
        self.furthest = furthest
        count, weight, following, _, _ = spelling.arrays
        if spelling.labels > 1:
            # Whether a word keeps below a factor does not depend on how likely it is. Functionals
            # of several words are joined, and a report that is repeated shall not count for more.
            weight = evened(weight, priors.numbers.stationary)
        scaled = weight / weight.max()
        matrix = spelling.matrix / max(1.0, spelling.matrix.sum(axis=1).max())
        self.letters = Letters(np.ascontiguousarray(matrix), scaled, following, count)
        self._ends = Ends(self.letters, self._first_layers(), is_close)
        self._layers: dict[int, Layers] = {}
        self._priors: dict[tuple[tuple[int, int], int], FloatArray] = {}
        self._room: Room | None = None

    @property
    def states(self) -> int:
        """Number of states k."""
        return len(self.spelling.matrix)

    @property
    def steps(self) -> int:
        """Functionals that it took to narrow the cones so far."""
        return self._ends.steps

    def layers(self, upto: int, most: float = 0.0) -> Layers:
        """Cones of up to so many letters before each end, narrowed for so many steps at most.

        Ends: a known value; k where the series ends; k + 1 for whatever may follow; then, for the
        first k + 1 of them, any of the distances of one of ``groups(upto)`` together.
        """
        if upto not in self._layers or not self._ends.is_done(upto, most):
            k, groups = self.states, self.groups(upto)
            ends, single = k + 2, self._ends.upto(upto, most)
            layers = empty(self.letters, ends + len(groups) * (k + 1), upto)
            for all_of_them, some in zip(layers, single, strict=True):
                all_of_them[:ends] = some[:, : all_of_them.shape[1]]
            for level, group in enumerate(groups):
                for end in range(k + 1):
                    self._join_distances(layers, ends + level * (k + 1) + end, end, group)
            self._layers[upto] = layers
        return self._layers[upto]

    def _first_layers(self) -> Layers:
        """The cones at the ends themselves."""
        k, labels = self.states, self.spelling.labels
        layers = empty(self.letters, k + 2, 0)
        for end in range(k):
            layers.reference[end, 0] = np.eye(k)[end]
            layers.share[end, 0, :, end] = 1.0 - cone_kernel.FREE
        if self.spelling.is_left:
            start = self.priors.numbers.start
            layers.reference[k, 0] = start / start.max()
        for label in range(labels):
            layers.share[k, 0, label] = self._end_shares(label, layers.reference[k, 0])
        return layers

    def groups(self, upto: int) -> list[tuple[int, int]]:
        """Distances that are taken together: letters before they are, and how many.

        Many at first, then fewer and fewer, where many leave too much open.
        """
        behind = count = upto // 32
        found = []
        while count > 1 and self._is_close:
            found.append((behind, count))
            count //= 4
        return found

    def _join_distances(
        self, layers: Layers, end: int, single: int, group: tuple[int, int]
    ) -> None:
        """Cones that hold those of several distances from a single end.

        They hold everything where not all values are possible at all of the distances.
        """
        behind, count = group
        references, shares = layers.reference[single, behind:], layers.share[single, behind:]
        if np.any((references > 0) != (references[0] > 0)):
            return
        middle, last = count // 2, len(references) - count + 1
        layers.reference[end, :last] = references[middle : middle + last]
        # Many distances are taken together in two turns: first neighbours, then such groups.
        near = math.gcd(count, NEIGHBOURS)
        inner = references[near // 2 :][: len(references) - near + 1]
        shares = joined(_windows(references, near), _windows(shares, near), inner)
        layers.share[end, :last] = joined(
            _windows(inner, count // near, near), _windows(shares, count // near, near),
            layers.reference[end, :last],
        )  # fmt: skip

    def ends(self, label: int) -> FloatArray:
        """The vectors with which a word may end at a label, (n, k)."""
        vectors = [vector for vector, _ in self.spelling.ends[0, label] if vector.any()]
        return np.array(vectors).reshape(-1, self.states)

    def _end_shares(self, label: int, reference: FloatArray) -> FloatArray:
        """Least shares of these vectors, relative to a reference; -1 where there is none."""
        vectors = self.ends(label)
        if not len(vectors):
            return np.full(self.states, -1.0)
        found = np.zeros(vectors.shape)
        np.divide(vectors, reference, out=found, where=reference > 0)
        return widened((found / found.sum(axis=1, keepdims=True)).min(axis=0))

    def room(self, upto: int, width: int) -> Room:
        """Room for functionals of so many layers."""
        room = self._room
        if room is None or len(room.values) < upto + 2 or room.values.shape[3] < width + 1:
            shape = upto + 2, self.spelling.labels, 2, width + 1, self.states
            room = self._room = Room(
                np.zeros(shape), np.zeros(shape), np.zeros(shape[:2], np.int64), np.zeros(4),
                np.zeros((2, self.states)),
            )  # fmt: skip
        return room

    def rows(self, pair: tuple[int, int]) -> FloatArray:
        """What both values of a target weigh for each state of the first point, (2, k)."""
        return self.priors.first[list(pair)]

    def log_priors(self, pair: tuple[int, int], upto: int) -> FloatArray:
        """Of b over a by distance and end, as ``layers`` counts them."""
        found = self._priors.get((pair, upto))
        if found is None:
            found = self._log_priors(pair, upto)
            if upto <= MOST_KEPT:
                self._priors[pair, upto] = found
        return found

    def _log_priors(self, pair: tuple[int, int], upto: int) -> FloatArray:
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
        found = [priors]
        for behind, count in self.groups(upto):
            together = np.full((upto + 1, self.states + 1), np.inf)
            largest = _largest(priors[behind:, :-1], count)
            together[: len(largest)] = largest
            found.append(together)
        return np.hstack(found)


def evened(weight: FloatArray, law: FloatArray) -> FloatArray:
    """Weights of letters (…, k), each letter as likely as the others under a law of the states."""
    likely = weight @ law
    return np.asarray(weight / np.where(likely > 0, likely, 1.0)[..., None])


def _windows(array: FloatArray, count: int, apart: int = 1) -> FloatArray:
    """So many rows, each so far behind the last one, along a new last axis."""
    span = (count - 1) * apart + 1
    # Compiled loops tell arrays that may be written to from others, and are compiled for each.
    found = np.lib.stride_tricks.sliding_window_view(array, span, axis=0, writeable=True)
    return found[..., ::apart]


def _largest(array: FloatArray, count: int) -> FloatArray:
    """The largest of so many rows in a row."""
    done = 1
    while done < count:
        # Two windows that overlap are one, up to twice as long.
        further = min(done, count - done)
        array = np.maximum(array[:-further], array[further:])
        done += further
    return array
