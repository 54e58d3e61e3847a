"""Checks on numbers and arrays that several rooms share. No maths, no files."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chainveil.errors import InvalidInput

FloatArray = NDArray[np.float64]

# Rows may miss one by the rounding of a few additions; more than that is a mistake.
ROW_SUM_TOLERANCE = 1e-9


def probability(name: str, value: Any, *, zero: bool = True, one: bool = True) -> float:
    """``value`` as a float in [0, 1]; ``zero`` and ``one`` say whether the ends are allowed."""
    allowed = f"a probability in {'[' if zero else '('}0, 1{']' if one else ')'}"
    number = real(name, value, allowed)
    inside = (0 < number < 1) or (zero and number == 0) or (one and number == 1)
    if not inside:
        raise InvalidInput(name, value, allowed)
    return number


def real(name: str, value: Any, allowed: str = "a finite number") -> float:
    """``value`` as a finite float; booleans and text are refused."""
    if isinstance(value, (bool, np.bool_, str, bytes)):
        raise InvalidInput(name, value, allowed)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(name, value, allowed) from None
    if not math.isfinite(number):
        raise InvalidInput(name, value, allowed)
    return number


def whole(name: str, value: Any, least: int, allowed: str | None = None) -> int:
    """``value`` as an int of at least ``least``; whole floats such as ``1e12`` are accepted."""
    allowed = allowed or f"a whole number of at least {least}"
    if isinstance(value, (bool, np.bool_)):
        raise InvalidInput(name, value, allowed)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInput(name, value, allowed) from None
    if number < least:
        raise InvalidInput(name, value, allowed)
    return number


def one_of(name: str, value: Any, names: Iterable[str]) -> None:
    """An error that lists ``names`` unless ``value`` is one of them."""
    known = list(names)
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(name, value, " or ".join(f'"{one}"' for one in known))


def instance(
    name: str, value: Any, kinds: type | tuple[type, ...], allowed: str, advice: str = ""
) -> None:
    """An error unless ``value`` is of one of ``kinds``; it may be data, so it is not shown."""
    if not isinstance(value, kinds):
        raise InvalidInput(name, f"an object of type {type(value).__name__}", allowed, advice)


def items(name: str, value: Any, allowed: str) -> None:
    """An error unless ``value`` can be gone through item by item; a text cannot."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(name, f"an object of type {type(value).__name__}", allowed)


def stochastic_matrix(name: str, value: ArrayLike) -> FloatArray:
    """``value`` as a read-only 2-D float64 array whose rows are probability distributions."""
    allowed = "a 2-D array of probabilities whose rows sum to one"
    matrix = _float_array(name, value, allowed)
    if matrix.ndim != 2 or matrix.size == 0:
        raise InvalidInput(name, value, allowed, f"Its shape is {matrix.shape}.")
    if not _is_stochastic(matrix):
        for row_number, row in enumerate(matrix):
            _check_distribution(f"{name} row {row_number}", row)
    matrix.setflags(write=False)
    return matrix


def distribution(name: str, value: ArrayLike, size: int) -> FloatArray:
    """``value`` as a read-only probability vector of ``size`` entries."""
    vector = _float_array(name, value, f"{size} probabilities that sum to one")
    if vector.shape != (size,):
        raise InvalidInput(
            name, value, f"{size} probabilities, one a state", f"Its shape is {vector.shape}."
        )
    _check_distribution(name, vector)
    vector.setflags(write=False)
    return vector


def _float_array(name: str, value: ArrayLike, allowed: str) -> FloatArray:
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(name, value, allowed) from None


def _is_stochastic(matrix: FloatArray) -> bool:
    """Whether all rows are certain to pass, at once; kernels have thousands of them."""
    inside = bool(np.all((matrix >= 0) & (matrix <= 1)))
    return inside and bool(np.all(np.abs(matrix.sum(axis=1) - 1) <= ROW_SUM_TOLERANCE / 2))


def _check_distribution(name: str, row: FloatArray) -> None:
    if not np.all(np.isfinite(row)) or np.any(row < 0) or np.any(row > 1):
        raise InvalidInput(name, row.tolist(), "finite probabilities between 0 and 1")
    total = math.fsum(row.tolist())
    if abs(total - 1) > ROW_SUM_TOLERANCE:
        raise InvalidInput(
            name,
            row.tolist(),
            "probabilities that sum to one",
            f"They sum to {total!r}; normalise them first.",
        )
