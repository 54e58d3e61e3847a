"""Compiled kernels of the exact loss with k states: zones, and branch and bound.

A *message* is a vector m over the states, what the outputs on one side of the target say
about it up to a factor. A *zone* Z bounds ratios of messages: m(x) <= Z[x, y] m(y). Its
diagonal marks the support: one where messages are positive, zero where they vanish.

All numbers are sums and products of non-negative ones, so nothing cancels and every float
operation costs one relative rounding; docs/finite-states.md counts them.
"""

from __future__ import annotations

import heapq
from typing import Any

import numba
import numpy as np

# Ratios above this are as good as infinite, and kept away from overflow.
LARGEST_RATIO = 1e200
UNIT = 2.0**-53
# Levels at which a flow is tried for one bound.
FLOW_TRIALS = 6


@numba.njit(cache=True, error_model="numpy")
def box_bound(over: Any, under: Any, zone: Any) -> float:
    """Upper bound on ``over . w / under . w`` for w in the zone, by one state as the unit.

    Fix one state y of the support as the unit. Then w(x) lies between 1 / zone[y, x] and
    zone[x, y], and over that box the ratio is largest where the entries with the largest
    over(x) / under(x) are high and the others low: k + 1 candidates in sorted order, all
    evaluated. The best unit counts. The plain bound is the largest over(x) / under(x).
    """
    k = len(over)
    order = np.empty(k, np.int64)
    ratio = np.empty(k)
    count = 0
    for x in range(k):
        if zone[x, x] == 0.0 or (over[x] == 0.0 and under[x] == 0.0):
            continue
        value = np.inf if under[x] == 0.0 else over[x] / under[x]
        place = count
        while place > 0 and ratio[place - 1] < value:
            ratio[place] = ratio[place - 1]
            order[place] = order[place - 1]
            place -= 1
        ratio[place] = value
        order[place] = x
        count += 1
    if count == 0 or ratio[0] == 0.0:
        return 0.0
    best = ratio[0]
    low_over = np.empty(count + 1)
    low_under = np.empty(count + 1)
    for unit in range(k):
        if zone[unit, unit] == 0.0:
            continue
        low_over[count] = 0.0
        low_under[count] = 0.0
        for i in range(count - 1, -1, -1):
            x = order[i]
            low = 1.0 / zone[unit, x]
            low_over[i] = low_over[i + 1] + over[x] * low
            low_under[i] = low_under[i + 1] + under[x] * low
        worst = _quotient(low_over[0], low_under[0])
        high_over = 0.0
        high_under = 0.0
        for i in range(count):
            x = order[i]
            if over[x] == 0.0 or worst >= best:
                break
            high = zone[x, unit]
            if high > LARGEST_RATIO:
                worst = np.inf
                break
            high_over += over[x] * high
            high_under += under[x] * high
            value = _quotient(high_over + low_over[i + 1], high_under + low_under[i + 1])
            worst = max(worst, value)
        best = min(best, worst)
    return best


@numba.njit(cache=True, error_model="numpy")
def _quotient(above: float, below: float) -> float:
    if above == 0.0:
        return 0.0
    if below == 0.0:
        return np.inf
    return above / below


@numba.njit(cache=True, error_model="numpy")
def pair_order(zone: Any) -> Any:
    """Pairs x * k + y of the support by rising zone[x, y]; -1 behind the last finite one."""
    k = len(zone)
    keys = np.full(k * k, np.inf)
    for x in range(k):
        for y in range(k):
            if x != y and zone[x, x] > 0.0 and zone[y, y] > 0.0:
                keys[x * k + y] = zone[x, y]
    order = np.argsort(keys)
    for i in range(k * k):
        if not keys[order[i]] < LARGEST_RATIO:
            order[i:] = -1
            break
    return order


@numba.njit(cache=True, error_model="numpy")
def _flow_bound(over: Any, under: Any, zone: Any, order: Any, level: float, room: Any) -> float:
    """Upper bound on ``over . w / under . w`` for w in the zone, by a flow between states.

    For any f >= 0, over . w <= sum_x w(x) (over(x) - sum_y f(x, y) + sum_v f(v, x) zone[v, x]),
    because w(x) <= zone[x, y] w(y); so the largest bracket over under(x) is a bound. The flow
    leads from where over exceeds ``level * under`` to where it does not, cheapest pairs first.
    """
    k = len(over)
    for x in range(k):
        room[0, x] = over[x] - level * under[x]
        room[1, x] = 0.0
        room[2, x] = 0.0
    for pair in order:
        if pair < 0:
            break
        x, y = pair // k, pair % k
        if room[0, x] <= 0.0 or room[0, y] >= 0.0:
            continue
        gain = zone[x, y]
        flow = min(room[0, x], -room[0, y] / gain)
        room[0, x] -= flow
        room[0, y] += flow * gain
        room[1, x] += flow
        room[2, y] += flow * gain
    bound = 0.0
    for x in range(k):
        if zone[x, x] > 0.0:
            # The difference cancels; what rounding may have hidden is added back.
            hidden = 4 * (k + 4) * UNIT * (over[x] + room[1, x] + room[2, x])
            above = max(over[x] + room[2, x] - room[1, x], 0.0) + hidden
            if over[x] > 0.0 or room[2, x] > 0.0:
                bound = max(bound, _quotient(above, under[x]))
    return bound


