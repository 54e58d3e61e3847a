"""Budget in, least independent noise out. Checks its answer and errs on the private side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from chainveil.errors import UnreachableBudget
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.adversary import Adversary, Model
from chainveil.privacy.closed_form import HalfPlanes, least_ratio
from chainveil.privacy.loss import PrivacyLoss, privacy_loss, with_enough_bits
from chainveil.privacy.rounding import up
from chainveil.privacy.two_state.binary import one_direction
from chainveil.privacy.two_state.setting import Setting, extreme_ratios, read_setting

# Relative width at which the search for the noise level stops: as accurate as the losses.
WIDTH = 1e-10
# A log ratio below this is none at all for noise levels on a grid of 2^-53.
LEAST = 1e-18
# How much log ratio is given up, step by step, until the certified loss meets the budget.
RETREATS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)


@dataclass(frozen=True)
class Calibrated:
    """A channel within budget, its certified loss, and the half-planes it was chosen from.

    ``region`` is None for chains with q + r > 1, whose constraints are not half-planes.
    """

    channel: Channel
    loss: PrivacyLoss
    region: HalfPlanes | None


def least_noise(
    chain: MarkovChain,
    epsilon: float,
    length: int | None,
    adversary: Model | Adversary,
    weights: tuple[float, float],
    max_noise: float,
    spent: Sequence[Channel] = (),
) -> Calibrated:
    """The channel with least ``weights[0] * rho0 + weights[1] * rho1`` within the budget.

    ``spent`` are earlier releases of the same series; the budget holds for all together.
    """
    setting = read_setting(chain, Channel.binary(0.25, 0.25))
    if setting.q + setting.r > 1 and not setting.deterministic:
        from chainveil.privacy.two_state.calibrate_alternating import least_noise_alternating

        return least_noise_alternating(chain, epsilon, length, adversary, weights, max_noise, spent)
    logs = [_largest_log_ratio(setting, 0, epsilon, length, adversary)]
    if setting.q == setting.r and setting.stationary:
        logs *= 2  # the two directions are mirror images
    else:
        logs.append(_largest_log_ratio(setting, 1, epsilon, length, adversary))
    if spent:
        # The worst outputs of all releases multiply, so their log ratios add.
        logs = _what_is_left(logs, spent, epsilon)
    for retreat in RETREATS:
        log_u, log_w = (number * (1 - retreat) for number in logs)
        corners = polygon(log_u, log_w, max_noise)
        rho0, rho1 = min(corners, key=lambda rho: weights[0] * rho[0] + weights[1] * rho[1])
        channel = Channel.binary(rho0, rho1).on_grid()
        loss = privacy_loss(chain, [*spent, channel], length, adversary)
        if loss.epsilon <= epsilon:
            region = HalfPlanes(math.exp(-log_u), math.exp(-log_w))
            return Calibrated(channel, loss, region)
    raise UnreachableBudget(
        f"epsilon = {epsilon!r} cannot be met on this chain with noise probabilities on a grid "
        "of 2^-53; the chain is too close to a constant one"
    )


def _what_is_left(logs: list[float], spent: Sequence[Channel], epsilon: float) -> list[float]:
    """Largest log ratios of one more release, rounded down."""
    (high, _), (low, _) = extreme_ratios(Channel.joint(*spent))
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


def _largest_log_ratio(
    setting: Setting, value: int, epsilon: float, length: int | None, adversary: Model | Adversary
) -> float:
    """Largest log likelihood ratio of one output that keeps a direction within the budget."""
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


def largest_within(
    loss: Callable[[float], float], epsilon: float, guess: float, most: float
) -> float:
    """Largest x up to ``most`` with ``loss(x) <= epsilon``; ``loss`` increases from loss(0) = 0.

    The result is approached from below: its loss is within the budget. The Illinois
    method in log coordinates, where losses are nearly straight.
    """

    def excess(x: float) -> float:
        return math.log(max(loss(x), 1e-300) / epsilon)

    x = max(LEAST, min(guess, most))
    low = high = (x, excess(x))
    while low[1] > 0:
        high = low
        x = low[0] * math.exp(max(-2 * low[1], -7.0))
        if x < LEAST:
            return 0.0
        low = (x, excess(x))
    while high[1] <= 0:
        if high[0] >= most:
            return high[0]
        low = high
        x = min(most, high[0] * 1.01 * math.exp(min(-2 * high[1], 7.0)))
        high = (x, excess(x))
    return _illinois(excess, low, high)


def _illinois(
    excess: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]
) -> float:
    """Close a bracket (x, log excess) around the budget; returns its lower end."""
    (x_low, f_low), (x_high, f_high) = low, high
    side = 0
    for _ in range(100):
        if x_high - x_low <= WIDTH * x_high or f_low >= -WIDTH:
            break
        share = f_low / (f_low - f_high)
        x = x_low * (x_high / x_low) ** min(max(share, 1e-6), 1 - 1e-6)
        if not x_low < x < x_high:
            break
        f = excess(x)
        if f <= 0:
            x_low, f_low = x, f
            f_high = f_high / 2 if side == -1 else f_high
            side = -1
        else:
            x_high, f_high = x, f
            # The end that stays put weighs half, or the bracket would close from one side only.
            f_low = f_low / 2 if side == 1 else f_low
            side = 1
    return x_low
