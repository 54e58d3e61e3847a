"""The recursions of ``kernel`` in leaps, for chains and noise that change slowly.

Where a chain forgets little from point to point, the same step is the best one over long
stretches: each end of an interval then follows one Möbius map, or two in turn, and many points
are one power of a matrix. A leap is taken only where it is sure that no other step would lead
further at any point of it, and that what a side tells was largest at one of the two ends of
the leap; otherwise a shorter one is tried, and at last a single step.

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
from chainveil.privacy.memory.kernel import DOWN, UP, told
from chainveil.privacy.memory.pairs import applied, power, put
from chainveil.privacy.memory.policies import (
    chains_of,
    cycle_of,
    follow,
    leads,
    noted_step,
    orders,
    ratios_of,
)

# Leaps shorter than this are walked. A number of numpy's: plain ones that are written out in a
# call are compiled in, and the same loop then once more for numbers that are not.
SHORTEST: Any = np.int64(16)
# By how much ranges are widened for rounding.
WIDER = 1e-13
# Where two steps lead almost equally far, either may be followed: over a whole leap the other
# leads further by a relative 4 times this at most, which the result is widened by.
EITHER = 2e-15
# How close the nodes of a policy that none of the last steps followed must be to what it makes.
CLOSE = 1e-14
ONE: Any = np.int64(1)
FIRST: Any = np.int64(0)
NO_KIND: Any = np.int64(-1)
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
def _remember(value: Any, recent: Any) -> None:
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


@compiled(error_model="numpy")
def _tell(value: Any, prior: Any, kind: int, family: int, depth: int, best: Any,
          where: Any) -> None:  # fmt: skip
    """Note what a family tells at a depth where it is more than before."""
    for label in range(len(value) // 2):
        for direction in range(2):
            found = told(value[2 * label], value[2 * label + 1], prior, direction)
            if found > best[0, label, direction, kind]:
                best[0, label, direction, kind] = found
                where[0, label, direction, kind, 0] = family
                where[0, label, direction, kind, 1] = depth


@compiled(error_model="numpy")
def _beyond(hull: Any, prior: Any, before: Any, far: Any, best: Any, tolerance: float,
            tails: Any) -> bool:  # fmt: skip
    """Bound what lies further out, into ``tails`` (labels, 2); whether it is no more than told."""
    least = min(min(prior[0], before[0]), far[0])
    most = max(max(prior[1], before[1]), far[1])
    met = True
    for label in range(len(hull) // 2):
        for direction in range(2):
            bound = 0.0
            if hull[2 * label + 1] >= 0:
                if direction == 1:
                    bound = hull[2 * label + 1] / least * UP if least > 0 else np.inf
                else:
                    bound = most / hull[2 * label] * UP if hull[2 * label] > 0 else np.inf
            tails[label, direction] = bound
            top = 0.0
            for kind in range(3):
                top = max(top, best[0, label, direction, kind])
            met = met and bound <= top * (1 + tolerance)
    return met


@compiled(error_model="numpy")
def _go(
    pairs: Any, plain: Any, source: Any, target: Any, value: Any, prior: Any, kind: int,
    family: int, hull: Any, hull_depth: int, far: Any, limit: int, tolerance: float, best: Any,
    where: Any, tails: Any,
) -> int:  # fmt: skip
    """One family until what lies further out tells no more; without a hull, until it settles.

    Returns the depth, negative where ``limit`` single steps did not do.
    """
    nodes = len(value)
    policy, to = np.full((nodes, 3), -1), np.empty(nodes)
    recent, before = np.ones((nodes + 3, nodes)), prior.copy()
    put(value, recent[0])
    nothing = np.empty((1, 0, 2, 3))
    depth, steady, count, walked = 0, 0, SHORTEST, 0
    mark, mark_depth = value.copy(), 0
    while walked < limit:
        if kind >= 0:
            _tell(value, prior, kind, family, depth, best, where)
            if depth >= hull_depth and _beyond(hull, prior, before, far, best, tolerance, tails):
                return depth
        elif depth > 2 * mark_depth + SHORTEST:
            if _alike(value, mark, tolerance):
                return depth
            put(value, mark)
            mark_depth = depth
        if steady > nodes + 2:
            watched = best if kind >= 0 else nothing
            taken = leap(
                pairs, plain, source, target, policy, recent, prior, before, count, watched,
                tolerance,
            )  # fmt: skip
            if taken > 0:
                if kind >= 0:
                    _tell(recent[1], before, kind, family, depth + taken - 1, best, where)
                put(recent[0], value)
                depth += taken
                count = min(2 * count, 1 << 40)
                continue
            if count > SHORTEST:
                count = max(SHORTEST, count // 8 * 2)
                continue
            steady = nodes
        put(prior, before)
        same = noted_step(pairs, source, target, value, to, policy)
        _remember(value, recent)
        move_prior(plain, before, ONE, prior)
        steady = steady + 1 if same else 0
        depth, walked = depth + 1, walked + 1
    return -depth


@compiled(error_model="numpy")
def _alike(value: Any, mark: Any, tolerance: float) -> bool:
    for node in range(len(value)):
        if value[node] != mark[node] and not (
            abs(value[node] - mark[node]) <= 0.1 * tolerance * abs(mark[node])
        ):
            return False
    return True


@compiled(error_model="numpy")
def scan_runs(
    pairs: Any, plain: Any, source: Any, target: Any, low: Any, high: Any, prior: Any,
    far: Any, limit: int, tolerance: float, best: Any, where: Any, tails: Any,
) -> int:  # fmt: skip
    """``kernel.scan`` for a period of one, family after family, in leaps.

    ``pairs`` is (corners, steps, 4, 2), ``plain`` (corners, 4, 2), ``far`` the least and most
    odds of the prior far away. Returns the largest depth, negative where the limit struck.
    """
    families, labels = low.shape
    ends = np.empty((families, 2 * labels))
    for family in range(families):
        for label in range(labels):
            ends[family, 2 * label] = low[family, label]
            ends[family, 2 * label + 1] = high[family, label]
    hull, unused = ends[families - 1], np.empty((labels, 2))
    settled = _go(
        pairs, plain, source, target, hull, prior[families - 1].copy(), NO_KIND, FIRST, hull, FIRST,
        far, limit, tolerance, best, where, unused,
    )  # fmt: skip
    deepest, met = abs(settled), True
    tails[:] = 0.0
    for family in range(families - 1):
        if ends[family].max() < 0 or high[family].max() < 0:
            continue
        depth = _go(
            pairs, plain, source, target, ends[family], prior[family], family % 3, family, hull,
            abs(settled), far, limit, tolerance, best, where, unused,
        )  # fmt: skip
        met = met and depth >= 0
        deepest = max(deepest, abs(depth))
        for label in range(labels):
            for direction in range(2):
                tails[0, label, direction] = max(
                    tails[0, label, direction], unused[label, direction]
                )
    return deepest if met else -deepest


@compiled(error_model="numpy")
def trace_runs(
    pairs: Any, plain: Any, source: Any, target: Any, low: Any, high: Any, depth: int, label: int,
    end: int, most: int,
) -> Any:  # fmt: skip
    """``kernel.trace`` in leaps: steps and how often each is taken, the target's first.

    Returns an array of shape (runs, 2) and the end of the interval from which the way starts,
    -1 where there are more than ``most`` runs.
    """
    nodes = 2 * len(low)
    value = np.empty(nodes)
    for place in range(len(low)):
        value[2 * place], value[2 * place + 1] = low[place], high[place]
    segments = [(0, np.full((nodes, 3), -1))]
    policy, to = np.full((nodes, 3), -1), np.empty(nodes)
    recent, prior, before = np.ones((nodes + 3, nodes)), np.ones(2), np.ones(2)
    put(value, recent[0])
    nothing = np.empty((1, 0, 2, 3))
    reached, steady, count = 0, 0, SHORTEST
    while reached < depth:
        while count > SHORTEST and count + nodes + 2 > depth - reached:
            count //= 2
        if steady > nodes + 2 and count + nodes + 2 <= depth - reached:
            taken = leap(
                pairs, plain, source, target, policy, recent, prior, before, count, nothing, 1.0
            )
            if taken > 0:
                segments.append((taken, policy.copy()))
                put(recent[0], value)
                reached, count = reached + taken, min(2 * count, 1 << 40)
                continue
            if count > SHORTEST:
                count //= 2
                continue
            steady = nodes
        same = noted_step(pairs, source, target, value, to, policy)
        _remember(value, recent)
        steady = steady + 1 if same else 0
        segments.append((1, policy.copy()))
        reached += 1
    path = [(0, 0)]
    node = 2 * label + end
    for back in range(len(segments) - 1, 0, -1):
        left, how = segments[back]
        while left > 0:
            if len(path) > most + 1:
                return np.empty((0, 2), np.int64), -1
            step, ahead = how[node, 0], how[node, 2]
            times = left if ahead == node else 1
            if path[-1][1] > 0 and path[-1][0] == step:
                path[-1] = (step, path[-1][1] + times)
            else:
                path.append((step, times))
            node, left = ahead, left - times
    found = np.empty((len(path) - 1, 2), np.int64)
    for place in range(1, len(path)):
        found[place - 1, 0], found[place - 1, 1] = path[place]
    return found, node % 2
