"""Bounds for one side by the distance of its end: what follows a point lies in a narrow cone.

A value that is known at a given distance, or the end of the series there, leaves little freedom to
what follows the points before it: reports say little, and the chain forgets. What follows a point
with i letters to come is a vector over its states, relative to what the chain alone says of them
from the end, and lies in a cone with a ray for each state (least shares, found from the end
inwards). Here are the cones; ``walks`` bounds words by them.
"""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters import cone_kernel
from chainveil.privacy.letters.cone_kernel import Layers, Letters, Room
from chainveil.privacy.letters.priors import Priors
from chainveil.privacy.letters.sides import Spelling
from chainveil.privacy.letters.words import UNIT

# What priors are raised and first shares lowered by: far more than rounding takes.
MARGIN, WIDER = 1e-12, 1e-9


class Cones:
    """What one side is worth at most, whatever is known on it, where every point reports.

    ``grouped``: whether neighbouring distances may be asked together.
    """

    def __init__(self, spelling: Spelling, priors: Priors, grouped: bool = True) -> None:
        self.spelling, self.priors, self._grouped = spelling, priors, grouped
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
        first k + 1 of them, any of the distances of one of ``groups(upto)`` together.
        """
        if upto not in self._layers:
            k, labels, groups = self.states, self.spelling.labels, self.groups(upto)
            ends = k + 2 + len(groups) * (k + 1)
            layers = Layers(
                np.ones((ends, upto + 1, k)), np.zeros((ends, upto, k, k)),
                np.zeros((ends, upto + 1, labels, k)),
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
                    level, single = divmod(end - k - 2, k + 1)
                    self._join_distances(layers, end, single, groups[level])
                cone_kernel.lay(self.letters, layers, end, np.zeros(k))
            self._layers[upto] = layers
        return self._layers[upto]

    def groups(self, upto: int) -> list[tuple[int, int]]:
        """Distances that are taken together: letters before they are, and how many.

        Many at first, then fewer, where many leave too much open.
        """
        behind = upto // 32
        return [(behind, count) for count in (behind, behind // 4) if count > 1 and self._grouped]

    def _join_distances(
        self, layers: Layers, end: int, single: int, group: tuple[int, int]
    ) -> None:
        """A first cone that holds those of several layers before a single end."""
        behind, count = group
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
        if (pair, upto) not in self._priors:
            self._priors[pair, upto] = self._log_priors(pair, upto)
        return self._priors[pair, upto]

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
            windows = np.lib.stride_tricks.sliding_window_view(priors[behind:, :-1], count, axis=0)
            together[: len(windows)] = windows.max(axis=2)
            found.append(together)
        return np.hstack(found)


def _widened(least: FloatArray) -> FloatArray:
    """Shares of a cone that is a little wider, and leaves something free.

    What is free of a share is known up to a thousand times what rounding takes.
    """
    most = 1 - cone_kernel.FREE
    least = least * (1 - WIDER)
    return least * (most / max(most, float(least.sum())))
