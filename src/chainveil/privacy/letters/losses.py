"""Losses of one noise after another, each only as close as a budget makes it matter.

Attacks that were found on the way are collected: the next loss begins with the best of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from chainveil.noise.base import Noise
from chainveil.privacy.bounds import Attack
from chainveil.privacy.letters.attacks import Attacks
from chainveil.privacy.letters.coarse import memory_of
from chainveil.privacy.letters.shapes import Shape, cost, hiding
from chainveil.privacy.problem import Aim, Effort, Problem
from chainveil.privacy.result import PrivacyLoss

# How close losses come at first, as a share of the budget, and on very slow chains; bounds that are
# further apart do not meet.
NEAR, NEAR_IF_SLOW, COARSE = 8e-3, 0.011, 0.02
# They come no closer where that took so many nodes, or where looking for attacks takes so many.
DEAR, DEAR_TO_SEEK = 40_000, 8_000
# Nodes that a loss may have while noise is looked for, and more of them to bring bounds together.
# With more than four states there are more pairs of values on every point; where few points report,
# each node takes longer, and there are fewer.
LOOKING_NODES, CERTIFYING_NODES = 200_000, 15_000
# How many times as many a loss may have that is not bounded yet, and all together.
MORE_NODES, ALL = 3, 1.5
# Steps that a slow chain remembers; how many times as many nodes a loss has at most on slower ones.
SLOW, MOST_SLOW = 1024, 2
# Silent points to a report that have as many nodes again, and how many times as many there are at
# most.
SILENT, MOST_SILENT = 8, 4
# The share of nodes with which attacks alone are looked for, by how much of the budget one exceeds
# it so that no other is looked for, and how many more are noted.
SEEKING, ABOVE, MORE_ATTACKS = 0.1, 0.3, 5
# How many times as far apart as they should be bounds of several numbers are left as they are.
FAR = 12
# What is kept back at most for attacks that are found later, as a share of the budget.
SPARE = 5e-4
# Of more states than these each loss takes long, and they end further below the budget where
# bounds do not meet.
FEW, MANY_CLOSE = 5, 0.1


class Closing(Protocol):
    """A loss whose bounds are brought together step by step."""

    @property
    def nodes(self) -> int:
        """Words that got a node so far."""

    def begin_with(self, attack: Attack) -> None:
        """Take note of an attack before anything is searched."""

    def others(self, above: float, most: int) -> list[Attack]:
        """Attacks on other values than those of the best one, if they attain so much."""

    def to(self, effort: Effort, enough: float = ...) -> PrivacyLoss:
        """Both bounds as close as the effort allows, unless the lower one is above ``enough``."""


@dataclass
class Losses:
    """Losses of noise beside earlier releases.

    Attributes
    ----------
    problem : Problem
        Its releases are earlier ones.
    aim : Aim
    closing : callable
        The loss of a problem, to be brought closer step by step.
    looking : float
        How close losses come, as a share of the budget; less close where that takes long.
    nodes : int or None
        At most, for each loss; None: the usual number.
    every : int
        Points to a report: silent points have nodes too.
    rough : bool
        Each loss takes long.
    """

    problem: Problem
    aim: Aim
    closing: Callable[[Problem], Closing]
    looking: float = 2e-4
    nodes: int | None = None
    every: int = 1
    rough: bool = False

    def __post_init__(self) -> None:
        # While noise is looked for, losses may come less close.
        self.closest = self.looking
        self.attacks = Attacks(self.problem.model, self.problem.releases)
        self._found: dict[Noise, PrivacyLoss] = {}
        self.many_states = self.every == 1 and self.problem.model.states > FEW
        if self.many_states:
            self.looking = max(self.looking, NEAR)
        elif self.every == 1 and self.nodes is None and self._slow:
            self.looking = max(self.looking, NEAR if self._slow == 1 else NEAR_IF_SLOW)
        # The last loss, which may be brought closer, and nodes of those before it.
        self._last: tuple[Noise, Closing] | None = None
        self._spent = 0

    @property
    def many(self) -> bool:
        """Whether each loss takes long."""
        return self.many_states or self.rough

    @property
    def target(self) -> float:
        """What attacks may gain, so that bounds that meet lie within the budget."""
        return self.aim.epsilon * (1 - self.looking - min(self.looking / 2, SPARE))

    @property
    def most(self) -> int:
        """Nodes that a loss may have; for all pairs of values at least."""
        if self.nodes is not None:
            return self.nodes
        few_states = self.every == 1 and not self.many_states
        return self._usual * (min(MOST_SLOW, max(1, self._slow)) if few_states else 1)

    @cached_property
    def _usual(self) -> int:
        """The usual number of nodes."""
        k = self.problem.model.states
        if self.every == 1:
            return LOOKING_NODES * max(1, (k - 2) // 2)
        return int(LOOKING_NODES * min(1.0, (4 / k) ** 2)) + 1000 * k**2

    @cached_property
    def _slow(self) -> int:
        """How many times as long a chain remembers as one that is slow."""
        model = self.problem.model
        is_one = model.single and model.order == 1
        return memory_of(self.problem.chain.transition) // SLOW if is_one else 0

    @property
    def is_spent(self) -> bool:
        """Whether losses took so many nodes that no other noise with several numbers is tried.

        Noise with one number is there instead. Rare reports, and losses with a number of nodes of
        their own, have no such limit.
        """
        is_limited = self.every == 1 and self.nodes is None
        return is_limited and self._spent + self._last_nodes > ALL * self._usual

    def gives_up(self, shape: Shape) -> bool:
        """Whether bounds of such noise would take too long: noise with one number is there instead.

        So they would on slow chains of many states, and on slower ones of few.
        """
        if self.every > 1 or self.nodes is not None or shape.size == 1:
            return False
        return self._slow > (0 if self.many_states else 1)

    @property
    def _last_nodes(self) -> int:
        """Those of the last loss, as many as it was to have."""
        return 0 if self._last is None else min(self._usual, self._last[1].nodes)

    @property
    def dear(self) -> float:
        """Nodes above which a loss is not brought closer; those of silent points are cheap."""
        return DEAR if self.every == 1 else math.inf

    def effort(self, share: float, nodes: int | None = None) -> Effort:
        """Bounds within a share of the budget."""
        within = min(max(share * self.aim.epsilon, 1e-9), 1.0)
        more = min(1 + (self.every - 1) / SILENT, MOST_SILENT)
        return Effort(within, nodes or int(self.most * more), in_haste=self._slow > 0)

    def closing_of(self, noise: Noise) -> Closing:
        """The loss of this noise and the earlier releases."""
        if self._last is None or self._last[0] != noise:
            self._spent += self._last_nodes
            closing = self.closing(self.problem.with_release(noise))
            known = self.attacks.best(noise)
            if known is not None:
                closing.begin_with(known)
            self._last = noise, closing
        return self._last[1]

    def sought(self, noise: Noise) -> PrivacyLoss:
        """The same from below, by an attack that is quickly found; it is collected."""
        if noise in self._found:
            return self._found[noise]
        effort = replace(self.effort(COARSE, int(SEEKING * self.most)), attacks_only=True)
        closing = self.closing_of(noise)
        found = closing.to(effort, self.aim.epsilon * (1 + ABOVE))
        self.attacks.add(found.witness, noise)
        for attack in closing.others(self.aim.epsilon, MORE_ATTACKS):
            self.attacks.add(attack, noise)
        if closing.nodes > DEAR_TO_SEEK and self.every == 1 and self.nodes is None:
            self.looking = max(self.looking, NEAR)
        return found

    def of(
        self, noise: Noise, patient: bool = True, known: bool = False, wide: bool = False
    ) -> PrivacyLoss:
        """Of this noise and the earlier releases, as closely as the budget makes it matter.

        ``known``: attacks on similar noise were looked for, and are not again; ``wide``: bounds of
        many states may stay far apart, if there are some at all.
        """
        if noise in self._found:
            return self._found[noise]
        epsilon = self.aim.epsilon
        found = None if known else self.sought(noise)
        closing = self.closing_of(noise)
        near = max(NEAR, self.looking)
        if found is None or found.lower <= epsilon:
            # Several numbers are chosen again as soon as an attack is above the budget; where all
            # stay far below it, bounds need not come closer than it is.
            room = 0.0 if patient else 1 - self.gained(noise) / epsilon
            effort = self.effort(max(near, room))
            enough = epsilon * (1 + near if patient else 1)
            gap = math.inf if patient else FAR * effort.tolerance
            found = closing.to(replace(effort, most_gap=gap), enough)
            if found.gap > gap and closing.nodes < DEAR:
                found = closing.to(effort, enough)
        goes_on = patient and self.every == 1 and (wide or not self.many_states)
        if goes_on and found.lower <= epsilon and math.isinf(found.epsilon):
            # On very slow chains a first bound takes more than bringing it closer takes on others.
            more = self.effort(MANY_CLOSE / 2 if wide else near, MORE_NODES * self.most)
            found = closing.to(more, epsilon * (1 + near))
        dear = closing.nodes > self.dear and self.nodes is None
        matters = (near > self.looking and patient) or found.epsilon > epsilon
        met = found.gap <= near * epsilon
        if found.lower <= epsilon and matters and met and not dear:
            found = closing.to(self.effort(self.closest), epsilon)
        self.attacks.add(found.witness, noise)
        self._found[noise] = found
        return found

    def cost(self, noise: Noise) -> float:
        """What is to be least."""
        return cost(self.problem.model, noise, self.aim)

    def gain(self, noise: Noise) -> float:
        """How much less noise costs than noise that tells nothing."""
        return self.cost(hiding(self.problem.model.states, noise)) - self.cost(noise)

    def gained(self, noise: Noise) -> float:
        """What the best attack so far gains."""
        return float(self.attacks.values([noise]).max())
