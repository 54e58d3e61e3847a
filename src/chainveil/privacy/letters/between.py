"""Bounds for targets that make no report, by what lies behind the nearest points that do.

``silent`` bounds such targets by what the points that report are worth, whatever is known further
out. But what is known also decides how much a report says of a point between reports. Here each
end has a cone of its own: a value that is known at some distance, or the end of the series. At the
nearest point that reports, all that lies there and further out is a vector v with reports and u
without. On the cone of an end (``cone_kernel``) u is the reference, and v has a ray for each state,
so that the side of a target m steps away is worth at most the largest, over ends and rays, of

    log (T v)(a) / (T v)(b) - log (T u)(a) / (T u)(b),        T: m steps of the chain.

Between two points that report there are as many steps as a block has points; a value may be known
at each of them. Ends behind the last layer are taken together: u and v are mixtures of what known
values there leave.

Rays of a cone have the least share in all states but one, which no report may leave. A look ahead
takes, for each report of the nearest point, what it makes of the rays of the layer behind it
instead: there are as many times more of them, and they are nearer to what can be.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.privacy.letters import between_kernel
from chainveil.privacy.letters.cone_kernel import Layers, Letters
from chainveil.privacy.letters.cones import evened
from chainveil.privacy.letters.ends import Ends, empty, widened
from chainveil.privacy.letters.numbers import Numbers
from chainveil.privacy.letters.sides import Spelling
from chainveil.privacy.letters.words import UNIT

# Behind the last layer what is known changes the logs of odds by no more than this.
FAR = 1e-3
# Layers that there may be: cones of many of them are wide. How many numbers all cones may have, and
# with a look ahead: more would take long.
MOST_DEPTHS, MOST_NUMBERS, MOST_AHEAD = 64, 1 << 21, 1 << 23
# Functionals that narrow them at most.
NARROWING = 1 << 21
# Smaller references are not told from zero as exactly as others.
LEAST = 1e-150
# What bounds are raised by: far more than rounding takes.
MARGIN = 1e-9


class Between:
    """What one side of silent points is worth at most, by label, distance and pair of values."""

    def __init__(self, spelling: Spelling, numbers: Numbers) -> None:
        self._spelling, self._numbers = spelling, numbers
        self._steps = [np.eye(numbers.states)]
        self._found: dict[int, FloatArray] = {}
        self._is_ahead = False

    def look_ahead(self) -> bool:
        """Take what each report makes of the layer behind it from now on; whether that is done."""
        cones, letters = self._cones.share.size, self._letters.weight.shape[2]
        if self._is_ahead or cones * letters * self._numbers.states > MOST_AHEAD:
            return False
        self._rays, self._is_ahead, self._found = self._rays_ahead(), True, {}
        return True

    @property
    def is_offered(self) -> bool:
        """Whether there are cones of all distances that matter, and not too many."""
        if not self._depths:
            return False
        reference = self._cones.reference
        return not np.any((reference > 0) & (reference < LEAST))

    def bound(self, label: int, distance: int) -> FloatArray:
        """Of points so far from the nearest that reports, for all pairs of values, (k, k)."""
        if distance not in self._found:
            self._found[distance] = self._bounds(distance)
        found: FloatArray = self._found[distance][label]
        return found

    def _power(self, steps: int) -> FloatArray:
        """So many steps of the chain."""
        while len(self._steps) <= steps:
            self._steps.append(self._spelling.matrix @ self._steps[-1])
        return self._steps[steps]

    @cached_property
    def _block(self) -> FloatArray:
        """The steps from one point that reports to the next."""
        return self._power(self._spelling.period)

    @cached_property
    def _depths(self) -> int:
        """Layers after which the chain tells next to nothing of what is known; 0: too many."""
        power, k, spelling = self._block, self._numbers.states, self._spelling
        most = min(MOST_DEPTHS, MOST_NUMBERS // (spelling.period * k**2 * spelling.labels))
        for depths in range(1, most + 1):
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(power)
                odds = logs[:, None] - logs
            if np.all(odds.max(axis=2) - odds.min(axis=2) < FAR):
                return depths
            power = power @ self._block
            power = power / power.max()
        return 0

    @cached_property
    def _letters(self) -> Letters:
        """What points that report say, with the steps between two of them."""
        spelling = self._spelling
        count, weight, following, _, _ = spelling.arrays
        reporting = slice(spelling.first, spelling.first + 1)
        # How likely a report is does not matter; see ``Cones``.
        weight = evened(weight[reporting], self._numbers.stationary)
        block = self._block / max(1.0, self._block.sum(axis=1).max())
        return Letters(
            np.ascontiguousarray(block), weight / weight.max(), following[reporting].copy(),
            count[reporting].copy(),
        )  # fmt: skip

    @cached_property
    def _cones(self) -> Layers:
        """Cones at the nearest point that reports: by end, and by blocks to the end.

        Ends: a value that is known 1, 2, … steps behind the last report, the values of one
        distance side by side; behind the first of them the end of the series.
        """
        k, letters = self._numbers.states, self._letters
        powers = [self._power(steps) for steps in range(1, self._spelling.period + 1)]
        known = np.concatenate([(power / power.max(axis=0)).T for power in powers])
        # ``Ends`` has one more for whatever may follow.
        first = empty(letters, len(known) + 2, 0)
        first.reference[:-1, 0] = np.insert(known, k, self._end(), axis=0)
        first.share[:-1, 0] = self._last_shares(letters, first.reference[:-1, 0])
        layers = Ends(letters, first, True).upto(self._depths, NARROWING)
        return Layers(layers.reference[:-1], layers.share[:-1])

    @cached_property
    def _rays(self) -> FloatArray:
        """Rays of all cones as they are, (ends, layers, labels, k, k); zeros: there is none."""
        reference, share = self._cones
        there = share[..., :1] >= 0
        least = np.where(there, share, 0.0)
        rest = np.where(there, 1 - least.sum(axis=-1, keepdims=True), 0.0)
        found = least[..., None, :] + rest[..., None] * np.eye(share.shape[-1])
        found *= reference[:, :, None, None]
        # In a state that cannot be there is no ray.
        found *= (reference > 0)[:, :, None, :, None]
        return np.ascontiguousarray(found)

    def _rays_ahead(self) -> FloatArray:
        """What reports make of the rays behind them, (ends, layers, labels, letters * k, k).

        Behind the last report nothing is left open.
        """
        letters, rays, reference = self._letters, self._rays, self._cones.reference
        ends, layers, labels, k, _ = rays.shape
        most = letters.weight.shape[2]
        found = np.zeros((ends, layers, labels, most * k, k))
        for label in range(labels):
            for letter in range(letters.counts[0, label]):
                weight, some = letters.weight[0, label, letter], slice(letter * k, letter * k + k)
                found[:, 0, label, letter * k] = weight * reference[:, 0]
                behind = rays[:, :-1, letters.next[0, label, letter]] @ letters.matrix.T
                found[:, 1:, label, some] = weight * behind
        if self._spelling.is_left:
            # A series may begin with a report of its own kind.
            found[k, 0, :, :k], found[k, 0, :, k:] = rays[k, 0], 0.0
        return found

    def _end(self) -> FloatArray:
        """What the chain says at the last point that reports before the end of the series."""
        if not self._spelling.is_left:
            return np.ones(self._numbers.states)
        # The first point of a series lies so far before the first that reports.
        start = self._power(self._spelling.first) @ self._numbers.start
        return np.asarray(start / start.max())

    def _last_shares(self, letters: Letters, reference: FloatArray) -> FloatArray:
        """Least shares of what the last report before each end says, (ends, labels, k)."""
        k, labels = self._numbers.states, self._spelling.labels
        found = np.full((len(reference), labels, k), -1.0)
        for label in range(labels):
            weights = letters.weight[0, label, : letters.counts[0, label]]
            found[:, label] = _least_shares(weights, reference > 0)
            # A series may begin with its first report.
            first = [vector for vector, _ in self._spelling.ends[self._spelling.first, label]]
            if self._spelling.is_left and self._spelling.first == 0 and first:
                start = reference[k : k + 1] > 0
                says = np.array(first) / np.where(start, self._numbers.start, 1.0)
                found[k, label] = _least_shares(says, start)[0]
        return found

    def _bounds(self, distance: int) -> FloatArray:
        """For all labels and pairs of values, (labels, k, k); never below zero."""
        k, labels = self._numbers.states, self._spelling.labels
        most = np.zeros((labels, k, k))
        odds, work = np.zeros((k, k)), np.zeros((2, k))
        between_kernel.largest(
            self._cones.reference, self._rays, self._power(distance), odds, most, work
        )
        with np.errstate(divide="ignore"):
            found = np.maximum(np.log(most), 0.0)
        slack = 16 * (distance + self._spelling.period * (self._depths + 1) + 8) * (k + 8) * UNIT
        if self._spelling.is_left and self._spelling.none >= 0:
            # Before the first report nothing is told from the left.
            found[self._spelling.none] = 0.0
        return np.asarray(found + slack + MARGIN)


def _least_shares(says: FloatArray, possible: NDArray[np.bool_]) -> FloatArray:
    """Least shares of each state in what is said, where states are possible, (n, k); -1: nothing.

    ``says`` (reports, k), of which those that cannot be made do not count; ``possible`` (n, k).
    """
    there = says[None] * possible[:, None]
    total = there.sum(axis=2, keepdims=True)
    shares = np.where(total > 0, there / np.where(total > 0, total, 1.0), np.inf)
    least = shares.min(axis=1, initial=np.inf)
    is_there = np.isfinite(least[:, :1])
    return np.where(is_there, widened(np.where(is_there, least, 0.0)), -1.0)
