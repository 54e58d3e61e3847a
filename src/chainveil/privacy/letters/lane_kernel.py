"""Compiled walks of all distances side by side, with one functional for each layer and label.

The quick form of ``cone_kernel.follow``: what holds of rounding there holds here. The last index of
all arrays is the layer, and the loops inside run along it. A walk moves from layer to layer: after
s letters, the one of distance j is at layer j - s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

UNIT = 2.0**-53
# As in ``cone_kernel``.
FURTHEST = 1e30
# Lines of ``room.line``: mean and largest value of a functional, and its largest slope.
MEAN, MOST, STEEPEST = 0, 1, 2

# The compiler makes wide instructions of loops along whole rows that are arguments.
inner = compiled(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@inner
def begin_at(first: Any, second: Any, factor: Any, image: Any, steepest: Any) -> None:
    """The functional at the target, and the size of what it is the difference of."""
    for i in range(len(image)):
        below = factor[i] * second[i]
        image[i] = first[i] - below
        steepest[i] = max(steepest[i], first[i] + below)


@inner
def add(image: Any, weight: float, slope: Any) -> None:
    """What one state brings to another."""
    for i in range(len(image)):
        image[i] += weight * slope[i]


@inner
def add_mean(mean: Any, image: Any, share: Any) -> None:
    """What all rays have in common."""
    for i in range(len(mean)):
        mean[i] += image[i] * share[i]


@inner
def on_ray(image: Any, mean: Any, rest: Any, reference: Any, most: Any) -> None:
    """The value on a ray; minus infinity where there is none."""
    for i in range(len(image)):
        value = mean[i] + rest[i] * image[i]
        image[i] = value if reference[i] > 0.0 else -np.inf
        most[i] = max(most[i], image[i])


@inner
def quotients(value: Any, image: Any, extremes: Any) -> None:
    """Least and largest quotient of two functionals, where both are positive and where negative.

    And whether the one so far is positive where the other is not; see ``cone_kernel.scale_to``.
    """
    least, most, below_least, below_most, only = extremes
    for i in range(len(value)):
        one, two = value[i], image[i]
        quotient = one / two
        positive, negative = one > 0.0 and two > 0.0, one < 0.0 and two < 0.0 and two > -np.inf
        least[i] = min(least[i], quotient if positive else np.inf)
        most[i] = max(most[i], quotient if positive else 0.0)
        below_least[i] = min(below_least[i], quotient if negative else np.inf)
        below_most[i] = max(below_most[i], quotient if negative else 0.0)
        only[i] = 1.0 if one > 0.0 and two <= 0.0 else only[i]


@inner
def choose(extremes: Any, alive: Any, most_of: Any, before: Any, rest: Any) -> None:
    """What the new functional is multiplied by, into the first line; 0: it does not matter."""
    least, most, below_least, below_most, only = extremes
    for i in range(len(least)):
        by = 1.0
        if most[i] <= below_least[i] and only[i] == 0.0:
            by = min(max(1.0, most[i]), below_least[i])
        if below_most[i] <= least[i]:
            by = min(max(1.0, below_most[i]), least[i])
        by = min(max(by, 1.0 / FURTHEST), FURTHEST) if alive[i] > 0.0 else 1.0
        # What is nowhere positive keeps below, whatever follows.
        matters = most_of[i] > 0.0 and before[i] > 0.0 and rest[i] > 0.0
        least[i] = by if matters else 0.0
        alive[i] = 1.0 if matters else alive[i]


@inner
def join(value: Any, image: Any, by: Any) -> None:
    """The larger value."""
    for i in range(len(value)):
        scaled = image[i] * by[i] if by[i] > 0.0 else -np.inf
        value[i] = max(value[i], scaled)


@inner
def measure(value: Any, most: Any) -> None:
    """How large a functional is."""
    for i in range(len(value)):
        most[i] = max(most[i], abs(value[i]) if value[i] > -np.inf else 0.0)


@inner
def scale(value: Any, most: Any, share: Any, mean: Any) -> None:
    """Values within 1, by one over the largest, and their mean by shares."""
    for i in range(len(value)):
        value[i] = value[i] * most[i] if value[i] > -np.inf else 0.0
        mean[i] += value[i] * share[i]


@inner
def to_slope(value: Any, mean: Any, cone: Any, alive: Any, slope: Any, steepest: Any) -> None:
    """The slope that a state adds, relative to the reference of its layer.

    ``cone``: one over what is free, and over the reference; 0 where it is none.
    """
    over_rest, over_reference = cone
    for i in range(len(value)):
        found = (value[i] - mean[i]) * over_rest[i]
        found = found if over_reference[i] > 0.0 and alive[i] > 0.0 else 0.0
        steepest[i] = max(steepest[i], abs(found))
        slope[i] = found * over_reference[i]


@compiled(error_model="numpy")
def abreast(letters: Any, lanes: Any, at: Any, factor: Any, room: Any, failed: Any) -> int:
    """Which distances have words that do not keep below their factor; how many steps it took.

    ``at``: end and label of the target; ``room.first`` (2, k, n): what its values a and b weigh for
    each distance; ``room.alive[0]``: which distances are asked for.
    """
    end, labels, k = at[0], len(room.alive), len(letters.matrix)
    rounding = 4 * k * (k + 24) * UNIT
    steps, low, high = 0, 0, len(factor)
    for s in range(len(factor)):
        steps += high - low
        mean, most = room.line[MEAN, low:high], room.line[MOST, low:high]
        steepest = room.line[STEEPEST, low:high]
        room.value[:, :, low:high] = -np.inf
        room.here[:, low:high] = 0.0
        for label in range(labels if s > 0 else 1):
            for letter in range(letters.counts[0, label] if s > 0 else 1):
                following = at[1]
                before, size = room.alive[label, low:high], steepest
                if s > 0:
                    following = letters.next[0, label, letter]
                    before = room.alive[label, low + 1 : high + 1]
                    size = room.line[STEEPEST, low + 1 : high + 1]
                rest = lanes.rest[end, following, low:high]
                for u in range(k):
                    image = room.image[u, low:high]
                    if s == 0:
                        begin_at(room.first[0, u], room.first[1, u], factor, image, steepest)
                        continue
                    image[:] = 0.0
                    for x in range(k):
                        weight = letters.matrix[x, u] * letters.weight[0, label, letter, x]
                        if weight > 0.0:
                            add(image, weight, room.slope[label, x, low + 1 : high + 1])
                    image *= lanes.reference[end, u, low:high]
                mean[:] = 0.0
                most[:] = -np.inf
                add(mean, rounding, size)
                for u in range(k):
                    share = lanes.share[end, following, u, low:high]
                    add_mean(mean, room.image[u, low:high], share)
                for u in range(k):
                    reference = lanes.reference[end, u, low:high]
                    on_ray(room.image[u, low:high], mean, rest, reference, most)
                extremes = (
                    room.line[3, low:high], room.line[4, low:high], room.line[5, low:high],
                    room.line[6, low:high], room.line[7, low:high],
                )  # fmt: skip
                room.line[3:8:2, low:high] = np.inf
                room.line[4:8:2, low:high] = 0.0
                room.line[7, low:high] = 0.0
                for u in range(k):
                    value = room.value[following, u, low:high]
                    quotients(value, room.image[u, low:high], extremes)
                here = room.here[following, low:high]
                choose(extremes, here, most, before, rest)
                for u in range(k):
                    value = room.value[following, u, low:high]
                    join(value, room.image[u, low:high], extremes[0])
        most[:] = 0.0
        for label in range(labels):
            room.alive[label, low:high] = room.here[label, low:high]
            for u in range(k):
                measure(room.value[label, u, low:high], most)
        steepest[:] = 0.0
        most[:] = 1.0 / most
        for label in range(labels):
            # Minus what raises every slope a little.
            mean[:] = 0.0
            for u in range(k):
                share = lanes.share[end, label, u, low:high]
                scale(room.value[label, u, low:high], most, share, mean)
            mean -= (4 * k + 32) * UNIT
            rest, alive = lanes.over_rest[end, label, low:high], room.alive[label, low:high]
            for u in range(k):
                cone = rest, lanes.over_reference[end, u, low:high]
                value, slope = room.value[label, u, low:high], room.slope[label, u, low:high]
                to_slope(value, mean, cone, alive, slope, steepest)
        if low == 0:
            for label in range(labels):
                failed[s] = failed[s] or room.alive[label, 0] > 0.0
        first, last = high, 0
        for label in range(labels):
            for i in range(max(low, 1), high):
                if room.alive[label, i] > 0.0:
                    first, last = min(first, i), max(last, i)
        if last == 0:
            break
        low, high = first - 1, last
    return steps
