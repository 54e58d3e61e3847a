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

# The loops here allocate nothing, so that no references are counted: there is less to compile.
PLAIN: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
# Functions that only other loops call need no way in from Python.
inner = compiled(**PLAIN, no_cpython_wrapper=True)


@inner
def sort_rising(score: Any, order: Any, first: int, count: int) -> None:
    """Numbers of rows from the first on, in the column ``OLDER``, by rising score: Shell's sort."""
    gap = 1
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, first + count):
            moved, j = order[i, OLDER], i
            while j >= first + gap and score[order[j - gap, OLDER], BEST] > score[moved, BEST]:
                order[j, OLDER] = order[j - gap, OLDER]
                j -= gap
            order[j, OLDER] = moved
        gap //= 3


@inner
def cover(rows: Any, one: int, two: int, most: float) -> float:
    """The least g by coefficients with which the second word covers the first; inf: above most."""
    k = rows.shape[2]
    worst = 0.0
    # Most words that do not cover another are seen in a state alone.
    for x in range(k):
        above = rows[one, FAR_OVER, x] * rows[two, FAR_UNDER, x]
        if above > 0.0:
            below = rows[two, FAR_OVER, x] * rows[one, FAR_UNDER, x]
            if not above < most * below:
                return np.inf
            worst = max(worst, above / below)
    for x in range(k):
        for y in range(x + 1, k):
            above = (
                rows[one, FAR_OVER, x] * rows[two, FAR_UNDER, y]
                + rows[one, FAR_OVER, y] * rows[two, FAR_UNDER, x]
            )
            if above > 0.0:
                below = (
                    rows[two, FAR_OVER, x] * rows[one, FAR_UNDER, y]
                    + rows[two, FAR_OVER, y] * rows[one, FAR_UNDER, x]
                )
                if not above < most * below:
                    return np.inf
                worst = max(worst, above / below)
    return worst


@inner
def spell(rows: Any, at: int, to: int, matrix: Any, weight: Any, where: Any) -> None:
    """The rows behind one more letter, scaled together; tiny entries to the safe side.

    ``where``: phase, label and letter, as they stand in ``weight``.
    """
    k = rows.shape[2]
    most = 0.0
    for y in range(k):
        above, below = 0.0, 0.0
        for x in range(k):
            step = weight[where[0], where[1], where[2], x] * matrix[x, y]
            above += rows[at, OVER, x] * step
            below += rows[at, UNDER, x] * step
        rows[to, OVER, y], rows[to, UNDER, y] = above, below
        most = max(most, max(above, below))
    for y in range(k if most > 0.0 else 0):
        above, below = rows[to, OVER, y] / most, rows[to, UNDER, y] / most
        if 0.0 < above < SMALLEST:
            above = SMALLEST
        rows[to, OVER, y], rows[to, UNDER, y] = above, 0.0 if below < SMALLEST else below


@inner
def appraise(tables: Any, depth: int, label: int, rows: Any, at: int, attained: Any) -> Any:
    """Bound for a word and all that go on from it, and the end with which it is worth most.

    Fills in what it is worth if its side ends here, by known value and at an end, and its rows
    from afar: what follows has at least the share ``mix[x]`` of its sum in x, so it is a mixture of
    the rays ``mix + rest e_x``, and a row is worth most on one of them.
    """
    k, ending, phase = rows.shape[2], -1, tables.phase[depth]
    rest, over, under = 1.0, 0.0, 0.0
    for x in range(k):
        share = tables.mix[depth, label, x]
        rest -= share
        over += rows[at, OVER, x] * share
        under += rows[at, UNDER, x] * share
    quotient, most = 0.0, -np.inf
    for x in range(k):
        one, two, prior = rows[at, OVER, x], rows[at, UNDER, x], tables.prior[depth, x]
        value = -np.inf
        if one > 0.0 and prior > -np.inf and tables.used[depth, label, x] <= tables.limit:
            value = np.inf if two == 0.0 else np.log(one / two) + prior
        attained[at, x] = value
        most = max(most, value)
        above, below = over + rest * one, under + rest * two
        rows[at, FAR_OVER, x], rows[at, FAR_UNDER, x] = above, below
        if above > 0.0:
            quotient = np.inf if below == 0.0 else max(quotient, above / below)
    best, prior = -np.inf, tables.prior[depth, k + END]
    if prior > -np.inf and tables.used[depth, label, k] <= tables.limit:
        for end in range(tables.counts[1, phase, label]):
            over, under = 0.0, 0.0
            for x in range(k):
                over += rows[at, OVER, x] * tables.ends[phase, label, end, x]
                under += rows[at, UNDER, x] * tables.ends[phase, label, end, x]
            if over > 0.0:
                value = np.inf if under == 0.0 else np.log(over / under) + prior
                if value > best:
                    best, ending = value, end
    attained[at, k] = best
    most = max(most, best) + 64 * UNIT
    behind = tables.prior[depth, k + BEHIND]
    if quotient > 0.0 and behind > -np.inf:
        most = max(most, np.log(quotient) + behind + 16 * (k + 16) * UNIT)
    return most, ending


