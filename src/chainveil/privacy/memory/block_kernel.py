"""Compiled loops behind the loss of reports on one point in several: candidates and pairs of them.

Between two reports lies a block of silent points. A message that has come to a report is an
interval of odds with the prior odds beside it: a *candidate*. What a window of points inside a
block is told takes one candidate from either side: a quotient that is bilinear in the two messages,
and so greatest at ends of both intervals.

Rounding
--------
Powers of the chain's matrix are rounded once, a factor is a product of at most six doubles. A
term of a quotient is a product of three of them and two odds, at most 16 units 2^-53 off, a
quotient of sums twice that and a unit; the quotients of priors are off by 6 units each. Every
result is moved up by 64 units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.memory.kernel import UP, advance, advance_prior

# Nodes of two trees that wait to be looked at: each split adds one.
MOST_WAITING = 256
# Odds below this can be multiplied by each other without a thought.
LARGE = 1e60


@compiled(error_model="numpy")
def follow_families(
    matrices: Any, plain: Any, source: Any, target: Any, tolerance: float,
    low: Any, high: Any, prior: Any,
) -> int:  # fmt: skip
    """Follow all families from report to report, as far as there is room or until they agree.

    ``low``, ``high`` (depths, families, labels) and ``prior`` (depths, families, 2) hold depth 0.
    The first family begins at an end of the series, the next two at a reported point known to be
    0 and to be 1. Those two together enclose every other: where all three agree, all that began
    further out does. Returns that depth, or -1.
    """
    to = np.empty((2, low.shape[2]))
    for depth in range(1, len(low)):
        for family in range(low.shape[1]):
            low[depth, family] = low[depth - 1, family]
            high[depth, family] = high[depth - 1, family]
            prior[depth, family] = prior[depth - 1, family]
            advance(
                matrices, source, target, 0, len(source), low[depth, family],
                high[depth, family], to,
            )  # fmt: skip
            advance_prior(plain, prior[depth, family])
        agree = True
        for family in range(3):
            one, two = prior[depth, family], prior[depth, (family + 1) % 3]
            agree = agree and _alike(one[0], two[1], tolerance)
            for label in range(low.shape[2]):
                one, two = low[depth, family], low[depth, (family + 1) % 3]
                agree = agree and _alike(one[label], two[label], tolerance)
                one, two = high[depth, family], high[depth, (family + 1) % 3]
                agree = agree and _alike(one[label], two[label], tolerance)
        if agree:
            return depth
    return -1


@compiled(error_model="numpy")
def _alike(a: float, b: float, tolerance: float) -> bool:
    return bool(a == b or abs(a - b) <= tolerance * min(abs(a), abs(b)))


@compiled(error_model="numpy")
def over(top: Any, bottom: Any, odds: float) -> float:
    """``(top . m) / (bottom . m)`` of a message with these odds; NaN where it cannot be."""
    if odds == np.inf:
        return float(top[1] / bottom[1])
    return float((top[0] + top[1] * odds) / (bottom[0] + bottom[1] * odds))


@compiled(error_model="numpy")
def _rises(weights: Any) -> bool:
    """Whether a quotient rises with the odds; where rounding hides it, it hardly moves at all."""
    return bool(weights[0, 1] * weights[1, 0] >= weights[0, 0] * weights[1, 1])


@compiled(error_model="numpy")
def one_sided(low: float, high: float, prior: Any, weights: Any, plain: Any) -> float:
    """What one candidate tells at most, an interval of odds and one of prior odds.

    ``weights`` (2, 2): for either value of the secret, what each state at the report weighs with
    the reports; ``plain`` the same without them. NaN where it cannot be.
    """
    end, other = (high, low) if _rises(weights) else (low, high)
    found = over(weights[0], weights[1], end)
    if np.isnan(found):
        found = over(weights[0], weights[1], other)
    least = prior[0] if _rises(plain) else prior[1]
    return float(found / over(plain[0], plain[1], least) * UP)


@compiled(error_model="numpy")
def best_of_side(
    low: Any, high: Any, prior: Any, allowed: Any, kinds: Any, label: int, weights: Any,
    plain: Any, best: Any, where: Any,
) -> None:  # fmt: skip
    """The candidate of each kind that tells most: ``best`` (3,), ``where`` (3, 2) family, depth."""
    ends = high if _rises(weights) else low
    least = 0 if _rises(plain) else 1
    (a, b), (c, d) = (weights[0, 0], weights[0, 1]), (weights[1, 0], weights[1, 1])
    (e, f), (g, h) = (plain[0, 0], plain[0, 1]), (plain[1, 0], plain[1, 1])
    for depth in range(len(low)):
        for family in range(low.shape[1]):
            if not allowed[depth, family] or high[depth, family, label] < 0:
                continue
            odds, before = ends[depth, family, label], prior[depth, family, least]
            if odds < LARGE and before < LARGE and odds > 0 and before > 0:
                # The quotient of two quotients with one division.
                found = (a + b * odds) * (g + h * before)
                found = found / ((c + d * odds) * (e + f * before)) * UP
            else:
                found = one_sided(
                    low[depth, family, label], high[depth, family, label], prior[depth, family],
                    weights, plain,
                )  # fmt: skip
            kind = kinds[family]
            if found > best[kind]:
                best[kind] = found
                where[kind, 0], where[kind, 1] = family, depth


@compiled(error_model="numpy")
def told_to_targets(
    low: Any, high: Any, prior: Any, allowed: Any, kinds: Any, labels: Any, factor: Any,
    moves: Any, best: Any,
) -> None:  # fmt: skip
    """What a side tells several targets at most, into ``best`` (targets, entries, 2, 3).

    An entry is a label at the side's nearest report, with a factor (2,) by the state there;
    ``moves`` (targets, 2, 2) leads from the value of the target to that state. The last axes are
    the direction (1 is "1 over 0") and the kind of candidate.
    """
    where = np.empty((3, 2), np.int64)
    weights, plain = np.empty((2, 2)), np.empty((2, 2))
    for target in range(len(moves)):
        for entry in range(len(labels)):
            for direction in range(2):
                for value in range(2):
                    for state in range(2):
                        plain[value, state] = moves[target, value ^ direction, state]
                        weights[value, state] = plain[value, state] * factor[entry, state]
                best_of_side(
                    low, high, prior, allowed, kinds, labels[entry], weights, plain,
                    best[target, entry, direction], where,
                )  # fmt: skip


@compiled(error_model="numpy")
def tree_of(leaves: Any) -> Any:
    """A binary tree of hulls over candidates (count, 4), its root first: (2 size, 4)."""
    size = 1
    while size < len(leaves):
        size *= 2
    nodes = np.empty((2 * size, 4))
    for place in range(2 * size - 1, 0, -1):
        if place >= size:
            if place - size < len(leaves):
                nodes[place] = leaves[place - size]
            else:
                nodes[place, 0], nodes[place, 1] = np.inf, -1.0
            continue
        one, two = nodes[2 * place], nodes[2 * place + 1]
        if two[1] < 0:
            nodes[place] = one
        elif one[1] < 0:
            nodes[place] = two
        else:
            nodes[place, 0], nodes[place, 1] = min(one[0], two[0]), max(one[1], two[1])
            nodes[place, 2], nodes[place, 3] = min(one[2], two[2]), max(one[3], two[3])
    return nodes


@compiled(error_model="numpy")
def _both(left: Any, right: Any, weights: Any, before: Any, after: Any, work: Any) -> float:
    """The most that two nodes tell together, or -1 where nothing can be.

    ``weights`` (2, 2, 2) by value of the secret, state before and state after; ``before`` and
    ``after`` (2, 2) the same without reports. ``work`` has the shape (2, 2).
    """
    if left[1] < 0 or right[1] < 0:
        return -1.0
    found = -1.0
    for end in range(2):
        zero, one = 1.0, right[end]
        if one > 1:
            zero, one = 1 / one, 1.0
        for value in range(2):
            for x in range(2):
                work[value, x] = weights[value, x, 0] * zero + weights[value, x, 1] * one
        for other in range(2):
            ratio = over(work[0], work[1], left[other])
            if ratio > found:
                found = ratio
    past = min(over(before[0], before[1], left[2]), over(before[0], before[1], left[3]))
    future = min(over(after[0], after[1], right[2]), over(after[0], after[1], right[3]))
    return float(found / past / future * UP)


@compiled(error_model="numpy")
def best_pair(
    left: Any, right: Any, tails: bool, weights: Any, before: Any, after: Any, floor: float,
    tolerance: float, place: Any,
) -> Any:  # fmt: skip
    """The pair of candidates that tells most, by branch and bound over two trees.

    ``tails``: the last leaf of either tree, at ``place[2]`` and ``place[3]``, bounds what was not
    followed and is no candidate. Pairs that tell no more than ``floor`` are not looked for.
    Returns a bound on all pairs, and the most found, whose leaves go into ``place``.
    """
    work, most = np.empty((2, 2)), np.empty(MOST_WAITING)
    waiting = np.empty((MOST_WAITING, 2), np.int64)
    waiting[0] = 1
    most[0] = _both(left[1], right[1], weights, before, after, work)
    count, best, bound = 1, floor, 0.0
    first, second = len(left) // 2, len(right) // 2
    while count > 0:
        count -= 1
        one, two, found = waiting[count, 0], waiting[count, 1], most[count]
        if found <= best * (1 + tolerance):
            bound = max(bound, found)
            continue
        if one >= first and two >= second:
            if tails and (one - first == place[2] or two - second == place[3]):
                bound = max(bound, found)
            else:
                best = found
                place[0], place[1] = one - first, two - second
            continue
        # Halve the larger one: the one that has more leaves beneath it.
        halve_left = two >= second or (one < first and first // one >= second // two)
        for half in range(2):
            here = count + half
            waiting[here, 0] = 2 * one + half if halve_left else one
            waiting[here, 1] = two if halve_left else 2 * two + half
            most[here] = _both(
                left[waiting[here, 0]], right[waiting[here, 1]], weights, before, after, work
            )
        # The half that may tell more comes first, so that the other is soon out of question.
        if most[count] > most[count + 1]:
            most[count], most[count + 1] = most[count + 1], most[count]
            for side in range(2):
                kept = waiting[count, side]
                waiting[count, side] = waiting[count + 1, side]
                waiting[count + 1, side] = kept
        count += 2
    return max(best, bound), best
