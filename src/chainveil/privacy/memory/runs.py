"""The recursions of ``kernel`` in leaps, for chains and noise that change slowly.

Where a chain forgets little from point to point, the same step is the best one over long
stretches: each end of an interval then follows one Möbius map, or two in turn, and many points
are one power of a matrix. A leap is taken only where it is sure that no other step would lead
further at any point of it, and that what a side tells was largest at one of the two ends of
the leap; otherwise a shorter one is tried, and at last a single step.

Rounding
--------
Powers are taken in pairs of doubles (106 bits), sums of products of non-negative numbers, so
that ``m`` steps are off by about m times 2^-100; the result is moved outwards by 2^-47 like a
single step. ``1 - q`` and the entries of steps are pairs too. Where factors of several releases
were multiplied as doubles before, the caller widens by their error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.memory.kernel import DOWN, UP, image, told

# Leaps shorter than this are walked.
SHORTEST = 16
SPLITTER = 134217729.0
# Nodes are ends of intervals: label times two, plus one for the upper end.
# What rounding may do to the log of a growth, and by how much ranges are widened for it.
ROUNDING, LOG_ROUNDING, WIDER = 1e-12, 4e-15, 1e-13
# Where two steps lead almost equally far, either may be followed: over a whole leap the other
# leads further by a relative 4 times this at most, which the result is widened by.
EITHER = 2e-15
# Images that differ by less than this, relatively, may do so by rounding alone.
ALIKE = 1e-15
# How often a policy may be bettered before a leap is given up.
SWAPS = 6


@compiled(error_model="numpy")
def _product(a: float, b: float) -> Any:
    """A product as a pair of doubles without error (Dekker)."""
    p = a * b
    c = SPLITTER * a
    high_a = c - (c - a)
    low_a = a - high_a
    d = SPLITTER * b
    high_b = d - (d - b)
    low_b = b - high_b
    return p, ((high_a * high_b - p) + high_a * low_b + low_a * high_b) + low_a * low_b


@compiled(error_model="numpy")
def _sum(a: float, b: float) -> Any:
    """A sum as a pair of doubles without error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@compiled(error_model="numpy")
def _times(ah: float, al: float, bh: float, bl: float) -> Any:
    """Product of two pairs."""
    p, e = _product(ah, bh)
    e += ah * bl + al * bh
    return _sum(p, e)


@compiled(error_model="numpy")
def _plus(ah: float, al: float, bh: float, bl: float) -> Any:
    """Sum of two pairs of one sign."""
    s, e = _sum(ah, bh)
    e += al + bl
    return _sum(s, e)


@compiled(error_model="numpy")
def multiply(a: Any, b: Any, out: Any) -> None:
    """Product of two matrices of pairs, shape (4, 2), scaled to a largest entry near 1."""
    for row in range(2):
        for column in range(2):
            first = _times(a[2 * row, 0], a[2 * row, 1], b[column, 0], b[column, 1])
            second = _times(
                a[2 * row + 1, 0], a[2 * row + 1, 1], b[2 + column, 0], b[2 + column, 1]
            )
            total = _plus(first[0], first[1], second[0], second[1])
            out[2 * row + column, 0], out[2 * row + column, 1] = total
    top = 0.0
    for entry in range(4):
        top = max(top, out[entry, 0])
    if top > 0 and not 0.25 <= top <= 4:
        scale = 2.0 ** -np.floor(np.log2(top))
        for entry in range(4):
            out[entry, 0] *= scale
            out[entry, 1] *= scale


@compiled(error_model="numpy")
def power(matrix: Any, count: int, out: Any) -> None:
    """``matrix`` to the power ``count`` of at least 1, in pairs; shape (4, 2)."""
    base, spare = matrix.copy(), np.empty((4, 2))
    started = False
    while count > 0:
        if count & 1:
            if started:
                multiply(out, base, spare)
                out[:] = spare
            else:
                out[:] = base
                started = True
        count >>= 1
        if count > 0:
            multiply(base, base, spare)
            base[:] = spare


