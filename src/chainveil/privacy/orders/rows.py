"""Rows of a word: how a letter changes them, when they cover others, what they are worth at most.

A word is what is reported and known next to the target, first to its right, then to its left. It
is four rows: ``[0]`` and ``[1]`` for the values a and b of the target with reports and knowledge,
``[2]`` and ``[3]`` the same with the knowledge alone. What lies further out enters as nonnegative
vectors w and w', and the word is worth

    log (row 0 . w) / (row 1 . w)  +  log (row 3 . w') / (row 2 . w').

To the right of the target a row has the axes c, the m - 1 values before the target, and t, the next
m values; to its left one axis, the next m values there. Behind
a row over (c, t) the vector is L(u) R(t), where u are the m values before the target, and its
factor Pr[a | u] (Pr[b | u]) belongs to the row: it is not stored, ``odds`` stands for it.

All numbers are sums and products of nonnegative ones: nothing cancels, each operation costs a
factor within 1 +- 2^-53. ``told`` is 0 for the rows with reports, of which row 0 stands above
row 1, and 1 for the knowledge alone, of which row 3 stands above row 2.

Compiling is most of the time of a first loss. Functions therefore take few arrays, read single
entries of them, and call few others: a caller is compiled together with all that it calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

UNIT = 2.0**-53
# Entries of a row below this share of its largest are moved to the safe side.
SMALLEST = 1e-120
# What a letter is: the value that is known (-1: none), the label it leads to, whether it is the
# turn from the right of the target to its left.
KNOWN, FOLLOWING, TURNS = 0, 1, 2
# What the places of ``tables.right`` say: labels to the right, labels of each pair, whether points
# may be known, the order, how many levels a turn takes, and behind how many letters entries have
# to be scaled at the latest.
LABELS, EACH, MAY_KNOW, ORDER, STEP, OFTEN = 0, 1, 2, 3, 4, 5

# Functions that only other loops call need no way in from Python.
inner = compiled(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@inner
def row_size(tables: Any, label: int) -> int:
    """Entries of a row of this label."""
    contexts, k = tables.transition.shape
    size: int = contexts * (contexts // k) if label < tables.right[LABELS] else contexts
    return size


@inner
def to_the_right(rows: Any, at: int, tables: Any, place: Any, new: Any, to: int) -> None:
    """One letter at the next point on the right; ``place``: its label and number."""
    contexts, k = tables.transition.shape
    rest = contexts // k
    known = tables.letters[place[0], place[1], KNOWN] >= 0
    for line in range(4):
        for c in range(rest):
            for tail in range(rest):
                for y in range(k):
                    total = 0.0
                    for oldest in range(k):
                        t = oldest * rest + tail
                        entry = rows[at, line, c * contexts + t] * tables.transition[t, y]
                        if line < 2 or known:
                            entry *= tables.weight[place[0], place[1], oldest]
                        total += entry
                    new[to, line, c * contexts + tail * k + y] = total


@inner
def to_the_left(rows: Any, at: int, tables: Any, place: Any, new: Any, to: int) -> None:
    """One letter at the next point on the left."""
    contexts, k = tables.transition.shape
    rest = contexts // k
    known = tables.letters[place[0], place[1], KNOWN] >= 0
    for line in range(4):
        for u in range(contexts):
            total = 0.0
            for y in range(k):
                entry = rows[at, line, (u % rest) * k + y] * tables.transition[u, y]
                if line < 2 or known:
                    entry *= tables.weight[place[0], place[1], y]
                total += entry
            new[to, line, u] = total


@inner
def turn(rows: Any, at: int, tables: Any, place: Any, new: Any, to: int) -> None:
    """The series ends on the right; the letter weighs the report of the target for a and b."""
    contexts, k = tables.transition.shape
    rest = contexts // k
    for line in range(4):
        value = tables.pairs[place[0] // tables.right[EACH], line % 2]
        for c in range(rest):
            total = 0.0
            for t in range(contexts):
                total += rows[at, line, c * contexts + t]
            if line < 2:
                total *= tables.weight[place[0], place[1], line]
            for oldest in range(k):
                u = oldest * rest + c
                new[to, line, u] = total * tables.transition[u, value]


@inner
def scale(rows: Any, at: int, size: int) -> None:
    """Each two rows divided by their largest entry; tiny entries to the safe side."""
    most = 0.0
    for line in range(4):
        if line % 2 == 0:
            most = 0.0
            for x in range(size):
                most = max(most, rows[at, line, x], rows[at, line + 1, x])
        if most == 0.0:
            continue
        # Rows 0 and 3 stand above the line, 1 and 2 below it.
        tiny = SMALLEST if line == 0 or line == 3 else 0.0
        for x in range(size):
            entry = rows[at, line, x] / most
            if 0.0 < entry < SMALLEST:
                entry = tiny
            rows[at, line, x] = entry


@inner
def cover(rows: Any, at: int, others: Any, other: int, size: int, told: int, most: float) -> float:
    """The least g by coefficients with which the second word covers the first; inf: above most."""
    over, under = 3 * told, 1 + told
    worst = 0.0
    for x in range(size):
        for y in range(x, size):
            above = (
                rows[at, over, x] * others[other, under, y]
                + rows[at, over, y] * others[other, under, x]
            )
            if above > 0.0:
                below = (
                    others[other, over, x] * rows[at, under, y]
                    + others[other, over, y] * rows[at, under, x]
                )
                if not above <= most * below:
                    return np.inf
                worst = max(worst, above / below)
    return worst


@inner
def cover_right(
    rows: Any, at: int, others: Any, other: int, odds: Any, pair: int, told: int, most: float
) -> float:
    """The same for rows over (c, t), whose far vectors are products L(u) R(t).

    ``odds`` (pairs, m - 1 values, m - 1 values, 2, 2): the extreme pairs of Pr[a | u] Pr[b | u']
    and Pr[a | u'] Pr[b | u] over the contexts u, u' that end in c, c'. A quotient of sums is
    monotone in the share of the pair, so that no other pair gives a larger one.
    """
    over, under = 3 * told, 1 + told
    rest = odds.shape[1]
    contexts = rows.shape[2] // rest
    worst = 0.0
    for c in range(rest):
        for d in range(c, rest):
            for which in range(2):
                one, two = odds[pair, c, d, which, told], odds[pair, c, d, which, 1 - told]
                if one == 0.0 and two == 0.0:
                    continue
                for s in range(contexts):
                    cs, ds = c * contexts + s, d * contexts + s
                    for t in range(s, contexts):
                        ct, dt = c * contexts + t, d * contexts + t
                        above = one * (
                            rows[at, over, cs] * others[other, under, dt]
                            + rows[at, over, ct] * others[other, under, ds]
                        ) + two * (
                            rows[at, over, ds] * others[other, under, ct]
                            + rows[at, over, dt] * others[other, under, cs]
                        )
                        if above > 0.0:
                            below = one * (
                                others[other, over, cs] * rows[at, under, dt]
                                + others[other, over, ct] * rows[at, under, ds]
                            ) + two * (
                                others[other, over, ds] * rows[at, under, ct]
                                + others[other, over, dt] * rows[at, under, cs]
                            )
                            if not above <= most * below:
                                return np.inf
                            worst = max(worst, above / below)
    return worst


@inner
def cost_of_ending(rows: Any, at: int, tables: Any, pair: int, told: int, most: float) -> float:
    """Log of the factor by which more on the right may be worth more than the end; inf: above.

    The far vector R(t) is a mixture of single contexts, so it is enough to look at each alone.
    """
    over, under = 3 * told, 1 + told
    rest = tables.odds.shape[1]
    contexts = rows.shape[2] // rest
    ended = tables.scratch
    for c in range(rest):
        ended[0, c], ended[1, c] = 0.0, 0.0
        for t in range(contexts):
            ended[0, c] += rows[at, over, c * contexts + t]
            ended[1, c] += rows[at, under, c * contexts + t]
    worst, limit = 1.0, np.exp(min(most, 600.0))
    for t in range(contexts):
        for c in range(rest):
            for d in range(c, rest):
                ct, dt = c * contexts + t, d * contexts + t
                for which in range(2):
                    one = tables.odds[pair, c, d, which, told]
                    two = tables.odds[pair, c, d, which, 1 - told]
                    above = one * rows[at, over, ct] * ended[1, d]
                    above += two * rows[at, over, dt] * ended[1, c]
                    if above > 0.0:
                        below = one * ended[0, c] * rows[at, under, dt]
                        below += two * ended[0, d] * rows[at, under, ct]
                        if not above <= limit * below:
                            return np.inf
                        worst = max(worst, above / below)
    found: float = np.log(worst)
    return found


@inner
def largest(rows: Any, at: int, tables: Any, label: int, told: int) -> float:
    """Log of the largest quotient of two rows' entries where either is positive.

    On the right with the extreme Pr[a | u] / Pr[b | u], which ``tables.ends`` has.
    """
    over, under = 3 * told, 1 + told
    contexts = len(tables.start)
    is_right = label < tables.right[LABELS]
    worst = 0.0
    for x in range(row_size(tables, label)):
        factor = 1.0
        if is_right:
            factor = tables.ends[label // tables.right[EACH], x // contexts, told]
        if rows[at, over, x] > 0.0 and factor > 0.0:
            if rows[at, under, x] == 0.0 or factor == np.inf:
                return np.inf
            worst = max(worst, factor * (rows[at, over, x] / rows[at, under, x]))
    found: float = np.log(worst)
    return found
