"""The chain behind a release: how likely each state is followed by each."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.estimate.counts.pair_shares import PAIR, pair_shares
from chainveil.estimate.counts.places import check_neighbours, read_reports
from chainveil.estimate.intervals import open_up, quantile
from chainveil.estimate.noise_law import as_noise_law
from chainveil.estimate.results import Covers, Transitions, read_covers, settled
from chainveil.estimate.simplex import project as nearest


def transitions(
    z: Any,
    noise: Any,
    *,
    by: Any = None,
    window: int | None = None,
    level: float = 0.95,
    covers: Covers = "noise",
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
    project : bool
        Replace rows that are not distributions by the nearest ones.

    Returns
    -------
    Transitions
        Arrays of shape (k, k), or (groups, k, k).

    Notes
    -----
    An interval holds all p for which ``pairs(a, b) - p * pairs(a)`` is within its
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
    check_neighbours(source, "transitions")
    cells = read_reports(z, source, by, window)
    found = pair_shares(cells, source)
    value, shares = found.transition, found.shares
    variance = found.variance(about == "sampling")
    low, high = found.interval(quantile(level), about == "sampling")
    if project:
        value, shares = nearest(value), nearest(shares.reshape(len(shares), -1))
        shares = shares.reshape(value.shape)
    inside = np.clip(value, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = inside * (1 - inside) / variance
    few = source.too_few(PAIR, found.pairs)
    opened = open_up(few, (value, np.sqrt(variance), low, high, worth))
    numbers = settled((*opened, shares, found.pairs), cells.names)
    value, error, low, high, worth, shares, pairs = numbers
    return Transitions(
        value, error, low, high, worth, level, about, pairs, cells.names, shares,
        shared=source.shared,
    )  # fmt: skip
