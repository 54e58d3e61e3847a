"""The chain behind a release: how likely each state is followed by each."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.estimate.fitting import fit_likelihood
from chainveil.estimate.grouping import NO_LABELS, Cells, read_cells
from chainveil.estimate.intervals import quantile
from chainveil.estimate.likelihood import Fit, Release, complete_covariance
from chainveil.estimate.noise import Noise, as_noise
from chainveil.estimate.pair_counts import PAIR, pair_shares
from chainveil.estimate.profile import logit_limits
from chainveil.estimate.results import Covers, Method, Transitions, read_covers
from chainveil.estimate.simplex import project as nearest

# Where counts leave a larger standard error than this, the likelihood is too flat and crooked
# for intervals from its curvature.
FLAT = 0.25
# Standard errors of a logit up to which the curvature tells enough.
WELL_CURVED = 0.1


def transitions(
    z: Any,
    noise: Any,
    *,
    by: Any = None,
    window: int | None = None,
    level: float = 0.95,
    covers: Covers = "noise",
    method: Method = "counts",
    project: bool = False,
) -> Transitions:
    """The probability of each next state, behind a release.

    Parameters
    ----------
    z, noise, by, window, level : optional but for the first two
        As in :func:`chainveil.estimate.frequency`.
    covers : "noise" or "sampling"
        Whether the interval is about the transitions that the series made, or about the
        chain that it was drawn from.
    method : "counts" or "likelihood"
        "counts" debiases the counts of pairs: one pass, no assumption about the series.
        "likelihood" finds the chain that makes the release most likely: many passes and
        narrower intervals, which lean on the series being a chain. Not by label.
    project : bool
        Replace rows that are not distributions by the nearest ones.

    Returns
    -------
    Transitions
        Arrays of shape (k, k), or (groups, k, k).

    Notes
    -----
    An interval from counts holds all p for which ``pairs(a, b) - p * pairs(a)`` is within its
    own standard errors of zero, so that it stays valid however noisy ``pairs(a)`` is. Under
    heavy noise it may be all of [0, 1].

    Examples
    --------
    >>> import chainveil as cv
    >>> chain, channel = cv.MarkovChain.binary(0.1, 0.2), cv.Channel.binary(0.2, 0.2)
    >>> z = cv.mechanism.sanitize(chain.sample(20_000, rng=1), channel, rng=cv.mechanism.seeded(2))
    >>> found = cv.estimate.transitions(z, channel, covers="sampling")
    >>> bool((found.low <= chain.transition).all() and (chain.transition <= found.high).all())
    True
    """
    source, about = as_noise(noise), read_covers(covers)
    if method not in get_args(Method):
        raise InvalidInput("method", method, '"counts" or "likelihood"')
    cells = read_cells(z, source.outputs, by, window)
    deviations = quantile(level)
    if method == "likelihood":
        return _by_likelihood(cells, source, about, level, deviations)
    found = pair_shares(cells, source)
    value, shares = found.transition, found.shares
    variance = found.variance(about == "sampling")
    low, high = found.interval(deviations, about == "sampling")
    if project:
        value, shares = nearest(value), nearest(shares.reshape(len(shares), -1))
        shares = shares.reshape(value.shape)
    arrays = _finished(value, variance, low, high, shares, found.pairs)
    return _result(arrays, cells, level, about, "counts", None)


def _by_likelihood(
    cells: Cells, noise: Noise, about: Covers, level: float, deviations: float
) -> Transitions:
    parts = _parts(cells)
    most = max(int(np.maximum(np.diff(part.borders) - 1, 0).sum()) for part in parts)
    noise.check_length(PAIR, most, "transitions by likelihood", FLAT)
    fits = [fit_likelihood(part, noise) for part in parts]
    k = noise.states
    value = np.stack([fit.transition for fit in fits])
    shares = np.stack([fit.counts / max(fit.counts.sum(), 1e-300) for fit in fits])
    covariance = [fit.covariance for fit in fits]
    if about == "noise":
        # The estimate from the states themselves wastes nothing, so what is added to it by
        # the noise is uncorrelated with it: variances subtract.
        covariance = [fit.covariance - complete_covariance(fit) for fit in fits]
    variance = np.stack([np.maximum(np.diag(matrix), 0.0).reshape(k, k) for matrix in covariance])
    total = np.stack([np.diag(fit.covariance).reshape(k, k) for fit in fits])
    low, high = _on_logits(value, variance, deviations)
    if k == 2:
        _bend(low, high, parts, noise, fits, total, variance, deviations)
    pairs = np.array([float(np.maximum(np.diff(part.borders) - 1, 0).sum()) for part in parts])
    arrays = _finished(value, variance, low, high, shares, pairs)
    likelihood = fits[0].log_likelihood if cells.names is None else None
    return _result(arrays, cells, level, about, "likelihood", likelihood)


def _parts(cells: Cells) -> list[Cells]:
    """The stretches of each group on their own."""
    if len(cells.labels):
        raise InvalidInput(
            "by", "labels", '"series" or a window for the method "likelihood"',
            "A label tears series apart; use counts.",
        )  # fmt: skip
    if int(np.diff(cells.borders).max()) < 2:
        raise InvalidInput("z", "series of one point", "series of at least two points")
    if cells.names is None:
        return [cells]
    return [
        Cells(stretch, np.array([0, len(stretch)]), np.zeros(1, np.int64), NO_LABELS, None,
              cells.outputs)
        for stretch in cells.series
    ]  # fmt: skip


def _on_logits(
    value: FloatArray, variance: FloatArray, deviations: float
) -> tuple[FloatArray, FloatArray]:
    """An interval that is symmetric for ``log p / (1 - p)``, where estimates are more normal."""
    safe = np.clip(value, 1e-12, 1 - 1e-12)
    middle = np.log(safe) - np.log1p(-safe)
    reach = deviations * np.sqrt(variance) / (safe * (1 - safe))
    with np.errstate(over="ignore"):
        low = 1 / (1 + np.exp(-(middle - reach)))
        high = 1 / (1 + np.exp(-(middle + reach)))
    return np.asarray(low), np.asarray(high)


def _bend(
    low: FloatArray,
    high: FloatArray,
    parts: list[Cells],
    noise: Noise,
    fits: list[Fit],
    total: FloatArray,
    variance: FloatArray,
    deviations: float,
) -> None:
    """Put limits from the likelihood itself where its top is too flat for its curvature.

    They cover noise and drawing; for the noise alone, whose variance is ``variance`` of the
    ``total``, distances from the estimate shrink in the proportion of the standard errors.
    """
    for group, (part, fit) in enumerate(zip(parts, fits, strict=True)):
        p = np.array([fit.transition[0, 1], fit.transition[1, 0]])
        slope = p * (1 - p)
        whole = np.array([total[group, 0, 1], total[group, 1, 0]])
        if np.all(np.sqrt(whole) <= WELL_CURVED * slope):
            continue
        own = np.array([variance[group, 0, 1], variance[group, 1, 0]])
        below, above = logit_limits(Release(part, noise), fit, whole / slope**2, deviations)
        share = np.sqrt(own / np.maximum(whole, 1e-300))
        middle = np.log(p) - np.log1p(-p)
        ends = [1 / (1 + np.exp(-(middle + (end - middle) * share))) for end in (below, above)]
        for state in range(2):
            a, b = ends[0][state], ends[1][state]
            low[group, state] = [1 - b, a] if state == 0 else [a, 1 - b]
            high[group, state] = [1 - a, b] if state == 0 else [b, 1 - a]


def _finished(
    value: FloatArray,
    variance: FloatArray,
    low: FloatArray,
    high: FloatArray,
    shares: FloatArray,
    pairs: FloatArray,
) -> tuple[FloatArray, ...]:
    inside = np.clip(value, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = inside * (1 - inside) / variance
    return value, np.sqrt(variance), low, high, worth, shares, pairs


def _result(
    arrays: tuple[FloatArray, ...],
    cells: Cells,
    level: float,
    about: Covers,
    method: Method,
    likelihood: float | None,
) -> Transitions:
    kept = [np.asarray(array[0] if cells.names is None else array) for array in arrays]
    for array in kept:
        array.setflags(write=False)
    value, error, low, high, worth, shares, pairs = kept
    return Transitions(
        value, error, low, high, worth, level, about, pairs, cells.names, shares, method,
        likelihood,
    )  # fmt: skip
