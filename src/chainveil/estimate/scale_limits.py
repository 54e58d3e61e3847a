"""Intervals on a scale with ends, for estimates that noise may take off the scale.

A share lies between 0 and 1, its unbiased estimate need not. To cut what lies off the scale from
an interval leaves little or nothing of some, and to widen those makes intervals cover more often
than they say. Feldman and Cousins (1998) ask of each p how well it explains what was found beside
the p of the scale that explains it best, and reject the worst 5% of what p itself would lead to.
Intervals then cover as often as they say, are never empty, and are the usual ones away from the
ends.

With ``top - p bottom`` as in :func:`chainveil.estimate.intervals.ratio_interval`, ``t`` that number
in its own standard errors, and T(0), T(1) the same for the ends of the scale instead of p:

    R = t^2 - f M,   M = 0 where the ratio lies on the scale, else the lesser of T(0)^2 and T(1)^2

Given what p leaves of the bottom (S, independent of t), T(0) and T(1) are linear in t, and t is
normal: the law of R is known, however uncertain the bottom is. f is the noise's part of the
variance: drawing a series takes no share off its scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray

# Halvings of the scale in which an end of an interval is found.
HALVINGS = 30
SMALLEST = 1e-30


@dataclass(frozen=True)
class UncertainRatio:
    """Two uncertain numbers, whose ratio lies between ``limits``; 1-D arrays of one length.

    Attributes
    ----------
    top, bottom : array of shape (n,)
    covariance : three arrays of shape (n,)
        Var top, Cov, Var bottom, due to the noise.
    drawing : array of shape (n,)
        ``drawing p (1 - p)`` is added to the variance of ``top - p bottom``.
    limits : (float, float)
    lean : array of shape (n,)
        How the variance that is shown leans with the error: ``variance (1 + lean t)``.
    """

    top: FloatArray
    bottom: FloatArray
    covariance: tuple[FloatArray, FloatArray, FloatArray]
    drawing: FloatArray
    limits: tuple[float, float]
    lean: FloatArray

    def __getitem__(self, some: NDArray[np.bool_]) -> UncertainRatio:
        parts = tuple(part[some] for part in self.covariance)
        return UncertainRatio(
            self.top[some], self.bottom[some], (parts[0], parts[1], parts[2]), self.drawing[some],
            self.limits, self.lean[some],
        )  # fmt: skip

    def interval(self, deviations: float) -> tuple[FloatArray, FloatArray]:
        """Every p that is not rejected, from the lowest to the highest, (n,) each."""
        level = 2 * NormalDist().cdf(deviations) - 1
        with np.errstate(all="ignore"):
            best = self._best()
            low, high = (self._end(best, limit, level) for limit in self.limits)
        return low, high

    def usual(self, p: FloatArray, deviations: float) -> NDArray[np.bool_]:
        """Where the ends of the scale are too far from p to matter, (n,)."""
        with np.errstate(all="ignore"):
            at = _At(self, p)
            low, high = at.crossings
            return np.asarray(at.between & (low <= -deviations) & (high >= deviations))

    def _best(self) -> FloatArray:
        """The p of the scale that explains best what was found."""
        value = self.top / self.bottom
        low, high = self.limits
        far = [np.abs(_At(self, np.full(len(value), limit)).t) for limit in self.limits]
        nearer = np.where(far[0] <= far[1], low, high)
        return np.where((low <= value) & (value <= high), value, nearer)

    def _end(self, best: FloatArray, limit: float, level: float) -> FloatArray:
        """The interval's end on the side of ``limit``."""
        outside, inside = np.full(len(best), limit), best
        reached = (_At(self, outside).rank() <= level) | (best == limit)
        for _ in range(HALVINGS):
            middle = (outside + inside) / 2
            kept = _At(self, middle).rank() <= level
            inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
        return np.where(reached, limit, inside)


class _At:
    """What one p makes of a ratio, (n,) each: the residual ``t``, and T of both ends as m + r t."""

    def __init__(self, ratio: UncertainRatio, p: FloatArray) -> None:
        noise, between, var_bottom = ratio.covariance
        drawn = ratio.drawing * p * (1 - p)
        top = noise + drawn
        variance = top - 2 * p * between + p**2 * var_bottom
        error = np.sqrt(variance)
        shown = (ratio.top - p * ratio.bottom) / error
        # By how much the variance that the error came with is to be taken smaller.
        half = ratio.lean * shown / 2
        factor = np.sqrt(1 + half**2) + half
        self.t = shown * factor
        self.credit = np.clip(1 - drawn / variance, 0.0, 1.0)
        left = ratio.bottom - (between - p * var_bottom) * shown / error
        means, slopes = [], []
        for q in ratio.limits:
            own = np.sqrt(top - 2 * q * between + q**2 * var_bottom)
            means.append(left * (p - q) / own * factor)
            slope = (top - (p + q) * between + p * q * var_bottom) / (error * own)
            slopes.append(np.clip(slope, -1.0, 1.0))
        self.mean, self.slope = np.stack(means), np.stack(slopes)

    @property
    def crossings(self) -> tuple[FloatArray, FloatArray]:
        """The lower and the higher t at which the ratio passes an end of the scale, (n,) each."""
        one, other = -self.mean / np.where(self.slope == 0, SMALLEST, self.slope)
        # As sorting has it: what is no number comes last.
        return np.fmin(one, other), np.maximum(one, other)

    @property
    def between(self) -> NDArray[np.bool_]:
        """Whether the ratio is on the scale for t between the crossings, else beyond them."""
        return np.asarray(self.slope[0] * self.slope[1] > 0)

    def rank(self) -> FloatArray:
        """The probability of an R below the one that was found, if p is the truth; (n,)."""
        ends = self.mean + self.slope * self.t
        off = np.where(ends[0] * ends[1] > 0, np.min(ends**2, axis=0), 0.0)
        found = np.maximum(self.t**2 - self.credit * off, 0.0)
        low, high = self.crossings
        reach = np.sqrt(found)
        on_scale = (-reach, reach)
        off_scale = self._off_scale(found)
        on_between, off_between = _chance(on_scale, low, high), _chance(off_scale, low, high)
        within = on_between + _chance(off_scale) - off_between
        beyond = _chance(on_scale) - on_between + off_between
        return np.where(self.between, within, beyond)

    def _off_scale(self, found: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The t with ``t^2 - f T^2 < found`` for both ends of the scale: an interval."""
        f, m, r = self.credit, self.mean, self.slope
        square = np.maximum(1 - f * r**2, SMALLEST)
        half, rest = f * m * r, f * m**2 + found
        root = np.sqrt(half**2 + square * rest)
        # Of the two forms of a root the one that subtracts nothing nearly equal.
        upper = np.where(half > 0, (half + root) / square, rest / (root - half))
        lower = np.where(half < 0, (half - root) / square, -rest / (root + half))
        return np.asarray(lower.max(axis=0)), np.asarray(upper.min(axis=0))


def _chance(
    part: tuple[FloatArray, FloatArray],
    low: FloatArray | float = -np.inf,
    high: FloatArray | float = np.inf,
) -> FloatArray:
    """Probability of a normal number in an interval, and between ``low`` and ``high``."""
    from scipy.special import ndtr

    begin, end = np.maximum(part[0], low), np.minimum(part[1], high)
    return np.asarray(np.maximum(ndtr(end) - ndtr(begin), 0.0))
