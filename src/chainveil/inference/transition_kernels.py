"""Compiled forward-backward that adds up transitions instead of writing down posteriors.

A step from report ``z`` to report ``z'`` weighs ``weights[z * m + z'](a, b)``, the probability
of going from state a to state b and reporting z' there (``inference.hidden.StepWeights``).
Noise that looks back needs no further states here.

These recursions stand beside those of ``inference.two_state`` and ``inference.finite_state`` for
speed: a fit makes some hundred passes, asks for no posterior of a point, and its chains have no
zeros. Likelihood and both messages come from one pass; more than two states are unrolled and
scaled at every eighth point, in less time than the smoother of ``finite_state`` takes.

Every function takes ``symbols``, ``borders`` of the series laid end to end, ``first`` of shape
(m, k) for the first point of a series, ``weights`` of shape (m * m, k, k), scratch space
``held`` of shape (longest, k), adds up transitions in ``counts`` (k, k) and first points in
``begin`` (k,), and returns the log-likelihood.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from chainveil.compiled import compiled

_compiled = compiled(error_model="numpy", fastmath={"contract"}, nogil=True)
_reordering = compiled(error_model="numpy", fastmath={"contract", "reassoc"}, nogil=True)
# Products of likelihoods are turned into a logarithm before they could vanish.
SMALL = 1e-200
# Points after which messages of many states are brought back to one: each waits for the one
# before it, and a division at every point would make it wait longest.
SCALED = 8


@_compiled
def expect_two(
    symbols: Any, borders: Any, first: Any, weights: Any, held: Any, counts: Any, begin: Any
) -> float:
    """Two states: every message is one number, the probability of state 1.

    Each message waits for the one before it, so both directions run in one loop.
    """
    total = 0.0
    m = len(first)
    for series in range(len(borders) - 1):
        points = symbols[borders[series] : borders[series + 1]]
        n = len(points)
        if n == 0:
            continue
        product = first[points[0], 0] + first[points[0], 1]
        one, back = first[points[0], 1] / product, 0.5
        held[0, 0], held[n - 1, 1] = one, back
        for t in range(1, n):
            w = weights[points[t - 1] * m + points[t]]
            to0 = (1.0 - one) * w[0, 0] + one * w[1, 0]
            to1 = (1.0 - one) * w[0, 1] + one * w[1, 1]
            both = to0 + to1
            one = to1 / both
            held[t, 0] = one
            product *= both
            if product < SMALL:
                total += np.log(product)
                product = 1.0
            v = weights[points[n - 1 - t] * m + points[n - t]]
            from0 = (1.0 - back) * v[0, 0] + back * v[0, 1]
            from1 = (1.0 - back) * v[1, 0] + back * v[1, 1]
            back = from1 / (from0 + from1)
            held[n - 1 - t, 1] = back
        total += np.log(product)
        c00 = c01 = c10 = c11 = 0.0
        for t in range(n - 1):
            w = weights[points[t] * m + points[t + 1]]
            one, back = held[t, 0], held[t + 1, 1]
            v00, v01 = (1.0 - one) * (1.0 - back) * w[0, 0], (1.0 - one) * back * w[0, 1]
            v10, v11 = one * (1.0 - back) * w[1, 0], one * back * w[1, 1]
            scale = 1.0 / (v00 + v01 + v10 + v11)
            c00 += v00 * scale
            c01 += v01 * scale
            c10 += v10 * scale
            c11 += v11 * scale
        counts[0, 0] += c00
        counts[0, 1] += c01
        counts[1, 0] += c10
        counts[1, 1] += c11
        one, back = held[0, 0], held[0, 1]
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
            for a in range(k):
                message[a] = held[0, a] = first[symbols[start], a]
            for t in range(1, n):
                w = weights[symbols[start + t - 1] * m + symbols[start + t]]
                for b in range(k):
                    moved[b] = 0.0
                for a in range(k):
                    here = message[a]
                    for b in range(k):
                        moved[b] += here * w[a, b]
                if t % SCALED == 0:
                    mass = 0.0
                    for b in range(k):
                        mass += moved[b]
                    total += np.log(mass)
                    scale = 1.0 / mass
                    for b in range(k):
                        moved[b] *= scale
                for b in range(k):
                    message[b] = held[t, b] = moved[b]
            mass = 0.0
            for b in range(k):
                mass += message[b]
            total += np.log(mass)
            message[:] = 1.0
            for t in range(n - 2, -1, -1):
                w = weights[symbols[start + t] * m + symbols[start + t + 1]]
                mass = 0.0
                for a in range(k):
                    value = 0.0
                    for b in range(k):
                        value += w[a, b] * message[b]
                    moved[a] = value
                    mass += held[t, a] * value
                scale = 1.0 / mass
                for a in range(k):
                    share = held[t, a] * scale
                    for b in range(k):
                        found[a, b] += share * w[a, b] * message[b]
                if t % SCALED == 0:
                    mass = 0.0
                    for a in range(k):
                        mass += moved[a]
                    scale = 1.0 / mass
                    for a in range(k):
                        moved[a] *= scale
                for a in range(k):
                    message[a] = moved[a]
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
