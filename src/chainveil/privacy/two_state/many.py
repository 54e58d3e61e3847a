"""Losses of very many two-state chains under one channel, at once and in floats.

The same tracks as in ``tracks``, for stationary chains, any adversary and every length: a side
of the target adds at most the largest ``log odds(k) / prior(k)`` over distances k, with nothing
known, a 0 known or a 1 known there, and both sides add alike. Odds and prior are orbits of Möbius
maps, so both are monotone in k, and between two distances the value is at most the largest odds
over the least prior of the two. Intervals of distances whose bound is above the largest value
found are cut in half until they are not, by more than ``TOLERANCE``.

What comes out is an upper bound. Products of matrices without negative entries lose at most
2^-51 of each entry with each step, hence below 1e-8 at the largest distance; fixed points of maps
with q and r from ``LEAST`` on are right to 1e-7. ``MARGIN`` covers both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.noise.channel import Channel
from chainveil.privacy.two_state.setting import extreme_ratios

# How far above a loss its bound may be, for each side of the target.
TOLERANCE = 5e-4
# What rounding may have taken away, and is added.
MARGIN = 1e-6
# Chains that change state more rarely than this, or almost always, are left to exact arithmetic.
LEAST = 1e-6
# The largest distance that is looked at, as a power of two; beyond it orbits are near their ends,
# and beyond FORGOTTEN times the memory of a chain they are so for sure.
LARGEST_POWER, FORGOTTEN = 24, 30.0
# Chains that are worked on at once.
CHUNK = 2048

IntArray = NDArray[np.int64]


def can_bound(q: FloatArray, r: FloatArray, channel: Channel) -> NDArray[np.bool_]:
    """Which chains :func:`loss_bounds` takes."""
    (high, _), (low, _) = extreme_ratios(channel)
    noisy = high is not None and low != 0 and channel.states == 2
    least, most = np.minimum(q, r), np.maximum(q, r)
    return np.asarray(noisy & (least >= LEAST) & (most <= 1 - LEAST))


def loss_bounds(
    q: FloatArray, r: FloatArray, channel: Channel, *, ignorant: bool = False
) -> FloatArray:
    """Upper bounds on the loss of each chain, shape (chains,), for every length.

    Each is above the exact loss by at most ``2 * TOLERANCE`` and a little. ``ignorant``: of an
    adversary who knows no point, else of any.
    """
    (high, _), (low, _) = extreme_ratios(channel)
    assert high is not None
    assert low
    parts = [
        _chunk(q[at : at + CHUNK], r[at : at + CHUNK], (float(high), float(low)), ignorant)
        for at in range(0, len(q), CHUNK)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def _chunk(q: FloatArray, r: FloatArray, ratios: tuple[float, float], ignorant: bool) -> FloatArray:
    """Both directions of all chains as rows: first 0 over 1, then 1 over 0."""
    high, low = ratios
    rows = _Rows.of(
        np.concatenate([q, r]), np.concatenate([r, q]),
        np.repeat([high, 1 / low], len(q)), np.repeat([low, 1 / high], len(q)),
    )  # fmt: skip
    sides = rows.open_side() if ignorant else rows.worst_side()
    total = np.maximum(np.log(rows.high), 0.0) + 2 * sides
    # Where no output speaks for a value, or points do not depend on each other, sides add nothing.
    total = np.where((rows.high <= 1) | (rows.q + rows.r == 1), np.log(rows.high), total)
    worst = np.maximum(np.maximum(*np.split(total, 2)), 0.0)
    return np.asarray(worst * (1 + MARGIN) + MARGIN)


@dataclass(frozen=True)
class _Rows:
    """Chains seen from one direction each, and their maps as matrices of shape (rows, 2, 2)."""

    q: FloatArray
    r: FloatArray
    high: FloatArray
    low: FloatArray
    one_step: FloatArray
    posterior: FloatArray
    prior: FloatArray

    @classmethod
    def of(cls, q: FloatArray, r: FloatArray, high: FloatArray, low: FloatArray) -> _Rows:
        step = np.stack([np.stack([1 - q, q], -1), np.stack([r, 1 - r], -1)], -2)
        told = step * np.stack([high, np.ones_like(high)], -1)[:, None, :]
        alternates = (q + r > 1)[:, None, None]
        then = step * np.stack([low, np.ones_like(low)], -1)[:, None, :]
        posterior = np.where(alternates, then @ told, told)
        prior = np.where(alternates, step @ step, step)
        return cls(q, r, high, low, step, posterior, prior)

    def open_side(self) -> FloatArray:
        """What a side adds with nothing known: it rises towards the fixed point."""
        return np.log(_attractor(self.posterior))

    def worst_side(self) -> FloatArray:
        """Upper bound on what a side adds with anything known, shape (rows,)."""
        emission = np.maximum(np.log(self.high), 0.0)
        memory = float(np.max(-1 / np.log(np.maximum(np.abs(1 - self.q - self.r), 1e-9))))
        largest = min(LARGEST_POWER, max(3, math.ceil(math.log2(FORGOTTEN * memory))))
        powers = _powers(self.posterior, largest), _powers(self.prior, largest)
        search = _Search(*powers, self.open_side(), emission)
        owner, seen, known = self._starts()
        # Where no output speaks for a value there is nothing to look for.
        told = self.high[owner] > 1
        return search.run(owner[told], seen[told], known[told])

    def _starts(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The pairs of odds at k = 0 of each track: its row, posterior and prior."""
        rows = np.arange(len(self.q))
        pairs = [np.stack(pair, -1) for pair in ((1 - self.q, self.r), (self.q, 1 - self.r))]
        owner, seen, prior = [rows, rows], [*pairs], [*pairs]
        odd = np.flatnonzero(self.q + self.r > 1)
        for pair in pairs:
            told = pair[odd] * np.stack([self.low[odd], np.ones(len(odd))], -1)
            owner.append(odd)
            seen.append(_applied(self.one_step[odd], told))
            prior.append(_applied(self.one_step[odd], pair[odd]))
        return np.concatenate(owner), np.concatenate(seen), np.concatenate(prior)


