"""How much a state now says about the same state some points later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.covariance import credible, drawing_covariance
from chainveil.estimate.counts.pair_shares import released_chain
from chainveil.estimate.counts.places import between_reports, read_reports
from chainveil.estimate.counts.series_law import SeriesLaw
from chainveil.estimate.intervals import open_up, quantile, ratio_interval
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law
from chainveil.estimate.questions.pairs import shares_at
from chainveil.estimate.results import Autocorrelation, Covers, read_chain, read_covers, settled
from chainveil.model.base import DataModel


def autocorrelation(
    z: Any,
    noise: Any,
    lags: int | Iterable[int] = (1, 2, 3, 4, 5),
    *,
    by: Any = None,
    window: int | None = None,
    level: float = 0.95,
    covers: Covers = "noise",
    chain: DataModel | None = None,
) -> Autocorrelation:
    """The correlation of being in a state at one point and ``lag`` points later.

    Parameters
    ----------
    z, noise, by, window, level, covers, chain : optional but for the first two
        As in :func:`chainveil.estimate.frequency`.
    lags : int, or several
        How many points later.

    Returns
    -------
    Autocorrelation
        Arrays of shape (lags, k), or (groups, lags, k).

    Notes
    -----
    ``(J(a, a) - J(a, .) J(., a)) / (J(a, .) (1 - J(a, .)))`` with J the debiased shares of
    pairs at that distance. Both parts are linearised; their ratio gets the interval that
    stays valid however noisy the lower part is.

    Examples
    --------
    >>> import chainveil as cv
    >>> chain, channel = cv.MarkovChain.binary(0.1, 0.1), cv.Channel.binary(0.1, 0.1)
    >>> z = cv.mechanism.sanitize(chain.sample(50_000, rng=1), channel, rng=cv.mechanism.seeded(2))
    >>> cv.estimate.autocorrelation(z, channel, lags=[1, 5]).value[:, 1].round(1)
    array([0.8, 0.3])
    """
    source, about = as_noise_law(noise), read_covers(covers)
    cells = read_reports(z, source, by, window)
    deviations = quantile(level)
    wanted = _lags(lags, cells, source.every)
    known, series = read_chain(chain, source.states), None
    if about == "sampling":
        # What is fitted to reports is the chain from one of them to the next.
        series = (
            SeriesLaw.of(released_chain(cells, source))
            if known is None
            else between_reports(known, source)
        )
    columns = [_at_lag(cells, source, lag // source.every, series, deviations) for lag in wanted]
    stacked = (np.stack(parts, axis=1) for parts in zip(*columns, strict=True))
    value, error, low, high, worth, points = settled(stacked, cells.names)
    return Autocorrelation(
        value, error, low, high, worth, level, about, points, cells.names, wanted,
        shared=source.shared,
    )  # fmt: skip


def _lags(lags: int | Iterable[int], cells: Cells, every: int) -> tuple[int, ...]:
    several = lags if isinstance(lags, Iterable) else [lags]
    wanted = tuple(checks.whole("lags", lag, 1) for lag in several)
    if any(lag % every for lag in wanted):
        allowed = f"multiples of {every}: one point in so many reports"
        raise InvalidInput("lags", list(wanted), allowed)
    longest = int(np.diff(cells.borders).max()) * every
    if not wanted or max(wanted) >= longest:
        raise InvalidInput(
            "lags", list(wanted), f"one or more, each below the {longest} points of the "
            "longest series or window",
        )  # fmt: skip
    return wanted


def _at_lag(
    cells: Cells, noise: NoiseLaw, lag: int, series: SeriesLaw | None, deviations: float
) -> tuple[FloatArray, ...]:
    """Value, standard error, limits, effective size, each (groups, k), and pairs (groups,)."""
    pair, k = (0, lag), noise.states
    shares, covariance, pairs = shares_at(cells, noise, lag, "an autocorrelation")
    if series is not None:
        covariance = covariance + _drawn(series, pair, pairs)
    found = correlations(shares.reshape(-1, k, k), covariance, deviations)
    return (*open_up(noise.too_few(pair, pairs), found, (-1.0, 1.0)), pairs)


def _drawn(series: SeriesLaw, pair: tuple[int, int], pairs: FloatArray) -> FloatArray:
    """Covariance that drawing adds, for groups of different sizes; (groups, k * k, k * k)."""
    sizes, which = np.unique(pairs, return_inverse=True)
    parts = [
        drawing_covariance(series, pair, int(size) + pair[-1]) for size in np.maximum(sizes, 1)
    ]
    return np.asarray(np.stack(parts)[which])


def correlations(
    shares: FloatArray, covariance: FloatArray, deviations: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Covariances over variances of each state, from shares of pairs (groups, k, k).

    ``covariance`` : of the shares, (ways, groups, k * k, k * k). Value, standard error, limits
    and effective size, (groups, k) each.
    """
    k = shares.shape[1]
    first, second = shares.sum(axis=2), shares.sum(axis=1)
    top = np.diagonal(shares, axis1=1, axis2=2) - first * second
    bottom = first * (1 - first)
    # Derivatives of top and bottom by each share of a pair, (groups, state, k, k).
    eye = np.eye(k)
    by_top = eye[None, :, :, None] * (eye[None, :, None, :] - second[:, :, None, None])
    by_top = by_top - eye[None, :, None, :] * first[:, :, None, None]
    by_bottom = eye[None, :, :, None] * (1 - 2 * first)[:, :, None, None] * np.ones(k)
    slopes = [part.reshape(len(shares), k, k * k) for part in (by_top, by_bottom)]
    upper, across, lower = (
        np.einsum("gai,wgij,gaj->wga", slopes[i], covariance, slopes[j], optimize=True)
        for i, j in ((0, 0), (0, 1), (1, 1))
    )
    spread = credible(upper, across, lower)
    low, high = ratio_interval(top, bottom, spread, np.zeros_like(top), deviations, (-1.0, 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = top / bottom
        residual = spread[0] - 2 * value * spread[1] + value**2 * spread[2]
        error = np.sqrt(np.maximum(residual, 0.0)) / np.abs(bottom)
        worth = (1 - np.clip(value, -1, 1) ** 2) ** 2 / error**2
    return value, error, low, high, worth
