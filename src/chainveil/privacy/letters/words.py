"""Compiled search over the words on one side of the target, with words that cover others.

A *word* is what is reported on one side, from the target outwards. After j letters it is a
pair of rows, ``over`` for the value a of the target and ``under`` for b: what the rest of
that side says enters as a nonnegative vector w, and the word is worth
``(over . w) / (under . w)``. One word covers another within a factor g if

    (over . w) (under' . w) <= g (over' . w) (under . w)    for every w >= 0.

Both sides are quadratic forms with nonnegative coefficients, so the largest quotient of
coefficients is such a g. Words are kept as nodes by depth and label; a letter leads from a node
to the node that covers the word it makes, at a *cost*, the log of g. The value of the best
word is at most the longest way through this graph. Where that is too much, links on the longest
ways get nodes of their own. Every node is a word that can be reported: what it attains is a
lower bound.

All numbers are sums and products of nonnegative ones: nothing cancels, each operation costs a
factor within 1 +- 2^-53. A node is taken as the pair of rows that is stored, whatever word it came
from, so that rounding does not pile up: each link is widened for the one step it describes.
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
# Times that all letters of a word are gone through to improve it.
SWEEPS = 20


@compiled(error_model="numpy")
def sum_of(row: Any) -> float:
    """The sum of a row. (Loops compile in a fraction of the time of array functions.)"""
    found = 0.0
    for entry in row:
        found += entry
    return found


@compiled(error_model="numpy")
def largest(row: Any) -> Any:
    """The largest entry of a row."""
    found = row[0]
    for entry in row:
        found = max(found, entry)
    return found


@compiled(error_model="numpy")
def product(row: Any, other: Any) -> float:
    """The sum of the products of two rows' entries."""
    found = 0.0
    for x in range(len(row)):
        found += row[x] * other[x]
    return found


@compiled(error_model="numpy")
def copy(row: Any, out: Any) -> None:
    """Write a row over another."""
    for x in range(len(row)):
        out[x] = row[x]


@compiled(error_model="numpy")
def rising(score: Any) -> Any:
    """Places by rising score: Shell's sort."""
    order = np.empty(len(score), np.int64)
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
    return order


@compiled(error_model="numpy")
def cover(over: Any, under: Any, other_over: Any, other_under: Any, most: float) -> float:
    """The least g by coefficients with which the second word covers the first; inf: above most."""
    k = len(over)
    worst = 0.0
    for x in range(k):
        for y in range(x, k):
            above = over[x] * other_under[y] + over[y] * other_under[x]
            if above > 0.0:
                below = other_over[x] * under[y] + other_over[y] * under[x]
                if not above < most * below:
                    return np.inf
                worst = max(worst, above / below)
    return worst


@compiled(error_model="numpy")
def largest_quotient(over: Any, under: Any) -> float:
    """Largest over(x) / under(x) where either is positive."""
    worst = 0.0
    for x in range(len(over)):
        if over[x] > 0.0:
            if under[x] == 0.0:
                return np.inf
            worst = max(worst, over[x] / under[x])
    return worst


@compiled(error_model="numpy")
def spell(over: Any, under: Any, weight: Any, matrix: Any, new_over: Any, new_under: Any) -> None:
    """The rows behind one more letter, scaled together; tiny entries to the safe side."""
    k = len(over)
    most = 0.0
    for y in range(k):
        above, below = 0.0, 0.0
        for x in range(k):
            step = weight[x] * matrix[x, y]
            above += over[x] * step
            below += under[x] * step
        new_over[y], new_under[y] = above, below
        most = max(most, above, below)
    if most == 0.0:
        return
    for y in range(k):
        above, below = new_over[y] / most, new_under[y] / most
        if 0.0 < above < SMALLEST:
            above = SMALLEST
        new_over[y], new_under[y] = above, 0.0 if below < SMALLEST else below


@compiled(error_model="numpy")
def see_from_afar(row: Any, mix: Any, far: Any) -> None:
    """The row on the rays that hold all that may follow: ``far[x] = row . (mix + rest e_x)``.

    What follows has at least the share ``mix[x]`` of its sum in x, so it is a mixture of these.
    """
    rest, common = 1.0, 0.0
    for x in range(len(row)):
        rest -= mix[x]
        common += row[x] * mix[x]
    for x in range(len(row)):
        far[x] = common + rest * row[x]


