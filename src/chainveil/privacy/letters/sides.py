"""The two sides of a target as words over letters: which letters there are, and what they weigh.

A node of a side stands at one point, before that point's report is read. Its row r holds, for each
state x of the point, the weight of everything between it and the target. A letter multiplies the
row by what the report at the point says of x, then one step of the chain leads to the next
point outwards: ``r' = (r * weight) M``, with M = P on the right and P transposed on the left.
Labels are the last reports of noise that remembers; independent noise has the one label 0.

On the right the label of a node is the last report before its point, and a letter is the report
at its point. On the left the label is the report at its point (or the last one before it, where it
is silent), and a letter is the report before that, whose value decides what the label weighed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.noise.base import Noise
from chainveil.privacy.letters.numbers import Numbers

IntArray = NDArray[np.int64]
# What a letter stands for: the report of each release at its point, None where there is none.
Reports = tuple[int | None, ...]


class Letter(NamedTuple):
    """What one point adds to a word.

    ``reports`` are those at the point of the node; on the left those of noise that remembers are
    the label's and are filled in when the word is read.
    """

    weight: FloatArray
    following: int
    reports: Reports


@dataclass(frozen=True)
class Spelling:
    """All letters of one side, by the residue of a point's index and by label.

    Attributes
    ----------
    is_left : bool
    matrix : array (k, k)
    period : int
        Points to a report.
    letters : dict
        The letters at (residue, label).
    ends : dict
        Vectors with which a word may end at (residue, label), and the reports that go with each.
    labels : int
        Number of labels; the last one is "none yet" where ``has_none``.
    """

    is_left: bool
    matrix: FloatArray
    period: int
    labels: int
    has_none: bool
    letters: dict[tuple[int, int], list[Letter]]
    ends: dict[tuple[int, int], list[tuple[FloatArray, Reports]]]
    first: int
    remembers: bool

    @property
    def none(self) -> int:
        """The label of points before any report of noise that remembers; -1 where there is none."""
        return self.labels - 1 if self.has_none else -1

    @cached_property
    def arrays(self) -> tuple[IntArray, FloatArray, IntArray, IntArray, FloatArray]:
        """Counts, weights and following labels of letters; counts and vectors of ends."""
        k, shape = len(self.matrix), (self.period, self.labels)
        most = max((len(some) for some in self.letters.values()), default=1)
        count, following = np.zeros(shape, np.int64), np.zeros((*shape, most), np.int64)
        weight = np.zeros((*shape, most, k))
        for place, letters in self.letters.items():
            count[place] = len(letters)
            for number, letter in enumerate(letters):
                weight[place][number], following[place][number] = letter.weight, letter.following
        most_ends = max((len(some) for some in self.ends.values()), default=1)
        end_count, vectors = np.zeros(shape, np.int64), np.zeros((*shape, most_ends, k))
        for place, ends in self.ends.items():
            end_count[place] = len(ends)
            for number, (vector, _) in enumerate(ends):
                vectors[place][number] = vector
        return count, weight, following, end_count, vectors


@dataclass(frozen=True)
class Script:
    """The releases as the search reads them: what each report says of the states.

    ``channels`` and ``sticky`` are places of the releases; the labels are the last reports of
    the sticky ones, the last of them running fastest. Noise that could look at its last report and
    does not (a probability of zero to repeat it) is a channel.
    """

    numbers: Numbers
    releases: tuple[Noise, ...]
    gaps: bool
    channels: tuple[int, ...] = field(init=False)
    sticky: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        if any(noise.sees not in ("point", "last report") for noise in self.releases):
            raise NotSupported("noise that looks at points before is offered for two states alone")
        if len({noise.every for noise in self.releases}) > 1:
            raise NotSupported(
                "noise: with more than two states all releases report equally often (every)"
            )
        leans = [_leans(*laws) for laws in self.numbers.laws]
        places = range(len(leans))
        object.__setattr__(self, "channels", tuple(i for i in places if not leans[i]))
        object.__setattr__(self, "sticky", tuple(i for i in places if leans[i]))
        if self.missing and (self.every > 1 or not self.numbers.is_stationary):
            raise NotSupported(
                "gaps: with more than two states missing points are offered where every point "
                "reports and the chain starts from its stationary law"
            )

    @property
    def missing(self) -> bool:
        """Whether points may be missing while a report is held."""
        return self.gaps and bool(self.sticky)

    @property
    def every(self) -> int:
        """Points to a report."""
        return self.releases[0].every

    @property
    def first(self) -> int:
        """Index of the first point that reports."""
        return self.releases[0].first_place

    @property
    def has_none(self) -> bool:
        """Whether points before the first report have a label of their own."""
        return bool(self.sticky) and (self.first > 0 or self.missing)

    @cached_property
    def label_reports(self) -> list[tuple[int, ...]]:
        """The reports of the sticky releases that each label stands for."""
        return list(product(*(range(self.releases[i].outputs) for i in self.sticky)))

    @property
    def labels(self) -> int:
        """Number of labels."""
        return len(self.label_reports) + self.has_none

    def _channel_reports(self) -> list[tuple[dict[int, int], FloatArray]]:
        """All reports of the channels together, and what they weigh."""
        choices = []
        for reports in product(*(range(self.releases[i].outputs) for i in self.channels)):
            weight = np.ones(self.numbers.states)
            for i, z in zip(self.channels, reports, strict=True):
                weight = weight * self.numbers.laws[i][0][:, z]
            choices.append((dict(zip(self.channels, reports, strict=True)), weight))
        return choices

    def sticky_weight(self, before: int | None, now: int) -> FloatArray:
        """What the reports of label ``now`` weigh after those of ``before`` (None: the first)."""
        weight = np.ones(self.numbers.states)
        for place, i in enumerate(self.sticky):
            first, kernel = self.numbers.laws[i]
            z = self.label_reports[now][place]
            if before is None:
                weight = weight * first[:, z]
            else:
                weight = weight * kernel[self.label_reports[before][place], :, z]
        return weight

    def _reports(self, of_channels: dict[int, int], label: int | None) -> Reports:
        """The report of each release."""
        found = dict(of_channels)
        if label is not None and self.sticky:
            found |= dict(zip(self.sticky, self.label_reports[label], strict=True))
        return tuple(found.get(i) for i in range(len(self.releases)))

    @property
    def _silence(self) -> Reports:
        return (None,) * len(self.releases)

    def spelling(self, is_left: bool) -> Spelling:
        """The letters of one side."""
        letters: dict[tuple[int, int], list[Letter]] = {}
        ends: dict[tuple[int, int], list[tuple[FloatArray, Reports]]] = {}
        for residue, label in product(range(self.every), range(self.labels)):
            place = residue, label
            letters[place] = (self._left if is_left else self._right)(residue, label)
            ends[place] = self._starts(residue, label) if is_left else [self._last()]
        transition = self.numbers.transition
        matrix = np.ascontiguousarray(transition.T if is_left else transition)
        return Spelling(
            is_left, matrix, self.every, self.labels, self.has_none, letters, ends, self.first,
            bool(self.sticky),
        )  # fmt: skip

    def _last(self) -> tuple[FloatArray, Reports]:
        """Nothing behind: the word ends before the node's point."""
        return np.ones(self.numbers.states), self._silence

    def _is_none(self, label: int) -> bool:
        return self.has_none and label == self.labels - 1

    def _silent(self, label: int) -> Letter:
        return Letter(np.ones(self.numbers.states), label, self._silence)

    def _right(self, residue: int, label: int) -> list[Letter]:
        if residue != self.first:
            return [self._silent(label)]
        before = None if self._is_none(label) else label
        found = [self._silent(label)] if self.missing else []
        for now in range(len(self.label_reports)):
            sticky = self.sticky_weight(before, now) if self.sticky else 1.0
            for reports, weight in self._channel_reports():
                following = now if self.sticky else 0
                found.append(Letter(weight * sticky, following, self._reports(reports, now)))
        return found

    def _left(self, residue: int, label: int) -> list[Letter]:
        if self._is_none(label):
            # Before the first report; at index 0 there is nothing further left.
            return [self._silent(label)] if self.missing or 0 < residue < self.first else []
        if residue != self.first:
            return [self._silent(label)]
        found = [self._silent(label)] if self.missing else []
        for before in range(len(self.label_reports)):
            sticky = self.sticky_weight(before, label) if self.sticky else 1.0
            for reports, weight in self._channel_reports():
                following = before if self.sticky else 0
                found.append(Letter(weight * sticky, following, self._reports(reports, label)))
        if self.has_none:
            sticky = self.sticky_weight(None, label)
            for reports, weight in self._channel_reports():
                now = self._reports(reports, label)
                found.append(Letter(weight * sticky, self.labels - 1, now))
        return found

    def _starts(self, residue: int, label: int) -> list[tuple[FloatArray, Reports]]:
        """What stands at index 0: the law of the first point, and its report if there is one."""
        start = self.numbers.start
        if residue != 0:
            return []
        if self.first > 0 or self._is_none(label):
            # With memory, index 0 lies before the first report.
            reported = bool(self.sticky) and not self._is_none(label)
            return [] if reported else [(start, self._silence)]
        sticky = self.sticky_weight(None, label) if self.sticky else 1.0
        return [
            (start * weight * sticky, self._reports(reports, label))
            for reports, weight in self._channel_reports()
        ]


def _leans(first: FloatArray, kernel: FloatArray) -> bool:
    """Whether a report depends on the one before it."""
    return bool(np.any(kernel != first[None]))
