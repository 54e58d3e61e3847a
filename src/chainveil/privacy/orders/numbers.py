"""A chain of any order and its noise as floats.

The exact reading is what a loss refers to: each row of transitions and of every law of a report is
divided by its exact sum. The floats are within four units of it, and a zero stays a zero. The law
of the first points is that of the contexts, as the model gives it; it is stationary up to
``drift``, relatively.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.model.contexts import context_steps
from chainveil.noise.base import Noise
from chainveil.privacy.letters.numbers import _check_range, _floats, _normalised, exact_emission

# How far, relatively, a law may be moved by one step and still count as stationary.
FURTHEST = 1e-9


@dataclass(frozen=True)
class Numbers:
    """Chain and reports in floats.

    Attributes
    ----------
    order : int
    transition : array (k ** order, k)
        Law of the next value behind each context, its oldest value the leading digit; zeros for
        contexts that never occur.
    contexts : array (k ** order,)
        Law of the first values.
    drift : float
        How far, relatively, one step moves that law.
    first : array (k, m)
        Law of the first report; of every report where they are independent.
    kernel : array (m, k, m)
        Law of a report at ``[z, x]`` behind the report z, empty where they are independent.
    every, place : int
        Points to a report, and which of a block's points makes it, counted from 0.
    """

    order: int
    transition: FloatArray
    contexts: FloatArray
    drift: float
    first: FloatArray
    kernel: FloatArray
    every: int = 1
    place: int = 0

    @property
    def states(self) -> int:
        """Number of values k."""
        return int(self.transition.shape[1])

    @property
    def hides_all(self) -> bool:
        """Whether no report depends on its point."""
        laws = (self.first[None], self.kernel)
        return all(bool(np.all(law == law[:, :1])) for law in laws if law.size)

    @property
    def looks_back(self) -> bool:
        """Whether a report depends on the one before."""
        return self.kernel.size > 0


def read_numbers(model: Any, noise: Noise) -> Numbers:
    """Floats within four units in the last place of the exact reading."""
    contexts = np.asarray(model.contexts if model.order > 1 else model.start, np.float64)
    transition = _rows(model.transition) * (contexts > 0)[:, None]
    first, kernel = _laws(noise)
    for name, array in (("chain", transition), ("chain", contexts), ("noise", first)):
        _check_range(name, array)
    if kernel.size:
        _check_range("noise", kernel)
    drift = _drift(contexts, transition)
    timing = noise.every, noise.first_place
    return Numbers(model.order, transition, contexts, drift, first, kernel, *timing)


def _drift(contexts: FloatArray, transition: FloatArray) -> float:
    moved = contexts @ context_steps(transition)
    there = contexts > 0
    worst = float(np.max(np.abs(moved[there] / contexts[there] - 1)))
    if np.any(moved[~there] > 0) or worst > FURTHEST:
        raise NotSupported("the loss of a chain of this order is offered for a stationary start")
    return worst + 4 * len(contexts) * 2.0**-53


def _laws(noise: Noise) -> tuple[FloatArray, FloatArray]:
    if noise.sees == "point":
        first = _floats(exact_emission(noise))
        return first, np.zeros((0, *first.shape))
    kernel, first = noise.step_law()[:, 0], noise.first_law()
    if np.array_equal(kernel, np.broadcast_to(first, kernel.shape)):
        # It could look at its last report and does not: reports are independent.
        return _rows(first), np.zeros((0, *first.shape))
    return _rows(first), _rows(kernel.reshape(-1, kernel.shape[-1])).reshape(kernel.shape)


def _rows(law: FloatArray) -> FloatArray:
    return _floats([_normalised(row) for row in np.asarray(law).tolist()])
