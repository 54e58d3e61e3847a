"""From a budget to a plan: the least noise that keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chainveil import checks
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.noise.channel import Channel
from chainveil.plan import Family, Mechanism, NoisePlan, Objective
from chainveil.privacy.adversary import Adversary, Model, read_adversary, read_length
from chainveil.privacy.closed_form import budget
from chainveil.privacy.loss import privacy_loss


@overload
def calibrate(
    chain: MarkovChain | ChainRegion,
    epsilon: float,
    length: int | None = ...,
    adversary: Model | Adversary = ...,
    *,
    mechanism: Mechanism = ...,
    objective: Objective = ...,
    max_noise: float = ...,
    family: Family = ...,
    spent: Sequence[Channel] = ...,
) -> NoisePlan: ...


@overload
def calibrate(
    chain: MarkovChain | ChainRegion,
    epsilon: Iterable[float] | NDArray[Any],
    length: int | None = ...,
    adversary: Model | Adversary = ...,
    *,
    mechanism: Mechanism = ...,
    objective: Objective = ...,
    max_noise: float = ...,
    family: Family = ...,
    spent: Sequence[Channel] = ...,
) -> list[NoisePlan]: ...


def calibrate(
    chain: MarkovChain | ChainRegion,
    epsilon: float | Iterable[float] | NDArray[Any],
    length: int | None = None,
    adversary: Model | Adversary = "any",
    *,
    mechanism: Mechanism = "independent",
    objective: Objective = "flips",
    max_noise: float = 0.5,
    family: Family = "response",
    spent: Sequence[Channel] = (),
) -> NoisePlan | list[NoisePlan]:
    """The least noise that keeps the privacy loss within a budget.

    Parameters
    ----------
    chain : MarkovChain or ChainRegion
        Any number of states. Over a region the plan holds for every chain in it.
    epsilon : float, or sequence of floats
        The budget, in nats. A sequence gives a list of plans, one a budget.
    length : int, optional
        Number of points of the series; by default the plan holds for every length.
    adversary : "any", "ignorant", "informed" or Adversary
        As in :func:`privacy_loss`. Only "any" gives Bayesian differential privacy.
    mechanism : "independent" or "correlated"
        "independent" noise can be added point by point, each by its own owner.
        "correlated" noise needs one holder of the whole series; it often changes fewer
        points for the same budget, not always (see docs/correlated-noise.md).
    objective : "flips", "estimate" or "distance"
        "flips" minimises the share of changed points (the paper's expected noise,
        Corollary 1); "estimate" minimises rho0 + rho1, which makes unbiased estimates
        of frequencies as precise as they can be. With more than two states it matters
        for the family "per-state" only; "distance" is the mean distance between a state
        and its report, for ordered states.
    max_noise : float
        Upper limit of both noise levels of two states, 1/2 as in the paper. Up to 1 is
        allowed; then a state may be reported as the other one more often than not.
    family : "response", "ordinal" or "per-state"
        For more than two states: which channels are looked through. Randomized response
        has one flip probability; ordinal noise prefers near states; "per-state" has a
        flip probability for each state.
    spent : sequence of Channel
        Earlier releases of the same series, whose noise is taken as it was realised:
        ``channel.on_grid()``. The budget then holds for them and the new release together.

    Returns
    -------
    NoisePlan
        Its certified loss is at most ``epsilon``, and within 1e-9 of it (relatively) as
        far as noise levels on a grid of 2^-53 can come that close.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.binary(q=0.0893, r=0.1092), epsilon=3)
    >>> round(plan.expected_flips, 3)
    0.398
    >>> plan.loss.epsilon <= 3
    True
    """
    budgets, single = _budgets(epsilon)
    if not isinstance(chain, MarkovChain | ChainRegion):
        raise InvalidInput("chain", chain, "a MarkovChain", "MarkovChain.binary(q, r) makes one.")
    if isinstance(spent, Channel) or not isinstance(spent, Sequence):
        raise InvalidInput("spent", spent, "a list of Channels, one for each earlier release")
    spent = _as_realised(spent)
    if isinstance(chain, ChainRegion) or chain.states > 2 or spent:
        _check_independent(mechanism)
    if isinstance(chain, MarkovChain) and chain.states > 2:
        if max_noise != 0.5:
            raise InvalidInput(
                "max_noise", max_noise, "0.5, the default, for more than two states",
                "Noise levels of more than two states have no limit of their own.",
            )  # fmt: skip
        plans = [
            _finite_plan(chain, number, length, adversary, objective, family, spent)
            for number in budgets
        ]
        return plans[0] if single else plans
    if family != "response":
        raise InvalidInput("family", family, '"response" for two states', "It is the only one.")
    points = read_length(length)
    who = read_adversary(adversary, points)
    likely = _likely(chain)
    weights = _weights(likely, objective)
    if mechanism == "correlated" and isinstance(chain, MarkovChain):
        _check_default("objective", objective, "flips")
        _check_default("max_noise", max_noise, 0.5)
        plans = [_correlated_plan(chain, number, points, who) for number in budgets]
        return plans[0] if single else plans
    checks.one_of("mechanism", mechanism, get_args(Mechanism))
    limit = checks.probability("max_noise", max_noise, zero=False)
    plans = [
        _plan(chain, number, points, who, objective, weights, limit, tuple(spent))
        for number in budgets
    ]
    return plans[0] if single else plans


def _plan(
    chain: MarkovChain | ChainRegion,
    epsilon: float,
    length: int | None,
    adversary: Model | Adversary,
    objective: Objective,
    weights: tuple[float, float],
    max_noise: float,
    spent: tuple[Channel, ...],
) -> NoisePlan:
    from chainveil.privacy.two_state.calibrate import least_noise

    rest = length, adversary, weights, max_noise, spent
    if isinstance(chain, MarkovChain):
        found = least_noise(chain, epsilon, *rest)
        return NoisePlan(chain, found.channel, found.loss, epsilon, objective, found.region, spent)
    from chainveil.privacy.two_state.calibrate_region import least_noise_region

    safe = least_noise_region(chain, epsilon, *rest)
    known = least_noise(_likely(chain), epsilon, *rest).channel
    return NoisePlan(
        _likely(chain),
        safe.channel,
        safe.loss,
        epsilon,
        objective,
        safe.region,
        spent,
        chain,
        known,
    )


def _likely(chain: MarkovChain | ChainRegion) -> MarkovChain:
    return MarkovChain.binary(*chain.estimate) if isinstance(chain, ChainRegion) else chain


def _finite_plan(
    chain: MarkovChain,
    epsilon: float,
    length: int | None,
    adversary: Model | Adversary,
    objective: Objective,
    family: Family,
    spent: Sequence[Channel],
) -> NoisePlan:
    from chainveil.privacy.finite.calibrate import least_noise_finite

    checks.one_of("family", family, get_args(Family))
    checks.one_of("objective", objective, get_args(Objective))
    points = read_length(length)
    who = read_adversary(adversary, points)
    channel, loss = least_noise_finite(chain, epsilon, points, who, family, objective, spent)
    return NoisePlan(chain, channel, loss, epsilon, objective, None, tuple(spent))


def _as_realised(spent: Sequence[Channel]) -> tuple[Channel, ...]:
    """Earlier releases with the noise that sanitizing gave them: that on the grid."""
    for earlier in spent:
        if not isinstance(earlier, Channel):
            raise InvalidInput("spent", earlier, "channels", "Take the channel of each plan.")
    return tuple(earlier.on_grid() for earlier in spent)


def _check_independent(mechanism: Mechanism) -> None:
    if mechanism == "correlated":
        raise NotSupported(
            "mechanism: correlated noise is offered for one release of a two-state chain that "
            "is known; regions, more states and spent budgets need independent noise."
        )


def _correlated_plan(
    chain: MarkovChain, epsilon: float, length: int | None, adversary: Model | Adversary
) -> NoisePlan:
    from chainveil.privacy.correlated.calibrate import least_correlated_noise

    noise = least_correlated_noise(chain, epsilon, length, adversary)
    loss = privacy_loss(chain, noise, length, adversary)
    return NoisePlan(chain, noise, loss, epsilon, "flips", None)


def _check_default(name: str, found: object, only: object) -> None:
    if found != only:
        raise InvalidInput(name, found, f"{only!r} for correlated noise, which has one flip rate")


def _weights(chain: MarkovChain, objective: Objective) -> tuple[float, float]:
    if objective == "flips":
        return float(chain.stationary[0]), float(chain.stationary[1])
    if objective == "estimate":
        return 1.0, 1.0
    raise InvalidInput("objective", objective, '"flips" or "estimate" for two states')


def _budgets(epsilon: Any) -> tuple[list[float], bool]:
    if isinstance(epsilon, str | bytes) or not isinstance(epsilon, Iterable):
        number: Any = epsilon
        return [budget(number)], True
    array: NDArray[Any] = np.asarray(_as_list(epsilon))
    if array.ndim == 0:
        return [budget(array.item())], True
    return [budget(number) for number in array.ravel().tolist()], False


def _as_list(epsilon: Iterable[Any]) -> ArrayLike:
    return epsilon if isinstance(epsilon, np.ndarray) else list(epsilon)
