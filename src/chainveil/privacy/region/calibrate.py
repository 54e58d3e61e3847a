"""Least noise that holds for every chain of a region."""

from __future__ import annotations

from dataclasses import replace

from chainveil.errors import UnreachableBudget
from chainveil.model.chain import MarkovChain
from chainveil.privacy.boxes import TOLERANCE
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.region.loss import loss as loss_of
from chainveil.privacy.result import Calibrated
from chainveil.privacy.roots import retreat
from chainveil.privacy.two_state.calibrate import least_noise as least_on_chain

# What is kept back of the budget, step by step, until the certified loss meets it.
RESERVES = (2 * TOLERANCE, 10 * TOLERANCE, 1e-4, 1e-2)


def least_noise(problem: Problem, aim: Aim) -> Calibrated:
    """Calibrate on the slowest chain, then certify the whole region.

    The slowest chain has always been the worst one where this was tried; the certificate
    does not lean on that.
    """
    region, epsilon = problem.region, aim.epsilon
    # Against any adversary the certificate is for all lengths, and so is the noise.
    points = None if problem.adversary == "any" else problem.length
    corner = replace(problem, model=MarkovChain.binary(*region.slowest), length=points)
    likely = region.likeliest

    def attempt(reserve: float) -> Calibrated:
        budget = epsilon - min(reserve, epsilon / 2)
        found = least_on_chain(corner, replace(aim, epsilon=budget), likely)
        return replace(found, loss=loss_of(problem.with_release(found.noise)))

    found = retreat(RESERVES, attempt, epsilon)
    if found is None:
        raise UnreachableBudget(f"epsilon = {epsilon!r} could not be certified on the whole region")
    return found
