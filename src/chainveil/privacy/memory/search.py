"""Losses of many kernels of one kind, quickly and to a search's accuracy.

Nothing here is certified; what a search finds goes through ``loss`` afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.noise.base import Noise
from chainveil.noise.memory import nearest_on_grid
from chainveil.privacy.memory import kernel
from chainveil.privacy.memory.layout import Layout, factors_of, layout
from chainveil.privacy.memory.sides import END, MOST_WORK, Corner, Side

# How close tails shall come in a search, as a ratio.
ACCURACY = 1e-8
# Points that may be walked between leaps for one kernel; of those that need more, what the
# walked points tell is taken.
LOOKED_AT = 20_000
# A ratio that stands for none, where logs are taken.
NOTHING = 1e-300


@dataclass(frozen=True)
class Laws:
    """The numbers of one noise: kernel (m, 2, 2, m), first law (2, m), kernel after gaps."""

    kernel: FloatArray
    first: FloatArray
    after_gap: FloatArray

    def vector(self) -> FloatArray:
        """All of them in a row, and a one for steps without a report."""
        parts = (self.kernel.ravel(), self.first.ravel(), self.after_gap.ravel(), np.ones(1))
        return np.concatenate(parts)

    def on_grid(self) -> Laws:
        """The nearest in multiples of 2^-53, as the noise has them."""
        return Laws(*map(nearest_on_grid, (self.kernel, self.first, self.after_gap)))


class _Numbered:
    """Stands in for a noise of the kind: each probability is its place in :class:`Laws`."""

    def __init__(self, example: Noise) -> None:
        self.kind, self.holds, self.ordered = example.kind, example.holds, example.ordered
        self.every, self.first_place = example.every, example.first_place
        self.outputs, self.sees = example.outputs, example.sees

    def step_law(self) -> FloatArray:
        """Places of the kernel; those of the first state before it, where that is not seen."""
        m = self.outputs
        places = np.arange(m * 4 * m, dtype=float).reshape(m, 2, 2, m)
        seen = self.sees == "series"
        return places if seen else np.broadcast_to(places[:, :1], places.shape)

    def first_law(self) -> FloatArray:
        """Places of the first law."""
        m = self.outputs
        return np.asarray(4.0 * m * m + np.arange(2 * m).reshape(2, m), np.float64)

    def after_gap_law(self) -> FloatArray:
        """Places of the kernel after gaps: the kernel's own where that is the same."""
        m = self.outputs
        if self.sees != "series":
            return self.step_law()[:, 0]
        return np.asarray(4.0 * m * m + 2 * m + np.arange(2 * m * m).reshape(m, 2, m), np.float64)


@dataclass(frozen=True)
class Losses:
    """Loss of one kind of noise together with earlier releases, over every length.

    ``kinds`` are the beginnings of a side that the adversary allows (``sides``).
    """

    corners: tuple[Corner, ...]
    start: tuple[float, float]
    earlier: tuple[Noise, ...]
    gaps: bool
    kinds: tuple[int, ...]
    example: Noise

    def told(self, laws: Laws) -> FloatArray:
        """What both sides tell: (side, phase, label, direction, how the side begins)."""
        if Side(self.template, self.corners, self.start, True).is_slow:
            return self._told_in_leaps(laws)
        settings = np.array([MOST_WORK / self._work, ACCURACY, END in self.kinds], float)
        found: FloatArray = kernel.both_sides(
            laws.vector(), self._links, self._first, self._plain,
            np.array(self.start), self._begins, settings,
        )  # fmt: skip
        return found

    def _told_in_leaps(self, laws: Laws) -> FloatArray:
        changed = self.with_laws(laws)
        sides = (Side(changed, self.corners, self.start, left) for left in (True, False))
        found = [side.scan(self.kinds, ACCURACY, LOOKED_AT) for side in sides]
        return np.stack([reach.best for reach in found])

    def with_laws(self, laws: Laws) -> Layout:
        """Labels and steps with these numbers."""
        vector, (labels, given, numbers) = laws.vector(), self._first
        own = np.take(vector, self._numbers)[self._links[2]]
        first = tuple(
            (int(label), one * vector[places], ())
            for label, one, places in zip(labels, given, numbers, strict=True)
        )
        return replace(self.template, factor=self._given * own, first=first)

    def parts(self, laws: Laws) -> FloatArray:
        """Log ratios by phase, label, direction and how both sides begin, (p, l, 2, 3, 3)."""
        logs = np.log(np.maximum(self.told(laws), NOTHING))
        return np.asarray(logs[0][..., :, None] + logs[1][..., None, :])

    @cached_property
    def template(self) -> Layout:
        """Labels and steps, which are those of every noise of the kind."""
        return layout((*self.earlier, self.example), self.gaps)

    @property
    def _work(self) -> int:
        families = 6 * self.template.period
        return families * max(1, len(self.template.source) // self.template.period)

    @cached_property
    def _numbers(self) -> Any:
        stand_in: Any = _Numbered(self.example)
        ones = factors_of(self.example, self.gaps)
        numbers = factors_of(stand_in, self.gaps)
        # Steps without a report have the factor one, which stands at the end of the laws.
        last = len(_laws_of(self.example).vector()) - 1
        silent = np.all(ones == 1.0, axis=(1, 2)) & np.all(numbers == 1.0, axis=(1, 2))
        numbers[silent] = last
        return numbers.astype(np.int64)

    @cached_property
    def _given(self) -> FloatArray:
        factor = np.ones_like(self.template.factor)
        for number, noise in enumerate(self.earlier):
            factor = factor * factors_of(noise, self.gaps)[self.template.parts[:, number]]
        return factor

    @cached_property
    def _links(self) -> Any:
        t = self.template
        parts = np.ascontiguousarray(t.parts[:, -1])
        return self._given, self._numbers, parts, t.source, t.target, t.offsets

    @cached_property
    def _first(self) -> Any:
        """What may be published at the first point, with the numbers of the laws in it."""
        stand_in: Any = _Numbered(self.example)
        labels = np.array([label for label, *_ in self.template.first], np.int64)
        alone = layout((stand_in,), self.gaps).first if self.example.first_place == 0 else ()
        by_report = {reports[-1]: factor for _, factor, reports in alone}
        last = len(_laws_of(self.example).vector()) - 1
        given, numbers = np.ones((len(labels), 2)), np.full((len(labels), 2), last, np.int64)
        own = _laws_of(self.example).first
        for one, (_, factor, reports) in enumerate(self.template.first):
            report = reports[-1]
            given[one] = factor / (own[:, report] if report >= 0 else 1.0)
            if report >= 0:
                numbers[one] = by_report[report].astype(np.int64)
        return labels, given, numbers

    @cached_property
    def _plain(self) -> FloatArray:
        return np.array([[[1 - q, q], [r, 1 - r]] for q, r in self.corners])

    @cached_property
    def _begins(self) -> Any:
        both = []
        for left in (True, False):
            side = Side(self.template, self.corners, self.start, left)
            begins = side.begins(self.kinds)
            low, high, prior = (
                np.array(part) for part in zip(*(b.interval for b in begins), strict=True)
            )
            phases = np.array([side.first_phase(begin.time) for begin in begins])
            both.append((low, high, prior, phases))
        return tuple(both)


def _laws_of(noise: Noise) -> Laws:
    """The numbers of a noise that is there already."""
    step = np.array(noise.step_law())
    after = np.array(noise.after_gap_law()) if noise.holds else step[:, 0]
    return Laws(step, np.array(noise.first_law()), after)
