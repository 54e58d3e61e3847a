"""Plans of every mechanism that can be calibrated, through the one call for all of them."""

from __future__ import annotations

from functools import cache

from chainveil.calibration import calibrate
from chainveil.errors import NotSupported
from chainveil.model.chain import MarkovChain
from chainveil.plan import NoisePlan


def plan_of(
    chain: MarkovChain, epsilon: float, length: int | None, mechanism: str, every: int = 1
) -> NoisePlan:
    """The plan of a mechanism that reports one point in ``every``."""
    return calibrate(chain, epsilon, mechanism=mechanism, every=every, max_length=length)


@cache
def offered(mechanism: str, every: int = 1) -> bool:
    """Whether there is a calibration of that mechanism, found out on a small case."""
    try:
        plan_of(MarkovChain.symmetric(0.4), 1.0, 2 * every, mechanism, every)
    except NotSupported:
        return False
    return True
