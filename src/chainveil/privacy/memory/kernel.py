"""Compiled recursions behind the loss of noise with labels: intervals of odds, a label each.

One side of the target at a time. A message is the pair of probabilities of all that lies on
that side, given the state 0 or 1 at a point, and its odds ``m(1) / m(0)`` move by a Möbius map
with non-negative coefficients from point to point. Such maps are monotone, so the least and the
greatest odds with which a label can be reached follow from those one point further out. Both
ends are attained by concrete reports. The prior (the same without reports) moves along; what a
side tells is the odds over the prior odds.

A family is one way in which a side can begin: at a known point of value 0 or 1 (odds 0 or
infinite, any label that can stand there), or at an end of the series. The family ANY begins
with all odds and contains every family that began further out.

Rounding
--------
Every matrix entry is a product of a transition probability (``1 - q`` is off by one unit
2^-53) and at most six doubles: a relative error of at most 7 units. In a Möbius image a term
gains two units by its product and sum, the quotient of two sums one more: 19 units in all.
Each end is moved outwards by ``1 ± 2^-47``, 64 units, so the computed intervals contain the
true ones by induction. In logarithms the maps do not expand, so what is moved adds up to at most
2^-47 for each point, and much less where the chain forgets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

UP = 1 + 2.0**-47
DOWN = 1 - 2.0**-47


@compiled(error_model="numpy")
def image(m00: float, m01: float, m10: float, m11: float, odds: float) -> float:
    """Odds after one step, ``(m01 + t m11) / (m00 + t m10)``; NaN where nothing is possible."""
    if odds > 1:
        inverse = 1 / odds
        return (m01 * inverse + m11) / (m00 * inverse + m10)
    return (m01 + odds * m11) / (m00 + odds * m10)


@compiled(error_model="numpy")
def advance(
    mats: Any, source: Any, target: Any, begin: int, end: int, low: Any, high: Any, to: Any
) -> None:
    """One step of one family: ``low``, ``high`` of shape (labels,); empty is (inf, -1).

    ``mats`` has the shape (corners, steps, 4); ``to`` is work space of shape (2, labels).
    """
    labels = len(low)
    for label in range(labels):
        to[0, label], to[1, label] = np.inf, -1.0
    for step in range(begin, end):
        before, after = source[step], target[step]
        if high[before] < 0:
            continue
        for corner in range(mats.shape[0]):
            m = mats[corner, step]
            for side in range(2):
                odds = low[before] if side == 0 else high[before]
                found = image(m[0], m[1], m[2], m[3], odds)
                # NaN: no such report at these odds; comparisons with it are false.
                if found < to[0, after]:
                    to[0, after] = found
                if found > to[1, after]:
                    to[1, after] = found
    for label in range(labels):
        low[label], high[label] = to[0, label] * DOWN, to[1, label] * UP


@compiled(error_model="numpy")
def advance_prior(plain: Any, prior: Any) -> None:
    """The prior odds one step on; ``plain`` of shape (corners, 4), ``prior`` of shape (2,)."""
    low, high = np.inf, -1.0
    for corner in range(plain.shape[0]):
        m = plain[corner]
        for side in range(2):
            found = image(m[0], m[1], m[2], m[3], prior[side])
            low, high = min(low, found), max(high, found)
    prior[0], prior[1] = low * DOWN, high * UP


@compiled(error_model="numpy")
def told(low: float, high: float, prior: Any, direction: int) -> float:
    """Upper end of what a side tells; direction 1 is "1 over 0". NaN where it tells nothing.

    Values that cannot occur with what is known are no pair, whatever the reports say.
    """
    if high < 0 or prior[0] <= 0 or prior[1] == np.inf:
        return np.nan
    if direction == 1:
        return float(high / prior[0] * UP)
    return np.inf if low <= 0 else float(prior[1] / low * UP)


@compiled(error_model="numpy")
def walk(
    mats: Any,
    plain: Any,
    source: Any,
    target: Any,
    offsets: Any,
    phase: int,
    stride: int,
    low: Any,
    high: Any,
    prior: Any,
    table: Any,
) -> None:
    """One family, depth by depth: what it tells, into ``table`` of shape (depths, labels, 2).

    ``phase`` is that of the first step, ``stride`` +1 or -1 the way the phases go. Depth 0 is
    the beginning itself.
    """
    period, labels = len(offsets) - 1, len(low)
    to = np.empty((2, labels))
    for depth in range(table.shape[0]):
        if depth > 0:
            advance(mats, source, target, offsets[phase], offsets[phase + 1], low, high, to)
            advance_prior(plain, prior)
            phase = (phase + stride) % period
        for label in range(labels):
            for direction in range(2):
                table[depth, label, direction] = told(low[label], high[label], prior, direction)


@compiled(error_model="numpy")
def scan(
    mats: Any,
    plain: Any,
    source: Any,
    target: Any,
    offsets: Any,
    stride: int,
    phases: Any,
    low: Any,
    high: Any,
    prior: Any,
    limit: int,
    tolerance: float,
    best: Any,
    where: Any,
    tails: Any,
) -> int:
    """All families side by side, until what lies further out cannot tell more.

    ``phases`` (families,) is the phase of each family's next step; the last family is ANY, the
    others come in threes: an end of the series, a known 0, a known 1. ``best`` has the shape
    (period, labels, 2, 3): what each kind of family tells at most to a point of that phase;
    ``where`` the same with (family, depth) as a last axis; ``tails`` of shape (period, labels,
    2) bounds whatever was not walked. Returns the depth reached, negative where the limit
    struck first.
    """
    period, labels, families = len(offsets) - 1, low.shape[1], low.shape[0]
    to = np.empty((2, labels))
    for depth in range(limit + 1):
        least, most = np.inf, 0.0
        for family in range(families):
            if depth > 0:
                phase = phases[family]
                advance(
                    mats, source, target, offsets[phase], offsets[phase + 1],
                    low[family], high[family], to,
                )  # fmt: skip
                phases[family] = (phase + stride) % period
                if family < families - 1:
                    least, most = min(least, prior[family, 0]), max(most, prior[family, 1])
                    advance_prior(plain, prior[family])
                    least, most = min(least, prior[family, 0]), max(most, prior[family, 1])
            # The phase of the point that the family has come to.
            here = (phases[family] - stride) % period if stride > 0 else phases[family]
            if family == families - 1:
                for label in range(labels):
                    for direction in range(2):
                        bound = np.inf
                        if depth > 0 and high[family, label] < 0:
                            bound = 0.0
                        elif direction == 1 and least > 0:
                            bound = high[family, label] / least * UP
                        elif direction == 0 and low[family, label] > 0:
                            bound = most / low[family, label] * UP
                        tails[here, label, direction] = bound
            else:
                kind = family % 3
                for label in range(labels):
                    for direction in range(2):
                        found = told(low[family, label], high[family, label], prior[family],
                                     direction)  # fmt: skip
                        if found > best[here, label, direction, kind]:
                            best[here, label, direction, kind] = found
                            where[here, label, direction, kind, 0] = family
                            where[here, label, direction, kind, 1] = depth
        if depth % (4 * period) == 0 and depth > period and _met(best, tails, tolerance):
            return depth
    return -limit


@compiled(error_model="numpy")
def _met(best: Any, tails: Any, tolerance: float) -> bool:
    """Whether the tails lie within the tolerance of what was found."""
    for here in range(best.shape[0]):
        for label in range(best.shape[1]):
            for direction in range(2):
                top = 0.0
                for kind in range(best.shape[3]):
                    top = max(top, best[here, label, direction, kind])
                if tails[here, label, direction] > top * (1 + tolerance):
                    return False
    return True


@compiled(error_model="numpy")
def trace(
    mats: Any,
    source: Any,
    target: Any,
    offsets: Any,
    phase: int,
    stride: int,
    low: Any,
    high: Any,
    depth: int,
    label: int,
    end: int,
) -> Any:
    """The steps by which a family comes to the low (0) or high (1) end of a label.

    The step nearest to the target comes first; shape (depth,). Then the end of the interval
    from which the way starts. One corner only.
    """
    period, labels = len(offsets) - 1, len(low)
    steps = np.full((depth, labels, 2), -1, np.int32)
    ends = np.zeros((depth, labels, 2), np.int8)
    to = np.empty((2, labels))
    for point in range(depth):
        for step in range(offsets[phase], offsets[phase + 1]):
            _note(mats[0, step], source[step], target[step], step, low, high, to,
                  steps[point], ends[point], step == offsets[phase])  # fmt: skip
        for after in range(labels):
            low[after], high[after] = to[0, after], to[1, after]
        phase = (phase + stride) % period
    path = np.empty(depth, np.int64)
    for back in range(depth):
        point = depth - 1 - back
        step = steps[point, label, end]
        path[back] = step
        end = ends[point, label, end]
        label = source[step]
    return path, end


@compiled(error_model="numpy")
def _note(
    m: Any, before: int, after: int, step: int, low: Any, high: Any, to: Any,
    steps: Any, ends: Any, fresh: bool,
) -> None:  # fmt: skip
    """Try one step, and remember it where it leads further than those before it."""
    if fresh:
        for label in range(to.shape[1]):
            to[0, label], to[1, label] = np.inf, -1.0
    if high[before] < 0:
        return
    for side in range(2):
        odds = low[before] if side == 0 else high[before]
        found = image(m[0], m[1], m[2], m[3], odds)
        # Ends at infinity or at 0 are kept as they are found, so that one is always noted.
        if found < to[0, after] or (found == np.inf and steps[after, 0] < 0):
            to[0, after], steps[after, 0], ends[after, 0] = found, step, side
        if found > to[1, after]:
            to[1, after], steps[after, 1], ends[after, 1] = found, step, side


@compiled(error_model="numpy")
def both_sides(
    laws: Any, links: Any, first: Any, plain: Any, start: Any, begins: Any, settings: Any
) -> Any:
    """What both sides tell for laws given as one vector: the hot loop of a search.

    ``links`` holds ``given`` (steps, 2, 2), the factors of earlier releases; ``numbers`` (own
    steps, 2, 2), which law stands at each entry of a step of the release looked for; ``parts``
    (steps,), the own step of each step; and source, target, offsets. ``first`` holds labels,
    given factors and numbers of laws of what may be published at the first point. ``plain``
    is (corners, 2, 2), ``begins`` low, high, prior and phases of the families of both sides.
    """
    given, numbers, parts, source, target, offsets = links
    steps, corners = len(parts), len(plain)
    period, labels = len(offsets) - 1, begins[0][0].shape[1]
    mats = np.empty((2, corners, steps, 4))
    moves = np.empty((2, corners, 4))
    for corner in range(corners):
        for x in range(2):
            for y in range(2):
                moves[0, corner, 2 * x + y] = plain[corner, x, y]
                moves[1, corner, 2 * y + x] = plain[corner, x, y]
                for step in range(steps):
                    entry = plain[corner, x, y] * given[step, x, y]
                    entry *= laws[numbers[parts[step], x, y]]
                    mats[0, corner, step, 2 * x + y] = entry
                    mats[1, corner, step, 2 * y + x] = entry
    told_by = np.zeros((2, period, labels, 2, 3))
    where = np.zeros((period, labels, 2, 3, 2), np.int64)
    tails = np.empty((period, labels, 2))
    for side in range(2):
        low, high = begins[side][0].copy(), begins[side][1].copy()
        prior, phases = begins[side][2].copy(), begins[side][3].copy()
        if side == 0 and settings[2] > 0:
            _first_point(laws, first, start, low[0], high[0], prior[0])
        tails[:] = np.inf
        ways = (source, target) if side == 0 else (target, source)
        scan(
            mats[side], moves[side], ways[0], ways[1], offsets, 1 - 2 * side, phases, low, high,
            prior, int(settings[0]), settings[1], told_by[side], where, tails,
        )  # fmt: skip
    return told_by


@compiled(error_model="numpy")
def _first_point(laws: Any, first: Any, start: Any, low: Any, high: Any, prior: Any) -> None:
    """Intervals and prior of the family that begins at the first point of the series."""
    labels, given, numbers = first
    low[:], high[:] = np.inf, -1.0
    for one in range(len(labels)):
        likely = start[1] * given[one, 1] * laws[numbers[one, 1]]
        odds = likely / (start[0] * given[one, 0] * laws[numbers[one, 0]])
        low[labels[one]] = min(low[labels[one]], odds)
        high[labels[one]] = max(high[labels[one]], odds)
    prior[0] = prior[1] = start[1] / start[0]
