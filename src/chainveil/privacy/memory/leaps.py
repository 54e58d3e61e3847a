"""Many points of a slow chain at once: one leap of all ends of intervals.

Where a chain forgets little from point to point, the same step is the best one over long
stretches: each end of an interval then follows one Möbius map, or two in turn, and many points
are one power of a matrix. A leap is taken only where it is sure that no other step would lead
further at any point of it, and that what a side tells was largest at one of its two ends.

Rounding
--------
Powers are taken in pairs of doubles (``pairs``); the result is moved outwards by 2^-46, twice
a single step. ``1 - q`` and the entries of steps are pairs too, products of a transition and a
double of one release. Of several releases the factors are products of doubles, whose error a
power would multiply: they are not taken in leaps (``Side.is_slow``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.memory.growth import settled
from chainveil.privacy.memory.kernel import DOWN, UP
from chainveil.privacy.memory.pairs import applied, power, put
from chainveil.privacy.memory.policies import (
    chains_of,
    cycle_of,
    follow,
    leads,
    orders,
    ratios_of,
)

# By how much ranges are widened for rounding.
WIDER = 1e-13
# Where two steps lead almost equally far, either may be followed: over a whole leap the other
# leads further by a relative 4 times this at most, which the result is widened by.
EITHER = 2e-15
# How close the nodes of a policy that none of the last steps followed must be to what it makes.
CLOSE = 1e-14
# How often a policy may be bettered before a leap is given up.
SWAPS = 6


@compiled(error_model="numpy")
def _land(pairs: Any, policy: Any, order: Any, value: Any, count: int, tail: Any,
          to: Any) -> None:  # fmt: skip
    """Where the nodes are after ``count`` steps and at those that follow, the latest first.

    ``tail`` (times, nodes) has more rows than the slowest follower lags, so that all follow.
    """
    work, many = np.empty((4, 2)), np.empty((4, 2))
    first = tail[len(tail) - 1]
    put(value, first)
    for node in range(len(value)):
        if policy[node, 0] >= 0 and order[node] == 0:
            cycle_of(pairs, policy, node, work)
            power(work, count // 2, many)
            first[node] = applied(many, value[node]) * (DOWN * DOWN if node % 2 == 0 else UP * UP)
    for time in range(len(tail) - 2, -1, -1):
        put(tail[time + 1], tail[time])
        follow(pairs, policy, tail[time], to)


@compiled(error_model="numpy")
def _spans(policy: Any, recent: Any, tail: Any, least: Any, most: Any) -> bool:
    """The ranges of the nodes in a leap; False where one is not positive and finite.

    What lies some steps back counts too: nodes are functions of what others were then.
    """
    for node in range(recent.shape[1]):
        least[node] = min(tail[0, node], tail[1, node])
        most[node] = max(tail[0, node], tail[1, node])
        for time in range(len(recent)):
            least[node] = min(least[node], recent[time, node])
            most[node] = max(most[node], recent[time, node])
        least[node] *= 1 - WIDER
        most[node] *= 1 + WIDER
        if policy[node, 0] >= 0 and not 0 < least[node] <= most[node] < np.inf:
            return False
    return True


@compiled(error_model="numpy")
def remember(value: Any, recent: Any) -> None:
    """Put the ends in front of those of the steps before, (times, nodes)."""
    for time in range(len(recent) - 1, 0, -1):
        put(recent[time - 1], recent[time])
    put(value, recent[0])


@compiled(error_model="numpy")
def _follows(policy: Any, order: Any, roots: Any, chains: Any, recent: Any) -> bool:
    """Whether the nodes are what the policy makes of what their roots were, up to rounding."""
    for node in range(recent.shape[1]):
        if policy[node, 0] >= 0 and order[node] > 0:
            found = applied(chains[node], recent[order[node], roots[node]])
            if not abs(found - recent[0, node]) <= CLOSE * found:
                return False
    return True


@compiled(error_model="numpy")
def leap(
    pairs: Any, plain: Any, source: Any, target: Any, noted: Any, recent: Any,
    prior: Any, before: Any, count: int, best: Any, tolerance: float,
) -> int:  # fmt: skip
    """Try ``count`` (even) steps at once; returns the steps taken, 0 for none.

    ``recent`` (times, nodes) are the ends now and at the steps before, which all followed the
    policy ``noted``; ``prior`` and ``before`` the prior odds (low, high) now and a step before.
    Where it succeeds, all are moved on. ``best`` of no labels: no look at what is told.
    """
    value, earlier = recent[0], recent[1]
    nodes = len(value)
    order, better = np.empty(nodes, np.int64), np.empty(4, np.int64)
    roots, chains = np.zeros(nodes, np.int64), np.zeros((nodes, 4, 2))
    tail, landing, to = np.empty(recent.shape), np.empty((3, nodes)), np.empty(nodes)
    new, last, steps = tail[0], tail[1], count + len(tail) - 1
    least, most, ratios = np.empty(nodes), np.empty(nodes), np.empty((nodes, 2))
    policy = noted.copy()
    for swap in range(SWAPS):
        deepest = orders(policy, order)
        if deepest < 0:
            return 0
        _land(pairs, policy, order, value, count, tail, to)
        if not _spans(policy, recent, tail, least, most):
            return 0
        chains_of(pairs, policy, order, deepest, roots, chains)
        put(new, landing[0])
        put(new, landing[1])
        put(last, landing[2])
        follow(pairs, policy, landing[0], to)
        ratios_of(recent, landing, ratios)
        noise = EITHER / steps
        if leads(
            pairs, source, target, policy, order, roots, chains, least, most, ratios, noise, better
        ):  # fmt: skip
            if swap > 0 and not _follows(policy, order, roots, chains, recent):
                return 0
            break
        if better[0] < 0:
            return 0
        # Steps that lead almost equally far are told apart here, in pairs of doubles.
        policy[better[0], 0], policy[better[0], 1] = better[1], better[2]
        policy[better[0], 2] = better[3]
    else:
        return 0
    after, behind = np.empty(2), np.empty(2)
    move_prior(plain, prior, steps, after)
    move_prior(plain, prior, steps - 1, behind)
    if best.shape[1] > 0:
        ranges = (
            min(min(prior[0], before[0]), min(after[0], behind[0])),
            max(max(prior[1], before[1]), max(after[1], behind[1])),
        )
        if not 0 < ranges[0] <= ranges[1] < np.inf:
            return 0
        told_ratios = np.empty((nodes, 2))
        for node in range(nodes):
            ends = (
                value[node] / prior[0], earlier[node] / before[0],
                new[node] / after[0], last[node] / behind[0],
            )  # fmt: skip
            told_ratios[node, 0] = min(min(ends[0], ends[1]), min(ends[2], ends[3])) * (1 - WIDER)
            told_ratios[node, 1] = max(max(ends[0], ends[1]), max(ends[2], ends[3])) * (1 + WIDER)
        if not settled(
            pairs, plain, policy, order, roots, chains, least, most, told_ratios, ranges, best,
            tolerance,
        ):  # fmt: skip
            return 0
    for time in range(len(tail)):
        put(tail[time], recent[time])
    for node in range(nodes):
        put(policy[node], noted[node])
    put(after, prior)
    put(behind, before)
    return steps


@compiled(error_model="numpy")
def move_prior(plain: Any, prior: Any, count: int, out: Any) -> None:
    """The prior odds after ``count`` steps; over several corners, each followed alone.

    A box is followed by its extreme corners only where that is what every step would do: the
    ends of the prior are those of the corners by which they were reached.
    """
    many = np.empty((4, 2))
    out[0], out[1] = np.inf, -1.0
    for corner in range(plain.shape[0]):
        power(plain[corner], count, many)
        for side in range(2):
            found = applied(many, prior[side])
            out[0], out[1] = min(out[0], found), max(out[1], found)
    out[0], out[1] = out[0] * DOWN, out[1] * UP
