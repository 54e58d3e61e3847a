"""Compiled: the largest odds of two values of a silent target over all cones; see ``between``."""

from __future__ import annotations

from typing import Any

from chainveil.compiled import compiled
from chainveil.privacy.letters.words import PLAIN, inner

# Rows of what is worked with: without reports, with the shares of a cone, and with one of its rays.
PRIOR, COMMON, TOLD, ROWS = range(4)


@inner
def weigh(steps: Any, reference: Any, share: Any, work: Any) -> float:
    """What values of the target weigh: without reports, and with the shares; what is free."""
    rest = 1.0
    for a in range(len(steps)):
        prior, common = 0.0, 0.0
        for x in range(len(steps)):
            flow = steps[a, x] * reference[x]
            prior += flow
            common += flow * share[x]
        work[PRIOR, a], work[COMMON, a] = prior, common
        rest -= share[a]
    return rest


@compiled(**PLAIN)
def largest(cones: Any, steps: Any, odds: Any, most: Any, work: Any) -> None:
    """Raise ``most`` (labels, k, k) to the odds of a over b with reports, over those without them.

    The last end of the cones, whatever may follow, is not looked at; before it come the values that
    are known furthest away.
    ``steps`` (k, k): from the target to the point of the cones; ``odds`` (k, k): room for what
    known values behind the last layer may give b over a, without reports; ``work`` (ROWS, k).
    """
    k, labels = len(steps), most.shape[0]
    ends, layers = cones.reference.shape[0], cones.reference.shape[1]
    for end in range(ends - 1):
        for layer in range(layers):
            for label in range(labels):
                reference, share = cones.reference[end, layer], cones.share[end, layer, label]
                rest = weigh(steps, reference, share, work)
                # Values that are known at the furthest distance.
                if layer == layers - 1 and end >= ends - 1 - k:
                    for a in range(k):
                        for b in range(k):
                            if work[PRIOR, b] > odds[a, b] * work[PRIOR, a]:
                                odds[a, b] = work[PRIOR, b] / work[PRIOR, a]
                for ray in range(k if share[0] >= 0.0 else 0):
                    if reference[ray] <= 0.0:
                        continue
                    for a in range(k):
                        beside = rest * steps[a, ray] * reference[ray]
                        work[TOLD, a] = work[COMMON, a] + beside
                    for a in range(k):
                        for b in range(k):
                            above = work[TOLD, a] * work[PRIOR, b]
                            below = work[TOLD, b] * work[PRIOR, a]
                            if above > most[label, a, b] * below:
                                most[label, a, b] = above / below
    # Behind the last layer known values with reports need not be those without.
    for end in range(ends - 1 - k, ends - 1):
        for label in range(labels):
            reference, share = cones.reference[end, layers - 1], cones.share[end, layers - 1, label]
            rest = weigh(steps, reference, share, work)
            for ray in range(k if share[0] >= 0.0 else 0):
                for a in range(k):
                    beside = rest * steps[a, ray] * reference[ray]
                    work[TOLD, a] = work[COMMON, a] + beside
                for a in range(k):
                    for b in range(k):
                        above, below = work[TOLD, a] * odds[a, b], work[TOLD, b]
                        if above > most[label, a, b] * below:
                            most[label, a, b] = above / below
