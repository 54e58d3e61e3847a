"""Compiled recursions behind the loss of correlated noise. Ratios in, bounded ratios out.

Everything here is about one side of the target. Write ``z`` for the output at a point and
``m(a)`` for the probability of all that the adversary sees and knows beyond that point,
given the pair ``(x, y) = (a, z ^ a)`` there. One step towards the target is

    m(a) = sum_b W[z, z', a, b] m'(b),        W[z, z', a, b] = P(a, b) N(z ^ a, z' ^ b),

so the ratio ``T = m(0)/m(1)`` moves by a Möbius map with non-negative coefficients. Such a
map is monotone, hence the least and the greatest ratio over all outputs of a given number
of points follow from the least and the greatest ratio one point further out: a box
``[low, high]`` for each ``z``. Both ends are attained by a concrete output.

Four families of boxes are carried along (axis 0 of every box array):

    0  OPEN      nothing known, the series ends after k points; starts at T = 1
    1  KNOWN 0   the point at distance k is known to be 0
    2  KNOWN 1   the point at distance k is known to be 1
    3  ANY       every ratio in [0, inf] at distance k; contains the other three at every
                 distance of at least k, and shrinks as k grows

Rounding
--------
Inputs are doubles and are taken at face value. Write u = 2^-53 and count to first order.
``1 - q`` carries a relative error of at most u, an entry of W at most 3u; in a Möbius image
the reciprocal and a product bring a term to 5u, the sum of non-negative terms to 6u, and
the quotient of two such sums to 13u. Every computed end is then moved outwards by the
factor ``1 ± 2^-49``, that is by 16u, of which its own rounding takes at most one. So the
box computed contains the true one whenever the box one point further out did: by induction
every box is an enclosure. Nothing under- or overflows because the entries of P and N are
zero or at least 1e-30 (checked by the caller), which keeps ratios between 1e-60 and 1e60.
The slack this adds does not pile up without end: in logarithms a Möbius map with positive
coefficients is a contraction, so it stays near 2^-49 / (1 - rate).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

OPEN, KNOWN_0, KNOWN_1, ANY = 0, 1, 2, 3

UP = 1 + 2.0**-49
DOWN = 1 - 2.0**-49

# How many steps pass between two looks at whether the bounds have met.
CHECK_EVERY = 8


@compiled(error_model="numpy")
def _transition(leave0: float, leave1: float) -> Any:
    """A two-state transition matrix from its off-diagonal numbers."""
    matrix = np.empty((2, 2))
    matrix[0, 0], matrix[0, 1] = 1 - leave0, leave0
    matrix[1, 0], matrix[1, 1] = leave1, 1 - leave1
    return matrix


@compiled(error_model="numpy")
def step_matrices(q: float, r: float, rho0: float, rho1: float) -> Any:
    """The matrices W, shape (2, 2, 2, 2): output here, output next, value here, value next."""
    data, noise = _transition(q, r), _transition(rho0, rho1)
    weights = np.empty((2, 2, 2, 2))
    for z in range(2):
        for after in range(2):
            for a in range(2):
                for b in range(2):
                    weights[z, after, a, b] = data[a, b] * noise[z ^ a, after ^ b]
    return weights


@compiled(error_model="numpy")
def _moebius(matrix: Any, ratio: float) -> float:
    """Image of a ratio in [0, inf]; never 0/0, since no column of a step matrix vanishes."""
    if ratio > 1:
        inverse = 1 / ratio
        top = matrix[0, 0] + matrix[0, 1] * inverse
        return float(top / (matrix[1, 0] + matrix[1, 1] * inverse))
    top = matrix[0, 0] * ratio + matrix[0, 1]
    return float(top / (matrix[1, 0] * ratio + matrix[1, 1]))


@compiled(error_model="numpy")
def _step(weights: Any, box: Any, out: Any) -> None:
    """One step towards the target for one family; ``box[z] = (low, high)``, shape (2, 2)."""
    for z in range(2):
        low, high = np.inf, 0.0
        for after in range(2):
            # Both ends are tried, so no sign of a determinant needs to be decided.
            first = _moebius(weights[z, after], box[after, 0])
            second = _moebius(weights[z, after], box[after, 1])
            low = min(low, first, second)
            high = max(high, first, second)
        out[z, 0], out[z, 1] = low * DOWN, high * UP


@compiled(error_model="numpy")
def first_boxes(weights: Any) -> Any:
    """The four families at distance 1, shape (family, z, low or high)."""
    boxes = np.empty((4, 2, 2))
    _step(weights, np.ones((2, 2)), boxes[OPEN])
    for z in range(2):
        boxes[ANY, z, 0], boxes[ANY, z, 1] = np.inf, 0.0
        for value in range(2):
            low, high = np.inf, 0.0
            for after in range(2):
                ratio = weights[z, after, 0, value] / weights[z, after, 1, value]
                low, high = min(low, ratio), max(high, ratio)
            boxes[KNOWN_0 + value, z, 0], boxes[KNOWN_0 + value, z, 1] = low * DOWN, high * UP
            boxes[ANY, z, 0] = min(boxes[ANY, z, 0], low * DOWN)
            boxes[ANY, z, 1] = max(boxes[ANY, z, 1], high * UP)
    return boxes


@compiled(error_model="numpy")
def _first_priors(q: float, r: float) -> Any:
    """Enclosure of ``P(0, v) / P(1, v)``, shape (v, low or high)."""
    priors = np.empty((2, 2))
    for value in range(2):
        ratio = (1 - q) / r if value == 0 else q / (1 - r)
        priors[value, 0], priors[value, 1] = ratio * DOWN, ratio * UP
    return priors


@compiled(error_model="numpy")
def _step_priors(data: Any, priors: Any, out: Any) -> None:
    """From ``P^d(0, v) / P^d(1, v)`` to the same at ``d + 1``; a Möbius map as well."""
    for value in range(2):
        first = _moebius(data, priors[value, 0])
        second = _moebius(data, priors[value, 1])
        out[value, 0] = min(first, second) * DOWN
        out[value, 1] = max(first, second) * UP


@compiled(error_model="numpy")
def _side(boxes: Any, priors: Any, family: int, direction: int, z: int) -> float:
    """Upper end of one side's factor; direction 0 is "0 over 1", direction 1 "1 over 0"."""
    low, high = boxes[family, z, 0], boxes[family, z, 1]
    if family in (OPEN, ANY):
        return float((high if direction == 0 else 1 / low) * UP)
    prior = priors[family - KNOWN_0]
    return float((high / prior[0] if direction == 0 else prior[1] / low) * UP)


