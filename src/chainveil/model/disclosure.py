"""Chains fitted on private data, made so coarse that the counts behind them do not come back.

A fitted probability is a fraction of two counts, and a fraction gives both away. What is
published instead are limits on a public grid. Two states: one box of a table of boxes that
depends on the number of steps alone, which a release shows anyway. More states, and a longer
memory: a row of limits for each state or context.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.model.contexts import order_of, shorter_counts
from chainveil.model.region import Interval

# How many values every count behind a box may have.
ENOUGH = 20
# The same for one probability of more states, whose counts also have to fit each other.
ENOUGH_ALONE = 40
# The widest interval of a probability after a context, of which there are then four, and the
# finest.
WIDEST_INTERVAL, FINEST_INTERVAL = 0.25, 1e-4
# Numbers of changes that are looked at to tell whether a box leaves enough open.
LOOKED_AT = 400
# First cut below one half, where q + r < 1; then where a box is cut, as a share of its logarithm.
BELOW_HALF = 0.49
CUTS = (0.5, 0.6, 0.7, 0.8, 0.9)

ADVICE = (
    "Give the chain by hand, or fit it on a public reference table; data that need no "
    "protection are fitted with public=True."
)

# Least and largest q, least and largest r.
Box = tuple[float, float, float, float]


def public_box(q: float, r: float, steps: int) -> tuple[Interval, Interval]:
    """The box for a two-state chain fitted on ``steps`` steps: limits of q and limits of r.

    A box is cut in two only where both parts still leave at least ``ENOUGH`` values open for
    each count behind a fit, so the table of boxes does not depend on the data. Lower limits
    belong to a box, upper ones to the next.
    """
    least = _one_digit_down(1 / steps)
    box: Box = (least, 1.0, least, 1.0)
    cut = _cut(box, steps)
    if cut is None:
        raise too_few(f"a chain fitted on {steps} steps of private data")
    while cut is not None:
        axis, middle = cut
        low, high = _parts(box, axis, middle)
        box = low if (q, r)[axis] < middle else high
        cut = _cut(box, steps)
    return box[:2], box[2:]


def published_rows(transition: FloatArray, counts: NDArray[np.int64] | None) -> FloatArray:
    """The rows of a chain of order 1 and more than two states, rounded down by its counts."""
    if counts is None or len(transition) == 2:
        raise InvalidInput(
            "chain", "a private chain with neither counts nor round numbers, or of two states",
            "MarkovChain.fit(series), which has the counts that rounding needs",
        )  # fmt: skip
    return rounded_down(transition, counts.sum(axis=1).tolist())


def rounded_down(transition: FloatArray, visits: list[int]) -> FloatArray:
    """The transitions of more than two states with every change rounded down, shape (k, k).

    What counts of a row may be told apart depends on how often its state was left, of which
    only the next lower power of two is used. A change seen rarely or never gets a stand-in that
    is smaller than any fraction of the row: a zero would say that a count is zero.
    """
    result = np.zeros_like(transition)
    for state, row in enumerate(transition.tolist()):
        # A state that was never left, which a pseudocount allows, counts as left once.
        limits = _limits(1 << (max(visits[state], 1).bit_length() - 1))
        # All rare changes together have to leave room as well.
        if limits[-1] == limits[0] or limits[1] > 0.5 or len(row) * limits[0] > 0.5:
            raise too_few("a chain fitted on private data that rarely leave one of the states")
        result[state] = _row_down(row, state, limits)
    return result


def rounded_contexts(counts: NDArray[np.int64]) -> FloatArray:
    """The law after each context in rounded numbers, shape (k ** m, k), none of them 0.

    Each probability stands for an interval that holds ``ENOUGH_ALONE`` counts, by its geometric
    middle, so that its logarithm is off by as little as may be. A context that was left too
    rarely takes the law of the longest part of it, without its oldest points, that was not.
    """
    k = counts.shape[1]
    laws: list[list[float]] = []
    for order in range(1, order_of(counts.shape) + 1):
        found = shorter_counts(counts, order).tolist()
        rows = [_rounded_row(seen, context % k) for context, seen in enumerate(found)]
        if order == 1 and not all(rows):
            raise too_few("a chain fitted on private data that rarely leave one of the states")
        laws = [row or laws[context % len(laws)] for context, row in enumerate(rows)]
    return np.array(laws)


def _rounded_row(seen: list[int], last: int) -> list[float] | None:
    """Counts after one context as a rounded law; None where they are too few.

    What is left of one goes to staying at the ``last`` state; of two states to the likelier.
    """
    visits, k = sum(seen), len(seen)
    width = _interval_width(visits)
    if width > WIDEST_INTERVAL or (k - 1) * width > 1:
        return None
    rest = last if k > 2 else int(2 * seen[1] > visits)
    # Of two states the rarer has at most one half.
    whole = int((1.0 if k > 2 else 0.5) / width)
    places = [min(int(n / visits / width), whole - 1) for n in seen]
    places[rest] = 0
    # What sums up to nearly one leaves no room: the largest gives way.
    while sum(_middle(place, width) for place in places) > 1:
        places[max(range(k), key=lambda x: places[x])] -= 1
    row = [_middle(place, width) for place in places]
    row[rest] = 0.0
    row[rest] = 1 - math.fsum(row)
    return row


def _interval_width(visits: int) -> float:
    """How wide intervals have to be for ``ENOUGH_ALONE`` counts, by the power of two below."""
    if visits < 1:
        return 1.0
    return max(_two_digits_up(ENOUGH_ALONE / (1 << (visits.bit_length() - 1))), FINEST_INTERVAL)


def _middle(place: int, width: float) -> float:
    """The geometric middle of an interval, in four digits; of the first from one count on."""
    share = math.sqrt(place * (place + 1)) if place else 1 / math.sqrt(ENOUGH_ALONE)
    return float(f"{width * share:.4g}")


def _row_down(row: list[float], state: int, limits: list[float]) -> list[float]:
    """One row: changes on the limits, and the rest for staying."""
    places = [bisect_right(limits, p) - 1 if p >= limits[0] else 0 for p in row]
    places[state] = 0
    # What sums up to nearly one leaves no room: the largest change gives way.
    while sum(limits[p] for p in places) - limits[0] > 1 - limits[1]:
        largest = max(range(len(row)), key=lambda x: places[x])
        places[largest] -= 1
    rounded = [limits[p] for p in places]
    rounded[state] = 0.0
    rounded[state] = 1 - math.fsum(rounded)
    return rounded


def too_few(found: str) -> InvalidInput:
    """The error where rounding would leave nothing, or the counts would come back."""
    return InvalidInput(
        "chain", found, "a fit on so many points that it can be rounded and published", ADVICE
    )


def _limits(visits: int) -> list[float]:
    """The values that a probability is rounded down to; the first is for what is rare."""
    width = ENOUGH_ALONE / visits
    limits, number = [_one_digit_down(1 / (2 * visits))], _two_digits_up(width)
    while number < 1:
        limits.append(number)
        number = _two_digits_up(number + width)
    return limits


@lru_cache(maxsize=1 << 14)
def _cut(box: Box, steps: int) -> tuple[int, float] | None:
    """Which side of a box is cut, and where; None where every cut would tell too much."""
    ratios = box[1] / box[0], box[3] / box[2]
    for axis in (0, 1) if ratios[0] >= ratios[1] else (1, 0):
        for middle in _middles(*box[2 * axis : 2 * axis + 2]):
            if all(_leaves_enough(part, steps) for part in _parts(box, axis, middle)):
                return axis, middle
    return None


def _middles(low: float, high: float) -> Iterator[float]:
    """Numbers of two digits between the ends."""
    if high == 1 and low < BELOW_HALF:
        yield BELOW_HALF
    for share in CUTS:
        middle = _two_digits(low * (high / low) ** share)
        if low < middle < high:
            yield middle


def _parts(box: Box, axis: int, middle: float) -> tuple[Box, Box]:
    q_low, q_high, r_low, r_high = box
    if axis == 0:
        return (q_low, middle, r_low, r_high), (middle, q_high, r_low, r_high)
    return (q_low, q_high, r_low, middle), (q_low, q_high, middle, r_high)


def _leaves_enough(box: Box, steps: int) -> bool:
    """Whether each count behind a fit in the box may have ``ENOUGH`` values, at least.

    With as many changes from 0 to 1 as back, c of them, and n steps out of 0, a fit lies in the
    box where c/q and c/r lie around n and steps - n. Not all c are tried, so that counts that
    exist may be missed, never counts claimed that do not.
    """
    q_low, q_high, r_low, r_high = box
    fewest = math.ceil(steps * q_low * r_low / (q_low + r_low))
    most = math.floor(steps * q_high * r_high / (q_high + r_high))
    if most < fewest:
        return False
    changes = np.unique(np.linspace(max(fewest, 1), most, LOOKED_AT).astype(np.int64))
    # A little inside, so that rounding never takes in a fit that lies on an upper limit.
    first = np.ceil(np.maximum(changes / q_high, steps - changes / r_low) + 1e-9)
    last = np.floor(np.minimum(changes / q_low, steps - changes / r_high) - 1e-9)
    fits = first <= last
    c = np.concatenate([changes[fits], changes[fits]])
    n = np.concatenate([first[fits], last[fits]]).astype(np.int64)
    kinds = (c, n, n - c, steps - n - c)
    return all(len(np.unique(kind)) >= ENOUGH for kind in kinds)


def _two_digits(number: float) -> float:
    return float(f"{number:.1e}")


def _two_digits_up(number: float) -> float:
    rounded = _two_digits(number)
    if rounded >= number:
        return rounded
    return _two_digits(rounded + 10.0 ** (math.floor(math.log10(rounded)) - 1))


def _one_digit_down(number: float) -> float:
    rounded = float(f"{number:.0e}")
    if rounded <= number:
        return rounded
    return float(f"{rounded - 10.0 ** math.floor(math.log10(number)):.0e}")