@compiled(error_model="numpy")
def pairs_of(transition: Any, factor: Any, out: Any) -> None:
    """Entries of steps as pairs: transitions (corners, 4, 2) times factors (steps, 4)."""
    for corner in range(transition.shape[0]):
        for step in range(factor.shape[0]):
            for entry in range(4):
                found = _times(
                    transition[corner, entry, 0], transition[corner, entry, 1],
                    factor[step, entry], 0.0,
                )  # fmt: skip
                out[corner, step, entry, 0], out[corner, step, entry, 1] = found


@compiled(error_model="numpy")
def _apply(matrix: Any, odds: float) -> float:
    return float(image(matrix[0, 0], matrix[1, 0], matrix[2, 0], matrix[3, 0], odds))


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
                found = _apply(pairs[corner, step], value[node])
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
def _orders(policy: Any, order: Any) -> int:
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
def _follow(pairs: Any, policy: Any, value: Any, to: Any) -> None:
    """One step by the policy alone, moved outwards like every step."""
    for node in range(len(value)):
        if policy[node, 0] >= 0:
            matrix = pairs[policy[node, 1], policy[node, 0]]
            to[node] = _apply(matrix, value[policy[node, 2]])
        else:
            to[node] = np.inf if node % 2 == 0 else -1.0
    for node in range(len(value)):
        value[node] = to[node] * (DOWN if node % 2 == 0 else UP)