@compiled(error_model="numpy")
def _tails(boxes: Any, before: Any, priors: Any, known: bool, tails: Any) -> None:
    """Bound every side factor from this distance on, shape (direction, z).

    ``P^d(1, v) / P^d(0, v)`` is monotone in ``(1-q-r)^d``, so from one distance on it stays
    between one, its value there and its value one step further.
    """
    for direction in range(2):
        worst = 1.0
        for value in range(2):
            if known and direction == 0:
                worst = max(worst, 1 / before[value, 0], 1 / priors[value, 0])
            elif known:
                worst = max(worst, before[value, 1], priors[value, 1])
        for z in range(2):
            factor = _side(boxes, priors, ANY, direction, z)
            tails[direction, z] = min(tails[direction, z], factor * worst * UP)


@compiled(error_model="numpy")
def _total(weight: Any, side: Any, direction: int, z: int) -> float:
    """Logarithm of the whole ratio with the same factor on both sides."""
    sign = 1.0 if direction == 0 else -1.0
    return float(sign * np.log(weight[z]) + 2 * np.log(side[direction, z]))


@compiled(error_model="numpy")
def _spread(weight: Any, best: Any, tails: Any, every: bool) -> Any:
    """Lower estimate of the loss, upper bound, and how far the tails stand above."""
    lower, upper, gap = 0.0, 0.0, 0.0
    for direction in range(2):
        for z in range(2):
            reached = _total(weight, best, direction, z)
            bound = max(reached, _total(weight, tails, direction, z))
            lower, upper = max(lower, reached), max(upper, bound)
            gap = max(gap, bound - reached)
    return lower, upper, gap if every else upper - lower


@compiled(error_model="numpy")
def scan(
    q: float,
    r: float,
    rho0: float,
    rho1: float,
    steps: int,
    known: bool,
    every: bool,
    tolerance: float,
    budget: float,
    table: Any,
) -> Any:
    """Walk away from the target until the bounds meet, or for ``steps`` steps.

    ``known`` says whether the adversary may know points. ``every`` asks that each side
    factor converges, not only those that decide the supremum. ``budget`` stops the walk as
    soon as the loss is seen to lie above or below it (NaN: never). ``table``, of shape
    (steps + 1, 3, direction, z) or with no rows, receives the upper ends for OPEN, KNOWN 0
    and KNOWN 1 at every distance.

    Returns ``(distance reached, whether the bounds met, best, where, family, tails)``, the
    last four of shape (direction, z): greatest factor met, its distance, its family, and a
    bound on every factor further out. Where they never met, ``tails`` still bounds.
    """
    weights = step_matrices(q, r, rho0, rho1)
    data, weight = _transition(q, r), np.empty(2)
    weight[0], weight[1] = rho1 / rho0, rho0 / rho1
    boxes, priors = first_boxes(weights), _first_priors(q, r)
    next_boxes, before = np.empty((4, 2, 2)), np.empty((2, 2))
    best, tails, last = np.ones((2, 2)), np.full((2, 2), np.inf), np.full((2, 2, 2), np.inf)
    where, family = np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64)
    met, distance = False, 0
    while distance < steps and not met:
        distance += 1
        if distance > 1:
            for kind in range(4):
                _step(weights, boxes[kind], next_boxes[kind])
            boxes, next_boxes = next_boxes, boxes
            before, priors = priors, before
            _step_priors(data, before, priors)
        for kind in range(3):
            for direction in range(2):
                for z in range(2):
                    factor = _side(boxes, priors, kind, direction, z)
                    if len(table) > 0:
                        table[distance, kind, direction, z] = factor
                    if (known or kind == OPEN) and factor > best[direction, z]:
                        best[direction, z] = factor
                        where[direction, z], family[direction, z] = distance, kind
        if distance % CHECK_EVERY == 0:
            _tails(boxes, before, priors, known, tails)
            lower, upper, gap = _spread(weight, best, tails, every)
            met = gap <= tolerance * lower or lower > budget or upper <= budget
            met = _stalled(best, tails, last) or met
    return distance, met, best, where, family, tails


