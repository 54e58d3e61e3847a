"""Maxima of tracks, alone and in pairs that share the room of a finite series. Certified.

Every result carries a lower bound that a given index attains and an upper bound that no
index exceeds, both as logs. Floats only propose where to look.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx

from chainveil.privacy.precision import PrecisionExhausted
from chainveil.privacy.two_state.tracks import Track, larger, smaller

# Gap between the bounds that ends a search, relative to the loss found so far.
TOLERANCE = 1e-10
MAX_NODES = 20_000


@dataclass(frozen=True)
class Peak:
    """Maximum of a track over ``0 … last``.

    ``lower`` is the log value at index ``k``; ``upper`` bounds the log value everywhere.
    Up to index ``rises_to`` the track certainly rises, behind ``end`` it does not any more.
    """

    k: int
    rises_to: int
    end: int
    lower: arb
    upper: arb


def horizon(track: Track, bits: float) -> int:
    """Index behind which the far end matters less than 2^-bits."""
    rate = track.slowest_log_rate()
    index = bits * math.log(2) / rate if rate > 0 else math.inf
    if not math.isfinite(index):
        # The balls are too wide to tell, or the chain forgets so slowly that no double can say.
        raise PrecisionExhausted
    return math.ceil(index) + 1


def find_peak(track: Track, last: int | None) -> Peak:
    """The maximum of ``track`` over indices ``0 … last`` (None: all)."""
    far = horizon(track, ctx.prec / 3)
    end = far if last is None else min(last, far)
    if end == 0:
        return _at(track, 0)
    if track.only_rises:
        peak = _at(track, end)
    elif not track.turns_once and not _rises(track, 0):
        peak = _search_all(track, end)
    elif _rises(track, end - 1):
        peak = _at(track, end)
    else:
        peak = _search_turn(track, end)
    if last is not None and last <= far:
        return peak
    upper = larger(peak.upper, track.tail_bound(end))
    stop = last if last is not None and peak.k == end else peak.end  # it may rise to the last
    return Peak(peak.k, peak.rises_to, stop, peak.lower, upper)


def _at(track: Track, k: int) -> Peak:
    value = track.log_value(k)
    return Peak(k, k, k, value, value)


def _rises(track: Track, k: int) -> bool:
    """Whether the value at ``k + 1`` is certainly larger than at ``k``."""
    return bool(track.growth(track.odds(k), track.prior(k)) > 1)


def _falls(track: Track, k: int) -> bool:
    """Whether the value at ``k + 1`` is certainly smaller than at ``k``."""
    return bool(track.growth(track.odds(k), track.prior(k)) < 1)


def _search_turn(track: Track, end: int) -> Peak:
    """A track that rises, then falls: close in on the turn from a float's guess."""
    guess = _guess_turn(track, end)
    low, high = _bracket(track, guess, end, reach=1 + guess // 1_000_000)
    while True:
        if high - low <= 2:
            return _best_of(track, low, high)
        peak = _bracketed(track, low, high)
        if peak is not None:
            return peak
        middle = (low + high) // 2
        if _rises(track, middle):
            low = middle
        elif _falls(track, middle):
            high = middle
        else:
            low, high = _bracket(track, middle, end, reach=1)
            if high - low > 2 and _bracketed(track, low, high) is None:
                raise PrecisionExhausted


def _bracketed(track: Track, low: int, high: int) -> Peak | None:
    """The peak between ``low`` (rising) and ``high`` (falling), if the bound there is tight."""
    odds_low, odds_high = track.odds(low), track.odds(high)
    prior_low, prior_high = track.prior(low), track.prior(high)
    steepest = track.growth(smaller(odds_low, odds_high), larger(prior_low, prior_high))
    at_low, at_high = (odds_low / prior_low).log(), (odds_high / prior_high).log()
    upper = at_low + larger(steepest.log(), arb(0)) * (high - low)
    k, lower = (low, at_low) if at_low >= at_high else (high, at_high)
    tight = float(upper - lower) <= TOLERANCE * float(lower)
    return Peak(k, low, high, lower, upper) if tight else None


def _best_of(track: Track, low: int, high: int) -> Peak:
    values = {k: track.log_value(k) for k in range(low, high + 1)}
    best = max(values, key=lambda k: float(values[k]))
    upper = values[best]
    for value in values.values():
        upper = larger(upper, value)
    return Peak(best, low, high, values[best], upper)


def _bracket(track: Track, guess: int, end: int, reach: int) -> tuple[int, int]:
    """Indices around ``guess`` between which the value turns, found by doubling the reach."""
    step, low = reach, max(0, guess - reach)
    while low > 0 and not _rises(track, low):
        step *= 2
        low = max(0, low - step)
    step, high = reach, min(end, guess + reach)
    while high < end and not _falls(track, high):
        step *= 2
        high = min(end, high + step)
    return low, high


def _guess_turn(track: Track, end: int) -> int:
    """Where floats see the value stop rising; rounding may put it a little off."""
    odds, prior = track.odds.rough(), track.prior.rough()
    step, prior_step = _rough_map(track.odds.step), _rough_map(track.prior.step)
    low, high = 0, end
    try:
        while high - low > 1 + low // 10_000_000:
            middle = (low + high) // 2
            # The turn may lie many orders of magnitude before the end: halve the digits first.
            if low and high > 4 * low:
                middle = int(math.sqrt(low) * math.sqrt(high))
            elif not low and high > 16:
                middle = int(math.sqrt(high))
            t, p = odds(middle), prior(middle)
            if step(t) * p > t * prior_step(p):
                low = middle
            else:
                high = middle
    except (ZeroDivisionError, OverflowError, ValueError):
        return low
    return low


def _rough_map(step: object) -> Callable[[float], float]:
    a, b, c, d = (float(getattr(step, name)) for name in "abcd")
    return lambda t: (a * t + b) / (c * t + d)


def _search_all(track: Track, end: int) -> Peak:
    pair = Pair(track, None, end)
    best = pair.maximum(0, end, arb(0))
    return Peak(best.k, 0, end, best.lower, best.upper)


@dataclass(frozen=True)
class _Point:
    """A place on the line ``k_left + k_right = total``: odds, prior odds and log values."""

    k: int
    odds: arb
    prior: arb
    other_odds: arb
    other_prior: arb
    left_log: arb
    right_log: arb

    @cached_property
    def log_value(self) -> arb:
        return self.left_log + self.right_log


@dataclass(frozen=True)
class Best:
    """Maximum of a pair: where it was found, what is attained there, what is not exceeded."""

    k: int
    lower: arb
    upper: arb


@dataclass(frozen=True)
class Pair:
    """Two tracks that share ``total`` steps: index k on the left, ``total - k`` on the right.

    ``left_rises`` and ``right_rises`` are indices up to which each track certainly rises.
    """

    left: Track
    right: Track | None
    total: int
    left_rises: int = 0
    right_rises: int = 0

    def maximum(self, first: int, last: int, offset: arb, floor: float = 0.0) -> Best:
        """Maximum over ``first <= k <= last`` of ``left(k) * right(total - k)``, in logs.

        Branch and bound over intervals of k. All odds are monotone in k, and so is each of
        the four factors of the growth from one k to the next; hence the growth is bounded
        over an interval by its ends, and the value by two exponentials leaning on the ends.
        ``offset`` is what the caller adds to the result; it sets the scale of the tolerance.
        ``floor`` is a value the caller has already: nothing below it is looked at closely.
        """
        return _branch_and_bound(self, first, last, offset, floor)


def _branch_and_bound(pair: Pair, first: int, last: int, offset: arb, floor: float) -> Best:
    ends = _point(pair, first), _point(pair, last)
    best = max(ends, key=lambda point: float(point.log_value))
    heap: list[tuple[float, int, _Point, _Point]] = []
    done = best.log_value
    count = 0
    stack = [ends]
    while True:
        for low, high in stack:
            if high.k - low.k > 1:
                count += 1
                bound = _interval_bound(pair, low, high)
                heapq.heappush(heap, (-_up(bound), count, low, high))
        enough = max(float(best.log_value), floor)
        if not heap or -heap[0][0] <= enough + TOLERANCE * (enough + float(offset)):
            bound = arb(-heap[0][0]) if heap else done
            return Best(best.k, best.log_value, larger(done, bound))
        if count > MAX_NODES:
            raise PrecisionExhausted
        _, _, low, high = heapq.heappop(heap)
        middle = _point(pair, (low.k + high.k) // 2)
        if float(middle.log_value) > float(best.log_value):
            best = middle
        done = larger(done, middle.log_value)
        stack = [(low, middle), (middle, high)]


def _point(pair: Pair, k: int) -> _Point:
    odds, prior = pair.left.odds(k), pair.left.prior(k)
    value = (odds / prior).log()
    if pair.right is None:
        return _Point(k, odds, prior, arb(1), arb(1), value, arb(0))
    other_odds, other_prior = pair.right.odds(pair.total - k), pair.right.prior(pair.total - k)
    other = (other_odds / other_prior).log()
    return _Point(k, odds, prior, other_odds, other_prior, value, other)


def _interval_bound(pair: Pair, low: _Point, high: _Point) -> arb:
    """Upper bound on the log value between two points."""
    least_odds, most_odds = smaller(low.odds, high.odds), larger(low.odds, high.odds)
    least_prior, most_prior = smaller(low.prior, high.prior), larger(low.prior, high.prior)
    # A track that rises is highest at its far end; any track stays below extreme odds.
    flat = high.left_log if high.k <= pair.left_rises else (most_odds / least_prior).log()
    steepest = pair.left.growth(least_odds, most_prior)
    gentlest = pair.left.growth(most_odds, least_prior)
    if pair.right is not None:
        a, b, c, d = low.other_odds, high.other_odds, low.other_prior, high.other_prior
        rising = pair.total - low.k <= pair.right_rises
        flat += low.right_log if rising else (larger(a, b) / smaller(c, d)).log()
        # Going right shortens the right side, so its growth counts backwards.
        steepest /= pair.right.growth(larger(a, b), smaller(c, d))
        gentlest /= pair.right.growth(smaller(a, b), larger(c, d))
    leaning = _leaning_bound(low, high, steepest.log(), gentlest.log())
    return smaller(flat, leaning)


def _leaning_bound(low: _Point, high: _Point, steepest: arb, gentlest: arb) -> arb:
    """Largest value under both lines: from the low end upwards, from the high end backwards."""
    width = high.k - low.k
    if not steepest > 0:
        return low.log_value + larger(steepest, arb(0)) * width
    if not gentlest < 0:
        return high.log_value - smaller(gentlest, arb(0)) * width
    crossing = (high.log_value - low.log_value - gentlest * width) / (steepest - gentlest)
    return low.log_value + steepest * crossing


def _up(bound: arb) -> float:
    return math.nextafter(float(bound.upper()), math.inf)
