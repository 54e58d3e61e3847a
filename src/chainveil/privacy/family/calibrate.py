"""Noise that keeps the budget for each member of a family.

Few members decide how much noise is needed. They are collected: noise is found for those that are
known, the loss of the whole family names the member that loses most under it, and that one is
added until none loses more than the budget. The loss of the answer is certified for every member.
For noise of one number the answer is the least; else it is the best that was found. Families of
two-state chains alone are answered by ``privacy/calibrate.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from chainveil.errors import ChainveilError, UnreachableBudget
from chainveil.model.base import DataModel
from chainveil.noise.base import Noise, noise_class
from chainveil.privacy import engines
from chainveil.privacy.family.hush import hushed
from chainveil.privacy.family.several import Wanted, first_order, for_several
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss

# How close searched losses come, as a share of the budget, and the steps that they may take; the
# same of noise that remembers, whose losses take longer.
TOLERANCE, STEPS = 2e-3, 25_000
ROUGH_TOLERANCE, FEW_STEPS = 2e-2, 8_000
# Members that are collected at most; then all are kept within the budget by more noise.
MOST_COLLECTED = 24
# What is kept back of the budget where bounds over boxes, and searched ones, are only so close.
RESERVES = (0.0, 1e-6, 1e-5, 1e-3, 1e-2)


def least_noise(kind: str, problem: Problem, aim: Aim) -> Calibrated:
    """Noise of a kind that keeps the budget for each member, and the loss of the family."""
    family = problem.model.without_covered()  # type: ignore[attr-defined]
    tolerance, steps = _limits(problem, kind, aim)
    asked = replace(problem, model=family, tolerance=tolerance, effort=steps)
    return _Collection(kind, asked, aim).run()


def _limits(problem: Problem, kind: str, aim: Aim) -> tuple[float, int]:
    """How close a loss comes that is searched for, and how many steps it may take."""
    remembers = noise_class(kind).sees != "point" or problem.ordered
    rough = problem.model.order != 1 and remembers
    share, steps = (ROUGH_TOLERANCE, FEW_STEPS) if rough else (TOLERANCE, STEPS)
    return min(max(share * aim.epsilon, 1e-9), 1.0), steps


@dataclass
class _Collection:
    kind: str
    problem: Problem
    aim: Aim
    deciding: list[str] = field(default_factory=list)
    tried: dict[tuple[str, Aim], Calibrated] = field(default_factory=dict)

    def run(self) -> Calibrated:
        """Collect members until the noise for them is enough for all."""
        self.deciding.append(self._first())
        aim, reserves = self.aim, iter(self._reserves())
        reserve = next(reserves)
        for _ in range(MOST_COLLECTED):
            found = for_several(self._wanted(replace(aim, epsilon=self.aim.epsilon - reserve)))
            # How often reports are made is chosen once.
            aim = replace(aim, every=found.noise.every)
            over = self._loss(found.noise)
            if over.epsilon <= self.aim.epsilon:
                return replace(found, loss=over)
            assert over.member is not None
            if over.member not in self.deciding:
                self.deciding.append(over.member)
                continue
            following = next(reserves, None)
            if following is None:
                break
            reserve = following
        return self._all(found.noise)

    def _reserves(self) -> list[float]:
        """What is kept back of the budget, step by step, where bounds are only so close."""
        most = self.aim.epsilon / 2
        single = all(member.single for member in self.problem.model.members)
        scaled = [step * min(1.0, self.aim.epsilon) for step in RESERVES]
        steps = scaled if single else [self.problem.tolerance or 0.0, *scaled[-2:]]
        return [min(step, most) for step in steps]

    def _wanted(self, aim: Aim) -> Wanted:
        family = self.problem.model
        members = {name: family[name] for name in self.deciding}  # type: ignore[index]
        return Wanted(self.kind, self.problem, members, aim, self.tried)

    def _loss(self, noise: Noise) -> PrivacyLoss:
        return engines.loss(self.problem.with_release(noise))

    def _first(self) -> str:
        """The member that loses most under noise for the typical chain, or else the first one."""
        family: DataModel = self.problem.model
        quick = replace(self.aim, every=1 if self.aim.every == "auto" else self.aim.every)
        try:
            alone = self.problem.on(first_order(family.likeliest))
            noise = engines.least_noise(self.kind, alone, quick).noise
            return str(self._loss(noise).member)
        except ChainveilError:
            # What cannot be done for it may still be done for the members.
            return str(family.names[0])  # type: ignore[attr-defined]

    def _all(self, noise: Noise) -> Calibrated:
        """More noise, until the whole family is within the budget."""
        weights = self.problem.model.stationary
        epsilon = self.aim.epsilon
        quiet = hushed(noise, weights, lambda one: self._loss(one).epsilon, epsilon, TOLERANCE)
        over = self._loss(quiet)
        if over.epsilon > epsilon:
            raise UnreachableBudget(
                f"epsilon = {epsilon!r} could not be certified for each member of the "
                f"family; it is {over.member} for which it could not"
            )
        return Calibrated(quiet, over)
