"""Compiled bounds for a side whose end lies at one distance; see ``cones`` for what they mean.

What follows a node with i letters still to come is a vector v over the states of its point,
relative to a reference vector of layer i. It lies in the cone of all v with at least the share
``share[end, i, label, x]`` of their sum in x, which has a ray for each state x: these shares, and
the rest of the sum in x. A functional on a cone is known by its values on the rays.

Functionals have values of both signs, so that rounding is added: ``follow`` says how much.

Compiling is most of the time of a first loss, so there are few functions with few arguments.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.compiled import compiled
from chainveil.privacy.letters.words import PLAIN, UNIT, inner

# What a cone leaves free at least, as a share: a functional on a thinner one would be steep.
FREE = 1e-3
# References below this, beside the largest of their layer, are raised to it.
LEAST = 1e-200
# Functionals are multiplied by no more than this before they are joined, and by no less than one
# over it, so that no value overflows or vanishes.
FURTHEST = 1e30
# Quotients that differ by no more than this are the same: one functional is a multiple of the other
# but for rounding.
ALIKE = 1.0 + 1e-9
# What is told of a walk: functionals left, and above and below of the one that is worth most.
LEFT, ABOVE, BELOW, STEPS = 0, 1, 2, 3


# Compiled loops are kept with the types of their arguments, so these are defined beside them.
class Letters(NamedTuple):
    """What the compiled walk reads of a spelling.

    Weights are scaled to at most 1, and so are the sums of the rows of the matrix, which on the
    left are up to k: bounds of rounding rest on both, and no multiple of either matters.
    """

    matrix: NDArray[np.float64]
    weight: NDArray[np.float64]
    next: NDArray[np.int64]
    counts: NDArray[np.int64]


class Layers(NamedTuple):
    """Cones by end and letters to come: references, and least shares relative to them."""

    reference: NDArray[np.float64]
    share: NDArray[np.float64]


class Room(NamedTuple):
    """What compiled walks write: functionals of each layer, on rays and as slopes.

    Slopes belong to vectors as they are, not relative to a reference. ``first`` is read: what the
    values a and b of the target weigh in the last layer.
    """

    values: NDArray[np.float64]
    slopes: NDArray[np.float64]
    counts: NDArray[np.int64]
    told: NDArray[np.float64]
    first: NDArray[np.float64]


@compiled(**PLAIN)
def lay(letters: Any, cones: Any, first: int, kept: Any, lost: float, image: Any) -> int:
    """Cones from all ends inwards, behind layer ``first``, each from the one before it.

    Only up to the layer, which is returned, where some share is less than that in ``kept`` (ends,
    labels, k) by the part ``lost``. ``image``: room for (2, k) numbers.

    ``cones.share`` of a label that cannot be there begins with -1. What is free is within k UNIT,
    and at least FREE, so that an image is within ``k UNIT / FREE`` of itself and a few roundings.
    """
    k, labels, is_low = len(letters.matrix), letters.weight.shape[1], False
    last: int = cones.reference.shape[1] - 1
    for i in range(first, last):
        for end in range(len(cones.reference)):
            most = 0.0
            for x in range(k):
                total = 0.0
                for u in range(k):
                    total += letters.matrix[x, u] * cones.reference[end, i, u]
                cones.reference[end, i + 1, x] = total
                most = max(most, total)
            for x in range(k):
                reference = cones.reference[end, i + 1, x] / most
                if reference > 0.0:
                    reference = max(reference, LEAST)
                cones.reference[end, i + 1, x] = reference
            for label in range(labels):
                for x in range(k):
                    cones.share[end, i + 1, label, x] = 2.0
                for letter in range(letters.counts[0, label]):
                    following = letters.next[0, label, letter]
                    if cones.share[end, i, following, 0] < 0.0:
                        continue
                    rest = 1.0
                    for u in range(k):
                        rest -= cones.share[end, i, following, u]
                    # What all rays have in common, one step further, and what each has beside it.
                    for x in range(k):
                        flow = 0.0
                        for u in range(k):
                            part = cones.reference[end, i, u] * cones.share[end, i, following, u]
                            flow += letters.matrix[x, u] * part
                        image[0, x] = flow
                    for ray in range(k):
                        beside, total = rest * cones.reference[end, i, ray], 0.0
                        for x in range(k):
                            flow = image[0, x] + letters.matrix[x, ray] * beside
                            reference = cones.reference[end, i + 1, x]
                            if reference > 0.0:
                                flow *= letters.weight[0, label, letter, x] / reference
                            image[1, x] = flow if reference > 0.0 else 0.0
                            total += image[1, x]
                        if total > 0.0 and beside > 0.0:
                            for x in range(k):
                                least = image[1, x] / total * (1.0 - 4096 * k * UNIT)
                                if least < cones.share[end, i + 1, label, x]:
                                    cones.share[end, i + 1, label, x] = least
                total = 0.0
                for x in range(k):
                    total += cones.share[end, i + 1, label, x]
                if total > 1.5:
                    cones.share[end, i + 1, label, 0] = -1.0
                    continue
                if total > 1.0 - FREE:
                    for x in range(k):
                        cones.share[end, i + 1, label, x] *= (1.0 - FREE) / total
                for x in range(k):
                    share = cones.share[end, i + 1, label, x]
                    is_low |= share < (1.0 - lost) * kept[end, label, x]
        if is_low:
            return i + 1
    return last


@compiled(**PLAIN)
def join(references: Any, shares: Any, reference: Any, least: Any, relative: Any) -> None:
    """Least shares of cones that hold several others each; -1: there is none.

    ``references`` (layers, k, n) and ``shares`` (layers, labels, k, n) of the others,
    ``reference`` (layers, k) of those that hold them, whose shares are written to ``least``
    (layers, labels, k). A ray of a cone is its shares, and what is free in one state.
    ``relative``: room for (n, k) numbers.
    """
    layers, labels, k, count = shares.shape
    for layer in range(layers):
        for x in range(k):
            on = reference[layer, x]
            for one in range(count):
                relative[one, x] = references[layer, x, one] / on if on > 0.0 else 0.0
        for label in range(labels):
            for x in range(k):
                least[layer, label, x] = -1.0
            for one in range(count):
                if shares[layer, label, 0, one] < 0.0:
                    continue
                total, rest, most = 0.0, 1.0, 0.0
                for x in range(k):
                    total += shares[layer, label, x, one] * relative[one, x]
                    rest -= shares[layer, label, x, one]
                    most = max(most, relative[one, x])
                scale = 1.0 / (total + rest * most)
                for x in range(k):
                    part = shares[layer, label, x, one] * relative[one, x] * scale
                    if least[layer, label, x] < 0.0 or part < least[layer, label, x]:
                        least[layer, label, x] = part


@inner
def scale_to(values: Any, old: int, new: int, on: Any) -> float:
    """By how much the new functional is best multiplied before it is joined with the old one.

    Whether a functional is nowhere positive does not depend on its scale. If some multiple of one
    is on all rays at most the other, the other speaks for both. Where both are positive, quotients
    must be at least the multiple for that, and where both are negative at most.
    """
    least, most, below_least, below_most = np.inf, 0.0, np.inf, 0.0
    only_old = False
    for x in range(len(on)):
        if on[x] > 0.0:
            one, two = values[0, old, x], values[0, new, x]
            if one > 0.0 and two > 0.0:
                least, most = min(least, one / two), max(most, one / two)
            elif one < 0.0 and two < 0.0:
                below_least = min(below_least, one / two)
                below_most = max(below_most, one / two)
            elif one > 0.0:
                only_old = True
    by = 1.0
    if below_most <= least * ALIKE:
        by = min(max(1.0, below_most), least)
    elif most <= below_least * ALIKE and not only_old:
        by = min(max(1.0, most), below_least)
    return min(max(by, 1.0 / FURTHEST), FURTHEST)


@inner
def keep(values: Any, counts: Any, label: int, at: Any, on: Any) -> None:
    """Take in the functional behind the last of a label; the counts say how many there are.

    It is not needed where some multiple is nowhere above another one. Where there are ``at[2]``
    others, it is joined with the one with which it makes the least of an excess: on each ray the
    larger of both.
    """
    k, count, nearest, least, scale = len(on), counts[label], 0, np.inf, 1.0
    for other in range(count):
        above, below, size = 0.0, 0.0, 0.0
        by = scale_to(values, other, count, on)
        for x in range(k):
            if on[x] > 0.0:
                excess = by * values[0, count, x] - values[0, other, x]
                above, below = max(above, excess), max(below, -excess)
                size = max(size, abs(values[0, other, x]))
        # Between a ray where one is larger and one where the other is, a line lies this far above.
        excess = 0.0 if above <= 0.0 or below <= 0.0 else below / (above + below) * above / size
        if excess < least:
            nearest, least, scale = other, excess, by
        if excess <= 0.0:
            break
    if least > 0.0 and count < at[2]:
        counts[label] += 1
        return
    for x in range(k):
        if scale * values[0, count, x] > values[0, nearest, x]:
            for line in range(at[3]):
                values[line, nearest, x] = scale * values[line, count, x]


@inner
def follow(letters: Any, cones: Any, end: int, at: Any, factor: float, room: Any) -> None:
    """Functionals of all layers for words of ``at[0]`` letters before an end.

    ``at``: letters, label of the target (-1: any), most functionals of a label, and 2 if what they
    weigh for b is kept beside them; ``room.first``: what the values a and b of the target weigh in
    the last layer. The functional of a word is what it weighs for a, less ``factor`` times what it
    weighs for b; where it is nowhere positive, the word keeps below the factor. Each functional
    here is on all rays at least that of some words; where none is left, all words keep below.

    No step and no weight is above 1, so an image of a ray sums to at most k. Hence each value is
    within ``4 k (k + 24) UNIT`` times the largest slope of the exact one, and a functional that is
    known by values within 1 is lowered on no ray if its slopes are raised by ``(4 k + 32) UNIT``
    over what is free.
    """
    weight, counts, values, slopes = letters.weight, room.counts, room.values, room.slopes
    reference, share, told = cones.reference, cones.share, room.told
    k, labels, last, lines = weight.shape[3], weight.shape[1], at[0], at[3]
    largest, total = 0.0, 1
    for x in range(k):
        slopes[last + 1, 0, 0, 0, x] = room.first[0, x] - factor * room.first[1, x]
        slopes[last + 1, 0, 1, 0, x] = room.first[1, x]
        largest = max(largest, room.first[0, x] + factor * room.first[1, x])
    for i in range(last, -1, -1):
        slack, on = 4 * k * (k + 24) * UNIT * largest, reference[end, i]
        for label in range(labels):
            counts[i, label] = 0
        for label in range(labels if i < last else 1):
            for number in range(counts[i + 1, label] if i < last else 1):
                told[STEPS] += 1
                for letter in range(letters.counts[0, label] if i < last else labels):
                    following = letter
                    if i < last:
                        following = letters.next[0, label, letter]
                    elif at[1] >= 0 and letter != at[1]:
                        continue
                    if share[end, i, following, 0] < 0.0:
                        continue
                    count, matters, shares = counts[i, following], False, share[end, i, following]
                    for line in range(lines):
                        mean, rest = slack * (1 - line), 1.0
                        slope, new = slopes[i + 1, label, line, number], values[i, following, line]
                        for u in range(k):
                            value = slope[u]
                            if i < last:
                                value = 0.0
                                for x in range(k):
                                    leads = slope[x] * weight[0, label, letter, x]
                                    value += leads * letters.matrix[x, u]
                                value *= on[u]
                            new[count, u] = value
                            mean += value * shares[u]
                            rest -= shares[u]
                        for x in range(k):
                            value = mean + rest * new[count, x]
                            new[count, x] = value
                            if line == 0 and value > 0.0 and on[x] > 0.0:
                                matters = True
                    # What is nowhere positive keeps below, whatever follows.
                    if matters:
                        keep(values[i, following], counts[i], following, at, on)
        total, largest = 0, 0.0
        for label in range(labels):
            total += counts[i, label]
            for number in range(counts[i, label]):
                for x in range(k):
                    if on[x] > 0.0:
                        largest = max(largest, abs(values[i, label, 0, number, x]))
        if total == 0:
            break
        scale, largest = 1.0 / largest, 0.0
        for label in range(labels):
            for number in range(counts[i, label]):
                for line in range(lines):
                    mean, rest, shares = 0.0, 1.0, share[end, i, label]
                    new = values[i, label, line]
                    for x in range(k):
                        value = 0.0
                        if on[x] > 0.0:
                            value = new[number, x] * scale
                        new[number, x] = value
                        mean += value * shares[x]
                        rest -= shares[x]
                    for x in range(k):
                        steep = 0.0
                        if on[x] > 0.0:
                            steep = new[number, x] - mean
                            steep = (steep + (4 * k + 32) * UNIT * (1 - line)) / rest
                            slopes[i, label, line, number, x] = steep / on[x]
                        else:
                            slopes[i, label, line, number, x] = 0.0
                        if line == 0:
                            largest = max(largest, abs(steep))
    told[LEFT], told[ABOVE], told[BELOW] = total, 0.0, 0.0
    for label in range(labels if total > 0 else 0):
        for number in range(counts[0, label]):
            for x in range(k):
                below = values[0, label, 1, number, x]
                above = values[0, label, 0, number, x] + factor * below
                if reference[end, 0, x] > 0.0 and above * told[BELOW] >= told[ABOVE] * below:
                    told[ABOVE], told[BELOW] = above, below


@compiled(**PLAIN)
def sweep(
    letters: Any, cones: Any, walks: Any, weights: Any, factors: Any, at: Any, room: Any
) -> int:
    """How many walks keep below their factors before one does not, which ``room`` then tells of.

    ``walks`` (n, 2): letters and end of each; ``weights`` (2, k, n): what the values a and b of the
    target weigh in each; ``factors`` (n,); ``at``: as in ``follow``, which it is made ready for.
    """
    for number in range(len(walks)):
        at[0] = walks[number, 0]
        for line in range(2):
            for x in range(weights.shape[1]):
                room.first[line, x] = weights[line, x, number]
        follow(letters, cones, walks[number, 1], at, factors[number], room)
        if room.told[LEFT] > 0.0:
            return number
    return len(walks)


@compiled(**PLAIN)
def lead(letters: Any, room: Any, label: int, vector: Any, word: Any) -> int:
    """Write the word to which functionals lead, from the target outwards; the label of its target.

    ``label`` and ``vector[0]`` are what stands at the end, as it is, and the other row of
    ``vector`` (2, k) is room; each letter is the one that is worth most further in. -1 where there
    is none.
    """
    weights, here, flow = letters.weight[0], vector[0], vector[1]
    k, labels, distance = len(here), len(weights), len(word)
    for layer in range(1, distance + 1):
        for x in range(k):
            flow[x] = 0.0
            for u in range(k):
                flow[x] += letters.matrix[x, u] * here[u]
        best, choice, to = -np.inf, 0, label
        for place in range(labels):
            slopes = room.slopes[layer, place, 0]
            for letter in range(letters.counts[0, place]):
                if letters.next[0, place, letter] != label:
                    continue
                weight = weights[place, letter]
                for number in range(room.counts[layer, place]):
                    worth = 0.0
                    for x in range(k):
                        worth += slopes[number, x] * weight[x] * flow[x]
                    if worth > best:
                        best, choice, to = worth, letter, place
        most = 0.0
        for x in range(k):
            here[x] = weights[to, choice, x] * flow[x]
            most = max(most, here[x])
        # Rounding may lead to letters that cannot follow each other.
        if not most > 0.0:
            return -1
        for x in range(k):
            here[x] /= most
        word[distance - layer], label = choice, to
    return label
