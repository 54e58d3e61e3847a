"""Compiled walks of many distances and ends side by side, one functional for each layer and label.

The quick form of ``cone_kernel.follow``: what holds of rounding there holds here. The last index of
all arrays is the walk, and the loops inside run along it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.compiled import compiled
from chainveil.privacy.letters.cone_kernel import FURTHEST
from chainveil.privacy.letters.words import UNIT

# Lines of ``room.line``: mean, largest value and largest slope of a functional, then quotients of
# two functionals: least and largest where both are positive, and where both are negative, whether
# only the first is positive; at last the factor.
MEAN, MOST, STEEPEST, LEAST, LARGEST, BELOW_LEAST, BELOW_LARGEST, ONLY, FACTOR = range(9)

# The compiler makes wide instructions of loops along whole rows that are arguments.
inner = compiled(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


class LaneRoom(NamedTuple):
    """What walks side by side read and write; the last index is the walk."""

    first: NDArray[np.float64]
    reference: NDArray[np.float64]
    share: NDArray[np.float64]
    rest: NDArray[np.float64]
    value: NDArray[np.float64]
    slope: NDArray[np.float64]
    image: NDArray[np.float64]
    alive: NDArray[np.float64]
    here: NDArray[np.float64]
    line: NDArray[np.float64]


@inner
def begin_at(n: int, first: Any, second: Any, factor: Any, image: Any, steepest: Any) -> None:
    """The functional at the target, and the size of what it is the difference of."""
    for i in range(n):
        below = factor[i] * second[i]
        image[i] = first[i] - below
        steepest[i] = max(steepest[i], first[i] + below)


@inner
def fill(n: int, row: Any, number: float) -> None:
    """The same number everywhere."""
    for i in range(n):
        row[i] = number


@inner
def times(n: int, image: Any, reference: Any) -> None:
    """Back to the reference of a layer."""
    for i in range(n):
        image[i] *= reference[i]


@inner
def clear(n: int, line: Any, rounding: float) -> None:
    """Nothing is known of a functional but how far rounding may have lowered it."""
    for i in range(n):
        line[MEAN, i], line[MOST, i] = rounding * line[STEEPEST, i], -np.inf
        line[LEAST, i], line[BELOW_LEAST, i] = np.inf, np.inf
        line[LARGEST, i], line[BELOW_LARGEST, i], line[ONLY, i] = 0.0, 0.0, 0.0


@inner
def add(n: int, image: Any, weight: float, slope: Any) -> None:
    """What one state brings to another."""
    for i in range(n):
        image[i] += weight * slope[i]


@inner
def add_mean(n: int, mean: Any, image: Any, share: Any) -> None:
    """What all rays have in common."""
    for i in range(n):
        mean[i] += image[i] * share[i]


@inner
def on_ray(n: int, image: Any, mean: Any, rest: Any, reference: Any, most: Any) -> None:
    """The value on a ray; minus infinity where there is none."""
    for i in range(n):
        value = mean[i] + rest[i] * image[i]
        image[i] = value if reference[i] > 0.0 else -np.inf
        most[i] = max(most[i], image[i])


@inner
def quotients(n: int, value: Any, image: Any, line: Any) -> None:
    """Of the functional so far and another one; see ``cone_kernel.scale_to``."""
    least, largest, only = line[LEAST], line[LARGEST], line[ONLY]
    below_least, below_largest = line[BELOW_LEAST], line[BELOW_LARGEST]
    for i in range(n):
        one, two = value[i], image[i]
        quotient = one / two
        positive, negative = one > 0.0 and two > 0.0, one < 0.0 and two < 0.0 and two > -np.inf
        least[i] = min(least[i], quotient if positive else np.inf)
        largest[i] = max(largest[i], quotient if positive else 0.0)
        below_least[i] = min(below_least[i], quotient if negative else np.inf)
        below_largest[i] = max(below_largest[i], quotient if negative else 0.0)
        only[i] = 1.0 if one > 0.0 and two <= 0.0 else only[i]


@inner
def choose(n: int, line: Any, here: Any, before: Any, rest: Any) -> None:
    """What the new functional is multiplied by, in place of quotients; 0: it does not matter."""
    least, largest, only = line[LEAST], line[LARGEST], line[ONLY]
    below_least, below_largest, most = line[BELOW_LEAST], line[BELOW_LARGEST], line[MOST]
    for i in range(n):
        by = 1.0
        if largest[i] <= below_least[i] and only[i] == 0.0:
            by = min(max(1.0, largest[i]), below_least[i])
        if below_largest[i] <= least[i]:
            by = min(max(1.0, below_largest[i]), least[i])
        by = min(max(by, 1.0 / FURTHEST), FURTHEST) if here[i] > 0.0 else 1.0
        # What is nowhere positive keeps below, whatever follows.
        matters = most[i] > 0.0 and before[i] > 0.0 and rest[i] > 0.0
        least[i] = by if matters else 0.0
        here[i] = 1.0 if matters else here[i]


@inner
def join(n: int, value: Any, image: Any, by: Any) -> None:
    """The larger value."""
    for i in range(n):
        value[i] = max(value[i], image[i] * by[i] if by[i] > 0.0 else -np.inf)


@inner
def measure(n: int, value: Any, most: Any) -> None:
    """How large a functional is."""
    for i in range(n):
        most[i] = max(most[i], abs(value[i]) if value[i] > -np.inf else 0.0)


@inner
def scale(n: int, value: Any, most: Any, share: Any, mean: Any) -> None:
    """Values within 1, and their mean by shares."""
    for i in range(n):
        value[i] = value[i] / most[i] if value[i] > -np.inf else 0.0
        mean[i] += value[i] * share[i]


@inner
def to_slope(n: int, value: Any, line: Any, of: Any, slope: Any) -> None:
    """The slope that a state adds, relative to the reference of its layer."""
    rest, reference, alive = of
    mean, steepest = line[MEAN], line[STEEPEST]
    for i in range(n):
        found = (value[i] - mean[i]) / rest[i]
        found = found if reference[i] > 0.0 and alive[i] > 0.0 else 0.0
        steepest[i] = max(steepest[i], abs(found))
        slope[i] = found / reference[i] if reference[i] > 0.0 else 0.0


@inner
def look(n: int, cones: Any, walks: Any, s: int, room: Any) -> None:
    """The cones of the layers where the walks are after s letters; empty ones have no rest."""
    labels, k = room.share.shape[0], room.share.shape[1]
    for i in range(n):
        layer, end = walks[i, 0] - s, walks[i, 1]
        for x in range(k):
            room.reference[x, i] = cones.reference[end, layer, x]
        for label in range(labels):
            rest = 1.0
            empty = cones.share[end, layer, label, 0] < 0.0
            for x in range(k):
                share = 0.0 if empty else cones.share[end, layer, label, x]
                room.share[label, x, i] = share
                rest -= share
            room.rest[label, i] = 0.0 if empty else rest


@inner
def close_up(walks: Any, room: Any, n: int, failed: Any, s: int) -> int:
    """Tell the walks that came to their end, and move those that go on to the front."""
    labels, k = room.share.shape[0], room.share.shape[1]
    kept = 0
    for i in range(n):
        goes_on = False
        for label in range(labels):
            goes_on = goes_on or room.here[label, i] > 0.0
        if goes_on and walks[i, 0] == s:
            failed[walks[i, 2]] = True
            goes_on = False
        if goes_on:
            for place in range(3):
                walks[kept, place] = walks[i, place]
            room.line[STEEPEST, kept] = room.line[STEEPEST, i]
            for label in range(labels):
                room.alive[label, kept] = room.here[label, i]
                for x in range(k):
                    room.slope[label, x, kept] = room.slope[label, x, i]
            kept += 1
    return kept


@compiled(error_model="numpy")
def abreast(letters: Any, cones: Any, label_at: int, walks: Any, room: Any, failed: Any) -> int:
    """Which walks have words that do not keep below their factor; how many steps it took.

    ``walks`` (n, 3): distance, end and number of each, which are moved about; ``room.first`` (2, k,
    n): what the values a and b of the target weigh; ``room.line[FACTOR]``: their factors.
    """
    labels, k = len(letters.weight[0]), len(letters.matrix)
    # A plain 0 would have functions compiled once more for it.
    steps: Any = np.int64(0)
    s: Any = np.int64(0)
    n, rounding = len(walks), 4 * k * (k + 24) * UNIT
    line, reference, share, rest = room.line, room.reference, room.share, room.rest
    alive, here, value, slope, image = room.alive, room.here, room.value, room.slope, room.image
    for label in range(labels):
        fill(n, alive[label], 1.0)
    while n > 0:
        steps += n
        look(n, cones, walks, s, room)
        for label in range(labels):
            fill(n, here[label], 0.0)
            for u in range(k):
                fill(n, value[label, u], -np.inf)
        for label in range(labels if s > 0 else 1):
            for letter in range(letters.counts[0, label] if s > 0 else 1):
                following = letters.next[0, label, letter] if s > 0 else label_at
                for u in range(k):
                    if s == 0:
                        first, second = room.first[0, u], room.first[1, u]
                        begin_at(n, first, second, line[FACTOR], image[u], line[STEEPEST])
                        continue
                    fill(n, image[u], 0.0)
                    for x in range(k):
                        weight = letters.matrix[x, u] * letters.weight[0, label, letter, x]
                        if weight > 0.0:
                            add(n, image[u], weight, slope[label, x])
                    times(n, image[u], reference[u])
                clear(n, line, rounding)
                for u in range(k):
                    add_mean(n, line[MEAN], image[u], share[following, u])
                for u in range(k):
                    on_ray(n, image[u], line[MEAN], rest[following], reference[u], line[MOST])
                    quotients(n, value[following, u], image[u], line)
                choose(n, line, here[following], alive[label], rest[following])
                for u in range(k):
                    join(n, value[following, u], image[u], line[LEAST])
        fill(n, line[MOST], 0.0)
        fill(n, line[STEEPEST], 0.0)
        for label in range(labels):
            for u in range(k):
                measure(n, value[label, u], line[MOST])
        for label in range(labels):
            # Less what raises every slope a little.
            fill(n, line[MEAN], -(4 * k + 32) * UNIT)
            for u in range(k):
                scale(n, value[label, u], line[MOST], share[label, u], line[MEAN])
            for u in range(k):
                of = rest[label], reference[u], here[label]
                to_slope(n, value[label, u], line, of, slope[label, u])
        n = close_up(walks, room, n, failed, s)
        s += 1
    return int(steps)
