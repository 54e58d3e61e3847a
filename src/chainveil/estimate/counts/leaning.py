"""How the variance that sticky reports show leans with the shares of pairs that they show.

A release that shows too many pairs of two states by chance shows too large a variance, or too small
a one, by the same chance. An interval from both misses more often on one side than on the other,
which near the ends of the scale, where only one side counts, makes a difference. To first order

    variance shown = variance (1 + lean * t)

with t the error in its own standard errors and ``lean`` what this file computes: the covariance
of the two over the variance to the power 3/2. With the terms of ``last_report``, for a pair of
states a, b and a ratio p (0 for the share itself), the error is the sum of ``D_s`` and the variance
the sum of ``v_s``, both functions of the reports up to a point, its state and the next one:

    D_s = e u_s(a) + l u_s(b)                                            e = 1[x_{s+1} = b] - p
    v_s = e^2 C(a, a) + 2 e l C(a, b) + l^2 C(b, b)                      l = phi_{s-1}(a)

with C the conditional covariance of u_s. D_s is a martingale difference, so that only the v at s,
later, and one point earlier (where the report at s stands for the next state) go with it. Their
means are taken as if a state depended on the report before it alone.
"""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.estimate.report_weights import conditional_spread, report_weights
from chainveil.noise.base import Noise

# Above this the first order says too little; sums over later points are cut off by the second.
MOST_LEAN, FORGETTING = 0.3, 1e-6


def pair_lean(
    source: Noise, counts: FloatArray, law: FloatArray, p: FloatArray, variance: FloatArray
) -> FloatArray:
    """The lean of ``share(a, b) - p share(a)`` of pairs of neighbours, shape (groups, k, k).

    ``counts`` : how often each report follows each, (groups, m * m). ``law`` : of states after each
    report, (groups, m, k). ``variance`` : of the sums, by a valid law; it and ``p`` (groups, k, k).
    """
    m, k = source.outputs, source.states
    kernel = np.asarray(source.step_law()[:, 0])
    weights = report_weights(source).reshape(m, m, k)
    spread = conditional_spread(source)
    inner = np.einsum("gzx,zxab->gzab", law, spread)
    step = np.einsum("gzx,zxw->gzwx", law, kernel)
    stray = step.sum(axis=-1)[..., None] * weights - step
    # Moments of e after each report; all below has axes (groups, report before, last, next, a, b).
    e = [_moment(law, p, power) for power in (1, 2, 3)]
    left = weights[None, :, :, None, :, None]
    to_a, to_b = stray[:, None, :, :, :, None], stray[:, None, :, :, None, :]
    shown = np.einsum("zwx,zxab->zwab", weights, spread)[None, None]
    own = np.einsum("...aa->...a", shown)
    first, across, second = own[..., :, None], shown, own[..., None, :]
    here = to_a * (e[2] * first + 2 * e[1] * left * across + e[0] * left**2 * second)
    here = here + left * to_b * (e[1] * first + 2 * e[0] * left * across + left**2 * second)
    later = _later(step, spread, left, (e[0], e[1]), counts)
    before = (e[0] * to_a + left * to_b) * later[:, None]
    total = np.einsum("guzwab,guz->gab", here + before, counts.reshape(-1, m, m))
    total = total + _as_next(step, inner, spread, left, p, counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        lean = total / variance**1.5
    known = np.nan_to_num(lean, posinf=0.0, neginf=0.0)
    return np.asarray(np.clip(known, -MOST_LEAN, MOST_LEAN))


def _moment(law: FloatArray, p: FloatArray, power: int) -> FloatArray:
    """``E[e^power]`` after each report, (groups, 1, 1, m, k, k)."""
    chance, against = law[:, :, None, :], p[:, None]
    found = chance * (1 - against) ** power + (1 - chance) * (-against) ** power
    return np.asarray(found[:, None, None])


def _later(
    step: FloatArray,
    spread: FloatArray,
    left: FloatArray,
    e: tuple[FloatArray, FloatArray],
    counts: FloatArray,
) -> FloatArray:
    """What the variances from a point on sum up to after two reports, (groups, m, m, k, k)."""
    groups, m, _, k = step.shape
    cross = np.einsum("gzwx,zxab->gzwab", step, spread)[:, None]
    own = np.einsum("...aa->...a", cross)
    each = e[1] * own[..., :, None] + 2 * e[0] * left * cross + left**2 * own[..., None, :]
    mean = each.sum(axis=3).reshape(groups, m * m, k * k)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    mean = mean - np.einsum("gy,gyc->gc", share, mean)[:, None]
    move = np.zeros((groups, m, m, m, m))
    for last in range(m):
        move[:, :, last, last, :] = step[:, None, last].sum(axis=-1)
    move = (1 - FORGETTING) * move.reshape(groups, m * m, m * m)
    # A constant changes nothing, for D has mean zero: the second term fixes one.
    system = np.eye(m * m) - move + 1 / (m * m)
    return np.asarray(np.linalg.solve(system, mean).reshape(groups, m, m, k, k))


def _as_next(
    step: FloatArray,
    inner: FloatArray,
    spread: FloatArray,
    left: FloatArray,
    p: FloatArray,
    counts: FloatArray,
) -> FloatArray:
    """The part in which a report stands for the next state of the point before, (groups, k, k)."""
    m = step.shape[1]
    following = np.einsum("gzwx,gwbb->gzb", step, inner)[:, None, :, None, :]
    among = np.einsum("gzxa,zxcd->gzacd", inner, spread)
    own = np.einsum("gzaaa->gza", among)[:, None, :, :, None]
    across = np.einsum("gzaab->gzab", among)[:, None]
    each = following * ((1 - 2 * p[:, None, None]) * own + 2 * left[:, :, :, 0] * across)
    return np.asarray(np.einsum("guzab,guz->gab", each, counts.reshape(-1, m, m)))
