"""Intervals from the likelihood itself.

Curvature at the maximum says little where the likelihood is flat or far from a parabola. The
interval for ``log p / (1 - p)``, with p one transition, holds all its values for which everything
else can be chosen so that the log-likelihood is within ``d^2 / 2`` of the greatest.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.estimate.likelihood.coordinates import logits, slopes
from chainveil.estimate.likelihood.maximum import Fit
from chainveil.estimate.likelihood.passes import ReleasePasses
from chainveil.estimate.likelihood.quasi_newton import (
    FARTHEST,
    Evaluation,
    ascend,
    ascent_step,
    clipped,
)

IntArray = NDArray[np.int64]
MOST_STEPS = 40
MOST_TRIALS = 14
# Log-likelihood that the rest of the chain may still gain.
LEFT = 5e-3
# How close the root of the deviance comes to the number of standard errors asked for.
CLOSE = 0.01


class ProfileLikelihood:
    """The likelihood along one transition (a, b), the rest of the chain always chosen best.

        Points hold logarithms: in every row but a they are weights of the next states; in row a
        those of the states but b, which share what p leaves. ``curvature`` starts from that at the
    top; ``drift`` is how the best point moved with the ``logit`` of p that was looked at last.
    """

    def __init__(self, release: ReleasePasses, fit: Fit, entry: tuple[int, int]) -> None:
        self.release, self.start, self.entry = release, fit.start, entry
        k = len(fit.transition)
        self.free = free_coordinates(k, entry)
        logarithms = np.log(fit.transition)
        self.point = clipped(self._against_reference(logarithms)[self.free])
        # Both sets of coordinates move the same transitions.
        change = np.linalg.pinv(slopes(fit.transition)) @ _own_slopes(fit.transition, entry)
        information = change.T @ fit.information @ change
        self.curvature = information[1:, 1:]
        self.drift = -ascent_step(self.curvature, information[1:, 0])
        self.logit = float(logits(fit.transition[entry]))

    def value(self, logit: float) -> float:
        """Greatest log-likelihood with the transition at ``logit``; remembers where it is."""
        before, moved = self.point, logit - self.logit
        evaluate = partial(self._evaluate, logit)
        begin = evaluate(clipped(before + self.drift * moved))
        found = ascend(evaluate, begin, self.curvature, LEFT, MOST_STEPS)
        self.point, self.curvature = found.last.point, found.curvature
        if moved:
            self.drift, self.logit = (self.point - before) / moved, logit
        # What little is left is known well; more would mean that the ascent did not end.
        return found.last.value + (found.left if found.left < LEFT else 0.0)

    def _against_reference(self, logarithms: FloatArray) -> FloatArray:
        """Less the logarithm that stays zero in each row."""
        k = len(logarithms)
        return np.asarray(logarithms - logarithms[np.arange(k), references(k, self.entry)][:, None])

    def _evaluate(self, logit: float, point: FloatArray) -> Evaluation:
        whole = np.zeros(self.free.shape)
        whole[self.free] = point
        transition = rows_with(whole, self.entry, logit)
        seen = self.release.expect(transition, self.start)
        # By Fisher's identity.
        gradient = _residual(seen.counts, transition, self.entry)[self.free]
        em_step = self._against_reference(np.log(np.maximum(seen.counts, 1e-300)))[self.free]
        return Evaluation(point, seen.log_likelihood, gradient, clipped(em_step))


def logit_limits(
    release: ReleasePasses, fit: Fit, variance: FloatArray, deviations: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest logit of each transition, shape (k, k) each.

    ``variance`` holds those of the logits from the curvature, where the search begins;
    ``deviations``, shape (k,), how many standard errors the limits of each row reach.
    """
    k = len(fit.transition)
    ends = np.empty((2, k, k))
    top = logits(fit.transition)
    for a in range(k):
        # Of two states the second is what the first leaves.
        for b in range(k) if k > 2 else (1 - a,):
            reach = float(deviations[a])
            first = min(reach * math.sqrt(float(variance[a, b])), 2.0)
            for side, sign in enumerate((-1.0, 1.0)):
                profile = ProfileLikelihood(release, fit, (a, b))
                ends[side, a, b] = _end(
                    profile, float(top[a, b]), sign, first, fit.log_likelihood, reach
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


def free_coordinates(states: int, entry: tuple[int, int]) -> NDArray[np.bool_]:
    """Which logarithms move while ``entry`` is held, (k, k) booleans."""
    free = np.ones((states, states), dtype=bool)
    free[np.arange(states), references(states, entry)] = False
    free[entry] = False
    return free


def rows_with(point: FloatArray, entry: tuple[int, int], logit: float) -> FloatArray:
    """The transitions with ``entry`` at ``logit`` and the rest as ``point`` says, (k, k)."""
    a, b = entry
    weights = np.exp(point - point.max(axis=1, keepdims=True))
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


def _own_slopes(transition: FloatArray, entry: tuple[int, int]) -> FloatArray:
    """Derivatives of the transitions by the logit of the entry, and by the free logarithms.

    Shape (k * k, 1 + free).
    """
    k = len(transition)
    entries = np.argwhere(free_coordinates(k, entry))
    found = np.zeros((k, k, 1 + len(entries)))
    found[entry[0], :, 0] = -transition[entry[0]] * transition[entry]
    found[(*entry, 0)] += transition[entry]
    for number, (a, b) in enumerate(entries, start=1):
        row = transition[a].copy()
        if a == entry[0]:
            row[entry[1]] = 0.0
        found[a, :, number] = -row * row[b] / row.sum()
        found[a, b, number] += row[b]
    return found.reshape(k * k, -1)


def _end(
    profile: ProfileLikelihood,
    top: float,
    sign: float,
    first: float,
    greatest: float,
    deviations: float,
) -> float:
    """Where the root of the deviance reaches ``deviations``, by secants within a bracket.

    The end of the bracket that stays counts half (the Illinois rule), else secants crawl.
    """

    def root(distance: float) -> float:
        return math.sqrt(max(2 * (greatest - profile.value(top + sign * distance)), 0.0))

    farthest = FARTHEST - sign * top
    near, near_miss, far, far_miss = 0.0, -deviations, math.inf, math.inf
    trial, last = min(max(first, 1e-3), farthest), 0
    for number in range(1, MOST_TRIALS + 1):
        miss = root(trial) - deviations
        if abs(miss) < CLOSE:
            break
        side = 1 if miss > 0 else -1
        if side < 0:
            if trial >= farthest:
                return sign * FARTHEST
            near, near_miss = trial, miss
            far_miss *= 0.5 if side == last else 1.0
        else:
            far, far_miss = trial, miss
            near_miss *= 0.5 if side == last else 1.0
        last = side
        if math.isinf(far):
            # Ever longer, for the likelihood may level off below.
            growth = 1.05 * deviations / max(miss + deviations, 0.1)
            trial = min(trial * min(max(growth, 1.2**number), 3.0), farthest)
        else:
            share = near_miss / (near_miss - far_miss)
            trial = near + (far - near) * min(max(share, 0.05), 0.95)
    return top + sign * trial
