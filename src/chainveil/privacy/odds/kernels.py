"""Compiled recursion of the odds of two-state chains.

Given the states at the secret, what lies before it and what lies after it are independent. Each
side is a message, and with two states a message is one number, the odds

    R = Pr[side | x = 1, boundary] / Pr[side | x = 0, boundary],

where the boundary is the nearest known point or an end of the series. One observation with
likelihood ``K[x_before, x_now]`` moves the odds by

    R' = (w01 K01 + w11 K11 R) / (w00 K00 + w10 K10 R),
    w[y, x] = Pr[x_before = y | x_now = x, boundary].

The map is monotone in R, so the extremes of the odds of a label follow from the extremes one step
before: each label has one interval of odds, and `sweep` moves all of them by one point. The weights
w have a closed form at every distance from the boundary. Both sides use the same weights, because a
two-state chain is reversible: the future is the past with its edges turned round.

The map does not expand log odds: it divides a non-negative linear form of R by another one. That
gives three bounds on all further steps at once (`walk`), which need no more than one sweep each:

* tail: intervals U with sweep(U) inside U, for the hull of all later weights, hold at every later
  distance.
* hold: the same over a block of N steps, with the hull of the weights of the block.
* growth: if no edge gains more than the rates g of its ends allow, U exp(g N) holds after N steps.

Slow chains need about log(1 / q) / slack blocks instead of 1 / q steps.

Rounding
--------
q and r are at least 2^-465 (`LEAST`). A weight is a quotient of sums of products of
positive numbers. All of its parts have a relative error of a few units of 2^-53 but one: the power
l^d of l = 1 - q - r, whose relative error is at most d |log l| units and which is added to a number
of at least min(q, r) / max(q, r). The sum is dominated by the power only as long as l^d exceeds
that ratio, hence as long as d |log l| <= |log(q / r)| <= 323. With the conversions around it the
relative error of a weight is below 32 + 2 |log(q / r)| < 700 units, that of the two weights and the
products of one step below 1500. `sweep` moves both ends of each interval outwards by `OUTWARD` =
2^-42, which is 2048 units, so that each interval contains the true one. The same margin is used
where intervals are compared or multiplied by a power.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.compiled import compiled

IntArray: TypeAlias = "NDArray[np.int64]"
BoolArray: TypeAlias = "NDArray[np.bool_]"
PolicyArray: TypeAlias = "NDArray[Any]"

OUTWARD = 2.0**-42  # outward rounding of one step, relative
LEAST = 2.0**-465  # least q and r of a chain, for which the rounding of weights is bounded
TIGHT = 2.0**-30  # widening of an interval, relative, that is too small to be seen in a loss
STEPPED = 4000  # points that are stepped one by one before blocks of points are tried
SETTLING = 500  # sweeps over a block that may undo its widening


@compiled(error_model="numpy")
def law_at(q: float, r: float, row: FloatArray, d: int) -> tuple[float, float]:
    """Law of a point ``d`` steps after a point with the law ``row``, up to rounding.

    A negative d or a negative row stands for the stationary law.
    """
    if d < 0 or row[0] < 0:
        return r / (q + r), q / (q + r)
    c0, c1, s = row[0], row[1], q + r
    turns = (1 - max(q, r)) - min(q, r)  # 1 - q - r without cancellation
    # A single step last where the power of a negative number would alternate.
    even = d if turns >= 0 else d - d % 2
    if even > 0:
        if s < 0.5:
            rate = np.log1p(-s)
        elif s > 1.5:
            rate = np.log1p((q - 1) + (r - 1))
        else:
            rate = np.log(abs(turns)) if turns != 0 else -np.inf
        kept, gone = np.exp(even * rate), -np.expm1(even * rate)
        c0, c1 = (
            ((r + q * kept) * c0 + r * gone * c1) / s,
            (q * gone * c0 + (q + r * kept) * c1) / s,
        )
    if d > even:
        c0, c1 = (1 - q) * c0 + r * c1, q * c0 + (1 - r) * c1
    return c0, c1


@compiled(error_model="numpy")
def weights_at(q: float, r: float, row: FloatArray, d: int, w: FloatArray) -> None:
    """``w = (w00, w10, w01, w11)``, ``w[y, x] = Pr[x_before = y | x_now = x]``, where x_before is d
    steps after a point with the law ``row``.

    A negative d or a negative row stands for the stationary law. Zeros where x cannot occur.
    """
    if d < 0 or row[0] < 0:
        w[0], w[1], w[2], w[3] = 1 - q, q, r, 1 - r
        return
    c0, c1 = law_at(q, r, row, d)
    zero, one = (1 - q) * c0 + r * c1, q * c0 + (1 - r) * c1
    w[0], w[1], w[2], w[3] = 0.0, 0.0, 0.0, 0.0
    if zero > 0:
        w[0], w[1] = (1 - q) * c0 / zero, r * c1 / zero
    if one > 0:
        w[2], w[3] = q * c0 / one, (1 - r) * c1 / one


@compiled(error_model="numpy")
def both_possible(q: float, r: float, row: FloatArray, d: int) -> bool:
    """Whether a point d steps after a point with the law ``row`` can have both values."""
    if row[0] < 0 or d == 0:
        return bool(row[0] != 0 and row[1] != 0)
    w = np.empty(4)
    weights_at(q, r, row, d - 1, w)
    return bool(w[0] + w[1] > 0 and w[2] + w[3] > 0)


@compiled(error_model="numpy")
def weights_between(
    box: FloatArray, row: FloatArray, first: int, last: int, ever: bool, W: FloatArray
) -> None:
    """Least and greatest weights over a box of chains and over the distances ``first`` to ``last``.

    ``box`` is (least q, greatest q, least r, greatest r). ``W[p]`` covers the distances of parity p
    if W has two entries, all of them else. ``ever``: and all later distances.

    For q + r <= 1 weights are monotone in the distance, and for known points and stationary ends in
    q and in r (docs/exact-loss.md has the proof), so that the ends and the corners are enough.
    For q + r > 1 they are monotone in the distance among distances of one parity.
    """
    w = np.empty(4)
    parities = len(W)
    for p in range(parities):
        low, high = first, last
        if parities == 2:
            low, high = first + (first + p) % 2, last - (last + p) % 2
            if low > last:
                for x in range(4):
                    W[p, 0, x] = W[p, 1, x] = 0.0
                continue
        fresh = True
        for corner in range(4):
            q, r = box[corner % 2], box[2 + corner // 2]
            if corner > 0 and q == box[0] and r == box[2]:
                continue
            for turn in range(3 if ever else 2):
                weights_at(q, r, row, low if turn == 0 else (high if turn == 1 else -1), w)
                for x in range(2):
                    if fresh or w[2 * x + 1] < W[p, 0, 2 * x + 1]:
                        W[p, 0, 2 * x], W[p, 0, 2 * x + 1] = w[2 * x], w[2 * x + 1]
                    if fresh or w[2 * x + 1] > W[p, 1, 2 * x + 1]:
                        W[p, 1, 2 * x], W[p, 1, 2 * x + 1] = w[2 * x], w[2 * x + 1]
                fresh = False


@compiled(error_model="numpy")
def image(W: FloatArray, K: FloatArray, R: float) -> tuple[float, float]:
    """Least and greatest odds after one step from the odds R; NaN if the observation is
    impossible.
    """
    a, b = (1.0, R) if R <= 1 else (1 / R, 1.0)
    one = W[0, 2] * K[0, 1] * a + W[0, 3] * K[1, 1] * b
    two = W[1, 2] * K[0, 1] * a + W[1, 3] * K[1, 1] * b
    low, high = min(one, two), max(one, two)
    one = W[0, 0] * K[0, 0] * a + W[0, 1] * K[1, 0] * b
    two = W[1, 0] * K[0, 0] * a + W[1, 1] * K[1, 0] * b
    least, most = min(one, two), max(one, two)
    if W[0, 2] + W[0, 3] == 0:  # The point cannot be 1: its odds are a matter of convention.
        return (1.0, 1.0) if most > 0 else (np.nan, np.nan)
    if W[0, 0] + W[0, 1] == 0:
        return (1.0, 1.0) if high > 0 else (np.nan, np.nan)
    return low / most, high / least


# Arrays are filled by loops: an expression of whole arrays takes the compiler ten times as long.


@compiled(error_model="numpy")
def assign(out: FloatArray, V: FloatArray) -> None:
    """Copy intervals."""
    for node in range(len(V)):
        out[node, 0], out[node, 1] = V[node, 0], V[node, 1]


@compiled(error_model="numpy")
def clear(out: FloatArray) -> None:
    """Make intervals empty."""
    for node in range(len(out)):
        out[node, 0], out[node, 1] = np.inf, -1.0


@compiled(error_model="numpy")
def sweep(
    V: FloatArray,
    W: FloatArray,
    source: IntArray,
    target: IntArray,
    law: FloatArray,
    new: FloatArray,
    policy: PolicyArray,
) -> None:
    """Move all intervals ``V[node] = (low, high)`` by one point; an empty one is (inf, -1).

    With two parities of W, the nodes are those of even distances and then those of odd ones.
    ``policy[node, end]`` is 2 * edge + end of the source that gave the end, or -1.
    """
    parities = len(W)
    nodes = len(V) // parities
    clear(new)
    for node in range(len(policy)):
        policy[node, 0] = policy[node, 1] = -1
    for p in range(parities):
        begin, into = p * nodes, (parities - 1 - p) * nodes
        for e in range(len(source)):
            s, t = begin + source[e], into + target[e]
            if V[s, 1] < 0:
                continue
            for end in range(2):
                low, high = image(W[p], law[e], V[s, end])
                if low < new[t, 0] or (low == np.inf and policy[t, 0] < 0):
                    new[t, 0], policy[t, 0] = low, 2 * e + end
                if high > new[t, 1]:
                    new[t, 1], policy[t, 1] = high, 2 * e + end
    for node in range(len(new)):
        new[node, 0] *= 1 - OUTWARD
        new[node, 1] *= 1 + OUTWARD


@compiled(error_model="numpy")
def gain_of(V: FloatArray, low: float, high: float, t: int, end: int) -> float:
    """By how much an end of an interval of odds lies beyond that of node t, in logarithms.

    NaN: the step is impossible, or both are 0 or infinite and stay so.
    """
    return float((np.log(high / V[t, 1]) if end == 1 else np.log(V[t, 0] / low)) + 2 * OUTWARD)


@compiled(error_model="numpy")
def cycle_means(
    policy: PolicyArray,
    source: IntArray,
    parities: int,
    gain: FloatArray,
    g: FloatArray,
    c: FloatArray,
) -> None:
    """Growth per step along the cycle of a policy that leads to each end of an interval.

    ``g[node, end]`` is the mean gain of the cycle, at least 0, and ``c[node, end] >= 0`` the
    offsets with which every step of the policy gains g: ``c[t] = max(0, gain + c[s] - g[t])``.
    """
    size = len(policy)
    nodes = size // parities
    number, path = np.zeros(2 * size, np.int64), np.empty(2 * size, np.int64)
    for i in range(size):
        g[i, 0], g[i, 1], c[i, 0], c[i, 1] = 0.0, 0.0, 0.0, 0.0
    for begin in range(2 * size):
        # Against the steps until a cycle closes, or an end is met that is done.
        i, length = begin, 0
        while number[i] == 0 and policy[i // 2, i % 2] >= 0:
            length += 1
            number[i], path[length - 1] = length, i
            chosen = policy[i // 2, i % 2]
            i = 2 * ((parities - 1 - i // 2 // nodes) * nodes + source[chosen // 2]) + chosen % 2
        if length == 0:
            continue
        on_cycle = 0
        if number[i] > 0:  # The cycle runs from path[length - 1] up to i, which comes first.
            on_cycle = length - number[i] + 1
            mean = 0.0
            for at in range(length - on_cycle, length):
                mean += gain[path[at] // 2, path[at] % 2]
            mean = max(mean / on_cycle, 0.0)
            # Twice around: the first time finds how far offsets fall below that of the last entry.
            offset, least = 0.0, 0.0
            for at in range(length - 1, length - on_cycle - 1, -1):
                offset += gain[path[at] // 2, path[at] % 2] - mean
                least = min(least, offset)
            offset = -least
            for at in range(length - 1, length - on_cycle - 1, -1):
                offset = max(0.0, offset + gain[path[at] // 2, path[at] % 2] - mean)
                g[path[at] // 2, path[at] % 2], c[path[at] // 2, path[at] % 2] = mean, offset
        for at in range(length - on_cycle - 1, -1, -1):
            j = path[at]
            g[j // 2, j % 2] = g[i // 2, i % 2]
            c[j // 2, j % 2] = max(0.0, c[i // 2, i % 2] + gain[j // 2, j % 2] - g[i // 2, i % 2])
            i = j
        for at in range(length):
            number[path[at]] = -1


@compiled(error_model="numpy")
def growth(
    V: FloatArray,
    W: FloatArray,
    source: IntArray,
    target: IntArray,
    law: FloatArray,
    steps: int,
    policy: PolicyArray,
    g: FloatArray,
    c: FloatArray,
) -> bool:
    """Rates g, c >= 0 with every interval inside ``(low exp(-c - g k), high exp(c + g k))`` after
    k <= ``steps`` steps.

    An edge whose source has grown by c + g k may lead to no more than its target grown by
    c + g (k + 1). Log odds do not expand, so both ends of 0 <= k < steps are enough. Rates begin
    with those of ``policy``, which gives the ends of the intervals one step later; offsets c let
    ends take turns in growing. False if no rates were found.
    """
    parities = len(W)
    nodes = len(V) // parities
    gain = np.empty_like(g)
    for i in range(len(V)):
        p = parities - 1 - i // nodes
        for end in range(2):
            gain[i, end] = 0.0
            if policy[i, end] >= 0:
                e, before = policy[i, end] // 2, policy[i, end] % 2
                low, high = image(W[p], law[e], V[p * nodes + source[e], before])
                found = gain_of(V, low, high, i, end)
                if found == np.inf:
                    return False
                gain[i, end] = 0.0 if np.isnan(found) else found
    cycle_means(policy, source, parities, gain, g, c)
    for _ in range(2 * len(V) + 2):
        calm = True
        for p in range(parities):
            begin, into = p * nodes, (parities - 1 - p) * nodes
            for e in range(len(source)):
                s, t = begin + source[e], into + target[e]
                if V[s, 1] < 0:
                    continue
                if V[t, 1] < 0:
                    return False
                for end in range(2):
                    low, high = image(W[p], law[e], V[s, end])
                    for side in range(2):
                        step = gain_of(V, low, high, t, side)
                        if step == np.inf:
                            return False
                        step += c[s, end] - c[t, side]
                        need = max(step, (step + g[s, end] * (steps - 1)) / steps)
                        if need > g[t, side] * (1 + 1e-12):
                            g[t, side], calm = need, False
        if calm:
            return True
    return False


@compiled(error_model="numpy")
def spread(V: FloatArray, by: float, cover: FloatArray, out: FloatArray) -> None:
    """Intervals widened by a factor exp(by), but beyond ``cover`` by no more than `TIGHT`."""
    covered = len(cover)
    for node in range(len(V)):
        low, high = V[node]
        least, most = cover[node % covered]
        out[node, 0] = min(low * (1 - TIGHT), max(low * np.exp(-by), least * (1 - TIGHT)))
        out[node, 1] = max(high * (1 + TIGHT), min(high * np.exp(by), most * (1 + TIGHT)))


@compiled(error_model="numpy")
def inside(V: FloatArray, U: FloatArray) -> bool:
    """Whether every interval of V lies in that of U."""
    for node in range(len(V)):
        if V[node, 1] >= 0 and not (V[node, 0] >= U[node, 0] and V[node, 1] <= U[node, 1]):
            return False
    return True


@compiled(error_model="numpy")
def widen(U: FloatArray, V: FloatArray) -> None:
    """Widen U to hold V; nodes of both parities count for one where U has half as many."""
    for node in range(len(V)):
        if V[node, 1] >= 0:
            at = node % len(U)
            U[at, 0], U[at, 1] = min(U[at, 0], V[node, 0]), max(U[at, 1], V[node, 1])


@compiled(error_model="numpy")
def holds(
    V: FloatArray,
    by: float,
    cover: FloatArray,
    W: FloatArray,
    source: IntArray,
    target: IntArray,
    law: FloatArray,
    X: FloatArray,
    new: FloatArray,
    policy: PolicyArray,
) -> bool:
    """Whether intervals X, a little wider than V, stay within themselves from step to step."""
    spread(V, by, cover, X)
    sweep(X, W, source, target, law, new, policy)
    return inside(new, X)


@compiled(error_model="numpy")
def attain(
    R: FloatArray,
    policy: PolicyArray,
    W: FloatArray,
    source: IntArray,
    law: FloatArray,
    new: FloatArray,
) -> None:
    """Odds ``R[node, end]`` one step later, each along the arc that ``policy`` names; NaN: none."""
    parities = len(W)
    nodes = len(R) // parities
    for i in range(len(R)):
        p = parities - 1 - i // nodes
        for end in range(2):
            new[i, end] = np.nan
            if policy[i, end] >= 0:
                e, before = policy[i, end] // 2, policy[i, end] % 2
                low, high = image(W[p], law[e], R[p * nodes + source[e], before])
                new[i, end] = high if end == 1 else low


@compiled(error_model="numpy")
def attain_block(
    R: FloatArray,
    policy: PolicyArray,
    box: FloatArray,
    row: FloatArray,
    source: IntArray,
    law: FloatArray,
    parities: int,
    d: int,
    steps: int,
) -> None:
    """Odds ``R[node, end]`` at distance d, moved ``steps`` steps along the arcs of ``policy``.

    The joint likelihood of the output and the state is multiplied by one matrix a step, so that
    many steps are a power, found by repeated squaring. It is an estimate of what the policy attains
    on the lowest corner of ``box``; the attack itself is replayed elsewhere.
    """
    q, r, size = box[0], box[2], len(R)
    nodes = size // parities
    p0, p1 = law_at(q, r, row, d)
    after0, after1 = law_at(q, r, row, d + steps)
    # From each (node, end): where it comes from, and the product of the matrices since; of one
    # step doubled again and again, and of all steps taken.
    came, M = np.empty((3, 2 * size), np.int64), np.empty((3, 2 * size, 2, 2))
    step, total, spare = 0, 1, 2
    for i in range(2 * size):
        came[total, i] = i
        M[total, i, 0, 0], M[total, i, 0, 1] = 1.0, 0.0
        M[total, i, 1, 0], M[total, i, 1, 1] = 0.0, 1.0
        chosen = policy[i // 2, i % 2]
        came[step, i] = -1
        if chosen >= 0:
            e = chosen // 2
            first = (parities - 1 - i // 2 // nodes) * nodes
            came[step, i] = 2 * (first + source[e]) + chosen % 2
            M[step, i, 0, 0], M[step, i, 0, 1] = (1 - q) * law[e, 0, 0], q * law[e, 0, 1]
            M[step, i, 1, 0], M[step, i, 1, 1] = r * law[e, 1, 0], (1 - r) * law[e, 1, 1]
    left = steps
    while True:
        if left & 1:
            join(came[total], M[total], came[step], M[step], came[spare], M[spare])
            total, spare = spare, total
        left >>= 1
        if left == 0:
            break
        join(came[step], M[step], came[step], M[step], came[spare], M[spare])
        step, spare = spare, step
    before = np.empty_like(R)
    assign(before, R)
    for i in range(2 * size):
        R[i // 2, i % 2] = np.nan
        at = came[total, i]
        if at >= 0 and before[at // 2, at % 2] >= 0 and p0 * p1 * after0 * after1 > 0:
            # p0 : p1 R, scaled so that infinite odds have a place.
            odds = before[at // 2, at % 2]
            u0, u1 = (p0, p1 * odds) if odds <= 1 else (p0 / odds, p1)
            a = u0 * M[total, i, 0, 0] + u1 * M[total, i, 1, 0]
            b = u0 * M[total, i, 0, 1] + u1 * M[total, i, 1, 1]
            R[i // 2, i % 2] = (b / after1) / (a / after0)


@compiled(error_model="numpy")
def join(
    first: IntArray,
    A: FloatArray,
    second: IntArray,
    B: FloatArray,
    came: IntArray,
    product: FloatArray,
) -> None:
    """Follow ``first`` and then ``second``: origins, and products of matrices up to a factor."""
    for i in range(len(second)):
        at = second[i]
        came[i] = -1
        if at >= 0 and first[at] >= 0:
            came[i] = first[at]
            a = A[at, 0, 0] * B[i, 0, 0] + A[at, 0, 1] * B[i, 1, 0]
            b = A[at, 0, 0] * B[i, 0, 1] + A[at, 0, 1] * B[i, 1, 1]
            c = A[at, 1, 0] * B[i, 0, 0] + A[at, 1, 1] * B[i, 1, 0]
            d = A[at, 1, 0] * B[i, 0, 1] + A[at, 1, 1] * B[i, 1, 1]
            top = max(a, b, c, d, 1e-300)
            product[i, 0, 0], product[i, 0, 1] = a / top, b / top
            product[i, 1, 0], product[i, 1, 1] = c / top, d / top


@compiled(error_model="numpy")
def walk(
    V: FloatArray,
    box: FloatArray,
    row: FloatArray,
    source: IntArray,
    target: IntArray,
    law: FloatArray,
    places: int,
    slack: float,
    most: int,
    hull: FloatArray,
    found: FloatArray,
    at: IntArray,
    counts: IntArray,
    policies: PolicyArray,
) -> tuple[int, int]:
    """All intervals that follow from V at distance 0 of a boundary, at any distance from it.

    Parameters
    ----------
    V : array of shape (parities * nodes, 2)
        The intervals at distance 0; overwritten.
    box, row : arrays of shape (4,) and (2,)
        The chains, and the law at distance 0, as in :func:`weights_between`.
    source, target, law : arrays of shape (arcs,), (arcs,) and (arcs, 2, 2)
        Nodes before and after each step away from the boundary, and its likelihoods.
    places : int
        The period of the nodes.
    slack : float
        By how much log odds may be overestimated, about, to take many steps at once.
    most : int
        Work after which all odds are taken to be possible; the unit is an edge visited in a sweep.
    hull, found : arrays of shape (nodes, 2)
        Widened to all that is possible, and to what the policies attain on the lowest corner of
        the box.
    at : array of shape (nodes, 2)
        Where each end of ``found`` was met: parities * (segments before it) + parity of the node.
    counts, policies : arrays of shape (segments,) and (segments, parities * nodes, 2)
        Filled with the number of steps and the policy of each segment, as far as they reach.

    Returns
    -------
    int, int
        Number of segments, and the work done.

    Notes
    -----
    ----- The bounds of all further steps are tried on ``recent``, all that was seen in the last few
    steps: phases, labels and states may take turns, and what was seen in the first steps may never
    be seen again.
    """
    size, nodes = len(V), len(hull)
    parities = size // nodes
    d, work, segments = 0, 0, 0
    turn, left, again = 0, max(4, 2 * places), 0
    recent, anything, R = np.empty_like(V), np.empty_like(hull), np.empty_like(V)
    X, new, g, c = np.empty_like(V), np.empty_like(V), np.empty_like(V), np.empty_like(V)
    W, policy = np.zeros((parities, 2, 4)), np.empty((size, 2), np.int32)
    if both_possible(box[0], box[2], row, 0):
        assign(recent, V)
    else:  # The odds of a known point are not those of a secret.
        clear(recent)
    for node in range(nodes):
        anything[node, 0], anything[node, 1] = 0.0, np.inf
    for node in range(size):
        R[node, 0] = V[node, 0] if V[node, 1] >= 0 else np.nan
        R[node, 1] = V[node, 1] if V[node, 1] >= 0 else np.nan
    while True:
        if both_possible(box[0], box[2], row, d):
            widen(hull, V)
            for node in range(size):
                place = node % nodes
                # Odds that settle grow from step to step by less and less, and by rounding: what
                # cannot be seen in a loss makes an attack no longer.
                least, most_found = found[place, 0] * (1 - TIGHT), found[place, 1] * (1 + TIGHT)
                if R[node, 0] < least or (found[place, 1] < 0 and R[node, 0] >= 0):
                    found[place, 0], at[place, 0] = R[node, 0], parities * segments + node // nodes
                if R[node, 1] > most_found:
                    found[place, 1], at[place, 1] = R[node, 1], parities * segments + node // nodes
        empty = True
        for node in range(size):
            empty = empty and V[node, 1] < 0
        if empty:
            return segments, work
        if work > most:
            assign(hull, anything)
            return segments, work
        steps, far = 1, d >= STEPPED
        if left <= 0:
            weights_between(box, row, d, d + 1, True, W)
            work += 4 * parities * len(source)
            for by, cover in ((1.0, hull), (TIGHT, anything), (slack, anything)):
                if by == slack and not far:
                    continue
                if holds(recent, by, cover, W, source, target, law, X, new, policy):
                    widen(hull, X)
                    return segments, work
            block = int(d * slack) + 1 if far else 1
            for by, cover, tried in ((1.0, hull, d), (TIGHT, anything, block)):
                if steps > 1 or tried < 2 or (by != TIGHT and d < again):
                    continue
                weights_between(box, row, d, d + tried, False, W)
                work += parities * len(source)
                if holds(recent, by, cover, W, source, target, law, X, new, policy):
                    widen(hull, X)
                    settled = False
                    for _ in range(min(tried, SETTLING)):
                        sweep(X, W, source, target, law, new, policy)
                        work += parities * len(source)
                        settled = inside(X, new)
                        assign(X, new)
                        if settled:
                            break
                    if settled or by == TIGHT:
                        assign(recent, X)
                        steps = tried
                    else:
                        again = 2 * d
            while steps == 1 and block > 1:
                weights_between(box, row, d, d + block, False, W)
                work += 2 * parities * len(source)
                sweep(recent, W, source, target, law, new, policy)
                bounded = growth(recent, W, source, target, law, block, policy, g, c)
                for node in range(size):
                    for end in range(2):
                        bounded = bounded and c[node, end] + g[node, end] * block <= 4 * slack
                if bounded:
                    for node in range(size):
                        recent[node, 0] *= np.exp(-c[node, 0] - g[node, 0] * block) * (1 - TIGHT)
                        recent[node, 1] *= np.exp(c[node, 1] + g[node, 1] * block) * (1 + TIGHT)
                    widen(hull, recent)
                    steps = block
                block //= 4
            if steps == 1:  # Begin to collect again, every fourth time for longer.
                clear(recent)
                turn += 1
                left = max(12, 12 * places) if turn % 4 == 3 else max(4, 2 * places)
        if steps > 1:
            assign(V, recent)
            attain_block(R, policy, box, row, source, law, parities, d, steps)
        else:
            weights_between(box, row, d, d, False, W)
            sweep(V, W, source, target, law, new, policy)
            work += len(source) + 16
            assign(V, new)
            widen(recent, V)
            left -= 1
            attain(R, policy, W, source, law, new)
            assign(R, new)
        if segments < len(counts):
            counts[segments] = steps
            for node in range(size):
                policies[segments, node, 0] = policy[node, 0]
                policies[segments, node, 1] = policy[node, 1]
        segments += 1
        d += steps


@compiled(error_model="numpy")
def table(
    start: FloatArray,
    box: FloatArray,
    row: FloatArray,
    source: IntArray,
    target: IntArray,
    law: FloatArray,
    depth: int,
    classes: int,
    labels: int,
    begin: int,
    turn: int,
    kept: bool,
    low_high: FloatArray,
    far: IntArray,
    policies: PolicyArray,
) -> None:
    """Intervals at given places: at distance exactly d of a boundary, or at any distance up to d.

    At distance d the place is in the class ``(begin + turn d) mod classes``. ``low_high[d, label]``
    becomes the interval of that class and label, ``far[d, label]`` the distances at which its ends
    are met. ``kept``: any distance from 1 to d; else exactly d. ``policies``, shape (depth, nodes,
    2), is filled as far as it reaches.
    """
    nodes = len(start)
    W, policy = np.zeros((1, 2, 4)), np.empty((nodes, 2), np.int32)
    V, new, best = np.empty_like(start), np.empty_like(start), np.empty_like(start)
    met = np.zeros((nodes, 2), np.int64)
    assign(V, start)
    clear(best)
    for d in range(depth + 1):
        if not kept:
            clear(best)
        if both_possible(box[0], box[2], row, d):
            for node in range(nodes):
                if V[node, 1] >= 0 and (V[node, 0] < best[node, 0] or best[node, 1] < 0):
                    best[node, 0], met[node, 0] = V[node, 0], d
                if V[node, 1] > best[node, 1]:
                    best[node, 1], met[node, 1] = V[node, 1], d
        first = ((begin + turn * d) % classes) * labels
        for label in range(labels):
            for end in range(2):
                low_high[d, label, end] = best[first + label, end]
                far[d, label, end] = met[first + label, end]
        if d < depth:
            weights_between(box, row, d, d, False, W)
            sweep(V, W, source, target, law, new, policy)
            assign(V, new)
            if d < len(policies):
                for node in range(nodes):
                    policies[d, node, 0] = policy[node, 0]
                    policies[d, node, 1] = policy[node, 1]


@compiled(error_model="numpy")
def fold(sequence: IntArray, most: int, sizes: IntArray, counts: IntArray) -> int:
    """Write a sequence as patterns of at most ``most`` entries and how often each is repeated.

    From the front, the pattern whose repetitions cover most; the number of patterns.
    """
    at, found, length = 0, 0, len(sequence)
    while at < length:
        best, count = 1, 1
        for size in range(1, min(most, (length - at) // 2) + 1):
            end = at + size
            while end < length and sequence[end] == sequence[end - size]:
                end += 1
            again = (end - at) // size
            if again > 1 and again * size > best * count:
                best, count = size, again
        sizes[found], counts[found] = best, count
        found += 1
        at += best * count
    return found


@compiled(error_model="numpy")
def windows(
    past: FloatArray,
    future: FloatArray,
    classes: IntArray,
    begins: IntArray,
    source: IntArray,
    target: IntArray,
    loglaw: FloatArray,
    possible: BoolArray,
    size: int,
    labels: int,
    best: FloatArray,
    steps: IntArray,
    pairs: IntArray,
) -> None:
    """Largest log ratio of each window of ``size`` points, by its last label and values.

    Parameters
    ----------
    past, future : arrays of shape (windows, labels, 2, 2)
        Log ratios ``[label, value, other]`` of what lies before the first point of a window, that
        point included, and after its last one; past[.., x, x] is 0 where the label and x can occur
        together.
    classes : integer array of shape (windows,)
        Class of the first point of each window.
    begins : integer array of shape (classes + 1,)
        Where the arcs that leave each class begin.
    source, target, loglaw : arrays of shape (arcs,), (arcs,) and (arcs, 2, 2)
        Nodes before and after each step, and logarithms of its likelihoods.
    possible : boolean array of shape (2, 2)
        Which steps the chain can take.
    size, labels : int
        Number of points of a window, and of labels.
    best : array of shape (windows, labels, 2, 2)
        Filled with the ratios; -inf where there is none.
    steps, pairs : integer arrays of shape (size - 1, labels, 2, 2)
        Filled with the arcs and the values before, 2 * value + other, of the last window.
    """
    count = len(begins) - 1
    old, new = np.empty((labels, 2, 2)), np.empty((labels, 2, 2))
    for w in range(len(past)):
        for i in range(4 * labels):
            old[i // 4, i // 2 % 2, i % 2] = past[w, i // 4, i // 2 % 2, i % 2]
        place = classes[w]
        for step in range(size - 1):
            for i in range(4 * labels):
                new[i // 4, i // 2 % 2, i % 2] = -np.inf
            for e in range(begins[place % count], begins[place % count + 1]):
                s, t = source[e] % labels, target[e] % labels
                for a in range(2):
                    for b in range(2):
                        if old[s, a, b] == -np.inf:
                            continue
                        for c in range(2):
                            if not possible[a, c] or loglaw[e, a, c] == -np.inf:
                                continue
                            for d in range(2):
                                if not possible[b, d]:
                                    continue
                                value = old[s, a, b] + (loglaw[e, a, c] - loglaw[e, b, d])
                                if value > new[t, c, d]:
                                    new[t, c, d] = value
                                    steps[step, t, c, d] = e
                                    pairs[step, t, c, d] = 2 * a + b
            for i in range(4 * labels):
                old[i // 4, i // 2 % 2, i % 2] = new[i // 4, i // 2 % 2, i % 2]
            place += 1
        for label in range(labels):
            for a in range(2):
                for b in range(2):
                    after = 0.0 if a == b else future[w, label, a, b]
                    before = old[label, a, b] if size > 1 or a != b else -np.inf
                    # What cannot be seen adds nothing to what rules a value out.
                    ruled_out = before == -np.inf or after == -np.inf
                    best[w, label, a, b] = -np.inf if ruled_out else before + after
