"""Compiled bounds of the exact loss with k states: zones and what they say of ratios.

A *message* is a vector m over the states, what the outputs on one side of the target say
about it up to a factor. A *zone* Z bounds ratios of messages: m(x) <= Z[x, y] m(y). Its
diagonal marks the support: one where messages are positive, zero where they vanish.

All numbers are sums and products of non-negative ones, so nothing cancels and every float
operation costs one relative rounding; docs/finite-states.md counts them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

# Ratios above this are as good as infinite, and kept away from overflow.
LARGEST_RATIO = 1e200
UNIT = 2.0**-53
# Levels at which a flow is tried for one bound.
FLOW_TRIALS = 6


@compiled(error_model="numpy")
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
    best: float = ratio[0]
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


@compiled(error_model="numpy")
def _quotient(above: float, below: float) -> float:
    if above == 0.0:
        return 0.0
    if below == 0.0:
        return np.inf
    return above / below


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
def row_bound(over: Any, under: Any, zone: Any, order: Any, room: Any) -> float:
    """Upper bound on ``over . w / under . w`` for w in the zone: the better of two."""
    return _with_flows(box_bound(over, under, zone), over, under, zone, order, room)


@compiled(error_model="numpy")
def _with_flows(best: float, over: Any, under: Any, zone: Any, order: Any, room: Any) -> float:
    """The bound ``best`` of one unit, or a lower one by a flow."""
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


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
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


@compiled(error_model="numpy")
def zone_levels(steps: Any, zone: Any, count: int, inflate: float, shrinks: bool) -> Any:
    """``zone`` and its images after 1, 2, … points, where all entries of steps are positive.

    The images of all outputs are joined. If the zone ``shrinks``, that is if it holds the
    messages after more points too, so does its meet with each image.
    """
    k = zone.shape[0]
    levels = np.ones((count, k, k))
    # Entry by entry: slices of two axes take seconds to compile, for their errors.
    for a in range(k):
        for b in range(k):
            levels[0, a, b] = zone[a, b]
    room = np.empty((3, k))
    for j in range(1, count):
        order = pair_order(levels[j - 1])
        for a in range(k):
            for b in range(k):
                if a != b:
                    bound = _joined_bound(steps, a, b, levels[j - 1], order, room) * inflate
                    levels[j, a, b] = np.inf if bound > LARGEST_RATIO else bound
        if shrinks:
            for a in range(k):
                for b in range(k):
                    levels[j, a, b] = min(levels[j, a, b], levels[j - 1, a, b])
        close_zone(levels[j])
    return levels


@compiled(error_model="numpy")
def _joined_bound(steps: Any, a: int, b: int, zone: Any, order: Any, room: Any) -> float:
    """Upper bound on the ratio at a and b after one more point with any output.

    Outputs are taken by falling bounds of one unit: as soon as one is below what another
    reaches with flows, it and all behind it count no more.
    """
    bounds = np.empty(len(steps))
    for z in range(len(steps)):
        bounds[z] = box_bound(steps[z, a], steps[z, b], zone)
    most = 0.0
    for z in np.argsort(-bounds):
        if bounds[z] <= most:
            break
        most = max(most, _with_flows(bounds[z], steps[z, a], steps[z, b], zone, order, room))
    return most