@dataclass
class _Search:
    """Intervals of distances, cut where they may hold more than was found.

    ``posterior`` and ``prior`` hold the powers 2^0, 2^1, … of the maps, shape (powers, rows, 2, 2);
    ``best`` is the largest value found of each row, ``emission`` what the target itself adds. The
    second half of the rows are the first in the other direction.
    """

    posterior: FloatArray
    prior: FloatArray
    best: FloatArray
    emission: FloatArray

    def run(self, owner: IntArray, seen: FloatArray, known: FloatArray) -> FloatArray:
        """Upper bound of each row."""
        bound = self.best.copy()
        self._see(owner, _log_odds(seen) - _log_odds(known))
        ends = self._tail(owner, seen, known)
        np.maximum.at(bound, owner, ends)
        # Intervals [2^j, 2^(j+1)] of all tracks; k = 0 and 1 were looked at.
        open_ones = self._dyadic(owner, seen, known)
        for power in range(len(self.prior) - 3, -1, -1):
            open_ones = self._cut(open_ones, power, bound)
        return np.maximum(bound, self.best)

    def _enough(self) -> FloatArray:
        """What a side of each row may add without raising the loss of its chain, found so far."""
        total = self.emission + 2 * self.best
        worse = np.maximum(*np.split(total, 2))
        return np.asarray((np.tile(worse, 2) - self.emission) / 2)

    def _see(self, owner: IntArray, values: FloatArray) -> None:
        np.maximum.at(self.best, owner, values)

    def _tail(self, owner: IntArray, seen: FloatArray, known: FloatArray) -> FloatArray:
        """Bound on all distances from the largest on: orbits lie between it and their ends."""
        # The last interval ends where the last power but one leads.
        far_seen = _applied(self.posterior[-2][owner], seen)
        far_known = _applied(self.prior[-2][owner], known)
        top = np.maximum(_log_odds(far_seen), np.log(_attractor(self.posterior[0]))[owner])
        low = np.minimum(_log_odds(far_known), np.log(_attractor(self.prior[0]))[owner])
        return np.asarray(top - low)

    def _dyadic(self, owner: IntArray, seen: FloatArray, known: FloatArray) -> _Open:
        """The intervals between powers of two, by the power that their length is."""
        points, largest = [], len(self.prior) - 1
        for power in range(largest):
            point = _Point.of(
                _applied(self.posterior[power][owner], seen),
                _applied(self.prior[power][owner], known),
            )
            points.append(point)
            self._see(owner, point.value)
        held: _Open = {power: [] for power in range(largest)}
        # From 0 to 1 there is nothing between; from 2^j to 2^(j+1) an interval of length 2^j.
        for power in range(1, largest - 1):
            held[power].append(_Interval(owner, points[power], points[power + 1]))
        return held

    def _cut(self, held: _Open, power: int, bound: FloatArray) -> _Open:
        """Settle the intervals of length 2^(power + 1), or cut them in the middle."""
        enough = self._enough() + TOLERANCE
        for interval in held.pop(power + 1):
            bounds = interval.bound()
            above = bounds > enough[interval.owner]
            np.maximum.at(bound, interval.owner[~above], bounds[~above])
            if not above.any():
                continue
            left = interval.pick(above)
            middle = _Point.of(
                _applied(self.posterior[power][left.owner], left.begin.seen),
                _applied(self.prior[power][left.owner], left.begin.known),
            )
            self._see(left.owner, middle.value)
            held[power].append(_Interval(left.owner, left.begin, middle))
            held[power].append(_Interval(left.owner, middle, left.end))
        return held


