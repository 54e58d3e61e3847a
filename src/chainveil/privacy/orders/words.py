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
    EACH,
    FOLLOWING,
    KNOWN,
    LABELS,
    MAY_KNOW,
    ORDER,
    STEP,
    TURNS,
    cost_of_ending,
    cover,
    cover_right,
    inner,
    largest,
    row_size,
    scale,
    to_the_left,
    to_the_right,
    turn,
)

# What stands for a letter that leads nowhere worth a look: its bound is stored as the cost.
CLOSED = -2
# How many nodes there are, the first of this pass, and the level behind which nothing may lie.
COUNT, BASE, LIMIT = 0, 1, 2
# Whole numbers of a node, and its real ones: what reports, and the knowledge alone, are worth if
# the series begins there, and what they come to together.
LEVEL, LABEL, PARENT, LETTER, RUN, OLDER, ENDING = 0, 1, 2, 3, 4, 5, 6
GAIN, PRIOR, ATTAINED, BOUND, BEST, REACH, EXTRA = 0, 1, 2, 3, 4, 5, 6


@inner
def measure(tables: Any, rows: Any, at: int, label: int, real: Any) -> int:
    """What a word is worth if the series begins there, and at most; which beginning is best."""
    contexts, k = tables.transition.shape
    is_right = label < tables.right[LABELS]
    one = two = three = four = 0.0
    for x in range(row_size(tables, label)):
        start = other = tables.start[x % contexts]
        if is_right:
            pair, block = label // tables.right[EACH], x // contexts * k
            start = tables.start[block + tables.pairs[pair, 0]]
            other = tables.start[block + tables.pairs[pair, 1]]
        one += rows[at, 0, x] * start
        two += rows[at, 1, x] * other
        three += rows[at, 2, x] * start
        four += rows[at, 3, x] * other
    real[at, ATTAINED] = real[at, GAIN] = real[at, PRIOR] = real[at, BOUND] = -np.inf
    ending = 0
    if one > 0.0 and three > 0.0 and four > 0.0:
        real[at, GAIN] = np.inf if two == 0.0 else np.log(one / two)
        real[at, PRIOR] = np.log(four / three)
        bound = tables.slack + (tables.own[label, 0] if is_right else 0.0)
        for told in range(1 + tables.right[MAY_KNOW]):
            bound += largest(rows, at, tables, label, told)
        real[at, BOUND] = bound + (0.0 if tables.right[MAY_KNOW] == 1 else real[at, PRIOR])
        if is_right and tables.own[label, 1] > 0.0:
            above, below = tables.own[label, 1] * one, tables.own[label, 2] * two
            value = np.inf if below == 0.0 else np.log(above / below)
            real[at, ATTAINED] = value + real[at, PRIOR]
    for end in range(tables.counts[1, label]):
        one = two = three = four = 0.0
        for u in range(len(tables.start)):
            seen, known = tables.end_weight[label, end, 0, u], tables.end_weight[label, end, 1, u]
            one += rows[at, 0, u] * seen
            two += rows[at, 1, u] * seen
            three += rows[at, 2, u] * known
            four += rows[at, 3, u] * known
        if one > 0.0 and three > 0.0 and four > 0.0:
            value = np.inf if two == 0.0 else np.log(one / two)
            value += np.log(four / three)
            if value > real[at, ATTAINED]:
                real[at, ATTAINED], ending = value, end
    return ending


@inner
def append(graph: Any, rows: Any, at: int, real: Any, place: Any, origin: Any, ending: int) -> int:
    """A node for a word; ``place``: its level and label, ``origin``: parent and letter."""
    node: int = graph.made[COUNT]
    graph.made[COUNT] = node + 1
    for line in range(4):
        for x in range(rows.shape[2]):
            graph.rows[node, line, x] = rows[at, line, x]
    level, label = place
    graph.whole[node, LEVEL], graph.whole[node, LABEL] = level, label
    graph.whole[node, PARENT], graph.whole[node, LETTER] = origin
    graph.whole[node, RUN], graph.whole[node, ENDING] = 0, ending
    graph.whole[node, OLDER] = graph.newest[level, label, 0]
    graph.newest[level, label, 0] = node
    for letter in range(graph.kids.shape[1]):
        graph.kids[node, letter] = -1
    for column in range(BOUND + 1):
        graph.real[node, column] = real[at, column]
    graph.real[node, BEST], graph.real[node, REACH] = np.inf, -np.inf
    graph.real[node, EXTRA] = 0.0
    return node


@compiled(error_model="numpy")
def begin(graph: Any, tables: Any, rows: Any, real: Any, labels: Any) -> None:
    """Nodes for words without letters; ``rows`` (n, 4, size), ``labels`` (n,)."""
    for at in range(len(labels)):
        ending = measure(tables, rows, at, labels[at], real)
        place = (np.int64(0), labels[at])
        origin = (np.int64(-1), np.int64(-1))
        node = append(graph, rows, at, real, place, origin, ending)
        graph.real[node, REACH] = 0.0


