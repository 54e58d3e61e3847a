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

ALLOWED = (
    "a 1-D array or a single column (one series), a 2-D array (a row a series) or a list of 1-D "
    "arrays, of whole numbers"
)


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
    held = read_shape(name, value)
    flat, offsets = _from_array(held) if isinstance(held, np.ndarray) else _from_list(held)
    flat = whole_states(name, flat)
    check_alphabet(name, flat, states)
    return Sequences(flat, offsets)


def read_shape(name: str, value: Any) -> NDArray[Any] | list[NDArray[Any]]:
    """One series (1-D), several as rows (2-D, two columns or more), or a list of 1-D arrays.

    The one place that tells series apart. A column, of shape (n, 1), is one series: frames
    with one column and the columns of arrays come in that shape. Masks are kept.
    """
    if _is_frame(value):
        return _one_column(name, value)
    if isinstance(value, np.ndarray) or not _holds_series(value):
        array = _to_array(name, value)
        if array.ndim not in (1, 2):
            raise InvalidInput(name, f"an array of shape {array.shape}", ALLOWED)
        return array.reshape(-1) if is_column(array) else array
    _refuse_single_numbers(name, value)
    return [_one_series(f"{name}[{j}]", item) for j, item in enumerate(value)]


def is_column(value: Any) -> bool:
    """Whether ``value`` is an array or frame of shape (n, 1), which holds one series."""
    held = isinstance(value, np.ndarray) or _is_frame(value)
    shape: tuple[int, ...] = value.shape if held else ()
    return len(shape) == 2 and shape[1] == 1


def as_column(series: Any) -> Any:
    """An array of shape (n, …) as one of shape (n, 1, …)."""
    return series.reshape(len(series), 1, *series.shape[1:])


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


def _is_frame(value: Any) -> bool:
    """Whether it is a table with named columns: pandas, Polars, PyArrow."""
    return hasattr(value, "columns") and hasattr(value, "shape")


def _one_column(name: str, frame: Any) -> NDArray[Any]:
    if not is_column(frame):
        raise InvalidInput(
            name,
            f"a table of {frame.shape[-1]} columns",
            "one column of it, which is one series",
            'Take a column, such as frame["x"]; for several series pass a list of columns.',
        )
    return _to_array(name, frame).reshape(-1)


def _holds_series(value: Any) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return False
    return any(_is_series(item) for item in value)


def _is_series(item: Any) -> bool:
    if isinstance(item, str | bytes | np.generic):
        return False
    if isinstance(item, np.ndarray | Sequence):
        return True
    return hasattr(item, "__array__") and np.ndim(item) > 0


def _refuse_single_numbers(name: str, items: Sequence[Any]) -> None:
    """A nested list of single numbers may be a column, or series of one point: who knows."""
    if len(items) > 1 and all(isinstance(item, list | tuple) and len(item) == 1 for item in items):
        raise InvalidInput(
            name,
            f"{len(items)} lists of one number",
            "a plain list for one series, or a list of arrays for series of one point",
            "A nested list does not tell which of them is meant.",
        )


def _one_series(name: str, item: Any) -> NDArray[Any]:
    """A series that stands in a list."""
    array = _one_column(name, item) if _is_frame(item) else _to_array(name, item)
    array = array.reshape(-1) if is_column(item) else array
    if array.ndim != 1:
        raise InvalidInput(name, f"an array of shape {array.shape}", ALLOWED)
    return array


def _to_array(name: str, value: Any) -> NDArray[Any]:
    try:
        # A mask says which points are gaps; a matrix would stay two-dimensional for ever.
        return value if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    except (TypeError, ValueError):
        raise InvalidInput(name, f"an object of type {type(value).__name__}", ALLOWED) from None


def _from_array(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if array.ndim == 1:
        return array, np.array([0, len(array)], dtype=np.int64)
    rows, columns = array.shape
    return array.reshape(-1), np.arange(rows + 1, dtype=np.int64) * columns


def _from_list(arrays: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(array) for array in arrays], out=offsets[1:])
    # An empty list becomes float64 in NumPy and would drag integer series along.
    filled = [array for array in arrays if len(array)]
    return np.concatenate(filled) if filled else np.empty(0, np.int64), offsets
