"""What other methods need: the flip probability of symmetric randomized response.

Each function returns the least ``rho`` with which the method certifies epsilon-BDP (DP:
ordinary differential privacy only), rounded up. A budget that a method cannot reach is an
error, not a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from chainveil import checks
from chainveil.errors import InvalidInput, NotSupported, UnreachableBudget
from chainveil.model.base import DataModel, require_model
from chainveil.model.chain import MarkovChain, check_chain
from chainveil.privacy.closed_form import budget

# Methods that look at the transitions from point to point.
DEPENDENT = ("Lange et al.", "Zhao et al. Theorem 6", "Zhao et al. Theorem 3")
# How many points are looked at one by one, and what rounding adds up to over all of them.
STEPS, ROUNDING = 10_000, 1e-9


@dataclass(frozen=True)
class Baseline:
    """A method's answer to a budget: ``rho``, or None and the ``reason`` why there is none."""

    method: str
    rho: float | None
    reason: str = ""


def dp_noise(epsilon: float, states: int = 2) -> float:
    """Ordinary differential privacy, ``1 / (e^epsilon + 1)``: no protection from dependence.

    With k states ``(k - 1) / (e^epsilon + k - 1)``.
    """
    return _flips(budget(epsilon), states)


def group_noise(epsilon: float, length: int, states: int = 2) -> float:
    """Group privacy: each of ``length`` points gets ``epsilon / length``."""
    length = checks.whole("length", length, 1)
    return _flips(budget(epsilon) / length, states)


def zhao3_noise(chain: MarkovChain, epsilon: float) -> float:
    """Theorem 3 of Zhao et al. 2017: epsilon - 6 ln of the largest transition ratio.

    For a symmetric chain ``(1-theta)^6 / (theta^6 e^epsilon + (1-theta)^6)``. The paper
    prints this with a factor 2 in the numerator, which is a slip.
    """
    check_chain(chain)
    price = 6 * (_log_ratio(*_two_states(chain), 1) if chain.states == 2 else _log_rows(chain))
    return _from_dp("Zhao et al. Theorem 3", budget(epsilon), price, chain.states)


def zhao6_noise(chain: MarkovChain, epsilon: float, length: int | None = None) -> float:
    """Theorem 6 of Zhao et al. 2017: the best of ``(epsilon - 6 ln ratio_t) / (2t - 1)``.

    Over t from 1 to ``length / 2`` (without a length: over all t), as adapted in the
    paper's Section 4.2.
    """
    check_chain(chain)
    q, r = _two_states(chain)
    epsilon = budget(epsilon)
    last = None if length is None else checks.whole("length", length, 1) // 2
    if last is not None and last < 1:
        raise UnreachableBudget("Zhao et al. Theorem 6 needs at least 2 points")

    def share(t: int) -> float:
        return (epsilon - 6 * _log_ratio(q, r, t)) / (2 * t - 1)

    best = _best_step(share, last, stride=2 if q + r > 1 else 1)
    if best <= 0:
        least = 6 * _log_ratio(q, r, last) if last is not None else 0.0
        raise UnreachableBudget(
            f"Zhao et al. Theorem 6 cannot reach epsilon = {epsilon:g} at length {length}; "
            f"it needs epsilon above {least:.4g}"
        )
    return _upwards(_logistic(best))


def lange_noise(chain: MarkovChain, epsilon: float) -> float:
    """Lange et al. 2025: epsilon_DP = epsilon - 4 ln(largest / smallest transition)."""
    check_chain(chain)
    entries = [float(entry) for entry in chain.transition.flat]
    if chain.states == 2:
        q, r = _two_states(chain)
        entries = [q, 1 - q, r, 1 - r]
    if min(entries) == 0:
        raise UnreachableBudget("Lange et al. needs every transition to be possible")
    price = 4 * math.log(max(entries) / min(entries))
    return _from_dp("Lange et al.", budget(epsilon), price, chain.states)


