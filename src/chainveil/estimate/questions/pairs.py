"""How often each state is followed by each, some points later."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.covariance import credible, noise_covariance, released_law
from chainveil.estimate.counts.last_report import last_report_lean, last_report_pairs
from chainveil.estimate.counts.places import read_reports
from chainveil.estimate.intervals import open_up, quantile, share_interval
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law
from chainveil.estimate.results import Pairs, settled


def pairs(
    z: Any,
    noise: Any,
    lag: int = 1,
    *,
    by: Any = None,
    window: int | None = None,
    level: float = 0.95,
) -> Pairs:
    """The share of each pair of states ``lag`` points apart, behind a release.

    Nothing is assumed about the series; the interval covers the noise.

    Parameters
    ----------
    z, noise, by, window, level : optional but for the first two
        As in :func:`chainveil.estimate.frequency`.
    lag : int
        How many points lie from the first to the second.

    Returns
    -------
    Pairs
        Arrays of shape (k, k), or (groups, k, k); the first state first.

    Examples
    --------
    >>> import chainveil as cv
    >>> cv.estimate.pairs([0, 0, 1, 1, 0], cv.Channel.binary(0, 0)).value
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    source = as_noise_law(noise)
    cells = read_reports(z, source, by, window)
    apart, k = read_lag(lag, cells, source), source.states
    shares, covariance, points = shares_at(cells, source, apart, "pairs")
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    variance = credible(own, np.zeros_like(own), own)[0]
    lean: FloatArray | float = 0.0
    if source.looks_back and apart == 1:
        sums = (own[-1] * points[:, None] ** 2).reshape(-1, k, k)
        lean = last_report_lean(cells, source, np.zeros_like(sums), sums).reshape(shares.shape)
    low, high = share_interval(shares, variance, 0.0, quantile(level), lean)
    inside = np.clip(shares, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = inside * (1 - inside) / variance
    numbers = (shares, np.sqrt(variance), low, high, worth)
    opened = open_up(source.too_few((0, apart), points), numbers)
    shaped = [part.reshape(-1, k, k) for part in opened]
    value, error, low, high, worth, points = settled((*shaped, points), cells.names)
    return Pairs(
        value, error, low, high, worth, level, "noise", points, cells.names, int(lag),
        shared=source.shared,
    )  # fmt: skip


def read_lag(lag: Any, cells: Cells, noise: NoiseLaw) -> int:
    """How many reports lie from the first to the second."""
    apart = checks.whole("lag", lag, 1)
    if apart % noise.every:
        allowed = f"multiples of {noise.every}: one point in so many reports"
        raise InvalidInput("lag", apart, allowed)
    longest = int(np.diff(cells.borders).max()) * noise.every
    if apart >= longest:
        raise InvalidInput(
            "lag", apart, f"below the {longest} points of the longest series or window"
        )
    return apart // noise.every


def shares_at(
    cells: Cells, noise: NoiseLaw, lag: int, question: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Debiased shares of pairs ``lag`` reports apart, (groups, k * k), and how they stray.

    With their covariance, (2, groups, k * k, k * k), and how many pairs there are, (groups,).
    """
    pair = (0, lag)
    if noise.looks_back:
        shares, covariance, points = last_report_pairs(cells, noise, lag)
        noise.check_length(pair, int(points.max()), question)
        return shares, covariance, points
    counts = cells.windows(pair)
    points = counts.sum(axis=1).astype(np.float64)
    noise.check_length(pair, int(points.max()), question)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / points[:, None] @ noise.inverse(pair)
    return shares, noise_covariance(noise, pair, released_law(cells, noise)), points
