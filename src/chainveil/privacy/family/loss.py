"""The loss of a family: the largest of its members', each by the solver that answers for it.

Members are first bounded roughly; the bounds are brought close for those that may be the worst.
Families of two-state chains alone are answered by ``odds``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chainveil.errors import NotSupported
from chainveil.model.base import DataModel
from chainveil.privacy import engines
from chainveil.privacy.problem import Effort, Problem
from chainveil.privacy.result import PrivacyLoss


@dataclass(frozen=True)
class Worst:
    """A loss, the member that has it, and the chain that it is attained on."""

    loss: PrivacyLoss
    name: str
    member: DataModel
    chain: DataModel


# How close bounds are brought at first, as a share of the largest loss found.
ROUGH = 0.02


def solves(problem: Problem) -> bool:
    """A family, whatever its members; whether each is solved shows when it is asked for."""
    return engines.is_family(problem.model)


def loss(problem: Problem) -> PrivacyLoss:
    """The largest loss of any member, from above and from below."""
    model = problem.model.without_covered()  # type: ignore[attr-defined]
    named = list(zip(model.names, model.members, strict=True))
    return _joined(_one_by_one(problem, named))


def _one_by_one(problem: Problem, named: list[tuple[str, DataModel]]) -> list[Worst]:
    """The members that may be the worst, bounded as closely as is asked for."""
    clock = _Clock.of(problem.effort)
    rough = [_asked(problem, name, member, clock) for name, member in named]
    lower = max(worst.loss.lower for worst in rough)
    found = []
    for worst in sorted(rough, key=lambda one: -one.loss.epsilon):
        if worst.loss.epsilon > lower and _is_rough(problem, worst):
            worst = _sharp(problem, worst, clock)
            lower = max(lower, worst.loss.lower)
        found.append(worst)
    return found


def _asked(problem: Problem, name: str, member: DataModel, clock: _Clock) -> Worst:
    """The loss of a member, roughly where it is searched for."""
    width = min(max(problem.effort.tolerance, ROUGH), 1.0)
    effort = replace(clock.left(), tolerance=width)
    try:
        found = engines.loss(replace(problem.on(member), effort=effort))
    except NotSupported as error:
        raise NotSupported(f"{name}: {error}") from None
    return Worst(found, name, member, found.chain or member)


def _is_rough(problem: Problem, worst: Worst) -> bool:
    return worst.loss.gap > problem.effort.tolerance


def _sharp(problem: Problem, worst: Worst, clock: _Clock) -> Worst:
    """The same with bounds as close as asked for; whichever of two upper bounds is lower."""
    found = engines.loss(replace(problem.on(worst.member), effort=clock.left()))
    if found.epsilon > worst.loss.epsilon:
        found = replace(found, epsilon=worst.loss.epsilon)
    return replace(worst, loss=found, chain=found.chain or worst.member)


def _joined(several: Sequence[Worst]) -> PrivacyLoss:
    """The largest upper bound, with the attack behind the largest lower one."""
    worst = max(several, key=lambda one: (one.loss.lower, one.loss.epsilon))
    epsilon = max(one.loss.epsilon for one in several)
    return replace(worst.loss, epsilon=epsilon, chain=worst.chain, member=worst.name)


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
