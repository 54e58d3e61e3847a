"""What a user hands over, checked and turned into states; nothing is changed here."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.mechanism.pieces import Piece, Table
from chainveil.sequences import read_shape

Missing = Literal["error", "keep"]

# The mark of a gap in whole numbers, as in the codes of a pandas categorical.
GAP = -1
GAP_ADVICE = (
    'Fill the gap, cut the series there, or pass missing="keep": the gap then stays '
    "visible in the result and is not protected."
)


def check_missing(missing: str) -> None:
    """Error unless ``missing`` is one of the two ways to treat gaps."""
    if missing not in ("error", "keep"):
        raise InvalidInput("missing", missing, '"error" or "keep"')


def as_table(name: str, value: Any) -> tuple[Table, Table | None]:
    """The series and, for masked arrays, their masks; dtype and shape are checked."""
    held = read_shape(name, value)
    if isinstance(held, np.ndarray):
        _check_kind(name, held)
        table = Table(np.asarray(held))
        masks = Table(np.ma.getmaskarray(held)) if np.ma.isMaskedArray(held) else None
    else:
        for j, part in enumerate(held):
            _check_kind(f"{name}[{j}]", part)
        table = Table([np.asarray(part) for part in held])
        masked = any(np.ma.isMaskedArray(part) for part in held)
        masks = Table([np.ma.getmaskarray(part) for part in held]) if masked else None
    if table.points == 0:
        raise InvalidInput(name, "no points", "at least one point")
    return table, masks


def check_length(name: str, value: Any, length: int | None) -> None:
    """Error if a series is longer than ``length`` points; None is no bound.

    ``value`` is anything that can be sanitized, or a number of points.
    """
    if length is None:
        return
    longest = value if isinstance(value, int) else as_table(name, value)[0].longest
    if longest > length:
        raise InvalidInput(
            name,
            f"a series of {longest} points",
            f"at most {length} points a series, the length the noise was calibrated for",
            "Calibrate for the longer series, or with length=None for any length.",
        )


def can_mark(part: NDArray[Any], masked: bool, missing: str) -> bool:
    """Whether a series can show that a point has no report."""
    return masked or part.dtype.kind == "f" or (part.dtype.kind == "i" and missing == "keep")


def check_least(table: Table, masks: Table | None, missing: str, least: int) -> None:
    """Error if a series ends before its first report and cannot show that it has none."""
    for j in range(table.series if least > 1 else 0):
        row = table.row(j)
        if 0 < len(row) < least and not can_mark(row, masks is not None, missing):
            name = "x" if isinstance(table.held, np.ndarray) else f"x[{j}]"
            raise InvalidInput(
                name, f"a series of {len(row)} points",
                f"at least {least} points, of which the last is the first that reports",
                "Pass a masked array or floats: points without a report come back as missing.",
            )  # fmt: skip
        if isinstance(table.held, np.ndarray):
            return


def states_of(
    name: str,
    raw: NDArray[Any],
    mask: NDArray[np.bool_] | None,
    states: int,
    missing: str,
    piece: Piece,
    trusting: bool,
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The states of a piece, unsigned and contiguous, and which points are gaps (if any).

    Gaps hold state 0. The result shares memory with ``raw`` where it can. ``trusting``
    leaves the check of bytes to whoever reads them next.
    """
    gaps = gaps_of(raw, mask, missing)
    if gaps is not None:
        if missing == "error":
            where = piece.place(int(np.argmax(gaps)))
            raise InvalidInput(name, "a missing value", "no gaps", f"It is {where}. {GAP_ADVICE}")
        raw = np.where(gaps, np.zeros((), raw.dtype), raw)
    if not (trusting and raw.dtype.itemsize == 1):
        _check_states(name, raw, states, piece)
    if raw.dtype.itemsize == 1 and states <= 256:
        return np.ascontiguousarray(raw).view(np.uint8), gaps
    return raw.astype(np.uint8 if states <= 256 else np.uint16), gaps


def gaps_of(
    raw: NDArray[Any], mask: NDArray[np.bool_] | None, missing: str
) -> NDArray[np.bool_] | None:
    """Which points are gaps; None where there are none."""
    gaps = None
    if raw.dtype.kind == "f":
        gaps = np.isnan(raw)
    elif raw.dtype.kind == "i" and missing == "keep":
        gaps = raw == GAP
    if mask is not None:
        gaps = mask if gaps is None else gaps | mask
    return gaps if gaps is not None and gaps.any() else None


def _check_states(name: str, raw: NDArray[Any], states: int, piece: Piece) -> None:
    """Error naming the first point that is not one of ``0 … states - 1``."""
    if raw.dtype.kind == "f":
        good = (raw >= 0) & (raw < states) & (raw == np.floor(raw))
        if good.all():
            return
        wrong = ~good
    else:
        # Seen without a sign, negative numbers are too large: one comparison finds both.
        bare = raw.view(np.dtype(f"u{raw.dtype.itemsize}")) if raw.dtype.isnative else raw
        if int(bare.max()) < states and (raw.dtype.isnative or int(raw.min()) >= 0):
            return
        wrong = (bare >= states) | (raw < 0 if raw.dtype.kind == "i" else False)
    first = int(np.argmax(wrong))
    advice = f"It is {piece.place(first)}."
    if raw.dtype.kind == "i" and raw[first] == GAP:
        advice += f" If it marks a gap: {GAP_ADVICE}"
    elif raw.dtype.kind == "f":
        advice += " Discretize the series first."
    raise no_state(name, raw[first].item(), states, advice)


def no_state(name: str, value: Any, states: int, advice: str = "") -> InvalidInput:
    """The error of a point that is no state; the value is private and is not told."""
    if not isinstance(value, int | float):
        found = f"an object of type {type(value).__name__}"
    elif value != value // 1:
        found = "a number that is not whole"
    else:
        found = "a number below 0" if value < 0 else "a number above the last state"
    return InvalidInput(name, found, f"states 0 … {states - 1}, whole numbers", advice)


def _check_kind(name: str, array: NDArray[Any]) -> None:
    if array.dtype.kind not in "biuf" and array.size:
        raise InvalidInput(
            name,
            f"dtype {array.dtype.name}",
            "a boolean, integer or whole float dtype",
            "Encode the states.",
        )


def check_room(name: str, dtype: np.dtype[Any], outputs: int) -> None:
    """Error unless a dtype can hold every report."""
    limit = 2 if dtype.kind == "b" else 2**62 if dtype.kind == "f" else np.iinfo(dtype).max + 1
    if outputs > limit:
        raise InvalidInput(
            name,
            f"dtype {dtype.name}",
            f"a dtype that holds the reports 0 … {outputs - 1}",
            "Convert the series first, for instance with x.astype(np.int16).",
        )


def check_states(states: NDArray[Any], count: int, outputs: int) -> None:
    """Error unless all are states: the compiled loops do not look."""
    check_room("states", states.dtype, outputs)
    if int(states.min()) < 0 or int(states.max()) >= count:
        first = int(np.argmax((states < 0) | (states >= count)))
        raise no_state("states", states[first].item(), count, f"It is point {first}.")
