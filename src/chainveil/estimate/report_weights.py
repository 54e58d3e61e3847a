"""What a report is worth that looks back at the last one: weights, their spread, the worst of it.

Given the last report z, the inverse of K(z' | z, x) gives a report z' a weight for each state,
whose mean is the indicator of the state that is there (``estimate.counts.last_report``).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.noise.base import Noise

# A matrix whose smallest singular value is below this carries nothing in doubles.
SINGULAR = 1e-12
# Sweeps in which the worst series is found, and the change at which they end.
MOST_SWEEPS, SETTLED = 2000, 1e-9


@lru_cache(maxsize=64)
def report_weights(source: Noise) -> FloatArray:
    """Unbiased weights of the states for reports that look back at the last one, (m * m, k).

    Row ``z * m + z'`` is for the report z' after the report z.
    """
    kernel = source.step_law()[:, 0]
    return np.concatenate([checked_inverse(np.asarray(law)) for law in kernel])


@lru_cache(maxsize=64)
def conditional_spread(source: Noise) -> FloatArray:
    """``Cov[phi_t | last report z, state x]``, shape (m, k, k, k) at ``[z, x]``."""
    m, k = source.outputs, source.states
    weights = report_weights(source).reshape(m, m, k)
    kernel = source.step_law()[:, 0]
    squares = np.einsum("zxw,zwa,zwb->zxab", kernel, weights, weights)
    # The mean is the indicator of the state.
    return np.asarray(squares - np.einsum("xa,xb->xab", np.eye(k), np.eye(k))[None])


@lru_cache(maxsize=64)
def worst_variance(source: Noise, pair: bool) -> float:
    """The largest variance a point that sums of weights, or of products, have in the long run.

    Over all series that anyone could choose, each point in view of the reports before it: a
    last report whose weights are large may be a rare one. For products a bound.
    """
    spread = np.einsum("zxaa->zxa", conditional_spread(source))
    if not pair:
        kernel = np.asarray(source.step_law()[:, 0])
        return max(_worst_average(spread[:, :, a], kernel) for a in range(source.states))
    return max(
        _worst_average(_pair_rewards(source, spread, a, b), _pair_steps(source))
        for a in range(source.states)
        for b in range(source.states)
    )


def _pair_rewards(source: Noise, spread: FloatArray, a: int, b: int) -> FloatArray:
    """Largest spread of ``u_s(a) 1[x_{s+1} = b] + phi_{s-1}(a) u_s(b)``, shape (m * m, k)."""
    here = np.tile(spread, (source.outputs, 1, 1))
    weight = np.abs(report_weights(source)[:, a])[:, None]
    return np.asarray((np.sqrt(here[:, :, a]) + weight * np.sqrt(here[:, :, b])) ** 2)


def _pair_steps(source: Noise) -> FloatArray:
    """Law of the next two reports after the last two and a state, shape (m * m, k, m * m)."""
    m, k = source.outputs, source.states
    steps = np.zeros((m, m, k, m, m))
    for last in range(m):
        steps[:, last, :, last, :] = source.step_law()[last, 0]
    return steps.reshape(m * m, k, m * m)


def _worst_average(reward: FloatArray, step: FloatArray) -> float:
    """The largest long-run mean of ``reward``, (s, k), by relative value iteration.

    ``step`` has shape (s, k, s). What a sweep gains at most is an upper bound at every sweep.
    """
    value = np.zeros(len(reward))
    most = float(reward.max())
    for _ in range(MOST_SWEEPS):
        # Half a step at a time, so that no cycle keeps the values turning.
        better = (reward + step @ value).max(axis=1)
        gain = better - value
        most = min(most, float(gain.max()))
        if np.ptp(gain) <= SETTLED * max(abs(most), 1e-300):
            break
        value = (value + better) / 2
        value = value - value[0]
    return most


def checked_inverse(matrix: FloatArray) -> FloatArray:
    """A right inverse; with more reports than states, the one of least norm."""
    values = np.linalg.svd(matrix, compute_uv=False)
    if len(matrix) > matrix.shape[1] or values[-1] < SINGULAR:
        raise InvalidInput(
            "noise", "a noise matrix that cannot be inverted",
            "noise under which the states differ in what they report",
            "No number of points would be enough.",
        )  # fmt: skip
    inverse = np.linalg.inv(matrix) if len(matrix) == matrix.shape[1] else np.linalg.pinv(matrix)
    return np.asarray(inverse, dtype=np.float64)
