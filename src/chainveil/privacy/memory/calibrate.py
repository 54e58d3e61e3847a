"""The best kernel found within a budget: sticky, tracking, and channels that report rarely.

The loss is the largest of a few smooth functions of the kernel (one for each label, direction
and beginning of the two sides), so the search is sequential quadratic programming with so many
constraints, from several starts, since there is more than one local optimum. The result is the
best one found, not proved to be least. Its privacy is certified, for exactly the numbers
returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported, UnreachableBudget
from chainveil.privacy import engines
from chainveil.privacy.memory.objective import Rhythm
from chainveil.privacy.memory.quest import MOST, SHAPES, Form, Quest
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated
from chainveil.privacy.roots import retreat

# Steps of the search from one start, and the progress at which it ends.
MOST_STEPS, PROGRESS = 80, 1e-9
# Width of the differences that stand for derivatives, in logits.
DIFFERENCE = 1e-6
# How far below the budget a search aims, relative to it, and what is given up on top, as a share
# of the way to a kernel that says nothing, until the certified loss is within the budget.
MARGIN = 1e-9
GIVEN_UP = (0.0, *(10.0**-power for power in range(12, 1, -1)))
# The most points to a report that a search for the best number looks at, in times that the
# chain takes to forget.
MOST_FORGOTTEN = 6.0

Point = FloatArray


def least_independent(problem: Problem, aim: Aim) -> Calibrated:
    """Independent noise that reports rarely, or guards an event."""
    return _least("independent", problem, aim)


def least_sticky(problem: Problem, aim: Aim) -> Calibrated:
    """Sticky noise."""
    return _least("sticky", problem, aim)


def least_tracking(problem: Problem, aim: Aim) -> Calibrated:
    """Tracking noise."""
    return _least("tracking", problem, aim)


def _least(form: Form, problem: Problem, aim: Aim) -> Calibrated:
    _check(form, problem, aim)
    found = [_best_rhythm(form, problem, replace(aim, delay=delay)) for delay in _delays(form, aim)]
    quest, ones = min(found, key=lambda pair: pair[0].goal(pair[1]))
    return _certified(quest, ones)


def _delays(form: Form, aim: Aim) -> tuple[int, ...]:
    if form != "tracking" and aim.delay not in (0, "best"):
        raise InvalidInput("delay", aim.delay, "0, except for tracking noise")
    if aim.delay == "best":
        return (0, 1) if form == "tracking" and aim.objective == "flips" else (0,)
    return (int(aim.delay),)


def _check(form: Form, problem: Problem, aim: Aim) -> None:
    """Error where something is asked for that the form does not have."""
    model = problem.model
    if (model.states, model.order) != (2, 1):
        raise NotSupported(
            f"mechanism: {form} noise of this kind is calibrated for chains of order 1 with two "
            f"states; found {model.states} states. Use independent noise on every point."
        )
    if (aim.max_noise, aim.family) != (0.5, "response"):
        raise InvalidInput("max_noise, family", "others", f"the defaults, for {form} noise")
    allowed = ("flips", "estimate", "decoded")
    if aim.objective not in allowed or (form == "tracking" and aim.objective == "estimate"):
        raise InvalidInput(
            "objective", aim.objective,
            '"flips" or "decoded"' if form == "tracking" else " or ".join(map(repr, allowed)),
            "Reports of tracking noise do not identify a point." if form == "tracking" else "",
        )  # fmt: skip
    if form == "tracking" and aim.every not in (1, "best"):
        raise InvalidInput("every", aim.every, "1 for tracking noise, which follows changes")


def _quest(form: Form, problem: Problem, aim: Aim, every: int) -> Quest:
    chain = problem.model.likeliest
    q, r = float(chain.transition[0, 1]), float(chain.transition[1, 0])
    corners = ((q, r),) if problem.model.single else _corners(problem)
    return Quest(problem, aim, form, Rhythm(q, r, every, int(aim.delay)), corners)


def _corners(problem: Problem) -> tuple[tuple[float, float], ...]:
    """The slowest chain of a box, for which most noise is needed wherever that was tried."""
    region = problem.region
    q, r = region.slowest
    return ((float(q), float(r)),)


def _best_rhythm(form: Form, problem: Problem, aim: Aim) -> tuple[Quest, FloatArray]:
    """The quest and its best kernel, over how many points there are to a report."""
    if aim.every != "best" or form == "tracking":
        quest = _quest(form, problem, aim, 1 if aim.every == "best" else int(aim.every))
        return quest, _best_kernel(quest)
    tried: dict[int, tuple[Quest, FloatArray]] = {}

    def error(every: int) -> float:
        if every not in tried:
            quest = _quest(form, problem, aim, every)
            near = min(tried, key=lambda other: abs(other - every), default=None)
            warm = None if near is None else tried[near][1]
            tried[every] = quest, _best_kernel(quest, warm)
        quest, ones = tried[every]
        return quest.goal(ones)

    _descend(error, _most_every(problem))
    best = min(tried, key=error)
    return tried[best]


def _most_every(problem: Problem) -> int:
    chain = problem.model.likeliest
    forgets = -math.log(max(abs(1 - chain.transition[0, 1] - chain.transition[1, 0]), 1e-3))
    longest = problem.length or math.inf
    return max(1, int(min(MOST_FORGOTTEN / forgets, longest, 10_000)))


def _descend(error: Callable[[int], float], most: int) -> None:
    """Look at numbers that grow by half, then around the best of them in smaller steps."""
    places = sorted({min(most, round(1.5**power)) for power in range(40)})
    best = min(places[0], most)
    worse = 0
    for place in places:
        if error(place) < error(best):
            best, worse = place, 0
        else:
            worse += place != best
        if worse >= 3:
            break
    step = max(1, best // 4)
    while True:
        near = [place for place in (best - step, best + step) if 1 <= place <= most]
        better = min([best, *near], key=error)
        if better != best:
            best = better
        elif step == 1:
            return
        else:
            step = max(1, step // 2)


def _best_kernel(quest: Quest, warm: FloatArray | None = None) -> FloatArray:
    """The best kernel over several starts, brought to the budget."""
    starts = [warm] if warm is not None else list(_starts(quest))
    found = [_to_budget(quest, _improve(quest, ones)) for ones in starts]
    best = min(found, key=quest.goal)
    return _refine(quest, best) if quest.aim.objective == "decoded" else best


def _starts(quest: Quest) -> Iterator[FloatArray]:
    """Kernels to start from: repeat the last report with some probability, else answer afresh.

    Tracking has two branches, which lean on the state before with different signs.
    """
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


def _improve(quest: Quest, ones: FloatArray) -> FloatArray:
    """Sequential quadratic programming from one start."""
    from scipy.optimize import minimize

    aim = replace(quest.aim, objective="flips") if quest.aim.objective == "decoded" else None
    smooth = quest if aim is None else replace(quest, aim=aim)

    def goal(logits: FloatArray) -> float:
        return smooth.goal(smooth.spread(logits))

    def room(logits: FloatArray) -> FloatArray:
        return -quest.excess(quest.spread(logits))

    def slope(function: Callable[[FloatArray], FloatArray | float]) -> Callable[..., FloatArray]:
        def derivatives(logits: FloatArray) -> FloatArray:
            here = np.asarray(function(logits))
            steps = DIFFERENCE * np.eye(len(logits))
            return np.stack(
                [(np.asarray(function(logits + step)) - here) / DIFFERENCE for step in steps], -1
            )

        return derivatives

    start = quest.gather(_to_budget(quest, ones))
    result = minimize(
        goal, start, jac=slope(goal), method="SLSQP", bounds=[(-MOST, MOST)] * len(start),
        constraints=[{"type": "ineq", "fun": room, "jac": slope(room)}],
        options={"maxiter": MOST_STEPS, "ftol": PROGRESS},
    )  # fmt: skip
    return quest.spread(result.x if np.all(np.isfinite(result.x)) else start)


def blended(quest: Quest, ones: FloatArray, share: float) -> FloatArray:
    """A share of the way to the kernel that says nothing about the states."""
    axes = tuple(axis for axis, size in enumerate(SHAPES[quest.form]) if axis > 0 or size == 1)
    silent = ones.mean(axis=axes, keepdims=True)
    return np.asarray(np.clip((1 - share) * ones + share * silent, 1e-13, 1 - 1e-13))


def _to_budget(quest: Quest, ones: FloatArray) -> FloatArray:
    """The kernel brought as close to the budget as it goes, towards silence or away from it."""
    goal = -MARGIN * max(1.0, quest.aim.epsilon)

    def excess(share: float) -> float:
        return float(quest.excess(blended(quest, ones, share)).max()) - goal

    here = excess(0.0)
    inside, outside = (0.0, -1e-3) if here <= 0 else (1.0, 0.0)
    if here <= 0:
        # Away from silence, as long as there is room and probabilities stay what they are.
        while outside > -0.5 and excess(outside) <= 0:
            inside, outside = outside, outside * 4
        if outside <= -0.5:
            return blended(quest, ones, inside)
    for _ in range(60):
        if abs(inside - outside) <= 1e-13 * max(abs(inside), 1e-3):
            break
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if excess(middle) <= 0 else (inside, middle)
    return blended(quest, ones, inside)


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
                tried = _to_budget(quest, quest.spread(logits))
                if quest.goal(tried) < error - 1e-7:
                    best, error, moved = tried, quest.goal(tried), True
        step = step if moved else step / 2
    return best


def _certified(quest: Quest, ones: FloatArray) -> Calibrated:
    """The noise with its exact loss; a little is given up where that is above the budget."""

    def attempt(share: float) -> Calibrated:
        noise = quest.noise(blended(quest, ones, share))
        return Calibrated(noise, engines.loss(quest.problem.with_release(noise)))

    found = retreat(GIVEN_UP, attempt, quest.aim.epsilon)
    if found is None:
        raise UnreachableBudget(
            f"epsilon = {quest.aim.epsilon!r} could not be certified for {quest.form} noise; the "
            "earlier releases may have spent it"
        )
    return found
