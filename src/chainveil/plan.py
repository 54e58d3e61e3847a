"""From a budget to a plan: how much noise, what it guarantees, and how to apply it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chainveil import checks
from chainveil.chain import MarkovChain
from chainveil.channel import Channel
from chainveil.errors import InvalidInput, NotSupported
from chainveil.noise_chain import CorrelatedNoise
from chainveil.privacy.adversary import Adversary, Model, describe, read_adversary, read_length
from chainveil.privacy.closed_form import HalfPlanes, budget
from chainveil.privacy.loss import PrivacyLoss, privacy_loss
from chainveil.privacy.rounding import upper
from chainveil.region import ChainRegion

if TYPE_CHECKING:
    from chainveil.certificate import Certificate
    from chainveil.mechanism import Release, Source, Stream
    from chainveil.mechanism.reading import Missing

Objective = Literal["flips", "estimate", "distance"]
Family = Literal["response", "ordinal", "per-state"]
Mechanism = Literal["independent", "correlated"]


@dataclass(frozen=True)
class NoisePlan:
    """Noise that meets a budget, with the loss it was certified to have.

    Attributes
    ----------
    chain : MarkovChain
        The chain the data are taken to follow.
    noise : Channel or CorrelatedNoise
        The noise; its probabilities are multiples of 2^-53 and realised exactly.
    loss : PrivacyLoss
        Certified loss of this noise; ``loss.epsilon`` is never above ``epsilon``.
    epsilon : float
        The budget that was asked for.
    objective : str
        What was minimised: "flips", "estimate" or "distance".
    region : HalfPlanes or None
        The feasible noise levels; None for correlated noise, for chains with q + r > 1,
        where the borders curve, and for more than two states.
    spent : tuple of Channel
        Earlier releases of the same series; ``loss`` is that of all releases together.
    covers : ChainRegion or None
        The region of chains the loss holds for, where the chain is only roughly known.
    if_known : Channel or None
        The noise that would do if ``chain`` were known to be the right one of ``covers``.
    """

    chain: MarkovChain
    noise: Channel | CorrelatedNoise
    loss: PrivacyLoss
    epsilon: float
    objective: Objective
    region: HalfPlanes | None
    spent: tuple[Channel, ...] = ()
    covers: ChainRegion | None = None
    if_known: Channel | None = None

    @property
    def cost_of_uncertainty(self) -> float:
        """Share of points changed only because the chain is not known exactly."""
        if self.if_known is None:
            return 0.0
        return self.expected_flips - self.if_known.expected_flips(self.chain)

    @property
    def mechanism(self) -> Mechanism:
        """How the noise is drawn.

        "independent": every point on its own; "correlated": by the holder of a series.
        """
        return "independent" if isinstance(self.noise, Channel) else "correlated"

    @property
    def channel(self) -> Channel:
        """The noise matrix of a plan with independent noise."""
        if isinstance(self.noise, Channel):
            return self.noise
        raise InvalidInput(
            "channel", "a plan with correlated noise", "a plan with independent noise", "Use noise."
        )

    @property
    def expected_flips(self) -> float:
        """Share of points that the noise changes on average (stationary law)."""
        if isinstance(self.noise, CorrelatedNoise):
            return self.noise.flip_rate
        return self.noise.expected_flips(self.chain)

    def sanitize(
        self, x: Any, out: Any = None, rng: Source | None = None, missing: Missing = "error"
    ) -> Any:
        """Apply the noise: what comes back may be published.

        Parameters
        ----------
        x : array of shape (n,) or (series, n), or a list of arrays of different lengths
            States ``0 … k-1`` as booleans, integers of any width, or whole floats.
        out : array like ``x``, optional
            Where the result goes; ``out=x`` sanitizes in place.
        rng : optional
            By default a secure source with a fresh key from the operating system.
            ``chainveil.mechanism.seeded(seed)`` is reproducible and for study only.
        missing : "error" or "keep"
            Whether gaps (NaN, masked, -1) are an error or stay where they are, visible.

        Returns
        -------
        An array of the shape and dtype of ``x`` (a list of arrays for a list), or ``out``.
        Each call draws new noise: publishing two results spends the budget twice.
        """
        return self.release(x, out, rng, missing).values

    def release(
        self, x: Any, out: Any = None, rng: Source | None = None, missing: Missing = "error"
    ) -> Release:
        """Like :meth:`sanitize`, with a report on what was done."""
        from chainveil import mechanism

        mechanism.check_length("x", x, self.loss.length)
        if isinstance(self.noise, CorrelatedNoise):
            return mechanism.release_correlated(x, self.noise, out, rng, missing)
        return mechanism.release(x, self.noise, out, rng, missing)

    def stream(self, rng: Source | None = None, missing: Missing = "error") -> Stream:
        """Sanitize one series point by point, as it arrives; see ``mechanism.Stream``."""
        from chainveil.mechanism import Stream

        return Stream(self.noise, rng, self.loss.length, missing)

    def certificate(self) -> Certificate:
        """What this plan promises, as a document that anyone can check again."""
        from chainveil.certificate import certify

        return certify(self)

    def __str__(self) -> str:
        return (
            f"{self._noise_in_words()}: {self.expected_flips:.2%} of the points change; "
            f"loss {upper(self.loss.epsilon, 10)} of {self.epsilon:g}, "
            f"against {describe(self.loss.adversary)}"
        )

    def _noise_in_words(self) -> str:
        if isinstance(self.noise, CorrelatedNoise):
            return f"begin flipping with {self.noise.rho0:.6f} and stop with {self.noise.rho1:.6f}"
        if self.noise.states > 2:
            levels = ", ".join(f"{float(rho):.4f}" for rho in self.noise.flip_probabilities)
            return f"report another state with {levels}, state by state"
        rho0, rho1 = (float(rho) for rho in self.noise.flip_probabilities)
        return f"flip 0 with {rho0:.6f} and 1 with {rho1:.6f}"


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
    if mechanism != "independent":
        names = " or ".join(f'"{name}"' for name in get_args(Mechanism))
        raise InvalidInput("mechanism", mechanism, names)
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

    if family not in get_args(Family):
        names = " or ".join(f'"{name}"' for name in get_args(Family))
        raise InvalidInput("family", family, names)
    if objective not in get_args(Objective):
        names = " or ".join(f'"{name}"' for name in get_args(Objective))
        raise InvalidInput("objective", objective, names)
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
