"""The chain behind a release: how likely each state is followed by each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.counts.pair_shares import PAIR, pair_shares
from chainveil.estimate.counts.places import check_neighbours, read_reports
from chainveil.estimate.intervals import open_up, quantile
from chainveil.estimate.likelihood.grouped_fits import fit_groups
from chainveil.estimate.noise_law import NoiseLaw, as_noise_law
from chainveil.estimate.results import Covers, Method, Transitions, read_covers, settled
from chainveil.estimate.simplex import project as nearest

INSTEAD = 'The method "counts" assumes nothing about the series.'


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
    anyway: bool = False,
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
        narrower intervals, which lean on the series being a chain. Not by label. It is the one
        way for noise whose reports mix two points, such as TrackingNoise.
    project : bool
        Replace rows that are not distributions by the nearest ones.
    anyway : bool
        For "likelihood": answer also where the release contradicts the chain that fits it best
        (``estimate.likelihood.fit_test``), which is an error otherwise. ``fit`` and ``meaning``
        then say so.

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
    source, about = as_noise_law(noise), read_covers(covers)
    checks.one_of("method", method, get_args(Method))
    check_neighbours(source, "transitions")
    cells = read_reports(z, source, by, window)
    deviations = quantile(level)
    if method == "likelihood":
        best = fit_groups(cells, source, level)
        fit = best.fit_test()
        fit.check(anyway, INSTEAD if source.from_counts else "")
        arrays = best.answer(about)
        few = best.too_flat()
        likelihood = best.log_likelihood
        found = _result(arrays, few, likelihood, cells, level, about, "likelihood")
        return replace(found, fit=fit, shared=source.shared)
    arrays = _from_counts(cells, source, about, deviations, project)
    few = source.too_few(PAIR, arrays[-1])
    found = _result(arrays, few, None, cells, level, about, "counts")
    return replace(found, shared=source.shared)


def _from_counts(
    cells: Cells, noise: NoiseLaw, about: Covers, deviations: float, project: bool
) -> tuple[FloatArray, ...]:
    """Value, variance, limits and shares, (groups, k, k) each, and pairs, (groups,)."""
    found = pair_shares(cells, noise)
    value, shares = found.transition, found.shares
    variance = found.variance(about == "sampling")
    low, high = found.interval(deviations, about == "sampling")
    if project:
        value, shares = nearest(value), nearest(shares.reshape(len(shares), -1))
        shares = shares.reshape(value.shape)
    return value, variance, low, high, shares, found.pairs


def _result(
    arrays: tuple[FloatArray, ...],
    few: NDArray[np.bool_],
    likelihood: float | None,
    cells: Cells,
    level: float,
    about: Covers,
    method: Method,
) -> Transitions:
    value, variance, low, high, shares, pairs = arrays
    inside = np.clip(value, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = inside * (1 - inside) / variance
    opened = open_up(few, (value, np.sqrt(variance), low, high, worth))
    numbers = settled((*opened, shares, pairs), cells.names)
    value, error, low, high, worth, shares, pairs = numbers
    return Transitions(
        value, error, low, high, worth, level, about, pairs, cells.names, shares, method,
        likelihood,
    )  # fmt: skip
