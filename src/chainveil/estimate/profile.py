"""Intervals from the likelihood itself.

Curvature at the top says little where the likelihood is flat and crooked. The interval for
``log p / (1 - p)``, with p one transition, holds all its values for which everything else can
be chosen so that the log-likelihood is within ``d^2 / 2`` of the greatest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.estimate.likelihood import FARTHEST, Expected, Fit, Release, slopes

IntArray = NDArray[np.int64]
MOST_STEPS = 40
MOST_TRIALS = 14
# Log-likelihood that the rest of the chain may still gain, and the longest step in logarithms.
LEFT = 1e-3
LONGEST = 2.0
# How close the root of the deviance comes to the number of standard errors asked for.
CLOSE = 0.01


@dataclass
class Ridge:
    """The likelihood along one transition (a, b), the rest of the chain always chosen best.

    ``place`` holds logarithms: in every row but a they are weights of the next states; in row
    a those of the states but b, which share what ``p`` leaves. ``curvature`` is minus the
    second derivatives by the free ones, which start from those at the top; ``drift`` is how
    the best of them moved with the ``logit`` of p that was looked at last.
    """

    release: Release
    begin: FloatArray
    entry: tuple[int, int]
    place: FloatArray
    curvature: FloatArray
    logit: float
    drift: FloatArray
    free: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.free = free_places(len(self.place), self.entry)

    def height(self, logit: float) -> float:
        """Greatest log-likelihood with the transition at ``logit``; remembers where it is."""
        before, moved = self.place[self.free], logit - self.logit
        self.place[self.free] = np.clip(before + self.drift * moved, -FARTHEST, FARTHEST)
        found = self._climb(logit)
        if moved:
            self.drift, self.logit = (self.place[self.free] - before) / moved, logit
        return found

    def _climb(self, logit: float) -> float:
        seen = self._look(self.place, logit)
        for _ in range(MOST_STEPS):
            score = self._score(seen, logit)
            step = _uphill(self.curvature, score)
            left = float(score @ step) / 2
            if left < LEFT:
                return seen.log_likelihood + max(left, 0.0)
            seen = self._move(logit, step, seen, score)
        return seen.log_likelihood

    def _move(self, logit: float, step: FloatArray, seen: Expected, score: FloatArray) -> Expected:
        """One step of Newton's kind, or of expectation maximisation where that fails."""
        goal = self.place.copy()
        goal[self.free] = np.clip(goal[self.free] + step, -FARTHEST, FARTHEST)
        found = self._look(goal, logit)
        if found.log_likelihood < seen.log_likelihood:
            goal = np.clip(np.log(np.maximum(seen.counts, 1e-300)), -700, 700)
            goal = np.clip(goal - goal[self._reference()][:, None], -FARTHEST, FARTHEST)
            found = self._look(goal, logit)
        moved = goal[self.free] - self.place[self.free]
        self.place = goal
        self._bend(moved, score - self._score(found, logit))
        return found

    def _bend(self, moved: FloatArray, change: FloatArray) -> None:
        """Learn the curvature from a step (Broyden, Fletcher, Goldfarb, Shanno)."""
        along = self.curvature @ moved
        before, after = float(moved @ along), float(moved @ change)
        if before > 1e-12 and after > 0.1 * before:
            self.curvature = self.curvature + (
                np.outer(change, change) / after - np.outer(along, along) / before
            )

    def _reference(self) -> tuple[IntArray, IntArray]:
        """The place in each row whose logarithm stays zero."""
        rows = np.arange(len(self.place))
        return rows, references(len(self.place), self.entry)

    def _look(self, place: FloatArray, logit: float) -> Expected:
        return self.release.expect(rows_with(place, self.entry, logit), self.begin)

    def _score(self, seen: Expected, logit: float) -> FloatArray:
        """Derivatives by the free logarithms, by Fisher's identity."""
        transition = rows_with(self.place, self.entry, logit)
        return np.asarray(_residual(seen.counts, transition, self.entry)[self.free])


