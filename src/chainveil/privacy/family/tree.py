"""Many two-state chains and boxes at once: the worst is found by branch and bound over them.

A box around a group of members bounds the loss of each of them. A group whose bound is no larger
than a loss that some member has is settled; others are parted where they lie furthest apart, down
to single chains, whose loss is exact, and to boxes, which are cut in two.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from chainveil.errors import ChainveilError
from chainveil.model.base import Box, DataModel
from chainveil.model.chain import MarkovChain
from chainveil.model.family import hull
from chainveil.privacy import engines
from chainveil.privacy.boxes import LOOKS, TOLERANCE, halves
from chainveil.privacy.memory.box import box_bound
from chainveil.privacy.memory.layout import layout
from chainveil.privacy.precision import with_enough_bits
from chainveil.privacy.problem import Problem
from chainveil.privacy.region.loss import box_bound as independent_bound
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.two_state.many import can_bound, loss_bounds

# From so many chains on they are first bounded all at once, in floats.
MANY_CHAINS = 16
# Groups and boxes that are looked at; what is left then counts with its bound.
MOST_LOOKS = 20_000


@dataclass(frozen=True)
class Leaf:
    """A member that is a stationary two-state chain of order 1, or a box of them."""

    name: str
    member: DataModel
    box: Box

    @classmethod
    def of(cls, name: str, member: DataModel) -> Leaf:
        """The member with its limits."""
        assert member.box is not None
        return cls(name, member, member.box)

    @property
    def is_chain(self) -> bool:
        """Whether it is one chain."""
        return self.box[0] == self.box[1] and self.box[2] == self.box[3]


@dataclass(frozen=True)
class Worst:
    """A loss, the member that has it, and the chain that it is attained on."""

    loss: PrivacyLoss
    name: str
    member: DataModel
    chain: DataModel


@dataclass(frozen=True)
class _Group:
    """Members with a box around them; a part of one box where there is one member."""

    leaves: tuple[Leaf, ...]
    box: Box

    @classmethod
    def of(cls, leaves: Sequence[Leaf]) -> _Group:
        return cls(tuple(leaves), hull([leaf.box for leaf in leaves]))

    def parts(self) -> tuple[_Group, _Group]:
        """Two groups of members, or two halves of a box."""
        if len(self.leaves) == 1:
            first, second = halves(self.box)
            return _Group(self.leaves, first), _Group(self.leaves, second)
        q_low, q_high, r_low, r_high = self.box
        axis = 0 if q_high / q_low >= r_high / r_low else 2
        ordered = sorted(self.leaves, key=lambda leaf: leaf.box[axis])
        cut = _widest_step([leaf.box[axis] for leaf in ordered])
        return _Group.of(ordered[:cut]), _Group.of(ordered[cut:])


def _widest_step(values: Sequence[float]) -> int:
    """Where sorted numbers are parted: in the middle of what they span, by their logarithms."""
    middle = math.sqrt(values[0] * values[-1])
    cut = sum(value <= middle for value in values)
    return cut if 0 < cut < len(values) else len(values) // 2


def largest(problem: Problem, leaves: Sequence[Leaf]) -> Worst:
    """The member with the largest loss; its upper bound holds for all of them."""
    return _Search(problem, _box_bound(problem)).run(leaves)


def _box_bound(problem: Problem) -> Callable[[Box, float], float]:
    """A bound on the loss of every chain of a box, given the largest loss found so far."""
    labels = layout(problem.releases, problem.gaps)
    if problem.ordered or not problem.plain:
        return lambda box, _: box_bound(box, labels, problem)
    if problem.adversary == "ignorant":
        # The loss falls in q and in r (docs/uncertain-chains.md).
        corner = MarkovChain.binary
        return lambda box, _: engines.loss(problem.on(corner(box[0], box[2]))).epsilon

    def tight(box: Box, best: float) -> float:
        try:
            return float(with_enough_bits(lambda: independent_bound(box, problem.channel, best)))
        except ChainveilError:
            # Boxes whose ends lie very far apart are bounded in another way, less tightly.
            return box_bound(box, labels, problem)

    return tight


@dataclass
class _Search:
    problem: Problem
    bound: Callable[[Box, float], float]
    best: Worst | None = None
    # The largest upper bound of a chain that was looked at; ``best`` has the largest lower one.
    upper: float = 0.0
    seen: set[Box] = field(default_factory=set)
    cuts: int = 0

    def run(self, leaves: Sequence[Leaf]) -> Worst:
        for leaf in first_looks(leaves):
            self._look(leaf, leaf.box)
        order, accepted = itertools.count(), 0.0
        open_ones = _unsettled(self.problem, leaves, self.upper)
        heap: list[tuple[float, int, _Group]] = []
        if open_ones:
            whole = _Group.of(open_ones)
            heap.append((-self._bound(whole), next(order), whole))
        for _ in range(MOST_LOOKS):
            if not heap or -heap[0][0] <= self.upper:
                break
            bound, _, group = heapq.heappop(heap)
            part_of_box = len(group.leaves) == 1
            if part_of_box and -bound <= self.upper + self._tolerance:
                accepted = max(accepted, -bound)
                continue
            for part in self._opened(group):
                heapq.heappush(heap, (-self._bound(part), next(order), part))
        left = -heap[0][0] if heap else 0.0
        assert self.best is not None
        epsilon = max(self.upper, accepted, left)
        return replace(self.best, loss=replace(self.best.loss, epsilon=epsilon))

    @property
    def _tolerance(self) -> float:
        return max(TOLERANCE, self.problem.effort.tolerance / 2)

    def _opened(self, group: _Group) -> list[_Group]:
        """The parts of a group that are still to be bounded; single chains are settled."""
        if len(group.leaves) == 1:
            # The slowest chain of a box is most often its worst: others are looked at now and then.
            self.cuts += 1
            box = group.leaves[0].box if self.cuts % LOOKS else group.box
            self._look(group.leaves[0], box)
        parts = []
        for part in group.parts():
            leaf = part.leaves[0]
            if len(part.leaves) == 1 and leaf.is_chain:
                self._look(leaf, leaf.box)
            else:
                parts.append(part)
        return parts

    def _bound(self, group: _Group) -> float:
        if len(group.leaves) == 1 and group.leaves[0].is_chain:
            return 0.0
        if math.isinf(self.upper):
            return self.upper
        if group.box[1] + group.box[3] >= 1:
            # No bound is known there: such a group is parted into members, which stay below.
            return math.inf
        return self.bound(group.box, 0.0 if self.best is None else self.best.loss.lower)

    def _look(self, leaf: Leaf, box: Box) -> None:
        """The exact loss of a chain, or of the slowest chain of a box."""
        if box in self.seen:
            return
        self.seen.add(box)
        chain = leaf.member if leaf.is_chain else MarkovChain.binary(box[0], box[2])
        found = engines.loss(self.problem.on(chain))
        self.upper = max(self.upper, found.epsilon)
        if self.best is None or found.lower > self.best.loss.lower:
            self.best = Worst(found, leaf.name, leaf.member, chain)


def _unsettled(problem: Problem, leaves: Sequence[Leaf], upper: float) -> list[Leaf]:
    """The leaves whose loss may be above ``upper``; of many chains most are settled at once."""
    chains = [leaf for leaf in leaves if leaf.is_chain]
    offered = problem.plain and not problem.ordered
    if not offered or len(chains) < MANY_CHAINS:
        return list(leaves)
    q, r = (np.array([leaf.box[place] for leaf in chains]) for place in (0, 2))
    bounded, channel = can_bound(q, r, problem.channel), problem.channel
    bounds = np.full(len(chains), np.inf)
    ignorant = problem.adversary == "ignorant"
    bounds[bounded] = loss_bounds(q[bounded], r[bounded], channel, ignorant=ignorant)
    settled = {leaf.name for leaf, bound in zip(chains, bounds, strict=True) if bound <= upper}
    return [leaf for leaf in leaves if leaf.name not in settled]


def slowest_loss(problem: Problem, leaf: Leaf) -> PrivacyLoss:
    """The loss of a chain, or of the slowest chain of a box."""
    chain = leaf.member if leaf.is_chain else MarkovChain.binary(leaf.box[0], leaf.box[2])
    return engines.loss(problem.on(chain))


def first_looks(leaves: Sequence[Leaf]) -> list[Leaf]:
    """Members that are likely to be the worst: those that change least often."""
    measures = (
        lambda leaf: leaf.box[0] + leaf.box[2],
        lambda leaf: leaf.box[0] * leaf.box[2],
        lambda leaf: leaf.box[0],
        lambda leaf: leaf.box[2],
    )
    return [min(leaves, key=measure) for measure in measures]