@compiled(**PLAIN)
def build(
    graph: Any, tables: Any, first: int, last: int, share: Any, most: int, low: Any, word: Any
) -> int:
    """Lay the nodes out depth by depth, from ``first`` to ``last``; the depth that was reached.

    At each depth the strongest words come first. A word gets a node of its own where no other
    covers it within ``share[depth]`` along the whole way, and while there are fewer than
    ``most`` nodes of its label. ``low``: what is attained, ways below it are not followed; of
    shape (1,), or by points where they are limited: a longer word is no reason to drop a shorter.

    New words are written behind the room for nodes. From the depth -1 on, the target itself gets a
    node, which is given there, and then the words on the way to ``word``, and no others: a word
    that is known to be good. No way leads to them yet.
    """
    rows, attained, whole, real = graph.rows, graph.attained, graph.whole, graph.real
    newest, kids, made = graph.newest, graph.kids, graph.made
    k, labels, behind = rows.shape[2], newest.shape[1], len(kids)
    slack = np.log1p(16 * (k + 12) * UNIT)
    is_led = first < 0
    for depth in range(first, last):
        words = 1 if is_led else 0
        for label in range(0 if is_led else labels):
            words += newest[depth, label, 1] * tables.counts[0, tables.phase[depth], label]
        if words == 0 or made[0] + words > behind:
            return depth
        found = behind
        for label in range(labels if depth >= 0 else 0):
            phase, node = tables.phase[depth], newest[depth, label, 0]
            while node >= 0:
                for letter in range(tables.counts[0, phase, label]):
                    if is_led and letter != word[depth]:
                        continue
                    where = phase, label, letter
                    spell(rows, node, found, tables.matrix, tables.weight, where)
                    whole[found, PARENT], whole[found, LETTER] = node, letter
                    whole[found, LABEL] = tables.next[phase, label, letter]
                    found += 1
                node = whole[node, OLDER]
        for at in range(behind, behind + words):
            label = whole[at, LABEL]
            real[at, BOUND], whole[at, ENDING] = appraise(
                tables, depth + 1, label, rows, at, attained
            )
            above, below = 0.0, 0.0
            for x in range(k):
                above += rows[at, OVER, x]
                below += rows[at, UNDER, x]
            gain = np.inf if below == 0.0 else np.log(max(above, 1e-300) / below)
            real[at, BEST] = -gain - real[whole[at, PARENT], REACH]
            whole[at, OLDER] = at
        sort_rising(real, whole, behind, words)
        for i in range(behind, behind + words):
            place = whole[i, OLDER]
            node, letter = whole[place, PARENT], whole[place, LETTER]
            following = whole[place, LABEL]
            reach, bound = real[node, REACH], real[place, BOUND]
            points = min(tables.used[depth + 1, following, k + LEAST], len(low) - 1)
            if reach + bound <= low[points] and not is_led:
                kids[node, letter], graph.cost[node, letter] = CLOSED, bound
                continue
            nearest, cost, cheapest = -1, np.inf, np.inf
            crowded = newest[depth + 1, following, 1] >= most
            usual = max(share[depth, 0] - reach, share[depth, 1])
            usual_factor = np.exp(min(usual, 600.0))
            other = newest[depth + 1, following, 0]
            while other >= 0:
                # The first that is near enough; where there are too many, else the cheapest.
                fits, limit = usual, usual_factor
                if real[other, REACH] > share[depth, 0]:
                    fits = max(real[other, REACH] - reach, share[depth, 1])
                    limit = np.exp(min(fits, 600.0))
                if crowded:
                    limit = max(limit, cheapest)
                factor = cover(rows, place, other, limit)
                if factor < np.inf:
                    now = np.log(factor) + slack
                    if now <= fits or now < cost:
                        nearest, cost, cheapest = other, now, factor
                        if now <= fits:
                            break
                other = whole[other, OLDER]
            if nearest < 0 or (other < 0 and not crowded):
                nearest, cost = made[0], slack
                made[0] += 1
                for x in range(k):
                    for line in range(4):
                        rows[nearest, line, x] = rows[place, line, x]
                for kind in range(k + 1):
                    attained[nearest, kind] = attained[place, kind]
                    points = min(tables.used[depth + 1, following, kind], len(low) - 1)
                    while points < len(low) and low[points] < attained[place, kind]:
                        low[points] = attained[place, kind]
                        points += 1
                whole[nearest, DEPTH], whole[nearest, LABEL] = depth + 1, following
                whole[nearest, PARENT], whole[nearest, LETTER] = node, letter
                whole[nearest, ENDING] = whole[place, ENDING]
                whole[nearest, OLDER] = newest[depth + 1, following, 0]
                newest[depth + 1, following, 0] = nearest
                newest[depth + 1, following, 1] += 1
                kids[nearest, 0] = -1
                real[nearest, BOUND] = real[nearest, BEST] = bound
                real[nearest, REACH] = -np.inf
            if not is_led:
                kids[node, letter], graph.cost[node, letter] = nearest, cost
                real[nearest, REACH] = max(real[nearest, REACH], reach + cost)
    return last


