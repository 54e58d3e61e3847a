"""Losses of very many two-state chains under one channel, in floats.

The same tracks as in ``tracks``, for stationary chains, any adversary and every length: a side
of the target adds at most the largest ``log odds(k) / prior(k)`` over distances k, with nothing
known, a 0 known or a 1 known there, and both sides add alike. Odds and prior are orbits of Möbius
maps that keep order, so both are monotone in k: between two distances the value is at most the
larger odds over the lesser prior of the two, and beyond a distance the same with the fixed points
of the maps in place of the second. Distances 1, 2, 4, … tell what is reached at least. Then each
track is walked from the target outwards in steps that are powers of two, each twice the one before;
a step over which the bound would exceed what was reached by more than ``TOLERANCE`` is halved, and
over a single step there is nothing between. The walk ends where all that lies beyond is settled.

What comes out is an upper bound. Write u = 2^-53. Entries of maps have one sign, and q and r are
each subtracted from 1 once, so entries are off by at most 10u, as ratios. Squared, a map of s
steps is off by at most 12u s in each entry, and applied, by 29u s; a map with positive entries
does not widen an error of the odds. With q and r between ``LEAST`` and 1 - ``LEAST`` a step brings
logarithms of odds closer by a factor of 1 - 2 ``LEAST`` (Birkhoff), and they are never more than
28 apart: after 2^23 steps they are within 2e-6 of the fixed point, so that no walk goes beyond
2^24. By the same factor a fixed point, whose formula adds numbers of one sign, is off by at most
20u / (2 ``LEAST``) and a few u. All together is below 2e-7, and ``MARGIN`` is added. With
likelihood ratios up to ``STEEPEST`` nothing under- or overflows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.noise.channel import Channel
from chainveil.privacy.two_state.setting import extreme_ratios

# How far above what is reached the bound of a side of the target may be.
TOLERANCE = 4e-6
# What rounding may have taken away, and is added.
MARGIN = 1e-6
# No bound is further above the loss: two sides, the margin, and what rounding may have added.
ABOVE = 2 * TOLERANCE + 2 * MARGIN
# Chains that change state more rarely than this, or almost always, are left to exact arithmetic,
# and so is noise under which an output speaks for a value by a larger factor.
LEAST, STEEPEST = 1e-6, 1e100


def can_bound(q: FloatArray, r: FloatArray, channel: Channel) -> NDArray[np.bool_]:
    """Which chains :func:`loss_bounds` takes."""
    (high, _), (low, _) = extreme_ratios(channel)
    steep = high is None or low is None or high > STEEPEST or low < 1 / STEEPEST
    least, most = np.minimum(q, r), np.maximum(q, r)
    return np.asarray((channel.states == 2 and not steep) & (least >= LEAST) & (most <= 1 - LEAST))


def loss_bounds(
    q: FloatArray, r: FloatArray, channel: Channel, *, ignorant: bool = False
) -> FloatArray:
    """Upper bounds on the loss of each chain, shape (chains,), for every length.

    Each is above the exact loss by at most ``ABOVE``. ``ignorant``: of an adversary who knows no
    point, else of any.
    """
    (high, _), (low, _) = extreme_ratios(channel)
    assert high
    assert low
    found = np.zeros(len(q))
    # Where no output speaks for either value there is nothing to lose. Rows sum to one only as
    # floats do: an output may speak for one value although none is above one for the other.
    if (high > 1 or low < 1) and len(q):
        from chainveil.privacy.two_state.kernel import bound_losses

        speak, against = np.array([high, 1 / low], float), np.array([low, 1 / high], float)
        q, r = (np.ascontiguousarray(part, dtype=float) for part in (q, r))
        bound_losses(q, r, speak, against, ignorant, TOLERANCE, found)
    return np.asarray(found + MARGIN)