@compiled(error_model="numpy")
def closing_bound(tables: Any, depth: int, over: Any, under: Any) -> Any:
    """Bound for all words that go on from these rows, at this depth."""
    quotient = largest_quotient(over, under)
    if quotient == 0.0 or tables.behind[depth] == -np.inf:
        return -np.inf
    return np.log(quotient) + tables.behind[depth] + 16 * (len(over) + 16) * UNIT


@compiled(error_model="numpy")
def at_known(tables: Any, depth: int, label: int, over: Any, under: Any, y: int) -> Any:
    """The value if the point at this depth is known to be y."""
    prior = tables.known[depth, y]
    if over[y] == 0.0 or prior == -np.inf or tables.used[depth, label, y] > tables.limit:
        return -np.inf
    return np.inf if under[y] == 0.0 else np.log(over[y] / under[y]) + prior


@compiled(error_model="numpy")
def at_end(tables: Any, depth: int, label: int, over: Any, under: Any) -> tuple[float, int]:
    """The largest value if the series ends at this depth, and with which end."""
    best, place = -np.inf, -1
    phase = tables.phase[depth]
    if tables.end[depth] == -np.inf or tables.used[depth, label, len(over)] > tables.limit:
        return best, place
    for s in range(tables.end_count[phase, label]):
        above, below = 0.0, 0.0
        for x in range(len(over)):
            above += over[x] * tables.ends[phase, label, s, x]
            below += under[x] * tables.ends[phase, label, s, x]
        if above > 0.0:
            value = np.inf if below == 0.0 else np.log(above / below) + tables.end[depth]
            if value > best:
                best, place = value, s
    return best, place


@compiled(error_model="numpy")
def most_at_once(tables: Any, depth: int, label: int, rows: Any) -> float:
    """The largest value of rows whose side ends at this very depth."""
    most = at_end(tables, depth, label, rows[0], rows[1])[0]
    for y in range(rows.shape[1]):
        most = max(most, at_known(tables, depth, label, rows[0], rows[1], y))
    return most + 64 * UNIT


@compiled(error_model="numpy")
def _far(tables: Any, depth: int, label: int, rows: Any) -> Any:
    """Both rows from afar, shape (2, k)."""
    far = np.empty((2, rows.shape[1]))
    see_from_afar(rows[0], tables.mix[depth, label], far[0])
    see_from_afar(rows[1], tables.mix[depth, label], far[1])
    return far


@compiled(error_model="numpy")
def least_points(tables: Any) -> None:
    """Points that a word takes up at least from a depth and label on, and behind it."""
    depths = len(tables.phase)
    for depth in range(depths - 1, -1, -1):
        phase = tables.phase[depth]
        for label in range(tables.used.shape[1]):
            own, behind = np.int64(1) << 40, np.int64(1) << 40
            for kind in range(tables.used.shape[2]):
                own = min(own, tables.used[depth, label, kind])
            if depth + 1 == depths:
                behind = own
            for letter in range(tables.choices[phase, label] if depth + 1 < depths else 0):
                behind = min(behind, tables.least[depth + 1, tables.next[phase, label, letter]])
            tables.further[depth, label] = behind
            tables.least[depth, label] = min(own, behind)


@compiled(error_model="numpy")
def shares(tables: Any, first: int, mix: Any) -> None:
    """Least shares of what follows, by depth and label, if nothing ends before depth ``first``.

    Filled from ``first`` (no share at all) towards the target: what follows a point is its letter's
    weight times one step of the chain from what follows the next one.
    """
    k = len(tables.matrix)
    image = np.empty(k)
    for depth in range(min(first, len(tables.phase)) - 1, -1, -1):
        phase = tables.phase[depth]
        for label in range(mix.shape[1]):
            for x in range(k):
                mix[depth, label, x] = 1.0
            count = tables.choices[phase, label]
            for letter in range(count):
                behind = mix[depth + 1, tables.next[phase, label, letter]]
                rest = 1.0 - sum_of(behind)
                for y in range(k):
                    total = 0.0
                    for x in range(k):
                        flow = rest * tables.matrix[x, y]
                        for u in range(k):
                            flow += tables.matrix[x, u] * behind[u]
                        image[x] = tables.weight[phase, label, letter, x] * flow
                        total += image[x]
                    if total == 0.0:
                        continue
                    for x in range(k):
                        share = image[x] / total * (1.0 - 64.0 * k * UNIT)
                        mix[depth, label, x] = min(mix[depth, label, x], share)
            if count == 0:
                for x in range(k):
                    mix[depth, label, x] = 0.0