@numba.njit(cache=True, error_model="numpy")
def row_bound(over: Any, under: Any, zone: Any, order: Any, room: Any) -> float:
    """Upper bound on ``over . w / under . w`` for w in the zone: the better of two."""
    best = box_bound(over, under, zone)
    if best == 0.0 or best == np.inf or order[0] < 0:
        return best
    # The columns of a zone lie in it (nearly); their ratio says how low a bound can be.
    least = 0.0
    k = len(over)
    for y in range(k):
        if zone[y, y] > 0.0:
            above, below = 0.0, 0.0
            for x in range(k):
                if zone[x, y] < LARGEST_RATIO:
                    above += over[x] * zone[x, y]
                    below += under[x] * zone[x, y]
            if below > 0.0:
                least = max(least, above / below)
    if not best > least * (1 + 1e-9):
        return best
    low, high = max(np.log(least), np.log(best) - 60.0), np.log(best)
    for _ in range(FLOW_TRIALS):
        middle = 0.5 * (low + high)
        value = _flow_bound(over, under, zone, order, np.exp(middle), room)
        best = min(best, value)
        if value <= np.exp(middle) * (1 + 1e-12):
            high = middle
        else:
            low = middle
    return best


@numba.njit(cache=True, error_model="numpy")
def close_zone(zone: Any) -> None:
    """Tighten a zone by its own detours: zone[x, y] <= zone[x, u] zone[u, y]."""
    k = len(zone)
    for u in range(k):
        if zone[u, u] == 0.0:
            continue
        for x in range(k):
            for y in range(k):
                if x != y and zone[x, x] > 0.0 and zone[y, y] > 0.0:
                    detour = zone[x, u] * zone[u, y] * (1 + 4 * UNIT)
                    if detour < zone[x, y]:
                        zone[x, y] = detour


@numba.njit(cache=True, error_model="numpy")
def zone_images(steps: Any, zone: Any, inflate: float) -> Any:
    """The zones that ``zone`` becomes after one more point, one for each output: (m, k, k)."""
    outputs, k, _ = steps.shape
    order = pair_order(zone)
    room = np.empty((3, k))
    images = np.zeros((outputs, k, k))
    for z in range(outputs):
        for a in range(k):
            for x in range(k):
                if zone[x, x] > 0.0 and steps[z, a, x] > 0.0:
                    images[z, a, a] = 1.0
        for a in range(k):
            if images[z, a, a] == 0.0:
                continue
            for b in range(k):
                if b == a:
                    continue
                if images[z, b, b] == 0.0:
                    images[z, a, b] = np.inf
                    continue
                bound = row_bound(steps[z, a], steps[z, b], zone, order, room) * inflate
                images[z, a, b] = np.inf if bound > LARGEST_RATIO else bound
    return images


@numba.njit(cache=True, error_model="numpy")
def zone_levels(steps: Any, zone: Any, count: int, inflate: float) -> Any:
    """``zone`` and its images after 1, 2, … points, where all outputs lead to one support."""
    k = zone.shape[0]
    levels = np.empty((count, k, k))
    levels[0] = zone
    for j in range(1, count):
        images = zone_images(steps, levels[j - 1], inflate)
        levels[j] = images[0]
        for z in range(1, len(images)):
            levels[j] = np.maximum(levels[j], images[z])
        close_zone(levels[j])
    return levels


@numba.njit(cache=True, error_model="numpy")
def _zones_bound(
    over: Any, under: Any, zones: Any, orders: Any, room: Any, first: int, last: int
) -> float:
    best = 0.0
    for j in range(first, last):
        best = max(best, row_bound(over, under, zones[j], orders[j], room))
    return best


@numba.njit(cache=True, error_model="numpy")
def _zone_range(exact: Any, union: Any, source: int, single: bool, left: int, period: int) -> Any:
    """Where the zones of the messages that are ``left`` points from their end are stored."""
    if single and left < exact.shape[1]:
        return exact[source, left]
    # Behind the last zones those of the last period serve, phase by phase.
    last = union.shape[1] - period
    return union[source, left if left < last else last + (left - last) % period]


