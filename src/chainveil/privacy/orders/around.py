"""Compiled search over words around a target, that grow on both sides of it in turn.

A word is four tables over u, the m values up to the next point on the left, and t, those up to the
next point on the right: 0 and 1 for the values a and b of the target with reports and knowledge, 2
and 3 the same with the knowledge alone. What lies further out enters as nonnegative weights of u
and t, so that no way to go on is worth more than the largest quotient of tables 0 and 1 and the
largest of 3 and 2 together. That is a crude bound, and a quick one: where a chain forgets
within a few points, few words have to be looked at until none that is left can be worth more than
what is attained. Where it does not, ``words`` goes further with less.

``beam`` keeps the most promising words of each size and finds attacks; ``depth_first`` looks at
all words and finds a bound. Entries are products and sums of nonnegative numbers, as in ``rows``,
and lose at most ``tables.slack`` with each letter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.orders.rows import (
    FOLLOWING,
    KNOWN,
    MAY_KNOW,
    OFTEN,
    ORDER,
    SMALLEST,
    TURNS,
    inner,
)
from chainveil.privacy.orders.words import sort_rising

# What is kept of a word beside its tables: its labels on the right and on the left, how many
# points in a row are known at either end, how many points it takes up beside the target, and the
# label it began with. A side that has ended counts as known for so long that no more matters.
RIGHT, LEFT, RIGHT_RUN, LEFT_RUN, POINTS, FIRST = 0, 1, 2, 3, 4, 5
# The label of a left side that has ended.
ENDED = -1
# A beam ends when so many letters gained nothing.
PATIENCE = 24
# A letter as it is kept: its side, its label and its number there.
SIDE, LABEL, LETTER = 0, 1, 2


@inner
def grow_right(tables: Any, old: Any, new: Any, label: int, letter: int) -> None:
    """One letter at the next point on the right."""
    transition, weight = tables.transition, tables.weight[label, letter]
    contexts, k = transition.shape
    rest = contexts // k
    known = tables.letters[label, letter, KNOWN] >= 0
    for line in range(4):
        weighs = line < 2 or known
        for u in range(contexts):
            for tail in range(rest):
                share = weight[tail % k] if weighs else 1.0
                for y in range(k):
                    total = 0.0
                    for t in range(tail, contexts, rest):
                        total += old[line, u, t] * transition[t, y]
                    new[line, u, tail * k + y] = total * share


@inner
def grow_left(tables: Any, old: Any, new: Any, label: int, letter: int) -> None:
    """One letter at the next point on the left."""
    transition, weight = tables.transition, tables.weight[label, letter]
    contexts, k = transition.shape
    rest = contexts // k
    known = tables.letters[label, letter, KNOWN] >= 0
    for line in range(4):
        weighs = line < 2 or known
        for u in range(contexts):
            for y in range(k):
                share = transition[u, y] * (weight[y] if weighs else 1.0)
                before = (u % rest) * k + y
                for t in range(contexts):
                    more = share * old[line, before, t]
                    new[line, u, t] = more if y == 0 else new[line, u, t] + more


@inner
def end_right(old: Any, new: Any) -> None:
    """The series ends on the right: one column is left."""
    size = old.shape[1]
    for line in range(4):
        for u in range(size):
            total = 0.0
            for t in range(size):
                total += old[line, u, t]
                new[line, u, t] = 0.0
            new[line, u, 0] = total


@inner
def end_left(tables: Any, old: Any, new: Any, label: int, ending: int) -> None:
    """The series begins on the left: one row is left."""
    size = old.shape[1]
    for line in range(4):
        for u in range(size):
            for t in range(size):
                new[line, u, t] = 0.0
        for u in range(size):
            share = tables.end_weight[label, ending, line // 2, u]
            for t in range(size):
                new[line, 0, t] += share * old[line, u, t]


@inner
def scale(new: Any) -> None:
    """Scale each two tables by a power of two; tiny entries to the safe side."""
    size = new.shape[1]
    for told in range(2):
        most = 0.0
        for line in range(2 * told, 2 * told + 2):
            for u in range(size):
                for t in range(size):
                    most = max(most, new[line, u, t])
        if most == 0.0:
            continue
        factor = math.ldexp(1.0, -math.frexp(most)[1])
        for line in range(2 * told, 2 * told + 2):
            # Tables 0 and 3 stand above the line, 1 and 2 below it.
            tiny = SMALLEST if line == 0 or line == 3 else 0.0
            for u in range(size):
                for t in range(size):
                    entry = new[line, u, t] * factor
                    new[line, u, t] = tiny if 0.0 < entry < SMALLEST else entry


@inner
def at_most(tables: Any, new: Any, first: int) -> float:
    """No way to go on from a word is worth more; the slack of rounding is not in it."""
    size = new.shape[1]
    said, known = 0.0, 0.0
    for u in range(size):
        for t in range(size):
            if new[0, u, t] > said * new[1, u, t]:
                said = new[0, u, t] / new[1, u, t]
            if new[3, u, t] > known * new[2, u, t]:
                known = new[3, u, t] / new[2, u, t]
    if said == 0.0 or known == 0.0:
        return -np.inf
    found: float = np.log(said)
    found += np.log(known) if tables.right[MAY_KNOW] == 1 else tables.prior[first]
    return found


@inner
def worth(tables: Any, new: Any, label: int) -> Any:
    """What a word is worth if the series ends there, and how it begins best."""
    size = new.shape[1]
    best, ending = -np.inf, 0
    for end in range(1 if label == ENDED else tables.counts[1, label]):
        one = two = three = four = 0.0
        for u in range(size):
            seen = known = 1.0 if u == 0 else 0.0
            if label != ENDED:
                seen = tables.end_weight[label, end, 0, u]
                known = tables.end_weight[label, end, 1, u]
            for t in range(size):
                one += seen * new[0, u, t]
                two += seen * new[1, u, t]
                three += known * new[2, u, t]
                four += known * new[3, u, t]
        if one > 0.0 and three > 0.0 and four > 0.0:
            value = np.inf if two == 0.0 else np.log(one / two) + np.log(four / three)
            if value > best:
                best, ending = value, end
    return best, ending


@inner
def side_to_grow(tables: Any, state: Any, size: int) -> int:
    """The side whose turn it is, 0: right, 1: left; -1: nothing further out matters."""
    done = tables.right[ORDER]
    side = size % 2
    if state[RIGHT_RUN + side] >= done:
        side = 1 - side
    return -1 if state[RIGHT_RUN + side] >= done else side


@inner
def ways(tables: Any, state: Any, side: int, limit: int) -> int:
    """How many letters a side may go on with, and, where lengths are limited, ends."""
    letters: int = tables.counts[0, state[side]]
    if limit >= 0:
        letters += 1 if side == 0 else tables.counts[1, state[side]]
    return letters


@inner
def grow(tables: Any, old: Any, new: Any, state: Any, child: Any, side: int, way: int) -> bool:
    """The word with one more letter or end; False: there is none."""
    label = state[side]
    for place in range(len(state)):
        child[place] = state[place]
    if way >= tables.counts[0, label]:
        if side == 0:
            end_right(old, new)
        else:
            end_left(tables, old, new, label, way - tables.counts[0, label])
            child[LEFT] = ENDED
        child[RIGHT_RUN + side] = tables.right[ORDER]
        scale(new)
        return True
    if tables.letters[label, way, TURNS] == 1:
        return False
    if side == 0:
        grow_right(tables, old, new, label, way)
    else:
        grow_left(tables, old, new, label, way)
    child[side] = tables.letters[label, way, FOLLOWING]
    run = state[RIGHT_RUN + side] + 1
    child[RIGHT_RUN + side] = run if tables.letters[label, way, KNOWN] >= 0 else 0
    child[POINTS] += 1
    if child[POINTS] % tables.right[OFTEN] == 0:
        scale(new)
    return True


# Copies by hand: what stands in for shapes that do not fit would take seconds to compile.
@inner
def put_row(row: Any, to: Any) -> None:
    """Copy a row of letters or counts."""
    for place in range(len(row)):
        to[place] = row[place]


@inner
def put_table(table: Any, to: Any) -> None:
    """Copy the table of a word, of three axes."""
    for line in range(table.shape[0]):
        for u in range(table.shape[1]):
            for t in range(table.shape[2]):
                to[line, u, t] = table[line, u, t]


@inner
def may_grow(tables: Any, state: Any, size: int, limit: int) -> int:
    """The side on which a word of a beam goes on; -1: none."""
    full = limit >= 0 and state[POINTS] >= limit
    return -1 if full else side_to_grow(tables, state, size)


@compiled(error_model="numpy")
def beam(tables: Any, roots: Any, states: Any, limit: int, most: int, kept: Any, path: Any) -> Any:
    """Grow the ``most`` most promising words letter by letter; what the best is worth.

    ``limit``: how many points there may be beside the target, -1: any number. ``kept`` (sizes,
    most, 4): room for the parent and the last letter of the words. ``path`` (sizes, 3): the
    letters of the best one. Returns its value, and its root, its size, how the series begins and
    the label there.
    """
    words, old = states, roots
    best, found, idle = -np.inf, (-1, 0, 0, 0), 0
    for place in range(len(roots)):
        value, ending = worth(tables, roots[place], states[place, LEFT])
        if value > best:
            best, found = value, (place, 0, ending, states[place, LEFT])
    for size in range(1, len(kept)):
        room = 0
        for place in range(len(words)):
            side = may_grow(tables, words[place], size, limit)
            room += ways(tables, words[place], side, -1) if side >= 0 else 0
        new = np.empty((room, roots.shape[1], roots.shape[2], roots.shape[3]))
        children = np.empty((room, states.shape[1]), np.int64)
        origin, score, count, leader = np.empty((room, 4), np.int64), np.empty(room), 0, -1
        for place in range(len(words)):
            side = may_grow(tables, words[place], size, limit)
            for way in range(ways(tables, words[place], side, -1) if side >= 0 else 0):
                state, child = words[place], children[count]
                if not grow(tables, old[place], new[count], state, child, side, way):
                    continue
                value, ending = worth(tables, new[count], child[LEFT])
                if value == -np.inf:
                    continue
                if value > best:
                    idle = 0 if value > best + 1e-9 else idle
                    best, leader = value, count
                    found = (0, size, ending, child[LEFT])
                # What it is worth, and what it may become worth.
                score[count] = -value - min(at_most(tables, new[count], child[FIRST]), 1e3)
                origin[count, 0], origin[count, 1] = place, side
                origin[count, 2], origin[count, 3] = state[side], way
                count += 1
        if leader >= 0:
            put_row(origin[leader, 1:], path[size - 1])
            parent = origin[leader, 0]
            for before in range(size - 1, 0, -1):
                put_row(kept[before, parent, 1:], path[before - 1])
                parent = kept[before, parent, 0]
            found = (parent, size, found[2], found[3])
        order = np.empty(count, np.int64)
        sort_rising(score[:count], order)
        going = min(count, most)
        old = np.empty((going, roots.shape[1], roots.shape[2], roots.shape[3]))
        words = np.empty((going, states.shape[1]), np.int64)
        for rank in range(going):
            put_row(origin[order[rank]], kept[size, rank])
            put_row(children[order[rank]], words[rank])
            put_table(new[order[rank]], old[rank])
        idle += 1
        if count == 0 or idle > PATIENCE or best == np.inf:
            break
    return best, found


@inner
def share_done(
    tables: Any, state: Any, way: Any, size: int, limit: int, root: int, of: int
) -> float:
    """About what share of the words were looked at, as if behind all letters lay equally many."""
    share, done = 1.0 / of, root / of
    for place in range(size):
        side = side_to_grow(tables, state[place], place)
        share /= ways(tables, state[place], side, limit)
        done += (way[place] - 1) * share
    return done


@compiled(error_model="numpy")
def depth_first(
    tables: Any, roots: Any, states: Any, limit: int, low: Any, width: float, most: int, path: Any
) -> Any:
    """Look at all words that may be worth more than ``width`` above what is attained.

    ``low`` (1,): what is attained; ``path`` (sizes, 3): the letters of the word that attains it,
    where one is found. Returns the share of all words that was looked at, by a guess where it is
    not 1, the largest bound of those that were not followed, how many words there were, and of
    the best word its root, its size, how the
    series begins and the label there (root -1: no better one was found).
    """
    deepest = len(path)
    tower = np.empty((deepest + 1, *roots.shape[1:]))
    state = np.empty((deepest + 1, states.shape[1]), np.int64)
    way, letters = np.zeros(deepest + 1, np.int64), np.empty((deepest, 3), np.int64)
    top, looked, found = -np.inf, 0, (-1, 0, 0, 0)
    for root in range(len(roots)):
        put_table(roots[root], tower[0])
        put_row(states[root], state[0])
        size = -1
        # The root is looked at as every other word is.
        begun = False
        while size >= 0 or not begun:
            if not begun:
                begun, child = True, 0
            else:
                side = side_to_grow(tables, state[size], size)
                step = way[size]
                if side < 0 or step >= ways(tables, state[size], side, limit):
                    size -= 1
                    continue
                way[size] += 1
                child = size + 1
                if not grow(
                    tables, tower[size], tower[child], state[size], state[child], side, step
                ):
                    continue
                if limit >= 0 and state[child, POINTS] > limit:
                    continue
                letters[size, SIDE], letters[size, LABEL] = side, state[size, side]
                letters[size, LETTER] = step
            looked += 1
            slack = (child + 4) * tables.slack
            bound = at_most(tables, tower[child], state[child, FIRST]) + slack
            if bound <= low[0] + width:
                top = max(top, bound)
                continue
            value, ending = worth(tables, tower[child], state[child, LEFT])
            if value > low[0]:
                low[0], found = value, (root, child, ending, state[child, LEFT])
                for place in range(child):
                    put_row(letters[place], path[place])
            top = max(top, value + slack)
            if limit >= 0 and state[child, POINTS] == limit:
                continue
            if side_to_grow(tables, state[child], child) < 0:
                # Nothing that may follow matters.
                top = max(top, bound)
                continue
            if child == deepest or looked >= most or low[0] == np.inf:
                return (
                    share_done(tables, state, way, child, limit, root, len(roots)),
                    top,
                    looked,
                    found,
                )
            size, way[child] = child, 0
    return 1.0, top, looked, found
