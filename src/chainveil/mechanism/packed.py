"""Independent noise on two states held eight points a byte, without unpacking.

The first byte of every point is held bit by bit: a group of 64 packed bytes (512 points)
takes eight planes of 64 random bytes, and 64 comparisons are a handful of logical
operations. The law of the noise is that of ``sanitize``; the seeded noise itself differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.mechanism import thresholds
from chainveil.mechanism.draws import Draws, settling
from chainveil.mechanism.pieces import LONG, PIECE, Piece, Table, even_pieces
from chainveil.mechanism.randomness import Bytes, Plane, Source, as_source
from chainveil.mechanism.release import Release, Report, check_destination, source_word
from chainveil.noise.base import Noise

# Packed bytes that share eight planes of random bytes.
GROUP = 64
BitOrder = Literal["big", "little"]


def sanitize_packed(
    bits: NDArray[np.uint8],
    channel: Noise,
    count: int | None = None,
    out: NDArray[np.uint8] | None = None,
    rng: Source | None = None,
    bitorder: BitOrder = "big",
) -> NDArray[np.uint8]:
    """Sanitize points packed by ``numpy.packbits``, each with its own noise.

    Parameters
    ----------
    bits : uint8 array of shape (bytes,) or (series, bytes)
        Eight points a byte, each row a series.
    channel : Channel
        Two states and two outputs.
    count : int, optional
        Points of each series, by default all bits. The bits behind them come back as 0.
    out, rng
        As in ``sanitize``; ``out=bits`` works in place.
    bitorder : "big" or "little"
        As in ``numpy.packbits``; matters only where ``count`` is not a multiple of 8.
    """
    return release_packed(bits, channel, count, out, rng, bitorder).values  # type: ignore[no-any-return]


def release_packed(
    bits: NDArray[np.uint8],
    channel: Noise,
    count: int | None = None,
    out: NDArray[np.uint8] | None = None,
    rng: Source | None = None,
    bitorder: BitOrder = "big",
) -> Release:
    """Like :func:`sanitize_packed`, with a report on what was done."""
    source = as_source(rng)
    noise = PackedFlips(channel, source)
    count = _check_bits(bits, count, bitorder)
    if out is not None:
        check_destination("bits", bits, out)
    result = np.empty_like(bits, subok=False) if out is None else out
    _fill(Table(bits), Table(result), noise, np.may_share_memory(bits, result))
    if count % 8:
        result[..., -1] &= _kept(count % 8, bitorder)
    series = 1 if bits.ndim == 1 else len(bits)
    return Release(
        result, Report("independent", source_word(source), series, count * series, gaps=0)
    )


class PackedFlips:
    """Independent noise on packed points."""

    def __init__(self, channel: Noise, source: Source) -> None:
        plain = isinstance(channel, Noise) and not channel.ordered
        if not plain or (channel.states, channel.outputs) != (2, 2):
            raise InvalidInput("channel", channel, "a Channel with two states and two outputs")
        if channel.every != 1:
            found, advice = f"one on one point in {channel.every}", "Unpack them, and use sanitize."
            raise InvalidInput("channel", found, "a Channel on every point", advice)
        if source.first_point % 8:
            raise InvalidInput(
                "rng", f"a start at point {source.first_point}", "a start at a multiple of 8 points"
            )
        table = thresholds.channel_flip_table(channel)
        self._settling = settling(table)
        self._masks = np.array([[(h >> bit & 1) * 255 for bit in range(8)] for h in table.high])
        self._masks = self._masks.astype(np.uint8)
        self._source = source
        self._draws = Draws(source)
        self._ties = np.zeros(0, np.uint8)

    def apply(self, piece: Piece, states: Bytes, out: Bytes) -> None:
        """Flip the packed points of a piece, whose offsets count bytes."""
        draws, kernels = self._draws, self._draws.kernels
        first, skip = divmod(piece.begin + self._source.first_point // 8, GROUP)
        lengths = -(-(np.diff(piece.offsets) + skip) // GROUP) * (8 * GROUP)
        symbols = self._symbols(piece, first * 8 * GROUP, lengths)
        marks = self._tie_bytes(piece.size)
        kernels.flip_packed(states, symbols, piece.offsets, skip, self._masks, out, marks)
        draws.reserve_ties(8 * piece.size)
        ties = draws.ties[: kernels.find_bits(marks.view(np.uint64), draws.ties)]
        words = draws.refined(Plane.PACKED_REFINED, piece, ties, scale=8)
        kernels.settle_bits(ties, words, *self._settling, out)

    def _symbols(self, piece: Piece, first: int, lengths: NDArray[np.int64]) -> Bytes:
        series = piece.series + self._source.first_series
        if piece.count == 1:
            return self._draws.keystream.run(Plane.PACKED, series, first, int(lengths[0]))
        return self._draws.many(Plane.PACKED, series, first, lengths)

    def _tie_bytes(self, size: int) -> Bytes:
        """Room for a mark a point, zero behind them, in whole words."""
        words = -(-size // 8)
        if len(self._ties) < 8 * words:
            self._ties = np.zeros(8 * words, np.uint8)
        self._ties[size : 8 * words] = 0
        return self._ties[: 8 * words]


def _fill(table: Table, destination: Table, noise: PackedFlips, in_place: bool) -> None:
    for piece in _pieces(table):
        direct = None if in_place else destination.direct(piece)
        reports = np.empty(piece.size, np.uint8) if direct is None else direct
        noise.apply(piece, np.ascontiguousarray(table.take(piece)), reports)
        if direct is None:
            destination.put(piece, reports)


def _pieces(table: Table) -> Iterator[Piece]:
    """Pieces as large as those of unpacked points; short rows take a whole group each."""
    held = np.asarray(table.held)
    size = max(1, min(PIECE // 8, PIECE // (2 * GROUP) * held.shape[-1]))
    return even_pieces(table.series, held.shape[-1], size, LONG // 16)


def _kept(bits: int, bitorder: str) -> np.uint8:
    """The mask of the first ``bits`` points of a byte."""
    return np.uint8((0xFF00 >> bits) & 0xFF if bitorder == "big" else (1 << bits) - 1)


def _check_bits(bits: Any, count: int | None, bitorder: str) -> int:
    """The number of points of each series; errors on anything that is not packed points."""
    if bitorder not in ("big", "little"):
        raise InvalidInput("bitorder", bitorder, '"big" or "little"')
    if not isinstance(bits, np.ndarray) or bits.dtype != np.uint8 or bits.ndim not in (1, 2):
        found = getattr(bits, "dtype", f"an object of type {type(bits).__name__}")
        raise InvalidInput("bits", str(found), "a 1-D or 2-D uint8 array", "Use numpy.packbits.")
    if np.ma.isMaskedArray(bits):
        raise InvalidInput("bits", "a masked array", "an array without gaps")
    if bits.size == 0:
        raise InvalidInput("bits", "no points", "at least one point")
    most = 8 * bits.shape[-1]
    number = most if count is None else checks.whole("count", count, 1)
    if not most - 8 < number <= most:
        raise InvalidInput("count", count, f"{most - 7} … {most} points in {most // 8} bytes")
    return number
