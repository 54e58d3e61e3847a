"""Compiled branch and bound over outputs and depths of one side of the target.

What a node is, how it is bounded and where it is split stands at :func:`branch_and_bound`.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from chainveil.compiled import compiled
from chainveil.privacy.finite.kernels import row_bound

# A node is split by depth where the prior varies by more than this share of its doubt. Depths
# apart have zones and priors of their own, which beats one more output by far.
PATIENCE = 0.2


@compiled(error_model="numpy")
def _zones_bound(
    over: Any, under: Any, zones: Any, orders: Any, room: Any, first: int, last: int
) -> float:
    best = 0.0
    for j in range(first, last):
        best = max(best, row_bound(over, under, zones[j], orders[j], room))
    return best


@compiled(error_model="numpy")
def _zone_range(exact: Any, union: Any, source: int, single: bool, left: int, period: int) -> Any:
    """Where the zones of the messages that are ``left`` points from their end are stored."""
    if single and left < exact.shape[1]:
        return exact[source, left]
    # Behind the last zones those of the last period serve, phase by phase.
    last = union.shape[1] - period
    return union[source, left if left < last else last + (left - last) % period]


@compiled(error_model="numpy")
def _prior_range(
    prior: Any, tail: Any, source: int, j1: int, j2: int, a: int, b: int, period: int
) -> tuple[float, float, int]:
    """Largest and smallest log prior of b over a at depths j1, j1 + period, … j2, and where.

    ``j2 = -1`` means without end. Depths at which one of the two is impossible do not count.
    Depths that are not stored are covered by the tail. The place is the last stored depth
    that attains the maximum, -1 where none counts.
    """
    stored = prior.shape[1] - 1
    most, least, place = -np.inf, np.inf, -1
    end = stored if j2 < 0 or j2 > stored else j2
    for j in range(j1, end + 1, period):
        one, other = prior[source, j, a], prior[source, j, b]
        if one == -np.inf or other == -np.inf:
            continue
        value = other - one
        if value >= most:
            most, place = value, j
        least = min(least, value)
    if (j2 < 0 or j2 > stored) and tail[source, j1 % period, a, b] > -np.inf:
        value = tail[source, j1 % period, a, b]
        most = max(most, value)
        least = min(least, value) if place >= 0 else most
    return most, least, place


@compiled(error_model="numpy")
def root_bounds(
    zones: Any,
    orders: Any,
    exact: Any,
    union: Any,
    prior: Any,
    tail: Any,
    first: Any,
    last: Any,
    period: int,
) -> Any:
    """Quick upper bounds on the log value of one side for each pair (a, b), from zones alone.

    ``-inf`` where the two values never occur together.
    """
    k = zones.shape[1]
    tasks = _first_tasks(first, last, period, exact.shape[1])
    bounds = np.full((k, k), -np.inf)
    room = np.empty((3, k))
    for a in range(k):
        for b in range(k):
            if a == b:
                continue
            over, under = np.zeros(k), np.zeros(k)
            over[a] = 1.0
            under[b] = 1.0
            for source, j, j2 in tasks:
                most, _, _ = _prior_range(prior, tail, source, j, j2, a, b, period)
                if most > -np.inf:
                    where = _zone_range(exact, union, source, j == j2, j, period)
                    value = _zones_bound(over, under, zones, orders, room, where[0], where[1])
                    if value > 0.0:
                        bounds[a, b] = max(bounds[a, b], np.log(value) + most)
    return bounds


@compiled(error_model="numpy")
def _first_tasks(first: Any, last: Any, period: int, apart: int) -> Any:
    """Sources and depths to begin with, rows (source, j1, j2); ``j2 = -1``: without end.

    Depths below ``apart`` one by one, those behind together, phase by phase.
    """
    tasks = [(0, 0, 0)]
    tasks.pop()
    for source in range(len(first)):
        j = first[source]
        while last[source] == -1 or j <= last[source]:
            if j >= max(apart, first[source]) + period:
                break
            tasks.append((source, j, j if j < apart else _block_end(last[source], j, period)))
            j += 1
    return tasks


@compiled(error_model="numpy")
def _block_end(last: int, j: int, period: int) -> int:
    """The last depth up to ``last`` that is a whole number of periods behind ``j``."""
    return -1 if last < 0 else last - (last - j) % period


@compiled(error_model="numpy")
def _scaled(over: Any, under: Any) -> None:
    """Divide both rows by one power of two, so that neither overflows nor underflows.

    An entry that falls below 1e-250 of the largest is rounded to the safe side: up in the
    numerator, down to zero in the denominator.
    """
    k = len(over)
    largest = 0.0
    for x in range(k):
        largest = max(largest, over[x], under[x])
    if largest == 0.0:
        return
    factor = 2.0 ** -np.floor(np.log2(largest))
    for x in range(k):
        over[x] *= factor
        under[x] *= factor
        if 0.0 < over[x] < 1e-250:
            over[x] = 1e-250
        if under[x] < 1e-250:
            under[x] = 0.0


@compiled(error_model="numpy")
def _grown(array: Any) -> Any:
    larger = np.empty((2 * array.shape[0], array.shape[1]), array.dtype)
    for row in range(array.shape[0]):
        for column in range(array.shape[1]):
            larger[row, column] = array[row, column]
    return larger


@compiled(error_model="numpy")
def branch_and_bound(
    steps: Any,
    zones: Any,
    orders: Any,
    exact: Any,
    union: Any,
    prior: Any,
    tail: Any,
    samples: Any,
    first: Any,
    last: Any,
    period: int,
    a: int,
    b: int,
    cutoff: float,
    tolerance: float,
    max_nodes: int,
    found: float,
    together: bool,
) -> tuple[float, float, int, int, Any, int, int]:
    """Bounds on one side's log value for the pair (a, b), over sources, depths and outputs.

    A node fixes the outputs nearest the target (rows ``over`` and ``under`` of the product
    of their steps), a source, and the depths j1 … j2 at which the source may lie. It is
    split by one more output, or by depth where the prior varies more than the rest. Ends
    when the best bound is within ``tolerance`` of the best value found, or below ``cutoff``;
    ``found`` is the value of an attack that is known already. Depths of a source begin
    ``together`` in one node, or each in its own as far as zones are stored for it.

    Returns upper bound, value found, its source and depth, the outputs from the target
    outwards, the number of nodes, and the longest row of outputs.
    """
    k = zones.shape[1]
    outputs = steps.shape[0]
    depth = exact.shape[1]
    stored = prior.shape[1] - 1
    room = np.empty((3, k))
    rows = np.zeros((256, 2 * k))
    # Columns: outputs fixed, source, j1, j2, best depth stored, parent, symbol.
    tree = np.zeros((256, 7), np.int64)
    # Columns: bound, largest prior, smallest prior.
    marks = np.zeros((256, 3))
    heap = [(0.0, np.int64(-1))]
    heap.pop()
    count, longest = 0, 0
    found_node, found_depth = -1, -1
    dropped = -np.inf

    # Where zones are stored for single depths only, all depths are apart from the beginning.
    apart = 0 if together and union.shape[1] > 0 else depth
    for source, j, j2 in _first_tasks(first, last, period, apart):
        most, least, place = _prior_range(prior, tail, source, j, j2, a, b, period)
        if most == -np.inf:
            continue
        if count + 1 >= rows.shape[0]:
            rows, tree, marks = _grown(rows), _grown(tree), _grown(marks)
        rows[count] = 0.0
        rows[count, a] = 1.0
        rows[count, k + b] = 1.0
        where = _zone_range(exact, union, source, j == j2, j, period)
        value = _zones_bound(
            rows[count, :k], rows[count, k:], zones, orders, room, where[0], where[1]
        )
        if value <= 0.0:
            continue
        tree[count] = np.array([0, source, j, j2, place, -1, -1])
        marks[count] = np.array([np.log(value) + most, most, least])
        heapq.heappush(heap, (-marks[count, 0], np.int64(count)))
        count += 1
    nodes = count

    while len(heap) > 0:
        top = -heap[0][0]
        if top <= max(found + tolerance, cutoff) or nodes >= max_nodes:
            break
        node = int(heapq.heappop(heap)[1])
        fixed, source, j1, j2 = tree[node, 0], tree[node, 1], tree[node, 2], tree[node, 3]
        best_place = tree[node, 4]
        place = best_place
        # A value from below: end at the best stored depth, filled up by the source's sample;
        # behind what is stored, where the prior hardly moves, as far as the samples go.
        rest = -np.inf
        known = place
        if place < fixed:
            place = _block_end(fixed + stored if j2 < 0 else min(j2, fixed + stored), j1, period)
            known = place if place <= stored else stored - (stored - place) % period
        if place >= j1 and prior[source, known, a] > -np.inf and prior[source, known, b] > -np.inf:
            sample = samples[source, place - fixed]
            above, below = 0.0, 0.0
            for x in range(k):
                above += rows[node, x] * sample[x]
                below += rows[node, k + x] * sample[x]
            if above > 0.0 and below > 0.0:
                rest = np.log(above / below)
                value = rest + prior[source, known, b] - prior[source, known, a]
                if value > found:
                    found, found_node, found_depth = value, node, place
        if j1 == j2 and j1 == fixed:
            dropped = max(dropped, marks[node, 0])
            continue
        spread = marks[node, 1] - marks[node, 2]
        doubt = marks[node, 0] - marks[node, 1] - rest
        by_depth = j1 != j2 and (j1 == fixed or (j1 <= stored and spread > PATIENCE * doubt))
        children = 2 if by_depth else outputs
        while count + children >= rows.shape[0]:
            rows, tree, marks = _grown(rows), _grown(tree), _grown(marks)
        for child in range(children):
            nodes += 1
            lo, hi, length = j1, j2, fixed
            if by_depth:
                if j1 == fixed or j1 < depth:
                    middle = j1
                elif j2 < 0:
                    middle = j1 + period * max(1, (j1 - depth + period) // period)
                else:
                    middle = j1 + (j2 - j1) // (2 * period) * period
                if child == 0:
                    hi = middle
                else:
                    lo = middle + period
                rows[count] = rows[node]
                most, least, kept = _prior_range(prior, tail, source, lo, hi, a, b, period)
                if most == -np.inf:
                    continue
            else:
                length = fixed + 1
                for y in range(k):
                    above, below = 0.0, 0.0
                    for x in range(k):
                        above += rows[node, x] * steps[child, x, y]
                        below += rows[node, k + x] * steps[child, x, y]
                    rows[count, y] = above
                    rows[count, k + y] = below
                _scaled(rows[count, :k], rows[count, k:])
                most, least, kept = marks[node, 1], marks[node, 2], best_place
            where = _zone_range(exact, union, source, lo == hi, lo - length, period)
            value = _zones_bound(
                rows[count, :k], rows[count, k:], zones, orders, room, where[0], where[1]
            )
            if value <= 0.0:
                continue
            bound = min(np.log(value) + most, marks[node, 0])
            if bound <= max(found + tolerance, cutoff):
                dropped = max(dropped, bound)
                continue
            symbol = -1 if by_depth else child
            tree[count] = np.array([length, source, lo, hi, kept, node, symbol])
            marks[count] = np.array([bound, most, least])
            longest = max(longest, length)
            heapq.heappush(heap, (-bound, np.int64(count)))
            count += 1
    upper = max(dropped, found)
    if len(heap) > 0:
        upper = max(upper, -heap[0][0])
    if found_node < 0:
        return upper, found, -1, -1, np.zeros(0, np.int64), nodes, longest
    symbols = np.zeros(tree[found_node, 0], np.int64)
    walk, left = found_node, len(symbols)
    while walk >= 0:
        if tree[walk, 6] >= 0:
            left -= 1
            symbols[left] = tree[walk, 6]
        walk = tree[walk, 5]
    return upper, found, tree[found_node, 1], found_depth, symbols, nodes, longest
