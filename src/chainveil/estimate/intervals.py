"""Intervals: for a number, and for a ratio of two uncertain numbers."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.checks import FloatArray


def quantile(level: float) -> float:
    """How many standard errors an interval at ``level`` reaches to either side."""
    level = checks.probability("level", level, zero=False, one=False)
    return NormalDist().inv_cdf((1 + level) / 2)


def share_interval(
    value: FloatArray, noise: FloatArray, drawing: FloatArray, deviations: float
) -> tuple[FloatArray, FloatArray]:
    """All p with ``(value - p)^2 <= d^2 (noise + drawing p (1 - p))``.

    ``noise`` is a variance, ``drawing`` one over the number of independent points that the
    series is worth; with noise 0 this is Wilson's interval.
    """
    square = deviations**2
    a = 1 + square * drawing
    b = -2 * value - square * drawing
    c = value**2 - square * noise
    root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
    return np.asarray((-b - root) / (2 * a)), np.asarray((-b + root) / (2 * a))


def open_up(
    silent: NDArray[np.bool_],
    arrays: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray],
    limits: tuple[float, float] = (0.0, 1.0),
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Value, error, limits and effective size, where ``silent`` groups leave everything open.

    Too few points for the noise: the value stands, its interval is the whole scale. No points
    at all: there is no value.
    """
    value, error, low, high, worth = (np.array(array) for array in arrays)
    low[silent], high[silent] = limits
    none = np.isnan(value)
    low[none], high[none], error[none], worth[none] = *limits, np.inf, 0.0
    return value, error, low, high, worth


def ratio_interval(
    top: FloatArray,
    bottom: FloatArray,
    covariance: tuple[FloatArray, FloatArray, FloatArray],
    drawing: FloatArray,
    deviations: float,
    limits: tuple[float, float] = (0.0, 1.0),
) -> tuple[FloatArray, FloatArray]:
    """All p within ``limits`` with ``|top - p bottom|`` within ``d`` of its own standard errors.

    Fieller's set: it stays valid however uncertain the bottom is, where dividing errors by
    the bottom does not. ``covariance`` holds Var top, Cov, Var bottom; ``drawing p (1 - p)``
    is added to the variance. A set of two rays is closed to the interval that holds it, which
    then covers more than asked. A set outside the limits leaves what :func:`within` says.
    """
    square = deviations**2
    var_top, between, var_bottom = covariance
    a = bottom**2 - square * (var_bottom - drawing)
    b = -2 * top * bottom + square * (2 * between - drawing)
    c = top**2 - square * var_top
    low, high = _hull(a, b, c, limits)
    with np.errstate(divide="ignore", invalid="ignore"):
        nearest = np.clip(top / bottom, *limits)
        residual = var_top - 2 * nearest * between + nearest**2 * var_bottom
        reach = deviations * np.sqrt(np.maximum(residual, 0.0)) / np.abs(bottom)
    return within(low, high, reach, limits)


def within(
    low: FloatArray,
    high: FloatArray,
    reach: FloatArray,
    limits: tuple[float, float] = (0.0, 1.0),
) -> tuple[FloatArray, FloatArray]:
    """The part of an interval within ``limits``; an interval outside of them is no certainty.

    It means that the noise took the value off the scale, not that the truth is known: what is
    left begins at the nearer limit and is ``reach`` long, as if the value lay there.
    """
    bottom, top = limits
    ends = [np.clip(end, bottom, top) for end in (top - reach, bottom + reach, low, high)]
    lower = np.where(low > top, ends[0], ends[2])
    upper = np.where(high < bottom, ends[1], ends[3])
    return np.asarray(lower), np.asarray(upper)


def _hull(
    a: FloatArray, b: FloatArray, c: FloatArray, limits: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """An interval with the same points of ``limits`` as the hull of ``a p^2 + b p + c <= 0``."""
    low, high = limits
    discriminant = b**2 - 4 * a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(discriminant, 0.0))
        # The form of the roots that subtracts nothing nearly equal.
        half = -(b + np.where(b >= 0, root, -root)) / 2
        ends = np.stack([half / a, c / half])
    first, second = np.fmin(*ends), np.fmax(*ends)
    # Without any noise the two roots are one, and rounding may put them off the real line.
    inside = a > 0
    rays = (a <= 0) & (discriminant > 0)
    reaches_low, reaches_high = first >= low, second <= high
    lower = np.where(inside, first, np.where(rays & ~reaches_low, second, low))
    upper = np.where(inside, second, np.where(rays & ~reaches_high, first, high))
    return np.asarray(lower), np.asarray(upper)
