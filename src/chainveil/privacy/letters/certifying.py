"""From numbers that attacks leave to noise whose certified loss is within the budget.

Numbers are moved towards hiding everything, until the certified loss fits. How far is said by a
target, what the attacks that are known may reach: below the budget by as much as the bounds of
the loss are apart. Where a better attack is found, several numbers are chosen again.
"""

from __future__ import annotations

import math

from chainveil.privacy.letters.choosing import REACH, cheapest, least_move
from chainveil.privacy.letters.losses import COARSE, DEAR, DEAR_TO_SEEK, MANY_CLOSE, Losses
from chainveil.privacy.letters.shapes import Guess, Kept, Numbers, Shape
from chainveil.privacy.result import PrivacyLoss

# How far below the budget the certified loss may end, as a share of it, where bounds do not meet;
# and how far apart the costs of noise that fits and of noise that does not may be, as a share of
# what is gained over noise that tells nothing.
CLOSE, ALIKE = 1e-2, 0.04
# What attacks may reach, as a share of what they could, where there is no bound yet, and where
# losses take long: a bound that need not be so close is found sooner.
LOOSE, CAUTIOUS = 0.85, 0.975
# Losses that are computed at most.
MOST_ROUNDS = 40
# Better attacks on several numbers, if each took some time, after which more and more is kept back
# for those that are still to come, as a share of the budget.
MOST_MISSES, MISSED = 6, 1e-3
# By how much of the budget an attack exceeds it for which numbers are moved, but not chosen again.
LITTLE = 2e-3
# What attacks may reach, as a share of the budget, where a loss of many states is not bounded at
# once; and how far below the budget the next loss is to end where such bounds are far apart, since
# another one would take long.
FAR_BELOW, WIDE = 0.8, 0.03


def cheapest_against(
    losses: Losses, shape: Shape, numbers: Numbers, reach: float = REACH
) -> Numbers:
    """The cheapest numbers with which no attack that is known exceeds the budget."""
    epsilon = losses.aim.epsilon
    share = losses.target / epsilon
    return cheapest(losses.attacks, shape, numbers, epsilon, share, losses.cost, reach)


