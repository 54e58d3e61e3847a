"""The least correlated noise that meets a budget, over both of its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from chainveil.errors import InvalidInput, NotSupported
from chainveil.noise.base import GRID
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.privacy.correlated import loss as correlated
from chainveil.privacy.correlated.search import MechanismNumbers
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated
from chainveil.privacy.roots import retreat

# Flip rates are searched on the scale t = ln(rate / (1/2 - rate)), where small rates and rates
# close to 1/2 are equally well resolved. The certificate does not depend on the accuracy.
SEARCH_ACCURACY = 1e-10
NEXT_TO_HALF = 34.0

# Coarse look over s = rho0 + rho1 in (0, 2), then steps around the best one down to the last.
COARSE_STEP = 1 / 16
LAST_STEP = 1e-9

# Against the ignorant adversary of a short series the least noise has s -> 0: flip the whole
# series or nothing. The search stops short of that.
LEAST_S = 1e-4

# How much noise, on the same scale, may be added for the certificate's sake. Needing more
# would mean giving away accuracy in silence.
MOST_EXTRA = 1e-3

# A search evaluates the loss some hundred times, so it asks for a chain that forgets faster
# than a single loss does: then it takes seconds at most.
LEAST_FORGETTING = 1e-4
SHORT_ENOUGH = 10_000

Feasible = Callable[[float, float], bool]


def least_noise(problem: Problem, aim: Aim) -> Calibrated:
    """Correlated noise of least flip rate whose loss is within the budget.

    The privacy is certified, for exactly the parameters returned, which are multiples of
    2^-53. That no other noise chain flips less is numerical: for each ``s = rho0 + rho1``
    the least flip rate is found by bisection, as if the loss fell with the flip rate, and
    ``s`` by a coarse look over (0, 2) and a local descent. Independent noise (``s = 1``) is
    always among the candidates, so the result never flips more than that.

    Raises
    ------
    NotSupported
        Where the chain forgets less than 1e-4 a step (``q + r`` or ``2 - q - r``) and the
        series may have more than 10,000 points, or where nothing near the budget can be
        certified, besides what the loss of correlated noise refuses.
    """
    _check_aim(problem, aim)
    budget = aim.epsilon
    q, r = correlated.read_chain(problem.model)
    length, parsed = correlated.read_points(problem.length), problem.adversary
    _check_forgetting(q, r, length)

    def feasible(s: float, scale: float) -> bool:
        rho0, rho1 = _rate(scale) * s, (1 - _rate(scale)) * s
        if s < LEAST_S or not (correlated.LEAST_PARAMETER <= rho0 <= 1 and rho1 <= 1):
            return False
        return _meets(MechanismNumbers(q, r, rho0, rho1), length, parsed, budget)

    independent = 1.0, _descend(feasible, 1.0, NEXT_TO_HALF)
    best = _search(feasible, independent)

    def attempt(noise: CorrelatedNoise) -> Calibrated | None:
        try:
            return Calibrated(noise, correlated.loss(problem.with_release(noise)))
        except NotSupported:
            return None

    # The noise found, on the grid of 2^-53, then with a little more flips each time.
    found = [retreat(_candidates(*place), attempt, budget) for place in (best, independent)]
    usable = [calibrated for calibrated in found if calibrated is not None]
    if not usable:
        raise NotSupported(
            f"no noise for epsilon={budget!r} could be certified to lie near the budget; the "
            f"chain (q={q!r}, r={r!r}) forgets too slowly for a budget this small. Use "
            "independent noise, a larger budget or a shorter length."
        )
    return min(usable, key=lambda calibrated: cast(CorrelatedNoise, calibrated.noise).flip_rate)


def _check_aim(problem: Problem, aim: Aim) -> None:
    """Error where something is asked for that correlated noise does not have."""
    if problem.releases:
        raise NotSupported(
            "mechanism: correlated noise is offered for one release of a two-state chain that "
            "is known; regions, more states and spent budgets need independent noise."
        )
    wishes: tuple[tuple[str, object, object], ...] = (
        ("objective", aim.objective, "flips"),
        ("max_noise", aim.max_noise, 0.5),
        ("family", aim.family, "response"),
    )
    for name, found, only in wishes:
        if found != only:
            raise InvalidInput(
                name, found, f"{only!r} for correlated noise, which has one flip rate"
            )


def _check_forgetting(q: float, r: float, length: int | None) -> None:
    if min(q + r, 2 - q - r) >= LEAST_FORGETTING or (length or math.inf) <= SHORT_ENOUGH:
        return
    raise NotSupported(
        f"the chain (q={q!r}, r={r!r}) forgets too slowly to search for the least correlated "
        f"noise; give a length of at most {SHORT_ENOUGH}, or use independent noise"
    )


def _meets(model: MechanismNumbers, length: int | None, adversary: Any, budget: float) -> bool:
    """Whether the loss is at most the budget; a loss that does not settle counts as above."""
    try:
        ratio = correlated.find_worst(model, length, adversary, budget).ratio
    except NotSupported:
        return False
    return math.log(ratio) <= budget


def _rate(scale: float) -> float:
    """Flip rate, between 0 and 1/2, from its place on the search scale."""
    return 0.5 / (1 + math.exp(-scale))


def _search(feasible: Feasible, best: tuple[float, float]) -> tuple[float, float]:
    """``(s, t)`` with the least flip rate found, starting from a feasible pair."""
    for candidate in np.arange(COARSE_STEP, 2, COARSE_STEP):
        best = _improve(feasible, best, float(candidate))
    step = COARSE_STEP
    while step > LAST_STEP:
        step /= 2
        for sign in (-1, 1):
            best = _improve(feasible, best, best[0] + sign * step)
    return best


def _improve(feasible: Feasible, best: tuple[float, float], s: float) -> tuple[float, float]:
    """``best``, or ``s`` with its own least flip rate where that is clearly lower."""
    goal = best[1] - SEARCH_ACCURACY
    return (s, _descend(feasible, s, goal)) if feasible(s, goal) else best


def _descend(feasible: Feasible, s: float, start: float) -> float:
    """Least feasible place on the scale at ``s``, at most ``start``.

    Steps down grow until one fails, then the last step is halved away.
    """
    scale, step = start, SEARCH_ACCURACY
    while scale > -NEXT_TO_HALF and feasible(s, scale - step):
        scale -= step
        step *= 4
    while step > SEARCH_ACCURACY:
        step /= 2
        if feasible(s, scale - step):
            scale -= step
    return scale


def _candidates(s: float, scale: float) -> Iterator[CorrelatedNoise]:
    """The noise at a place of the search on the grid, then with more and more flips.

    Independent noise stays independent: the grid holds 1 - rho0 exactly.
    """
    extra = 1e-13
    while extra < MOST_EXTRA:
        rate = _rate(scale + extra)
        rho0 = math.ceil(rate * s * GRID) / GRID
        rho1 = 1 - rho0 if s == 1 else max(round((1 - rate) * s * GRID), 1) / GRID
        yield CorrelatedNoise(min(rho0, 1.0), min(rho1, 1.0))
        extra *= 4
