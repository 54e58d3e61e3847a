"""Which sampler draws a noise: the one that was registered for its kind, or one by its tags.

There are samplers for reports that depend on their own point alone (``draws``), for flips by a
chain (``correlated``), for reports that are held over missing points (``holding``), and for all
other laws of a report (``kernel_walk``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism.correlated import ChainFlips, ChainRows
from chainveil.mechanism.draws import Draws, Flips, Reports
from chainveil.mechanism.holding import HoldingRows, HoldingWalk
from chainveil.mechanism.kernel_walk import KernelRows, KernelWalk
from chainveil.mechanism.pieces import Piece
from chainveil.mechanism.randomness import Source
from chainveil.noise.base import Noise


class PieceSampler(Protocol):
    """A noise at work on arrays: knows its randomness and writes reports for a piece.

    One that ``holds`` its last report over missing points says so by an attribute of that
    name, and its ``apply`` takes one more argument: which points are missing, or None. One
    that may come to points before any report has ``unheard``, which of the last piece they
    are or None, and ``least``, the points of a series that has a report if none is missing.
    """

    @property
    def states(self) -> int:
        """Number of states of the input."""

    @property
    def outputs(self) -> int:
        """Number of reports."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What ``apply`` reads and writes."""

    @property
    def stretch(self) -> int:
        """The most points of one series that ``apply`` takes at once."""

    @property
    def notices(self) -> bool:
        """Whether ``apply`` itself notices bytes that are not states."""

    def apply(self, piece: Piece, states: NDArray[Any], out: NDArray[Any]) -> bool:
        """Write the report of each state; the two arrays are contiguous and do not overlap.

        False if it noticed a byte that is not a state; ``out`` is then of no use.
        """


class Sampler(PieceSampler, Protocol):
    """A noise at work on arrays and streams; one report after the other, silent points apart.

    One that ``holds`` its last report also has ``skip()``, which passes over a missing point.
    """

    @property
    def memory(self) -> Any:
        """What the next point of a series needs to know of the last one, ready for JSON."""

    def remember(self, memory: Any) -> None:
        """Go on from a ``memory``; KeyError, TypeError or ValueError where it is none."""

    def one(self, point: int, state: int) -> int:
        """The report of one point, the same as ``apply`` gives it; points come in order."""


def draw(
    work: PieceSampler,
    piece: Piece,
    states: NDArray[Any],
    out: NDArray[Any],
    gaps: NDArray[np.bool_] | None,
) -> bool:
    """``work.apply``, which is told of gaps where it holds its last report over them."""
    if gaps is None or not holds(work):
        return work.apply(piece, states, out)
    over: Any = work
    return bool(over.apply(piece, states, out, gaps))


def holds(work: PieceSampler) -> bool:
    """Whether a sampler wants to be told of gaps."""
    return bool(getattr(work, "holds", False))


class RowSampler(Protocol):
    """An ordered noise at work on the rows of a table, whose series may be mixed."""

    def apply(self, states: NDArray[Any], rows: Any) -> NDArray[Any]:
        """The reports of the next rows, of the shape and dtype of ``states``."""


MakeSampler = Callable[[Any, Source, Draws], Sampler]
MakeRowSampler = Callable[[Any, Source], RowSampler]


# Of kinds of noise from elsewhere.
_SAMPLERS: dict[str, MakeSampler] = {}
_ROW_SAMPLERS: dict[str, MakeRowSampler] = {}


def register_sampler(kind: str, make: MakeSampler, rows: MakeRowSampler | None = None) -> None:
    """Draw a kind of noise by a sampler of its own, and the rows of tables by another."""
    _SAMPLERS[kind] = make
    if rows is not None:
        _ROW_SAMPLERS[kind] = rows


def sampler(noise: Noise, source: Source, draws: Draws | None = None) -> Sampler:
    """The noise at work on arrays and streams: its reports one after the other.

    Which points report is for the caller to know.
    """
    if not isinstance(noise, Noise):
        raise InvalidInput("noise", noise, "a Channel or another noise", "Channel.binary(0.3, 0.2)")
    draws = Draws(source) if draws is None else draws
    if noise.kind in _SAMPLERS:
        return _SAMPLERS[noise.kind](noise, source, draws)
    if not noise.ordered:
        plain = (noise.states, noise.outputs) == (2, 2)
        return Flips(noise, draws) if plain else Reports(noise, draws)
    if noise.flips is not None:
        return ChainFlips(noise, source, draws)
    return (HoldingWalk if noise.holds else KernelWalk)(noise, source, draws)


def row_sampler(noise: Noise, source: Source) -> RowSampler:
    """An ordered noise at work on the rows of a table."""
    if noise.kind in _ROW_SAMPLERS:
        return _ROW_SAMPLERS[noise.kind](noise, source)
    if noise.flips is not None:
        return ChainRows(noise, source)
    return (HoldingRows if noise.holds else KernelRows)(noise, source)
