"""Loss of a two-state chain, of a box of chains, or of several, under any noise.

Given the label at the secret and the values compared,

    loss = max over labels and pairs of values of  past + likelihoods of the protected points +
    future,

where past and future are the largest log ratios of ``sides``. The sum is rounded up, the attack
that was found on the way is replayed from the laws alone and rounded down.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.noise.automaton import Automaton, Observation
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.bounds import Attack, Bounds, replay
from chainveil.privacy.odds import kernels
from chainveil.privacy.odds.sides import (
    STATIONARY,
    AtPlaces,
    Graph,
    Side,
    Start,
    Trace,
    best_of,
    log_ratios,
)
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss

Box = tuple[float, float, float, float]

TOLERANCE = 1e-4  # relative distance of the bounds at which refining ends
CLOSE = 4e-3  # the same where closer bounds take long
LIGHT = 1_000_000  # edges visited, about a tenth of a second; what takes more takes long
SLACK = 0.4  # log odds that may be overestimated in the first round
ATTACKING = 6e-3  # the same where attacks are sought and no bound
FINEST = 9  # rounds of refining; each takes a quarter of the slack of the one before, or less
SHORT = 32  # points; places are told apart where so many or fewer lie beside the window
SHORT_NAMED = 5000  # points; the same against one adversary, whose points have places
LONG = 20_000  # points; longer series get the bound of every length
IMPOSSIBLE_PERIODS = 12  # periods of the noise within which an infinite loss is looked for
MOST_BOXES = 2000  # parts into which a box of chains is split
EFFORT = 20_000_000  # edges visited in one walk; beyond it all odds are taken to be possible


@dataclass(frozen=True)
class Question:
    """One chain or box of chains, the automaton of its noise, and what is asked.

    Attributes
    ----------
    box : tuple of float
        Least and greatest q, least and greatest r.
    initial : pair of float or None
        Law of the first point of one chain; None: the stationary one.
    automaton : Automaton
    unit : int
        Number of consecutive points whose values are the secret.
    adversary : str or Adversary
    length : int or None
    """

    box: Box
    initial: tuple[float, float] | None
    automaton: Automaton
    unit: int = 1
    adversary: AdversaryName | Adversary = "any"
    length: int | None = None
    effort: int = EFFORT

    @property
    def single(self) -> bool:
        """Whether it is about one chain."""
        return self.box[0] == self.box[1] and self.box[2] == self.box[3]

    @property
    def transition(self) -> FloatArray:
        """Transitions of the chain, or of the lowest corner of the box."""
        q, r = self.box[0], self.box[2]
        return np.array([[1 - q, q], [r, 1 - r]])

    @property
    def start(self) -> FloatArray:
        """Law of the first point."""
        q, r = self.box[0], self.box[2]
        return np.array([r, q]) / (q + r) if self.initial is None else np.array(self.initial)

    @property
    def chain(self) -> tuple[FloatArray, FloatArray, Any]:
        """What an attack is replayed on."""
        return self.start, self.transition, np.arange(2)


def bounds(question: Question, tolerance: float = TOLERANCE) -> Bounds:
    """Bounds on the loss that differ by ``tolerance`` of it, or by as much as the effort leaves."""
    if question.box[0] < kernels.LEAST or question.box[2] < kernels.LEAST:
        raise NotSupported(
            f"q and r of a chain: at least {kernels.LEAST:.0e} for a bound on the loss"
        )
    if _says_nothing(question.automaton):
        return Bounds(0.0, 0.0, None)
    length = question.length
    if isinstance(question.adversary, str) and length is not None and length > LONG:
        found = bounds(replace(question, length=None), tolerance)
        if found.witness is not None and found.witness.length > length:
            # An attack on the first points of a series is one on the series.
            short = bounds(replace(question, length=LONG), tolerance)
            found = replace(found, lower=short.lower, witness=short.witness)
        return found
    if not question.single:
        return _over_box(question, tolerance)
    if length is None and (question.automaton.has_zeros or not question.transition.all()):
        # Zeros may rule a value out within a few points.
        points = IMPOSSIBLE_PERIODS * question.automaton.period
        if isinstance(question.adversary, Adversary):
            points += max(question.adversary.known | {question.adversary.target})
        short = _Parts(replace(question, length=points), 0.0).bounds()
        if short.lower == math.inf:
            return short
    # Most bounds are close with much slack, which takes the fewest steps. The distance of the
    # bounds is about proportional to the slack.
    slack, best = SLACK, Bounds(math.inf, 0.0, None)
    for turn in range(FINEST):
        parts = _Parts(question, slack)
        upper, steps = min(best.upper, parts.upper), best.steps + parts.steps
        best = replace(best, upper=upper, steps=steps)
        allowed = _allowed(tolerance, steps) * upper + 1e-9
        last = parts.is_exact or upper == math.inf or steps > question.effort or turn == FINEST - 1
        # The attack is made only where it is expected to settle the question.
        if last or upper - parts.attained <= allowed:
            found = parts.bounds()
            best = replace(max(best, found, key=lambda one: one.lower), upper=upper, steps=steps)
            if last or upper - best.lower <= allowed:
                break
        slack *= min(max(0.6 * allowed / max(upper - parts.attained, allowed), 1 / 64), 1 / 4)
    if best.witness is not None and length is not None and best.witness.length > length:
        # Far from the ends, labels and values count as possible from the first point on, and the
        # end of a long series as open. An attack on the first points of a series is one on it.
        fewer = SHORT_NAMED
        if isinstance(question.adversary, str):
            fewer = max(SHORT + question.unit, 2 * length - best.witness.length)
        if fewer >= length:
            return replace(best, lower=0.0, witness=None)
        short = bounds(replace(question, length=fewer), tolerance)
        best = replace(best, lower=min(best.upper, short.lower), witness=short.witness)
    return best


def _allowed(tolerance: float, steps: int) -> float:
    """The relative distance of bounds at which refining ends after so many steps."""
    return tolerance if steps < LIGHT else max(tolerance, CLOSE)


def _says_nothing(automaton: Automaton) -> bool:
    """Whether no observation depends on the states."""
    laws = np.array([edge.law.ravel() for edge in automaton.edges])
    return bool(np.all(laws == laws[:, :1]))


def attacks(question: Question, share: float = 0.5, most: int = 12) -> Iterator[Attack]:
    """Up to ``most`` attacks that gain at least ``share`` of the best one, best first.

    One for each label and pair of values. Of a box, those on its lowest corner.
    """
    low = question.box[0], question.box[0], question.box[2], question.box[2]
    light = replace(question, box=low, effort=min(question.effort, 2 * LIGHT))
    yield from _Parts(light, ATTACKING).attacks(share, most)


class _Parts:
    """Both sides of all windows of a question, aligned with the windows."""

    def __init__(self, question: Question, slack: float) -> None:
        self.question, self._slack = question, slack
        automaton, length, size = question.automaton, question.length, question.unit
        who, opens = question.adversary, question.initial or STATIONARY
        self._is_open = length is None or length > SHORT_NAMED
        if isinstance(who, Adversary):
            last = max(who.known | {who.target + size - 1}) + 1
            if last > SHORT_NAMED:
                raise NotSupported(
                    f"adversary: points up to {SHORT_NAMED:,} are offered; the loss against "
                    'adversary="any" holds for every other one'
                )
            # Places up to the last one that matters; the end of a long series is open.
            places = last if self._is_open else length or last
            short = True
        else:
            places = length or 0
            # Where most places lie in every window, what is possible at each of them matters.
            short = length is not None and length <= max(SHORT + size, automaton.period)
        self._graph = Graph(
            automaton, question.transition, question.start, places if short else None
        )
        graph = self._graph
        self._past = Side(graph, question.box, True, opens)
        self._future = Side(graph, question.box, False, STATIONARY)
        self.is_exact = True
        self.steps = 0
        if isinstance(who, Adversary):
            self._name(who, places)
        elif length is None:
            self._all_lengths(who)
        elif who == "informed":
            self._informed(length)
        else:
            self._all_places(who, length)
        with np.errstate(divide="ignore"):
            self._loglaw = np.log(graph.law)

    # ------------------------------------------------------------- sides of all windows
    def _all_lengths(self, who: str) -> None:
        """One window for each class of places; sides of any length."""
        graph, size = self._graph, self.question.unit
        sides: list[Any] = []
        for side in (self._past, self._future):
            if who == "informed":
                # The neighbours are known, but for the points at the ends.
                sides.append(self._one_step(side))
                continue
            starts = [side.at_end()] + (side.at_known() if who == "any" else [])
            sides.append(side.everywhere(starts, self._slack, self.question.effort))
            self.is_exact = False
        self._first = np.arange(graph.classes)
        last = (self._first + size - 1) % graph.classes
        self._logs = (sides[0].upper, sides[1].upper[last])
        self._attained = (sides[0].attained, sides[1].attained[last])
        self._traced = (
            lambda window, label, value: sides[0].trace(window, label, value),
            lambda window, label, value: sides[1].trace(int(last[window]), label, value),
        )
        self.steps += sum(getattr(side, "work", 0) for side in sides)

    def _one_step(self, side: Side) -> _Nearest:
        """A side whose nearest point is known, or that ends at the window."""
        graph, tables = self._graph, []
        for place in range(graph.classes):
            before = (place - 1 if side is self._past else place + 1) % graph.classes
            known = [AtPlaces(side, start, 1, before, False) for start in side.at_known()]
            tables.append([(one, 1) for one in known])
            if side is self._future or place == 0:
                end = side.at_end(None if side is self._past else place)
                tables[-1].append((AtPlaces(side, end, 0, place, False), 0))
        return _Nearest(tables)

    def _all_places(self, who: str, length: int) -> None:
        """One window for each place of a series of a given length."""
        graph, size = self._graph, self.question.unit
        windows = length - size + 1
        past = [self._past.at_places(self._past.at_end(), windows - 1, 0, False)]
        last = (length - 1) % graph.classes
        future = [self._future.at_places(self._future.at_end(last), windows - 1, last, False)]
        if who == "any":
            past += [
                self._past.at_places(one, windows - 1, 0, True) for one in self._past.at_known()
            ]
            future += [
                self._future.at_places(one, windows - 1, last, True)
                for one in self._future.at_known()
            ]
        self._first = np.arange(windows) % graph.classes
        logs = [log_ratios([one.found for one in tables]) for tables in (past, future)]
        self._logs = self._attained = (logs[0], np.ascontiguousarray(logs[1][::-1]))
        self._traced = (
            lambda window, label, value: best_of(past, window, label, value).trace(
                window, label, value
            ),
            lambda window, label, value: best_of(future, windows - 1 - window, label, value).trace(
                windows - 1 - window, label, value
            ),
        )
        self.steps += sum(one.work for one in (*past, *future))

    def _informed(self, length: int) -> None:
        """The neighbours of each window are known, but for the points at the ends of the series."""
        size, period = self.question.unit, self.question.automaton.period
        # Windows in the middle repeat with the period.
        inner = size + 2 + 2 * period
        if length > inner:
            length = inner + (length - inner) % period
        short = replace(self.question, adversary="any", length=length)
        graph = Graph(short.automaton, short.transition, short.start, length)
        self._graph = graph
        opens = self.question.initial or STATIONARY
        self._past = Side(graph, short.box, True, opens)
        self._future = Side(graph, short.box, False, STATIONARY)
        windows = length - size + 1
        pasts, futures = [], []
        for begin in range(windows):
            end = begin + size - 1
            pasts.append(self._to(self._past, begin, begin - 1 if begin else None))
            futures.append(self._to(self._future, end, end + 1 if end + 1 < length else None))
        self._set_nearest(np.arange(windows), _Nearest(pasts), _Nearest(futures))

    def _name(self, who: Adversary, places: int) -> None:
        """The one window of a named adversary."""
        begin, end = who.target, who.target + self.question.unit - 1
        left = max((j for j in who.known if j < begin), default=None)
        right = min((j for j in who.known if j > end), default=None)
        past = _Nearest([self._to(self._past, begin, left)])
        if right is None and self._is_open:
            # The series may go on for as long as it likes, which covers a given length.
            graph = Graph(
                self.question.automaton, self.question.transition, self.question.start, None
            )
            side = Side(graph, self.question.box, False, STATIONARY)
            walked = side.everywhere([side.at_end()], self._slack, self.question.effort)
            place = end % graph.classes
            self._first, self.is_exact = np.array([begin]), False
            self._logs = past.upper, walked.upper[[place]]
            self._attained = past.upper, walked.attained[[place]]
            self._far_graph = graph
            self._traced = past.trace, lambda _, label, value: walked.trace(place, label, value)
            self.steps += walked.work
            return
        future = _Nearest([self._to(self._future, end, right)])
        self._set_nearest(np.array([begin]), past, future)

    def _to(self, side: Side, place: int, known: int | None) -> list[tuple[AtPlaces, int]]:
        """A side from a place to a known point, or to the end of the series."""
        starts: list[Start]
        if known is None:
            far = 0 if side is self._past else self._graph.classes - 1
            starts = [side.at_end(None if side is self._past else far)]
        else:
            far, starts = known, side.at_known(known)
        depth = abs(place - far)
        return [(AtPlaces(side, start, depth, far, False), depth) for start in starts]

    def _set_nearest(self, first: Any, past: _Nearest, future: _Nearest) -> None:
        self._first = first
        self._logs = self._attained = past.upper, future.upper
        self._traced = past.trace, future.trace
        self.steps += past.work + future.work

    # -------------------------------------------------------------------------- windows
    def _best(self, logs: tuple[FloatArray, FloatArray], only: int | None = None) -> Any:
        """Largest log ratios of all windows, or of one with the steps that lead to them."""
        graph, size = self._graph, self.question.unit
        chosen = slice(None) if only is None else slice(only, only + 1)
        past, future = np.array(logs[0][chosen]), np.array(logs[1][chosen])
        first = self._first[chosen]
        reach = graph.reach.reshape(graph.classes, graph.labels, 2)[first]
        for x in range(2):
            past[:, :, x, x] = np.where(reach[:, :, x], 0.0, -np.inf)
        best = np.empty_like(past)
        steps = np.zeros((size - 1, graph.labels, 2, 2), np.int64)
        pairs = np.zeros_like(steps)
        kernels.windows(
            past, future, first, graph.begins, graph.source, graph.target,
            self._loglaw, self.question.transition > 0, size, graph.labels, best, steps, pairs,
        )  # fmt: skip
        return best if only is None else (best, steps, pairs)

    @cached_property
    def upper(self) -> float:
        """The largest ratio, rounded up; 0 where no unit has two possible values."""
        found = float(self._best(self._logs).max(initial=-np.inf))
        if found == -math.inf:
            return 0.0
        # Terms may cancel: their logarithms, each with an error of two units of 2^-53 at most, and
        # the sums of up to unit + 1 of them have errors relative to the sum of their sizes.
        unit = self.question.unit
        past, future, likelihood = map(_largest, (*self._logs, self._loglaw))
        size = past + future + 2 * (unit - 1) * likelihood
        return max(0.0, found + (unit + 4) * 2.0**-52 * size)

    @property
    def attained(self) -> float:
        """About what the best attack that was found attains."""
        return max(0.0, float(self._best(self._attained).max(initial=-np.inf)))

    def bounds(self) -> Bounds:
        """The bound from above, and the best attack that was found, replayed."""
        witness = next(self.attacks(0.0, 1), None)
        if witness is None:
            return Bounds(self.upper, 0.0, None, self.steps)
        lower = replay(self.question.chain, self.question.automaton, witness)
        return Bounds(self.upper, min(self.upper, max(0.0, lower)), witness, self.steps)

    def attacks(self, share: float, most: int) -> Iterator[Attack]:
        """Attacks that gain at least ``share`` of the best one: one for each label and pair of
        values.
        """
        best = self._best(self._attained)
        windows = best.reshape(len(best), -1)
        leading = windows.argmax(axis=0)
        values = windows[leading, np.arange(windows.shape[1])]
        largest = values.max(initial=-np.inf)
        least = share * largest if share > 0 else 0.0
        for number in np.argsort(-values, kind="stable")[:most]:
            value = values[number]
            if value <= 0 or value < least:
                return
            label, a, b = (int(i) for i in np.unravel_index(number, best.shape[1:]))
            yield self._attack(int(leading[number]), label, a, b)

    def _attack(self, window: int, label: int, a: int, b: int) -> Attack:
        """The attack behind a window, its last label and its last values."""
        graph, size = self._graph, self.question.unit
        _, steps, pairs = self._best(self._attained, window)
        value, other, last = [a], [b], label
        inner: list[int] = []
        for step in range(size - 2, -1, -1):
            arc, pair = int(steps[step, label, a, b]), int(pairs[step, label, a, b])
            label, (a, b) = int(graph.source[arc]) % graph.labels, divmod(pair, 2)
            value.insert(0, a)
            other.insert(0, b)
            inner.insert(0, arc)
        runs: list[tuple[tuple[Observation, ...], int]] = []
        known: dict[int, int] = {}
        if a == b:  # The past says nothing: any way to the first point of the window.
            node = int(self._first[window]) * graph.labels + label
            runs += [((z,), 1) for z in graph.prefix(node, a)]
        else:
            trace = self._traced[0](window, label, a)
            if trace.known is None:
                runs.append(((graph.opening(trace.node, trace.end),), 1))
            else:
                runs += [((z,), 1) for z in graph.prefix(trace.node, trace.known)]
                known[len(runs) - 1] = trace.known
            runs += [(graph.observations(arcs[::-1]), count) for arcs, count in trace.runs[::-1]]
        target = _points(runs) - 1
        runs += [((z,), 1) for z in graph.observations(inner)]
        if value[-1] != other[-1]:
            trace = self._traced[1](window, last, value[-1])
            ahead = getattr(self, "_far_graph", graph)
            runs += [(ahead.observations(arcs), count) for arcs, count in trace.runs]
            if trace.known is not None:
                known[_points(runs) - 1] = trace.known
        return Attack(target, tuple(value), tuple(other), known, tuple(runs))


class _Nearest:
    """Intervals of each window at one distance from its starts."""

    def __init__(self, tables: list[list[tuple[AtPlaces, int]]]) -> None:
        self._tables = tables
        self.upper = np.array(
            [log_ratios([one.found[depth] for one, depth in starts]) for starts in tables]
        )
        self.attained = self.upper
        self.work = sum(one.work for starts in tables for one, _ in starts)

    def trace(self, window: int, label: int, value: int) -> Trace:
        """How the best ratio of a label is attained."""
        starts = self._tables[window]
        ends = [one.found[depth, label] for one, depth in starts]
        which = int(np.argmax([high if value else -low for low, high in ends]))
        one, depth = starts[which]
        return one.trace(depth, label, value)


def _largest(logs: FloatArray) -> float:
    """The largest absolute value of finite logarithms."""
    return float(np.abs(logs, where=np.isfinite(logs), out=np.zeros_like(logs)).max(initial=0.0))


def _points(runs: Sequence[tuple[tuple[Observation, ...], int]]) -> int:
    return sum(len(pattern) * count for pattern, count in runs)


# ------------------------------------------------------------------------ the solver's interface
def solves(problem: Problem) -> bool:
    """Two-state models of order 1: one chain, a box of chains, or several of these."""
    return all(
        member.states == 2 and member.order == 1 and (member.single or member.box is not None)
        for member in problem.model.members
    )


def question(problem: Problem, model: DataModel, automaton: Automaton | None = None) -> Question:
    """What is asked about one chain, or one box of chains, by default for the noise of a
    problem.
    """
    initial = getattr(model, "initial", None) if model.single else None
    if model.single:
        transition = model.hidden_chain()[1]
        q, r = float(transition[0, 1]), float(transition[1, 0])
        box = (q, q, r, r)
    else:
        assert model.box is not None
        box = model.box
    opens = None if initial is None else (float(initial[0]), float(initial[1]))
    noise = problem.automaton if automaton is None else automaton
    steps = EFFORT if problem.effort is None else problem.effort
    return Question(box, opens, noise, problem.unit, problem.adversary, problem.length, steps)


def loss(problem: Problem, tolerance: float = TOLERANCE) -> PrivacyLoss:
    """The loss of all releases together, over all chains of the model."""
    model = problem.model
    several = model.members != (model,)
    if several:
        model = model.without_covered()  # type: ignore[attr-defined]
    questions = [question(problem, member) for member in model.members]
    found, place = _over_several(questions, tolerance)
    chain, name = None, None
    if several or not model.single:
        chain = model.members[place]
        if not chain.single:
            chain = MarkovChain.binary(*_attacked(questions[place], found))
        name = model.names[place] if several else None  # type: ignore[attr-defined]
    return PrivacyLoss(
        found.upper, found.lower, found.witness, problem.adversary, problem.length, chain, name,
        found.steps,
    )  # fmt: skip


def bound_over(problem: Problem, box: Box) -> float:
    """An upper bound of the loss on every stationary chain of a box, without a search."""
    q0, q1, r0, r1 = box
    whole = Question(box, None, problem.automaton, problem.unit, problem.adversary, problem.length)
    if q0 == q1 and r0 == r1:
        return bounds(whole).upper
    _check_box(whole)
    return _hull_bound(whole, 0.0)[0]


def _attacked(question: Question, found: Bounds) -> tuple[float, float]:
    """The corner of a box that the witness is on."""
    corners = _corners(question)
    if found.witness is None:
        return corners[0]

    def attained(corner: tuple[float, float]) -> float:
        q, r = corner
        one = replace(question, box=(q, q, r, r))
        return replay(one.chain, one.automaton, found.witness) if found.witness else 0.0

    return max(corners, key=attained)


# ------------------------------------------------------------------- boxes and several models
def _over_several(questions: Sequence[Question], tolerance: float) -> tuple[Bounds, int]:
    """The largest loss of several chains or boxes, and which one attains the lower bound.

    Groups of chains are bounded by the box around them; a group whose bound is not above a loss
    that was found is settled, others are divided where they lie furthest apart.
    """
    if len(questions) == 1:
        return bounds(questions[0], tolerance), 0
    best, place, upper, steps = Bounds(0.0, 0.0, None), 0, 0.0, 0
    groups = [list(range(len(questions)))]
    alone = [
        number for number, one in enumerate(questions)
        if one.initial is not None or one.box[1] + one.box[3] >= 1
        or isinstance(one.adversary, Adversary)
    ]  # fmt: skip
    groups = [[n for n in range(len(questions)) if n not in set(alone)], *([n] for n in alone)]
    while groups:
        group = groups.pop()
        if not group:
            continue
        if len(group) == 1:
            found = bounds(questions[group[0]], tolerance)
            steps += found.steps
            upper = max(upper, found.upper)
            if found.lower > best.lower or best.witness is None:
                best, place = found, group[0]
            continue
        boxes = np.array([questions[number].box for number in group])
        low, high = boxes.min(axis=0), boxes.max(axis=0)
        box = (float(low[0]), float(high[1]), float(low[2]), float(high[3]))
        if best.lower > 0:
            bound, spent = _hull_bound(replace(questions[group[0]], box=box), best.lower)
            steps += spent
            if bound <= best.lower * (1 + _allowed(tolerance, steps)):
                upper = max(upper, bound)
                continue
        axis = 0 if box[1] / box[0] > box[3] / box[2] else 2
        order = [group[i] for i in np.argsort(boxes[:, axis], kind="stable")]
        # The slower half comes first: it tends to lose more.
        middle = len(order) // 2
        groups += [order[middle:], order[:middle]]
    return replace(best, upper=upper, steps=steps), place


def _hull_bound(question: Question, lower: float) -> tuple[float, int]:
    """Upper bound over a box from the hull of its weights, and what was spent.

    ``lower`` is about the loss, of which the bound may overestimate a tenth of `CLOSE`.
    """
    parts = _Parts(question, 0.1 * CLOSE * max(lower, 0.1))
    return parts.upper, parts.steps


def _corners(question: Question) -> list[tuple[float, float]]:
    q0, q1, r0, r1 = question.box
    return [(q, r) for q in dict.fromkeys((q0, q1)) for r in dict.fromkeys((r0, r1))]


def _check_box(question: Question) -> None:
    """Error where the hull of the weights over a box is not known."""
    alternates = question.box[1] + question.box[3] >= 1
    if alternates or question.initial is not None or isinstance(question.adversary, Adversary):
        raise NotSupported(
            "a box of chains: offered for q + r below 1, against any, an ignorant or an informed "
            "adversary; give one chain"
        )


def _over_box(question: Question, tolerance: float) -> Bounds:
    """Branch and bound: the worst corner against the hull of the weights over ever smaller
    boxes.
    """
    _check_box(question)
    corners = [
        bounds(replace(question, box=(q, q, r, r)), tolerance / 4) for q, r in _corners(question)
    ]
    best = max(corners, key=lambda one: one.lower)
    steps = sum(one.steps for one in corners)

    def bound(box: Box) -> float:
        nonlocal steps
        upper, spent = _hull_bound(replace(question, box=box), best.lower)
        steps += spent
        return upper

    def is_settled(upper: float) -> bool:
        return upper <= best.lower * (1 + _allowed(tolerance, steps)) + 1e-9

    boxes, done = [(-bound(question.box), question.box)], 1
    while not is_settled(-boxes[0][0]) and done < MOST_BOXES and steps < question.effort:
        _, (a, b, c, d) = heapq.heappop(boxes)
        x, y = math.sqrt(a * b), math.sqrt(c * d)
        halves = [(a, x, c, d), (x, b, c, d)] if b / a > d / c else [(a, b, c, y), (a, b, y, d)]
        for half in halves:
            heapq.heappush(boxes, (-bound(half), half))
        done += 2
    upper = max(-boxes[0][0], *(one.upper for one in corners))
    return replace(best, upper=upper, steps=steps)
