"""Noise that reports one point in several, at work on arrays: each report stands for its block.

Reports are numbered one after the other, and the number of a report is its address in a
source of randomness: silent points draw nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism.pieces import PIECE, Piece
from chainveil.mechanism.randomness import Source
from chainveil.mechanism.samplers import PieceSampler, Sampler, draw, sampler
from chainveil.mechanism.turns import memory_kernels
from chainveil.noise.base import Noise

IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Thinned:
    """A sampler whose reports are held over the blocks of a series. Pieces come in order.

    A block without a report of its own, because its reporting point is missing or lies behind
    the end of the series, holds the report before it. Points before the first report of their
    series are ``unheard``.
    """

    holds = True
    notices = False

    def __init__(self, work: Sampler, noise: Noise) -> None:
        self._work = work
        self._every, self._first = noise.every, noise.first_place
        self.states, self.outputs, self.dtype = work.states, work.outputs, work.dtype
        # Whole blocks, so that every piece begins one.
        self.stretch = max(1, PIECE // noise.every) * noise.every
        self.least = noise.first_place + 1
        self._held = -1
        self.unheard: Mask | None = None

    def apply(
        self, piece: Piece, states: NDArray[Any], out: NDArray[Any], gaps: Mask | None = None
    ) -> bool:
        """Draw the reports of the points that report, and write each over its block."""
        inner, kernels = self._inner(piece), memory_kernels()
        reports = np.empty(inner.size, self.dtype)
        missing: Mask = np.zeros(0, np.bool_) if gaps is None else self._pick(piece, inner, gaps)
        if inner.size:
            asked, gone = self._pick(piece, inner, states), None if gaps is None else missing
            if not draw(self._work, inner, asked, reports, gone):
                return False
        held = np.zeros((2, piece.count), np.int64)
        held[0] = self._held if piece.begin else -1
        kernels.hold(reports, missing, piece.offsets, self._every, self._first, held, out)
        self._held = int(held[0, -1])
        self.unheard = _fronts(piece, held[1]) if held[1].any() else None
        return True

    def _inner(self, piece: Piece) -> Piece:
        """The piece that the reports of a piece are."""
        counts = np.diff(piece.offsets) - self._first + self._every - 1
        ends = np.cumsum(np.maximum(counts, 0) // self._every)
        offsets = np.concatenate([[0], ends]).astype(np.int64)
        return Piece(piece.series, piece.begin // self._every, offsets)

    def _pick(self, piece: Piece, inner: Piece, values: NDArray[Any]) -> NDArray[Any]:
        """The values of those points of a piece that report."""
        picked = np.empty(inner.size, values.dtype)
        memory_kernels().pick(values, piece.offsets, self._every, self._first, picked)
        return picked


def array_sampler(noise: Noise, source: Source) -> PieceSampler:
    """The noise at work on arrays, where a report for each point is wanted."""
    work = sampler(noise, source)
    if noise.every == 1:
        return work
    check_first_point(noise, source)
    return Thinned(work, noise)


def check_first_point(noise: Noise, source: Source) -> None:
    """Error if noise that counts its points from 0 is to begin elsewhere."""
    if noise.every > 1 and source.first_point:
        raise InvalidInput(
            "rng", f"a start at point {source.first_point}",
            f"a start at point 0: one point in {noise.every} reports, counted from the first",
            "Split the work by series, or carry on with a Stream.",
        )  # fmt: skip


def _fronts(piece: Piece, counts: IntArray) -> Mask:
    """Which points are among the first ``counts`` of their series."""
    lengths = np.diff(piece.offsets)
    inside = np.arange(piece.size) - np.repeat(piece.offsets[:-1], lengths)
    return np.asarray(inside < np.repeat(counts, lengths))
