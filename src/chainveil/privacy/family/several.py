"""Noise that keeps the budget for a few models at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from chainveil.errors import NotSupported
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.model.family import ModelFamily
from chainveil.noise.base import Noise
from chainveil.privacy import engines
from chainveil.privacy.calibrate import least_noise
from chainveil.privacy.family.hush import LEFT, hushed
from chainveil.privacy.letters.shapes import cost
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss


@dataclass(frozen=True)
class Wanted:
    """Noise of a kind for some members of the family that ``problem`` is about.

    ``tried`` keeps what was found for single members.
    """

    kind: str
    problem: Problem
    members: Mapping[str, DataModel]
    aim: Aim
    tried: dict[tuple[str, Aim], Calibrated]

    @property
    def typical(self) -> DataModel:
        """The chain by which noise is weighed."""
        law: DataModel = self.problem.model.likeliest
        return law

    @property
    def left(self) -> float:
        """The share of the budget that may be left over: little where losses are exact."""
        exact = all(member.box is not None for member in self.members.values())
        return LEFT if exact else (self.problem.tolerance or 0.0) / self.aim.epsilon

    def worst(self, noise: Noise) -> PrivacyLoss:
        """The loss of the member that loses most, together with the earlier releases."""
        several = ModelFamily(list(self.members.values()), list(self.members), self.typical)
        return engines.loss(self.problem.on(several).with_release(noise))


def for_several(wanted: Wanted) -> Calibrated:
    """Noise for all members; the loss is that of the worst."""
    stand_ins = {name: first_order(member) for name, member in wanted.members.items()}
    alike = all(stand_ins[name] is member for name, member in wanted.members.items())
    found = _found_together(wanted, stand_ins)
    if found is not None and alike:
        return found
    if found is not None:
        return _quietened(wanted, found)
    some = [_quietened(wanted, one) for one in _one_by_one(wanted)]
    return min(some, key=lambda one: cost(wanted.typical, one.noise, wanted.aim))


def first_order(model: DataModel) -> DataModel:
    """The model itself, or in place of a chain of a higher order its law of two neighbours.

    Noise is looked for on the latter, and brought to the budget on the former.
    """
    if model.order == 1 or not model.single:
        return model
    start, move, value = model.hidden_chain()
    pairs = np.zeros((model.states, model.states))
    np.add.at(pairs, (value[:, None], value[None, :]), start[:, None] * move)
    return MarkovChain(pairs / pairs.sum(axis=1, keepdims=True))


def _found_together(wanted: Wanted, members: Mapping[str, DataModel]) -> Calibrated | None:
    """Noise of two states, found for all members at once; None where that is not offered."""
    if wanted.problem.model.states != 2:
        return None
    family = ModelFamily(list(members.values()), list(members), first_order(wanted.typical))
    return least_noise(wanted.kind, wanted.problem.on(family), wanted.aim)


def _one_by_one(wanted: Wanted) -> list[Calibrated]:
    """The noise that each member needs by itself, for those of which the kind is offered.

    Of noise of one number that of the member which needs most does for all.
    """
    found, refused = [], []
    for name in wanted.members:
        try:
            found.append(_alone(wanted, name))
        except NotSupported as error:
            refused.append(NotSupported(f"{name}: {error}"))
    if not found:
        raise refused[0]
    return found


def _alone(wanted: Wanted, name: str) -> Calibrated:
    key = name, wanted.aim
    if key not in wanted.tried:
        problem = wanted.problem.on(wanted.members[name])
        wanted.tried[key] = engines.least_noise(wanted.kind, problem, wanted.aim)
    return wanted.tried[key]


def _quietened(wanted: Wanted, found: Calibrated) -> Calibrated:
    """The noise, with as much more of it as the members ask for."""
    noise = hushed(
        found.noise, wanted.typical.stationary, lambda one: wanted.worst(one).epsilon,
        wanted.aim.epsilon, wanted.left,
    )  # fmt: skip
    return Calibrated(noise, wanted.worst(noise))
