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
    """Bounds on a privacy loss, as :func:`privacy_loss` computes them.

    Attributes
    ----------
    epsilon : float
        Upper bound on the loss, in nats, rounded up. May be infinite.
    lower : float
        Lower bound: the log likelihood ratio that ``witness`` attains, rounded down.
    witness : Attack or None
        An attack: an output, known points, and the two values that it tells apart, of W points
        each. None if no point has two possible values, or if none was found.
    adversary : str or Adversary
        The adversaries that the bounds are about.
    length : int or None
        Number of points n; None: the supremum over all n.
    chain : MarkovChain, HigherOrderChain or another model of one law, or None
        The chain that ``witness`` attains ``lower`` on, if the model has several.
    member : str or None
        The name of the member of a family that this chain belongs to.
    steps : int
        Number of steps that the search took: edges of the automaton that were visited (two
        states), or nodes of the search.
    effort : int or None
        Number of steps that it was allowed, or None for the default. The same question with the
        same effort has the same bounds.

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
    steps: int = 0
    effort: int | None = None

    @property
    def gap(self) -> float:
        """Distance of the bounds; 0 if both are infinite.

        It is large if a search used up its steps, or if longer and longer attacks approach an
        infinite loss that none attains.
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
