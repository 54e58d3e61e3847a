"""Where a loss meets its budget: one bracketing search, and one way to retreat from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from chainveil.privacy.result import Calibrated

# Relative width at which the search for a noise level stops: as accurate as the losses.
WIDTH = 1e-10
# A log ratio below this is none at all for noise levels on a grid of 2^-53.
LEAST = 1e-18

Step = TypeVar("Step")
# A place and how far the loss lies above the budget there.
End = tuple[float, float]


def largest_within(
    loss: Callable[[float], float], epsilon: float, guess: float, most: float
) -> float:
    """Largest x up to ``most`` with ``loss(x) <= epsilon``; ``loss`` increases from loss(0) = 0.

    The result is approached from below: its loss is within the budget. Both x and the loss
    are taken in logs, where losses are nearly straight.
    """

    def excess(x: float) -> float:
        return math.log(max(loss(x), 1e-300) / epsilon)

    def done(low: End, high: End) -> bool:
        return high[0] - low[0] <= WIDTH * high[0] or low[1] >= -WIDTH

    x = max(LEAST, min(guess, most))
    low = high = (x, excess(x))
    while low[1] > 0:
        high = low
        x = low[0] * math.exp(max(-2 * low[1], -7.0))
        if x < LEAST:
            return 0.0
        low = (x, excess(x))
    while high[1] <= 0:
        if high[0] >= most:
            return high[0]
        low = high
        x = min(most, high[0] * 1.01 * math.exp(min(-2 * high[1], 7.0)))
        high = (x, excess(x))
    return close_bracket(excess, low, high, done, _geometric)


def close_bracket(
    excess: Callable[[float], float],
    low: End,
    high: End,
    done: Callable[[End, End], bool],
    between: Callable[[float, float, float], float],
    margin: float = 1e-6,
    rounds: int = 100,
) -> float:
    """The lower end of a bracket around the budget, closed by the Illinois method.

    ``between(x_low, x_high, share)`` is the place at a share of the way, which keeps
    ``margin`` away from both ends.
    """
    (x_low, f_low), (x_high, f_high) = low, high
    side = 0
    for _ in range(rounds):
        if done((x_low, f_low), (x_high, f_high)):
            break
        share = f_low / (f_low - f_high) if math.isfinite(f_high) else 0.5
        x = between(x_low, x_high, min(max(share, margin), 1 - margin))
        if not x_low < x < x_high:
            break
        f = excess(x)
        # The end that stays put weighs half, or the bracket would close from one side only.
        if f <= 0:
            x_low, f_low = x, f
            f_high = f_high / 2 if side == -1 else f_high
            side = -1
        else:
            x_high, f_high = x, f
            f_low = f_low / 2 if side == 1 else f_low
            side = 1
    return x_low


def straight(low: float, high: float, share: float) -> float:
    """The place at a share of the way from one end to the other."""
    return low + share * (high - low)


def _geometric(low: float, high: float, share: float) -> float:
    return float(low * (high / low) ** share)


def retreat(
    steps: Iterable[Step], attempt: Callable[[Step], Calibrated | None], epsilon: float
) -> Calibrated | None:
    """The first attempt whose certified loss is within the budget; None where none is.

    A search finds the noise to its own accuracy; each step gives up a little more of it.
    """
    for step in steps:
        found = attempt(step)
        if found is not None and found.loss.epsilon <= epsilon:
            return found
    return None
