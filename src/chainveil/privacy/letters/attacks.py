"""Attacks that were found on the way, and what each of them gains from other noise."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.model.contexts import context_steps
from chainveil.noise.base import Noise
from chainveil.privacy.bounds import Attack
from chainveil.privacy.letters.attack import reports_of
from chainveil.privacy.letters.numbers import exact_start
from chainveil.privacy.letters.sides import Reports

IntArray = NDArray[np.int64]
Block = tuple[int, int]
# Points between two times that rows are scaled, so that nothing underflows.
SCALED = 4


class Points(NamedTuple):
    """Points of one kind: what is reported at them, and how far they lie behind the ones before.

    ``gap``: steps of the chain; ``last`` and ``report`` of the open release, the number after its
    last report for none; ``value`` that each context has there.
    """

    gap: int
    last: int
    report: int
    value: tuple[int, ...]


class Blocks:
    """Points in a row that attacks are made of; those that are alike are one block.

    A block is a level and a number. ``of[0]`` numbers points by their kind, ``of[p]`` pairs of
    blocks of lower levels.
    """

    def __init__(self) -> None:
        self.of: list[dict[Any, int]] = [{}]
        self._pairs: dict[int, IntArray] = {}

    def _numbered(self, level: int, what: Any) -> Block:
        if level == len(self.of):
            self.of.append({})
        return level, self.of[level].setdefault(what, len(self.of[level]))

    def repeated(self, point: Points, count: int) -> Block:
        """A point so many times in a row."""
        block, parts = self._numbered(0, point), list[Block]()
        while count:
            if count % 2:
                parts.append(block)
            count //= 2
            if count:
                block = self._numbered(block[0] + 1, (block, block))
        return self.joined(parts)

    def joined(self, blocks: list[Block]) -> Block:
        """One block for several in a row."""
        while len(blocks) > 1:
            pairs = list(zip(blocks[::2], blocks[1::2], strict=False))
            left = blocks[2 * len(pairs) :]
            blocks = [self._numbered(max(one[0], two[0]) + 1, (one, two)) for one, two in pairs]
            blocks += left
        return blocks[0]

    def pairs(self, level: int) -> IntArray:
        """Levels and numbers of the two parts of each block of a level, (n, 2, 2)."""
        known = self._pairs.get(level)
        if known is None or len(known) < len(self.of[level]):
            known = self._pairs[level] = np.array(list(self.of[level]))
        return known


class Attacks:
    """A collection of attacks on one chain of any order, the noise of the last release still open.

    Values are in floats: they guide a search, and are no bound. They are sums over contexts, the
    last points together, as ``model.contexts`` counts them; of a chain of order 1 over its states.
    """

    def __init__(self, model: Any, earlier: tuple[Noise, ...]) -> None:
        self._order, self._states, self._earlier = model.order, model.states, earlier
        first = model.contexts if model.order > 1 else exact_start(model)
        self._start = np.array([float(share) for share in first])
        self._move = context_steps(np.asarray(model.transition))
        self._powers = {0: np.eye(len(self._start)), 1: self._move}
        self._laws = [(noise.first_law(), _kernel(noise)) for noise in earlier]
        self._known: list[Attack] = []
        self._blocks = Blocks()
        # Of each attack: its blocks, and what all else says behind each of them for the two values
        # of the target, (blocks, 2, contexts).
        self._made: list[tuple[list[Block], FloatArray]] = []
        self._priors = np.zeros(0)

    def __len__(self) -> int:
        return len(self._known)

    def copy(self) -> Attacks:
        """The same attacks, to which others may be added."""
        found = copy(self)
        found._known, found._made = list(self._known), list(self._made)
        found._blocks = deepcopy(self._blocks)
        return found

    def add(self, attack: Attack | None, noise: Noise) -> None:
        """One more attack on such noise as this, if it is one and new."""
        if attack is None or attack in self._known:
            return
        self._known.append(attack)
        blocks, given, known = self._read(attack, noise)
        self._made.append((blocks, given))
        silent = np.ones((1, noise.outputs + 1, self._states, noise.outputs + 1))
        prior = self._gained([(blocks, known)], silent)
        self._priors = np.append(self._priors, prior[0])

    def best(self, noise: Noise) -> Attack | None:
        """The attack that gains most from a noise."""
        return self._known[int(np.argmax(self.values([noise])[:, 0]))] if self._known else None

    def values(self, noises: Sequence[Noise]) -> FloatArray:
        """What each attack gains, in nats, from each noise: shape (attacks, noises)."""
        if not self._made:
            return np.empty((0, len(noises)))
        outputs, k = noises[0].outputs, self._states
        # By the last report and by the report; behind those that there are, none.
        laws = np.ones((len(noises), outputs + 1, k, outputs + 1))
        for law, noise in zip(laws, noises, strict=True):
            law[:outputs, :, :outputs] = _kernel(noise)
            law[outputs, :, :outputs] = noise.first_law()
        return self._gained(self._made, laws) - self._priors[:, None]

    def _gained(
        self, attacks: Sequence[tuple[list[Block], FloatArray]], laws: FloatArray
    ) -> FloatArray:
        """Log odds of the two values, shape (attacks, noises)."""
        first, steps = self._matrices(laws)
        # Behind its blocks an attack is filled up with steps that change nothing.
        contexts, length = len(self._start), max(len(blocks) for blocks, _ in attacks)
        which = np.full((len(attacks), length), len(steps) - 1)
        given = np.ones((len(attacks), length, 2, contexts))
        for place, (blocks, says) in enumerate(attacks):
            which[place, : len(blocks)] = [first[level] + number for level, number in blocks]
            given[place, : len(blocks)] = says
        seen = np.tile(self._start, (len(attacks), len(laws), 2, 1))
        for n in range(length):
            seen = (seen @ steps[which[:, n]]) * given[:, n, None]
            if n % SCALED == SCALED - 1:
                seen /= np.maximum(seen.max(axis=(2, 3), keepdims=True), 1e-300)
        sums = seen.sum(axis=3)
        with np.errstate(divide="ignore", invalid="ignore"):
            gained = np.log(sums[:, :, 0]) - np.log(sums[:, :, 1])
        # Reports that cannot be made gain nothing.
        return np.where(sums[:, :, 0] > 0, gained, -np.inf)

    def _matrices(self, laws: FloatArray) -> tuple[IntArray, FloatArray]:
        """Where the blocks of each level begin, and what all blocks do, scaled.

        Shape (blocks + 1, noises, contexts, contexts); the last one changes nothing.
        """
        gap, last, report, value = map(np.array, zip(*self._blocks.of[0], strict=True))
        for steps in set(gap.tolist()) - set(self._powers):
            self._powers[steps] = np.linalg.matrix_power(self._move, steps)
        moves = np.stack([self._powers[steps] for steps in gap.tolist()])
        weight = laws[:, last[:, None], value, report[:, None]].swapaxes(0, 1)
        first = np.cumsum([0, *map(len, self._blocks.of)])
        contexts = len(self._start)
        found = np.empty((first[-1] + 1, len(laws), contexts, contexts))
        found[: first[1]], found[-1] = moves[:, None] * weight[:, :, None, :], np.eye(contexts)
        for level in range(1, len(self._blocks.of)):
            pairs = self._blocks.pairs(level)
            one, two = (first[pairs[..., 0]] + pairs[..., 1]).T
            both = found[one] @ found[two]
            both /= np.maximum(both.max(axis=(2, 3), keepdims=True), 1e-300)
            found[first[level] : first[level + 1]] = both
        return first, found

    def _read(self, attack: Attack, noise: Noise) -> tuple[list[Block], FloatArray, FloatArray]:
        """The blocks of an attack, what all else says behind each, and that without any report.

        Points that say nothing are left out. A point of which something else is said is a block.
        """
        releases, nothing = (*self._earlier, noise), np.ones((2, len(self._start)))
        last: tuple[int | None, ...] = (None,) * len(releases)
        blocks, row, before = list[Block](), list[Block](), 0
        says, without = list[FloatArray](), list[FloatArray]()

        def ends_row() -> None:
            if row:
                blocks.append(self._blocks.joined(row))
                says.append(nothing)
                without.append(nothing)
                row.clear()

        for index, count, reports in self._runs(attack, releases):
            point, given, known, tells = self._point(attack, index, reports, last, noise.outputs)
            last = tuple(
                held if now is None else now for held, now in zip(last, reports, strict=True)
            )
            if point.report == noise.outputs and not tells:
                continue
            steps = max(0, index - self._order + 1)
            block = self._blocks.repeated(point._replace(gap=steps - before), count)
            before = steps + count - 1
            if not tells:
                row.append(block)
                continue
            ends_row()
            blocks.append(block)
            says.append(given)
            without.append(known)
        ends_row()
        return blocks, np.array(says), np.array(without)

    def _runs(
        self, attack: Attack, releases: tuple[Noise, ...]
    ) -> Iterator[tuple[int, int, Reports]]:
        """Where points of one kind begin, how many they are, and what is reported at each.

        The first of several with the same reports may follow others.
        """
        reports = reports_of(attack)
        alone = {attack.target, *attack.known, *range(self._order)}
        ends = sorted({*alone, *(index + 1 for index in alone), len(reports)})
        begin = 0
        while begin < len(reports):
            end = ends[bisect_right(ends, begin)]
            now, count = reports[begin], 1
            yield begin, 1, now
            while begin + count < end and reports[begin + count] == now:
                count += 1
            if count > 1 and not self._earlier:
                yield begin + 1, count - 1, now
            elif count > 1:
                yield from ((begin + place, 1, now) for place in range(1, count))
            begin += count

    def _point(
        self, attack: Attack, index: int, reports: Reports, last: Reports, outputs: int
    ) -> tuple[Points, FloatArray, FloatArray, bool]:
        """A point without its gap, what all else says of it, what is known, and whether it tells.

        ``last``: the reports before it; ``outputs`` of the open release.
        """
        value = self._value(index)
        known = np.ones((2, len(self._start)))
        if index == attack.target:
            known *= value == np.array([attack.value, attack.other])
        elif index in attack.known:
            known *= value == attack.known[index]
        given = known.copy()
        for (start, then), held, now in zip(self._laws, last, reports, strict=False):
            if now is not None:
                given *= (start[:, now] if held is None else then[held, :, now])[value]
        report = outputs if reports[-1] is None else reports[-1]
        before = outputs if last[-1] is None or reports[-1] is None else last[-1]
        point = Points(0, before, report, tuple(value.tolist()))
        return point, given, known, not np.all(given == 1)

    def _value(self, index: int) -> IntArray:
        """The value that each context has at a point: the first points are one context."""
        place = max(self._order - 1 - index, 0)
        contexts = np.arange(len(self._start))
        return np.asarray(contexts // self._states**place % self._states)


def _kernel(noise: Noise) -> FloatArray:
    """``Pr[z' | last report z, x']`` at ``[z, x', z']``."""
    return noise.step_law()[:, 0]
