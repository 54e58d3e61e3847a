"""Compiled search over the words on one side of the target, with words that cover others.

A *word* is what is reported on one side, from the target outwards. After j letters it is a
pair of rows, ``over`` for the value a of the target and ``under`` for b: what the rest of
that side says enters as a nonnegative vector w, and the word is worth
``(over . w) / (under . w)``. One word covers another within a factor g if

    (over . w) (under' . w) <= g (over' . w) (under . w)    for every w >= 0.

Both sides are quadratic forms with nonnegative coefficients, so the largest quotient of
coefficients is such a g. Words are kept as nodes by depth and label; a letter leads from a node
to the node that covers the word it makes, at a *cost*, the log of g. The value of the best
word is at most the longest way through this graph. Every node is a word that can be reported: what
it attains is a lower bound.

All numbers are sums and products of nonnegative ones: nothing cancels, each operation costs a
factor within 1 +- 2^-53. A node is taken as the pair of rows that is stored, whatever word it came
from, so that rounding does not pile up: each link is widened for the one step it describes.

Compiling is most of the time of a first loss. Functions therefore take few arrays, of which each
costs about as much as ten lines, read single entries of them, and call few others, since a caller
is compiled together with all that it calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

UNIT = 2.0**-53
# Entries of a row below this share of its largest are moved to the safe side.
SMALLEST = 1e-200
# What stands for a letter that leads nowhere worth a look: its bound is stored as the cost.
CLOSED = -2
# Rows of a node: as they are, and on the rays that hold all that may follow.
OVER, UNDER, FAR_OVER, FAR_UNDER = 0, 1, 2, 3
# Whole numbers of a node, and its real ones.
DEPTH, LABEL, PARENT, LETTER, OLDER, ENDING = 0, 1, 2, 3, 4, 5
BOUND, BEST, REACH = 0, 1, 2
# Columns of priors and of points behind those of the k values: the end, and what lies behind.
END, BEHIND = 0, 1
LEAST, FURTHER = 1, 2

# Functions that only other loops call need no way in from Python.
inner = compiled(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@inner
def sort_rising(score: Any, order: Any) -> None:
    """Places by rising score: Shell's sort."""
    for i in range(len(score)):
        order[i] = i
    gap = 1
    while 3 * gap < len(score):
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(score)):
            moved, j = order[i], i
            while j >= gap and score[order[j - gap]] > score[moved]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = moved
        gap //= 3


@inner
def cover(rows: Any, one: int, others: Any, two: int, most: float) -> float:
    """The least g by coefficients with which the second word covers the first; inf: above most."""
    k = rows.shape[2]
    worst = 0.0
    # Most words that do not cover another are seen in a state alone.
    for x in range(k):
        above = rows[one, FAR_OVER, x] * others[two, FAR_UNDER, x]
        if above > 0.0:
            below = others[two, FAR_OVER, x] * rows[one, FAR_UNDER, x]
            if not above < most * below:
                return np.inf
            worst = max(worst, above / below)
    for x in range(k):
        for y in range(x + 1, k):
            above = (
                rows[one, FAR_OVER, x] * others[two, FAR_UNDER, y]
                + rows[one, FAR_OVER, y] * others[two, FAR_UNDER, x]
            )
            if above > 0.0:
                below = (
                    others[two, FAR_OVER, x] * rows[one, FAR_UNDER, y]
                    + others[two, FAR_OVER, y] * rows[one, FAR_UNDER, x]
                )
                if not above < most * below:
                    return np.inf
                worst = max(worst, above / below)
    return worst


@inner
def spell(rows: Any, at: int, tables: Any, where: Any, new: Any, to: int) -> None:
    """The rows behind one more letter, scaled together; tiny entries to the safe side.

    ``where``: phase, label and letter, as they stand in ``tables.weight``.
    """
    k = rows.shape[2]
    most = 0.0
    for y in range(k):
        above, below = 0.0, 0.0
        for x in range(k):
            step = tables.weight[where[0], where[1], where[2], x] * tables.matrix[x, y]
            above += rows[at, OVER, x] * step
            below += rows[at, UNDER, x] * step
        new[to, OVER, y], new[to, UNDER, y] = above, below
        most = max(most, above, below)
    for y in range(k if most > 0.0 else 0):
        above, below = new[to, OVER, y] / most, new[to, UNDER, y] / most
        if 0.0 < above < SMALLEST:
            above = SMALLEST
        new[to, OVER, y], new[to, UNDER, y] = above, 0.0 if below < SMALLEST else below


