"""The loss of a family: the largest of its members', each by the solver that answers for it.

Members are first bounded roughly; the bounds are brought close for those that may be the worst.
Families of two-state chains alone are answered by ``odds``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chainveil.errors import NotSupported
from chainveil.model.base import DataModel
from chainveil.privacy import engines
from chainveil.privacy.odds import loss as odds
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss


@dataclass(frozen=True)
class Worst:
    """A loss, the member that has it, and the chain that it is attained on."""

    loss: PrivacyLoss
    name: str
    member: DataModel
    chain: DataModel


# Distance of the bounds, in nats, to which searches bring them at first.
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
    rough = [_asked(problem, name, member) for name, member in named]
    lower = max(worst.loss.lower for worst in rough)
    found = []
    for worst in sorted(rough, key=lambda one: -one.loss.epsilon):
        if worst.loss.epsilon > lower and worst.loss.gap > (problem.tolerance or 0.0):
            worst = _sharp(problem, worst)
            lower = max(lower, worst.loss.lower)
        found.append(worst)
    return found


def _asked(problem: Problem, name: str, member: DataModel) -> Worst:
    """The loss of a member, roughly where it is searched for."""
    tolerance = max(problem.tolerance or 0.0, ROUGH)
    try:
        found = engines.loss(replace(_on(problem, member), tolerance=tolerance))
    except NotSupported as error:
        raise NotSupported(f"{name}: {error}") from None
    return Worst(found, name, member, found.chain or member)


def _on(problem: Problem, member: DataModel) -> Problem:
    """The problem of one member; steps are limited only where the bounds are searched for."""
    alone = problem.on(member)
    return replace(alone, effort=None) if odds.solves(alone) else alone


def _sharp(problem: Problem, worst: Worst) -> Worst:
    """The same with bounds as close as asked for; whichever of two upper bounds is lower."""
    found = engines.loss(_on(problem, worst.member))
    epsilon = min(found.epsilon, worst.loss.epsilon)
    found = replace(found, epsilon=epsilon, steps=found.steps + worst.loss.steps)
    return replace(worst, loss=found, chain=found.chain or worst.member)


def _joined(several: Sequence[Worst]) -> PrivacyLoss:
    """The largest upper bound, with the attack behind the largest lower one."""
    worst = max(several, key=lambda one: (one.loss.lower, one.loss.epsilon))
    epsilon = max(one.loss.epsilon for one in several)
    steps = sum(one.loss.steps for one in several)
    return replace(worst.loss, epsilon=epsilon, chain=worst.chain, member=worst.name, steps=steps)
