"""Rows of a word: how a letter changes them, when they cover others, what they are worth at most.

A word is what is reported and known next to the target, first to its right, then to its left. It
is four rows: ``[0]`` and ``[1]`` for the values a and b of the target with reports and knowledge,
``[2]`` and ``[3]`` the same with the knowledge alone. What lies further out enters as nonnegative
vectors w and w', and the word is worth

    log (row 0 . w) / (row 1 . w)  +  log (row 3 . w') / (row 2 . w').

To the right of the target a row has the axes c, the m - 1 values before the target, and t, the m
values up to the next point; to its left one axis, the m values up to the next point there. Behind
a row over (c, t) the vector is L(u) R(t), where u are the m values before the target, and its
factor Pr[a | u] (Pr[b | u]) belongs to the row: it is not stored, ``odds`` stands for it.

All numbers are sums and products of nonnegative ones: nothing cancels, each operation costs a
factor within 1 +- 2^-53.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

UNIT = 2.0**-53
# Entries of a row below this share of its largest are moved to the safe side.
SMALLEST = 1e-120


@compiled(error_model="numpy")
def to_the_right(rows: Any, weight: Any, known: bool, transition: Any, new: Any) -> None:
    """One letter at the next point on the right; ``weight`` (k,) of the values of that point."""
    contexts, k = transition.shape
    rest = contexts // k
    for line in range(4):
        for c in range(rest):
            for tail in range(rest):
                for y in range(k):
                    total = 0.0
                    for oldest in range(k):
                        t = oldest * rest + tail
                        entry = rows[line, c * contexts + t] * transition[t, y]
                        if line < 2 or known:
                            entry *= weight[t % k]
                        total += entry
                    new[line, c * contexts + tail * k + y] = total
    scale(new, contexts * rest)


@compiled(error_model="numpy")
def to_the_left(rows: Any, weight: Any, known: bool, transition: Any, new: Any) -> None:
    """One letter at the next point on the left."""
    contexts, k = transition.shape
    rest = contexts // k
    for line in range(4):
        for u in range(contexts):
            total = 0.0
            for y in range(k):
                entry = rows[line, (u % rest) * k + y] * transition[u, y]
                if line < 2 or known:
                    entry *= weight[y]
                total += entry
            new[line, u] = total
    scale(new, contexts)


@compiled(error_model="numpy")
def turn(rows: Any, weight: Any, pair: Any, transition: Any, new: Any) -> None:
    """The series ends on the right; ``weight`` (2,) of the report of the target for a and b."""
    contexts, k = transition.shape
    rest = contexts // k
    for line in range(4):
        value = pair[line % 2]
        for c in range(rest):
            total = 0.0
            for t in range(contexts):
                total += rows[line, c * contexts + t]
            if line < 2:
                total *= weight[line]
            for oldest in range(k):
                u = oldest * rest + c
                new[line, u] = total * transition[u, value]
    scale(new, contexts)


@compiled(error_model="numpy")
def scale(rows: Any, size: int) -> None:
    """Each two rows divided by their largest entry; tiny entries to the safe side."""
    for first in range(0, 4, 2):
        largest = 0.0
        for line in range(first, first + 2):
            for x in range(size):
                largest = max(largest, rows[line, x])
        if largest == 0.0:
            continue
        for line in range(first, first + 2):
            # Rows 0 and 3 stand above the line, 1 and 2 below it.
            tiny = SMALLEST if line in (0, 3) else 0.0
            for x in range(size):
                entry = rows[line, x] / largest
                if 0.0 < entry < SMALLEST:
                    entry = tiny
                rows[line, x] = entry


@compiled(error_model="numpy")
def cover(
    over: Any, under: Any, other_over: Any, other_under: Any, size: int, most: float
) -> float:
    """The least g by coefficients with which the second word covers the first; inf: above most."""
    worst = 0.0
    for x in range(size):
        for y in range(x, size):
            above = over[x] * other_under[y] + over[y] * other_under[x]
            if above > 0.0:
                below = other_over[x] * under[y] + other_over[y] * under[x]
                if not above <= most * below:
                    return np.inf
                worst = max(worst, above / below)
    return worst


@compiled(error_model="numpy")
def cover_right(
    over: Any, under: Any, other_over: Any, other_under: Any, odds: Any, turned: int, most: float
) -> float:
    """The same for rows over (c, t), whose far vectors are products L(u) R(t).

    ``odds`` (m - 1 values, m - 1 values, 2, 2): the extreme pairs of Pr[a | u] Pr[b | u'] and
    Pr[a | u'] Pr[b | u] over the contexts u, u' that end in c, c'; ``turned``: 1 where the first
    row is that of b. A quotient of sums is monotone in the share of the pair, so that no other
    pair gives a larger one.
    """
    rest = odds.shape[0]
    contexts = len(over) // rest
    worst = 0.0
    for c in range(rest):
        for d in range(c, rest):
            for which in range(2):
                one, two = odds[c, d, which, turned], odds[c, d, which, 1 - turned]
                if one == 0.0 and two == 0.0:
                    continue
                for s in range(contexts):
                    cs, ds = c * contexts + s, d * contexts + s
                    for t in range(s, contexts):
                        ct, dt = c * contexts + t, d * contexts + t
                        above = one * (
                            over[cs] * other_under[dt] + over[ct] * other_under[ds]
                        ) + two * (over[ds] * other_under[ct] + over[dt] * other_under[cs])
                        if above > 0.0:
                            below = one * (
                                other_over[cs] * under[dt] + other_over[ct] * under[ds]
                            ) + two * (other_over[ds] * under[ct] + other_over[dt] * under[cs])
                            if not above <= most * below:
                                return np.inf
                            worst = max(worst, above / below)
    return worst


@compiled(error_model="numpy")
def cover_all(over: Any, under: Any, odds: Any, turned: int, most: float) -> float:
    """The least g with which the end of the series covers whatever else is on the right.

    The far vector R(t) is a mixture of single contexts, so it is enough to look at each alone.
    """
    rest = odds.shape[0]
    contexts = len(over) // rest
    ended = np.zeros((2, rest))
    for c in range(rest):
        for t in range(contexts):
            ended[0, c] += over[c * contexts + t]
            ended[1, c] += under[c * contexts + t]
    alone = np.empty((2, rest))
    worst = 1.0
    for t in range(contexts):
        for c in range(rest):
            alone[0, c], alone[1, c] = over[c * contexts + t], under[c * contexts + t]
        factor = cover_right(alone[0], alone[1], ended[0], ended[1], odds, turned, most)
        if factor == np.inf:
            return np.inf
        worst = max(worst, factor)
    return worst


@compiled(error_model="numpy")
def cost_of_ending(rows: Any, odds: Any, size: int, most: float, known: bool) -> float:
    """Log of the factor by which more on the right may be worth more than the end; inf: above."""
    limit = np.exp(min(most, 600.0))
    factor = cover_all(rows[0, :size], rows[1, :size], odds, 0, limit)
    seen: float = np.log(factor)
    if factor == np.inf or not known:
        return seen
    limit = np.exp(min(most - seen, 600.0))
    told: float = np.log(cover_all(rows[3, :size], rows[2, :size], odds, 1, limit))
    return seen + told


@compiled(error_model="numpy")
def cost(
    rows: Any, other: Any, odds: Any, is_right: bool, size: int, least: Any, known: bool
) -> float:
    """Log of the factor within which a word covers another; inf: above a limit.

    ``least`` (3,): what the reports cost at least, the knowledge alone, and the limit, in logs.
    Where nothing is ``known``, what the knowledge costs is just that.
    """
    told = 0.0
    if not known:
        told = least[1]
    elif not same(rows, other, size):
        limit = np.exp(min(least[2] - least[0], 600.0))
        if is_right:
            factor = cover_right(rows[3], rows[2], other[3], other[2], odds, 1, limit)
        else:
            factor = cover(rows[3], rows[2], other[3], other[2], size, limit)
        if factor == np.inf:
            return np.inf
        told = np.log(factor)
    limit = np.exp(min(least[2] - told, 600.0))
    if is_right:
        factor = cover_right(rows[0], rows[1], other[0], other[1], odds, 0, limit)
    else:
        factor = cover(rows[0], rows[1], other[0], other[1], size, limit)
    seen: float = np.log(factor)
    return told + seen


@compiled(error_model="numpy")
def same(rows: Any, other: Any, size: int) -> bool:
    """Whether the rows of the knowledge are the same."""
    different = 0
    for x in range(size):
        if rows[2, x] != other[2, x] or rows[3, x] != other[3, x]:
            different += 1
            break
    return different == 0


@compiled(error_model="numpy")
def largest(over: Any, under: Any, size: int) -> float:
    """Log of the largest over(x) / under(x) where either is positive."""
    worst = 0.0
    for x in range(size):
        if over[x] > 0.0:
            if under[x] == 0.0:
                return np.inf
            worst = max(worst, over[x] / under[x])
    found: float = np.log(worst)
    return found


@compiled(error_model="numpy")
def largest_right(over: Any, under: Any, ends: Any, turned: int) -> float:
    """The same for rows over (c, t); ``ends`` (m - 1 values, 2): extreme Pr[a | u] / Pr[b | u]."""
    rest = len(ends)
    contexts = len(over) // rest
    worst = 0.0
    for c in range(rest):
        factor = ends[c, 0] if turned == 0 else ends[c, 1]
        for t in range(contexts):
            x = c * contexts + t
            if over[x] > 0.0 and factor > 0.0:
                if under[x] == 0.0 or factor == np.inf:
                    return np.inf
                worst = max(worst, factor * (over[x] / under[x]))
    found: float = np.log(worst)
    return found