@compiled(error_model="numpy")
def measure(graph: Any, tables: Any, node: int) -> None:
    """What a new node attains at a known point and at the end, and a bound for all behind it."""
    over, under = graph.over[node], graph.under[node]
    depth, label = graph.depth[node], graph.label[node]
    k = len(over)
    most = -np.inf
    for y in range(k):
        graph.attained[node, y] = at_known(tables, depth, label, over, under, y)
        most = max(most, graph.attained[node, y])
    graph.attained[node, k], graph.ending[node] = at_end(tables, depth, label, over, under)
    most = max(most, graph.attained[node, k])
    see_from_afar(over, tables.mix[depth, label], graph.far_over[node])
    see_from_afar(under, tables.mix[depth, label], graph.far_under[node])
    bound = closing_bound(tables, depth, graph.far_over[node], graph.far_under[node])
    graph.bound[node] = max(bound, most)


@compiled(error_model="numpy")
def add_node(graph: Any, tables: Any, parent: int, letter: int, over: Any, under: Any) -> Any:
    """A node of its own for a word; -1 where there is no room for it."""
    node = graph.made[0]
    depth = graph.depth[parent] + 1
    if node >= len(graph.depth) or depth >= len(tables.phase):
        return -1
    graph.made[0] = node + 1
    label = tables.next[tables.phase[depth - 1], graph.label[parent], letter]
    copy(over, graph.over[node])
    copy(under, graph.under[node])
    graph.depth[node], graph.label[node] = depth, label
    graph.parent[node], graph.letter[node] = parent, letter
    graph.older[node] = graph.newest[depth, label]
    graph.newest[depth, label] = node
    graph.kids[node, 0] = -1
    measure(graph, tables, node)
    graph.best[node] = graph.bound[node]
    return node


@compiled(error_model="numpy")
def build(graph: Any, tables: Any, first: int, last: int, share: Any, most: int, low: Any) -> int:
    """Lay the nodes out depth by depth, from ``first`` to ``last``; the depth that was reached.

    At each depth the strongest words come first. A word gets a node of its own where no other
    covers it within ``share[depth]`` along the whole way, and while there are fewer than
    ``most`` nodes of its label. ``low``: what is attained, ways below it are not followed; of
    shape (1,), or by points where they are limited: a longer word is no reason to drop a shorter.
    """
    k = graph.over.shape[1]
    for depth in range(first, last):
        words = 0
        for label in range(graph.newest.shape[1]):
            node = graph.newest[depth, label]
            while node >= 0:
                words += tables.choices[tables.phase[depth], label]
                node = graph.older[node]
        if words == 0:
            return depth
        if graph.made[0] + words > len(graph.depth):
            return depth
        rows, origin = np.empty((words, 2, k)), np.empty((words, 2), np.int64)
        score = np.empty(words)
        found = 0
        for label in range(graph.newest.shape[1]):
            node = graph.newest[depth, label]
            while node >= 0:
                for letter in range(tables.choices[tables.phase[depth], label]):
                    spell_child(graph, tables, node, letter, rows[found])
                    origin[found, 0], origin[found, 1] = node, letter
                    below, above = sum_of(rows[found, 1]), sum_of(rows[found, 0])
                    gain = np.inf if below == 0.0 else np.log(max(above, 1e-300) / below)
                    score[found] = -gain - graph.reach[node]
                    found += 1
                node = graph.older[node]
        for place in rising(score):
            node, letter = origin[place]
            _assign(graph, tables, node, letter, rows[place], share[depth], most, low)
    return last


@compiled(error_model="numpy")
def waiting(graph: Any, tables: Any, depth: int) -> bool:
    """Whether some node of this depth has letters."""
    for label in range(graph.newest.shape[1]):
        if graph.newest[depth, label] >= 0 and tables.choices[tables.phase[depth], label] > 0:
            return True
    return False


