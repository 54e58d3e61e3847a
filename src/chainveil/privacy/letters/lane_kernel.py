"""Compiled walks of many distances and ends side by side, one functional for each layer and label.

The quick form of ``cone_kernel.follow``: what holds of rounding there holds here. All numbers of
the walks lie in one array, whose last index is the walk: the loops inside run along its rows, which
the compiler turns into wide instructions. Rows hold what is said in ``LINES`` and in ``room``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.compiled import compiled
from chainveil.privacy.letters.cone_kernel import ALIKE, FURTHEST
from chainveil.privacy.letters.words import PLAIN, UNIT, inner

# The label of a target whose report may be any, and how many walks are side by side at most.
ANY, CHUNK = -1, 256
# The first rows: mean, largest value and largest slope of a functional, then quotients of two
# functionals: least and largest where both are positive, and where both are negative, whether only
# the first is positive. The next row is free to begin others.
MEAN, MOST, STEEPEST, LEAST, LARGEST, BELOW_LEAST, BELOW_LARGEST, ONLY, LINES = range(9)


def room(
    labels: int, first: NDArray[np.float64], factor: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What ``abreast`` writes, with the functionals at the target, of k values in n walks.

    ``first`` (2, k, n): what the values a and b of the target weigh; ``factor`` (n,). Behind the
    first rows lie the image of a functional (k rows) and the reference of a layer (k); by label
    what is free of a cone, whether a functional is there, and whether one was before; by label
    and state the shares of a cone, the values of a functional and its slopes. Those of the first
    label hold the functional at the target.
    """
    _, k, n = first.shape
    found = np.zeros((LINES + 2 * k + 3 * labels * (k + 1), n))
    below = factor * first[1]
    found[STEEPEST] = (first[0] + below).max(axis=0)
    before = LINES + 2 * k + 2 * labels
    found[before : before + labels] = 1.0
    value = before + labels + labels * k
    found[value : value + labels * k] = -np.inf
    slope = value + labels * k
    found[slope : slope + k] = first[0] - below
    return found


@inner
def scale_by(
    least: float, largest: float, below_least: float, below_largest: float, only: float
) -> float:
    """What a functional is multiplied by before it is joined; see ``cone_kernel.scale_to``."""
    by = 1.0
    if below_largest <= least * ALIKE:
        by = min(max(1.0, below_largest), least)
    elif (largest <= below_least * ALIKE) & (only == 0.0):
        by = min(max(1.0, largest), below_least)
    return min(max(by, 1.0 / FURTHEST), FURTHEST)