class Certifying:
    """The least move of a guess with which the certified loss fits.

    It is given up where the noise comes to cost as much as ``worth``.
    """

    def __init__(self, losses: Losses, guess: Guess, worth: float) -> None:
        self._losses, self._shape, self._numbers = losses, guess.shape, guess.numbers
        self._worth, self._epsilon = worth, losses.aim.epsilon
        self._several = guess.shape.size > 1
        # Whether losses take long, of noise that is not proved to be the least anyway.
        dear = self._several and losses.every == 1 and losses.looking > losses.closest
        # What attacks may reach, the most of it that fit, and the least that did not.
        self._target = losses.target * (CAUTIOUS if dear else 1.0)
        self._fits, self._fails = 0.0, math.inf
        self._kept: Kept | None = None
        # Target and loss of the round before; the largest cost of noise that does not fit.
        self._before: tuple[float, float] | None = None
        self._too_little = 0.0
        # Whether attacks on the next noise were looked for: those on the guess were.
        self._known = dear
        # Better attacks so far; whether one took long; whether bounds may stay far apart.
        self._misses, self._long_sought, self._wide = 0, False, False

    def run(self) -> Kept | None:
        """Noise that fits, with its loss; None where none is found."""
        epsilon, losses = self._epsilon, self._losses
        for round_ in range(MOST_ROUNDS):
            move = self._least_move(self._numbers)
            move = move if round_ else max(0.0, move)
            noise = self._shape.make(self._shape.moved(self._numbers, move)).on_grid()
            costs = losses.cost(noise)
            if round_ and (costs >= self._worth or (self._several and losses.is_spent)):
                break
            found = losses.of(noise, not self._several, self._known, self._wide)
            self._known = self._several and found.lower <= epsilon
            if found.lower > epsilon:
                missed = found.lower > epsilon * (1 + LITTLE)
                if self._several and self._kept is None and missed:
                    self._choose_again(losses.closing_of(noise).nodes)
            elif found.epsilon > epsilon:
                self._fails = min(self._fails, self._target)
                self._too_little = max(self._too_little, costs)
            else:
                self._kept = Kept(noise, found, self._shape, self._numbers)
                self._fits = self._target
                if self._less_may_do():
                    self._target = losses.target
                    continue
                if self._is_enough(found):
                    break
            if self._is_settled or (found.lower <= epsilon and not self._aim_again(found)):
                break
        return self._kept

    def _least_move(self, numbers: Numbers) -> float:
        return least_move(self._losses.attacks, self._shape, numbers, self._target)

    def _choose_again(self, nodes: int) -> None:
        """Other numbers, where a better attack than any before was found with so many nodes."""

        def moved_cost(numbers: Numbers) -> float:
            moved = self._shape.moved(numbers, self._least_move(numbers))
            return self._losses.cost(self._shape.make(moved))

        others = self._numbers, cheapest_against(self._losses, self._shape, self._numbers)
        self._numbers = min(others, key=moved_cost)
        # Attacks follow the numbers: in the end more is kept back each time.
        self._misses += nodes > DEAR_TO_SEEK // 4
        self._long_sought |= nodes > self._losses.dear
        if self._long_sought:
            self._target *= CAUTIOUS
        elif self._misses > MOST_MISSES:
            self._target *= 1 - MISSED

    @property
    def _nodes(self) -> int:
        """Those of the loss of what is kept."""
        assert self._kept is not None
        return self._losses.closing_of(self._kept.noise).nodes

    def _less_may_do(self) -> bool:
        """Whether perhaps no more is to be kept back than for one number."""
        is_cautious = self._target < self._losses.target and math.isinf(self._fails)
        return is_cautious and not self._misses and self._nodes < DEAR

    def _is_enough(self, found: PrivacyLoss) -> bool:
        """Whether what is kept comes as close to the budget as it shall."""
        if self._wide and self._nodes > 2 * self._losses.most:
            # Another loss would take too long.
            return True
        is_apart = self._takes_long and found.gap > COARSE * self._epsilon
        close = MANY_CLOSE if is_apart else CLOSE
        # Without a failure no attack asks for more noise than there is.
        only_one = self._fails in (math.inf, self._target)
        return found.epsilon >= self._epsilon * (1 - close) or only_one

    @property
    def _takes_long(self) -> bool:
        """Losses of noise with several numbers take longer, and gain less."""
        return self._losses.many or (self._several and self._losses.every == 1)

    @property
    def _is_settled(self) -> bool:
        """Whether noise that fits costs hardly more than noise that does not."""
        if self._kept is None:
            return False
        noise, share = self._kept.noise, MANY_CLOSE if self._takes_long else ALIKE
        return self._losses.cost(noise) - self._too_little <= share * self._losses.gain(noise)

    def _aim_again(self, found: PrivacyLoss) -> bool:
        """Set another target, where no attack exceeds the budget; whether there is one."""
        if self._fails - self._fits < CLOSE / 2 * self._epsilon:
            return False
        if math.isinf(found.epsilon):
            # Bounds that need not come so close take less.
            many_states = self._losses.many_states
            is_loose = self._target < LOOSE * self._epsilon
            if self._wide or is_loose or many_states == self._several:
                return False
            self._target *= FAR_BELOW if many_states else LOOSE
            self._wide = many_states
            return True
        self._before, self._target = (self._target, found.epsilon), self._next_target(found)
        if not self._fits < self._target < self._fails:
            self._target = (self._fits + self._fails) / 2
        return True

    def _next_target(self, found: PrivacyLoss) -> float:
        """What attacks may reach so that the certified loss just fits.

        The bounds of nearby noise are about as far apart, as a share or in nats: where the
        certified loss falls more slowly than the target did, it goes on at that slope.
        """
        target, before, epsilon = self._target, self._before, self._epsilon
        is_wide = self._losses.many_states and found.gap > MANY_CLOSE * epsilon
        goal = epsilon - min(found.gap, (WIDE if is_wide else CLOSE / 2) * epsilon)
        share = target * goal / found.epsilon
        if before is None or not (before[0] > target and before[1] > found.epsilon > goal):
            if before is not None or self._losses.many:
                return share
            return max(share / 2, target - (found.epsilon - goal))
        slope = (before[1] - found.epsilon) / (before[0] - target)
        return min(share, max(target - (found.epsilon - goal) / slope, target / 4))
