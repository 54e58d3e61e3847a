"""The recursions of ``kernel`` in leaps, for chains and noise that change slowly.

As many points as possible are taken in one leap (``leaps``); where that is not sure to be right
a shorter one is tried, and at last a single step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.memory.kernel import UP, told
from chainveil.privacy.memory.leaps import LONGEST, leap, move_prior, nothing_kept, remember
from chainveil.privacy.memory.pairs import put
from chainveil.privacy.memory.policies import noted_step

# Leaps shorter than this are walked. A number of numpy's: plain ones that are written out in a
# call are compiled in, and the same loop then once more for numbers that are not.
SHORTEST: Any = np.int64(16)
# Steps that are walked before a leap is tried again: at first, and at most.
PAUSE, LONGEST_PAUSE = 3, 256
# By how much leaps grow: after a pause, and once one was too long.
GROWS, GROWS_SLOWLY = 8, 2
FIRST: Any = np.int64(0)
NO_KIND: Any = np.int64(-1)


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

    Returns the depth, negative where ``limit`` steps and leaps did not do.
    """
    nodes = len(value)
    policy, to = np.full((nodes, 3), -1), np.empty(nodes)
    recent, before = np.ones((nodes + 3, nodes)), prior.copy()
    put(value, recent[0])
    nothing = np.empty((1, 0, 2, 3))
    kept = nothing_kept(nodes, plain)
    depth, steady, count, walked = 0, 0, SHORTEST, 0
    pause, resting, grows = PAUSE, 0, GROWS_SLOWLY
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
        if steady > nodes + 2 and resting <= 0:
            walked += 1
            watched = best if kind >= 0 else nothing
            taken = leap(
                pairs, plain, source, target, policy, recent, prior, before, count, kept, watched,
                tolerance,
            )  # fmt: skip
            if taken > 0:
                if kind >= 0:
                    _tell(recent[1], before, kind, family, depth + taken - 1, best, where)
                put(recent[0], value)
                depth += taken
                count, pause = min(grows * count, 1 << LONGEST), PAUSE
                continue
            if count > SHORTEST:
                count, grows = max(SHORTEST, count // 8 * 2), GROWS_SLOWLY
                continue
            resting, pause, grows = pause, min(2 * pause, LONGEST_PAUSE), GROWS
        put(prior, before)
        same = noted_step(pairs, source, target, value, to, policy)
        remember(value, recent)
        move_prior(plain[0], before, prior)
        steady = steady + 1 if same else 0
        depth, walked, resting = depth + 1, walked + 1, resting - 1
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
    kept = nothing_kept(nodes, plain)
    reached, steady, count = 0, 0, SHORTEST
    pause, resting = PAUSE, 0
    while reached < depth:
        while count > SHORTEST and count + nodes + 2 > depth - reached:
            count //= 2
        if steady > nodes + 2 and resting <= 0 and count + nodes + 2 <= depth - reached:
            taken = leap(
                pairs, plain, source, target, policy, recent, prior, before, count, kept, nothing,
                1.0,
            )  # fmt: skip
            if taken > 0:
                segments.append((taken, policy.copy()))
                put(recent[0], value)
                reached, count = reached + taken, min(2 * count, 1 << LONGEST)
                pause = PAUSE
                continue
            if count > SHORTEST:
                count //= 2
                continue
            resting, pause = pause, min(2 * pause, LONGEST_PAUSE)
        same = noted_step(pairs, source, target, value, to, policy)
        remember(value, recent)
        steady, resting = steady + 1 if same else 0, resting - 1
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
