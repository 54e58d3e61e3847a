"""What the attacker holds: a release, and perhaps some true points. Read once, for all kernels.

Known points need no code of their own in the kernels: an output ``z`` at a point whose state
``y`` is known is a symbol of its own, one that only state ``y`` can emit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.inference.labels import Labels
from chainveil.sequences import (
    Sequences,
    as_column,
    as_sequences,
    check_alphabet,
    is_column,
    read_shape,
    whole_states,
)

UNKNOWN = -1
KNOWN_ALLOWED = (
    "a mapping from position to state, or whole numbers shaped like z with -1 where unknown"
)


@dataclass(frozen=True)
class Observations:
    """Symbols laid end to end, and the shape they came in.

    Attributes
    ----------
    symbols : uint8 or uint16 array of shape (total,)
        ``z`` where the state is unknown, ``outputs + z * states + y`` where it is ``y``; z is
        a report, or a label (``inference.labels``) where points make none.
    offsets : int64 array of shape (series + 1,)
    grid : tuple (rows, points) or None
        Shape of a 2-D input, else None.
    single : bool
        Whether the input was one series.
    column : bool
        Whether that one came in as a column, of shape (n, 1).
    """

    symbols: NDArray[Any]
    offsets: NDArray[np.int64]
    grid: tuple[int, int] | None
    single: bool
    column: bool = False

    def restore(self, flat: NDArray[Any]) -> Any:
        """``flat``, of shape (total, …), in the shape the observations came in."""
        if self.single:
            return as_column(flat) if self.column else flat
        if self.grid is not None:
            return flat.reshape(*self.grid, *flat.shape[1:])
        return [flat[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def place(self, point: int) -> str:
        """Where the flat index ``point`` lies, in words."""
        if self.single:
            return f"point {point}"
        series = int(np.searchsorted(self.offsets, point, side="right")) - 1
        return f"point {point - int(self.offsets[series])} of series {series}"


def read(
    z: Any, states: int, outputs: int, known: Any = None, labels: Labels | None = None
) -> Observations:
    """Check a release against the alphabet and fold the known points in.

    Symbols are those of ``labels`` where these are given, else what was published.
    """
    series = as_sequences("z", z, outputs)
    column = is_column(z)
    grid = z.shape if isinstance(z, np.ndarray) and z.ndim == 2 and not column else None
    # A plain list of numbers is one series; a list of series is never a 2-D array.
    single = column or (
        grid is None and (isinstance(z, np.ndarray) or all(np.ndim(a) == 0 for a in z))
    )
    flat = series.flat
    if labels is not None:
        flat, outputs = labels.of(flat, series.offsets), labels.count
    symbols = _narrow(flat, outputs, states)
    if known is not None:
        symbols = _fold(symbols, known_points(known, series, states), states, outputs)
    return Observations(symbols, series.offsets, grid, single, column)


def is_masked(z: Any) -> bool:
    """Whether a release has missing points."""
    parts = z if isinstance(z, list | tuple) else [z]
    return any(np.ma.is_masked(part) for part in parts)


def with_marks(z: Any, gap: int) -> Any:
    """``z`` with the mark ``gap``, one more than the reports there are, where it is masked."""
    if not is_masked(z):
        return z
    if isinstance(z, list | tuple):
        return [with_marks(part, gap) for part in z]
    check_alphabet("z", np.ma.compressed(z), gap)
    return np.ma.filled(z.astype(np.int64), gap)


def _narrow(flat: NDArray[Any], outputs: int, states: int) -> NDArray[Any]:
    """The smallest dtype that holds every symbol; no copy where the input has it already."""
    symbols = outputs * (states + 1)
    dtype = np.uint8 if symbols <= 256 else np.uint16 if symbols <= 65536 else np.uint32
    return np.ascontiguousarray(flat.astype(dtype, copy=False))


def known_points(known: Any, series: Sequences, states: int) -> NDArray[np.int64]:
    """The known state of every point, laid end to end, ``UNKNOWN`` elsewhere."""
    if isinstance(known, Mapping):
        return _from_mapping(known, series, states)
    flat, lengths = _flat_known(known)
    if not np.array_equal(lengths, series.lengths):
        raise InvalidInput(
            "known",
            f"series of lengths {lengths.tolist()[:5]}",
            f"the lengths of z, {series.lengths.tolist()[:5]}",
        )
    flat = whole_states("known", flat).astype(np.int64)
    check_alphabet("known", np.where(flat == UNKNOWN, 0, flat), states)
    return flat


def _flat_known(known: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if isinstance(known, str | bytes) or np.isscalar(known):
        raise InvalidInput("known", f"an object of type {type(known).__name__}", KNOWN_ALLOWED)
    held = read_shape("known", known)
    parts = list(np.atleast_2d(held)) if isinstance(held, np.ndarray) else held
    if any(part.dtype.kind not in "biuf" for part in parts):
        raise InvalidInput("known", "values that are no whole numbers", KNOWN_ALLOWED)
    return np.concatenate(parts), np.array([len(part) for part in parts])


def _from_mapping(known: Mapping[Any, Any], series: Sequences, states: int) -> NDArray[np.int64]:
    """The same positions in every series; a value is one state, or one state a series."""
    flat = np.full(series.flat.size, UNKNOWN, dtype=np.int64)
    shortest = int(series.lengths.min()) if series.count else 0
    for position, value in known.items():
        where = checks.whole("known", position, 0, "positions that are whole numbers from 0")
        if where >= shortest:
            raise InvalidInput(
                "known", f"position {where}", f"positions 0 … {shortest - 1}, as in z"
            )
        values = whole_states("known", np.asarray(value))
        if values.shape not in ((), (series.count,)):
            raise InvalidInput(
                "known",
                f"states of shape {values.shape}",
                f"one state, or one for each of the {series.count} series",
            )
        check_alphabet("known", values.reshape(-1), states)
        flat[series.offsets[:-1] + where] = values
    return flat


def _fold(
    symbols: NDArray[Any], known: NDArray[np.int64], states: int, outputs: int
) -> NDArray[Any]:
    where = np.flatnonzero(known != UNKNOWN)
    folded = symbols.copy()
    folded[where] = outputs + symbols[where].astype(np.int64) * states + known[where]
    return folded