@dataclass(frozen=True)
class _Point:
    """One distance of many tracks: pairs of odds, shape (n, 2), and their logarithms."""

    seen: FloatArray
    known: FloatArray
    log_seen: FloatArray
    log_known: FloatArray

    @classmethod
    def of(cls, seen: FloatArray, known: FloatArray) -> _Point:
        return cls(seen, known, _log_odds(seen), _log_odds(known))

    @property
    def value(self) -> FloatArray:
        """What a side adds there."""
        return self.log_seen - self.log_known

    def pick(self, chosen: NDArray[np.bool_]) -> _Point:
        """Some of the tracks."""
        parts = (self.seen, self.known, self.log_seen, self.log_known)
        return _Point(*(part[chosen] for part in parts))


@dataclass(frozen=True)
class _Interval:
    """Distances between two, of many tracks."""

    owner: IntArray
    begin: _Point
    end: _Point

    def bound(self) -> FloatArray:
        """The largest odds over the least prior, as logs."""
        top = np.maximum(self.begin.log_seen, self.end.log_seen)
        return np.asarray(top - np.minimum(self.begin.log_known, self.end.log_known))

    def pick(self, chosen: NDArray[np.bool_]) -> _Interval:
        """Some of them."""
        return _Interval(self.owner[chosen], self.begin.pick(chosen), self.end.pick(chosen))


# Intervals that are not settled, by the power of two that their length is.
_Open = dict[int, list[_Interval]]


def _powers(matrix: FloatArray, largest: int) -> FloatArray:
    """Its powers 2^0, 2^1, …, each divided by a power of two, shape (powers, rows, 2, 2)."""
    found = [matrix]
    for _ in range(largest):
        square = found[-1] @ found[-1]
        found.append(square / np.exp2(np.floor(np.log2(square.max(axis=(1, 2)))))[:, None, None])
    return np.stack(found)


def _applied(matrices: FloatArray, pairs: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("nij,nj->ni", matrices, pairs))


def _log_odds(pairs: FloatArray) -> FloatArray:
    return np.asarray(np.log(pairs[:, 0]) - np.log(pairs[:, 1]))


def _attractor(matrix: FloatArray) -> FloatArray:
    """The positive fixed point of t -> (a t + b) / (c t + d), shape (rows,)."""
    a, b, c, d = matrix[:, 0, 0], matrix[:, 0, 1], matrix[:, 1, 0], matrix[:, 1, 1]
    apart = a - d
    root = np.sqrt(apart * apart + 4 * b * c)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(apart >= 0, (apart + root) / (2 * c), 2 * b / (root - apart))
