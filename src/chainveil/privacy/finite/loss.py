"""Certified bounds on the loss for any number of states and independent noise."""

from __future__ import annotations

from chainveil.errors import InvalidInput
from chainveil.privacy.finite.state import SearchBudget, finite_state_loss
from chainveil.privacy.finite.witness import SequenceWitness
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.witness import DescribedAttack


def solves(problem: Problem) -> bool:
    """One chain of order 1, every report on its own."""
    one_chain = problem.model.single and problem.model.order == 1
    return one_chain and not problem.ordered and problem.plain


def loss(problem: Problem) -> PrivacyLoss:
    """Both bounds, brought as close as the effort allows."""
    limits = problem.effort
    effort = SearchBudget(limits.tolerance, limits.max_nodes, limits.max_seconds)
    who, points = problem.adversary, problem.length
    case = finite_state_loss(problem.chain, problem.channel, points, who, effort)
    return PrivacyLoss(case.upper, case.lower, case.witness, who, points)


def witness(attack: DescribedAttack) -> SequenceWitness:
    """The attack as it is described, point by point."""
    if attack.symbols:
        raise InvalidInput("witness symbols", "a pattern", "none, for more than two states")
    return SequenceWitness(*attack.place, tuple(attack.output().tolist()))
