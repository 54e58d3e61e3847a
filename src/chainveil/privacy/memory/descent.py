"""The best kernel for a quest: sequential quadratic programming, from several starts.

The loss is the largest of a few smooth functions of the kernel (one for each label, direction
and beginning of the two sides), each a constraint; there is more than one local optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.memory.quest import MOST, Quest
from chainveil.privacy.roots import close_bracket, straight

# Steps of the search from one start, and the progress at which it ends.
MOST_STEPS, PROGRESS = 80, 1e-8
# Width of the differences that stand for derivatives, in logits.
DIFFERENCE = 1e-6
# How far below the budget a search aims, relative to it.
MARGIN = 1e-9
# A first look ends after so many steps, or at this progress.
FEW_STEPS, LITTLE_PROGRESS = 20, 1e-6
# On chains that forget less than this from point to point, a search is made on one that forgets
# so much.
HANDY_PACE = 0.04


def best_kernel(quest: Quest, starts: Sequence[FloatArray] | None = None) -> FloatArray:
    """The best kernel over several starts, brought to the budget."""
    starts = list(starts_of(quest)) if starts is None else starts
    found = [to_budget(quest, improve(quest, ones)) for ones in starts]
    best = min(found, key=quest.goal)
    return _refine(quest, best) if quest.aim.objective == "decoded" else best


def starts_of(quest: Quest) -> Iterator[FloatArray]:
    """Kernels to start from: repeat the last report with some probability, else answer afresh.

    Tracking has two branches, which lean on the state before with different signs.
    """
    if quest.form == "correlated":
        for flips, both in ((0.3, 0.4), (0.3, 1.4), (0.3, 1.0)):
            chances = np.array([flips, 1 - flips]) * both
            yield quest.spread(np.log(chances / (1 - chances)))
        return
    pace = 1 - (1 - min(1.0, quest.rhythm.q + quest.rhythm.r)) ** quest.rhythm.every
    answer = np.array([0.25, 0.75])
    fresh_shares = (1.0,) if quest.form == "independent" else (min(1.0, 4 * pace), pace)
    for fresh in fresh_shares:
        ones = np.empty((2, 2, 2))
        for last in range(2):
            ones[last] = (1 - fresh) * last + fresh * answer
        yield np.clip(ones, 1e-12, 1 - 1e-12)
    if quest.form == "tracking":
        lean = np.array([[0.5, -0.5], [-0.5, 0.5]])
        for sign in (1.0, -1.0):
            logits = quest.gather(ones) + sign * np.tile(lean.ravel(), 2)
            yield quest.spread(logits)


def improve(
    quest: Quest, ones: FloatArray, steps: int = MOST_STEPS, progress: float = PROGRESS
) -> FloatArray:
    """Sequential quadratic programming from one start."""
    from scipy.optimize import minimize

    aim = replace(quest.aim, objective="flips") if quest.aim.objective == "decoded" else None
    smooth = quest if aim is None else replace(quest, aim=aim)

    def goal(logits: FloatArray) -> float:
        return smooth.goal(smooth.spread(logits))

    def room(logits: FloatArray) -> FloatArray:
        return -quest.excess(quest.spread(logits))

    start = quest.gather(to_budget(quest, ones))
    (goal_at, goal_slope), (room_at, room_slope) = _with_slope(goal), _with_slope(room)
    result = minimize(
        goal_at, start, jac=goal_slope, method="SLSQP", bounds=[(-MOST, MOST)] * len(start),
        constraints=[{"type": "ineq", "fun": room_at, "jac": room_slope}],
        options={"maxiter": steps, "ftol": progress},
    )  # fmt: skip
    return quest.spread(result.x if np.all(np.isfinite(result.x)) else start)


def _with_slope(
    function: Callable[[FloatArray], FloatArray | float],
) -> tuple[Callable[[FloatArray], Any], Callable[[FloatArray], FloatArray]]:
    """A function and its derivatives by differences, shape (…, logits)."""

    # Both are asked for at the same place, one after the other.
    @lru_cache(maxsize=1)
    def at(logits: bytes) -> Any:
        return function(np.frombuffer(logits))

    def value(logits: FloatArray) -> Any:
        return at(logits.tobytes())

    def slope(logits: FloatArray) -> FloatArray:
        here = np.asarray(value(logits))
        steps = DIFFERENCE * np.eye(len(logits))
        return np.stack(
            [(np.asarray(function(logits + step)) - here) / DIFFERENCE for step in steps], -1
        )

    return value, slope


def blended(quest: Quest, ones: FloatArray, share: float) -> FloatArray:
    """A share of the way to the kernel that says nothing about the states.

    That one reports after each last report as often as the kernel does on average.
    """
    if quest.form == "correlated":
        return quest.mixed(ones, share)
    move, kernel = quest.rhythm.move, np.stack([1 - ones, ones], axis=-1)
    weights = quest.rhythm.long_run(kernel)[:, :, None] * move[None]
    silent = (weights * ones).sum(axis=(1, 2)) / weights.sum(axis=(1, 2))
    if quest.form == "independent":
        silent = np.full(2, float((weights * ones).sum()))
    if quest.rhythm.every == 1 and is_slow(quest):
        # Mixed as logarithms, a kernel that is balanced stays so.
        leave = np.stack([ones[0], 1 - ones[1]])
        rates = np.array([silent[0], 1 - silent[1]])[:, None, None]
        turned = leave ** (1 - share) * rates**share
        mixed = np.stack([turned[0], 1 - turned[1]])
    else:
        mixed = (1 - share) * ones + share * silent[:, None, None]
    return np.asarray(np.clip(mixed, 1e-13, 1 - 1e-13))


def is_slow(quest: Quest) -> bool:
    """Whether the kernel comes from a faster chain than the quest is about."""
    return quest.form != "independent" and quest.slowest < HANDY_PACE


def to_budget(quest: Quest, ones: FloatArray) -> FloatArray:
    """The kernel brought as close to the budget as it goes, towards silence or away from it."""
    goal = -MARGIN * max(1.0, quest.aim.epsilon)

    def excess(share: float) -> float:
        return float(quest.excess(blended(quest, ones, share)).max()) - goal

    here = (0.0, excess(0.0))
    if -2 * abs(goal) <= here[1] <= 0:
        return blended(quest, ones, 0.0)
    # The loss falls nearly in proportion to the share of silence.
    step = here[1] / max(quest.aim.epsilon, 1e-12) * 1.2
    inside, outside = (here, None) if here[1] <= 0 else (None, here)
    for _ in range(40):
        place = min(max(step, -0.9), 1.0)
        there = (place, excess(place))
        inside, outside = (there, outside) if there[1] <= 0 else (inside, there)
        if (inside and outside) or abs(place) >= 0.9:
            break
        step *= 3
    if inside is None or outside is None:
        return blended(quest, ones, inside[0] if inside else 1.0)
    share = close_bracket(
        lambda place: excess(-place), (-inside[0], inside[1]), (-outside[0], outside[1]),
        lambda low, high: low[1] >= 2 * goal or high[0] - low[0] <= 1e-14, straight,
    )  # fmt: skip
    return blended(quest, ones, -share)


def _refine(quest: Quest, ones: FloatArray) -> FloatArray:
    """Look around in the logits, one at a time, with each kernel brought to the budget."""
    best, error = ones, quest.goal(ones)
    step = 0.3
    while step > 0.02:
        moved = False
        for place in range(len(quest.gather(best))):
            for sign in (1.0, -1.0):
                logits = quest.gather(best)
                logits[place] += sign * step
                tried = to_budget(quest, quest.spread(logits))
                if quest.goal(tried) < error - 1e-7:
                    best, error, moved = tried, quest.goal(tried), True
        step = step if moved else step / 2
    return best
