"""Compiled walk over the distances of one side of a target, for very many two-state chains.

A Möbius map ``t -> (a t + b) / (c t + d)`` is held as its four entries. ``maps``, of shape
(POWERS, 2, 4), has the 2^0, 2^1, … times repeated maps of the odds (0) and of the prior odds (1);
``starts``, of shape (4, 2), both at the first distance of each track. See ``many``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainveil.compiled import compiled

# No step is longer than 2 to the last of these; chains that forget more slowly are not taken.
POWERS = 25

_compiled = compiled(nogil=True, error_model="numpy")


@_compiled
def bound_losses(
    q: Any, r: Any, high: Any, low: Any, ignorant: bool, tolerance: float, out: Any
) -> None:
    """Write the bound of each chain, shape (chains,), without a margin for rounding.

    ``high`` and ``low``, of shape (2,), are the extreme likelihood ratios of 0 over 1 and of 1
    over 0; of the former one at least is above 1.
    """
    maps, starts = np.empty((2, POWERS, 2, 4)), np.empty((2, 4, 2))
    best, end = np.empty(2), np.empty(2)
    tracks, last = np.empty(2, np.int64), np.empty(2, np.int64)
    emission, slack = (math.log(high[0]), math.log(high[1])), math.exp(tolerance)
    for chain in range(len(q)):
        worst = 0.0
        for way in range(2):
            leave, back = (q[chain], r[chain]) if way == 0 else (r[chain], q[chain])
            if leave + back == 1:
                # Points do not depend on each other, and sides add nothing.
                tracks[way], end[way], best[way] = 0, 1.0, 1.0
            else:
                tracks[way] = _begin(leave, back, high[way], low[way], maps[way, 0], starts[way])
                best[way] = end[way] = _attractor(maps[way, 0, 0])
            if ignorant:
                tracks[way] = 0
            if tracks[way]:
                last[way], best[way] = _look(
                    maps[way], starts[way, : tracks[way]], end[way], best[way], slack
                )
            worst = max(worst, emission[way] + 2 * math.log(best[way]))
        most = worst
        for way in range(2):
            bound, limit = best[way], math.exp((worst - emission[way]) / 2) * slack
            for track in range(tracks[way]):
                found, limit = _walk(
                    maps[way, : last[way] + 1], starts[way, track], end[way], limit, slack
                )
                bound = max(bound, found)
            most = max(most, emission[way] + 2 * math.log(bound))
        out[chain] = most


@_compiled
def _begin(q: float, r: float, high: float, low: float, maps: Any, starts: Any) -> int:
    """Fill in the maps of one stride and the tracks with a known point; how many there are."""
    step = maps[1]
    step[0], step[1], step[2], step[3] = 1 - q, q, r, 1 - r
    told = maps[0]
    told[0], told[1], told[2], told[3] = step[0] * high, step[1], step[2] * high, step[3]
    starts[0, 0] = starts[0, 1] = (1 - q) / r
    starts[1, 0] = starts[1, 1] = q / (1 - r)
    if q + r < 1:
        return 2
    # The worst output alternates: a stride is two steps, and even distances are tracks too.
    for known in range(2):
        starts[2 + known, 0] = _image(step, low * starts[known, 0])
        starts[2 + known, 1] = _image(step, starts[known, 0])
    _after((step[0] * low, step[1], step[2] * low, step[3]), told, told)
    _after((step[0], step[1], step[2], step[3]), step, step)
    return 4


@_compiled
def _look(maps: Any, starts: Any, end: float, best: float, slack: float) -> tuple[int, float]:
    """Repeat the maps until all tracks are near their ends; the last power, the best value seen."""
    for power in range(POWERS):
        if power:
            for kind in range(2):
                _after(maps[power - 1, kind], maps[power - 1, kind], maps[power, kind])
        rest = 0.0
        for track in range(len(starts)):
            seen = _image(maps[power, 0], starts[track, 0])
            known = _image(maps[power, 1], starts[track, 1])
            best = max(best, seen / known)
            rest = max(rest, max(seen, end) / min(known, 1.0))
        if rest <= best * slack:
            return power, best
    return POWERS - 1, best


@_compiled
def _walk(maps: Any, start: Any, end: float, limit: float, slack: float) -> tuple[float, float]:
    """Bound on one track, and the limit that may have risen: what is below it is not looked into.

    Orbits are monotone, so between two distances the value is at most the larger odds over the
    lesser prior odds, and beyond one the same with the ends of the orbits, which are ``end`` and 1.
    """
    seen, known = start[0], start[1]
    bound, power = seen / known, 0
    while True:
        rest = max(seen, end) / min(known, 1.0)
        if not rest > limit:
            return max(bound, rest), limit
        next_seen, next_known = _image(maps[power, 0], seen), _image(maps[power, 1], known)
        value = next_seen / next_known
        limit = max(limit, value * slack)
        between = max(seen, next_seen) / min(known, next_known) if power else value
        if power and between > limit:
            power -= 1
            continue
        bound, seen, known = max(bound, between), next_seen, next_known
        power = min(power + 1, len(maps) - 1)


@_compiled
def _image(entries: Any, odds: float) -> float:
    return float((entries[0] * odds + entries[1]) / (entries[2] * odds + entries[3]))


@_compiled
def _after(second: Any, first: Any, out: Any) -> None:
    """One map after another, its largest entry between 1/2 and 1."""
    a = second[0] * first[0] + second[1] * first[2]
    b = second[0] * first[1] + second[1] * first[3]
    c = second[2] * first[0] + second[3] * first[2]
    d = second[2] * first[1] + second[3] * first[3]
    scale = math.ldexp(1.0, -math.frexp(max(a, b, c, d))[1])
    out[0], out[1], out[2], out[3] = a * scale, b * scale, c * scale, d * scale


@_compiled
def _attractor(entries: Any) -> float:
    """The positive fixed point."""
    a, b, c, d = entries[0], entries[1], entries[2], entries[3]
    apart = a - d
    root = math.sqrt(apart * apart + 4 * b * c)
    return float((apart + root) / (2 * c) if apart >= 0 else 2 * b / (root - apart))
