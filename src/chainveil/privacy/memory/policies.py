"""Which step leads furthest: the policy that the ends of intervals follow for a while.

Nodes are ends of intervals: label times two, plus one for the upper end. A policy (nodes, 3)
says for each node which step, which corner and which node it comes from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.memory.kernel import DOWN, UP
from chainveil.privacy.memory.pairs import applied, copied, multiply, plus, times

# Images that differ by less than this, relatively, may do so by rounding alone.
ALIKE = 1e-15
# By how much ratios of odds that follow each other are widened for rounding: each step is moved
# outwards by 2^-47 once more than the one before it.
STEP_WIDER = 2e-14
# Differences larger than this, relatively, are seen in single doubles too.
PLAIN = 1e-14


@compiled(error_model="numpy")
def noted_step(pairs: Any, source: Any, target: Any, value: Any, to: Any, policy: Any) -> bool:
    """One step of all ends; ``policy`` (nodes, 3) gets step, corner and node it came from.

    ``value`` (nodes,) holds low and high ends by turns; empty labels are (inf, -1). Returns
    whether the policy is the one that stood there.
    """
    nodes = len(value)
    for node in range(nodes):
        to[node] = np.inf if node % 2 == 0 else -1.0
    old = policy.copy()
    for node in range(nodes):
        policy[node, 0] = policy[node, 2] = -1
    for step in range(len(source)):
        before, after = source[step], target[step]
        if value[2 * before + 1] < 0:
            continue
        for corner in range(pairs.shape[0]):
            for end in range(2):
                node = 2 * before + end
                found = applied(pairs[corner, step], value[node])
                for goal in range(2):
                    place = 2 * after + goal
                    better = found < to[place] if goal == 0 else found > to[place]
                    # Of steps that rounding cannot tell apart, to stay is noted.
                    alike = abs(found - to[place]) <= ALIKE * found
                    if (better and not (alike and policy[place, 2] == place)) or (
                        alike and node == place
                    ):
                        policy[place, 0] = step
                        policy[place, 1] = corner
                        policy[place, 2] = node
                    if better:
                        to[place] = found
    same = True
    for node in range(nodes):
        value[node] = to[node] * (DOWN if node % 2 == 0 else UP)
        for part in range(3):
            same = same and (policy[node, 0] < 0 or policy[node, part] == old[node, part])
    return same


@compiled(error_model="numpy")
def orders(policy: Any, order: Any) -> int:
    """How far each node lies from its cycle; 0 on it. -1 where a cycle is longer than two."""
    nodes, deepest = len(order), 0
    for node in range(nodes):
        order[node] = 0
        if policy[node, 0] < 0:
            continue
        here, away = node, 0
        while True:
            ahead = policy[here, 2]
            if policy[ahead, 0] < 0 or away > nodes:
                # A beginning that no step leads to, or a cycle of more than two.
                return -1
            if ahead == here or policy[ahead, 2] == here:
                break
            here, away = ahead, away + 1
        order[node] = away
        deepest = max(deepest, away)
    return deepest


@compiled(error_model="numpy")
def follow(pairs: Any, policy: Any, value: Any, to: Any) -> None:
    """One step by the policy alone, moved outwards like every step."""
    for node in range(len(value)):
        if policy[node, 0] >= 0:
            matrix = pairs[policy[node, 1], policy[node, 0]]
            to[node] = applied(matrix, value[policy[node, 2]])
        else:
            to[node] = np.inf if node % 2 == 0 else -1.0
    for node in range(len(value)):
        value[node] = to[node] * (DOWN if node % 2 == 0 else UP)


@compiled(error_model="numpy")
def chains_of(pairs: Any, policy: Any, order: Any, deepest: int, roots: Any, chains: Any) -> None:
    """Each node as a function of the node of a cycle that it follows: root and matrix of pairs.

    A node of order k is its matrix applied to what its root was k steps before.
    """
    for away in range(deepest + 1):
        for node in range(len(order)):
            if policy[node, 0] < 0 or order[node] != away:
                continue
            if away == 0:
                roots[node] = node
                for entry in range(4):
                    chains[node, entry, 0] = 1.0 if entry in (0, 3) else 0.0
                    chains[node, entry, 1] = 0.0
                continue
            before = policy[node, 2]
            roots[node] = roots[before]
            multiply(chains[before], pairs[policy[node, 1], policy[node, 0]], chains[node])


@compiled(error_model="numpy")
def _difference(f: Any, g: Any, one: int, other: int) -> Any:
    """``f[one] g[other] - g[one] f[other]`` of pairs, and the sum of the sizes of its terms."""
    first = times(f[one, 0], f[one, 1], g[other, 0], g[other, 1])
    second = times(g[one, 0], g[one, 1], f[other, 0], f[other, 1])
    total = plus(first[0], first[1], -second[0], -second[1])
    return total[0], total[1], first[0] + second[0]


@compiled(error_model="numpy")
def _seen_plainly(f: Any, g: Any, least: float, most: float) -> int:
    """-1 where the image under ``f`` is clearly below that under ``g``, 1 where it is clearly
    above at an end of the range, 0 where single doubles do not tell.
    """
    a, b = f[1, 0] * g[0, 0], g[1, 0] * f[0, 0]
    c, d = f[1, 0] * g[2, 0] + f[3, 0] * g[0, 0], g[1, 0] * f[2, 0] + g[3, 0] * f[0, 0]
    e, h = f[3, 0] * g[2, 0], g[3, 0] * f[2, 0]
    c0, c1, c2 = a - b, c - d, e - h
    below = True
    for side in range(2):
        odds = least if side == 0 else most
        found, size = (c2 * odds + c1) * odds + c0, ((e + h) * odds + c + d) * odds + a + b
        if found > PLAIN * size:
            return 1
        below = below and found < -PLAIN * size
    if below and c2 < 0:
        top = -c1 / (2 * c2)
        if least < top < most:
            below = c0 - c1 * c1 / (4 * c2) < -PLAIN * (((e + h) * top + c + d) * top + a + b)
    return -1 if below else 0


@compiled(error_model="numpy")
def _never_above(f: Any, g: Any, least: float, most: float, noise: float) -> bool:
    """Whether the image under ``f`` is at most that under ``g`` for all odds in a range.

    Up to a relative 4 times ``noise``. The difference has the sign of a polynomial of degree
    two, which is looked at in pairs.
    """
    quick = _seen_plainly(f, g, least, most)
    if quick != 0:
        return bool(quick < 0)
    c0, c2 = _difference(f, g, 1, 0), _difference(f, g, 3, 2)
    one, two = _difference(f, g, 1, 2), _difference(f, g, 3, 0)
    both = plus(one[0], one[1], two[0], two[1])
    c1 = both[0], both[1], one[2] + two[2]
    for side in range(2):
        odds = least if side == 0 else most
        inner = times(c2[0], c2[1], odds, 0.0)
        inner = plus(inner[0], inner[1], c1[0], c1[1])
        inner = times(inner[0], inner[1], odds, 0.0)
        inner = plus(inner[0], inner[1], c0[0], c0[1])
        size = (c2[2] * odds + c1[2]) * odds + c0[2]
        if inner[0] > noise * size:
            return False
    if c2[0] >= 0 or c1[0] <= 0:
        return True
    top = -c1[0] / (2 * c2[0])
    size = (c2[2] * top + c1[2]) * top + c0[2]
    return not least < top < most or c0[0] - c1[0] * c1[0] / (4 * c2[0]) <= noise * size


@compiled(error_model="numpy")
def cycle_of(pairs: Any, policy: Any, node: int, out: Any) -> None:
    """Two steps along the cycle of a node, back to the node, as one matrix of pairs."""
    ahead = policy[node, 2]
    last = pairs[policy[node, 1], policy[node, 0]]
    first = pairs[policy[ahead, 1], policy[ahead, 0]]
    multiply(first, last, out)


@compiled(error_model="numpy")
def root_of(pairs: Any, policy: Any, order: Any, roots: Any, chains: Any, node: int,
            out: Any) -> Any:  # fmt: skip
    """A node as a function of one node of its cycle: that node, how late, and the matrix.

    Of a cycle of two the first one is taken, so that both can be compared.
    """
    root = roots[node]
    partner = policy[root, 2]
    if partner >= root:
        copied(chains[node], out)
        return root, order[node]
    multiply(pairs[policy[root, 1], policy[root, 0]], chains[node], out)
    return partner, order[node] + 1


@compiled(error_model="numpy")
def ratios_of(recent: Any, landing: Any, out: Any) -> None:
    """Range of ``odds now / odds a step before`` of each node in a leap, (nodes, 2).

    Along a cycle of two, odds of one node at times that are one apart follow the same maps,
    which bring them closer together without changing their order: every second ratio moves
    one way, so all lie between those around the start and those around the end. ``recent``
    (times, nodes) and ``landing`` (three times, nodes) have the latest first.
    """
    for node in range(recent.shape[1]):
        out[node, 0], out[node, 1] = np.inf, 0.0
        for time in range(len(recent) + 1):
            if time < len(recent) - 1:
                ratio = recent[time, node] / recent[time + 1, node]
            else:
                place = time - len(recent) + 1
                ratio = landing[place, node] / landing[place + 1, node]
            out[node, 0], out[node, 1] = min(out[node, 0], ratio), max(out[node, 1], ratio)
        out[node, 0] *= 1 - STEP_WIDER
        out[node, 1] *= 1 + STEP_WIDER


@compiled(error_model="numpy")
def _of_scaled(matrix: Any, ratio: float, out: Any) -> None:
    """The map of odds that are ``ratio`` times as large."""
    for entry in range(4):
        factor = ratio if entry >= 2 else 1.0
        found = times(matrix[entry, 0], matrix[entry, 1], factor, 0.0)
        out[entry, 0], out[entry, 1] = found


@compiled(error_model="numpy")
def _never_less_far(
    pairs: Any, policy: Any, root: int, late: int, ours: Any, theirs: Any, span: Any, ratios: Any,
    goal: int, noise: float,
) -> bool:  # fmt: skip
    """Whether ``ours`` of a root leads at least as far as ``theirs`` of what it was ``late``
    steps before, wherever the root lies in its span. Both are changed.
    """
    work, loop = np.empty((4, 2)), np.empty((4, 2))
    pace = 1
    if policy[root, 2] == root:
        copied(pairs[policy[root, 1], policy[root, 0]], loop)
    else:
        pace = 2
        cycle_of(pairs, policy, root, loop)
    for _ in range(abs(late) // pace):
        multiply(loop, ours if late > 0 else theirs, work)
        copied(work, ours if late > 0 else theirs)
    if abs(late) % pace == 0:
        low, high = (theirs, ours) if goal == 1 else (ours, theirs)
        return _never_above(low, high, span[0], span[1], noise)
    # One of the two is a function of odds one step later than those of the other.
    for end in range(2):
        _of_scaled(ours if late > 0 else theirs, ratios[root, end], work)
        one, other = (work, theirs) if late > 0 else (ours, work)
        low, high = (other, one) if goal == 1 else (one, other)
        if not _never_above(low, high, span[0], span[1], noise):
            return False
    return True


@compiled(error_model="numpy")
def leads(
    pairs: Any, source: Any, target: Any, policy: Any, order: Any, roots: Any, chains: Any,
    least: Any, most: Any, ratios: Any, noise: float, better: Any,
) -> bool:  # fmt: skip
    """Whether the policy's step leads furthest wherever the values lie in their ranges.

    Where another one does that follows the same root, it is written into ``better``: the node
    it leads to, step, corner and node it comes from.
    """
    better[0] = -1
    work, ours, theirs = np.empty((4, 2)), np.empty((4, 2)), np.empty((4, 2))
    for step in range(len(source)):
        before, after = source[step], target[step]
        if most[2 * before + 1] < 0:
            continue
        for goal in range(2):
            place = 2 * after + goal
            if policy[place, 0] < 0:
                return False
            chosen = pairs[policy[place, 1], policy[place, 0]]
            from_node = policy[place, 2]
            a, b = applied(chosen, least[from_node]), applied(chosen, most[from_node])
            bound = max(a, b) if goal == 0 else min(a, b)
            for corner in range(pairs.shape[0]):
                for end in range(2):
                    node = 2 * before + end
                    if (
                        step == policy[place, 0]
                        and corner == policy[place, 1]
                        and node == from_node
                    ):
                        continue
                    matrix = pairs[corner, step]
                    c, d = applied(matrix, least[node]), applied(matrix, most[node])
                    # By more than rounding may have moved the two.
                    if goal == 0 and min(c, d) * DOWN >= bound:
                        continue
                    if goal == 1 and max(c, d) * UP <= bound:
                        continue
                    # The ranges overlap: compare the two at the same time, if they follow one
                    # root, as functions of what it was.
                    root, lag = root_of(pairs, policy, order, roots, chains, from_node, work)
                    multiply(work, chosen, ours)
                    other, late = root_of(pairs, policy, order, roots, chains, node, work)
                    multiply(work, matrix, theirs)
                    if other != root:
                        if node == place and better[0] < 0:
                            # To stay is the first thing to try where two turns are alike.
                            better[0], better[1], better[2], better[3] = place, step, corner, node
                        return False
                    if not _never_less_far(
                        pairs, policy, root, late - lag, ours, theirs, (least[root], most[root]),
                        ratios, goal, noise,
                    ):  # fmt: skip
                        better[0], better[1], better[2], better[3] = place, step, corner, node
                        return False
    return True