@numba.njit(cache=True, error_model="numpy")
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


@numba.njit(cache=True, error_model="numpy")
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
    sources, depth = exact.shape[0], exact.shape[1]
    k = zones.shape[1]
    bounds = np.full((k, k), -np.inf)
    room = np.empty((3, k))
    for a in range(k):
        for b in range(k):
            if a == b:
                continue
            over, under = np.zeros(k), np.zeros(k)
            over[a] = 1.0
            under[b] = 1.0
            for source in range(sources):
                if last[source] == -2:
                    continue
                j = first[source]
                while last[source] < 0 or j <= last[source]:
                    single = j < depth
                    if not single and j >= max(depth, first[source]) + period:
                        break
                    j2 = j if single else _block_end(last[source], j, period)
                    most, _, _ = _prior_range(prior, tail, source, j, j2, a, b, period)
                    if most > -np.inf:
                        where = _zone_range(exact, union, source, single, j, period)
                        value = _zones_bound(over, under, zones, orders, room, where[0], where[1])
                        if value > 0.0:
                            bounds[a, b] = max(bounds[a, b], np.log(value) + most)
                    j += 1
    return bounds


@numba.njit(cache=True, error_model="numpy")
def _block_end(last: int, j: int, period: int) -> int:
    """The last depth up to ``last`` that is a whole number of periods behind ``j``."""
    return -1 if last < 0 else last - (last - j) % period


@numba.njit(cache=True, error_model="numpy")
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


@numba.njit(cache=True, error_model="numpy")
def _grown(array: Any) -> Any:
    larger = np.empty((2 * array.shape[0], array.shape[1]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


@numba.njit(cache=True, error_model="numpy")
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
) -> tuple[float, float, int, int, Any, int, int]:
    """Bounds on one side's log value for the pair (a, b), over sources, depths and outputs.

    A node fixes the outputs nearest the target (rows ``over`` and ``under`` of the product
    of their steps), a source, and the depths j1 … j2 at which the source may lie. It is
    split by one more output, or by depth where the prior varies more than the rest. Ends
    when the best bound is within ``tolerance`` of the best value found, or below ``cutoff``.

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
    found, found_node, found_depth = -np.inf, -1, -1
    dropped = -np.inf

    # Tasks wait in the rows behind ``count``: bounded, then kept or dropped.
    for source in range(len(first)):
        if last[source] == -2:
            continue
        j = first[source]
        while last[source] < 0 or j <= last[source]:
            single = j < depth
            if not single and j >= max(depth, first[source]) + period:
                break
            j2 = j if single else _block_end(last[source], j, period)
            if count + 1 >= rows.shape[0]:
                rows, tree, marks = _grown(rows), _grown(tree), _grown(marks)
            rows[count] = 0.0
            rows[count, a] = 1.0
            rows[count, k + b] = 1.0
            tree[count] = np.array([0, source, j, j2, -1, -1, -1])
            most, least, place = _prior_range(prior, tail, source, j, j2, a, b, period)
            tree[count, 4] = place
            marks[count] = np.array([np.inf, most, least])
            j += 1
            if most == -np.inf:
                continue
            where = _zone_range(exact, union, source, single, tree[count, 2], period)
            value = _zones_bound(rows[count, :k], rows[count, k:], zones, orders, room, where[0], where[1])
            if value <= 0.0:
                continue
            marks[count, 0] = np.log(value) + most
            heapq.heappush(heap, (-marks[count, 0], np.int64(count)))
            count += 1
    nodes = count

    while len(heap) > 0:
        top = -heap[0][0]
        if top <= max(found + tolerance, cutoff) or nodes >= max_nodes:
            break
        _, node = heapq.heappop(heap)
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
        by_depth = j1 != j2 and (j1 == fixed or (j1 <= stored and spread > doubt))
        children = 2 if by_depth else outputs
        while count + children >= rows.shape[0]:
            rows, tree, marks = _grown(rows), _grown(tree), _grown(marks)
        for child in range(children):
            nodes += 1
            lo, hi, length = j1, j2, fixed
            if by_depth:
                if j1 == fixed:
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
            value = _zones_bound(rows[count, :k], rows[count, k:], zones, orders, room, where[0], where[1])
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
    node, place = found_node, tree[found_node, 0]
    while node >= 0:
        if tree[node, 6] >= 0:
            place -= 1
            symbols[place] = tree[node, 6]
        node = tree[node, 5]
    return upper, found, tree[found_node, 1], found_depth, symbols, nodes, longest
