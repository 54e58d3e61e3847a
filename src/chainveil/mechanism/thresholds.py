"""From a channel to whole numbers that a sampler can compare random bytes with, exactly.

A probability ``t / 2^53`` is realised in two steps. A first symbol of ``bits`` random bits
picks the report for most symbols; the lowest ``reserved`` symbols, the same for every
state, are ties and are decided by further random bits. Which points tie depends on the
random symbol alone, so neither the work nor the time tells anything about the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import NotSupported
from chainveil.noise.base import GRID, Noise

GRID_BITS = 53
# Up to here all rows are compared without using the state as an address.
SMALL = 8
MOST_STATES = 1 << 16
MOST_OUTPUTS = 1 << 12


@dataclass(frozen=True)
class FlipTable:
    """Two states. A symbol ``1 … high[x]`` flips state x; 0 ties; a tie flips below ``low[x]``.

    ``(high[x] * 2^45 + low[x]) / 2^53`` is the flip probability, exactly.
    """

    high: tuple[int, int]
    low: tuple[int, int]

    @property
    def shift(self) -> int:
        """How far a 64-bit random word is shifted to give the 45 bits that decide a tie."""
        return 64 - (GRID_BITS - 8)


@dataclass(frozen=True)
class ReportTable:
    """Any channel. The report is how many bounds the symbol, or the tied number, reaches.

    Attributes
    ----------
    bits : int
        Bits of the first symbol, 8 or 16.
    reserved : int
        Symbols below this tie.
    last : array of shape (k, m - 1)
        The report of state x is the number of ``j`` with ``symbol > last[x, j]``.
    tied : uint64 array of shape (k, m - 1)
        A tie with refined number v reports the number of ``j`` with ``v >= tied[x, j]``.
    """

    bits: int
    reserved: int
    last: NDArray[np.uint8] | NDArray[np.uint16]
    tied: NDArray[np.uint64]

    @property
    def rest(self) -> int:
        """Bits that decide a tie, after the symbol."""
        return GRID_BITS - self.bits

    @property
    def shift(self) -> int:
        """How far a 64-bit random word is shifted to give those bits."""
        return 64 - self.rest


def grid_numbers(channel: Noise) -> list[list[int]]:
    """``channel.on_grid()`` in units of 2^-53: k rows of m whole numbers, each summing to 2^53."""
    realised = channel.on_grid().first_law()
    return [[int(entry * GRID) for entry in row] for row in realised.tolist()]


@lru_cache(maxsize=256)
def channel_flip_table(channel: Noise) -> FlipTable:
    """The table of a channel of two states and two outputs."""
    numbers = grid_numbers(channel)
    return flip_table((numbers[0][1], numbers[1][0]))


def flip_table(flips: tuple[int, int]) -> FlipTable:
    """The table for flip probabilities in units of 2^-53, each from 0 to 2^53."""
    unit = 1 << (GRID_BITS - 8)
    # Certain flips take all symbols but 0, and every tie.
    high = [min(flip // unit, 255) for flip in flips]
    low = [flip - whole * unit for flip, whole in zip(flips, high, strict=True)]
    return FlipTable((high[0], high[1]), (low[0], low[1]))


@lru_cache(maxsize=64)
def report_table(channel: Noise) -> ReportTable:
    """The table of any channel; symbols of one byte where states and outputs are few."""
    k, m = channel.states, channel.outputs
    if k > MOST_STATES or m > MOST_OUTPUTS:
        raise NotSupported(
            f"a channel of {k} states and {m} outputs: at most {MOST_STATES} states "
            f"and {MOST_OUTPUTS} outputs can be sanitized"
        )
    return rows_table(grid_numbers(channel), 8 if max(k, m) <= SMALL else 16)


def rows_table(rows: list[list[int]], bits: int) -> ReportTable:
    """The table of laws in units of 2^-53, k rows of m whole numbers; ``bits`` of a symbol."""
    k, m = len(rows), len(rows[0])
    unit = 1 << (GRID_BITS - bits)
    reserved = max(1, *((1 << bits) - sum(entry // unit for entry in row) for row in rows))
    split = [_split(row, unit, (1 << bits) - reserved) for row in rows]
    last = np.array([_bounds(whole, reserved - 1) for whole, _ in split], np.int64)
    tied = np.array([_bounds(rest, 0) for _, rest in split], np.uint64)
    symbols = np.dtype(np.uint8 if bits == 8 else np.uint16)
    bounds = last.reshape(k, m - 1).astype(symbols)
    tied = tied.reshape(k, m - 1)
    for array in (bounds, tied):
        array.setflags(write=False)
    return ReportTable(bits, reserved, bounds, tied)


def _split(row: list[int], unit: int, symbols: int) -> tuple[list[int], list[int]]:
    """Whole symbols for each report, ``symbols`` in all, and what is left for ties."""
    whole = [entry // unit for entry in row]
    while (excess := sum(whole) - symbols) > 0:
        largest = max(range(len(whole)), key=whole.__getitem__)
        whole[largest] -= min(excess, whole[largest])
    return whole, [entry - count * unit for entry, count in zip(row, whole, strict=True)]


def _bounds(weights: list[int], start: int) -> list[int]:
    """Running sums from ``start``, without the last."""
    sums = [start]
    for weight in weights[:-1]:
        sums.append(sums[-1] + weight)
    return sums[1:]
