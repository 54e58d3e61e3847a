"""More noise, and no more than it takes: along the way from a noise to one that says nothing."""

from __future__ import annotations

from collections.abc import Callable

from chainveil.checks import FloatArray
from chainveil.noise.base import Noise
from chainveil.privacy.roots import End, close_bracket, straight

# Where the way is not followed any further: at a share of the noise that is kept, and at a share of
# the budget that is left.
WIDTH, LEFT = 1e-9, 1e-9


def hushed(
    noise: Noise,
    weights: FloatArray,
    loss: Callable[[Noise], float],
    epsilon: float,
    left: float = LEFT,
) -> Noise:
    """The first noise on the way, on the grid of 2^-53, whose loss is within the budget.

    The loss is taken to fall along the way. ``left`` is the share of the budget that may be left
    over. What is returned says nothing at all where nothing else was within the budget.
    """

    def at(kept: float) -> Noise:
        return (noise if kept == 1 else noise.quieter(1 - kept, weights)).on_grid()

    def over(kept: float) -> float:
        return loss(at(kept)) - epsilon

    high: End = (1.0, over(1.0))
    if high[1] <= 0:
        return at(1.0)
    # The loss falls about in proportion to what is kept.
    low, kept = (0.0, -epsilon), 1.0
    while low[0] == 0.0 and kept > 1e-12:
        kept *= min(max(0.995 * epsilon / (epsilon + high[1]), 0.05), 0.995)
        value = over(kept)
        low, high = ((kept, value), high) if value <= 0 else (low, (kept, value))
    if low[0] == 0.0:
        return at(0.0)

    def done(one: End, two: End) -> bool:
        return one[1] >= -left * epsilon or two[0] - one[0] <= WIDTH * two[0]

    return at(close_bracket(over, low, high, done, straight, 0.02, 40))