@compiled(error_model="numpy")
def spell_child(graph: Any, tables: Any, node: int, letter: int, rows: Any) -> None:
    """The rows of a node behind one of its letters."""
    weight = tables.weight[tables.phase[graph.depth[node]], graph.label[node], letter]
    spell(graph.over[node], graph.under[node], weight, tables.matrix, rows[0], rows[1])


@compiled(error_model="numpy")
def _assign(
    graph: Any, tables: Any, node: int, letter: int, rows: Any, share: Any, most: int, low: Any
) -> None:
    """Lead a letter to the node that covers its word best, or to one of its own."""
    depth, label = graph.depth[node], graph.label[node]
    following = tables.next[tables.phase[depth], label, letter]
    far = _far(tables, depth + 1, following, rows)
    bound = closing_bound(tables, depth + 1, far[0], far[1])
    bound = max(bound, most_at_once(tables, depth + 1, following, rows))
    points = min(tables.least[depth + 1, following], len(low) - 1)
    if graph.reach[node] + bound <= low[points]:
        graph.kids[node, letter], graph.cost[node, letter] = CLOSED, bound
        return
    slack = np.log1p(16 * (len(rows[0]) + 12) * UNIT)
    nearest, cost, count = -1, np.inf, 0
    other = graph.newest[depth + 1, following]
    while other >= 0:
        factor = cover(far[0], far[1], graph.far_over[other], graph.far_under[other], np.inf)
        now = np.log(factor) + slack
        if now < cost:
            nearest, cost = other, now
        if graph.reach[node] + now <= max(graph.reach[other], share[0]) or now <= share[1]:
            nearest, cost = other, now
            break
        count += 1
        other = graph.older[other]
    if other >= 0 or (count >= most and cost < np.inf):
        graph.kids[node, letter], graph.cost[node, letter] = nearest, cost
        graph.reach[nearest] = max(graph.reach[nearest], graph.reach[node] + cost)
        return
    own = add_node(graph, tables, node, letter, rows[0], rows[1])
    graph.kids[node, letter], graph.cost[node, letter] = own, slack
    graph.reach[own] = graph.reach[node] + slack
    _raise(tables, low, depth + 1, following, graph.attained[own])


@compiled(error_model="numpy")
def _raise(tables: Any, low: Any, depth: int, label: int, attained: Any) -> None:
    """Note what words of so many points and more attain."""
    for kind in range(len(attained)):
        points = min(tables.used[depth, label, kind], len(low) - 1)
        while points < len(low) and low[points] < attained[kind]:
            low[points] = attained[kind]
            points += 1


@compiled(error_model="numpy")
def settle(graph: Any, tables: Any, room: int) -> None:
    """The largest value of each node, from the deepest to the root, and of the way to it."""
    deepest = len(tables.phase) - 1
    labels = graph.newest.shape[1]
    while deepest > 0 and largest(graph.newest[deepest]) < 0:
        deepest -= 1
    for depth in range(deepest, -1, -1):
        for label in range(labels):
            node = graph.newest[depth, label]
            count = tables.choices[tables.phase[depth], label]
            while node >= 0:
                graph.best[node] = _largest(graph, tables, node, depth, count, room)
                graph.reach[node] = -np.inf
                node = graph.older[node]
    graph.reach[0] = 0.0
    for depth in range(deepest + 1):
        for label in range(labels):
            node = graph.newest[depth, label]
            count = tables.choices[tables.phase[depth], label]
            while node >= 0:
                if graph.kids[node, 0] != -1 and graph.reach[node] > -np.inf:
                    for letter in range(count):
                        kid = graph.kids[node, letter]
                        if kid >= 0:
                            way = graph.reach[node] + graph.cost[node, letter]
                            graph.reach[kid] = max(graph.reach[kid], way)
                node = graph.older[node]


@compiled(error_model="numpy")
def _largest(graph: Any, tables: Any, node: int, depth: int, count: int, room: int) -> Any:
    """The largest value of a word from this node on that takes up at most ``room`` points."""
    label = graph.label[node]
    if tables.least[depth, label] > room:
        return -np.inf
    own = -np.inf
    for kind in range(graph.attained.shape[1]):
        if tables.used[depth, label, kind] <= room:
            own = max(own, graph.attained[node, kind])
    last = tables.further[depth, label] > room
    if last or graph.kids[node, 0] == -1:
        return own if last else graph.bound[node]
    for letter in range(count):
        kid = graph.kids[node, letter]
        value = graph.cost[node, letter]
        if kid >= 0:
            value += graph.best[kid]
        own = max(own, value)
    return min(own, graph.bound[node])