@compiled(error_model="numpy")
def _stalled(best: Any, tails: Any, last: Any) -> bool:
    """Whether rounding has brought both bounds to a halt since the last look."""
    moved = False
    for direction in range(2):
        for z in range(2):
            moved = moved or tails[direction, z] < last[0, direction, z]
            moved = moved or best[direction, z] > last[1, direction, z]
            last[0, direction, z] = tails[direction, z]
            last[1, direction, z] = best[direction, z]
    return not moved


@compiled(error_model="numpy")
def trace(weights: Any, family: int, distance: int, z: int, top: int) -> Any:
    """The outputs beyond the target that attain one end of a box, nearest first.

    ``top`` is 1 for the greatest ratio and 0 for the least. Returns uint8 of shape
    (distance,).
    """
    chosen = np.empty((distance + 1, 2, 2), np.uint8)
    box, out = np.ones((2, 2)), np.ones((2, 2))
    for k in range(1, distance + 1):
        for here in range(2):
            for after in range(2):
                for end in range(2):
                    if k == 1 and family != OPEN:
                        value = family - KNOWN_0
                        ratio = weights[here, after, 0, value] / weights[here, after, 1, value]
                    else:
                        ratio = _moebius(weights[here, after], box[after, end])
                    first = after == 0 and end == 0
                    if first or ratio < out[here, 0]:
                        out[here, 0], chosen[k, here, 0] = ratio, 2 * after + end
                    if first or ratio > out[here, 1]:
                        out[here, 1], chosen[k, here, 1] = ratio, 2 * after + end
        box, out = out, box
    outputs = np.empty(distance, np.uint8)
    for k in range(distance, 0, -1):
        choice: Any = np.int64(chosen[k, z, top])
        z, top = choice >> 1, choice & 1
        outputs[distance - k] = z
    return outputs


@compiled(error_model="numpy")
def follow(q: float, r: float, weights: Any, family: int, z: int, outputs: Any) -> Any:
    """Enclosure ``(low, high)`` of the side factor "0 over 1" for given outputs beyond ``z``."""
    data = _transition(q, r)
    count = len(outputs)
    low, high = 1.0, 1.0
    priors, next_priors = _first_priors(q, r), np.empty((2, 2))
    for k in range(count):
        after = np.int64(outputs[count - 1 - k])
        here = np.int64(outputs[count - 2 - k]) if k + 1 < count else np.int64(z)
        matrix = weights[here, after]
        if k == 0 and family != OPEN:
            value = family - KNOWN_0
            low = high = matrix[0, value] / matrix[1, value]
        else:
            first, second = _moebius(matrix, low), _moebius(matrix, high)
            low, high = min(first, second), max(first, second)
        low, high = low * DOWN, high * UP
        if k > 0:
            _step_priors(data, priors, next_priors)
            priors, next_priors = next_priors, priors
    if family != OPEN:
        low = low / priors[family - KNOWN_0, 1] * DOWN
        high = high / priors[family - KNOWN_0, 0] * UP
    return low, high


@compiled(error_model="numpy")
def forward(start: Any, transition: Any, fixed: Any, output: Any) -> Any:
    """Probability that x agrees with ``fixed`` and z with ``output``; -1 stands for anything.

    ``start`` (4,) and ``transition`` (4, 4) are those of the pair ``2 x + y``. Returned as a
    number and a power of two, so that scaling costs no digits.
    """
    power, state, moved = 0, start.copy(), np.empty(4)
    for t in range(len(fixed)):
        for pair in range(4):
            x, y = pair >> 1, pair & 1
            moved[pair] = state[pair]
            if t > 0:
                moved[pair] = 0.0
                for origin in range(4):
                    moved[pair] += state[origin] * transition[origin, pair]
            if (fixed[t] >= 0 and fixed[t] != x) or (output[t] >= 0 and output[t] != x ^ y):
                moved[pair] = 0.0
        state, moved = moved, state
        if state[0] + state[1] + state[2] + state[3] < 2.0**-100:
            for pair in range(4):
                state[pair] *= 2.0**100
            power -= 100
    return state[0] + state[1] + state[2] + state[3], power
