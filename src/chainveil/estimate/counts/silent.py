"""What the points between rare reports add to the error of a share.

One point in B reports, the middle of each block of B: a systematic sample. The share of a state
among the reports strays from that of the whole series by the mean over blocks of
``x_middle - mean of the block``. The variance that is reported is ``(1 - 1/B) M / 2`` a report,
with M the share of pairs of reports one block apart of which one is in the state and the other is
not. That is what independent points would give. Where states last the differences are far smaller
(a sixth of it for changes that are rare), so this is on the safe side; only a rhythm of about B
points escapes it, as it escapes every such sample.
"""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.covariance import credible, noise_covariance, released_law
from chainveil.estimate.counts.last_report import last_report_pairs
from chainveil.estimate.noise_law import NoiseLaw


def silent_variance(
    cells: Cells, noise: NoiseLaw, shares: FloatArray, points: FloatArray
) -> FloatArray:
    """Variance of each share due to points that do not report, shape (groups, k).

    M is taken one standard error above its estimate, and never above what the ``shares``
    leave room for.
    """
    most = 2 * np.clip(shares, 0.0, 1.0) * (1 - np.clip(shares, 0.0, 1.0))
    most = np.maximum(most, 1 / np.maximum(points, 1.0)[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        found, error = _mismatch(cells, noise)
        above = np.where(np.isfinite(found + error), found + error, 0.5)
        differing = np.clip(above, 1 / np.maximum(points, 1.0)[:, None], np.maximum(most, 1e-300))
        return np.asarray((1 - 1 / noise.every) * differing / 2 / points[:, None])


def expected_silent(stationary: FloatArray, between: FloatArray, every: int, n: int) -> FloatArray:
    """The same as a chain leads to expect from ``n`` reports, shape (k,).

    ``between`` is its transition matrix from one report to the next.
    """
    differing = 2 * stationary * (1 - np.diag(between))
    return np.asarray((1 - 1 / every) * differing / 2 / max(n, 1))


def _mismatch(cells: Cells, noise: NoiseLaw) -> tuple[FloatArray, FloatArray]:
    """How often one of two neighbouring reports is of a state, with its error, (groups, k)."""
    k = noise.states
    if noise.looks_back:
        shares, covariance, _ = last_report_pairs(cells, noise, 1)
    else:
        counts = cells.windows((0, 1))
        shares = counts / counts.sum(axis=1, keepdims=True) @ noise.inverse((0, 1))
        covariance = noise_covariance(noise, (0, 1), released_law(cells, noise))
    eye = np.eye(k)
    # Pairs of which exactly one is of the state, (k, k * k).
    marks = np.stack([np.add.outer(row, row) - 2 * np.outer(row, row) for row in eye])
    marks = marks.reshape(k, k * k)
    spread = np.einsum("ai,wgij,aj->wga", marks, covariance, marks)
    return shares @ marks.T, np.sqrt(credible(spread, np.zeros_like(spread), spread)[0])
