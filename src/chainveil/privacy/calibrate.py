"""The least noise of any kind on two states within a budget: one search.

    minimise cost(v) such that gain(attack; v) <= epsilon for every attack,

v being the logits of a kind of noise (``noise/parametrization.py``). There are infinitely many
attacks, so that they are collected: noise is found for those that are known, the solver names the
best attacks on it (``odds.loss.attacks``), they are added, until none gains more than the budget.
Few attacks decide, and a few rounds find them. What a kind of noise is made of, where a search for
it begins and what ends in saying nothing are asked of its parametrization.

The loss of the answer is certified, by the call that verifies it later, and is never above the
budget. The answer is a local optimum, the best over a few starts; nothing proves it to be the
least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported, UnreachableBudget
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.model.family import ModelFamily
from chainveil.model.region import ChainRegion
from chainveil.noise.base import Noise, noise_class
from chainveil.noise.parametrization import Parametrization
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.borders import half_planes
from chainveil.privacy.costs import Cost
from chainveil.privacy.gains import Known, Laws
from chainveil.privacy.odds.loss import attacks, loss, question
from chainveil.privacy.problem import Aim, Problem
from chainveil.privacy.result import Calibrated, PrivacyLoss

WIDTH = 1e-6  # logits; of the differences that stand for derivatives, half of the digits
REACH = 2.0  # logits; how far one programme may lead from where attacks were asked for
ROUNDS = 40  # programmes of one descent; most take three to eight
STEPS = 30  # iterations of one programme; most take ten
EXCESS = 1e-4  # of the budget; attacks that gain so much more end a descent
SAME = 1e-5  # of the cost; less progress ends a descent
UNUSED = 1e-3  # of the budget; more of it left over is a reason to search on
SLOW = 0.01  # q + r; noise for slower chains is sought on a chain that is so fast
SECANTS = 8  # budgets of that search that are tried
LEFT = 5e-3  # of the budget; what may be left over then
HANDY = 9  # points to a report; noise for more of them is sought with so many
THINNING = 0.05  # q + r; on slower chains the number of points to a report is sought on such a one
LIKE = 1e-4  # of the cost; plans that are no better than others by so much are looked at again
FORGOTTEN = 6.0  # memories of the chain; with more points to a report reports say nothing
# Points to a report that are tried, and on chains with q + r below half of `SLOW`: automata, and so
# the steps of a certificate, grow with them.
LONGEST, LONGEST_SLOW = 301, 101
MOST_NOISE = 0.5  # of both noise levels of reports on every point, as in the paper


def least_noise(kind: str, problem: Problem, aim: Aim) -> Calibrated:
    """Noise of a kind with the least cost found whose loss is within the budget.

    The releases of ``problem`` are earlier ones; the budget holds for all together.
    """
    _check(kind, problem, aim)
    # The last digits of linear algebra depend on the number of its threads: a plan shall not.
    with _thread_pools().limit(limits=1):
        if aim.every == "auto":
            aim = replace(aim, every=_best_every(kind, problem, aim))
        faster = _faster(kind, problem, aim)
        return (faster and _carried_over(kind, problem, aim, faster)) or _found_noise(
            kind, problem, aim
        )


@cache
def _thread_pools() -> Any:
    """The thread pools of all libraries of linear algebra."""
    # Their imports take long.
    import scipy.optimize  # noqa: F401 - loads the libraries that the search uses
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _found_noise(kind: str, problem: Problem, aim: Aim) -> Calibrated:
    """The best noise that a search on the model itself finds, certified."""
    if _alternates(problem.model) and problem.length is None and problem.adversary != "informed":
        # A series is one bit, of which any report that depends on it tells more and more.
        search = _Search(kind, problem, aim, int(aim.every))
        v = search.form.quiet(search.form.starts(aim.epsilon)[0])
        constant = search.noise(v)
        spent = loss(problem.with_release(constant))
        if spent.epsilon <= aim.epsilon:
            return Calibrated(constant, spent)
        raise search.unreachable()
    search, v = _searched(kind, problem, aim, int(aim.every))
    found = search.certified(v)
    if not search.form.limited or _most_noise(problem, aim) != MOST_NOISE:
        return found
    if _fastest_sum(problem.model) > 1:
        return found
    planes = half_planes(lambda rows: search.excess(rows, aim.epsilon), search.collect, aim.epsilon)
    return replace(found, half_planes=planes)


def _check(kind: str, problem: Problem, aim: Aim) -> None:
    """Error where something is asked for that noise of a kind does not have."""
    form = noise_class(kind).parametrization(np.full((2, 2), 0.5))
    if aim.shape != "uniform":
        raise InvalidInput("shape", aim.shape, '"uniform" for two states', "It is the only one.")
    if aim.objective not in form.objectives:
        allowed = " or ".join(f'"{name}"' for name in form.objectives)
        raise InvalidInput("objective", aim.objective, f"{allowed} for {kind} noise")
    if aim.every != 1 and not form.thins:
        raise NotSupported(
            f"every: found {aim.every!r}; {kind} noise reports every point; to report one point in "
            "several take independent or sticky noise"
        )
    if _alternates(problem.model) and (aim.every == "auto" or aim.every % 2 == 0):
        raise NotSupported(
            f"every: found {aim.every!r} for a chain that changes at every point (q = r = 1) and "
            "stands still from report to report; give an odd number of points."
        )
    if problem.releases:
        used = loss(problem).epsilon
        if used >= aim.epsilon:
            raise UnreachableBudget(
                f"earlier: the earlier releases use up epsilon = {aim.epsilon!r}; nothing is left "
                "for another"
            )


# ------------------------------------------------------------------------------------- one search
@dataclass
class _Member:
    """One chain, or one box of chains, and the attacks on it (of a box, on its slowest chain)."""

    model: DataModel
    known: Known


class _Search:
    """Programmes for one kind of noise that reports one point in ``every``."""

    def __init__(self, kind: str, problem: Problem, aim: Aim, every: int) -> None:
        self.kind, self.problem, self.aim, self.every = kind, problem, aim, every
        weighed_by = np.array(problem.model.likeliest.transition)
        form = noise_class(kind).parametrization(
            weighed_by, every, problem.gaps, _most_noise(problem, aim)
        )
        self.form: Parametrization = form
        self.laws = Laws(form, [noise.automaton(problem.gaps) for noise in problem.releases])
        self.cost_of = Cost(form, aim.objective)
        # Few members of a family decide; the slowest one does most often.
        self.members: list[_Member] = []
        self._models = _members(problem.model)
        self._take_in(min(self._models, key=_pace))

    def _take_in(self, model: DataModel) -> bool:
        """Whether a member of the family is a new one; its attacks are collected from now on."""
        if any(member.model is model for member in self.members):
            return False
        asked = question(self.problem, model, self.laws.blank)
        self.members.append(_Member(model, Known(self.laws, asked.transition, asked.start)))
        return True

    # ---------------------------------------------------------------------- noise and attacks
    def noise(self, v: FloatArray) -> Noise:
        """The noise with these logits, on the grid of 2^-53."""
        kernel, _, numbers = self.laws.numbers(v[None])
        first, after_gap = numbers[0, 18:22].reshape(2, 2), numbers[0, 22:].reshape(2, 2, 2)
        return self.form.noise(kernel[0], first, after_gap).on_grid()

    def cost(self, v: FloatArray) -> float:
        """The cost of one noise."""
        kernel, law, _ = self.laws.numbers(v[None])
        return self.cost_of(kernel[0], law[0])

    def excess(self, rows: FloatArray, epsilon: float) -> FloatArray:
        """By how much the best known attack gains more than a budget, for rows of logits."""
        laws = self._laws_at(rows)
        gains = [member.known.gains(laws) for member in self.members]
        return np.asarray(np.hstack(gains).max(axis=1, initial=0.0) - epsilon)

    def _laws_at(self, rows: FloatArray) -> FloatArray:
        return self.laws.shared(self.laws.numbers(rows)[2])

    def collect(self, v: FloatArray) -> float:
        """Ask for the best attacks on a noise; what the best of them gains above the budget."""
        automaton = self.laws.automaton(v)
        for member in self.members:
            member.known.add(attacks(question(self.problem, member.model, automaton)))
        return float(self.excess(v[None], self.aim.epsilon)[0])

    # ------------------------------------------------------------------------------ programmes
    def programme(self, v: FloatArray, epsilon: float, weight: float = 0.5) -> FloatArray:
        """The least cost near v within the budget as far as attacks are known.

        Only those that gain a share ``weight`` of the budget at v are looked at, if that does.
        """
        # Its import takes long.
        from scipy.optimize import minimize

        latest: dict[bytes, tuple[FloatArray, FloatArray]] = {}
        chosen = [
            np.flatnonzero(member.known.gains(self._laws_at(v[None]))[0] >= weight * epsilon)
            for member in self.members
        ]
        steps = WIDTH * np.eye(len(v) + 1, len(v), -1)

        def at(x: FloatArray) -> tuple[FloatArray, FloatArray]:
            """Cost and gains, and their derivatives."""
            key = x.tobytes()
            if key not in latest:
                latest.clear()
                kernel, law, numbers = self.laws.numbers(x + steps)
                laws = self.laws.shared(numbers)
                gains = [
                    member.known.gains(laws, wanted)
                    for member, wanted in zip(self.members, chosen, strict=True)
                ]
                table = np.hstack([self.cost_of.smooth(kernel, law)[:, None], *gains])
                latest[key] = table[0], (table[1:] - table[0]).T / WIDTH
            return latest[key]

        least, most = self.form.limits(len(v))
        near = np.maximum(v - REACH, least), np.minimum(v + REACH, most)
        # The solver writes into the derivatives that it is given.
        result = minimize(
            lambda x: at(x)[0][0], v, jac=lambda x: at(x)[1][0].copy(), method="SLSQP",
            bounds=list(zip(*near, strict=True)),
            constraints=[{
                "type": "ineq",
                "fun": lambda x: epsilon - at(x)[0][1:],
                "jac": lambda x: -at(x)[1][1:],
            }],
            options={"maxiter": STEPS, "ftol": 1e-9},
        )  # fmt: skip
        found: FloatArray = np.clip(result.x, least, most)
        if not np.isfinite(found).all():
            return v
        if weight > 0 and self.excess(found[None], epsilon)[0] > EXCESS * epsilon:
            return self.programme(v, epsilon, 0.0)
        return found

    def quieted(self, v: FloatArray, epsilon: float) -> FloatArray:
        """As little of the way to noise that says nothing as brings known attacks to a budget."""
        quiet = self.form.quiet(v)
        low, high = 0.0, 1.0
        for _ in range(6):
            shares = np.linspace(low, high, 17)
            excess = self.excess(v + shares[:, None] * (quiet - v), epsilon)
            enough = int(np.argmax(excess <= 0)) if (excess <= 0).any() else 16
            low, high = shares[max(enough - 1, 0)], shares[enough]
        return np.asarray(v + high * (quiet - v))

    def descend(self, v: FloatArray, epsilon: float, bar: float = math.inf) -> FloatArray:
        """Minimise and collect attacks in turns; as soon as the cost stays above ``bar``, no more.

        Attacks that are not known yet could only raise it.
        """
        budget, final, cost = self.aim.epsilon, False, math.inf
        if not self.members[0].known:
            self.collect(v)
        for _ in range(ROUNDS):
            before, v = v, self.programme(v, epsilon)
            if self.excess(v[None], epsilon)[0] > EXCESS * budget:
                # Linearised attacks could not be met together: go on from where they are met.
                v = self.quieted(v, epsilon)
            last, cost = cost, self.cost(v)
            final = bool(np.abs(v - before).max() < 0.999 * REACH or abs(last - cost) < SAME * cost)
            if final and cost >= bar:
                break
            if self.collect(v) <= EXCESS * budget and final:
                break
        return v

    def best(self, starts: Iterable[FloatArray], v: FloatArray | None = None) -> FloatArray:
        """The best of descents from several starts, and of noise that is known already."""
        found = [] if v is None else [v]
        for start in starts:
            bar = math.inf
            if found:
                over, cost = self.merit(min(found, key=self.merit))
                bar = math.inf if over else (1 - SAME) * cost
            found.append(self.descend(start, self.aim.epsilon, bar))
        for _ in range(len(found)):
            v = min(found, key=self.merit)
            if self.collect(v) <= EXCESS * self.aim.epsilon:
                break
            # Descents that ended at the bar do not know all attacks on what they have found.
            found.append(self.descend(v, self.aim.epsilon))
        return min(found, key=self.merit)

    def merit(self, v: FloatArray) -> tuple[bool, float]:
        """Whether known attacks gain too much, and the cost: the less, the better."""
        epsilon = self.aim.epsilon
        return bool(self.excess(v[None], epsilon)[0] > 10 * EXCESS * epsilon), self.cost(v)

    def is_poor(self, v: FloatArray) -> bool:
        """Whether a plan leaves budget over, or says hardly more than a guess."""
        over, cost = self.merit(v)
        left = -self.excess(v[None], self.aim.epsilon)[0]
        guess = self.form.quiet(v)
        guessed = self.cost_of.objective != "share" and cost >= (1 - LIKE) * self.cost(guess)
        return over or guessed or bool(left > UNUSED * self.aim.epsilon)

    # --------------------------------------------------------------------------- certification
    def certified(self, v: FloatArray) -> Calibrated:
        """The noise, changed a little until its loss is certified to be within the budget."""
        epsilon = self.aim.epsilon
        target, best, after = epsilon, None, 0
        for turn in range(ROUNDS):
            noise = self.noise(v)
            found = self._loss(noise)
            if found.epsilon <= epsilon:
                if best is None or found.epsilon > best.loss.epsilon:
                    best = Calibrated(noise, found)
                after += 1
                left = epsilon - found.epsilon
                if left <= EXCESS * epsilon or after > 3:
                    break
                # Bounds may be wider here than where the target was set.
                target, before = min(epsilon, target + 0.9 * left), target
                if target <= before:
                    break
            elif after:
                break
            else:
                target -= 1.1 * (found.epsilon - epsilon) + 1e-9 * epsilon
            if target < epsilon / 2 or turn > 12:
                v = v + 0.3 * (self.form.quiet(v) - v)
            else:
                v = self._to(v, target)
        if best is None:
            raise self.unreachable()
        return best

    def _to(self, v: FloatArray, target: float) -> FloatArray:
        v = self.programme(v, target)
        return self.quieted(v, target) if self.excess(v[None], target)[0] > 0 else v

    def _loss(self, noise: Noise) -> PrivacyLoss:
        found = loss(self.problem.with_release(noise))
        if found.witness is not None and found.epsilon > self.aim.epsilon:
            model = self._model(found)
            self._take_in(model)
            for member in self.members:
                member.known.add([found.witness])
        return found

    def lacks_a_member(self, v: FloatArray) -> bool:
        """Whether a member of the family that was not looked at loses too much; it is taken in."""
        if len(self.members) == len(self._models):
            return False
        found = loss(self.problem.with_release(self.noise(v)))
        return found.epsilon > self.aim.epsilon and self._take_in(self._model(found))

    def _model(self, found: PrivacyLoss) -> DataModel:
        name = getattr(found, "member", None)
        if name is None:
            return self._models[0]
        family = self.problem.model
        return cast(DataModel, family[name])  # type: ignore[index]

    def unreachable(self) -> UnreachableBudget:
        """The error that no noise was certified."""
        return UnreachableBudget(
            f"epsilon = {self.aim.epsilon!r} could not be certified for {self.kind} noise; the "
            "chain may be too close to a constant one, or the earlier releases may have spent it"
        )


# ------------------------------------------------------------------------------- starts of searches
def _searched(kind: str, problem: Problem, aim: Aim, every: int) -> tuple[_Search, FloatArray]:
    """The best logits over several starts, for a number of points to a report."""
    search = _Search(kind, problem, aim, every)
    form = search.form
    best = search.best(form.starts(aim.epsilon))
    if form.simpler is not None and aim.objective in form.objectives:
        # Noise of a simpler kind is noise of this one: it costs no less.
        simple = form.embedded(_searched(form.simpler, problem, aim, every)[1])
        if search.is_poor(best) or search.cost(simple) < (1 + LIKE) * search.cost(best):
            search.collect(simple)
            best = search.best([simple], min(best, simple, key=search.merit))
    if search.is_poor(best):
        best = search.best(form.more_starts(aim.epsilon), best)
    while search.lacks_a_member(best):
        best = search.best([best, *form.starts(aim.epsilon)])
    if not search.cost_of.is_smooth:
        best = _refined(search, best)
    return search, best


# ------------------------------------------------------------------- chains that are handier
def _faster(kind: str, problem: Problem, aim: Aim) -> tuple[Problem, int, float] | None:
    """A problem whose noise is nearly that of a slow chain, or of one with few reports.

    Its chain changes more often, so that a search on it takes fewer steps. Returns that problem,
    its points to a report, and the rate at which its noise is slowed; None where the search takes
    place on the model itself.
    """
    every, model, rate = int(aim.every), problem.model, 1.0
    named = isinstance(problem.adversary, Adversary)
    if problem.releases or problem.length is not None or named or _fastest_sum(model) > 1:
        return None
    if every > HANDY and problem.unit == 1:
        # From report to report it forgets as much as the chain does.
        model, every = _changed(model, lambda pace: _forgets(every, pace)), HANDY
    slow = every * min(map(_pace, _members(model))) / SLOW
    form = noise_class(kind).parametrization(
        np.full((2, 2), 0.5), every, problem.gaps, _most_noise(problem, aim)
    )
    if slow < 1 and form.slowed(form.starts(aim.epsilon)[0], slow) is not None:
        model, rate = _changed(model, lambda _: 1 / slow), slow
    return None if model is problem.model else (problem.on(model), every, rate)


def _carried_over(
    kind: str, problem: Problem, aim: Aim, faster: tuple[Problem, int, float]
) -> Calibrated | None:
    """Noise found on a faster chain, slowed, and certified on the chain itself.

    As q and r go to zero in proportion, so do the probabilities that a report turns, and the best
    noise and its loss have limits. At q + r = `SLOW` the loss differs from its limit by about 2%,
    which the budget of the search makes up for. None if no noise was certified.
    """
    found_on, every, rate = faster
    fast, v = _searched(kind, found_on, aim, every)
    own = _Search(kind, problem, aim, int(aim.every))
    best, target = None, aim.epsilon
    for _ in range(SECANTS):
        noise = own.noise(v if rate == 1 else cast(FloatArray, own.form.slowed(v, rate)))
        found = loss(problem.with_release(noise))
        if found.epsilon <= aim.epsilon:
            if best is None or found.epsilon > best.loss.epsilon:
                best = Calibrated(noise, found)
            if aim.epsilon - found.epsilon <= LEFT * aim.epsilon:
                break
        target *= min(max((1 - 0.2 * LEFT) * aim.epsilon / max(found.epsilon, 1e-9), 0.05), 1.5)
        before, v = v, fast.descend(v, target)
        if best is not None and np.allclose(v, before, rtol=0, atol=WIDTH):
            break  # A budget that makes no difference: nothing less would do.
    return best


def _forgets(every: int, pace: float) -> float:
    """How much more a chain changes that forgets in `HANDY` points what one does in ``every``."""
    return -math.expm1(every / HANDY * math.log1p(-pace)) / pace


def _changed(model: DataModel, factor: Callable[[float], float]) -> DataModel:
    """The model whose chains change ``factor(q + r)`` times as often."""
    if model.members != (model,):
        several = cast(ModelFamily, model)
        return ModelFamily([_changed(one, factor) for one in several.members], several.names)
    if not model.single:
        q0, q1, r0, r1 = cast(tuple[float, float, float, float], model.box)
        low, high = factor(q0 + r0), factor(q1 + r1)
        return ChainRegion((q0 * low, q1 * high), (r0 * low, r1 * high))
    chain = cast(MarkovChain, model)
    q, r = float(chain.transition[0, 1]), float(chain.transition[1, 0])
    return MarkovChain.binary(q * factor(q + r), r * factor(q + r), chain.initial)


def _refined(search: _Search, v: FloatArray) -> FloatArray:
    """Look around for less of a cost that is not smooth, with all noise within the budget."""
    epsilon = search.aim.epsilon
    for _ in range(ROUNDS):
        cost, step = search.cost(v), 0.3
        while step > 0.02:
            moved = False
            for number in range(len(v)):
                for sign in (1.0, -1.0):
                    near = v.copy()
                    near[number] += sign * step
                    near = search.quieted(near, epsilon)
                    if search.cost(near) < cost - 1e-7:
                        v, cost, moved = near, search.cost(near), True
            step = step if moved else step / 2
        if search.collect(v) <= EXCESS * epsilon:
            break
        v = search.quieted(v, epsilon)
    return v


def _best_every(kind: str, problem: Problem, aim: Aim, limit: int = LONGEST) -> int:
    """Points to a report: every point, or the end of a descent from the chain's memory."""
    pace = min(map(_pace, _members(problem.model)))
    free = not problem.releases and problem.length is None and problem.unit == 1
    if pace < THINNING and free and isinstance(problem.adversary, str):
        # The best number of points is about proportional to the memory of the chain.
        model = _changed(problem.model, lambda _: THINNING / pace)
        limit = LONGEST if pace >= SLOW / 2 else LONGEST_SLOW
        every = _best_every(kind, problem.on(model), aim, max(1, round(limit * pace / THINNING)))
        many = round(every * THINNING / pace)
        # Odd numbers have a point in the middle, and so an advantage.
        return 1 if every == 1 else min(many - 1 + many % 2, limit)
    model = problem.model.likeliest
    kept = max(abs(1 - float(model.transition[0, 1] + model.transition[1, 0])), 1e-3)
    memory = -1 / math.log(kept)
    most = max(1, min(int(FORGOTTEN * memory), limit, problem.length or limit))
    tried: dict[int, tuple[_Search, FloatArray]] = {}

    def cost(every: int) -> float:
        if every not in tried:
            near = min((one for one in tried if one > 1), key=lambda one: abs(one - every),
                       default=None)  # fmt: skip
            if near is None or every == 1:
                tried[every] = _searched(kind, problem, aim, every)
            else:
                search = _Search(kind, problem, aim, every)
                tried[every] = search, search.descend(tried[near][1], aim.epsilon)
        search, v = tried[every]
        over, found = search.merit(v)
        return math.inf if over else found

    cost(1)
    at, step = min(most, max(1, round(memory))), 1.6
    while True:
        fine = at * (step - 1) <= 2
        near = range(at - 2, at + 3) if fine else {at, round(at * step), round(at / step)}
        better = min(sorted(every for every in near if 1 <= every <= most), key=cost)
        if better == at and fine:
            return min(tried, key=cost)
        at, step = better, step if better != at else math.sqrt(step)


def _most_noise(problem: Problem, aim: Aim) -> float:
    """The limit of noise levels, which is one of single points that all report."""
    alone = aim.every == 1 and problem.plain and not problem.ordered
    return MOST_NOISE if alone else 1.0


def _members(model: DataModel) -> list[DataModel]:
    """The members of a family, or the model itself."""
    if model.members == (model,):
        return [model]
    return list(model.without_covered().members)  # type: ignore[attr-defined]


def _alternates(model: DataModel) -> bool:
    """Whether a chain of the model changes at every point (q = r = 1)."""
    turned = 1 - np.eye(2)
    return any(np.all(one.likeliest.transition == turned) for one in (model, *model.members))


def _fastest_sum(model: DataModel) -> float:
    """The largest q + r."""
    boxes = [member.box for member in _members(model)]
    steps = [member.likeliest.transition for member in _members(model)]
    return max(
        float(step[0, 1] + step[1, 0]) if box is None else box[1] + box[3]
        for box, step in zip(boxes, steps, strict=True)
    )


def _pace(model: DataModel) -> float:
    if model.box is not None:
        return model.box[0] + model.box[2]
    step = model.likeliest.transition
    return float(step[0, 1] + step[1, 0])
