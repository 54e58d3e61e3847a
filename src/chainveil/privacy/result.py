"""What every engine answers with: a loss, and noise that keeps one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chainveil import notebook
from chainveil.noise.base import Noise
from chainveil.privacy.adversary import Adversary, AdversaryName, describe
from chainveil.privacy.bounds import Attack
from chainveil.privacy.rounding import lower, upper

if TYPE_CHECKING:
    from chainveil.model.base import DataModel
    from chainveil.privacy.closed_form import HalfPlanes


@dataclass(frozen=True)
class PrivacyLoss:
    """The Bayesian differential privacy loss, from above and from below.

    Attributes
    ----------
    epsilon : float
        Upper bound on the loss, in nats: never below the true supremum. Two states: within
        1e-4 of it relatively; more states: within the tolerance asked for, unless ``gap``
        says otherwise. May be infinite.
    lower : float
        The loss that ``witness`` attains, rounded down.
    witness : Attack or None
        The attack behind ``lower``; None where no point has two possible values, and in
        some cases without any noise, where the output is the series itself.
    adversary : str or Adversary
        Whom the bound holds against.
    length : int or None
        Number of points; None: the supremum over all lengths.
    chain : MarkovChain, HigherOrderChain or another model of one law, or None
        The law that ``witness`` attains ``lower`` on, where the model has several.
    member : str or None
        Of a family, the name of the member whose law it is.

    Examples
    --------
    >>> import chainveil as cv
    >>> loss = cv.privacy_loss(cv.MarkovChain.symmetric(0.2), cv.Channel.binary(0.3, 0.3))
    >>> loss.lower <= loss.epsilon
    True
    >>> print(loss.witness)                         # doctest: +ELLIPSIS
    an adversary after point ...
    """

    epsilon: float
    lower: float
    witness: Attack | None
    adversary: AdversaryName | Adversary
    length: int | None
    chain: DataModel | None = None
    member: str | None = None

    @property
    def gap(self) -> float:
        """How far the bounds are apart: 0 where both are infinite.

        Above the tolerance only where a search limit struck first, or where an infinite
        loss is approached by longer and longer attacks and attained by none.
        """
        return 0.0 if self.epsilon == self.lower else self.epsilon - self.lower

    @property
    def attack_in_words(self) -> str | None:
        """The attack, and the law that it is on where the model has several."""
        if self.witness is None or self.member is None or self.chain is None:
            return None if self.witness is None else str(self.witness)
        return f"{self.witness}; on {self.member}: {self.chain.describe()}"

    def __str__(self) -> str:
        points = "any length" if self.length is None else f"length {self.length}"
        return (
            f"epsilon <= {upper(self.epsilon, 10)} at {points}, against {describe(self.adversary)}"
        )

    def _repr_html_(self) -> str:
        points = "any" if self.length is None else f"{self.length:,} points"
        return notebook.card(
            f"privacy loss: epsilon at most {upper(self.epsilon)}",
            [
                ("at least", f"{lower(self.lower)}, by the worst attack found"),
                ("against", describe(self.adversary)),
                ("length", points),
                ("worst attack", self.attack_in_words or "none: no point has two possible values"),
            ],
        )


@dataclass(frozen=True)
class Calibrated:
    """Noise within a budget and its certified loss.

    Attributes
    ----------
    noise : Noise
        On the grid of 2^-53.
    loss : PrivacyLoss
        Of this noise, together with the earlier releases.
    half_planes : HalfPlanes or None
        The noise levels it was chosen from, where they are bounded by straight lines.
    """

    noise: Noise
    loss: PrivacyLoss
    half_planes: HalfPlanes | None = None
