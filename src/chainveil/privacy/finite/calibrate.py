"""Least noise for chains with k states, within a family of channels.

The families: randomized response (one flip probability), ordinal noise (one decay), and
randomized response with a flip probability of its own for each state. The privacy of the
answer is certified. That it is the least of its family is found by search: proved up to
the search's tolerance for randomized response, where more noise is a processing of less and
the loss falls in rho; seen, not proved, for the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, UnreachableBudget
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.finite.loss import loss as loss_of
from chainveil.privacy.problem import Aim, Effort, Objective, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss
from chainveil.privacy.roots import End, close_bracket, straight

# Search: relative width of the noise level; nodes for losses that only guide, and for the last.
WIDTH = 1e-7
GUIDING_NODES = 20_000
CERTIFYING_NODES = 500_000
# The share of the noise that is added, step by step, until the certified loss fits.
RETREATS = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 0.6, 0.9, 0.99)
# Pattern search over the states' own noise: first and last step, in logs.
FIRST_STEP, LAST_STEP = 0.4, 0.02

Loss = Callable[[Channel], PrivacyLoss]


def least_noise(problem: Problem, aim: Aim) -> Calibrated:
    """The channel of least noise in the family within the budget, and its certified loss."""
    _check_limit(aim)
    chain, epsilon, family = problem.chain, aim.epsilon, aim.family
    certifying = Effort(1e-7, CERTIFYING_NODES)
    looking = Effort(max(1e-7, 1e-6 * epsilon), GUIDING_NODES)

    def certified(channel: Channel) -> PrivacyLoss:
        return loss_of(replace(problem.with_release(channel), effort=certifying))

    def guiding(channel: Channel) -> float:
        # What an attack attains: where the bounds stay apart, the nearer one to the truth.
        return loss_of(replace(problem.with_release(channel), effort=looking)).lower

    k = chain.states
    if problem.releases and guiding(Channel.randomized_response(k, (k - 1) / k)) >= epsilon:
        raise UnreachableBudget(
            f"spent: the earlier releases use up epsilon = {epsilon!r}; nothing is left for another"
        )
    if family == "ordinal":
        make: Callable[[float], Channel] = lambda level: Channel.ordinal(k, level)  # noqa: E731
        least, most = _least_level(make, guiding, epsilon, 1.0, WIDTH), 1.0
    else:
        most = (k - 1) / k
        make = lambda level: Channel.randomized_response(k, level)  # noqa: E731
        least = _least_level(make, guiding, epsilon, most, WIDTH)
    if family == "per-state":
        shape = _best_shape(chain, guiding, epsilon, aim.objective, least)
        make = lambda level: _shaped(level, shape)  # noqa: E731
        least = _least_level(make, guiding, epsilon, most, WIDTH)
    return _retreat(make, certified, epsilon, least, most)


def _check_limit(aim: Aim) -> None:
    if aim.max_noise != 0.5:
        raise InvalidInput(
            "max_noise", aim.max_noise, "0.5, the default, for more than two states",
            "Noise levels of more than two states have no limit of their own.",
        )  # fmt: skip


def _retreat(
    make: Callable[[float], Channel], certified: Loss, epsilon: float, least: float, most: float
) -> Calibrated:
    """A little more noise, until the certified loss on the grid is within the budget."""
    needed = 0.0
    for share in RETREATS:
        if share < needed:
            continue
        channel = make(least + share * (most - least)).on_grid()
        loss = certified(channel)
        if loss.epsilon <= epsilon:
            return Calibrated(channel, loss)
        # The loss falls about as fast as what is left to hide; a tenth of that is too little.
        needed = (loss.epsilon / epsilon - 1) / 10
    raise UnreachableBudget(
        f"epsilon = {epsilon!r} could not be certified on this chain; the search for the worst "
        "attack does not close. Allow a larger budget, or a shorter length."
    )


def _least_level(
    make: Callable[[float], Channel],
    guiding: Callable[[Channel], float],
    epsilon: float,
    most: float,
    width: float,
) -> float:
    """Least noise level up to ``most`` whose loss is within the budget, from above.

    Works on x = ln(most / level) - the log of how far the noise is from hiding everything -
    where losses are nearly straight: bracket, then the Illinois method.
    """

    def excess(x: float) -> float:
        return guiding(make(_level(x, most))) - epsilon

    def done(low: End, high: End) -> bool:
        return high[0] - low[0] <= width * high[0] or -low[1] <= width * epsilon

    span = epsilon / 8
    low, high = (0.0, -epsilon), (span, excess(span))
    while high[1] <= 0 and high[0] < 100:
        low, high = high, (2 * high[0], excess(2 * high[0]))
    return _level(close_bracket(excess, low, high, done, straight, 0.01, 60), most)


def _level(x: float, most: float) -> float:
    return most * math.exp(-x)


def _shaped(level: float, shape: FloatArray) -> Channel:
    """Randomized response with noise ``level`` on average, spread over the states by shape."""
    k = len(shape)
    most = (k - 1) / k
    # In odds, so that no state's noise exceeds what hides it altogether.
    odds = level / max(most - level, 1e-300) * np.exp(shape - shape.mean())
    return Channel.per_state_response(most * odds / (1 + odds))


def cost(chain: MarkovChain, channel: Channel, objective: Objective) -> float:
    """What an objective counts: changed points, mean flip probability, or mean distance."""
    if objective == "flips":
        return channel.expected_flips(chain)
    if objective == "estimate":
        return float(channel.flip_probabilities.mean())
    return channel.expected_distance(chain)


def _best_shape(
    chain: MarkovChain,
    guiding: Callable[[Channel], float],
    epsilon: float,
    objective: Objective,
    start: float,
) -> FloatArray:
    """Pattern search over the logs of the states' noise, each scaled to the budget."""
    most = (chain.states - 1) / chain.states

    def price(shape: FloatArray) -> float:
        make: Callable[[float], Channel] = lambda level: _shaped(level, shape)  # noqa: E731
        level = _least_level(make, guiding, epsilon, most, 1e-4)
        return cost(chain, make(level), objective)

    shape = np.zeros(chain.states)
    best, step = cost(chain, _shaped(start, shape), objective), FIRST_STEP
    while step >= LAST_STEP:
        moved = False
        for state in range(chain.states):
            for sign in (1.0, -1.0):
                trial = shape.copy()
                trial[state] += sign * step
                value = price(trial)
                if value < best * (1 - 1e-5):
                    shape, best, moved = trial, value, True
                    break
        step = step if moved else step / 2
    return shape
