"""Exact loss of two-state chains under releases that remember, are rare, or guard an event.

The loss splits at the secret: what the reports before it tell, what the reports after it tell,
both given the label that stands at it, and for an event of several points the reports in
between. Each side is an interval of odds for every label (``kernel``). The result is rounded
up throughout; the attack that attains it is replayed in ball arithmetic and rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.privacy.adversary import Adversary
from chainveil.privacy.memory import block_attack, block_loss, block_places
from chainveil.privacy.memory.attack import Case, Flank, build
from chainveil.privacy.memory.layout import BoolArray, Layout, layout
from chainveil.privacy.memory.sides import END, KNOWN_0, KNOWN_1, TOLERANCE, Reach, Side
from chainveil.privacy.memory.window import IMPOSSIBLE, Worst, logarithms, together, totals, worst
from chainveil.privacy.memory.witness import MemoryWitness
from chainveil.privacy.problem import Problem
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.witness import DescribedAttack

KINDS = {"any": (END, KNOWN_0, KNOWN_1), "ignorant": (END,)}
# Series up to this length are looked at position by position; for longer ones the bound of
# all lengths is given, which the attack comes close to where the sides have settled.
LONGEST_TABLE = 20_000
LONGEST_TABLE_OF_EVENTS = 500


def solves(problem: Problem) -> bool:
    """Any releases of two-state chains of order 1: one, or a box of them."""
    model = problem.model
    return model.states == 2 and (model.order == 1 or not model.single)


def loss(problem: Problem) -> PrivacyLoss:
    """The loss of all releases together, for every length or a given one."""
    if not problem.model.single:
        from chainveil.privacy.memory import box

        over: PrivacyLoss = box.loss(problem)
        return over
    labels, log, found = _worst(problem)
    if found is None:
        return PrivacyLoss(0.0, 0.0, None, problem.adversary, problem.length)
    epsilon = max(0.0, rounded_up(log, problem.event))
    lower = max(0.0, _attained(found, problem))
    if lower == 0.0 and epsilon < 1e-11:
        # Reports that say nothing at all leave rounding behind and nothing else.
        epsilon = 0.0 if _says_nothing(labels) else epsilon
    return PrivacyLoss(max(epsilon, lower), lower, None, problem.adversary, problem.length)


def _worst(problem: Problem) -> tuple[Layout, float, MemoryWitness | None]:
    """Labels and steps, the largest log ratio, and an attack that attains it."""
    if block_places.solves(problem):
        blocks = block_loss.Blocks.of(problem)
        log, found = blocks.worst()
        return blocks.layout, log, None if found is None else block_attack.build(found, blocks)
    setting = Setting.of(problem)
    case = setting.worst_case()
    impossible = case.worst.log == IMPOSSIBLE
    return setting.layout, case.worst.log, None if impossible else setting.witness(case)


def _says_nothing(labels: Layout) -> bool:
    """Whether no report depends on the states."""
    factors = [labels.factor.reshape(-1, 4)]
    factors.append(np.array([np.tile(factor, 2) for _, factor, _ in labels.first]))
    return all(bool(np.all(rows == rows[:, :1])) for rows in factors)


def witness(attack: DescribedAttack) -> MemoryWitness:
    """The attack as it is described."""
    return MemoryWitness.of(attack)


def rounded_up(log: float, event: int) -> float:
    """A log ratio that is summed from a few logarithms per point of the event, rounded up."""
    return log + (8 + 4 * event) * 2.0**-52 * max(1.0, abs(log))


def _attained(found: MemoryWitness, problem: Problem) -> float:
    replayed = found.replay(problem.chain, problem.releases)
    return 0.0 if math.isnan(replayed) else replayed


@dataclass(frozen=True)
class Setting:
    """A problem with its labels and both sides of the secret."""

    problem: Problem
    layout: Layout
    left: Side
    right: Side

    @classmethod
    def of(cls, problem: Problem, labels: Layout | None = None) -> Setting:
        """The sides of a problem about one chain; ``labels``: those of its releases, if known."""
        chain = problem.chain
        q, r = float(chain.transition[0, 1]), float(chain.transition[1, 0])
        start = (r / (q + r), q / (q + r)) if chain.initial is None else tuple(chain.initial)
        if labels is None:
            labels = layout(problem.releases, problem.gaps)
        sides = (Side(labels, ((q, r),), start, left) for left in (True, False))
        return cls(problem, labels, *sides)

    @cached_property
    def possible(self) -> BoolArray:
        """Steps of the chain that can occur."""
        return self.problem.chain.transition > 0

    def witness(self, case: Case) -> MemoryWitness:
        """The attack in full."""
        length = self.problem.length
        return build(case, self.left, self.right, self.problem.releases, length)

    def worst_case(self) -> Case:
        """The worst window and how both sides begin there."""
        problem = self.problem
        if isinstance(problem.adversary, Adversary):
            return self._named(problem.adversary)
        if problem.adversary == "informed":
            return self._informed()
        longest = LONGEST_TABLE if problem.event == 1 else LONGEST_TABLE_OF_EVENTS
        if problem.length is None or problem.length > longest:
            return self._every_length(KINDS[problem.adversary])
        return self._positions(KINDS[problem.adversary], problem.length)

    def _every_length(self, kinds: tuple[int, ...]) -> Case:
        reaches = self.left.scan(kinds, TOLERANCE), self.right.scan(kinds, TOLERANCE)
        if not all(reach.met for reach in reaches):
            both = float(self.problem.chain.transition[[0, 1], [1, 0]].sum())
            raise NotSupported(
                "the loss of every length did not settle within the points that can be walked: the "
                f"chain forgets {min(both, 2 - both):.1e} of its state from point to point, too "
                f"little for this noise. Give a length of at most {LONGEST_TABLE:,} points."
            )
        uppers = [logarithms(reach.upper) for reach in reaches]
        best: tuple[int, Worst] | None = None
        for phase, present in self._starts():
            found = self._window(phase, uppers[0][phase], uppers[1], present)
            if best is None or found.log > best[1].log:
                best = phase, found
        assert best is not None
        return self._placed(*best, *reaches)

    def parts(self) -> FloatArray:
        """The loss in parts, by label and values at the end of the secret: for searches."""
        problem, size = self.problem, self.problem.event
        named = problem.adversary not in KINDS
        if named or (problem.length is not None and problem.length <= LONGEST_TABLE_OF_EVENTS):
            return np.array([self.worst_case().worst.log])
        kinds = KINDS[str(problem.adversary)]
        sides = [logarithms(side.scan(kinds, 1e-8).upper) for side in (self.left, self.right)]
        found = []
        for phase, present in self._starts():
            phases = [(phase + step) % self.layout.period for step in range(size)]
            ends = sides[0][phase], sides[1][phases[-1]]
            found.append(totals(self.layout, self.possible, *ends, present, phases[1:])[0])
        return np.asarray(np.max(found, axis=0).ravel())

    def _starts(self) -> Iterator[tuple[int, BoolArray]]:
        """Phases of a window's first point, with the labels that can stand there."""
        for phase in range(self.layout.period):
            early = [
                labels for time, labels in enumerate(self.layout.early)
                if time % self.layout.period == phase
            ]  # fmt: skip
            labels = np.any([self.layout.usual[phase], *early], axis=0)
            yield phase, np.repeat(labels[:, None], 2, axis=1)

    def _present(self, time: int) -> BoolArray:
        """Labels and states that a point can have, shape (labels, 2)."""
        states = [self.left.can_be(time, value) for value in range(2)]
        return np.asarray(np.logical_and.outer(self.layout.reach(time), states))

    def _window(self, time: int, left: FloatArray, right: FloatArray, present: BoolArray) -> Worst:
        """The worst case of a window at a time or phase; ``right`` by phase."""
        period, size = self.layout.period, self.problem.event
        phases = [(time + step) % period for step in range(size)]
        behind = right[phases[-1]] if right.ndim == 3 else right
        return worst(self.layout, self.possible, left, behind, present, phases[1:])

    def _placed(self, phase: int, found: Worst, left: Reach, right: Reach) -> Case:
        """A worst case of every length, at a place in a series."""
        period, size = self.layout.period, self.problem.event
        before = _flank(left, phase, found.label, found.value[0], found.other[0])
        if before is None:
            times = range(self.left.early + period)
            begin = next(
                t for t in times
                if t % period == phase and self.layout.reach(t)[found.label]
            )  # fmt: skip
        else:
            begin = before.time + before.depth
        last = found.label if not found.steps else int(self.layout.target[found.steps[-1]])
        end = (phase + size - 1) % period
        after = _flank(right, end, last, found.value[-1], found.other[-1])
        return self._fitted(Case(begin, found, before, after))

    def _fitted(self, case: Case) -> Case:
        """The same in a series of the length asked for, where there is one."""
        length, size = self.problem.length, self.problem.event
        if length is None:
            return case
        after = case.right
        if after is not None and after.kind == END:
            # The end of the series is where it is; far away it tells the same.
            after = Flank(END, length - 1, length - case.begin - size)
        return Case(case.begin, case.worst, case.left, after)

    def _positions(self, kinds: tuple[int, ...], length: int) -> Case:
        left = _Table.of(self.left, kinds, length)
        right = _Table.of(self.right, kinds, length)
        return self._best_position(left, right, range(length - self.problem.event + 1))

    def _best_position(self, left: _Table, right: _Table, begins: range) -> Case:
        best: tuple[int, Worst] | None = None
        size = self.problem.event
        if size == 1:
            total = together(left.logs[begins], right.logs[begins])
            begins = range(begins[int(np.argmax(total.max(axis=(1, 2))))], begins[-1] + 1)[:1]
        for begin in begins:
            present = self._present(begin)
            found = self._window(begin, left.logs[begin], right.logs[begin + size - 1], present)
            if best is None or found.log > best[1].log:
                best = begin, found
        assert best is not None
        begin, found = best
        last = found.label if not found.steps else int(self.layout.target[found.steps[-1]])
        before = left.flank(begin, found.label, found.value[0], found.other[0])
        after = right.flank(begin + size - 1, last, found.value[-1], found.other[-1])
        return Case(begin, found, before, after)

    def _informed(self) -> Case:
        """Every other point known: the neighbours of the window tell all there is to tell."""
        size, period = self.problem.event, self.layout.period
        length = self.problem.length
        points = size + 2 * (self.left.early + period) if length is None else length
        points = min(points, size + 2 * (self.left.early + period) + period)
        left, right = (
            _Table.of(side, (END, KNOWN_0, KNOWN_1), points, depth=1)
            for side in (self.left, self.right)
        )
        return self._best_position(left, right, range(points - size + 1))

    def _named(self, adversary: Adversary) -> Case:
        size, length = self.problem.event, self.problem.length
        begin, end = adversary.target, adversary.target + size - 1
        before = max((j for j in adversary.known if j < begin), default=None)
        after = min((j for j in adversary.known if j > end), default=None)
        left = _Table.at(self.left, begin, before, 0)
        if after is None and length is None:
            reach = self.right.scan((END,))
            phase = end % self.layout.period
            found = self._window(
                begin, left.logs[begin], logarithms(reach.upper)[phase], self._present(begin)
            )
            last = found.label if not found.steps else int(self.layout.target[found.steps[-1]])
            flank = _flank(reach, phase, last, found.value[-1], found.other[-1])
            far = None if flank is None else Flank(END, end + flank.depth, flank.depth)
            return Case(
                begin, found,
                left.flank(begin, found.label, found.value[0], found.other[0]), far,
            )  # fmt: skip
        right = _Table.at(self.right, end, after, end if length is None else length - 1)
        return self._best_position(left, right, range(begin, begin + 1))


