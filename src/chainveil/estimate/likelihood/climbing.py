"""Climbing a log-likelihood whose curvature is learned on the way.

Coordinates are logarithms of odds, kept within ``FARTHEST`` of zero. Every look costs a pass
over the release and gives height and slope; the curvature is learned from how the slope changes
(Broyden, Fletcher, Goldfarb, Shanno).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from chainveil.checks import FloatArray

# Probabilities are kept above exp(-FARTHEST) of the one they are compared with, and the reverse.
FARTHEST = 18.0
# The longest step of a coordinate, and the least curvature that is believed.
LONGEST = 2.0
FLATTEST = 1e-3
MOST_HALVINGS = 5
LEAST_KEPT = 0.1


@dataclass(frozen=True)
class View:
    """What is seen from a place.

    Attributes
    ----------
    place : array of shape (d,)
    height : float
        The log-likelihood.
    slope : array of shape (d,)
        Its derivatives.
    onward : array of shape (d,)
        Where a step of expectation maximisation leads, which is never lower.
    """

    place: FloatArray
    height: float
    slope: FloatArray
    onward: FloatArray


@dataclass(frozen=True)
class Summit:
    """Where a climb ended: the last view, the curvature learned, and what is left to gain."""

    view: View
    curvature: FloatArray
    left: float


Look = Callable[[FloatArray], View]


def climb(look: Look, begin: View, curvature: FloatArray, enough: float, most: int) -> Summit:
    """Climb until less than ``enough`` is left, or ``most`` steps are taken.

    ``curvature``, shape (d, d), is minus the second derivatives, as far as they are known.
    """
    view, left = begin, 0.0
    for _ in range(most):
        step = uphill(curvature, _free_slope(view))
        left = max(float(view.slope @ step) / 2, 0.0)
        if left < enough:
            break
        view, curvature = _move(look, view, step, curvature)
    return Summit(view, curvature, left)


def _free_slope(view: View) -> FloatArray:
    """The slope, without what leads past the border."""
    out = (np.abs(view.place) >= FARTHEST) & (view.place * view.slope > 0)
    return np.where(out, 0.0, view.slope)


def uphill(curvature: FloatArray, slope: FloatArray) -> FloatArray:
    """A step of moderate size that climbs, also where the surface does not curve down."""
    values, vectors = np.linalg.eigh(curvature)
    step = vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), FLATTEST))
    return np.asarray(step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300)))


def cut(place: FloatArray) -> FloatArray:
    """The nearest place within the borders."""
    return np.asarray(np.clip(place, -FARTHEST, FARTHEST))


def _move(
    look: Look, view: View, step: FloatArray, curvature: FloatArray
) -> tuple[View, FloatArray]:
    """One step of Newton's kind, or of expectation maximisation where that fails."""
    for _ in range(MOST_HALVINGS):
        found = look(cut(view.place + step))
        curvature = _bend(curvature, view, found)
        if found.height >= view.height:
            return found, curvature
        # A step too far has taught how the surface curves there.
        again = uphill(curvature, _free_slope(view))
        size = float(np.linalg.norm(step)) / (2 * max(float(np.linalg.norm(again)), 1e-300))
        step = again * min(1.0, size)
    found = look(view.onward)
    return found, _bend(curvature, view, found)


def _bend(curvature: FloatArray, one: View, other: View) -> FloatArray:
    """The curvature after a step, learned from the change of the slope.

    It stays positive: a step that finds less than a tenth of it makes it a tenth (Powell).
    """
    moved, change = other.place - one.place, one.slope - other.slope
    along = curvature @ moved
    before, after = float(moved @ along), float(moved @ change)
    if before <= 1e-12:
        return curvature
    if after < LEAST_KEPT * before:
        blend = (1 - LEAST_KEPT) * before / (before - after)
        change = blend * change + (1 - blend) * along
        after = LEAST_KEPT * before
    return np.asarray(
        curvature + np.outer(change, change) / after - np.outer(along, along) / before
    )
