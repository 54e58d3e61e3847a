"""Compiled sums of products: how points some steps apart go together."""

from __future__ import annotations

from typing import Any

from chainveil.compiled import compiled

# Sums may be taken in any order: they end in a test, whose other side is summed likewise.
_reordering = compiled(nogil=True, fastmath={"reassoc", "nsz", "contract"})


@_reordering
def product_sums(values: Any, borders: Any, places: Any, out: Any) -> None:
    """Add up products of the values at ``t + places`` over all t of every stretch.

    ``values`` : (total,); ``borders`` : (stretches + 1,); ``places`` : (patterns, 3), what lies
    behind t, padded with 0; ``out`` : (patterns,).
    """
    for pattern in range(len(places)):
        a, b, c = places[pattern, 0], places[pattern, 1], places[pattern, 2]
        total = 0.0
        for stretch in range(len(borders) - 1):
            part = values[borders[stretch] : borders[stretch + 1]]
            n = len(part) - max(a, b, c)
            if n <= 0:
                continue
            first = part[a : a + n]
            if b == 0:
                for t in range(n):
                    total += part[t] * first[t]
                continue
            second = part[b : b + n]
            if c == 0:
                for t in range(n):
                    total += part[t] * first[t] * second[t]
                continue
            third = part[c : c + n]
            for t in range(n):
                total += part[t] * first[t] * second[t] * third[t]
        out[pattern] = total