@compiled(error_model="numpy")
def climb(
    tables: Any, over: Any, under: Any, letters: Any, label: int, known: int, end: int
) -> float:
    """Improve a word one letter at a time, in place; the log ratio that it reaches.

    The word starts at the rows of the target and ends at its last point: with the value
    ``known`` there (or -1), or with the end ``end`` of its label. Only letters that lead to the
    same label, or whose next letter leads back, are tried.
    """
    n, k = len(letters), len(over)
    labels = np.empty(n + 1, np.int64)
    labels[0] = label
    for t in range(n):
        labels[t + 1] = tables.next[tables.phase[t], labels[t], letters[t]]
    after, above, below = np.zeros((n + 1, k)), np.empty(k), np.empty(k)
    reached = -np.inf
    for _ in range(SWEEPS):
        if known >= 0:
            for x in range(k):
                after[n, x] = 1.0 if x == known else 0.0
        else:
            copy(tables.ends[tables.phase[n], labels[n], end], after[n])
        for t in range(n - 1, -1, -1):
            _pull(tables, t, labels[t], letters[t], after[t + 1], after[t])
        one, two = np.empty(k), np.empty(k)
        copy(over, one)
        copy(under, two)
        changed = _sweep(tables, one, two, letters, labels, after, known >= 0)
        copy(over, one)
        copy(under, two)
        for t in range(n):
            weight = tables.weight[tables.phase[t], labels[t], letters[t]]
            spell(one, two, weight, tables.matrix, above, below)
            copy(above, one)
            copy(below, two)
        above_all, below_all = product(one, after[n]), product(two, after[n])
        if above_all > 0.0 and below_all > 0.0:
            reached = np.log(above_all / below_all)
        if not changed:
            break
    return reached


@compiled(error_model="numpy")
def _pull(tables: Any, t: int, label: int, letter: int, after: Any, out: Any) -> None:
    """What follows a point: its letter's weight times one step of the chain."""
    weight = tables.weight[tables.phase[t], label, letter]
    most = 0.0
    for x in range(len(out)):
        flow = 0.0
        for y in range(len(out)):
            flow += tables.matrix[x, y] * after[y]
        out[x] = weight[x] * flow
        most = max(most, out[x])
    if most > 0.0:
        for x in range(len(out)):
            out[x] /= most


@compiled(error_model="numpy")
def _sweep(
    tables: Any, over: Any, under: Any, letters: Any, labels: Any, after: Any, is_known: bool
) -> bool:
    n, k = len(letters), len(over)
    changed = False
    one, two, pulled, behind = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for t in range(n):
        phase, label = tables.phase[t], labels[t]
        best, choice, then = -np.inf, letters[t], -1
        for letter in range(tables.choices[phase, label]):
            following = tables.next[phase, label, letter]
            second = -1
            if following == labels[t + 1]:
                copy(after[t + 1], behind)
            elif t + 1 == n:
                if not is_known:
                    continue
                copy(after[n], behind)
            else:
                for other in range(tables.choices[tables.phase[t + 1], following]):
                    if tables.next[tables.phase[t + 1], following, other] == labels[t + 2]:
                        second = other
                        break
                if second < 0:
                    continue
                _pull(tables, t + 1, following, second, after[t + 2], behind)
            _pull(tables, t, label, letter, behind, pulled)
            above, below = product(over, pulled), product(under, pulled)
            if above > 0.0 and below > 0.0:
                value = above / below
                if value > best * (1 + 1e-12) or (letter == letters[t] and value >= best):
                    best, choice, then = value, letter, second
        if choice != letters[t]:
            changed = True
            letters[t] = choice
            labels[t + 1] = tables.next[phase, label, choice]
            if then >= 0:
                letters[t + 1] = then
                labels[t + 2] = tables.next[tables.phase[t + 1], labels[t + 1], then]
                _pull(tables, t + 1, labels[t + 1], then, after[t + 2], after[t + 1])
        spell(over, under, tables.weight[phase, label, choice], tables.matrix, one, two)
        copy(one, over)
        copy(two, under)
    return changed