@compiled(error_model="numpy")
def _chains(pairs: Any, policy: Any, order: Any, deepest: int, roots: Any, chains: Any) -> None:
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
def _difference(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    """``a b + c d - e f - g h`` of pairs, and the sum of the sizes of its terms."""
    first, second = _times(a[0], a[1], b[0], b[1]), _times(c[0], c[1], d[0], d[1])
    third, fourth = _times(e[0], e[1], f[0], f[1]), _times(g[0], g[1], h[0], h[1])
    size = first[0] + second[0] + third[0] + fourth[0]
    left = _plus(first[0], first[1], second[0], second[1])
    right = _plus(third[0], third[1], fourth[0], fourth[1])
    total = _plus(left[0], left[1], -right[0], -right[1])
    return total[0], total[1], size


@compiled(error_model="numpy")
def _never_above(f: Any, g: Any, least: float, most: float, noise: float) -> bool:
    """Whether the image under ``f`` is at most that under ``g`` for all odds in a range.

    Up to a relative 4 times ``noise``. The difference has the sign of a polynomial of degree
    two, which is looked at in pairs.
    """
    zero = np.zeros(2)
    c0 = _difference(f[1], g[0], zero, zero, g[1], f[0], zero, zero)
    c1 = _difference(f[1], g[2], f[3], g[0], g[1], f[2], g[3], f[0])
    c2 = _difference(f[3], g[2], zero, zero, g[3], f[2], zero, zero)
    for side in range(2):
        odds = least if side == 0 else most
        inner = _times(c2[0], c2[1], odds, 0.0)
        inner = _plus(inner[0], inner[1], c1[0], c1[1])
        inner = _times(inner[0], inner[1], odds, 0.0)
        inner = _plus(inner[0], inner[1], c0[0], c0[1])
        size = (c2[2] * odds + c1[2]) * odds + c0[2]
        if inner[0] > noise * size:
            return False
    if c2[0] >= 0 or c1[0] <= 0:
        return True
    top = -c1[0] / (2 * c2[0])
    size = (c2[2] * top + c1[2]) * top + c0[2]
    return not least < top < most or c0[0] - c1[0] * c1[0] / (4 * c2[0]) <= noise * size


@compiled(error_model="numpy")
def _leads(
    pairs: Any, source: Any, target: Any, policy: Any, order: Any, roots: Any, chains: Any,
    least: Any, most: Any, noise: float, better: Any,
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
            a, b = _apply(chosen, least[from_node]), _apply(chosen, most[from_node])
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
                    c, d = _apply(matrix, least[node]), _apply(matrix, most[node])
                    # By more than rounding may have moved the two.
                    if goal == 0 and min(c, d) * DOWN >= bound:
                        continue
                    if goal == 1 and max(c, d) * UP <= bound:
                        continue
                    # The ranges overlap: compare the two at the same time, if they follow one
                    # root, as functions of what it was.
                    root = roots[from_node]
                    if roots[node] != root or policy[root, 2] != root:
                        if node == place and better[0] < 0:
                            # To stay is the first thing to try where two turns are alike.
                            better[0], better[1], better[2], better[3] = place, step, corner, node
                        return False
                    multiply(chains[from_node], chosen, ours)
                    multiply(chains[node], matrix, theirs)
                    late = order[node] - order[from_node]
                    loop = pairs[policy[root, 1], policy[root, 0]]
                    for _ in range(abs(late)):
                        if late > 0:
                            multiply(loop, ours, work)
                            ours[:] = work
                        else:
                            multiply(loop, theirs, work)
                            theirs[:] = work
                    low, high = (theirs, ours) if goal == 1 else (ours, theirs)
                    if not _never_above(low, high, least[root], most[root], noise):
                        better[0], better[1], better[2], better[3] = place, step, corner, node
                        return False
    return True


@compiled(error_model="numpy")
def _cycle(pairs: Any, policy: Any, node: int, out: Any) -> None:
    """Two steps along the cycle of a node, back to the node, as one matrix of pairs."""
    ahead = policy[node, 2]
    last = pairs[policy[node, 1], policy[node, 0]]
    first = pairs[policy[ahead, 1], policy[ahead, 0]]
    multiply(first, last, out)


@compiled(error_model="numpy")
def _log_growth(matrix: Any, odds: float) -> float:
    """``log(image / odds)``, to full relative accuracy also close to a fixed point."""
    square = _product(odds, odds)
    top = _times(matrix[2, 0], matrix[2, 1], square[0], square[1])
    up = _plus(matrix[3, 0], matrix[3, 1], -matrix[0, 0], -matrix[0, 1])
    up = _times(up[0], up[1], odds, 0.0)
    top = _plus(up[0], up[1], -top[0], -top[1])
    top = _plus(top[0], top[1], matrix[1, 0], matrix[1, 1])
    return float(np.log1p(top[0] / ((matrix[0, 0] + matrix[2, 0] * odds) * odds)))


@compiled(error_model="numpy")
def _growth(matrix: Any, least: float, most: float) -> Any:
    """Range of the log of ``image / odds``, which falls in the odds."""
    low, high = _log_growth(matrix, most), _log_growth(matrix, least)
    return low - ROUNDING * abs(low), high + ROUNDING * abs(high)


@compiled(error_model="numpy")
def _pull(m: Any, least: float, most: float) -> Any:
    """Range of the elasticity ``d log image / d log odds`` over odds in a range."""
    det = m[0, 0] * m[3, 0] - m[1, 0] * m[2, 0]
    small = least * abs(det) / ((m[1, 0] + most * m[3, 0]) * (m[0, 0] + most * m[2, 0]))
    large = most * abs(det) / ((m[1, 0] + least * m[3, 0]) * (m[0, 0] + least * m[2, 0]))
    small, large = small * (1 - ROUNDING), min(large * (1 + ROUNDING), 1.0)
    return (small, large) if det > 0 else (-large, -small)


@compiled(error_model="numpy")
def _mixed(a: Any, b: Any) -> Any:
    """Range of a product of two ranges."""
    low = min(min(a[0] * b[0], a[0] * b[1]), min(a[1] * b[0], a[1] * b[1]))
    high = max(max(a[0] * b[0], a[0] * b[1]), max(a[1] * b[0], a[1] * b[1]))
    return low, high


@compiled(error_model="numpy")
def _joint_growth(cycle: Any, twice: Any, told_range: Any, prior: Any) -> Any:
    """Range of the log by which ``T = odds / prior`` grows in two steps, over T and prior.

    ``T' / T`` is a product of two functions that are monotone in T and in the prior odds, so
    each has its extremes at corners.
    """
    lows, highs = np.full(2, np.inf), np.full(2, -np.inf)
    for one in range(2):
        ratio = told_range[one]
        for other in range(2):
            odds = prior[other]
            first = cycle[1, 0] / ratio + cycle[3, 0] * odds
            first /= twice[1, 0] + twice[3, 0] * odds
            second = twice[0, 0] + twice[2, 0] * odds
            second /= cycle[0, 0] + cycle[2, 0] * odds * ratio
            lows[0], highs[0] = min(lows[0], np.log(first)), max(highs[0], np.log(first))
            lows[1], highs[1] = min(lows[1], np.log(second)), max(highs[1], np.log(second))
    return lows.sum() - LOG_ROUNDING, highs.sum() + LOG_ROUNDING


@compiled(error_model="numpy")
def _lean(p: float, s: float, m: float, n: float, ratios: Any, prior: Any) -> Any:
    """Range of ``p / (p + s o) - m / (m + n o T)`` over prior odds o and ratios T.

    It is ``o (p n T - m s) / ((p + s o) (m + n o T))``, whose sign is that of the bracket.
    """
    low = p * n * ratios[0] * (1 - 1e-15) - m * s * (1 + 1e-15)
    high = p * n * ratios[1] * (1 + 1e-15) - m * s * (1 - 1e-15)
    wide = prior[1] / ((p + s * prior[0]) * (m + n * prior[0] * ratios[0])) * (1 + 1e-14)
    narrow = prior[0] / ((p + s * prior[1]) * (m + n * prior[1] * ratios[1])) * (1 - 1e-14)
    return _mixed((low, high), (narrow, wide))


@compiled(error_model="numpy")
def _followed(chain: Any, plain: Any, ratios: Any, prior: Any, grown: Any, growth: Any) -> Any:
    """Range of the growth of a node that follows a root, by the mean value theorem.

    ``grown`` is the range of the root's own growth over the prior's, ``growth`` the prior's,
    ``ratios`` that of the root's odds over the prior.
    """
    first = _lean(plain[1, 0], plain[3, 0], chain[1, 0], chain[3, 0], ratios, prior)
    second = _lean(plain[0, 0], plain[2, 0], chain[0, 0], chain[2, 0], ratios, prior)
    by_prior = _mixed((first[0] - second[1], first[1] - second[0]), growth)
    pull = _pull(chain, ratios[0] * prior[0], ratios[1] * prior[1])
    by_root = _mixed(pull, grown)
    return by_prior[0] + by_root[0], by_prior[1] + by_root[1]


@compiled(error_model="numpy")
def _settled(
    pairs: Any, plain: Any, policy: Any, order: Any, roots: Any, chains: Any, least: Any,
    most: Any, ratios: Any, prior: Any, best: Any, tolerance: float,
) -> bool:  # fmt: skip
    """Whether what was told inside a leap was no more than at its ends, or than the best.

    ``prior`` holds least and most odds of the prior in the leap, ``ratios`` (nodes, 2) least
    and most of odds over prior at its ends. If these ratios grow wherever they lie between
    the ones at the ends, they never leave that range: steps keep the order of ratios, so what
    once is beyond the upper end stays there, and likewise below if they shrink. One chain only.
    """
    cycle, twice, spare = np.empty((4, 2)), np.empty((4, 2)), np.empty((4, 2))
    multiply(plain[0], plain[0], twice)
    growth = _growth(twice, prior[0], prior[1])
    for label in range(best.shape[1]):
        for direction in range(2):
            node = 2 * label + direction
            if policy[node, 0] < 0:
                continue
            bound = most[node] / prior[0] if direction == 1 else prior[1] / least[node]
            top = 0.0
            for kind in range(3):
                top = max(top, best[0, label, direction, kind])
            if bound <= top * (1 + tolerance):
                continue
            root = roots[node]
            _cycle(pairs, policy, root, cycle)
            odds = (least[root], most[root])
            own = _growth(cycle, odds[0], odds[1])
            grown = _joint_growth(cycle, twice, ratios[root], prior)
            apart = (max(grown[0], own[0] - growth[1]), min(grown[1], own[1] - growth[0]))
            if order[node] > 0:
                power(plain[0], order[node], spare)
                pull = _mixed(_pull(chains[node], odds[0], odds[1]), own)
                # The prior is as late as the root is.
                one = (pull[0] - growth[1], pull[1] - growth[0])
                other = _followed(chains[node], spare, ratios[root], prior, apart, growth)
                apart = (max(one[0], other[0]), min(one[1], other[1]))
            if apart[0] < 0 < apart[1]:
                return False
    return True


@compiled(error_model="numpy")
def _land(pairs: Any, policy: Any, order: Any, deepest: int, value: Any, count: int, new: Any,
          last: Any, to: Any) -> None:  # fmt: skip
    """Where the nodes are after ``count`` steps and as many more as the slowest follower lags."""
    work, many = np.empty((4, 2)), np.empty((4, 2))
    new[:] = value
    for node in range(len(value)):
        if policy[node, 0] >= 0 and order[node] == 0:
            _cycle(pairs, policy, node, work)
            power(work, count // 2, many)
            new[node] = _apply(many, value[node]) * (DOWN * DOWN if node % 2 == 0 else UP * UP)
    for _ in range(deepest + 2):
        last[:] = new
        _follow(pairs, policy, new, to)


@compiled(error_model="numpy")
def _spans(policy: Any, value: Any, earlier: Any, new: Any, last: Any, least: Any,
           most: Any) -> bool:  # fmt: skip
    """The ranges of the nodes in a leap; False where one is not positive and finite."""
    for node in range(len(value)):
        least[node] = min(min(value[node], earlier[node]), min(new[node], last[node]))
        most[node] = max(max(value[node], earlier[node]), max(new[node], last[node]))
        least[node] *= 1 - WIDER
        most[node] *= 1 + WIDER
        if policy[node, 0] >= 0 and not 0 < least[node] <= most[node] < np.inf:
            return False
    return True


@compiled(error_model="numpy")
def leap(
    pairs: Any, plain: Any, source: Any, target: Any, noted: Any, value: Any, earlier: Any,
    prior: Any, before: Any, count: int, best: Any, tolerance: float,
) -> int:  # fmt: skip
    """Try ``count`` (even) steps at once; returns the steps taken, 0 for none.

    ``value`` (nodes,) are the ends now, ``earlier`` those one step before, ``prior`` and
    ``before`` the same of the prior odds (low, high). All four are moved on where it succeeds.
    ``best`` of no labels: no look at what is told.
    """
    nodes = len(value)
    order, better = np.empty(nodes, np.int64), np.empty(4, np.int64)
    roots, chains = np.zeros(nodes, np.int64), np.zeros((nodes, 4, 2))
    new, last, to = np.empty(nodes), np.empty(nodes), np.empty(nodes)
    least, most = np.empty(nodes), np.empty(nodes)
    policy = noted.copy()
    for _ in range(SWAPS):
        deepest = _orders(policy, order)
        if deepest < 0:
            return 0
        steps = count + deepest + 2
        _land(pairs, policy, order, deepest, value, count, new, last, to)
        if not _spans(policy, value, earlier, new, last, least, most):
            return 0
        _chains(pairs, policy, order, deepest, roots, chains)
        noise = EITHER / steps
        if _leads(
            pairs, source, target, policy, order, roots, chains, least, most, noise, better
        ):  # fmt: skip
            break
        if better[0] < 0:
            return 0
        # Steps that lead almost equally far are told apart here, in pairs of doubles.
        policy[better[0], 0], policy[better[0], 1] = better[1], better[2]
        policy[better[0], 2] = better[3]
    else:
        return 0
    after, behind = np.empty(2), np.empty(2)
    _move_prior(plain, prior, steps, after)
    _move_prior(plain, prior, steps - 1, behind)
    if best.shape[1] > 0:
        ranges = (
            min(min(prior[0], before[0]), min(after[0], behind[0])),
            max(max(prior[1], before[1]), max(after[1], behind[1])),
        )
        if not 0 < ranges[0] <= ranges[1] < np.inf:
            return 0
        ratios = np.empty((nodes, 2))
        for node in range(nodes):
            ends = (
                value[node] / prior[0], earlier[node] / before[0],
                new[node] / after[0], last[node] / behind[0],
            )  # fmt: skip
            ratios[node, 0] = min(min(ends[0], ends[1]), min(ends[2], ends[3])) * (1 - WIDER)
            ratios[node, 1] = max(max(ends[0], ends[1]), max(ends[2], ends[3])) * (1 + WIDER)
        if not _settled(
            pairs, plain, policy, order, roots, chains, least, most, ratios, ranges, best,
            tolerance,
        ):  # fmt: skip
            return 0
    value[:], earlier[:], prior[:], before[:] = new, last, after, behind
    return steps


@compiled(error_model="numpy")
def _move_prior(plain: Any, prior: Any, count: int, out: Any) -> None:
    """The prior odds after ``count`` steps; over several corners, each followed alone.

    A box is followed by its extreme corners only where that is what every step would do: the
    ends of the prior are those of the corners by which they were reached.
    """
    many = np.empty((4, 2))
    out[0], out[1] = np.inf, -1.0
    for corner in range(plain.shape[0]):
        power(plain[corner], count, many)
        for side in range(2):
            found = _apply(many, prior[side])
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
    earlier, before = value.copy(), prior.copy()
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
            mark[:], mark_depth = value, depth
        if steady > nodes + 2:
            watched = best if kind >= 0 else nothing
            taken = leap(
                pairs, plain, source, target, policy, value, earlier, prior, before, count,
                watched, tolerance,
            )  # fmt: skip
            if taken > 0:
                if kind >= 0:
                    _tell(earlier, before, kind, family, depth + taken - 1, best, where)
                depth += taken
                count = min(2 * count, 1 << 40)
                continue
            if count > SHORTEST:
                count = max(SHORTEST, count // 8 * 2)
                continue
            steady = nodes
        earlier[:], before[:] = value, prior
        same = noted_step(pairs, source, target, value, to, policy)
        _move_prior(plain, before, 1, prior)
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
        pairs, plain, source, target, hull, prior[families - 1].copy(), -1, 0, hull, 0, far,
        limit, tolerance, best, where, unused,
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
    end: int,
) -> Any:  # fmt: skip
    """``kernel.trace`` in leaps: steps and how often each is taken, the target's first.

    Returns an array of shape (runs, 2) and the end of the interval from which the way starts.
    """
    nodes = 2 * len(low)
    value = np.empty(nodes)
    value[0::2], value[1::2] = low, high
    segments = [(0, np.full((nodes, 3), -1))]
    policy, to = np.full((nodes, 3), -1), np.empty(nodes)
    earlier, prior, before = value.copy(), np.ones(2), np.ones(2)
    nothing = np.empty((1, 0, 2, 3))
    reached, steady, count = 0, 0, SHORTEST
    while reached < depth:
        while count > SHORTEST and count + nodes + 2 > depth - reached:
            count //= 2
        if steady > nodes + 2 and count + nodes + 2 <= depth - reached:
            taken = leap(
                pairs, plain, source, target, policy, value, earlier, prior, before, count,
                nothing, 1.0,
            )  # fmt: skip
            if taken > 0:
                segments.append((taken, policy.copy()))
                reached, count = reached + taken, min(2 * count, 1 << 40)
                continue
            if count > SHORTEST:
                count //= 2
                continue
            steady = nodes
        earlier[:] = value
        same = noted_step(pairs, source, target, value, to, policy)
        steady = steady + 1 if same else 0
        segments.append((1, policy.copy()))
        reached += 1
    path = [(0, 0)]
    node = 2 * label + end
    for back in range(len(segments) - 1, 0, -1):
        left, how = segments[back]
        while left > 0:
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
