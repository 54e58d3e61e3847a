"""How often the likelier state is right, told by the release itself.

The chain only makes the guesses here. Let L(x) weigh the states of a point by what other reports
say, and let g(z') be the state that L and a report z' together make likeliest. At a point in state
a the guess is right with probability ``q(a) = sum of K(z' | a) over the z' with g(z') = a``. The
weights phi of the point's own report are unbiased for its state given those other reports, so that

    the sum of phi(a) q(a)    strays from the share of right guesses by mean zero,

with a variance that is linear in the state of the point and so estimated in the same way. Under
noise that looks back at the last report the other reports are those before it, since later ones
depend on it, and variances add up. Under noise that looks at its own point alone they are all the
others: neighbours then share reports, and the spread between blocks of points is taken where it is
larger, which counts the differences between blocks as well and is on the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import inference
from chainveil.checks import FloatArray
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.last_report import look_back
from chainveil.estimate.intervals import quantile, share_interval
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.estimate.report_weights import report_weights
from chainveil.model.base import DataModel

ALL = "the likelier state of each point, given all reports"
# Blocks whose spread tells that of the whole.
BLOCKS = 40
PAST = "the likelier state of each point, given its report and those before it"


@dataclass(frozen=True)
class Accuracy:
    """Share of points at which a guess is right, without a model of the series.

    Attributes
    ----------
    value, standard_error, low, high, level : float
        The interval at ``level`` is within [0, 1].
    guess : str
        Which guess it is about.
    points : int
        Points that were looked at.
    """

    value: float
    standard_error: float
    low: float
    high: float
    level: float
    guess: str
    points: int

    def __str__(self) -> str:
        return (
            f"{self.low:.2%} to {self.high:.2%} of the points ({self.level:.12g} interval), by the "
            f"release itself: {self.guess}"
        )


def accuracy(
    z: Any, cells: Cells, noise: NoiseLaw, chain: DataModel, chances: Any, level: float = 0.95
) -> Accuracy | None:
    """How often guesses with ``chain`` are right; None where the release cannot tell.

    ``chances`` are those of ``inference.smoothed``, in the shape of ``z``.
    """
    if noise.every > 1 or not noise.from_counts or (noise.source.ordered and not noise.looks_back):
        return None
    kernels, weights = _reports_after(noise)
    if np.any(kernels <= 0):
        # What others say of a point cannot be told apart from a report that settles it.
        return None
    if noise.looks_back:
        chances = inference.filtered(chain, noise.noise, z)
    code, there = _codes(cells, noise)
    belief = _flat(chances, noise.states)[there]
    last, own = np.divmod(code[there], noise.outputs)
    if not len(own):
        return None
    value, variance = _right(belief, last, own, kernels, weights)
    error = np.sqrt(max(float(variance.sum()), 0.0)) / len(own)
    if not noise.looks_back:
        error = max(error, _between_blocks(value))
    share = float(value.mean())
    low, high = share_interval(np.array([share]), np.array([error**2]), 0.0, quantile(level))
    guess = PAST if noise.looks_back else ALL
    return Accuracy(share, error, float(low[0]), float(high[0]), level, guess, len(own))


def _reports_after(noise: NoiseLaw) -> tuple[FloatArray, FloatArray]:
    """``K(z' | z, x)`` and the weights of z' after z, (last, k, m) and (last, m, k).

    There is one last report where reports do not look back.
    """
    if noise.looks_back:
        kernels = np.asarray(noise.source.step_law()[:, 0])
        return kernels, report_weights(noise.source).reshape(-1, noise.outputs, noise.states)
    return noise.joint((0,))[None], noise.inverse((0,))[None]


def _codes(cells: Cells, noise: NoiseLaw) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Last report and own one of each point as one number, and which points have both."""
    if noise.looks_back:
        code = look_back(cells, noise)
        return code, code >= 0
    there = ~cells.gaps if len(cells.gaps) else np.ones(cells.size, np.bool_)
    return cells.symbols.astype(np.int64), there


def _between_blocks(value: FloatArray) -> float:
    """Standard error of the mean by the spread of the means of blocks."""
    if len(value) < 2 * BLOCKS:
        return 0.0
    means = value[: len(value) // BLOCKS * BLOCKS].reshape(BLOCKS, -1).mean(axis=1)
    return float(means.std(ddof=1) / np.sqrt(BLOCKS))


def _right(
    belief: FloatArray,
    last: NDArray[np.int64],
    own: NDArray[np.int64],
    kernels: FloatArray,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Unbiased share of right guesses and variance of each point, (points,) each.

    ``belief`` : (points, k), with the point's own report; ``kernels`` : (last, k, m), ``weights`` :
    (last, m, k).
    """
    laws, votes = kernels[last], weights[last]
    others = belief / laws[np.arange(len(own)), :, own]
    guesses = np.argmax(others[:, :, None] * laws, axis=1)
    right = guesses[:, None, :] == np.arange(belief.shape[1])[None, :, None]
    chance = np.einsum("txz,txz->tx", laws, right)
    told = np.einsum("tzx,tx->tz", votes, chance)
    stray = np.einsum("txz,txz->tx", laws, (told[:, None, :] - right) ** 2)
    mine = votes[np.arange(len(own)), own]
    return told[np.arange(len(own)), own], np.einsum("tx,tx->t", mine, stray)


def _flat(chances: Any, states: int) -> FloatArray:
    parts = chances if isinstance(chances, list) else [chances]
    return np.concatenate([np.asarray(part).reshape(-1, states) for part in parts])