@inner
def attain(tables: Any, depth: int, label: int, rows: Any, at: int, attained: Any) -> int:
    """What a word is worth if its side ends here, by known value and at an end; which end."""
    k, ending = rows.shape[2], -1
    phase = tables.phase[depth]
    for y in range(k):
        over, under, prior = rows[at, OVER, y], rows[at, UNDER, y], tables.prior[depth, y]
        attained[at, y] = -np.inf
        if over > 0.0 and prior > -np.inf and tables.used[depth, label, y] <= tables.limit:
            attained[at, y] = np.inf if under == 0.0 else np.log(over / under) + prior
    attained[at, k] = -np.inf
    prior = tables.prior[depth, k + END]
    if prior == -np.inf or tables.used[depth, label, k] > tables.limit:
        return ending
    for end in range(tables.counts[1, phase, label]):
        over, under = 0.0, 0.0
        for x in range(k):
            over += rows[at, OVER, x] * tables.ends[phase, label, end, x]
            under += rows[at, UNDER, x] * tables.ends[phase, label, end, x]
        if over > 0.0:
            value = np.inf if under == 0.0 else np.log(over / under) + prior
            if value > attained[at, k]:
                attained[at, k], ending = value, end
    return ending


@inner
def bound_of(tables: Any, depth: int, label: int, rows: Any, at: int, attained: Any) -> float:
    """Bound for a word and all that go on from it; fills its rows from afar.

    What follows has at least the share ``mix[x]`` of its sum in x, so it is a mixture of the rays
    ``mix + rest e_x``, and a row is worth most on one of them.
    """
    k = rows.shape[2]
    rest, over, under = 1.0, 0.0, 0.0
    for x in range(k):
        share = tables.mix[depth, label, x]
        rest -= share
        over += rows[at, OVER, x] * share
        under += rows[at, UNDER, x] * share
    quotient = 0.0
    most: float = attained[at, k]
    for x in range(k):
        above, below = over + rest * rows[at, OVER, x], under + rest * rows[at, UNDER, x]
        rows[at, FAR_OVER, x], rows[at, FAR_UNDER, x] = above, below
        if above > 0.0:
            quotient = np.inf if below == 0.0 else max(quotient, above / below)
        most = max(most, attained[at, x])
    most += 64 * UNIT
    behind = tables.prior[depth, k + BEHIND]
    if quotient == 0.0 or behind == -np.inf:
        return most
    found: float = max(most, np.log(quotient) + behind + 16 * (k + 16) * UNIT)
    return found


@inner
def append(graph: Any, origin: Any, place: Any, rows: Any, at: int, attained: Any) -> int:
    """A node of its own for a word; ``origin``: parent and letter, ``place``: depth and label."""
    node: int = graph.made[0]
    graph.made[0] = node + 1
    k = rows.shape[2]
    for x in range(k):
        for line in range(4):
            graph.rows[node, line, x] = rows[at, line, x]
        graph.attained[node, x] = attained[at, x]
    graph.attained[node, k] = attained[at, k]
    depth, label = place
    graph.whole[node, DEPTH], graph.whole[node, LABEL] = depth, label
    graph.whole[node, PARENT], graph.whole[node, LETTER] = origin
    graph.whole[node, OLDER] = graph.newest[depth, label, 0]
    graph.newest[depth, label, 0] = node
    graph.newest[depth, label, 1] += 1
    graph.kids[node, 0] = -1
    graph.real[node, REACH] = -np.inf
    return node


@compiled(error_model="numpy")
def begin(graph: Any, tables: Any, rows: Any, attained: Any, label: int, word: Any) -> None:
    """The target itself, and the words on the way to one that is known to be good.

    ``rows`` (letters + 1, 4, k) begins with the rows of the target; ``attained``: room for as many.
    """
    node: Any = np.int64(-1)
    for depth in range(len(word) + 1):
        letter = -1
        if depth > 0:
            letter = word[depth - 1]
            where = (tables.phase[depth - 1], label, letter)
            spell(rows, depth - 1, tables, where, rows, depth)
            label = tables.next[where[0], label, letter]
        ending = attain(tables, depth, label, rows, depth, attained)
        bound = bound_of(tables, depth, label, rows, depth, attained)
        node = append(graph, (node, letter), (depth, label), rows, depth, attained)
        graph.whole[node, ENDING] = ending
        graph.real[node, BOUND] = graph.real[node, BEST] = bound
    graph.real[0, REACH] = 0.0


