"""Budget in, least independent noise out. Checks its answer and errs on the private side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from chainveil.errors import InvalidInput, UnreachableBudget
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.closed_form import HalfPlanes, least_ratio
from chainveil.privacy.precision import with_enough_bits
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss
from chainveil.privacy.roots import largest_within, retreat
from chainveil.privacy.rounding import up
from chainveil.privacy.two_state.binary import one_direction
from chainveil.privacy.two_state.loss import loss as loss_of
from chainveil.privacy.two_state.setting import Setting, extreme_ratios, read_setting

# How much log ratio is given up, step by step, until the certified loss meets the budget.
RETREATS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)


def least_noise(problem: Problem, aim: Aim, weighed_by: MarkovChain | None = None) -> Calibrated:
    """The channel with least weighted noise within the budget.

    ``weighed_by`` is the chain whose shares of the states weigh the noise; by default the
    model itself.

    The releases of ``problem`` are earlier ones; the budget holds for all together.
    """
    chain = problem.chain
    weights = weights_of(chain if weighed_by is None else weighed_by, aim)
    if alternates(chain):
        from chainveil.privacy.two_state.calibrate_alternating import least_noise_alternating

        return least_noise_alternating(problem, aim, weights)
    logs = largest_log_ratios(problem, aim.epsilon)
    return least_within(logs, aim, weights, lambda noise: loss_of(problem.with_release(noise)))


def alternates(chain: MarkovChain) -> bool:
    """Whether the chain changes so often that the borders of the feasible noise curve."""
    setting = read_setting(chain, Channel.binary(0.25, 0.25))
    return setting.q + setting.r > 1 and not setting.deterministic


def largest_log_ratios(problem: Problem, epsilon: float) -> list[float]:
    """Largest log ratios of one more release that keep both directions within the budget.

    For chains that do not alternate the two directions bind apart from each other.
    """
    setting = read_setting(problem.chain, Channel.binary(0.25, 0.25))
    logs = [_largest_log_ratio(setting, 0, problem, epsilon)]
    if setting.q == setting.r and setting.stationary:
        logs *= 2  # the two directions are mirror images
    else:
        logs.append(_largest_log_ratio(setting, 1, problem, epsilon))
    # The worst outputs of all releases multiply, so their log ratios add.
    return _what_is_left(logs, problem, epsilon) if problem.releases else logs


def least_within(
    logs: Sequence[float],
    aim: Aim,
    weights: tuple[float, float],
    loss: Callable[[Channel], PrivacyLoss],
) -> Calibrated:
    """The least weighted noise with log ratios up to ``logs``, a little less where ``loss`` asks.

    ``loss`` is the certified one, of this noise together with earlier releases.
    """
    epsilon = aim.epsilon

    def attempt(given_up: float) -> Calibrated:
        log_u, log_w = (number * (1 - given_up) for number in logs)
        corners = polygon(log_u, log_w, aim.max_noise)
        rho0, rho1 = min(corners, key=lambda rho: weights[0] * rho[0] + weights[1] * rho[1])
        channel = Channel.binary(rho0, rho1).on_grid()
        planes = HalfPlanes(math.exp(-log_u), math.exp(-log_w))
        return Calibrated(channel, loss(channel), planes)

    found = retreat(RETREATS, attempt, epsilon)
    if found is None:
        raise UnreachableBudget(
            f"epsilon = {epsilon!r} cannot be met on this chain with noise probabilities on a "
            "grid of 2^-53; the chain is too close to a constant one"
        )
    return found


def weights_of(chain: MarkovChain, aim: Aim) -> tuple[float, float]:
    """What the two noise levels weigh in the objective."""
    if aim.family != "response":
        raise InvalidInput("family", aim.family, '"response" for two states', "It is the only one.")
    if aim.objective == "flips":
        return float(chain.stationary[0]), float(chain.stationary[1])
    if aim.objective == "estimate":
        return 1.0, 1.0
    raise InvalidInput("objective", aim.objective, '"flips" or "estimate" for two states')


def _what_is_left(logs: list[float], problem: Problem, epsilon: float) -> list[float]:
    """Largest log ratios of one more release, rounded down."""
    (high, _), (low, _) = extreme_ratios(problem.channel)
    used = [math.inf if not ratio else math.log(ratio) for ratio in (high, low and 1 / low)]
    left = [(log - use) * (1 - 1e-12) - 1e-15 for log, use in zip(logs, used, strict=True)]
    if min(left) <= 0:
        raise UnreachableBudget(
            f"spent: the earlier releases use up epsilon = {epsilon!r}; nothing is left for another"
        )
    return left


def polygon(log_u: float, log_w: float, max_noise: float) -> list[tuple[float, float]]:
    """Corners of the feasible noise in the square up to ``max_noise``.

    ``u = e^-log_u`` and ``w = e^-log_w`` are the half-planes. A linear objective has its
    minimum at one of the corners.
    """
    u, w = math.exp(-log_u), math.exp(-log_w)
    outside = -math.expm1(-(log_u + log_w))
    corners = [(max_noise, u * (1 - max_noise)), (w * (1 - max_noise), max_noise)]
    if outside > 0:
        meeting = w * -math.expm1(-log_u) / outside, u * -math.expm1(-log_w) / outside
        corners.insert(0, meeting)
    if max_noise <= 0.5:
        corners.append((max_noise, max_noise))
    feasible = [
        (rho0, rho1)
        for rho0, rho1 in corners
        if max(rho0, rho1) <= max_noise
        and rho1 >= u * (1 - rho0) * (1 - 1e-12)
        and rho0 >= w * (1 - rho1) * (1 - 1e-12)
    ]
    if not feasible:
        needed = max(u / (1 + u), w / (1 + w))
        raise UnreachableBudget(
            f"max_noise = {max_noise!r} is too small for this budget; "
            f"at least one noise level must reach {needed:.6g}"
        )
    return feasible


def _largest_log_ratio(setting: Setting, value: int, problem: Problem, epsilon: float) -> float:
    """Largest log likelihood ratio of one output that keeps a direction within the budget."""
    length, adversary = problem.length, problem.adversary
    if not setting.has_secret(length, adversary):
        return epsilon

    def loss(log_ratio: float) -> float:
        # One plus an exact float: small log ratios keep all their digits.
        ratio = 1 + Fraction(math.expm1(log_ratio))
        noisy = replace(setting, high=(ratio, 0), low=(1 / ratio, 1))
        return with_enough_bits(lambda: up(one_direction(noisy, value, length, adversary).upper))

    q, r = float(setting.q), float(setting.r)
    if value == 1:
        q, r = r, q
    guess = epsilon
    if q + r < 1 and adversary != "informed":
        guess = min(epsilon, -math.log(least_ratio(q, r, epsilon)))
    return largest_within(loss, epsilon, guess, epsilon)
