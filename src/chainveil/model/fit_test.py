"""Whether data contradict a model: what follows each context against what the model expects.

A chain that is fitted to few points differs from the chain behind them by the error of the fit
alone. A warning that rests on a fit is raised only where this test rejects the model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.counts import fit_p_values
from chainveil.model.base import Box, DataModel
from chainveil.model.contexts import count_contexts
from chainveil.sequences import Sequences

# Level of all tests of a run together, after Bonferroni. Of short series of slow chains, where few
# points are expected, up to 3% of runs raise an alarm (python -m benchmarks.false_alarms).
LEVEL = 0.01


def p_values(counts: NDArray[np.integer], model: DataModel) -> FloatArray:
    """Chance of each series being as far from a model if it follows it, shape (series,).

    Parameters
    ----------
    counts : integer array of shape (series, k ** m, k)
        How often each state follows each context of m points, ``m >= model.order``.
    model : DataModel
        Of a family, each series is held against the member that suits it best; of a box, against
        the chain of the box that does.
    """
    return _p_values(counts, _expected(counts, model))


def p_value(series: Sequences, model: DataModel, order: int = 1) -> float | None:
    """The same of all series together, by contexts of ``order`` points or as many as matter.

    None for a model that is no chain of any order. Series are stretches without gaps.
    """
    if model.order is None:
        return None
    depth, k = max(model.order, order), model.states
    # Of a set of models each series has its own.
    step = max(1, series.count) if model.single else 1
    counts = np.zeros((1, k**depth, k), np.int64)
    expected = np.zeros(counts.shape)
    for first in range(0, series.count, step):
        part = Sequences(series.flat, series.offsets[first : first + step + 1])
        found = count_contexts(part, k, depth, depth)[None]
        counts += found
        expected += _expected(found, model)
    return float(_p_values(counts, expected)[0])


def _p_values(counts: NDArray[np.integer], expected: FloatArray) -> FloatArray:
    # The contexts that occur have free probabilities; none of the model is fitted.
    degrees = (counts.sum(axis=2) > 0).sum(axis=1) * (counts.shape[2] - 1)
    return fit_p_values(counts, expected, degrees)


def _expected(counts: NDArray[np.integer], model: DataModel) -> FloatArray:
    """How often the likeliest member has each state follow each context, as often as it occurs."""
    from scipy.special import xlogy

    best, expected = np.full(len(counts), -np.inf), np.zeros(counts.shape)
    for member in model.members:
        law = _law(counts, member)
        # A context of more points than the member remembers has the law of its last ones.
        law = np.tile(law, (1, counts.shape[1] // law.shape[1], 1))
        likelihood = xlogy(counts, law).sum(axis=(1, 2))
        better = (likelihood >= best)[:, None, None]
        best = np.maximum(best, likelihood)
        expected = np.where(better, counts.sum(axis=2, keepdims=True) * law, expected)
    return expected


def _law(counts: NDArray[np.integer], member: DataModel) -> FloatArray:
    if member.box is None:
        return np.asarray(member.transition)[None]  # type: ignore[attr-defined]
    return _best_in_box(counts.reshape(len(counts), -1, 2, 2).sum(axis=1), member.box)


def _best_in_box(pairs: NDArray[np.integer], box: Box) -> FloatArray:
    """The likeliest laws within a box: the log-likelihood is concave in q and in r."""
    visits = np.maximum(pairs.sum(axis=2), 1)
    q = np.clip(pairs[:, 0, 1] / visits[:, 0], box[0], box[1])
    r = np.clip(pairs[:, 1, 0] / visits[:, 1], box[2], box[3])
    return np.stack([np.stack([1 - q, q], axis=1), np.stack([r, 1 - r], axis=1)], axis=1)
