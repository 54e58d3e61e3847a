"""How often each transition happened, given the reports: the expectation step of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.inference.hidden import StepWeights


@dataclass(frozen=True)
class ExpectedTransitions:
    """What one pass over the reports finds, given all of them.

    Attributes
    ----------
    counts : array of shape (s, s)
        Expected number of transitions between hidden states, summed over the series.
    start : array of shape (s,)
        Law of the first hidden state, on average over the series.
    log_likelihood : float
        Of all series together.
    """

    counts: FloatArray
    start: FloatArray
    log_likelihood: float


def expected_transitions(
    weights: StepWeights,
    symbols: NDArray[Any],
    borders: NDArray[np.int64],
    scratch: FloatArray | None = None,
) -> ExpectedTransitions:
    """Expected transitions of series laid end to end, by one pass forward and one back.

    Parameters
    ----------
    weights : StepWeights
        The model and the noise; :func:`chainveil.inference.step_weights` makes them.
    symbols : integer array of shape (total,)
        Reports ``0 … m-1``. Counts are NaN where the model cannot have produced them.
    borders : int64 array of shape (series + 1,)
        Series j is ``symbols[borders[j]:borders[j + 1]]``.
    scratch : array of shape (longest, s), optional
        Working space, for callers who come again: of a long series it takes as long to get as
        a pass.
    """
    from chainveil.inference import transition_kernels as kernels

    m, size = weights.first.shape
    if scratch is None:
        scratch = np.empty((int(np.diff(borders).max(initial=0)), size))
    kernel = kernels.expect_two if size == 2 else kernels.expect_many(size)
    counts, starts = np.zeros((size, size)), np.zeros(size)
    step = weights.step.reshape(m * m, size, size)
    found = kernel(symbols, borders, weights.first, step, scratch, counts, starts)
    return ExpectedTransitions(counts, starts / starts.sum(), float(found))
