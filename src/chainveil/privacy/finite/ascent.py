"""Compiled search for strong attacks on one side: outputs improved one by one.

What comes out is a value that an attack attains. Nothing here is needed for an upper bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

# Times that all outputs are gone through for one source and depth.
SWEEPS = 12
# Points beyond which no outputs are tried.
LONGEST = 2048


@compiled(error_model="numpy")
def strong_attack(
    matrix: Any, emission: Any, starts: Any, prior: Any, first: Any, last: Any, a: int, b: int
) -> tuple[float, int, int, Any]:
    """An attack of high value for the pair (a, b): value, source, depth, and its outputs.

    Outputs run from the target outwards. Depths are those stored in ``prior``. A row of
    outputs is improved without a source first; it shows the best depth of each source,
    and is improved again for that source and depth.
    """
    stored = min(prior.shape[1] - 1, LONGEST)
    deepest = 0
    for source in range(len(starts)):
        if last[source] != -2:
            deepest = max(deepest, stored if last[source] < 0 else min(last[source], stored))
    plain = np.ones(len(matrix)) / len(matrix) @ matrix.T
    common = np.zeros(deepest, np.int64)
    _improve(matrix, emission, plain, a, b, common)
    best, best_source, best_depth, best_symbols = -np.inf, -1, -1, common[:0]
    for source in range(len(starts)):
        if last[source] == -2:
            continue
        limit = stored if last[source] < 0 else min(last[source], stored)
        depth = _best_depth(
            matrix, emission, starts[source], prior[source], first[source], limit, a, b, common
        )
        if depth < 0:
            continue
        symbols = common[:depth].copy()
        value = _improve(matrix, emission, starts[source], a, b, symbols)
        value += prior[source, depth, b] - prior[source, depth, a]
        if value > best:
            best, best_source, best_depth, best_symbols = value, source, depth, symbols
    return best, best_source, best_depth, best_symbols


@compiled(error_model="numpy")
def _best_depth(
    matrix: Any,
    emission: Any,
    start: Any,
    prior: Any,
    first: int,
    limit: int,
    a: int,
    b: int,
    symbols: Any,
) -> int:
    """Where a source is worth most behind the first of the given outputs; -1: nowhere."""
    over, under = np.zeros(len(matrix)), np.zeros(len(matrix))
    over[a], under[b] = 1.0, 1.0
    best, place = -np.inf, -1
    for j in range(limit + 1):
        if j > 0:
            over = (over @ matrix) * emission[:, symbols[j - 1]]
            under = (under @ matrix) * emission[:, symbols[j - 1]]
            scale = 1 / max(over.max(), under.max())
            over, under = over * scale, under * scale
        if j < first or prior[j, a] == -np.inf or prior[j, b] == -np.inf:
            continue
        above, below = over @ start, under @ start
        if above > 0.0 and below > 0.0:
            value = np.log(above / below) + prior[j, b] - prior[j, a]
            if value > best:
                best, place = value, j
    return place


@compiled(error_model="numpy")
def _improve(matrix: Any, emission: Any, start: Any, a: int, b: int, symbols: Any) -> float:
    """Improve the outputs in place, one by one, until none changes; the log ratio they reach."""
    k, depth = len(matrix), len(symbols)
    messages = np.empty((depth + 1, k))
    # Entry by entry: slices take seconds to compile, for their errors.
    for x in range(k):
        messages[depth, x] = start[x]
    reached = -np.inf
    for _ in range(SWEEPS):
        for j in range(depth - 1, -1, -1):
            message = matrix @ (emission[:, symbols[j]] * messages[j + 1])
            most = message.max()
            for x in range(k):
                messages[j, x] = message[x] / most
        over, under = np.zeros(k), np.zeros(k)
        over[a], under[b] = 1.0, 1.0
        changed = False
        for j in range(depth):
            over, under = over @ matrix, under @ matrix
            above = (over * messages[j + 1]) @ emission
            below = (under * messages[j + 1]) @ emission
            best = symbols[j]
            for z in range(emission.shape[1]):
                if above[z] * below[best] > above[best] * below[z] * (1 + 1e-12):
                    best = z
            changed = changed or best != symbols[j]
            symbols[j] = best
            over, under = over * emission[:, best], under * emission[:, best]
            scale = 1 / max(over.max(), under.max())
            over, under = over * scale, under * scale
        above_all, below_all = over @ start, under @ start
        if above_all > 0.0 and below_all > 0.0:
            reached = np.log(above_all / below_all)
        if not changed:
            break
    return reached