def compare(chain: DataModel, epsilon: float, length: int | None = None) -> list[Baseline]:
    """Every baseline's answer to one budget, in the order DP, Lange, Zhao 6, Zhao 3, group.

    Theorem 6 of Zhao et al. is adapted here for two states alone. The methods of Lange and Zhao
    are made for chains of order 1; of other models only the first and the last have an answer.
    """
    require_model(chain)
    k = chain.states
    first = cast(MarkovChain, chain)
    methods: dict[str, Callable[[], float]] = {
        "DP (ignores dependence)": lambda: dp_noise(epsilon, k),
        "Lange et al.": lambda: lange_noise(first, epsilon),
        "Zhao et al. Theorem 6": lambda: zhao6_noise(first, epsilon, length),
        "Zhao et al. Theorem 3": lambda: zhao3_noise(first, epsilon),
    }
    if k > 2:
        del methods["Zhao et al. Theorem 6"]
    results = [
        Baseline(method, None, f"{method} is for chains of order 1")
        if chain.order != 1 and method in DEPENDENT
        else _answer(method, noise)
        for method, noise in methods.items()
    ]
    if length is None:
        reason = "group privacy needs a length: it divides the budget by it"
        return [*results, Baseline("group privacy", None, reason)]
    return [*results, Baseline("group privacy", group_noise(epsilon, length, k))]


def success_bound(chain: DataModel, epsilon: float) -> float:
    """Largest probability of guessing a point right from a release, for who knows no point.

    It holds for every attacker who knows the chain, the noise and the release but no point of
    the series, at every point of series of any length that follow the chain, where epsilon
    bounds the loss against such attackers ("any" or "ignorant"). Who knows other points, or
    data that do not follow the chain, may do better.

    ``M e^epsilon / (1 + M e^epsilon)``, where M is the largest prior odds of a state at any
    time: ``max(q/r, r/q)`` for two states in equilibrium, the largest
    ``pi(x) / (1 - pi(x))`` for more, and for other models that are stationary; a chain with
    ``initial`` may know a point better before it has settled. No output is more than e^epsilon
    times as likely from one state as from another. The paper's Section 4.3 prints another form,
    which for small epsilon lies below guessing the likelier state. Rounded up.

    Examples
    --------
    >>> import chainveil as cv
    >>> round(cv.success_bound(cv.MarkovChain.symmetric(0.1), epsilon=1.0), 3)
    0.731
    """
    require_model(chain)
    if not chain.single:
        raise InvalidInput("chain", "a set of chains", "one chain", "Take each of its chains.")
    settled = getattr(chain, "initial", None) is None
    prior = _prior_odds(chain) if settled else _odds_at_any_time(cast(MarkovChain, chain))
    if math.isinf(prior):
        return 1.0
    return _upwards(_logistic(-budget(epsilon) - math.log(prior)))


def success_bound_as_printed(chain: MarkovChain, epsilon: float) -> float:
    """The paper's Section 4.3: ``e^epsilon / (M + e^epsilon)``. Not a bound; for comparison."""
    return _logistic(-budget(epsilon) + math.log(_prior_odds(chain)))


def _prior_odds(chain: Any) -> float:
    """Largest prior odds of a state in equilibrium."""
    if (chain.states, chain.order) == (2, 1):
        q, r = _two_states(chain)
        return max(q / r, r / q)
    ordered = sorted(float(share) for share in chain.stationary)
    if ordered[-2] == 0:
        return math.inf
    # Entry by entry the stationary law is right to far more digits than this.
    return ordered[-1] / math.fsum(ordered[:-1]) * (1 + 1e-12)


