"""The best kernel found within a budget: sticky, tracking, and channels that report rarely.

The result is the best one found (``descent``), not proved to be least. Its privacy is certified,
for exactly the numbers returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported, UnreachableBudget
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.privacy import engines
from chainveil.privacy.memory.descent import (
    FEW_STEPS,
    HANDY_PACE,
    LITTLE_PROGRESS,
    best_kernel,
    blended,
    improve,
    is_slow,
    starts_of,
    to_budget,
)
from chainveil.privacy.memory.layout import LONGEST_PERIOD
from chainveil.privacy.memory.objective import Rhythm
from chainveil.privacy.memory.quest import Form, Quest
from chainveil.privacy.problem import Aim, Effort, Problem
from chainveil.privacy.result import Calibrated
from chainveil.privacy.roots import retreat

# What is given up, as a share of the way to a kernel that says nothing, until the certified loss is
# within the budget.
GIVEN_UP = (0.0, *(10.0**-power for power in range(12, 1, -1)))
# The same over a region, whose loss is bounded to a tolerance only, since each further digit takes
# as long as the first ones: the least share, how often more is given up, and how much more than
# what the bound was above the budget.
GIVEN_UP_OVER_REGION, TRIES, MORE = 1e-6, 8, 1.5
# The fewest and most points to a report that a search for the best number looks at, above one,
# in times that the chain takes to forget.
LEAST_FORGOTTEN, MOST_FORGOTTEN = 0.2, 6.0
# Where such a search begins, in the same measure.
FIRST_FORGOTTEN = 1.0
# On chains that forget less than this from point to point the loss of rare reports takes more
# memory than there may be: every point then reports.
RARELY = 5e-5
# Of the best numbers so many are looked at again, unless one more or less hardly matters.
LAST_LOOKS, MANY = 3, 200
# Errors this close are taken for the same: where all that is left is a guess, they all are.
SAME = 1e-4
# On chains that forget less than this from point to point, changes are so rare that to follow
# them gains nothing to speak of: tracking noise is then sticky noise.
TRACKED = 1e-3

_OBJECTIVES: dict[Form, tuple[str, ...]] = {
    "independent": ("flips", "estimate", "decoded"), "sticky": ("flips", "estimate", "decoded"),
    "tracking": ("flips", "decoded"), "correlated": ("flips",),
}  # fmt: skip

# A search is made with so many points to a report at most.
HANDY_EVERY, FINE_EVERY = 5, 9


def least_independent(problem: Problem, aim: Aim) -> Calibrated:
    """Independent noise that reports rarely, or guards an event."""
    return _least("independent", problem, aim)


def least_sticky(problem: Problem, aim: Aim) -> Calibrated:
    """Sticky noise."""
    return _least("sticky", problem, aim)


def least_tracking(problem: Problem, aim: Aim) -> Calibrated:
    """Tracking noise."""
    return _least("tracking", problem, aim)


def least_correlated(problem: Problem, aim: Aim) -> Calibrated:
    """Correlated noise that guards an event, or comes after earlier releases."""
    return _least("correlated", problem, aim)


def _least(form: Form, problem: Problem, aim: Aim) -> Calibrated:
    _check(form, problem, aim)
    return _certified(*_best_rhythm(form, problem, aim))


def _check(form: Form, problem: Problem, aim: Aim) -> None:
    """Error where something is asked for that the form does not have."""
    model = problem.model
    if model.states != 2 or model.likeliest.order != 1:
        raise NotSupported(
            f"mechanism: {form} noise of this kind is calibrated for chains of order 1 with two "
            f"states; found {model.states} states. Use independent noise on every point."
        )
    boxes = [member for member in model.members if not member.single]
    if form == "correlated" and boxes:
        raise NotSupported(
            "mechanism: correlated noise is offered for a two-state chain that is known; regions "
            "need independent noise."
        )
    if (aim.max_noise, aim.family) != (0.5, "response"):
        raise InvalidInput("max_noise, family", "others", f"the defaults, for {form} noise")
    allowed = _OBJECTIVES[form]
    if aim.objective not in allowed:
        raise InvalidInput(
            "objective", aim.objective, " or ".join(f'"{name}"' for name in allowed),
            "Reports of tracking noise do not identify a point." if form == "tracking" else "",
        )  # fmt: skip
    turns = any(
        np.all(one.likeliest.transition == 1 - np.eye(2)) for one in (model, *model.members)
    )
    if turns and (aim.every == "best" or aim.every % 2 == 0):
        raise NotSupported(
            f"every: found {aim.every!r} for a chain that changes at every point (q = r = 1) and "
            "stands still from report to report; give an odd number of points."
        )


def _quest(form: Form, problem: Problem, aim: Aim, every: int) -> Quest:
    chain = problem.model.likeliest
    q, r = float(chain.transition[0, 1]), float(chain.transition[1, 0])
    rhythm = Rhythm(q, r, every)
    if engines.is_family(problem.model):
        members = tuple(_judge(form, problem.on(one), aim, rhythm) for one in problem.model.members)
        return Quest(problem, aim, form, rhythm, (), members)
    return Quest(problem, aim, form, rhythm, (_slowest(problem.model) or (q, r),))


def _judge(form: Form, problem: Problem, aim: Aim, voice: Rhythm) -> Quest:
    """A member of a family, which judges kernels that are weighed by another chain."""
    q, r = _slowest(problem.model) or problem.chain.transition[[0, 1], [1, 0]].tolist()
    rhythm = replace(voice, q=float(q), r=float(r))
    chain = problem if problem.model.single else problem.on(MarkovChain.binary(q, r))
    return Quest(chain, aim, form, rhythm, ((rhythm.q, rhythm.r),), voice=voice)


def _slowest(model: DataModel) -> tuple[float, float] | None:
    """The slowest chain of a box, for which most noise is needed wherever that was tried."""
    return None if model.box is None else (model.box[0], model.box[2])


def _best_rhythm(form: Form, problem: Problem, aim: Aim) -> tuple[Quest, FloatArray]:
    """The quest and its best kernel, over how many points there are to a report."""
    if form == "tracking" and _pace(problem) < TRACKED:
        sticky, ones = _best_rhythm("sticky", problem, aim)
        return replace(sticky, form="tracking"), ones
    if aim.every != "best":
        quest = _quest(form, problem, aim, int(aim.every))
        return quest, _at_true_pace(quest, best_kernel(_handy(quest, FINE_EVERY)))
    tried: dict[int, tuple[Quest, FloatArray]] = {}

    def error(every: int) -> float:
        if every not in tried:
            quest = _quest(form, problem, aim, every)
            handy = _handy(quest)
            # All starts lead to the same kernel wherever that was tried: one does, and best of
            # all the kernel of a number that is near.
            near = min((one for one in tried if one > 1), key=lambda one: abs(one - every),
                       default=None) if every > 1 else None  # fmt: skip
            start = list(starts_of(handy))[-1] if near is None else tried[near][1]
            improved = improve(handy, start, FEW_STEPS, LITTLE_PROGRESS)
            tried[every] = quest, to_budget(handy, improved)
        quest, ones = tried[every]
        return quest.goal(ones) if every > 1 else _handy(quest).goal(ones)

    _descend(error, *_every_range(problem))
    best = sorted(tried, key=error)
    looks = LAST_LOOKS if best[0] <= MANY else 1
    found = [_finished(*tried[every]) for every in best[:looks]]
    return min(found, key=lambda pair: pair[0].goal(pair[1]))


def _finished(quest: Quest, ones: FloatArray) -> tuple[Quest, FloatArray]:
    """The best kernel near one that a first look has found, on the true chain."""
    return quest, _at_true_pace(quest, best_kernel(_handy(quest, FINE_EVERY), [ones]))


def _handy(quest: Quest, most: int = HANDY_EVERY) -> Quest:
    """The quest on a chain that is quick to search and has almost the same answer.

    Where a chain forgets little, only what it forgets from report to report matters: the search
    is then made on a faster chain, and what it finds is brought to the budget on the true one.
    """
    # Members of a family are slow or fast each in its own way, which one faster chain would hide.
    plain = quest.problem.event == 1 and quest.problem.length is None and not quest.members
    if not plain or any(noise.every > 1 or noise.ordered for noise in quest.problem.releases):
        return quest
    ((q, r),) = quest.corners
    pace, rhythm = q + r, replace(quest.rhythm, q=q, r=r)
    if rhythm.every > most and pace < 0.5:
        faster = rhythm.at_pace(most, 0.0)
    elif rhythm.every == 1 and is_slow(quest):
        faster = rhythm.at_pace(1, HANDY_PACE)
    else:
        return quest
    return replace(quest, rhythm=faster, corners=((faster.q, faster.r),))


def _at_true_pace(quest: Quest, ones: FloatArray) -> FloatArray:
    """A kernel of the handy quest on the true chain, brought to the budget there."""
    handy = _handy(quest, FINE_EVERY)
    if handy is quest:
        return ones
    if quest.rhythm.every == 1:
        # Reports change as much more rarely as the chain does.
        rarer = sum(quest.corners[0]) / sum(handy.corners[0])
        ones = _balanced(np.stack([ones[0] * rarer, 1 - (1 - ones[1]) * rarer]))
    return to_budget(quest, ones)


def _balanced(ones: FloatArray) -> FloatArray:
    """The kernel changed so that a report that turns over and back again says nothing at all.

    Where a chain changes slowly, reports that turn at every point would else tell more and
    more about a state that stays: no budget could be kept.
    """
    up, down = ones[0], 1 - ones[1]
    product = up[1, 1] / up[0, 0] * (down[1, 1] / down[0, 0])
    by_state = np.array([product**0.25, product**-0.25])
    return np.stack([up * by_state, 1 - down * by_state])


def _pace(problem: Problem) -> float:
    chain = problem.model.likeliest
    return float(chain.transition[0, 1] + chain.transition[1, 0])


def _every_range(problem: Problem) -> tuple[int, int, int]:
    """Numbers of points to a report: where to begin, and between which the best one lies."""
    chain = problem.model.likeliest
    kept = max(abs(1 - chain.transition[0, 1] - chain.transition[1, 0]), 1e-3)
    longest = problem.length or math.inf
    first, least, most = (
        share / -math.log(kept) for share in (FIRST_FORGOTTEN, LEAST_FORGOTTEN, MOST_FORGOTTEN)
    )
    top = max(1, int(min(most, longest, LONGEST_PERIOD))) if 1 - kept >= RARELY else 1
    bottom = min(max(2, int(least)), top)
    return min(max(round(first), bottom), top), bottom, top


def _descend(error: Callable[[int], float], first: int, least: int, most: int) -> None:
    """Look at 1, then from ``first`` on in smaller and smaller steps to what is better."""
    error(1)
    best, factor = first, 1.6
    while factor > 1.05 and round(best * factor) > best + 2:
        near = {min(most, round(best * factor)), max(least, round(best / factor))}
        better = min([best, *near], key=error)
        if error(better) < error(best) - SAME:
            best = better
        else:
            best, factor = min(best, better, key=error), math.sqrt(factor)
    while True:
        # Odd numbers have a point in the middle, and so an advantage: look two steps far.
        near = {best + away for away in (-2, -1, 1, 2) if least <= best + away <= most}
        better = min([best, *near], key=error)
        if better == best or best > MANY:
            return
        best = better


def _certified(quest: Quest, ones: FloatArray) -> Calibrated:
    """The noise with its exact loss; a little is given up where that is above the budget."""
    single = all(member.single for member in quest.problem.model.members)
    rough = Effort(tolerance=GIVEN_UP_OVER_REGION * min(1.0, quest.aim.epsilon))
    problem = quest.problem if single else replace(quest.problem, effort=rough)

    def attempt(share: float) -> Calibrated:
        noise = quest.noise(blended(quest, ones, share))
        return Calibrated(noise, engines.loss(problem.with_release(noise)))

    if single:
        found = retreat(GIVEN_UP, attempt, quest.aim.epsilon)
    else:
        found = _over_region(attempt, quest.aim.epsilon)
    if found is None:
        raise UnreachableBudget(
            f"epsilon = {quest.aim.epsilon!r} could not be certified for {quest.form} noise; the "
            "earlier releases may have spent it"
        )
    return found


def _over_region(attempt: Callable[[float], Calibrated], epsilon: float) -> Calibrated | None:
    """As ``retreat``; the loss falls about in proportion to what is given up."""
    share = GIVEN_UP_OVER_REGION
    for _ in range(TRIES):
        found = attempt(share)
        above = found.loss.epsilon - epsilon
        if above <= 0:
            return found
        share = min(max(2 * share, share + MORE * above / epsilon), 1.0)
    return None