def logit_limits(
    release: Release, fit: Fit, variance: FloatArray, deviations: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest logit of each transition, shape (k, k) each.

    ``variance`` holds those of the logits from the curvature, where the search begins;
    ``deviations``, shape (k,), how many standard errors the limits of each row reach.
    """
    k = len(fit.transition)
    ends = np.empty((2, k, k))
    top = _logits(fit.transition)
    for a in range(k):
        # Of two states the second is what the first leaves.
        for b in range(k) if k > 2 else (1 - a,):
            reach = float(deviations[a])
            first = min(reach * math.sqrt(float(variance[a, b])), 2.0)
            for side, sign in enumerate((-1.0, 1.0)):
                ridge = _ridge(release, fit, (a, b))
                ends[side, a, b] = _end(
                    ridge, float(top[a, b]), sign, first, fit.log_likelihood, reach
                )
        if k == 2:
            ends[:, a, a] = -ends[::-1, a, 1 - a]
    return ends[0], ends[1]


def references(states: int, entry: tuple[int, int]) -> IntArray:
    """For each row a next state other than ``entry``: the diagonal where it can be."""
    found = np.arange(states)
    if entry[0] == entry[1]:
        found[entry[0]] = (entry[0] + 1) % states
    return found


def free_places(states: int, entry: tuple[int, int]) -> NDArray[np.bool_]:
    """Which logarithms move while ``entry`` is held, (k, k) booleans."""
    free = np.ones((states, states), dtype=bool)
    free[np.arange(states), references(states, entry)] = False
    free[entry] = False
    return free


def rows_with(place: FloatArray, entry: tuple[int, int], logit: float) -> FloatArray:
    """The transitions with ``entry`` at ``logit`` and the rest as ``place`` says, (k, k)."""
    a, b = entry
    weights = np.exp(place - place.max(axis=1, keepdims=True))
    weights[a, b] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    weights[a] *= 1 / (1 + math.exp(logit))
    weights[a, b] = 1 / (1 + math.exp(-logit))
    return np.asarray(weights)


def _residual(counts: FloatArray, transition: FloatArray, entry: tuple[int, int]) -> FloatArray:
    """Counts less what the other states of their row lead to expect, (k, k)."""
    a, b = entry
    others = transition.copy()
    others[a, b] = 0.0
    others[a] /= others[a].sum()
    seen = counts.copy()
    seen[a, b] = 0.0
    return np.asarray(seen - seen.sum(axis=1, keepdims=True) * others)


def _ridge(release: Release, fit: Fit, entry: tuple[int, int]) -> Ridge:
    """A ridge at the top, with the information of the fit in its coordinates."""
    k = len(fit.transition)
    logarithms = np.log(fit.transition)
    place = logarithms - logarithms[np.arange(k), references(k, entry)][:, None]
    # Both sets of coordinates move the same transitions.
    change = np.linalg.pinv(slopes(fit.transition)) @ _own_slopes(fit.transition, entry)
    information = change.T @ fit.information @ change
    curvature = information[1:, 1:]
    drift = -_uphill(curvature, information[1:, 0])
    logit = float(_logits(fit.transition[entry]))
    start = np.clip(place, -FARTHEST, FARTHEST)
    return Ridge(release, fit.begin, entry, start, curvature, logit, drift)


def _own_slopes(transition: FloatArray, entry: tuple[int, int]) -> FloatArray:
    """Derivatives of the transitions by the logit of the entry, and by the free logarithms.

    Shape (k * k, 1 + free).
    """
    k = len(transition)
    places = np.argwhere(free_places(k, entry))
    found = np.zeros((k, k, 1 + len(places)))
    found[entry[0], :, 0] = -transition[entry[0]] * transition[entry]
    found[(*entry, 0)] += transition[entry]
    for number, (a, b) in enumerate(places, start=1):
        row = transition[a].copy()
        if a == entry[0]:
            row[entry[1]] = 0.0
        found[a, :, number] = -row * row[b] / row.sum()
        found[a, b, number] += row[b]
    return found.reshape(k * k, -1)


def _uphill(curvature: FloatArray, score: FloatArray) -> FloatArray:
    """A step of moderate size that climbs, also where the surface does not curve down."""
    values, vectors = np.linalg.eigh(curvature)
    curved = np.maximum(np.abs(values), 1e-3)
    step = vectors @ ((vectors.T @ score) / curved)
    return np.asarray(step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300)))


def _logits(transition: FloatArray) -> FloatArray:
    safe = np.clip(transition, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(safe) - np.log1p(-safe))


def _end(
    ridge: Ridge, top: float, sign: float, first: float, greatest: float, deviations: float
) -> float:
    """Where the root of the deviance reaches ``deviations``, by secants within a bracket."""

    def root(distance: float) -> float:
        return math.sqrt(max(2 * (greatest - ridge.height(top + sign * distance)), 0.0))

    farthest = FARTHEST - sign * top
    near, near_root, far, far_root = 0.0, 0.0, math.inf, math.inf
    trial = min(max(first, 1e-3), farthest)
    for _ in range(MOST_TRIALS):
        found = root(trial)
        if abs(found - deviations) < CLOSE:
            return top + sign * trial
        if found < deviations:
            if trial >= farthest:
                return sign * FARTHEST
            near, near_root = trial, found
        else:
            far, far_root = trial, found
        if math.isinf(far):
            trial = min(trial * min(max(1.05 * deviations / max(found, 0.1), 1.2), 3.0), farthest)
        else:
            share = (deviations - near_root) / (far_root - near_root)
            trial = near + (far - near) * min(max(share, 0.1), 0.9)
    return top + sign * trial
