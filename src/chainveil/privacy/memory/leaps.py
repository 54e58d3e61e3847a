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
from chainveil.privacy.memory.pairs import applied, copied, put, raised
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
# The longest leap, as a power of two.
LONGEST = 40


@compiled(error_model="numpy")
def nothing_kept(nodes: int, plain: Any) -> Any:
    """What leaps keep for those that follow: repeated squares of cycles, and which those are.

    Squares (nodes + 1, many, 4, 2), and how many there are of each, after the two steps of its
    cycle (nodes + 1, 5). The last ones are those of the prior's own step.
    """
    squares, cycles = np.empty((nodes + 1, LONGEST + 2, 4, 2)), np.full((nodes + 1, 5), -1)
    copied(plain[0], squares[nodes, 0])
    cycles[nodes, 4] = 1
    return squares, cycles


@compiled(error_model="numpy")
def _cycle_power(
    pairs: Any, policy: Any, node: int, count: int, squares: Any, cycles: Any, out: Any
) -> None:
    """``count`` times two steps along the cycle of a node."""
    ahead = policy[node, 2]
    same = True
    for part in range(2):
        same = same and cycles[node, part] == policy[node, part]
        same = same and cycles[node, 2 + part] == policy[ahead, part]
    if not same:
        for part in range(2):
            cycles[node, part], cycles[node, 2 + part] = policy[node, part], policy[ahead, part]
        cycle_of(pairs, policy, node, squares[node, 0])
        cycles[node, 4] = 1
    cycles[node, 4] = raised(squares[node], cycles[node, 4], count, out)


@compiled(error_model="numpy")
def _land(pairs: Any, policy: Any, order: Any, value: Any, count: int, squares: Any, cycles: Any,
          tail: Any, to: Any) -> None:  # fmt: skip
    """Where the nodes are after ``count`` steps and at those that follow, the latest first.

    ``tail`` (times, nodes) has more rows than the slowest follower lags, so that all follow.
    """
    many = np.empty((4, 2))
    first = tail[len(tail) - 1]
    put(value, first)
    for node in range(len(value)):
        if policy[node, 0] >= 0 and order[node] == 0:
            _cycle_power(pairs, policy, node, count // 2, squares, cycles, many)
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
def _same(one: Any, other: Any) -> bool:
    alike = True
    for place in range(len(one)):
        alike = alike and one[place] == other[place]
    return alike


@compiled(error_model="numpy")
def leap(
    pairs: Any, plain: Any, source: Any, target: Any, noted: Any, recent: Any,
    prior: Any, before: Any, count: int, kept: Any, best: Any, tolerance: float,
) -> int:  # fmt: skip
    """Try ``count`` (even) steps at once; returns the steps taken, 0 for none.

    ``recent`` (times, nodes) are the ends now and at the steps before, which all followed the
    policy ``noted``; ``prior`` and ``before`` the prior odds (low, high) now and a step before.
    Where it succeeds, all are moved on. ``kept``: see ``nothing_kept``. ``best`` of no
    labels: no look at what is told.
    """
    value, earlier = recent[0], recent[1]
    nodes = len(value)
    order, better = np.empty(nodes, np.int64), np.empty(4, np.int64)
    roots, chains = np.zeros(nodes, np.int64), np.zeros((nodes, 4, 2))
    tail, landing, to = np.empty(recent.shape), np.empty((3, nodes)), np.empty(nodes)
    new, last, steps = tail[0], tail[1], count + len(tail) - 1
    least, most, ratios = np.empty(nodes), np.empty(nodes), np.empty((nodes, 2))
    squares, cycles = kept
    policy, replaced = noted.copy(), np.full(4, -1)
    for swap in range(SWAPS):
        deepest = orders(policy, order)
        if deepest < 0:
            return 0
        _land(pairs, policy, order, value, count, squares, cycles, tail, to)
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
        # There and back again: within the leap one leads further first, then the other.
        if better[0] < 0 or _same(better, replaced):
            return 0
        # Steps that lead almost equally far are told apart here, in pairs of doubles.
        replaced[0] = better[0]
        for part in range(3):
            replaced[1 + part] = policy[better[0], part]
            policy[better[0], part] = better[1 + part]
    else:
        return 0
    after, behind = np.empty(2), np.empty(2)
    work = np.empty((4, 2))
    cycles[nodes, 4] = raised(squares[nodes], cycles[nodes, 4], steps - 1, work)
    move_prior(work, prior, behind)
    move_prior(plain[0], behind, after)
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
def move_prior(matrix: Any, prior: Any, out: Any) -> None:
    """The prior odds (low, high) after the steps of a matrix of pairs."""
    one, other = applied(matrix, prior[0]), applied(matrix, prior[1])
    out[0], out[1] = min(one, other) * DOWN, max(one, other) * UP