@inner
def has_letter(graph: Any, tables: Any, node: int, letter: int, turns: int) -> bool:
    """Whether a node goes on with a letter; on the right not behind a context that is known."""
    label = graph.whole[node, LABEL]
    if letter >= tables.counts[0, label] or tables.letters[label, letter, TURNS] != turns:
        return False
    going = turns == 1 or label >= tables.right[LABELS]
    return going or graph.whole[node, RUN] < tables.right[ORDER]


@inner
def gather(graph: Any, tables: Any, level: int, is_right: bool, origin: Any) -> int:
    """Nodes and letters that lead to the words of a level on one side; how many there are."""
    found, split = 0, tables.right[LABELS]
    # 0: further letters on the same side, 1: the turn from the right to the left.
    for turns in range(0 if is_right or level > 0 else 1, 1 if is_right else 2):
        before = level - (tables.right[STEP] if turns == 1 else 1)
        if before < 0:
            continue
        to_left = not is_right and turns == 0
        for label in range(split if to_left else 0, graph.newest.shape[1] if to_left else split):
            node = graph.newest[before, label, 0]
            while node >= graph.made[BASE]:
                for letter in range(tables.weight.shape[1]):
                    if has_letter(graph, tables, node, letter, turns):
                        if found < len(origin):
                            origin[found, 0], origin[found, 1] = node, letter
                        found += 1
                node = graph.whole[node, OLDER]
    return found


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
def covering(
    graph: Any, tables: Any, rows: Any, at: int, real: Any, node: int, most: float
) -> float:
    """What it costs to take a node for a word; inf: more than ``most``."""
    label = graph.whole[node, LABEL]
    is_right = label < tables.right[LABELS]
    gain, told = real[at, GAIN] - graph.real[node, GAIN], real[at, PRIOR] - graph.real[node, PRIOR]
    if not np.isfinite(gain):
        if real[at, GAIN] == np.inf and graph.real[node, GAIN] < np.inf:
            return np.inf
        gain = -np.inf
    if gain + told > most:
        return np.inf
    size, pair = row_size(tables, label), label // tables.right[EACH]
    total: float = tables.slack
    may_know, same = tables.right[MAY_KNOW] == 1, True
    if may_know:
        for x in range(size):
            known, other = rows[at, 2, x] == graph.rows[node, 2, x], rows[at, 3, x]
            if not known or other != graph.rows[node, 3, x]:
                same = False
                break
    else:
        total += told
    # The knowledge alone first: where it is the same, it costs nothing.
    for side in range(1 if may_know and not same else 0, -1, -1):
        room = most - total - (gain if side == 1 else 0.0)
        limit = np.exp(min(room, 600.0))
        if is_right:
            factor = cover_right(rows, at, graph.rows, node, tables.odds, pair, side, limit)
        else:
            factor = cover(rows, at, graph.rows, node, size, side, limit)
        if factor == np.inf:
            return np.inf
        total += np.log(factor)
    return total


@inner
def own_node(
    graph: Any, tables: Any, rows: Any, at: int, real: Any, origin: Any, level: int, share: float
) -> int:
    """A node of its own for a word; not followed where the rest matters less than ``share``."""
    parent, letter = origin[at, 0], origin[at, 1]
    before = graph.whole[parent, LABEL]
    label = tables.letters[before, letter, FOLLOWING]
    run, extra = np.int64(0), np.inf
    if tables.letters[before, letter, KNOWN] >= 0:
        run = graph.whole[parent, RUN] + 1
    if label < tables.right[LABELS] and run < tables.right[ORDER]:
        pair = label // tables.right[EACH]
        extra = tables.slack
        for told in range(1 + tables.right[MAY_KNOW]):
            extra += cost_of_ending(rows, at, tables, pair, told, share - extra)
    node = append(graph, rows, at, real, (level, label), (parent, letter), origin[at, 2])
    graph.whole[node, RUN] = run
    graph.newest[level, label, 1] += 1
    if extra <= share:
        graph.whole[node, RUN] = tables.right[ORDER]
        graph.real[node, EXTRA] = extra
    return node


