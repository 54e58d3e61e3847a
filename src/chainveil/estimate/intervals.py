"""Intervals: for a number, and for a ratio of two uncertain numbers."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.estimate.scale_limits import UncertainRatio


def quantile(level: float) -> float:
    """How many standard errors an interval at ``level`` reaches to either side."""
    level = checks.probability("level", level, zero=False, one=False)
    return NormalDist().inv_cdf((1 + level) / 2)


def share_interval(
    value: FloatArray,
    noise: FloatArray,
    drawing: FloatArray | float,
    deviations: float,
    lean: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """All shares p with ``(value - p)^2 <= d^2 (noise + drawing p (1 - p))``, as a ratio over one.

    ``noise`` is a variance, ``drawing`` one over the number of independent points that the
    series is worth; with noise 0 this is Wilson's interval.
    """
    known = np.zeros_like(value)
    spread, one = (noise, known, known), np.ones_like(value)
    return ratio_interval(value, one, spread, drawing + known, deviations, lean=lean)


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
    lean: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """All p within ``limits`` with ``|top - p bottom|`` within ``d`` of its own standard errors.

    Fieller's set: it stays valid however uncertain the bottom is, where dividing errors by
    the bottom does not. ``covariance`` holds Var top, Cov, Var bottom; ``drawing p (1 - p)``
    is added to the variance; ``lean`` says how that leans with the error (``counts.leaning``). A
    set of two rays is closed to the interval that holds it, which then covers more than asked.
    Near the limits it is reckoned with what noise takes off the scale (``scale_limits``).
    """
    parts = np.broadcast_arrays(top, bottom, *covariance, drawing, lean)
    shape = parts[0].shape
    top, bottom, var_top, between, var_bottom, drawing, lean = (part.ravel() for part in parts)
    ratio = UncertainRatio(top, bottom, (var_top, between, var_bottom), drawing, limits, lean)
    # An error towards a larger bottom goes with a lower ratio.
    towards = np.where(bottom < 0, -lean, lean) * deviations
    # Where no noise is shown there is no variance to lean: the two ends would pass each other.
    towards = np.where(var_top > 0, towards, 0.0)
    low, _ = _fieller(ratio, deviations / np.sqrt(1 + towards))
    _, high = _fieller(ratio, deviations / np.sqrt(1 - towards))
    usual = ratio.usual(low, deviations) & ratio.usual(high, deviations)
    # What is known exactly, or not at all, is left as it is.
    near = ~usual & (var_top > 0) & np.isfinite(top + bottom + var_top + between + var_bottom)
    if near.any():
        low[near], high[near] = ratio[near].interval(deviations)
    return low.reshape(shape), high.reshape(shape)


def _fieller(ratio: UncertainRatio, deviations: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The hull of all p within the limits whose residual is within ``deviations``, (n,) each."""
    square, (var_top, between, var_bottom) = deviations**2, ratio.covariance
    a = ratio.bottom**2 - square * (var_bottom - ratio.drawing)
    b = -2 * ratio.top * ratio.bottom + square * (2 * between - ratio.drawing)
    c = ratio.top**2 - square * var_top
    low, high = (np.clip(end, *ratio.limits) for end in _hull(a, b, c, ratio.limits))
    return low, high


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