@compiled(error_model="numpy")
def build(graph: Any, tables: Any, first: int, last: int, share: Any, most: int, low: Any) -> int:
    """Lay the nodes out depth by depth, from ``first`` to ``last``; the depth that was reached.

    At each depth the strongest words come first. A word gets a node of its own where no other
    covers it within ``share[depth]`` along the whole way, and while there are fewer than
    ``most`` nodes of its label. ``low``: what is attained, ways below it are not followed; of
    shape (1,), or by points where they are limited: a longer word is no reason to drop a shorter.
    """
    k, labels = graph.rows.shape[2], graph.newest.shape[1]
    slack = np.log1p(16 * (k + 12) * UNIT)
    for depth in range(first, last):
        words, phase = 0, tables.phase[depth]
        for label in range(labels):
            words += graph.newest[depth, label, 1] * tables.counts[0, phase, label]
        if words == 0 or graph.made[0] + words > len(graph.whole):
            return depth
        rows, attained = np.empty((words, 4, k)), np.empty((words, k + 1))
        origin = np.empty((words, 5), np.int64)
        score = np.empty((2, words))
        found: Any = np.int64(0)
        for label in range(labels):
            node = graph.newest[depth, label, 0]
            while node >= 0:
                for letter in range(tables.counts[0, phase, label]):
                    following = tables.next[phase, label, letter]
                    spell(graph.rows, node, tables, (phase, label, letter), rows, found)
                    origin[found, 0], origin[found, 1] = node, letter
                    origin[found, 2] = following
                    origin[found, 3] = attain(tables, depth + 1, following, rows, found, attained)
                    bound = bound_of(tables, depth + 1, following, rows, found, attained)
                    above, below = 0.0, 0.0
                    for x in range(k):
                        above += rows[found, OVER, x]
                        below += rows[found, UNDER, x]
                    gain = np.inf if below == 0.0 else np.log(max(above, 1e-300) / below)
                    score[0, found] = -gain - graph.real[node, REACH]
                    score[1, found] = bound
                    found += 1
                node = graph.whole[node, OLDER]
        sort_rising(score[0], origin[:, 4])
        for i in range(words):
            place = origin[i, 4]
            node, letter, following = origin[place, 0], origin[place, 1], origin[place, 2]
            reach, bound = graph.real[node, REACH], score[1, place]
            points = min(tables.used[depth + 1, following, k + LEAST], len(low) - 1)
            if reach + bound <= low[points]:
                graph.kids[node, letter], graph.cost[node, letter] = CLOSED, bound
                continue
            nearest, cost, cheapest = -1, np.inf, np.inf
            crowded = graph.newest[depth + 1, following, 1] >= most
            usual = max(share[depth, 0] - reach, share[depth, 1])
            usual_factor = np.exp(min(usual, 600.0))
            other = graph.newest[depth + 1, following, 0]
            while other >= 0:
                # The first that is near enough; where there are too many, else the cheapest.
                fits, limit = usual, usual_factor
                if graph.real[other, REACH] > share[depth, 0]:
                    fits = max(graph.real[other, REACH] - reach, share[depth, 1])
                    limit = np.exp(min(fits, 600.0))
                if crowded:
                    limit = max(limit, cheapest)
                factor = cover(rows, place, graph.rows, other, limit)
                if factor < np.inf:
                    now = np.log(factor) + slack
                    if now <= fits or now < cost:
                        nearest, cost, cheapest = other, now, factor
                        if now <= fits:
                            break
                other = graph.whole[other, OLDER]
            if nearest < 0 or (other < 0 and not crowded):
                where = (depth + 1, following)
                nearest, cost = append(graph, (node, letter), where, rows, place, attained), slack
                graph.whole[nearest, ENDING] = origin[place, 3]
                graph.real[nearest, BOUND] = graph.real[nearest, BEST] = bound
                for kind in range(k + 1):
                    points = min(tables.used[depth + 1, following, kind], len(low) - 1)
                    while points < len(low) and low[points] < attained[place, kind]:
                        low[points] = attained[place, kind]
                        points += 1
            graph.kids[node, letter], graph.cost[node, letter] = nearest, cost
            graph.real[nearest, REACH] = max(graph.real[nearest, REACH], reach + cost)
    return last


