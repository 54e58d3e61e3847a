"""Compiled loops over functionals: one more letter, joining, and which of them speak for others.

A functional is a matrix over (u, u') and (t, t'), pairs of contexts further out on the left and on
the right. The first of a pair weighs what is said by reports and knowledge, the second what
is known alone. Its values are of both signs. On a side that has ended there is one entry.

What follows a word lies in a cone: of any two contexts, reports favour the first over the second by
no more than some factor D. ``rays`` holds D / (1 + D): a functional is at most zero on the cone if
it is so on the rays (rays[s, t], 1 - rays[s, t]) of the entries (s, t) and (t, s), for all s and t.

Every number that is stored is at least what it stands for: sums and products are raised by a bound
on their rounding, so that functionals that are nowhere positive show that something cannot be.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainveil.compiled import compiled

UNIT = 2.0**-53
# Positive values below this, where they are one on average, are raised to it: products stay
# positive.
SMALLEST = 1e-100
# What joining may scale a functional by, as powers of e, and how often the scale is halved.
WIDEST, HALVINGS = 3.0, 8

# Functions that only other loops call need no way in from Python.
inner = compiled(error_model="numpy", no_cpython_wrapper=True)


@inner
def step_right(old: Any, transition: Any, weight: Any, first: bool, slack: float, new: Any) -> None:
    """One letter on the right for the second contexts of pairs, or for the first.

    The letter weighs the oldest value of a context, which gives way to a new one.
    """
    contexts, k = transition.shape
    rest = contexts // k
    # The context that stays as it is has the stride ``other``.
    stride, other = (contexts, 1) if first else (1, contexts)
    for row in range(len(old)):
        for r in range(rest):
            for y in range(k):
                to = (r * k + y) * stride
                for s in range(contexts):
                    total = 0.0
                    for x in range(k):
                        at = x * rest + r
                        entry = old[row, at * stride + s * other]
                        total += weight[x] * transition[at, y] * (entry + slack * abs(entry))
                    new[row, to + s * other] = total


@inner
def step_left(old: Any, transition: Any, weight: Any, first: bool, slack: float, new: Any) -> None:
    """The same on the left, where it weighs the newest value of a context."""
    contexts, k = transition.shape
    rest = contexts // k
    stride, other = (contexts, 1) if first else (1, contexts)
    for u in range(contexts):
        for s in range(contexts):
            to = u * stride + s * other
            for column in range(old.shape[1]):
                new[to, column] = 0.0
            for x in range(k):
                share = weight[x] * transition[u, x]
                if share > 0.0:
                    at = (u % rest * k + x) * stride + s * other
                    for column in range(old.shape[1]):
                        entry = old[at, column]
                        new[to, column] += share * (entry + slack * abs(entry))


@inner
def on_rays(values: Any, left: Any, right: Any) -> None:
    """Entries of a functional become its values on the rays of both sides."""
    contexts = len(left)
    if values.shape[1] > 1:
        for row in range(len(values)):
            for s in range(contexts):
                for t in range(s + 1, contexts):
                    at, back = s * contexts + t, t * contexts + s
                    a, b = values[row, at], values[row, back]
                    more = 4.0 * UNIT * (abs(a) + abs(b))
                    values[row, at] = right[s, t] * a + (1.0 - right[s, t]) * b + more
                    values[row, back] = right[t, s] * b + (1.0 - right[t, s]) * a + more
    if len(values) > 1:
        for s in range(contexts):
            for t in range(s + 1, contexts):
                at, back = s * contexts + t, t * contexts + s
                p, q = left[s, t], left[t, s]
                for column in range(values.shape[1]):
                    a, b = values[at, column], values[back, column]
                    more = 4.0 * UNIT * (abs(a) + abs(b))
                    values[at, column] = p * a + (1.0 - p) * b + more
                    values[back, column] = q * b + (1.0 - q) * a + more


@inner
def off_rays(values: Any, left: Any, right: Any) -> None:
    """The functional with these values on the rays, or a little more."""
    contexts = len(left)
    if values.shape[1] > 1:
        for row in range(len(values)):
            for s in range(contexts):
                for t in range(s + 1, contexts):
                    at, back = s * contexts + t, t * contexts + s
                    p, q = right[s, t], right[t, s]
                    share = 1.0 / (p + q - 1.0)
                    a, b = values[row, at], values[row, back]
                    more = 16.0 * UNIT * share * (abs(a) + abs(b))
                    values[row, at] = (q * a - (1.0 - p) * b) * share + more
                    values[row, back] = (p * b - (1.0 - q) * a) * share + more
    if len(values) > 1:
        for s in range(contexts):
            for t in range(s + 1, contexts):
                at, back = s * contexts + t, t * contexts + s
                p, q = left[s, t], left[t, s]
                share = 1.0 / (p + q - 1.0)
                for column in range(values.shape[1]):
                    a, b = values[at, column], values[back, column]
                    more = 16.0 * UNIT * share * (abs(a) + abs(b))
                    values[at, column] = (q * a - (1.0 - p) * b) * share + more
                    values[back, column] = (p * b - (1.0 - q) * a) * share + more


@inner
def scale(row: Any) -> float:
    """Scale entries to about one on average, by a power of two; the largest before that."""
    size, most = 0.0, -np.inf
    for i in range(len(row)):
        size += abs(row[i])
        most = max(most, row[i])
    if size == 0.0:
        return 0.0
    if not size < np.inf:
        # Of what is no number nothing is shown.
        return np.inf
    factor = math.ldexp(1.0, -math.frexp(size / len(row))[1])
    for i in range(len(row)):
        row[i] *= factor
        if 0.0 < row[i] < SMALLEST:
            row[i] = SMALLEST
    return most


@compiled(error_model="numpy")
def pull(
    side: int, old: Any, transition: Any, parent: Any, weight: Any, known: Any, rays: Any,
    label: Any, room: Any, new: Any, said: Any,
) -> None:  # fmt: skip
    """Functionals of one letter more on a side, on rays; the largest value and the mean of each.

    ``old`` (n, left, right); ``parent`` (m,) and ``weight`` (m, k): which functional, and what the
    letter weighs; ``known`` (m,): whether it is knowledge; ``label`` (m, 2): labels on the left
    and on the right, by which ``rays`` are found; ``room`` (2, left, right). Letters of one parent
    that are no knowledge stand next to each other.
    """
    left, right = old.shape[1:]
    k = transition.shape[1]
    slack = (16 + 2 * k) * UNIT
    ones = np.ones(k)
    before = -1
    for at in range(len(parent)):
        if known[at] or parent[at] != before:
            prior = weight[at] if known[at] else ones
            if side == 0:
                step_right(old[parent[at]], transition, prior, False, slack, room[0])
            else:
                step_left(old[parent[at]], transition, prior, False, slack, room[0])
            before = -1 if known[at] else parent[at]
        values = new[at].reshape(left, right)
        if side == 0:
            step_right(room[0], transition, weight[at], True, slack, values)
        else:
            step_left(room[0], transition, weight[at], True, slack, values)
        on_rays(values, rays[label[at, 0]], rays[label[at, 1]])
        said[at, 0] = scale(new[at])
        said[at, 1] = np.mean(new[at])


@compiled(error_model="numpy")
def restore(values: Any, shape: Any, rays: Any, label: Any) -> None:
    """From values on rays to entries, for each of them; ``shape``: of the left and the right."""
    for at in range(len(values)):
        two = values[at].reshape(shape[0], shape[1])
        off_rays(two, rays[label[at, 0]], rays[label[at, 1]])


@inner
def slope_at(one: Any, other: Any, factor: float) -> float:
    """Sum of ``one`` where ``factor`` times it is above ``other``, in four parts side by side."""
    a = b = c = d = 0.0
    even = len(one) // 4 * 4
    for i in range(0, even, 4):
        a += one[i] if factor * one[i] > other[i] else 0.0
        b += one[i + 1] if factor * one[i + 1] > other[i + 1] else 0.0
        c += one[i + 2] if factor * one[i + 2] > other[i + 2] else 0.0
        d += one[i + 3] if factor * one[i + 3] > other[i + 3] else 0.0
    for i in range(even, len(one)):
        a += one[i] if factor * one[i] > other[i] else 0.0
    return a + b + (c + d)


@inner
def cost_of_joining(one: Any, other: Any) -> Any:
    """What the mean grows by, as a share of its size, if ``other`` takes ``one`` in; the scale of
    ``one`` with which that is least, as a power of e.
    """
    low, high, at = -WIDEST, WIDEST, 0.0
    for _ in range(HALVINGS):
        rises = slope_at(one, other, np.exp(at)) > 0.0
        low, high = (low, at) if rises else (at, high)
        at = (low + high) / 2.0
    factor, more, size = np.exp(at), 0.0, 0.0
    for i in range(len(one)):
        more += max(0.0, factor * one[i] - other[i])
        size += abs(other[i])
    return more / max(size, SMALLEST), at


@inner
def take_in(one: Any, other: Any, factor: float) -> None:
    """``other`` becomes at least ``factor`` times ``one``."""
    for i in range(len(one)):
        entry = factor * one[i]
        other[i] = max(other[i], entry + 4.0 * UNIT * abs(entry))


@inner
def weigh(values: Any, place: Any, i: int, j: int, cost: Any) -> None:
    """What it costs to join two functionals, either into the other."""
    for one, other in ((i, j), (j, i)):
        now, power = cost_of_joining(values[place[one]], values[place[other]])
        cost[0, one, other], cost[1, one, other] = now, power


@compiled(error_model="numpy")
def join(values: Any, place: Any, first: Any, most: int, alive: Any, cost: Any) -> None:
    """In each group, from ``place[first[g]]`` up to the next one, join until few are left.

    Those that cost least to join are joined first. ``cost``: room for two numbers of each pair.
    """
    for g in range(len(first) - 1):
        some, here = place[first[g] : first[g + 1]], alive[first[g] : first[g + 1]]
        count = left = len(some)
        for i in range(count if count > most else 0):
            for j in range(i):
                weigh(values, some, i, j, cost)
        while left > most:
            least, into, taken = np.inf, -1, -1
            for i in range(count):
                for j in range(count):
                    if i != j and here[i] and here[j] and (cost[0, i, j] < least or into < 0):
                        least, into, taken = cost[0, i, j], j, i
            take_in(values[some[taken]], values[some[into]], np.exp(cost[1, taken, into]))
            scale(values[some[into]])
            here[taken] = False
            left -= 1
            for i in range(count if left > most else 0):
                if i != into and here[i]:
                    weigh(values, some, i, into, cost)


@inner
def speaks_for(one: Any, other: Any) -> bool:
    """Whether ``other`` is at most some multiple of ``one``."""
    low, high = 0.0, np.inf
    for i in range(len(one)):
        a, b = one[i], other[i]
        if a < 0.0:
            if b >= 0.0:
                return False
            high = min(high, b / a)
        elif b > 0.0:
            if a == 0.0:
                return False
            low = max(low, b / a)
        if low > high:
            return False
    return low * (1.0 + 8.0 * UNIT) <= high * (1.0 - 8.0 * UNIT)


@compiled(error_model="numpy")
def prune(values: Any, place: Any, kind: Any, order: Any, most: int, alive: Any) -> None:
    """Leave out functionals, at some places, for which another one of their kind speaks.

    ``order``: the strongest first, of which so many are asked for each.
    """
    for i in range(len(order) - 1, -1, -1):
        one, asked = order[i], 0
        for j in range(len(order) if alive[one] else 0):
            other = order[j]
            if j == i or not alive[other] or kind[other] != kind[one]:
                continue
            if speaks_for(values[place[other]], values[place[one]]):
                alive[one] = False
                break
            asked += 1
            if asked >= most:
                break
