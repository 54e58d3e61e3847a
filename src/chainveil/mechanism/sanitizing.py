"""Sanitize arrays with any noise (Algorithm 1 of the paper, where points are independent)."""

from __future__ import annotations

from typing import Any

from chainveil.mechanism.randomness import Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.mechanism.release import Release
from chainveil.mechanism.release import release as _release
from chainveil.mechanism.thinned import array_sampler
from chainveil.noise.base import Noise


def sanitize(
    x: Any,
    noise: Noise,
    out: Any = None,
    rng: Source | None = None,
    missing: Missing = "error",
) -> Any:
    """Report every state through the noise, series by series.

    Every series (a row, or an array of a list) has noise of its own, from its first point on.

    Parameters
    ----------
    x : array of shape (n,) or (series, n), or a list of arrays of different lengths
        States ``0 … k-1`` as booleans, integers of any width, or whole floats.
    noise : Channel, CorrelatedNoise or another noise
        What is realised is exactly ``noise.on_grid()``.
    out : array like ``x``, optional
        Where the result goes; ``out=x`` sanitizes in place. For a list, a list of arrays.
    rng : optional
        ``None`` or ``mechanism.secure()`` for a release; ``mechanism.seeded(seed)`` for study.
    missing : "error" or "keep"
        Gaps are NaN, masked points, and -1 in signed integers. "keep" leaves them where
        they are, unprotected: the result shows which points are missing. Correlated noise
        runs on beneath them; sticky and tracking noise holds its last report over them.

    Returns
    -------
    An array of the shape and dtype of ``x`` (a list of arrays for a list), or ``out``.
    :func:`release` gives a report along with it.

    Notes
    -----
    Noise that reports one point in ``every`` holds each report over its block of so many
    points, in whose middle it is made; a block without one holds the report before it. Points
    before any report come back as missing; where the array cannot show that (whole numbers and
    no mask), a series that ends before its first report is an error. :func:`reports` gives the
    reports alone.
    """
    return release(x, noise, out, rng, missing).values


def release(
    x: Any,
    noise: Noise,
    out: Any = None,
    rng: Source | None = None,
    missing: Missing = "error",
) -> Release:
    """Like :func:`sanitize`, with a report on what was done."""
    source = as_source(rng)
    return _release(x, array_sampler(noise, source), out, source, missing, noise.kind)
