"""Passes over a release: what it says about transitions, one chain after another."""

from __future__ import annotations

import numpy as np

from chainveil.checks import FloatArray
from chainveil.errors import NotSupported
from chainveil.estimate.counts.cells import Cells
from chainveil.estimate.noise_law import NoiseLaw
from chainveil.inference import (
    ExpectedTransitions,
    expected_transitions,
    report_labels,
    report_laws,
)


class ReleasePasses:
    """A release and its noise, ready for passes."""

    def __init__(self, cells: Cells, noise: NoiseLaw) -> None:
        self.states = noise.states
        gaps, source = len(cells.gaps) > 0, noise.source
        if gaps and source.ordered and not source.holds:
            raise NotSupported(
                "the likelihood of noise with a memory over gaps: what it did there is not known. "
                "Ask for transitions from counts, which know how far apart the points are; where "
                "another question fits a chain, give it one"
            )
        # Where a report looks back, parts of a series are not series of their own.
        borders = cells.origins if source.holds else cells.borders
        lengths = np.diff(borders)
        self.series = int(np.count_nonzero(lengths))
        self._borders = borders
        # A missing point is one more report.
        symbols = np.where(cells.gaps, noise.outputs, cells.symbols) if gaps else cells.symbols
        self._symbols = report_labels(source, gaps).of(symbols, borders)
        self._laws = report_laws(source, gaps=gaps)
        self._scratch = np.empty((int(lengths.max()), self.states))

    def expect(self, transition: FloatArray, start: FloatArray) -> ExpectedTransitions:
        """One pass with a chain: forward, and back."""
        weights = self._laws.weights(start, transition)
        return expected_transitions(weights, self._symbols, self._borders, self._scratch)
