"""How long a state lasts once it is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.estimate.questions.transitions import transitions
from chainveil.estimate.results import Covers, Durations


def durations(
    z: Any,
    noise: Any,
    *,
    by: Any = None,
    window: int | None = None,
    level: float = 0.95,
    covers: Covers = "noise",
) -> Durations:
    """The mean number of points that a spell of each state lasts.

    Arguments are those of :func:`chainveil.estimate.transitions`.

    Returns
    -------
    Durations
        Arrays of shape (k,), or (groups, k). ``high`` is infinite where the release does not
        rule out that a state is never left, ``value`` where it shows fewer than no exits; frames
        leave such an estimate missing. ``low`` never is: a state that is not left lasts at least as
        long as was looked at.

    Notes
    -----
    ``1 / (1 - P(a, a))``. The interval is that of ``P(a, a)``, sent through the same formula:
    it covers as often, though it is far from symmetric.

    Examples
    --------
    >>> import chainveil as cv
    >>> found = cv.estimate.durations([0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1], cv.Channel.binary(0, 0))
    >>> found.value
    array([2., 7.])
    """
    steps = transitions(z, noise, by=by, window=window, level=level, covers=covers)
    stay, low, high, error = (
        np.diagonal(array, axis1=-2, axis2=-1)
        for array in (steps.value, steps.low, steps.high, steps.standard_error)
    )
    value = _mean_spell(stay)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        spread = np.where(np.isfinite(value), error * value**2, np.inf)
        worth = np.where(np.isfinite(spread), value * (value - 1) / spread**2, 0.0)
    looked_at = np.asarray(steps.points, float)[..., None] + 1
    least = np.minimum(_mean_spell(low), looked_at)
    arrays = (value, spread, least, _mean_spell(high), worth)
    for array in arrays:
        array.setflags(write=False)
    return Durations(*arrays, level, steps.covers, steps.points, steps.groups, shared=steps.shared)


def _mean_spell(stay: FloatArray) -> FloatArray:
    """``1 / (1 - stay)``; infinite from ``stay = 1`` on, never below one point."""
    with np.errstate(divide="ignore"):
        spell = 1.0 / np.maximum(1.0 - np.asarray(stay), 0.0)
    return np.asarray(np.maximum(spell, 1.0))
