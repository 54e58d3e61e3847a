"""Compiled counting: how often each pattern of reports stands at each choice of points."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# Sums of bytes that are taken before the sum could leave a byte.
SHORT = 255
LANES = 64

_compiled = numba.njit(cache=True, nogil=True)


@_compiled
def count_windows(
    symbols: Any, borders: Any, owner: Any, labels: Any, window: Any, outputs: int, out: Any
) -> None:
    """Add the windows of every group to ``out``, shape (groups, outputs ** p).

    Stretch j is ``symbols[borders[j]:borders[j + 1]]`` and belongs to group ``owner[j]``.
    Where ``labels`` is not empty it holds the group of each point instead; then a window
    counts if all its points are of one group.
    """
    last, places = window[-1], len(window)
    for stretch in range(len(borders) - 1):
        row = out[owner[stretch]]
        for t in range(borders[stretch], borders[stretch + 1] - last):
            code = 0
            for place in range(places):
                code = code * outputs + symbols[t + window[place]]
            if len(labels) == 0:
                row[code] += 1
            else:
                same = True
                for place in range(1, places):
                    same = same and labels[t + window[place]] == labels[t]
                if same:
                    out[labels[t], code] += 1


@_compiled
def count_triples(symbols: Any, outputs: int, out: Any) -> None:
    """Count three neighbouring points of one stretch; ``out`` has shape (4, outputs ** 3).

    Four tables take turns, so that an addition need not wait for the one before it.
    """
    n = len(symbols)
    if n < 3:
        return
    high = outputs * outputs
    code = symbols[0] * outputs + symbols[1]
    for t in range(2, n):
        code = (code % high) * outputs + symbols[t]
        out[t & 3, code] += 1


@_compiled
def binary_moments(symbols: Any, out: Any) -> None:
    """Sums of z0, z0 z1, z0 z2 and z0 z1 z2 over the triples of one stretch of zeros and ones.

    Bytes are added to bytes for as long as they cannot overflow: the compiler then adds
    many at once, and the memory sets the pace.
    """
    n = len(symbols) - 2
    block = SHORT * LANES
    one = np.empty(LANES, np.uint8)
    two = np.empty(LANES, np.uint8)
    far = np.empty(LANES, np.uint8)
    all3 = np.empty(LANES, np.uint8)
    done = 0
    while done + LANES <= n:
        rounds = min(block, n - done) // LANES
        one[:] = 0
        two[:] = 0
        far[:] = 0
        all3[:] = 0
        for step in range(rounds):
            base = done + step * LANES
            for lane in range(LANES):
                first = symbols[base + lane]
                both = first & symbols[base + lane + 1]
                third = symbols[base + lane + 2]
                one[lane] += first
                two[lane] += both
                far[lane] += first & third
                all3[lane] += both & third
        for lane in range(LANES):
            out[0] += one[lane]
            out[1] += two[lane]
            out[2] += far[lane]
            out[3] += all3[lane]
        done += rounds * LANES
    for t in range(done, n):
        first = symbols[t]
        both = first & symbols[t + 1]
        out[0] += first
        out[1] += both
        out[2] += first & symbols[t + 2]
        out[3] += both & symbols[t + 2]


@_compiled
def count_pairs_of_group(labels: Any, borders: Any, distance: int, out: Any) -> None:
    """How many points of each group have one of the same group ``distance`` later."""
    for stretch in range(len(borders) - 1):
        for t in range(borders[stretch], borders[stretch + 1] - distance):
            if labels[t] == labels[t + distance]:
                out[labels[t]] += 1
