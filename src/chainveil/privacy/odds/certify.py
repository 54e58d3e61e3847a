"""The certified loss of a two-state problem: what calibration, verification and users get alike."""

from __future__ import annotations

from typing import cast

import numpy as np

from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.model.family import ModelFamily
from chainveil.noise.automaton import Automaton, product
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.bounds import Bounds, replay
from chainveil.privacy.odds.loss import Question, bounds
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import FamilyLoss, PrivacyLoss, RegionLoss

# Relative distance at which the bounds of a loss are close enough. A plan keeps its budget with
# the upper one, so that noise is by about so much more than it need be.
TOLERANCE = 1e-4


def seen_together(problem: Problem) -> Automaton:
    """The noise of all releases."""
    return product([noise.automaton(problem.gaps) for noise in problem.releases])


def question(problem: Problem, model: DataModel, automaton: Automaton) -> Question:
    """What is asked about one chain of order 1, or one box of chains."""
    initial = getattr(model, "initial", None) if model.single else None
    opens = None if initial is None else (float(initial[0]), float(initial[1]))
    if model.box is not None and opens is None:
        box = tuple(float(end) for end in model.box)
    else:
        step = model.likeliest.transition
        q, r = float(step[0, 1]), float(step[1, 0])
        box = q, q, r, r
    length, who = problem.length, problem.adversary
    return Question(box, opens, automaton, problem.event, who, length)  # type: ignore[arg-type]


def loss(problem: Problem, tolerance: float = TOLERANCE) -> PrivacyLoss:
    """The loss of a two-state chain, of a box of chains, or of a family of both."""
    automaton = seen_together(problem)
    if problem.model.members == (problem.model,):
        found = bounds(question(problem, problem.model, automaton), tolerance)
        return wrapped(problem, problem.model, automaton, found)
    family = cast(ModelFamily, problem.model.without_covered())  # type: ignore[attr-defined]
    named = list(zip(family.names, family.members, strict=True))
    each = [bounds(question(problem, member, automaton), tolerance) for _, member in named]
    worst = max(range(len(each)), key=lambda i: (each[i].lower, each[i].upper))
    name, member = named[worst]
    own = wrapped(problem, member, automaton, each[worst])
    chain = own.chain if isinstance(own, RegionLoss) else member
    upper = max(found.upper for found in each)
    return FamilyLoss(upper, own.lower, own.witness, own.adversary, own.length, chain, name)


def wrapped(problem: Problem, model: DataModel, automaton: Automaton, found: Bounds) -> PrivacyLoss:
    """Bounds as what a user gets; of a box with the chain that the attack is on."""
    who: Adversary | str = problem.adversary
    facts = found.upper, found.lower, found.witness, who, problem.length
    if model.single:
        return PrivacyLoss(*facts)  # type: ignore[arg-type]
    assert model.box is not None
    q0, q1, r0, r1 = model.box
    corners = [MarkovChain.binary(q, r) for q in dict.fromkeys((q0, q1)) for r in {r0: 0, r1: 0}]
    chain = corners[0]
    if found.witness is not None:
        attack = found.witness
        chain = max(
            corners,
            key=lambda one: replay(
                (one.stationary, one.transition, np.arange(2)), automaton, attack
            ),
        )
    return RegionLoss(*facts, chain)  # type: ignore[arg-type]
