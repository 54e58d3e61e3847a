"""Certified bounds on the loss for any number of states, independent and sticky noise."""

from __future__ import annotations

from chainveil.privacy.letters.attack import written_out
from chainveil.privacy.letters.numbers import read_numbers
from chainveil.privacy.letters.search import Search
from chainveil.privacy.letters.sides import Script
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss


def solves(problem: Problem) -> bool:
    """One chain of order 1, reports that see their own point and at most the last report."""
    model = problem.model
    looks_back = any(noise.sees == "series" or noise.delay for noise in problem.releases)
    return model.single and model.order == 1 and problem.event == 1 and not looks_back


def loss(problem: Problem) -> PrivacyLoss:
    """Both bounds, brought as close as the effort allows."""
    releases = problem.releases
    script = Script(read_numbers(problem.chain, releases), releases, problem.gaps)
    search = Search(script, problem.adversary, problem.length, problem.effort)
    found = search.run()
    witness = None if found.attack is None else written_out(problem, script, found.attack)
    lower = 0.0 if witness is None else max(0.0, witness.replay(problem.chain, problem.seen))
    upper = max(found.upper, lower)
    return PrivacyLoss(upper, lower, witness, problem.adversary, problem.length)
