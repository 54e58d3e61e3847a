"""Intervals from the likelihood itself, for two states.

Curvature at the top says little where the likelihood is flat and crooked. The interval for one
of ``log q / (1 - q)`` and ``log r / (1 - r)`` holds all its values for which the other can be
chosen so that the log-likelihood is within ``d^2 / 2`` of the greatest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray
from chainveil.estimate.likelihood import FARTHEST, Expected, Fit, Release

MOST_STEPS = 8
MOST_TRIALS = 14
# How close the root of the deviance comes to the number of standard errors asked for.
CLOSE = 0.01


@dataclass
class Ridge:
    """The likelihood along one coordinate, the other one always chosen best.

    ``place`` holds the logits of q and r; ``axis`` is the one that is held fixed.
    """

    release: Release
    begin: FloatArray
    axis: int
    place: FloatArray
    curvature: float

    def height(self, value: float) -> float:
        """Greatest log-likelihood with the coordinate at ``value``; remembers where it is."""
        self.place[self.axis] = value
        other = 1 - self.axis
        seen = self._look()
        slope, best = self._slope(seen, other), seen.log_likelihood
        for _ in range(MOST_STEPS):
            step = slope / max(self.curvature, 1e-3)
            step = math.copysign(min(abs(step), 2.0), step)
            before = self.place[other]
            self.place[other] = min(max(before + step, -FARTHEST), FARTHEST)
            seen = self._look()
            if seen.log_likelihood < best - 1e-9:
                # Too far: the curve bends more than was thought.
                self.place[other] = before
                self.curvature = max(self.curvature, 1e-3) * 4
                continue
            gained, best = seen.log_likelihood - best, seen.log_likelihood
            now, moved = self._slope(seen, other), self.place[other] - before
            if moved and (slope - now) / moved > 0:
                self.curvature = (slope - now) / moved
            slope = now
            if gained < 1e-3:
                break
        return best

    def _look(self) -> Expected:
        q, r = 1 / (1 + np.exp(-self.place))
        return self.release.expect(np.array([[1 - q, q], [r, 1 - r]]), self.begin)

    def _slope(self, seen: Expected, axis: int) -> float:
        """Derivative of the log-likelihood by one logit, by Fisher's identity."""
        chance = 1 / (1 + math.exp(-self.place[axis]))
        leave, stay = seen.counts[axis, 1 - axis], seen.counts[axis, axis]
        return float(leave - (leave + stay) * chance)


def logit_limits(
    release: Release, fit: Fit, variance: FloatArray, deviations: float
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits of the logits of q and r, shape (2,) each.

    ``variance`` of both logits, shape (2,), is where the search begins; infinite limits are
    cut where a probability is nothing or one for every purpose.
    """
    q, r = fit.transition[0, 1], fit.transition[1, 0]
    top = np.array([math.log(q / (1 - q)), math.log(r / (1 - r))])
    ends = np.empty((2, 2))
    for axis in range(2):
        for side, sign in enumerate((-1.0, 1.0)):
            curvature = 1 / max(float(variance[1 - axis]), 1e-9)
            ridge = Ridge(release, fit.begin, axis, top.copy(), curvature)
            first = min(deviations * math.sqrt(float(variance[axis])), 2.0)
            ends[side, axis] = _end(ridge, top[axis], sign, first, fit.log_likelihood, deviations)
    return ends[0], ends[1]


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
