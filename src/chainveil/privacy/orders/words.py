"""Compiled search over words next to a target, level by level, with words that cover others.

A word is a pair of ``over`` and ``under`` with and without the reports (see ``rows``). Words are
laid out by the number of their letters, the strongest first. A letter leads from a node to the
node that covers the word it makes, at a *cost*, the log of the factor within which it does; a word
that no other covers closely becomes a node of its own. What any word is worth is at most the
longest way through this graph, and every node is a word that can be reported and known.

A node is taken as the rows that are stored, whatever word they came from, so that rounding does
not pile up: each link is widened for the one step it describes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.orders.rows import (
    cost,
    cost_of_ending,
    largest,
    largest_right,
    to_the_left,
    to_the_right,
    turn,
)

# What stands for a letter that leads nowhere worth a look: its bound is stored as the cost.
CLOSED = -2


@compiled(error_model="numpy")
def add_node(
    graph: Any, tables: Any, rows: Any, start: Any, level: int, label: int, origin: Any
) -> int:
    """A node for a word; ``origin``: parent, letter, and how many known points it ends with.

    A word to the right that ends with as many as the order has is not followed there.
    """
    node: int = graph.count[0]
    graph.count[0] = node + 1
    size = row_size(tables, label)
    graph.rows[node, :, :size] = rows[:, :size]
    graph.level[node], graph.label[node] = level, label
    graph.parent[node], graph.letter[node], graph.run[node] = origin
    graph.older[node] = graph.newest[level, label]
    graph.newest[level, label] = node
    graph.kids[node, :] = -1
    graph.reach[node], graph.extra[node] = -np.inf, 0.0
    graph.start[node] = start
    graph.bound[node] = bound_of(tables, rows, label, start)
    attain(graph, tables, node)
    return node


@compiled(error_model="numpy")
def row_size(tables: Any, label: int) -> int:
    """Entries of a row of this label."""
    contexts, k = tables.transition.shape
    size: int = contexts * (contexts // k) if label < tables.right[0] else contexts
    return size


@compiled(error_model="numpy")
def at_start(tables: Any, rows: Any, label: int) -> tuple[float, float]:
    """What the reports, and the knowledge alone, are worth if the series begins here, in logs."""
    total = np.zeros(4)
    for line in range(4):
        total[line] = _at_start(tables, rows, label, line)
    if total[0] == 0.0 or total[2] == 0.0 or total[3] == 0.0:
        return -np.inf, -np.inf
    gain = np.inf if total[1] == 0.0 else np.log(total[0] / total[1])
    return gain, np.log(total[3] / total[2])


@compiled(error_model="numpy")
def _at_start(tables: Any, rows: Any, label: int, line: int) -> float:
    """A row before the stationary law of the contexts."""
    contexts, k = tables.transition.shape
    total = 0.0
    if label < tables.right[0]:
        value = tables.pairs[label // tables.right[1], line % 2]
        for c in range(contexts // k):
            for t in range(contexts):
                total += rows[line, c * contexts + t] * tables.start[c * k + value]
    else:
        for u in range(contexts):
            total += rows[line, u] * tables.start[u]
    return total


@compiled(error_model="numpy")
def bound_of(tables: Any, rows: Any, label: int, start: Any) -> float:
    """What a word and all that may lie further out are worth at most."""
    if start[0] == -np.inf:
        return -np.inf
    size = row_size(tables, label)
    if label < tables.right[0]:
        pair = label // tables.right[1]
        bound = largest_right(rows[0, :size], rows[1, :size], tables.ends[pair], 0)
        bound += tables.report[label]
        told = largest_right(rows[3, :size], rows[2, :size], tables.ends[pair], 1)
    else:
        bound = largest(rows[0], rows[1], size)
        told = largest(rows[3], rows[2], size)
    if tables.right[2] == 0:
        told = start[1]
    most: float = bound + told + tables.slack[0]
    return most


@compiled(error_model="numpy")
def attain(graph: Any, tables: Any, node: int) -> None:
    """What the word of a node is worth where the series begins there."""
    label, rows = graph.label[node], graph.rows[node]
    graph.attained[node], graph.ending[node] = -np.inf, 0
    if label < tables.right[0]:
        first = tables.first[label]
        if first[0] > 0.0 and graph.start[node, 1] > -np.inf:
            above = first[0] * _at_start(tables, rows, label, 0)
            below = first[1] * _at_start(tables, rows, label, 1)
            if above > 0.0:
                value = np.inf if below == 0.0 else np.log(above / below)
                graph.attained[node] = value + graph.start[node, 1]
        return
    contexts = len(tables.start)
    for end in range(tables.end_count[label]):
        total = np.zeros(4)
        for u in range(contexts):
            for line in range(4):
                total[line] += rows[line, u] * tables.end_weight[label, end, line // 2, u]
        if total[0] > 0.0 and total[2] > 0.0 and total[3] > 0.0:
            value = np.inf if total[1] == 0.0 else np.log(total[0] / total[1])
            value += np.log(total[3] / total[2])
            if value > graph.attained[node]:
                graph.attained[node], graph.ending[node] = value, end


@compiled(error_model="numpy")
def spell(graph: Any, tables: Any, node: int, letter: int, new: Any) -> None:
    """The rows of a node's word with one more letter."""
    label = graph.label[node]
    weight, known = tables.weight[label, letter], tables.known[label, letter] >= 0
    if label >= tables.right[0]:
        to_the_left(graph.rows[node], weight, known, tables.transition, new)
    elif tables.turns[label, letter]:
        pair = tables.pairs[label // tables.right[1]]
        turn(graph.rows[node], weight, pair, tables.transition, new)
    else:
        to_the_right(graph.rows[node], weight, known, tables.transition, new)


@compiled(error_model="numpy")
def has_letter(graph: Any, tables: Any, node: int, letter: int, turns: bool) -> bool:
    """Whether a node goes on with a letter; on the right not behind a context that is known."""
    label = graph.label[node]
    if letter >= tables.count[label] or tables.turns[label, letter] != turns:
        return False
    return turns or label >= tables.right[0] or graph.run[node] < tables.right[3]


@compiled(error_model="numpy")
def _gather(graph: Any, tables: Any, level: int, is_right: bool, origin: Any) -> int:
    """Nodes and letters that lead to the words of a level on one side; how many there are."""
    found, split = 0, tables.right[0]
    letters = tables.weight.shape[1]
    # 0: further letters on the same side, 1: the turn from the right to the left.
    for turns in range(0 if is_right or level > 0 else 1, 1 if is_right else 2):
        before = level - (tables.right[4] if turns else 1)
        if before < 0:
            continue
        first, last = (0, split) if is_right or turns else (split, graph.newest.shape[1])
        for label in range(first, last):
            node = graph.newest[before, label]
            while node >= graph.base[0]:
                for letter in range(letters):
                    if has_letter(graph, tables, node, letter, turns == 1):
                        if found < len(origin):
                            origin[found, 0], origin[found, 1] = node, letter
                        found += 1
                node = graph.older[node]
    return found


@compiled(error_model="numpy")
def fill(
    graph: Any, tables: Any, level: int, is_right: bool, share: Any, most: int, low: Any
) -> int:
    """Lay out the words of one level on one side; the number of them, or, negative, how
    many nodes there should be room for.

    A word gets a node where no other covers it within ``share``: of the whole way, or of this one
    step; and while there are fewer than ``most`` nodes of its label. ``low`` (3,): what is
    attained, the margin within which a way above it is not followed, and the longest way so far.
    The values of nodes before ``graph.base``, of earlier passes, bound those of this one.
    """
    none = np.empty((0, 2), np.int64)
    words = _gather(graph, tables, level, is_right, none)
    if graph.count[0] + words > len(graph.level):
        return -words
    origin = np.empty((words, 2), np.int64)
    _gather(graph, tables, level, is_right, origin)
    rows = np.empty((words, 4, graph.rows.shape[2]))
    start, score = np.empty((words, 2)), np.empty(words)
    for place in range(words):
        node, letter = origin[place]
        spell(graph, tables, node, letter, rows[place])
        label = tables.following[graph.label[node], letter]
        gain, prior = at_start(tables, rows[place], label)
        start[place, 0], start[place, 1] = gain, prior
        score[place] = -max(-1e300, min(1e300, graph.reach[node] + gain + prior))
    for place in np.argsort(score):
        _assign(graph, tables, origin[place], level, rows[place], start[place], share, most, low)
    return words


@compiled(error_model="numpy")
def _cost(tables: Any, rows: Any, start: Any, graph: Any, node: int, most: float) -> float:
    """What it costs to take a node for a word; inf: more than ``most``."""
    label = graph.label[node]
    is_right = label < tables.right[0]
    gain, told = start[0] - graph.start[node, 0], start[1] - graph.start[node, 1]
    if not np.isfinite(gain):
        if start[0] == np.inf and graph.start[node, 0] < np.inf:
            return np.inf
        gain = -np.inf
    if gain + told > most:
        return np.inf
    odds = tables.odds[label // tables.right[1] if is_right else 0]
    least = (gain, told, most - tables.slack[0])
    size, known = row_size(tables, label), tables.right[2] == 1
    found = cost(rows, graph.rows[node], odds, is_right, size, least, known)
    widened: float = found + tables.slack[0]
    return widened


@compiled(error_model="numpy")
def _assign(
    graph: Any, tables: Any, origin: Any, level: int, rows: Any, start: Any,
    share: Any, most: int, low: Any,
) -> None:  # fmt: skip
    """Lead a letter to the node that covers its word, or to one of its own."""
    node, letter = origin
    label = tables.following[graph.label[node], letter]
    before, bound = graph.reach[node], bound_of(tables, rows, label, start)
    goal = max(low[0] + low[1], low[2] + low[1] / 4) - before
    if bound > goal:
        bound = _by_earlier(graph, tables, rows, start, graph.newest[level, label], bound, goal)
    if bound <= goal:
        graph.kids[node, letter], graph.cost[node, letter] = CLOSED, bound
        return
    nearest, cost = -1, np.inf
    crowded = graph.crowd[level, label] >= most
    other = graph.newest[level, label]
    while other >= graph.base[0]:
        # The cheapest of the nodes that are near enough; where there are too many, of all.
        fits = max(max(graph.reach[other], share[0]) - before, share[1])
        limit = (cost if crowded else min(cost, fits)) - graph.extra[other]
        now = _cost(tables, rows, start, graph, other, limit) + graph.extra[other]
        if now < cost:
            nearest, cost = other, now
        other = graph.older[other]
    if nearest < 0:
        nearest = _own(graph, tables, origin, level, rows, start, max(share[0] - before, share[1]))
        cost = tables.slack[0] + graph.extra[nearest]
        low[0] = max(low[0], graph.attained[nearest])
    graph.kids[node, letter], graph.cost[node, letter] = nearest, cost
    graph.reach[nearest] = max(graph.reach[nearest], before + cost)
    low[2] = max(low[2], graph.reach[nearest] + graph.attained[nearest])


@compiled(error_model="numpy")
def _own(
    graph: Any, tables: Any, origin: Any, level: int, rows: Any, start: Any, share: float
) -> int:
    """A node of its own for a word; not followed where the rest matters less than ``share``."""
    node, letter = origin
    label = tables.following[graph.label[node], letter]
    run, extra = 0, np.inf
    if tables.known[graph.label[node], letter] >= 0:
        run = graph.run[node] + 1
    if label < tables.right[0] and run < tables.right[3]:
        odds = tables.odds[label // tables.right[1]]
        known = tables.right[2] == 1
        extra = cost_of_ending(rows, odds, row_size(tables, label), share, known) + tables.slack[0]
    if extra <= share:
        run = tables.right[3]
    own = add_node(graph, tables, rows, start, level, label, (node, letter, run))
    graph.crowd[level, label] += 1
    if extra <= share:
        graph.extra[own] = extra
    return own


@compiled(error_model="numpy")
def _by_earlier(
    graph: Any, tables: Any, rows: Any, start: Any, node: int, bound: float, goal: float
) -> float:
    """A bound for a word from the nodes of earlier passes; the first one up to the goal."""
    while node >= 0 and bound > goal:
        if node < graph.base[0] and graph.best[node] < np.inf:
            best = graph.best[node] + graph.extra[node]
            now = _cost(tables, rows, start, graph, node, goal - best)
            bound = min(bound, now + best)
        node = graph.older[node]
    return bound


@compiled(error_model="numpy")
def settle(graph: Any, tables: Any) -> float:
    """The largest value of each node, the last ones first; that of the first nodes together."""
    upper = -np.inf
    for node in range(graph.count[0] - 1, graph.base[0] - 1, -1):
        label = graph.label[node]
        best = graph.attained[node] + tables.slack[0]
        for letter in range(tables.count[label]):
            turns = tables.turns[label, letter]
            if has_letter(graph, tables, node, letter, turns):
                kid = graph.kids[node, letter]
                if kid == -1:
                    step = tables.right[4] if turns else 1
                    best = np.inf if graph.level[node] + step <= graph.limit[0] else best
                elif kid == CLOSED:
                    best = max(best, graph.cost[node, letter])
                else:
                    best = max(best, graph.cost[node, letter] + graph.best[kid])
        graph.best[node] = min(best, graph.bound[node])
        if graph.parent[node] < 0:
            upper = max(upper, graph.best[node])
    return upper
