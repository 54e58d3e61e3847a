"""The least noise of a family: its numbers are chosen by attacks, and what they give is certified.

Attacks are collected. A family with one number takes the least noise with which no attack so far
exceeds the budget; a short search for attacks on that names a new one, and so on, until none is
found. With several numbers the cheapest are chosen in the same way. Only then is the loss
certified, and noise is added until the certified loss is within the budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from chainveil.errors import UnreachableBudget
from chainveil.noise.base import Noise
from chainveil.privacy.letters.certifying import CLOSE, MOST_ROUNDS, Certifying, cheapest_against
from chainveil.privacy.letters.choosing import REACH, least_move
from chainveil.privacy.letters.losses import CERTIFYING_NODES, DEAR_TO_SEEK, Losses
from chainveil.privacy.letters.shapes import Guess, Kept, Numbers, Shape, hiding
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated

# How far below the budget it ends where bounds meet, in turn: few more losses are computed for it,
# unless they took too many nodes.
SHARP = 1e-6, 1e-5, 1e-4, 1e-3
# Attacks on several numbers that are looked for at most, and as how many one counts that took long
# to find.
MOST_ATTACKS, MUCH_DEARER = 32, 4
# How many times as much as before a number leaves open at most, after attacks that were too good,
# and to what power that is raised after each.
LEAST_REACH, SHORTER = 1.3, 0.85
# By how much less the cost of another round must be, and at most as a share of what is gained.
WORTH = 1e-4, 5e-3


@dataclass
class Quest:
    """The search for one family.

    Attributes
    ----------
    losses : Losses
        Those of noise, beside earlier releases.
    certifying : float
        How close the loss comes at the end, as a share of the budget.
    """

    losses: Losses
    certifying: float = 1e-8

    @property
    def problem(self) -> Problem:
        """Its releases are earlier ones."""
        return self.losses.problem

    @property
    def aim(self) -> Aim:
        """The budget, and what is to be least."""
        return self.losses.aim

    def check_room(self) -> None:
        """An error where the earlier releases alone use up the budget."""
        if not self.problem.releases:
            return
        spent = self.losses.closing(self.problem).to(self.losses.effort(self.losses.looking))
        if spent.lower >= self.aim.epsilon:
            raise UnreachableBudget(
                f"earlier: the earlier releases use up epsilon = {self.aim.epsilon!r}; nothing is "
                "left for another"
            )

    def guess(self, shape: Shape, starts: Sequence[Numbers]) -> Guess:
        """Numbers that keep the budget against all attacks that are quickly found: no bound."""
        if shape.size == 1:
            return self._least(shape, starts[0])
        return self._collected(shape, starts)

    def starts(self, shape: Shape, level: float, before: Guess | None = None) -> list[Numbers]:
        """Numbers to begin with; ``before``: those of similar noise, if it has as many."""
        known = [] if before is None or shape.size == 1 else [before.numbers]
        return known + [np.array(start) for start in shape.starts(level)]

    def best(self, shapes: Sequence[Shape], guesses: Sequence[Guess | None] = ()) -> Calibrated:
        """The best of the best of each shape, certified; ``guesses``: those made already."""
        level, hoped, alone = 0.5, list[Guess](), None
        for shape, known in zip(shapes, guesses or [None] * len(shapes), strict=True):
            if self.losses.gives_up(shape):
                continue
            if (
                not hoped
                and not guesses
                and len(shapes) > 1
                and shape.size == self.losses.every == 1
            ):
                alone, known = self._alone(shape, level)
            guess = known or self.guess(shape, self.starts(shape, level))
            level = level if hoped else float(guess.numbers[0])
            hoped.append(guess)
        best: Calibrated | None = None
        waiting = self._worth_a_look(hoped)
        while waiting:
            guess = waiting.pop(0)
            worth = self._nearly(best.noise if best else None)
            if guess.cost >= worth:
                continue
            # Where it comes to cost more than another is hoped to, that one is certified first.
            others = [other.cost for other in waiting if other.cost >= guess.cost]
            if alone is not None and guess.shape.size == 1:
                found = alone.best([guess.shape], [guess])
            else:
                kept = Certifying(self.losses, guess, min([worth, *others])).run()
                if kept is None and others:
                    # It comes back at the end, unless losses took too many nodes already.
                    waiting += [] if self.losses.is_spent else [guess]
                    continue
                found = self.nothing(guess.shape) if kept is None else self._sharpened(kept)
            if best is None or self._cost(found.noise) < self._cost(best.noise):
                best = found
        assert best is not None
        return best

    def _worth_a_look(self, hoped: list[Guess]) -> list[Guess]:
        """The cheapest first: certifying takes long, and of the others most cost more for certain.

        More numbers that gain next to nothing over fewer are left out: bounds take longer for them.
        """
        found = list[Guess]()
        for guess in sorted(hoped, key=lambda guess: guess.shape.size):
            fewer = min((other.cost for other in found), default=math.inf)
            if math.isinf(fewer) or guess.cost < fewer - self._least_gain(guess):
                found.append(guess)
        return sorted(found, key=lambda guess: guess.cost)

    def _least_gain(self, guess: Guess) -> float:
        """By how much less noise must cost to be worth more time."""
        noise = guess.shape.make(guess.numbers)
        return min(WORTH[0], WORTH[1] * self.losses.gain(noise))

    def _alone(self, shape: Shape, level: float) -> tuple[Quest, Guess]:
        """The search as if there were one shape, and its guess: no other is ever to be worse.

        What it finds on the way is of use to the others too.
        """
        alone = replace(self, losses=replace(self.losses, looking=self.losses.closest))
        guess = alone.guess(shape, alone.starts(shape, level))
        self.losses.attacks, self.losses.looking = alone.losses.attacks.copy(), alone.losses.looking
        return alone, guess

    def _nearly(self, noise: Noise | None) -> float:
        """A little more than what noise costs: how much of the budget is used up may matter."""
        if noise is None:
            return math.inf
        return self._cost(noise) + self.losses.gain(noise) * (1 - 1 / (1 + CLOSE))

    def better(self, found: Calibrated, endless: Calibrated) -> Calibrated:
        """The cheaper of two, of which the second one keeps its bound for every length."""
        if self._cost(endless.noise) >= self._cost(found.noise):
            return found
        loss = self.losses.of(endless.noise)
        return Calibrated(
            endless.noise, replace(loss, epsilon=min(loss.epsilon, endless.loss.epsilon))
        )

    def _cost(self, noise: Noise) -> float:
        return self.losses.cost(noise)

    def _least(self, shape: Shape, numbers: Numbers) -> Guess:
        """The least noise against which no attack is found, in the direction of a move."""
        moved, noise = numbers, shape.make(numbers).on_grid()
        if not len(self.losses.attacks):
            self.losses.sought(noise)
        for _ in range(MOST_ROUNDS):
            moved = shape.moved(numbers, self._least_move(shape, numbers, self.losses.target))
            noise = shape.make(moved).on_grid()
            if self.losses.sought(noise).lower <= self.aim.epsilon:
                break
        return Guess(shape, moved, self._cost(noise))

    def _sharpened(self, kept: Kept) -> Calibrated:
        """The same with next to no room below the budget, where the bounds meet."""
        epsilon, loss = self.aim.epsilon, kept.loss
        meets = max(
            SHARP[0] / 10, self.losses.looking if self.certifying < self.losses.looking else 0.0
        )
        nodes = self.losses.closing_of(kept.noise).nodes
        dear = nodes > self.losses.dear
        # Several numbers are what a search found: the rest of the budget is nothing beside that.
        long = kept.shape.size > 1 and nodes > DEAR_TO_SEEK
        enough = long and loss.lower >= epsilon * (1 - SHARP[-1])
        if loss.epsilon == 0.0 or loss.gap > meets * epsilon or dear or enough:
            return Calibrated(kept.noise, loss)
        # How far bounds stay apart, as a share of the budget: less is not asked for again.
        apart, found = 0.0, loss
        once = nodes > (0.75 if kept.shape.size == 1 else 0.5) * self.losses.dear
        for sharp in SHARP[-1:] if once else SHARP:
            if sharp < apart:
                continue
            move = self._least_move(kept.shape, kept.numbers, epsilon * (1 - sharp))
            noise = kept.shape.make(kept.shape.moved(kept.numbers, move)).on_grid()
            closing = self.losses.closing_of(noise)
            found = closing.to(self.losses.effort(max(self.certifying, 0.9 * sharp)))
            if found.epsilon <= epsilon:
                break
            apart = found.gap / epsilon
            # A better attack than any before, which asks for a little more noise.
            self.losses.attacks.add(found.witness, noise)
        if found.epsilon > epsilon:
            noise, closing, found = kept.noise, self.losses.closing_of(kept.noise), loss
            closing.to(self.losses.effort(self.losses.looking))
        closer = closing.to(self.losses.effort(self.certifying, closing.nodes + CERTIFYING_NODES))
        # A search that goes another way may stop above what the first one had shown.
        return Calibrated(noise, min(found, closer, key=lambda one: one.epsilon))

    def nothing(self, shape: Shape) -> Calibrated:
        """Noise of the kind of a shape whose reports do not depend on the points at all."""
        noise = hiding(self.problem.model.states, shape.make(np.full(shape.size, 0.5)))
        closing = self.losses.closing(self.problem.with_release(noise))
        found = closing.to(self.losses.effort(self.losses.looking))
        return Calibrated(noise, found)

    def _least_move(self, shape: Shape, numbers: Numbers, target: float) -> float:
        """The least move after which no attack that is known gains more than the target."""
        return least_move(self.losses.attacks, shape, numbers, target)

    def _collected(self, shape: Shape, starts: Sequence[Numbers]) -> Guess:
        """Numbers that keep the budget against the attacks that were found on the way.

        Others are looked for around the last ones, less far away after each attack that exceeds
        the budget: of what lies far away no attack is known.
        """
        best, least = starts[0], math.inf
        for start in starts:
            numbers, dear, reach = start, 0, REACH
            while dear < MOST_ATTACKS and not self.losses.is_spent:
                numbers = cheapest_against(self.losses, shape, numbers, reach)
                noise = shape.make(numbers).on_grid()
                value = self._cost(noise)
                if value > least - min(WORTH[0], WORTH[1] * self.losses.gain(noise)):
                    # More attacks only ask for more noise.
                    break
                if self.losses.sought(noise).lower <= self.aim.epsilon:
                    best, least = numbers, value
                else:
                    reach = max(LEAST_REACH, reach**SHORTER)
                dear += MUCH_DEARER if self.losses.closing_of(noise).nodes > DEAR_TO_SEEK else 1
            else:
                # Certifying will say whether more noise is asked for than by the attacks so far.
                numbers = shape.moved(numbers, self._least_move(shape, numbers, self.losses.target))
                value = self._cost(shape.make(numbers).on_grid())
                best, least = (numbers, value) if value < least else (best, least)
        return Guess(shape, best, least)