@compiled(**PLAIN)
def settle(graph: Any, used: Any, counts: Any, room: int) -> None:
    """The largest value of each node, from the deepest to the root, and of the way to it.

    ``counts`` (depths, labels): letters that go on.
    """
    attained, real, whole, kids = graph.attained, graph.real, graph.whole, graph.kids
    cost, newest, k = graph.cost, graph.newest, attained.shape[1] - 1
    depths, labels = newest.shape[0], newest.shape[1]
    for depth in range(depths - 1, -1, -1):
        for label in range(labels):
            node = newest[depth, label, 0]
            last = used[depth, label, k + FURTHER] > room
            while node >= 0:
                best = -np.inf
                for kind in range(k + 1):
                    if used[depth, label, kind] <= room:
                        best = max(best, attained[node, kind])
                if not last and kids[node, 0] == -1:
                    best = real[node, BOUND]
                elif not last:
                    for letter in range(counts[depth, label]):
                        value = cost[node, letter]
                        if kids[node, letter] >= 0:
                            value += real[kids[node, letter], BEST]
                        best = max(best, value)
                    best = min(best, real[node, BOUND])
                real[node, BEST], real[node, REACH] = best, -np.inf
                node = whole[node, OLDER]
    real[0, REACH] = 0.0
    for depth in range(depths):
        for label in range(labels):
            node = newest[depth, label, 0]
            while node >= 0:
                reach = real[node, REACH]
                if kids[node, 0] != -1 and reach > -np.inf:
                    for letter in range(counts[depth, label]):
                        kid = kids[node, letter]
                        if kid >= 0:
                            real[kid, REACH] = max(real[kid, REACH], reach + cost[node, letter])
                node = whole[node, OLDER]


@compiled(**PLAIN)
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
