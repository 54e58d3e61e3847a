"""Randomized response for short series of any model that is one law."""

from __future__ import annotations

from chainveil.errors import InvalidInput, NotSupported, UnreachableBudget
from chainveil.noise.channel import Channel
from chainveil.privacy.enumeration.loss import loss as loss_of
from chainveil.privacy.enumeration.loss import solves
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated
from chainveil.privacy.roots import largest_within, retreat

# The share of the way to noise that hides everything, added until the certified loss fits.
RETREATS = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)


def least_noise(problem: Problem, aim: Aim) -> Calibrated:
    """The least flip probability, the same for all states, within the budget.

    More of it is a processing of less, so the loss falls as it grows: the search brackets it.
    """
    asked = (aim.objective, aim.shape)
    if asked != ("wrong-reports", "uniform"):
        raise InvalidInput("objective, shape", asked, "their defaults, for this model")
    k, epsilon = problem.model.states, aim.epsilon
    most = (k - 1) / k

    def channel(kept: float) -> Channel:
        return Channel.randomized_response(k, most * (1 - kept)).on_grid()

    def loss(kept: float) -> float:
        return loss_of(problem.with_release(channel(kept))).epsilon

    if not solves(problem.with_release(channel(0.0))):
        raise NotSupported(
            "calibration for this model is offered for series of a few points; give their length"
        )
    kept = largest_within(loss, epsilon, epsilon / 4, 1.0)

    def attempt(given_up: float) -> Calibrated:
        noise = channel(kept * (1 - given_up))
        return Calibrated(noise, loss_of(problem.with_release(noise)))

    found = retreat(RETREATS, attempt, epsilon)
    if found is None:
        raise UnreachableBudget(f"epsilon = {epsilon!r} could not be certified on this model")
    return found
