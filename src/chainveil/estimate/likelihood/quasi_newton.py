"""Maximise a log-likelihood by a quasi-Newton method.

Coordinates are logarithms of odds, kept within ``FARTHEST`` of zero. Every evaluation costs a
pass over the release and gives value and gradient; the curvature is learned from how the
gradient changes (Broyden, Fletcher, Goldfarb, Shanno).
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
class Evaluation:
    """The log-likelihood at a point, and what a pass tells about its neighbourhood.

    Attributes
    ----------
    point : array of shape (d,)
    value : float
        The log-likelihood.
    gradient : array of shape (d,)
        Its derivatives.
    em_step : array of shape (d,)
        Where a step of expectation maximisation leads, which is never lower.
    """

    point: FloatArray
    value: float
    gradient: FloatArray
    em_step: FloatArray


@dataclass(frozen=True)
class Ascent:
    """Where an ascent ended: its last evaluation, the curvature learned, what is left to gain."""

    last: Evaluation
    curvature: FloatArray
    left: float


Objective = Callable[[FloatArray], Evaluation]


def ascend(
    evaluate: Objective, begin: Evaluation, curvature: FloatArray, enough: float, most: int
) -> Ascent:
    """Ascend until less than ``enough`` is left, or ``most`` steps are taken.

    ``curvature``, shape (d, d), is minus the second derivatives, as far as they are known.
    """
    last, left = begin, 0.0
    for _ in range(most):
        step = ascent_step(curvature, _free_gradient(last))
        left = max(float(last.gradient @ step) / 2, 0.0)
        if left < enough:
            break
        last, curvature = _move(evaluate, last, step, curvature)
    return Ascent(last, curvature, left)


def _free_gradient(at: Evaluation) -> FloatArray:
    """The gradient, without what leads past the bounds."""
    out = (np.abs(at.point) >= FARTHEST) & (at.point * at.gradient > 0)
    return np.where(out, 0.0, at.gradient)


def ascent_step(curvature: FloatArray, gradient: FloatArray) -> FloatArray:
    """A step of moderate size that leads up, also where the surface does not curve down."""
    values, vectors = np.linalg.eigh(curvature)
    step = vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), FLATTEST))
    return np.asarray(step * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300)))


def clipped(point: FloatArray) -> FloatArray:
    """The nearest point within the bounds."""
    return np.asarray(np.clip(point, -FARTHEST, FARTHEST))


def _move(
    evaluate: Objective, last: Evaluation, step: FloatArray, curvature: FloatArray
) -> tuple[Evaluation, FloatArray]:
    """One step of Newton's kind, or of expectation maximisation where that fails."""
    for _ in range(MOST_HALVINGS):
        found = evaluate(clipped(last.point + step))
        curvature = _updated_curvature(curvature, last, found)
        if found.value >= last.value:
            return found, curvature
        # A step too far has taught how the surface curves there.
        again = ascent_step(curvature, _free_gradient(last))
        size = float(np.linalg.norm(step)) / (2 * max(float(np.linalg.norm(again)), 1e-300))
        step = again * min(1.0, size)
    found = evaluate(last.em_step)
    return found, _updated_curvature(curvature, last, found)


def _updated_curvature(curvature: FloatArray, one: Evaluation, other: Evaluation) -> FloatArray:
    """The curvature after a step, learned from the change of the gradient.

    It stays positive: a step that finds less than a tenth of it makes it a tenth (Powell).
    """
    moved, change = other.point - one.point, one.gradient - other.gradient
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
