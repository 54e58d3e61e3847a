"""The loss of a family: the largest of its members', each by the engine that solves it.

Two-state chains of order 1, and boxes of them, are looked through together (``tree``): a box
around many of them is bounded at once, and most are never looked at one by one. All other members
are first bounded roughly; the bounds are brought close for those that may be the worst.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from chainveil.errors import NotSupported
from chainveil.model.base import DataModel
from chainveil.privacy import engines
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.family.tree import Leaf, Worst, largest
from chainveil.privacy.family.witness import MemberWitness
from chainveil.privacy.problem import Effort, Problem
from chainveil.privacy.result import FamilyLoss, PrivacyLoss
from chainveil.privacy.witness import DescribedAttack, Witness

# How close bounds are brought at first, as a share of the largest loss found.
ROUGH = 0.02


def solves(problem: Problem) -> bool:
    """A family, whatever its members; whether each is solved shows when it is asked for."""
    return engines.is_family(problem.model)


def loss(problem: Problem) -> FamilyLoss:
    """The largest loss of any member, from above and from below."""
    model = problem.model.without_covered()  # type: ignore[attr-defined]
    named = list(zip(model.names, model.members, strict=True))
    together = [Leaf.of(name, member) for name, member in named if _in_tree(problem, member)]
    alone = [(name, member) for name, member in named if not _in_tree(problem, member)]
    found = [largest(problem, together)] if together else []
    best = max(found, key=lambda worst: worst.loss.lower, default=None)
    found += _one_by_one(problem, alone, best)
    return _joined(found)


def witness(attack: DescribedAttack) -> Witness:
    """An attack is described on one member, whose engine reads it."""
    raise NotSupported("an attack on a family is one on a member; name the member's chain")


def _in_tree(problem: Problem, member: DataModel) -> bool:
    """Whether a box around the member and others can be bounded at once."""
    box, who = member.box, problem.adversary
    named = isinstance(who, Adversary) or who == "informed"
    small = box is not None and box[1] + box[3] < 1
    return small and problem.event == 1 and not named


def _one_by_one(
    problem: Problem, named: list[tuple[str, DataModel]], best: Worst | None
) -> list[Worst]:
    """The members that may be the worst, bounded as closely as is asked for."""
    clock = _Clock.of(problem.effort)
    rough = [_asked(problem, name, member, clock, best) for name, member in named]
    lower = max([worst.loss.lower for worst in rough], default=0.0)
    lower = lower if best is None else max(lower, best.loss.lower)
    found = []
    for worst in sorted(rough, key=lambda one: -one.loss.epsilon):
        if worst.loss.epsilon > lower and _is_rough(problem, worst):
            worst = _sharp(problem, worst, clock)
            lower = max(lower, worst.loss.lower)
        found.append(worst)
    return found


def _asked(
    problem: Problem, name: str, member: DataModel, clock: _Clock, best: Worst | None
) -> Worst:
    """The loss of a member, roughly where it is searched for."""
    scale = 1.0 if best is None else max(best.loss.lower, 1e-6)
    width = min(max(problem.effort.tolerance, ROUGH * scale), 1.0)
    effort = replace(clock.left(), tolerance=width)
    try:
        found = engines.loss(replace(problem.on(member), effort=effort))
    except NotSupported as error:
        raise NotSupported(f"{name}: {error}") from None
    return Worst(found, name, member, getattr(found, "chain", member))


def _is_rough(problem: Problem, worst: Worst) -> bool:
    return worst.loss.gap > problem.effort.tolerance


def _sharp(problem: Problem, worst: Worst, clock: _Clock) -> Worst:
    """The same with bounds as close as asked for; whichever of two upper bounds is lower."""
    found = engines.loss(replace(problem.on(worst.member), effort=clock.left()))
    if found.epsilon > worst.loss.epsilon:
        found = replace(found, epsilon=worst.loss.epsilon)
    return replace(worst, loss=found, chain=getattr(found, "chain", worst.member))


def _joined(found: Iterable[Worst]) -> FamilyLoss:
    """The largest upper bound, with the attack behind the largest lower one."""
    several = list(found)
    worst = max(several, key=lambda one: (one.loss.lower, one.loss.epsilon))
    epsilon = max(one.loss.epsilon for one in several)
    attack = _named(worst)
    return FamilyLoss(
        epsilon, worst.loss.lower, attack, worst.loss.adversary, worst.loss.length,
        worst.chain, worst.name,
    )  # fmt: skip


def _named(worst: Worst) -> Witness | None:
    attack: PrivacyLoss = worst.loss
    if attack.witness is None:
        return None
    return MemberWitness.on(attack.witness, worst.name, worst.chain)


@dataclass(frozen=True)
class _Clock:
    """How long searches may still take, all of them together."""

    effort: Effort
    end: float

    @classmethod
    def of(cls, effort: Effort) -> _Clock:
        seconds = math.inf if effort.max_seconds is None else effort.max_seconds
        return cls(effort, time.monotonic() + seconds)

    def left(self) -> Effort:
        """The effort with the time that is left, a moment at least."""
        if math.isinf(self.end):
            return self.effort
        return replace(self.effort, max_seconds=max(self.end - time.monotonic(), 0.05))
