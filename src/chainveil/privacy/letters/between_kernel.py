"""Compiled: the largest odds of two values of a silent target over all cones; see ``between``."""

from __future__ import annotations

from typing import Any

from chainveil.compiled import compiled
from chainveil.privacy.letters.words import PLAIN, inner


@inner
def step(steps: Any, vector: Any, to: Any) -> None:
    """What the values of the target weigh, where a vector stands so many steps away."""
    for a in range(len(steps)):
        total = 0.0
        for x in range(len(steps)):
            total += steps[a, x] * vector[x]
        to[a] = total


@compiled(**PLAIN)
def largest(reference: Any, rays: Any, steps: Any, odds: Any, most: Any, work: Any) -> None:
    """Raise ``most`` (labels, k, k) to the odds of a over b with reports, over those without them.

    ``reference`` (ends, layers, k): without reports; ``rays`` (ends, layers, labels, n, k): with
    them, all zeros where there is none; ``steps`` (k, k): from the target to their point. The last
    k ends are the values that are known furthest away, which in the last layer stand for all that
    lies behind: there known values with reports need not be those without. ``odds`` (k, k), zeros:
    room for what those may give b over a, without reports; ``work``: room for (2, k) numbers.
    """
    ends, layers, labels, count, k = rays.shape
    prior, told = work[0], work[1]
    for end in range(ends - k, ends):
        step(steps, reference[end, layers - 1], prior)
        for a in range(k):
            for b in range(k):
                if prior[b] > odds[a, b] * prior[a]:
                    odds[a, b] = prior[b] / prior[a]
    for end in range(ends):
        for layer in range(layers):
            step(steps, reference[end, layer], prior)
            is_last = layer == layers - 1 and end >= ends - k
            for label in range(labels):
                for ray in range(count):
                    step(steps, rays[end, layer, label, ray], told)
                    for a in range(k):
                        for b in range(k):
                            above, below = told[a] * prior[b], told[b] * prior[a]
                            if above > most[label, a, b] * below:
                                most[label, a, b] = above / below
                            if is_last and told[a] * odds[a, b] > most[label, a, b] * told[b]:
                                most[label, a, b] = told[a] * odds[a, b] / told[b]
