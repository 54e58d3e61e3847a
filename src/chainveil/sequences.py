"""One series or many, in any of the shapes a user may hold them, as one flat array.

The points are private: an error says where one stands and what is wrong with it, never which
it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput

ALLOWED = "a 1-D array, a 2-D array (a row a series) or a list of 1-D arrays, of whole numbers"


@dataclass(frozen=True)
class Sequences:
    """Series laid end to end.

    Attributes
    ----------
    flat : integer array of shape (total,)
        All points, series after series. A view of the input where that is possible.
    offsets : int64 array of shape (series + 1,)
        Series ``j`` is ``flat[offsets[j]:offsets[j + 1]]``.
    """

    flat: NDArray[Any]
    offsets: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of series."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each series."""
        return np.diff(self.offsets)


def as_sequences(name: str, value: Any, states: int | None = None) -> Sequences:
    """Read one or many series of states, checking that each is in ``0 … states - 1``."""
    if isinstance(value, np.ndarray):
        flat, offsets = _from_array(name, value)
    elif isinstance(value, Sequence) and len(value) > 0 and _holds_arrays(value):
        flat, offsets = _from_list(name, value)
    else:
        flat, offsets = _from_array(name, _to_array(name, value))
    flat = whole_states(name, flat)
    check_alphabet(name, flat, states)
    return Sequences(flat, offsets)


def whole_states(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """``array`` itself if it is boolean or integer; whole floats as int64; else an error."""
    if array.dtype.kind in "biu":
        return array
    if array.dtype.kind != "f":
        raise InvalidInput(name, array.dtype.name, "a boolean, integer or whole float dtype")
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~(array == np.floor(array)) | np.isinf(array))
    if len(wrong):
        where = int(wrong[0])
        raise InvalidInput(
            name,
            "a number that is not whole",
            "whole numbers, one a state",
            f"It stands at point {where}; discretize the series first.",
        )
    return array.astype(np.int64)


def check_alphabet(name: str, flat: NDArray[Any], states: int | None) -> None:
    """Error if a point is not one of ``0 … states - 1``; names the first one that is not."""
    if flat.size == 0 or flat.dtype.kind == "b" or (states is None and flat.dtype.kind == "u"):
        return
    low, high = int(flat.min()), int(flat.max())
    if low >= 0 and (states is None or high < states):
        return
    limit = "states 0, 1, 2, …" if states is None else f"states 0 … {states - 1}"
    wrong = (flat < 0) if states is None else (flat < 0) | (flat >= states)
    where = int(np.argmax(wrong))
    found = "a number below 0" if flat[where] < 0 else "a number above the last state"
    raise InvalidInput(name, found, limit, f"It stands at point {where}.")


def _holds_arrays(value: Sequence[Any]) -> bool:
    return any(
        isinstance(item, np.ndarray | Sequence) and not isinstance(item, str | bytes)
        for item in value
    )


def _to_array(name: str, value: Any) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        raise InvalidInput(name, f"an object of type {type(value).__name__}", ALLOWED) from None


def _from_array(name: str, array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if array.ndim == 1:
        return array, np.array([0, len(array)], dtype=np.int64)
    if array.ndim == 2:
        rows, columns = array.shape
        return array.reshape(-1), np.arange(rows + 1, dtype=np.int64) * columns
    raise InvalidInput(name, f"an array of shape {array.shape}", ALLOWED)


def _from_list(name: str, items: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    arrays = [_to_array(f"{name}[{j}]", item) for j, item in enumerate(items)]
    for j, array in enumerate(arrays):
        if array.ndim != 1:
            raise InvalidInput(f"{name}[{j}]", f"an array of shape {array.shape}", ALLOWED)
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(array) for array in arrays], out=offsets[1:])
    # An empty list becomes float64 in NumPy and would drag integer series along.
    filled = [array for array in arrays if len(array)]
    return np.concatenate(filled) if filled else np.empty(0, np.int64), offsets