def _flank(reach: Reach, phase: int, label: int, value: int, other: int) -> Flank | None:
    """How the best side of a label begins, for the direction that the two values give."""
    if value == other:
        return None
    kind = int(np.argmax(reach.best[phase, label, value]))
    family, depth = (int(i) for i in reach.where[phase, label, value, kind])
    return Flank(kind, int(reach.times[family]), depth)


@dataclass
class _Table:
    """What one side tells at each position of a series, and the families that tell it.

    ``logs`` has the shape (positions, labels, 2); ``families`` holds for each the kind, the
    point where it begins, and what it tells by depth.
    """

    side: Side
    logs: FloatArray
    families: list[tuple[int, int, FloatArray]]
    length: int
    depth: int | None

    @classmethod
    def of(
        cls, side: Side, kinds: tuple[int, ...], length: int, depth: int | None = None
    ) -> _Table:
        """All positions of a series; ``depth``: known points no further away than that."""
        table = cls(side, np.full((length, side.layout.labels, 2), IMPOSSIBLE), [], length, depth)
        end = 0 if side.left else length - 1
        if END in kinds:
            table._add(END, end, 0 if depth is not None else length - 1)
        for kind in (KNOWN_0, KNOWN_1):
            for time in table._times() if kind in kinds else ():
                if side.left and not side.can_be(time, kind - KNOWN_0):
                    continue
                reach = time if not side.left else length - 1 - time
                table._add(kind, time, reach if depth is None else min(reach, depth))
        return table

    @classmethod
    def at(cls, side: Side, position: int, known: int | None, end: int) -> _Table:
        """One position and one beginning: a known point of either value, or an end."""
        size = max(position, end) + 1
        table = cls(side, np.full((size, side.layout.labels, 2), IMPOSSIBLE), [], size, None)
        begin = end if known is None else known
        for kind in (END,) if known is None else (KNOWN_0, KNOWN_1):
            if known is not None and side.left and not side.can_be(known, kind - KNOWN_0):
                continue
            values = side.table(kind, begin, abs(position - begin))
            table.families.append((kind, begin, logarithms(values)))
            table.logs[position] = np.fmax(table.logs[position], logarithms(values)[-1])
        return table

    def _times(self) -> list[int]:
        """Where families of known points begin: early ones, then one of each phase.

        A family of the usual points stands for all later ones of its phase too (on the left),
        or for all earlier ones (on the right).
        """
        period, early = self.side.layout.period, self.side.early
        if self.side.left:
            return [t for t in range(early + period) if t < self.length]
        return [t for t in range(self.length - period, self.length) if t >= 0]

    def _add(self, kind: int, time: int, depth: int) -> None:
        labels = None if self.side.left else np.ones(self.side.layout.labels, bool)
        logs = logarithms(self.side.table(kind, time, depth, labels))
        self.families.append((kind, time, logs))
        best = self._running(kind, time, logs)
        if self.side.left:
            self.logs[time : time + len(best)] = np.fmax(self.logs[time : time + len(best)], best)
        else:
            part = slice(time + 1 - len(best), time + 1)
            self.logs[part] = np.fmax(self.logs[part], best[::-1])

    def _repeats(self, kind: int, time: int) -> bool:
        return kind != END and (not self.side.left or time >= self.side.early)

    def _running(self, kind: int, time: int, logs: FloatArray) -> FloatArray:
        """The best over depths of one phase, where the family stands for others of its phase."""
        if not self._repeats(kind, time):
            return logs
        period = self.side.layout.period
        reach = time if not self.side.left else self.length - 1 - time
        rows = -(-(reach + 1) // period)
        padded = np.full((rows * period, *logs.shape[1:]), IMPOSSIBLE)
        padded[: len(logs)] = logs
        shaped = padded.reshape(rows, period, *logs.shape[1:])
        return np.maximum.accumulate(shaped, axis=0).reshape(padded.shape)[: reach + 1]

    def flank(self, position: int, label: int, value: int, other: int) -> Flank | None:
        """The beginning behind what a position is told."""
        if value == other:
            return None
        goal = self.logs[position, label, value]
        for kind, time, logs in self.families:
            away = abs(position - time)
            ahead = position >= time if self.side.left else position <= time
            if not ahead:
                continue
            step = self.side.layout.period if self._repeats(kind, time) else away + 1
            for depth in range(away, -1, -step):
                if depth < len(logs) and logs[depth, label, value] == goal:
                    begin = position - depth if self.side.left else position + depth
                    return Flank(kind, begin, depth)
        raise AssertionError("no family tells what the table says")
