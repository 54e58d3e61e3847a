"""Compiled expectation step: how often each transition happened, given a release.

A step from report ``s`` to report ``s'`` weighs ``weights[s, s'](a, b)``, the probability of
going from state a to state b and reporting s' there, given the report s: independent noise
has ``P(a, b) B(b, s')``, correlated noise ``P(a, b) N(s XOR a, s' XOR b)``. Correlated noise
needs no further states, since report and state together tell the flip.

Every function takes ``symbols``, ``borders`` of the series laid end to end, ``first`` of shape
(m, k) for the first point of a series, ``weights`` of shape (m * m, k, k), scratch space
``held`` of shape (longest, k), adds up transitions in ``counts`` (k, k) and first points in
``begin`` (k,), and returns the log-likelihood.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba
import numpy as np

_compiled = numba.njit(cache=True, error_model="numpy", fastmath={"contract"}, nogil=True)
_reordering = numba.njit(
    cache=True, error_model="numpy", fastmath={"contract", "reassoc"}, nogil=True
)
# Products of likelihoods are turned into a logarithm before they could vanish.
SMALL = 1e-200


@_compiled
def expect_two(
    symbols: Any, borders: Any, first: Any, weights: Any, held: Any, counts: Any, begin: Any
) -> float:
    """Two states: every message is one number, the probability of state 1."""
    total = 0.0
    m = len(first)
    for series in range(len(borders) - 1):
        start, end = borders[series], borders[series + 1]
        n = end - start
        if n == 0:
            continue
        product = first[symbols[start], 0] + first[symbols[start], 1]
        one = first[symbols[start], 1] / product
        held[0, 0] = one
        for t in range(1, n):
            w = weights[symbols[start + t - 1] * m + symbols[start + t]]
            zero = 1.0 - one
            to0 = zero * w[0, 0] + one * w[1, 0]
            to1 = zero * w[0, 1] + one * w[1, 1]
            both = to0 + to1
            one = to1 / both
            held[t, 0] = one
            product *= both
            if product < SMALL:
                total += np.log(product)
                product = 1.0
        total += np.log(product)
        c00 = c01 = c10 = c11 = 0.0
        back = 0.5
        for t in range(n - 2, -1, -1):
            w = weights[symbols[start + t] * m + symbols[start + t + 1]]
            one = held[t, 0]
            zero = 1.0 - one
            v00, v01 = w[0, 0] * (1.0 - back), w[0, 1] * back
            v10, v11 = w[1, 0] * (1.0 - back), w[1, 1] * back
            m0, m1 = v00 + v01, v10 + v11
            scale = 1.0 / (zero * m0 + one * m1)
            c00 += zero * v00 * scale
            c01 += zero * v01 * scale
            c10 += one * v10 * scale
            c11 += one * v11 * scale
            back = m1 / (m0 + m1)
        counts[0, 0] += c00
        counts[0, 1] += c01
        counts[1, 0] += c10
        counts[1, 1] += c11
        one = held[0, 0]
        both = (1.0 - one) * (1.0 - back) + one * back
        begin[0] += (1.0 - one) * (1.0 - back) / both
        begin[1] += one * back / both
    return total


@lru_cache(maxsize=32)
def expect_many(states: int) -> Any:
    """The same for ``states`` states, compiled with that number known: loops are unrolled."""
    k = states

    @_reordering
    def expect(
        symbols: Any, borders: Any, first: Any, weights: Any, held: Any, counts: Any, begin: Any
    ) -> float:
        m = len(first)
        total = 0.0
        message, moved, found = np.empty(k), np.empty(k), np.zeros((k, k))
        for series in range(len(borders) - 1):
            start, end = borders[series], borders[series + 1]
            n = end - start
            if n == 0:
                continue
            mass = 0.0
            for a in range(k):
                held[0, a] = first[symbols[start], a]
                mass += held[0, a]
            for a in range(k):
                held[0, a] /= mass
            product = mass
            for t in range(1, n):
                w = weights[symbols[start + t - 1] * m + symbols[start + t]]
                for b in range(k):
                    moved[b] = 0.0
                for a in range(k):
                    here = held[t - 1, a]
                    for b in range(k):
                        moved[b] += here * w[a, b]
                mass = 0.0
                for b in range(k):
                    mass += moved[b]
                scale = 1.0 / mass
                for b in range(k):
                    held[t, b] = moved[b] * scale
                product *= mass
                if product < SMALL:
                    total += np.log(product)
                    product = 1.0
            total += np.log(product)
            message[:] = 1.0
            for t in range(n - 2, -1, -1):
                w = weights[symbols[start + t] * m + symbols[start + t + 1]]
                mass, size = 0.0, 0.0
                for a in range(k):
                    value = 0.0
                    for b in range(k):
                        value += w[a, b] * message[b]
                    moved[a] = value
                    size += value
                    mass += held[t, a] * value
                scale = 1.0 / mass
                for a in range(k):
                    share = held[t, a] * scale
                    for b in range(k):
                        found[a, b] += share * w[a, b] * message[b]
                scale = 1.0 / size
                for a in range(k):
                    message[a] = moved[a] * scale
            mass = 0.0
            for a in range(k):
                mass += held[0, a] * message[a]
            for a in range(k):
                begin[a] += held[0, a] * message[a] / mass
        for a in range(k):
            for b in range(k):
                counts[a, b] += found[a, b]
        return total

    return expect
