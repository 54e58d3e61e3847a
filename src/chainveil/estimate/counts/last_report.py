"""Unbiased shares from reports that look back at the last one, whatever law the series follows.

Given the report z before it and the state x of its point, a report z' has the law K(z' | z, x).
The inverse of that matrix, one for each z, gives the report a weight for each state, ``phi_t``,
whose mean is the indicator of the state that is there, given all reports before. So
``u_t = phi_t - 1[x_t]`` are martingale differences, products of phi at different points are
unbiased too, and with ``*`` the outer product

    the sum of phi_t              strays by the sum of  u_s
    the sum of phi_t * phi_{t+h}  strays by the sum of  u_s * 1[x_{s+h}] + phi_{s-h} * u_s

Both are sums of martingale differences: their covariance is the sum of the conditional ones, which
are linear in the indicators of x_s and x_{s+h}, and so estimated without bias in the same way.

The first report of a series has no report before it and is left out. Under noise that holds its
last report, missing points lie between a report and the last one without changing anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.leaning import pair_lean
from chainveil.estimate.counts.series_law import SeriesLaw
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.estimate.report_weights import conditional_spread, report_weights
from chainveil.estimate.simplex import project
from chainveil.inference import report_laws
from chainveil.noise.base import Noise

IntArray = NDArray[np.int64]
# Patterns that are weighed at once.
CHUNK = 1 << 14


def look_back(cells: Cells, noise: NoiseLaw) -> IntArray:
    """``z * m + z'`` of each point, z the last report and z' its own; (total,), -1 for none."""
    if len(cells.gaps) and not noise.source.holds:
        raise NotSupported(
            f"estimates under {noise.source.kind} noise over gaps: what it did there is not known"
        )
    from chainveil.estimate.counts import kernels

    code = np.empty(cells.size, np.int64)
    kernels.last_and_own(cells.symbols, cells.gaps, cells.origins, cells.outputs, code)
    return code


@dataclass(frozen=True)
class Patterns:
    """Points with the codes of those ``lag`` before and after, where these are of one group.

    Attributes
    ----------
    group : int64 array of shape (patterns,)
    before, code, after : int64 arrays of shape (patterns,)
        As in ``look_back``, -1 for none; one of the first and the last is there.
    counts : float array of shape (patterns,)
        How often the pattern occurs.
    """

    group: IntArray
    before: IntArray
    code: IntArray
    after: IntArray
    counts: FloatArray


def last_report_shares(cells: Cells, noise: NoiseLaw) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares (groups, k), their covariance (2, groups, k, k), and how many points, (groups,)."""
    weights, counts = report_weights(noise.source), _own_counts(cells, noise)
    points = counts.sum(axis=1).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts @ weights / points[:, None]
    spread = conditional_spread(noise.source)
    after = counts.reshape(cells.groups, noise.outputs, -1).sum(axis=2)
    law = _valid_law(counts, noise)
    ways = (
        np.einsum("gc,cx,cxab->gab", counts, weights, np.repeat(spread, noise.outputs, axis=0)),
        np.einsum("gz,gzx,zxab->gab", after, law, spread),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return shares, np.stack(ways) / points[:, None, None] ** 2, points


def _own_counts(cells: Cells, noise: NoiseLaw) -> IntArray:
    """How often each report follows each, by the group of the later one, (groups, m * m)."""
    if not len(cells.marks) and not len(cells.begins):
        # Whole series: the last report is the neighbour, of the same group.
        return cells.windows((0, 1))
    code, size = look_back(cells, noise), noise.outputs**2
    group = cells.marks
    if not len(group):
        group = np.repeat(cells.owner, np.diff(cells.borders))
    kept = code >= 0
    counts = np.bincount(group[kept] * size + code[kept], minlength=cells.groups * size)
    return np.asarray(counts.reshape(cells.groups, size))


def _valid_law(counts: IntArray, noise: NoiseLaw) -> FloatArray:
    """The nearest valid law of the state of a point after each last report, (groups, m, k)."""
    m = noise.outputs
    weights = report_weights(noise.source).reshape(m, m, -1)
    by_last = counts.reshape(-1, m, m)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.einsum("gzw,zwx->gzx", by_last, weights) / by_last.sum(axis=2)[:, :, None]
    return project(shares)


def last_report_pairs(
    cells: Cells, noise: NoiseLaw, lag: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares of pairs ``lag`` points apart, (groups, k * k), and how they stray.

    With their covariance, (2, groups, k * k, k * k), and how many pairs there are, (groups,).
    """
    k, found = noise.states, _patterns(cells, noise, lag)
    shares, pairs = _shares_of(found, cells.groups, noise)
    law = _valid_law(_own_counts(cells, noise), noise)
    total = np.zeros((2, cells.groups, k, k, k, k))
    for begin in range(0, len(found.group), CHUNK):
        part = slice(begin, begin + CHUNK)
        group, words = found.group[part], (found.before[part], found.code[part], found.after[part])
        for way, valid in enumerate((None, law[group])):
            stray = _stray(noise.source, *words, valid)
            stray *= found.counts[part, None, None, None, None]
            np.add.at(total[way], group, stray)
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = total / pairs[:, None, None, None, None] ** 2
    return shares, covariance.reshape(2, cells.groups, k * k, k * k), pairs


def _shares_of(found: Patterns, groups: int, noise: NoiseLaw) -> tuple[FloatArray, FloatArray]:
    weights, kept = report_weights(noise.source), found.after >= 0
    size = len(weights)
    codes = (found.group[kept] * size + found.code[kept]) * size + found.after[kept]
    counts = np.bincount(codes, found.counts[kept], minlength=groups * size**2)
    counts = counts.reshape(groups, size, size)
    pairs = counts.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.einsum("gcd,ca,db->gab", counts, weights, weights) / pairs[:, None, None]
    return shares.reshape(groups, -1), pairs


def last_report_lean(
    cells: Cells, noise: NoiseLaw, p: FloatArray, variance: FloatArray
) -> FloatArray:
    """How the variance of ``share(a, b) - p share(a)`` leans with its error, (groups, k, k).

    For pairs of neighbours; ``variance`` is that of their sums.
    """
    counts = _own_counts(cells, noise)
    law = np.nan_to_num(_valid_law(counts, noise))
    return pair_lean(noise.source, counts.astype(np.float64), law, p, variance)


def _patterns(cells: Cells, noise: NoiseLaw, lag: int) -> Patterns:
    """Every pattern of a release, counted once."""
    if lag not in cells.looked_back:
        cells.looked_back[lag] = _counted(cells, noise, lag)
    found: Patterns = cells.looked_back[lag]
    return found


def _counted(cells: Cells, noise: NoiseLaw, lag: int) -> Patterns:
    from chainveil.estimate.counts import kernels

    code, wide = look_back(cells, noise), noise.outputs**2 + 1
    joined = np.empty_like(code)
    kernels.join_neighbours(code, cells.borders, cells.owner, cells.marks, lag, wide, joined)
    found, counts = _distinct(joined[joined >= 0])
    before, own, after = (found // wide**place % wide - 1 for place in (2, 1, 0))
    return Patterns(found // wide**3, before, own, after, counts.astype(np.float64))


def _distinct(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Different codes in order, and how often each occurs; a table where they are small."""
    if not len(codes) or int(codes.max()) > len(codes):
        found, counts = np.unique(codes, return_counts=True)
        return np.asarray(found), np.asarray(counts)
    table = np.bincount(codes)
    found = np.flatnonzero(table)
    return np.asarray(found), np.asarray(table[found])


def _stray(
    source: Noise, before: IntArray, code: IntArray, after: IntArray, law: FloatArray | None
) -> FloatArray:
    """Conditional covariance of the terms in which u_s is the latest, (patterns, k, k, k, k).

    With the indicators of x_s and x_{s+h} estimated from their reports, or by ``law``, (patterns,
    m, k), of states after each report, which makes it a covariance whatever the reports.
    """
    weights = report_weights(source)
    padded = np.vstack([weights, np.zeros((1, weights.shape[1]))])
    left, here, right = padded[before], padded[code], padded[after]
    if law is not None:
        each = np.arange(len(code))
        here = law[each, code // source.outputs]
        right = law[each, after // source.outputs] * (after >= 0)[:, None]
    inner = np.einsum("ux,uxab->uab", here, conditional_spread(source)[code // source.outputs])
    k = weights.shape[1]
    first = np.einsum("ub,bd,uac->uabcd", right, np.eye(k), inner)
    across = np.einsum("ub,uc,uad->uabcd", right, left, inner)
    second = np.einsum("ua,uc,ubd->uabcd", left, left, inner)
    return np.asarray(first + across + across.transpose(0, 3, 4, 1, 2) + second)


def settled_covariance(noise: NoiseLaw, series: SeriesLaw, pair: bool, n: int) -> FloatArray:
    """Covariance to expect of shares from ``n`` points, or pairs of neighbours, of a series.

    In the long run, the ends of a series left out of account; shape (k, k), or (k * k, k * k).
    """
    source, k = noise.source, noise.states
    weights = report_laws(source, series.value).weights(series.start, series.move).step
    last = _settled(weights)
    if not pair:
        arrived = last @ series.move @ series.shown.T
        return np.asarray(np.einsum("zx,zxab->ab", arrived, conditional_spread(source)) / n)
    # The law of four reports in a row, with the hidden state of the last: (m, m, m, m, s).
    law = last
    for _ in range(3):
        law = np.einsum("...zx,zwxy->...zwy", law, weights)
    first = np.indices((noise.outputs,) * 4).reshape(4, -1)
    before, code, after = (first[i] * noise.outputs + first[i + 1] for i in range(3))
    chances = law.sum(axis=-1).reshape(-1)
    found = np.einsum("u,uabcd->abcd", chances, _stray(source, before, code, after, None))
    return np.asarray(found.reshape(k * k, k * k) / n)


def _settled(weights: FloatArray) -> FloatArray:
    """The long-run law of the last report and the hidden state, shape (m, s)."""
    m, _, s, _ = weights.shape
    move = np.moveaxis(weights, 1, 2).reshape(m * s, m * s)
    # Balance, with the sum in place of one of its equations, which follow from each other.
    system = np.vstack([move.T - np.eye(m * s), np.ones((1, m * s))])
    law, *_ = np.linalg.lstsq(system, np.append(np.zeros(m * s), 1.0), rcond=None)
    return np.asarray(law.reshape(m, s))