@compiled(**PLAIN)
def abreast(
    letters: Any, cones: Any, label_at: int, depth: int, walks: Any, work: Any, failed: Any
) -> int:
    """Which walks have words that do not keep below their factor; how many functionals it took.

    ``label_at``: that of the target, -1 for any; ``depth``: layers that are looked at, at most;
    ``walks`` (n, 3): distance, end and number of
    each, which are moved about; ``work``: ``room``. Rows are read and written as seldom as can be,
    and set back where they are read last.
    """
    matrix, weights, counts = letters.matrix, letters.weight, letters.counts
    references, shares = cones.reference, cones.share
    labels, k = weights.shape[1], len(matrix)
    image = LINES
    reference = image + k
    rest = reference + k
    here = rest + labels
    alive = here + labels
    share = alive + labels
    value = share + labels * k
    slope = value + labels * k
    mean, most, steepest, only_one = work[MEAN], work[MOST], work[STEEPEST], work[ONLY]
    leasts, largests = work[LEAST], work[LARGEST]
    leasts_below, largests_below = work[BELOW_LEAST], work[BELOW_LARGEST]
    n, s, steps, rounding = len(walks), 0, 0, 4 * k * (k + 24) * UNIT
    while n > 0:
        steps += n * labels
        # The cones of the layers where the walks are; empty ones have no rest.
        for i in range(n):
            layer, end = walks[i, 0] - s, walks[i, 1]
            for x in range(k):
                work[reference + x, i] = references[end, layer, x]
            for label in range(labels):
                empty = shares[end, layer, label, 0] < 0.0
                left = 1.0
                for x in range(k):
                    part = 0.0 if empty else shares[end, layer, label, x]
                    work[share + label * k + x, i] = part
                    left -= part
                work[rest + label, i] = 0.0 if empty else left
        for label in range(labels if s > 0 else 1):
            for letter in range(counts[0, label] if s > 0 else labels):
                following = letter
                if s == 0 and label_at >= 0 and letter != label_at:
                    continue
                if s == 0:
                    for u in range(k):
                        for i in range(n):
                            work[image + u, i] = work[slope + u, i]
                if s > 0:
                    following = letters.next[0, label, letter]
                    for u in range(k):
                        for x in range(k):
                            weight = matrix[x, u] * weights[0, label, letter, x]
                            if weight > 0.0:
                                row = slope + label * k + x
                                for i in range(n):
                                    work[image + u, i] += weight * work[row, i]
                for i in range(n):
                    # Rounding may have lowered a functional by so much.
                    mean[i] = rounding * steepest[i]
                    most[i] = -np.inf
                    leasts[i] = leasts_below[i] = np.inf
                    largests[i] = largests_below[i] = only_one[i] = 0.0
                for u in range(k):
                    # At the target nothing is multiplied: the rows of ``alive`` are ones there.
                    row, part = reference + u if s > 0 else alive, share + following * k + u
                    for i in range(n):
                        flow = work[image + u, i] * work[row, i]
                        work[image + u, i] = flow
                        mean[i] += flow * work[part, i]
                # Values on the rays, minus infinity where there is none, and their quotients with
                # the functional so far.
                for u in range(k):
                    row = value + following * k + u
                    for i in range(n):
                        one = work[row, i]
                        two = mean[i] + work[rest + following, i] * work[image + u, i]
                        if work[reference + u, i] <= 0.0:
                            two = -np.inf
                        work[image + u, i] = two
                        most[i] = max(most[i], two)
                        quotient = one / two
                        least, largest = leasts[i], largests[i]
                        below_least, below_largest = leasts_below[i], largests_below[i]
                        only = only_one[i]
                        if one > 0.0:
                            if two > 0.0:
                                least, largest = min(least, quotient), max(largest, quotient)
                            else:
                                only = 1.0
                        elif (one < 0.0) & (two < 0.0) & (two > -np.inf):
                            below_least = min(below_least, quotient)
                            below_largest = max(below_largest, quotient)
                        leasts[i], largests[i] = least, largest
                        leasts_below[i], largests_below[i] = below_least, below_largest
                        only_one[i] = only
                for i in range(n):
                    by = scale_by(
                        leasts[i], largests[i], leasts_below[i],
                        largests_below[i], only_one[i],
                    )  # fmt: skip
                    if work[here + following, i] <= 0.0:
                        by = 1.0
                    # What is nowhere positive keeps below, whatever follows.
                    if min(most[i], work[alive + label, i], work[rest + following, i]) <= 0.0:
                        by = 0.0
                    leasts[i] = by
                    work[here + following, i] = max(work[here + following, i], by)
                # The larger value.
                for u in range(k):
                    row = value + following * k + u
                    for i in range(n):
                        by = leasts[i]
                        new = work[image + u, i] * by
                        if by <= 0.0:
                            new = -np.inf
                        work[row, i] = max(work[row, i], new)
                        work[image + u, i] = 0.0
        for i in range(n):
            most[i] = steepest[i] = 0.0
        for row in range(value, value + labels * k):
            for i in range(n):
                size = abs(work[row, i])
                if work[row, i] == -np.inf:
                    size = 0.0
                most[i] = max(most[i], size)
        # Values within 1, and slopes relative to the reference of their layer.
        for label in range(labels):
            for i in range(n):
                # Less what raises every slope a little.
                mean[i] = -(4 * k + 32) * UNIT
            for u in range(k):
                row, part = value + label * k + u, share + label * k + u
                for i in range(n):
                    scaled = work[row, i] / most[i]
                    if work[row, i] == -np.inf:
                        scaled = 0.0
                    work[row, i] = scaled
                    mean[i] += scaled * work[part, i]
            for u in range(k):
                row, to = value + label * k + u, slope + label * k + u
                for i in range(n):
                    on = work[reference + u, i]
                    found = (work[row, i] - mean[i]) / work[rest + label, i]
                    if min(on, work[here + label, i]) <= 0.0:
                        found = 0.0
                    steepest[i] = max(steepest[i], abs(found))
                    found = found / on
                    if on <= 0.0:
                        found = 0.0
                    work[to, i], work[row, i] = found, -np.inf
        # Walks that came to their end are told, and those that go on move to the front.
        kept = 0
        for i in range(n):
            left = 0.0
            for label in range(labels):
                left = max(left, work[here + label, i])
            if left > 0.0 and (walks[i, 0] == s or s == depth):
                failed[walks[i, 2]] = True
            elif left > 0.0:
                for place in range(3):
                    walks[kept, place] = walks[i, place]
                steepest[kept] = steepest[i]
                for label in range(labels):
                    work[alive + label, kept] = work[here + label, i]
                for row in range(slope, slope + labels * k):
                    work[row, kept] = work[row, i]
                kept += 1
            for label in range(labels):
                work[here + label, i] = 0.0
        n = kept
        s += 1
    return steps
