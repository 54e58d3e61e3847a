"""Certified bounds on the loss for any number of states, independent and sticky noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.noise.base import Noise
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.bounds import Attack
from chainveil.privacy.letters.attack import in_letters, written_out
from chainveil.privacy.letters.numbers import read_numbers
from chainveil.privacy.letters.search import Search
from chainveil.privacy.letters.sides import Script
from chainveil.privacy.problem import Effort, Problem
from chainveil.privacy.result import PrivacyLoss

# Distances at which bounds are tried in turn, as shares of the loss, and the last one, in nats.
WIDTHS, TOLERANCE = (2e-2, 2e-3, 2e-4, 0.0), 1e-7
STEPS = 500_000  # nodes, where no number is asked for; a second or two


def solves(problem: Problem) -> bool:
    """One chain of order 1, reports that see their own point and at most the last report."""
    model = problem.model
    looks_back = any(noise.sees == "series" for noise in problem.releases)
    return model.single and model.order == 1 and problem.unit == 1 and not looks_back


def loss(problem: Problem) -> PrivacyLoss:
    """Both bounds, brought as close as the effort allows.

    They come closer step by step: a search that begins with a small tolerance may spend all its
    steps on one part of the bound and leave the others far apart.
    """
    closing, steps = Closing(problem), STEPS if problem.effort is None else problem.effort
    if problem.tolerance is not None:
        return closing.to(Effort(problem.tolerance, steps))
    best = found = closing.to(Effort(WIDTHS[0], steps))
    for width in WIDTHS[1:]:
        tolerance = max(width * found.lower, TOLERANCE)
        if found.gap > tolerance and found.steps < steps:
            found = closing.to(Effort(tolerance, steps))
            best = replace(found, epsilon=min(best.epsilon, found.epsilon))
    return best


class Closing:
    """A loss whose bounds are brought together step by step."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        script = Script(
            read_numbers(problem.chain, problem.releases), problem.releases, problem.gaps
        )
        self._search = Search(script, problem.adversary, problem.length, Effort(WIDTHS[0]))
        self._known: tuple[Attack, float] | None = None

    def begin_with(self, attack: Attack) -> None:
        """Take note of an attack before the search: what is worth less does not matter."""
        value = _replayed(attack, self.problem)
        if math.isfinite(value) and value > self._search.low:
            self._search.low, self._known = value, (attack, value)
            search = self._search
            if spelled := in_letters(search.script, search.spellings, attack):
                self._search.begin_with((attack.value[0], attack.other[0]), *spelled)

    @property
    def nodes(self) -> int:
        """Words that got a node so far."""
        return self._search.made

    def others(self, above: float, most: int) -> list[Attack]:
        """Attacks on other values than those of the best one, if they attain so much."""
        search = self._search
        found = (
            written_out(self.problem, search.script, one) for one in search.others(above, most)
        )
        return [attack for attack in found if attack is not None]

    def to(self, effort: Effort, enough: float = math.inf) -> PrivacyLoss:
        """Both bounds as close as the effort allows, unless the lower one is above ``enough``."""
        problem = self.problem
        if problem.adversary == "informed" and _position_matters(problem):
            return _informed(problem, effort)
        if all(_hides_all(noise) for noise in problem.releases):
            return PrivacyLoss(0.0, 0.0, None, problem.adversary, problem.length)
        self._search.effort = effort
        found = self._search.run(enough)
        attack = found.attack
        witness = None if attack is None else written_out(problem, self._search.script, attack)
        lower = 0.0 if witness is None else _replayed(witness, problem)
        if self._known is not None and self._known[1] > lower:
            witness, lower = self._known
        upper = max(found.upper, lower)
        nothing = lower == 0.0 == upper
        return PrivacyLoss(
            upper, lower, None if nothing else witness, problem.adversary, problem.length,
            steps=found.nodes,
        )  # fmt: skip


def _hides_all(noise: Noise) -> bool:
    """Whether no report depends on its point: on a periodic chain no other noise has a bound."""
    first, then = noise.first_law(), noise.step_law()
    return bool(np.all(first == first[:1]) and np.all(then == then[:, :1, :1]))


def _position_matters(problem: Problem) -> bool:
    """Whether what a known point can be depends on where it stands."""
    return problem.length is not None and problem.chain.initial is not None


def _informed(problem: Problem, effort: Effort) -> PrivacyLoss:
    """The worst target of somebody who knows all others, position by position.

    Between its first points and its last one a chain has shown all that it can be.
    """
    points = problem.length or 1
    settled = problem.releases[0].every * (2 * problem.model.states**2 + 4)
    places = {*range(min(points, settled)), points - 1}
    found = []
    for place in sorted(places):
        beside = [other for other in (place - 1, place + 1) if 0 <= other < points]
        found.append(Closing(replace(problem, adversary=Adversary(place, beside))).to(effort))
    worst = max(found, key=lambda one: one.lower)
    upper, steps = max(one.epsilon for one in found), sum(one.steps for one in found)
    return replace(worst, epsilon=upper, adversary=problem.adversary, steps=steps)


def _replayed(witness: Attack, problem: Problem) -> float:
    """What the attack attains; nothing where it cannot happen as it is written out."""
    try:
        value = problem.replay(witness)
    except InvalidInput:
        return 0.0
    return 0.0 if math.isnan(value) else max(0.0, value)