def _odds_at_any_time(chain: MarkovChain) -> float:
    """Upper bound on the prior odds of any state at any time, for a chain with ``initial``.

    The largest ratio of a law to the stationary one never grows from one point to the next:
    ``sum_y mu(y) P(y, x) <= c sum_y pi(y) P(y, x) = c pi(x)``. So all later points are bounded
    by the ratio now, and the search ends where that is no more than what was found.
    """
    law, settled = chain.start, chain.stationary
    largest = float(settled.max())
    for _ in range(STEPS):
        largest = max(largest, float(law.max()))
        later = float((law / settled).max() * settled.max())
        if later <= largest * (1 + ROUNDING):
            break
        law = law @ chain.transition
    # A chain that has not settled by now is bounded by the ratio alone.
    share = max(largest, later) * (1 + ROUNDING)
    return share / (1 - share) if share < 1 else math.inf


def _answer(method: str, noise: Callable[[], float]) -> Baseline:
    try:
        return Baseline(method, noise())
    except UnreachableBudget as error:
        return Baseline(method, None, str(error))


def _from_dp(method: str, epsilon: float, price: float, states: int) -> float:
    if math.isinf(price):
        raise UnreachableBudget(f"{method} needs every transition to be possible")
    if epsilon <= price:
        raise UnreachableBudget(
            f"{method} cannot reach epsilon = {epsilon:g} on this chain; "
            f"it needs epsilon above {price:.4g}"
        )
    return _flips(epsilon - price, states)


def _flips(epsilon: float, states: int) -> float:
    """Flip probability of randomized response that is epsilon-DP."""
    return _upwards(_logistic(epsilon - math.log(states - 1)))


def _log_rows(chain: MarkovChain) -> float:
    """Log of the largest ratio P(i, z) / P(j, z)."""
    worst = 0.0
    for column in chain.transition.T.tolist():
        if min(column) == 0:
            return math.inf
        worst = max(worst, math.log(max(column) / min(column)))
    return worst


def _logistic(epsilon: float) -> float:
    """``1 / (1 + e^epsilon)`` without overflow."""
    if epsilon > 0:
        return math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return 1 / (1 + math.exp(epsilon))


def _upwards(number: float) -> float:
    """A few roundings to nearest above: eight units in the last place cover them."""
    return min(1.0, number * (1 + 8 * 2.0**-52))


def _two_states(chain: MarkovChain) -> tuple[float, float]:
    if chain.states != 2:
        raise NotSupported(f"chain: found {chain.states} states; baselines cover two states.")
    return float(chain.transition[0, 1]), float(chain.transition[1, 0])


def _log_ratio(q: float, r: float, t: int) -> float:
    """Log of the largest ratio P^t(i, k) / P^t(j, k)."""
    if q == r == 1:
        return math.inf
    if q + r == 1:
        return 0.0
    second = 1 - q - r
    power = math.exp(t * math.log1p(-(q + r))) if second > 0 else second**t
    gap = -math.expm1(t * math.log1p(-(q + r))) if second > 0 else 1 - power
    pi0, pi1 = r / (q + r), q / (q + r)
    # Column 1: (pi1 + pi0 l) against pi1 (1 - l); column 0: pi0 + pi1 l against pi0 (1 - l).
    pairs = ((pi1 + pi0 * power, pi1 * gap), (pi0 + pi1 * power, pi0 * gap))
    if any(min(pair) <= 0 for pair in pairs):
        return math.inf
    return max(abs(math.log(a / b)) for a, b in pairs)


def _best_step(share: Callable[[int], float], last: int | None, stride: int) -> float:
    """Maximum of ``share`` over t = 1 … last.

    The log ratio is convex in t (for q + r > 1, over the t of one parity), so ``share``
    is a concave function over a linear one: it rises and then falls.
    """
    best = -math.inf
    for first in range(1, 1 + stride):
        if last is not None and first > last:
            continue
        end = None if last is None else (last - first) // stride
        best = max(best, share(first + stride * _turn(share, first, stride, end)))
    return best


def _turn(share: Callable[[int], float], first: int, stride: int, end: int | None) -> int:
    def rises(k: int) -> bool:
        return share(first + stride * (k + 1)) > share(first + stride * k)

    high = 1
    while (end is None or high < end) and rises(high) and high < 1 << 62:
        high *= 2
    high = high if end is None else min(high, end)
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rises(middle) else (low, middle)
    return high
