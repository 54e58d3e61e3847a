"""What a release loses on each series' own chain, rather than on the one of the certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chainveil.errors import ChainveilError
from chainveil.model.chain import MarkovChain
from chainveil.model.fit_test import LEVEL, p_value
from chainveil.plan import NoisePlan
from chainveil.privacy.loss import privacy_loss
from chainveil.sequences import as_sequences


@dataclass(frozen=True)
class OwnLoss:
    """The loss of the noise on the chain of order 1 that fits one series best.

    Attributes
    ----------
    chain : MarkovChain or None
        None where no chain can be fitted, as of a constant series.
    epsilon : float or None
        Upper bound on the loss if the series were drawn from that chain; a fit of few points is
        far from the chain behind them, so it is no promise about the series.
    reason : str
        Why there is no loss.
    p_value : float or None
        Chance of a fit as far from the model of the plan, if the series follows that model; None
        where there is no loss, or where that model is no chain.
    """

    chain: MarkovChain | None
    epsilon: float | None
    reason: str = ""
    p_value: float | None = None

    def above(self, budget: float, series: int) -> bool:
        """Whether the loss is above a budget by more than the error of the fit.

        The series has to contradict the model of the plan at the 1% level, divided by the number
        of ``series`` that are read together.
        """
        lost = self.epsilon is not None and self.epsilon > budget * (1 + 1e-6)
        return lost and self.p_value is not None and self.p_value < LEVEL / series


def own_loss(runs: Sequence[Any], plan: NoisePlan) -> OwnLoss:
    """The loss of a plan's noise on the chain of one series.

    Parameters
    ----------
    runs : sequence of 1-D arrays
        The states of the series, one array a stretch without gaps. Private: so is the result.
    plan : NoisePlan
        The noise, those of earlier releases, the secret and the adversary.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), epsilon=2.0)
    >>> slower = cv.MarkovChain.symmetric(0.05).sample(5000, rng=1)
    >>> cv.attack.own_loss([slower], plan).epsilon > 2.0
    True
    """
    states, kept = plan.noise.states, [run for run in runs if len(run)]
    try:
        # It leaves this room only in what the curator sees.
        chain = MarkovChain.fit(kept, states, public=True)
    except ChainveilError:
        return OwnLoss(None, None, "no chain fits: a state that never comes, or is never left")
    try:
        found = privacy_loss(
            chain, plan.shown, length=plan.loss.length, adversary=plan.loss.adversary,
            unit=plan.unit, gaps=plan.gaps,
        )  # fmt: skip
    except ChainveilError:
        return OwnLoss(chain, None, "no engine answers for this chain")
    held = as_sequences("runs", kept, states)
    return OwnLoss(chain, found.epsilon, p_value=p_value(held, plan.model))
