"""The loss of two states and independent noise: closed forms along each side, certified."""

from __future__ import annotations

import math

from chainveil.privacy.precision import is_narrow, with_enough_bits
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.rounding import down, up
from chainveil.privacy.two_state.binary import worst_case
from chainveil.privacy.two_state.setting import read_setting


def solves(problem: Problem) -> bool:
    """One chain of order 1 with two states, every report on its own."""
    model = problem.model
    one_chain = model.single and (model.states, model.order) == (2, 1)
    return one_chain and not problem.ordered and problem.plain


def loss(problem: Problem) -> PrivacyLoss:
    """The loss, in ball arithmetic with as many bits as it takes."""
    chain, channel = problem.chain, problem.channel
    points, who = problem.length, problem.adversary

    def attempt() -> PrivacyLoss | None:
        setting = read_setting(chain, channel)
        if setting.proofs and setting.has_secret(points, who):
            return PrivacyLoss(math.inf, math.inf, None, who, points)
        case = worst_case(setting, points, who)
        if case.upper.is_finite() and not is_narrow(case.upper):
            return None
        lower = max(down(case.lower), 0.0)
        return PrivacyLoss(up(case.upper), lower, None, who, points)

    return with_enough_bits(attempt)
