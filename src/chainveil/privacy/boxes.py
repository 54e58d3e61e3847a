"""Branch and bound over a box of two-state chains, for every engine that can bound a box."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.privacy.result import PrivacyLoss

# How far the bounds may be apart.
TOLERANCE = 5e-7
# One cut in so many looks at a chain of its own; most often the first one was the worst.
LOOKS = 8

# A box: least and largest q, least and largest r.
Box = tuple[float, float, float, float]


def search(
    region: ChainRegion,
    best: PrivacyLoss,
    chain: MarkovChain,
    bound: Callable[[Box, float], float],
    loss: Callable[[MarkovChain], PrivacyLoss],
    most: int,
    tolerance: float = TOLERANCE,
) -> PrivacyLoss:
    """The largest loss of any chain in a region, from above and from below.

    ``best`` is that of ``chain``, the first one looked at; ``bound(box, lower)`` is no less than
    any loss in a box, given the largest one found so far; ``most`` boxes are cut,
    until the bounds are within ``tolerance``.
    """
    whole = (*region.q, *region.r)
    heap = [(-bound(whole, best.lower), whole)]
    for cut in range(most):
        top, box = heap[0]
        if -top <= best.epsilon + tolerance:
            break
        heapq.heappop(heap)
        for half in halves(box):
            heapq.heappush(heap, (-bound(half, best.lower), half))
        if cut % LOOKS == 0:
            here = MarkovChain.binary(box[0], box[2])
            found = loss(here)
            if found.lower > best.lower:
                best, chain = found, here
    return result(best, max(best.epsilon, -heap[0][0]), chain)


def result(best: PrivacyLoss, epsilon: float, chain: MarkovChain) -> PrivacyLoss:
    """The loss of the worst chain found, with the bound that holds for all of them."""
    return PrivacyLoss(epsilon, best.lower, best.witness, best.adversary, best.length, chain)


def halves(box: Box) -> tuple[Box, Box]:
    """Cut where the box is longest, in proportion; towards the low end, where losses are high."""
    q_low, q_high, r_low, r_high = box
    if q_high / q_low >= r_high / r_low:
        middle = _middle(q_low, q_high)
        return (q_low, middle, r_low, r_high), (middle, q_high, r_low, r_high)
    middle = _middle(r_low, r_high)
    return (q_low, q_high, r_low, middle), (q_low, q_high, middle, r_high)


def _middle(low: float, high: float) -> float:
    return min(max(math.sqrt(low * high), low), high)
