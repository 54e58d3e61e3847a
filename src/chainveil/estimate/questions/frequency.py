"""How often each state occurs."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.covariance import (
    credible,
    noise_covariance,
    released_law,
    share_drawing,
)
from chainveil.estimate.counts.last_report import last_report_shares
from chainveil.estimate.counts.pair_shares import released_chain
from chainveil.estimate.counts.places import between_reports, read_reports
from chainveil.estimate.counts.series_law import SeriesLaw
from chainveil.estimate.counts.silent import silent_variance
from chainveil.estimate.intervals import open_up, quantile, share_interval
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law
from chainveil.estimate.results import Covers, Frequency, read_chain, read_covers, settled
from chainveil.estimate.simplex import project as nearest
from chainveil.model.base import DataModel

POINT = (0,)


def frequency(
    z: Any,
    noise: Any,
    *,
    by: Any = None,
    window: int | None = None,
    level: float = 0.95,
    covers: Covers = "noise",
    project: bool = False,
    chain: DataModel | None = None,
) -> Frequency:
    """The share of each state behind a release.

    Parameters
    ----------
    z : 1-D array, 2-D array (a row a series), list of 1-D arrays, or Packed
        The released states. A list of runs keeps them apart: no pair of points crosses from
        one to the next. Points of a masked array that are masked are gaps: time passes there,
        so that correlated noise and the chain are known to have moved on.
    noise : Channel, CorrelatedNoise, StickyNoise or NoisePlan
        The noise that was applied. Of noise on one point in several the points that report
        are looked at, and the interval counts that the others may differ (``sampling_error``);
        of noise that looks back at the last report all but a series' first. Every series of a
        list must then be whole: reports look back from run to run.
    by : "series", or an array of labels, one a point, optional
        Answer for each series, or for each label.
    window : int, optional
        Answer for every so many points of each series, one window after another.
    level : float
        Probability that the interval covers the truth.
    covers : "noise" or "sampling"
        Whether the interval is about the series as it was, or also about the chain it was
        drawn from. The second adds the spread of a chain fitted to the release.
    project : bool
        Replace shares outside [0, 1] by the nearest valid ones. The estimate is then no
        longer unbiased, but never further from the truth.
    chain : MarkovChain or HigherOrderChain, optional
        For ``covers="sampling"``: the chain whose spread is added. By default it is fitted
        to all of ``z``.

    Returns
    -------
    Frequency
        Arrays of shape (k,), or (groups, k).

    Notes
    -----
    With G the inverse of the noise matrix, the mean of ``G[z_t]`` is unbiased for the shares,
    whatever the series. Two states: ``(mean of z - rho0) / (1 - rho0 - rho1)``. Where reports
    look back at the last one, there is a G for each last report, and errors are martingale
    differences (``estimate.counts.last_report``).

    Examples
    --------
    >>> import chainveil as cv
    >>> z = [0, 1, 1, 0, 1, 1, 1, 0, 1, 1]
    >>> found = cv.estimate.frequency(z, cv.Channel.binary(0.2, 0.1))
    >>> found.value.round(3)
    array([0.286, 0.714])
    >>> found.standard_error.round(3)
    array([0.15, 0.15])
    """
    source, about = as_noise_law(noise), read_covers(covers)
    cells = read_reports(z, source, by, window)
    deviations = quantile(level)
    value, covariance, points = _shares(cells, source)
    noise_variance = _variance(covariance)
    drawing = np.zeros_like(value)
    if about == "sampling":
        drawing = _drawing(cells, source, read_chain(chain, source.states))
    shares = nearest(value)
    silent = np.zeros_like(value)
    if source.every > 1 and about == "noise":
        silent = silent_variance(cells, source, shares, points)
    variance = noise_variance + silent + drawing * shares * (1 - shares)
    low, high = share_interval(value, noise_variance + silent, drawing, deviations)
    if project:
        value = shares
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = shares * (1 - shares) / variance
    few = source.too_few(POINT, points)
    numbers = open_up(few, (value, np.sqrt(variance), low, high, worth))
    held = settled((*numbers, np.sqrt(silent), points), cells.names)
    value, error, low, high, worth, rest, points = held
    return Frequency(
        value, error, low, high, worth, level, about, points, cells.names, shared=source.shared,
        sampling_error=rest if source.every > 1 and about == "noise" else None,
    )  # fmt: skip


def _shares(cells: Cells, noise: NoiseLaw) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Debiased share of each state, (groups, k), its covariance, and how many points, (groups,)."""
    if noise.looks_back:
        shares, covariance, points = last_report_shares(cells, noise)
        if not points.any():
            raise InvalidInput(
                "z", "no report with another before it", "series of at least two reports"
            )
        noise.check_length(POINT, int(points.max()), "a frequency")
        return shares, covariance, points
    counts = cells.windows(POINT)
    points = counts.sum(axis=1).astype(np.float64)
    noise.check_length(POINT, int(points.max()), "a frequency")
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / points[:, None] @ noise.inverse(POINT)
    return shares, noise_covariance(noise, POINT, released_law(cells, noise)), points


def _drawing(cells: Cells, noise: NoiseLaw, chain: DataModel | None) -> FloatArray:
    """Variance that drawing adds, over p (1 - p); shape (groups, k)."""
    # What is fitted to reports is the chain from one of them to the next.
    series = (
        SeriesLaw.of(released_chain(cells, noise))
        if chain is None
        else between_reports(chain, noise)
    )
    longest = int(np.diff(cells.borders).max())
    return share_drawing(series, lambda h: cells.pairs_at(h).astype(np.float64), longest)


def _variance(covariance: FloatArray) -> FloatArray:
    """Of each share, shape (groups, k)."""
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    return credible(own, np.zeros_like(own), own)[0]