@compiled(error_model="numpy")
def fill(
    graph: Any, tables: Any, level: int, is_right: bool, share: Any, most: int, low: Any
) -> int:
    """Lay out the words of one level on one side; the number of them, or, negative, how
    many nodes there should be room for.

    A word gets a node where no other covers it within ``share``: of the whole way, or of this one
    step; and while there are fewer than ``most`` nodes of its label. ``low`` (4,): what is
    attained, the margin within which a way above it is not followed, the longest way so far, and
    how many comparisons may still be made: behind them all words are left with their bounds.
    The values of nodes before the base, of earlier passes, bound those of this one.
    """
    words = gather(graph, tables, level, is_right, np.empty((0, 4), np.int64))
    if graph.made[COUNT] + words > len(graph.whole):
        return -words
    # Parent, letter, the best beginning, and the order of the words by their strength.
    origin = np.empty((words, 4), np.int64)
    gather(graph, tables, level, is_right, origin)
    rows, real = np.empty((words, 4, graph.rows.shape[2])), np.empty((words, BOUND + 1))
    score = np.empty(words)
    for at in range(words):
        node, letter = origin[at, 0], origin[at, 1]
        label = graph.whole[node, LABEL]
        if label >= tables.right[LABELS]:
            to_the_left(graph.rows, node, tables, (label, letter), rows, at)
        elif tables.letters[label, letter, TURNS] == 1:
            turn(graph.rows, node, tables, (label, letter), rows, at)
        else:
            to_the_right(graph.rows, node, tables, (label, letter), rows, at)
        following = tables.letters[label, letter, FOLLOWING]
        scale(rows, at, row_size(tables, following))
        origin[at, 2] = measure(tables, rows, at, following, real)
        worth = graph.real[node, REACH] + real[at, GAIN] + real[at, PRIOR]
        score[at] = -max(-1e300, min(1e300, worth))
    sort_rising(score, origin[:, 3])
    for i in range(words):
        at = origin[i, 3]
        node, letter = origin[at, 0], origin[at, 1]
        label = tables.letters[graph.whole[node, LABEL], letter, FOLLOWING]
        before, bound = graph.real[node, REACH], real[at, BOUND]
        goal = max(low[0] + low[1], low[2] + low[1] / 4) - before
        # Nodes of earlier passes show what is not worth a look.
        other = graph.newest[level, label, 0]
        while other >= 0 and bound > goal:
            if other < graph.made[BASE] and graph.real[other, BEST] < np.inf:
                best = graph.real[other, BEST] + graph.real[other, EXTRA]
                now = covering(graph, tables, rows, at, real, other, goal - best)
                bound = min(bound, now + best)
                low[3] -= 1.0
            other = graph.whole[other, OLDER]
        if bound <= goal or low[3] <= 0.0:
            graph.kids[node, letter], graph.cost[node, letter] = CLOSED, bound
            continue
        nearest: Any = np.int64(-1)
        cost = np.inf
        crowded = graph.newest[level, label, 1] >= most
        other = graph.newest[level, label, 0]
        while other >= graph.made[BASE]:
            # The cheapest of the nodes that are near enough; where there are too many, of all.
            extra = graph.real[other, EXTRA]
            fits = max(max(graph.real[other, REACH], share[0]) - before, share[1])
            limit = (cost if crowded else min(cost, fits)) - extra
            now = covering(graph, tables, rows, at, real, other, limit) + extra
            if now < cost:
                nearest, cost = other, now
            low[3] -= 1.0
            other = graph.whole[other, OLDER]
        if nearest < 0:
            room = max(share[0] - before, share[1])
            nearest = own_node(graph, tables, rows, at, real, origin, level, room)
            cost = tables.slack + graph.real[nearest, EXTRA]
            low[0] = max(low[0], graph.real[nearest, ATTAINED])
        graph.kids[node, letter], graph.cost[node, letter] = nearest, cost
        graph.real[nearest, REACH] = max(graph.real[nearest, REACH], before + cost)
        low[2] = max(low[2], graph.real[nearest, REACH] + graph.real[nearest, ATTAINED])
    return words


@compiled(error_model="numpy")
def settle(graph: Any, tables: Any) -> float:
    """The largest value of each node, the last ones first; that of the first nodes together."""
    upper = -np.inf
    for node in range(graph.made[COUNT] - 1, graph.made[BASE] - 1, -1):
        label = graph.whole[node, LABEL]
        best = graph.real[node, ATTAINED] + tables.slack
        for letter in range(tables.counts[0, label]):
            turns = tables.letters[label, letter, TURNS]
            if has_letter(graph, tables, node, letter, turns):
                kid = graph.kids[node, letter]
                if kid == -1:
                    step = tables.right[STEP] if turns == 1 else 1
                    within = graph.whole[node, LEVEL] + step <= graph.made[LIMIT]
                    best = np.inf if within else best
                elif kid == CLOSED:
                    best = max(best, graph.cost[node, letter])
                else:
                    best = max(best, graph.cost[node, letter] + graph.real[kid, BEST])
        graph.real[node, BEST] = min(best, graph.real[node, BOUND])
        if graph.whole[node, PARENT] < 0:
            upper = max(upper, graph.real[node, BEST])
    return upper