@compiled(error_model="numpy")
def settle(graph: Any, tables: Any, room: int) -> None:
    """The largest value of each node, from the deepest to the root, and of the way to it."""
    k = graph.rows.shape[2]
    depths, labels = graph.newest.shape[0], graph.newest.shape[1]
    for depth in range(depths - 1, -1, -1):
        for label in range(labels):
            node = graph.newest[depth, label, 0]
            letters = tables.counts[0, tables.phase[depth], label]
            last = tables.used[depth, label, k + FURTHER] > room
            while node >= 0:
                best = -np.inf
                for kind in range(k + 1):
                    if tables.used[depth, label, kind] <= room:
                        best = max(best, graph.attained[node, kind])
                if not last and graph.kids[node, 0] == -1:
                    best = graph.real[node, BOUND]
                elif not last:
                    for letter in range(letters):
                        kid, value = graph.kids[node, letter], graph.cost[node, letter]
                        if kid >= 0:
                            value += graph.real[kid, BEST]
                        best = max(best, value)
                    best = min(best, graph.real[node, BOUND])
                graph.real[node, BEST], graph.real[node, REACH] = best, -np.inf
                node = graph.whole[node, OLDER]
    graph.real[0, REACH] = 0.0
    for depth in range(depths):
        for label in range(labels):
            node = graph.newest[depth, label, 0]
            letters = tables.counts[0, tables.phase[depth], label]
            while node >= 0:
                reach = graph.real[node, REACH]
                if graph.kids[node, 0] != -1 and reach > -np.inf:
                    for letter in range(letters):
                        kid = graph.kids[node, letter]
                        if kid >= 0:
                            way = reach + graph.cost[node, letter]
                            graph.real[kid, REACH] = max(graph.real[kid, REACH], way)
                node = graph.whole[node, OLDER]


@compiled(error_model="numpy")
def prepare(tables: Any, first: int, image: Any) -> None:
    """Fill in the points that words take up at least, and the least shares of what follows.

    Points: from a depth and label on, and behind it. Shares: if nothing ends before depth
    ``first``, what follows a point is its letter's weight times one step of the chain from what
    follows the next one; from ``first`` (no share at all) towards the target. ``image`` (2, k).
    """
    depths, labels, k = tables.mix.shape
    for depth in range(depths - 1, -1, -1):
        phase = tables.phase[depth]
        for label in range(labels):
            own = tables.used[depth, label, 0]
            for kind in range(1, k + 1):
                own = min(own, tables.used[depth, label, kind])
            count = tables.counts[0, phase, label]
            behind = own if depth + 1 == depths else np.int64(1) << 40
            for letter in range(count if depth + 1 < depths else 0):
                following = tables.next[phase, label, letter]
                behind = min(behind, tables.used[depth + 1, following, k + LEAST])
            tables.used[depth, label, k + FURTHER] = behind
            tables.used[depth, label, k + LEAST] = min(own, behind)
            if depth >= first or depth + 1 == depths or count == 0:
                continue
            for x in range(k):
                tables.mix[depth, label, x] = 1.0
            for letter in range(count):
                following = tables.next[phase, label, letter]
                rest = 1.0
                for u in range(k):
                    rest -= tables.mix[depth + 1, following, u]
                for x in range(k):
                    flow = 0.0
                    for u in range(k):
                        flow += tables.matrix[x, u] * tables.mix[depth + 1, following, u]
                    image[0, x] = flow
                for y in range(k):
                    total = 0.0
                    for x in range(k):
                        flow = image[0, x] + rest * tables.matrix[x, y]
                        image[1, x] = tables.weight[phase, label, letter, x] * flow
                        total += image[1, x]
                    for x in range(k if total > 0.0 else 0):
                        share = image[1, x] / total * (1.0 - 64.0 * k * UNIT)
                        tables.mix[depth, label, x] = min(tables.mix[depth, label, x], share)
