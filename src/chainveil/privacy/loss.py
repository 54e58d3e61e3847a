"""``privacy_loss``: the one question, whatever the chain, the noise and the adversary."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from chainveil import checks
from chainveil.errors import ChainveilError, InvalidInput
from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.privacy.adversary import (
    Adversary,
    Model,
    describe,
    read_adversary,
    read_length,
)
from chainveil.privacy.rounding import upper
from chainveil.privacy.witness import Witness

# Bits of the balls: the first try, and where giving up beats going on.
FIRST_PRECISION, LAST_PRECISION = 192, 12_288
# The width a result may have from rounding alone, relative to itself.
ROUNDING = 1e-12

Result = TypeVar("Result")


@dataclass(frozen=True)
class PrivacyLoss:
    """The Bayesian differential privacy loss, from above and from below.

    Attributes
    ----------
    epsilon : float
        Upper bound on the loss, in nats: never below the true supremum. Two states: within
        1e-9 of it relatively; more states: within the tolerance asked for, unless ``gap``
        says otherwise. May be infinite.
    lower : float
        The loss that ``witness`` attains, rounded down.
    witness : Witness or None
        The attack behind ``lower``; None where no point has two possible values, and in
        some cases without any noise, where the output is the series itself.
    adversary : str or Adversary
        Whom the bound holds against.
    length : int or None
        Number of points; None: the supremum over all lengths.
    """

    epsilon: float
    lower: float
    witness: Witness | None
    adversary: Model | Adversary
    length: int | None

    @property
    def gap(self) -> float:
        """How far the bounds are apart: 0 where both are infinite.

        Above the tolerance only where a search limit struck first, or where an infinite
        loss is approached by longer and longer attacks and attained by none.
        """
        return 0.0 if self.epsilon == self.lower else self.epsilon - self.lower

    def __str__(self) -> str:
        points = "any length" if self.length is None else f"length {self.length}"
        return (
            f"epsilon <= {upper(self.epsilon, 10)} at {points}, against {describe(self.adversary)}"
        )


def privacy_loss(
    chain: MarkovChain | ChainRegion,
    channel: Channel | Sequence[Channel] | CorrelatedNoise,
    length: int | None = None,
    adversary: Model | Adversary = "any",
    *,
    tolerance: float = 1e-6,
    max_nodes: int = 2_000_000,
    max_seconds: float | None = None,
) -> PrivacyLoss:
    """Exact privacy loss of publishing a chain's points with noise.

    The supremum, over the adversaries asked for, of the BDPL of the paper's Definition 3:
    the largest log ratio Pr[z | x_i, x_K] / Pr[z | x_i', x_K] over outputs z, known values
    x_K and pairs of values of the target that can both occur with x_K.

    Parameters
    ----------
    chain : MarkovChain or ChainRegion
        Any number of states; lazy or not, reversible or not, stationary at the start or not.
        Over a region the result holds for every chain in it (see docs/uncertain-chains.md).
    channel : Channel, sequence of Channel, or CorrelatedNoise
        A channel applied point by point, with as many states as the chain and any number
        of outputs; several channels for several releases of the same series, seen
        together; or noise with a memory, for stationary chains of two states (see
        docs/correlated-noise.md).
    length : int, optional
        Number of points; by default the supremum over all lengths. The cost does not
        grow with it.
    adversary : "any", "ignorant", "informed" or Adversary
        "any" is Bayesian differential privacy. "ignorant" knows no other point (Theorem 1
        of the paper) and is weaker; "informed" knows all others, which is ordinary
        differential privacy.
    tolerance, max_nodes, max_seconds : float, int, float
        For more than two states: how close the bounds shall come, and when the search
        stops all the same. Both bounds hold then too; ``gap`` says how far apart they are.

    Examples
    --------
    >>> import chainveil as cv
    >>> chain = cv.MarkovChain.symmetric(0.1)
    >>> loss = cv.privacy_loss(chain, cv.Channel.binary(0.02, 0.02), length=5)
    >>> round(loss.epsilon, 2)
    9.41
    >>> print(loss.witness)
    an adversary after point 2 of 5, knowing point 0 = 1 and point 4 = 1, sees 0 everywhere and weighs 0 against 1
    """  # noqa: E501 - the witness is one line
    if isinstance(channel, CorrelatedNoise) and not isinstance(chain, ChainRegion):
        from chainveil.privacy.correlated.loss import correlated_loss

        return correlated_loss(chain, channel, length, adversary)
    points = read_length(length)
    who = read_adversary(adversary, points)
    shown = together(channel)
    if isinstance(chain, ChainRegion):
        from chainveil.privacy.two_state.region import region_loss

        check_states(MarkovChain.binary(*chain.slowest), shown)
        return region_loss(chain, shown, points, who)
    check_states(chain, shown)
    if chain.states == 2:
        return _two_state_loss(chain, shown, points, who)
    from chainveil.privacy.finite.state import Effort, finite_state_loss

    effort = Effort(*_read_limits(tolerance, max_nodes, max_seconds))
    case = finite_state_loss(chain, shown, points, who, effort)
    return PrivacyLoss(case.upper, case.lower, case.witness, who, points)


def _two_state_loss(
    chain: MarkovChain, channel: Channel, points: int | None, who: Model | Adversary
) -> PrivacyLoss:
    """The fast path: closed forms along each side, certified in ball arithmetic."""
    from chainveil.privacy.rounding import down, up
    from chainveil.privacy.two_state.binary import worst_case
    from chainveil.privacy.two_state.revealed import revealing_witness
    from chainveil.privacy.two_state.setting import read_setting

    def attempt() -> PrivacyLoss | None:
        setting = read_setting(chain, channel)
        if setting.proofs and setting.has_secret(points, who):
            witness = revealing_witness(chain, channel, setting, points, who)
            return PrivacyLoss(math.inf, math.inf, witness, who, points)
        case = worst_case(setting, points, who)
        if case.upper.is_finite() and not _narrow(case.upper):
            return None
        lower = max(down(case.lower), 0.0)
        return PrivacyLoss(up(case.upper), lower, case.witness, who, points)

    return with_enough_bits(attempt)


def together(channel: Any) -> Any:
    """Several channels as one that shows all their outputs; anything else as it is."""
    if isinstance(channel, Sequence) and not isinstance(channel, str | bytes):
        return Channel.joint(*channel)
    return channel


def check_states(chain: Any, channel: Any) -> None:
    """Error unless chain and channel are what they should be and have the same states."""
    if not isinstance(chain, MarkovChain):
        raise InvalidInput("chain", chain, "a MarkovChain", "MarkovChain.binary(q, r) makes one.")
    if not isinstance(channel, Channel):
        raise InvalidInput("channel", channel, "a Channel", "Channel.binary(…) makes one.")
    if chain.states != channel.states:
        raise InvalidInput(
            "channel", f"{channel.states} states", f"{chain.states} states, as the chain has"
        )


def _read_limits(
    tolerance: float, max_nodes: int, max_seconds: float | None
) -> tuple[float, int, float | None]:
    allowed = "a number between 1e-10 and 1"
    width = checks.real("tolerance", tolerance, allowed)
    if not 1e-10 <= width <= 1:
        raise InvalidInput("tolerance", tolerance, allowed)
    nodes = checks.whole("max_nodes", max_nodes, 1)
    seconds = None if max_seconds is None else checks.real("max_seconds", max_seconds)
    return width, nodes, seconds


def with_enough_bits(attempt: Callable[[], Result | None]) -> Result:
    """Repeat ``attempt`` with wider and wider balls until it can decide."""
    from flint import ctx

    from chainveil.privacy.two_state.search import PrecisionExhausted

    before = ctx.prec
    bits = FIRST_PRECISION
    try:
        while bits <= LAST_PRECISION:
            ctx.prec = bits
            try:
                result = attempt()
            except PrecisionExhausted:
                result = None
            if result is not None:
                return result
            bits *= 2
    finally:
        ctx.prec = before
    raise ChainveilError(
        f"the loss could not be enclosed with {LAST_PRECISION} bits; "
        "the chain or the noise is too close to a degenerate one"
    )


def _narrow(number: Any) -> bool:
    return float(number.rad()) <= ROUNDING * abs(float(number.mid())) or number.is_zero()
