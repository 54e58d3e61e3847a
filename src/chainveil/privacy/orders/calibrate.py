"""Least noise for chains of order 2 or more, within a family of channels.

The families: randomized response (one flip probability) and ordinal noise (one decay). The loss
of the answer is certified. That it is the least of its family is found by search, up to the
tolerance of the losses: for randomized response more noise is a processing of less and the loss
falls in its level; for ordinal noise that is seen, not proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chainveil.errors import InvalidInput, UnreachableBudget
from chainveil.noise.channel import Channel
from chainveil.privacy.orders.loss import loss as loss_of
from chainveil.privacy.problem import Aim, Effort, Problem
from chainveil.privacy.result import Calibrated
from chainveil.privacy.roots import End, close_bracket, retreat, straight

# How close losses come, as a share of the budget, and when they are given up.
TOLERANCE, SECONDS = 2e-3, 20.0
# Relative width of what is left of the noise at which the search stops.
WIDTH = 1e-4
# The share of the way to noise that hides everything, added until the certified loss fits.
RETREATS = (0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.9, 0.99, 1.0)


def least_noise(problem: Problem, aim: Aim) -> Calibrated:
    """The channel of least noise in the family within the budget, and its certified loss."""
    make = _family(problem, aim)
    effort = Effort(min(max(TOLERANCE * aim.epsilon, 1e-9), 1.0), max_seconds=SECONDS)

    def attempt(kept: float) -> Calibrated:
        channel = make(kept).on_grid()
        asked = replace(problem.with_release(channel), effort=effort)
        return Calibrated(channel, loss_of(asked))

    if problem.releases and attempt(0.0).loss.lower >= aim.epsilon:
        raise UnreachableBudget(
            f"spent: the earlier releases use up epsilon = {aim.epsilon!r}; nothing is left for "
            "another"
        )
    most = _most_kept(lambda kept: attempt(kept).loss.epsilon - aim.epsilon)
    found = retreat(RETREATS, lambda given_up: attempt(most * (1 - given_up)), aim.epsilon)
    if found is None:
        raise UnreachableBudget(f"epsilon = {aim.epsilon!r} could not be certified on this model")
    return found


def _family(problem: Problem, aim: Aim) -> Callable[[float], Channel]:
    """The channel that keeps so much of the series: 0 hides everything, 1 shows it."""
    k = problem.model.states
    if (aim.objective, aim.max_noise) != ("flips", 0.5) or aim.family == "per-state":
        raise InvalidInput(
            "objective, max_noise, family", (aim.objective, aim.max_noise, aim.family),
            "their defaults, or the family 'ordinal', for this model",
        )  # fmt: skip
    if aim.family == "ordinal":
        return lambda kept: Channel.ordinal(k, 1 - kept)
    return lambda kept: Channel.randomized_response(k, (k - 1) / k * (1 - kept))


def _most_kept(excess: Callable[[float], float]) -> float:
    """The largest share of the series that may be kept, from below."""
    low, high = (0.0, -1.0), (1.0, 1.0)
    kept = 0.5
    while kept > 1e-12:
        over = excess(kept)
        if over <= 0:
            low = (kept, over)
            break
        high, kept = (kept, over), kept / 4
    if low[0] == 0.0:
        return 0.0

    def done(one: End, two: End) -> bool:
        return two[0] - one[0] <= WIDTH * two[0]

    return close_bracket(excess, low, high, done, straight, 0.02, 40)
