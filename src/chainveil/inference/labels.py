"""What stands at each point of a release: a report, or what was said last.

Noise on one point in several is silent at the others, and a missing point makes no report. Noise
that holds its last report over such points is then at a label of its own, "held z", from which the
next report is drawn by another law than from "report z". Other noise has one label for silence.

With m reports, the labels are ``0 … m-1`` for a report, then for silence ``m`` alone, or, under
noise that holds, ``m + z`` for z held and ``2 m`` before the first report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.noise.base import Noise


@dataclass(frozen=True)
class Labels:
    """The labels of a release under a noise.

    Attributes
    ----------
    noise : Noise
    silent : bool
        Whether some points make no report.
    """

    noise: Noise
    silent: bool

    @property
    def count(self) -> int:
        """Number of labels."""
        m = self.noise.outputs
        if not self.silent:
            return m
        return 2 * m + 1 if self.noise.holds else m + 1

    def next(self, label: int | None, reports: bool) -> range:
        """The labels that can follow one, or begin a series, at a point that reports or not."""
        m = self.noise.outputs
        if reports:
            return range(m)
        if not self.noise.holds:
            return range(m, m + 1)
        held = 2 * m if label is None else label + m if label < m else label
        return range(held, held + 1)

    def of(self, symbols: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[Any]:
        """The label of each point of series laid end to end.

        ``symbols`` holds what was published, shape (total,): a report, m where a point is
        missing; under noise on one point in several only the points that report count. Series j
        is ``symbols[offsets[j]:offsets[j + 1]]``.
        """
        if not self.silent:
            return symbols
        m, begin = self.noise.outputs, np.repeat(offsets[:-1], np.diff(offsets))
        points = np.arange(len(symbols))
        reports = np.asarray(symbols < m)
        if self.noise.every > 1:
            reports = reports & ((points - begin) % self.noise.every == self.noise.first_place)
        if not self.noise.holds:
            return np.where(reports, symbols, m)
        last = np.maximum.accumulate(np.where(reports, points, -1))
        held = m + symbols.astype(np.int64)[np.maximum(last, 0)]
        return np.where(reports, symbols, np.where(last < begin, 2 * m, held))


def report_labels(noise: Noise, gaps: bool = False) -> Labels:
    """The labels of a noise; ``gaps`` where points are missing."""
    return Labels(noise, gaps or noise.every > 1)
