"""Compiled sums of products: how points some steps apart go together."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainveil.compiled import compiled

# Sums may be taken in any order: they end in a test, whose other side is summed likewise.
_reordering = compiled(nogil=True, fastmath={"reassoc", "nsz", "contract"})


@_reordering
def band_sums(values: Any, borders: Any, bands: Any, out: Any) -> None:
    """Add up products of two values ``a`` to ``b`` steps apart within a stretch.

    ``values`` : (total,); ``borders`` : (stretches + 1,); ``bands`` : (bands, 2) of a and b;
    ``out`` : (bands,). Sums up to each point make every band one multiplication a point.
    """
    out[:] = 0.0
    for stretch in range(len(borders) - 1):
        part = values[borders[stretch] : borders[stretch + 1]]
        n = len(part)
        sums = np.zeros(n + 1)
        for t in range(n):
            sums[t + 1] = sums[t] + part[t]
        for band in range(len(bands)):
            a, b = bands[band, 0], bands[band, 1]
            inner, total = max(n - b, 0), 0.0
            upper, lower = sums[min(b + 1, n) :], sums[min(a, n) :]
            for t in range(inner):
                total += part[t] * (upper[t] - lower[t])
            for t in range(inner, n - a):
                total += part[t] * (sums[n] - lower[t])
            out[band] += total


@_reordering
def pattern_sums(values: Any, borders: Any, places: Any, out: Any) -> None:
    """Add up products of the values at t and at ``t + places`` over all t of every stretch.

    ``places`` : (patterns, 3), the last 0 for a pattern of three points; ``out`` : (patterns,).
    """
    for pattern in range(len(places)):
        a, b, c = places[pattern, 0], places[pattern, 1], places[pattern, 2]
        total = 0.0
        for stretch in range(len(borders) - 1):
            part = values[borders[stretch] : borders[stretch + 1]]
            n = len(part) - max(a, b, c)
            if n <= 0:
                continue
            first, second, third = part[a : a + n], part[b : b + n], part[c : c + n]
            if c == 0:
                for t in range(n):
                    total += part[t] * first[t] * second[t]
            else:
                for t in range(n):
                    total += part[t] * first[t] * second[t] * third[t]
        out[pattern] = total
