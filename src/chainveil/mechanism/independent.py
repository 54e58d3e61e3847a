"""Independent noise (Algorithm 1 of the paper): every point on its own."""

from __future__ import annotations

from typing import Any

from chainveil.errors import InvalidInput
from chainveil.mechanism.noises import Draws, Flips, Reports
from chainveil.mechanism.randomness import Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.mechanism.release import Release
from chainveil.mechanism.release import release as _release
from chainveil.noise.channel import Channel


def sanitize(
    x: Any,
    channel: Channel,
    out: Any = None,
    rng: Source | None = None,
    missing: Missing = "error",
) -> Any:
    """Report every state through the channel, each point with its own noise.

    Parameters
    ----------
    x : array of shape (n,) or (series, n), or a list of arrays of different lengths
        States ``0 … k-1`` as booleans, integers of any width, or whole floats.
    channel : Channel
        The noise. What is realised is exactly ``channel.on_grid()``.
    out : array like ``x``, optional
        Where the result goes; ``out=x`` sanitizes in place. For a list, a list of arrays.
    rng : optional
        ``None`` or ``randomness.secure()`` for a release; ``randomness.seeded(seed)`` for study.
    missing : "error" or "keep"
        Gaps are NaN, masked points, and -1 in signed integers. "keep" leaves them where
        they are, unprotected: the result shows which points are missing.

    Returns
    -------
    An array of the shape and dtype of ``x`` (a list of arrays for a list), or ``out``.
    :func:`release` gives a report along with it.
    """
    return release(x, channel, out, rng, missing).values


def release(
    x: Any,
    channel: Channel,
    out: Any = None,
    rng: Source | None = None,
    missing: Missing = "error",
) -> Release:
    """Like :func:`sanitize`, with a report on what was done."""
    source = as_source(rng)
    noise = independent_noise(channel, Draws(source))
    return _release(x, noise, out, source, missing, "independent")


def independent_noise(channel: Channel, draws: Draws) -> Flips | Reports:
    """The mechanism for a channel: the short way for two states, the general one else."""
    if not isinstance(channel, Channel):
        raise InvalidInput("channel", channel, "a Channel", "For instance Channel.binary(0.3, 0.2)")
    if channel.matrix.shape == (2, 2):
        return Flips(channel, draws)
    return Reports(channel, draws)
