"""Times of rows as numbers that can be subtracted, and what steps between them are allowed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.table.error_text import at_row

TICKS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# Steps of decimal fractions such as 0.1 are equal up to the rounding of two sums.
FLOAT_STEP = 1e-6


@dataclass
class Clock:
    """The time column: its name, the step it should have, the longest step that is no gap.

    ``step`` and ``max_gap`` are in the column's own units where it holds numbers, and in
    seconds where it holds dates or times. Without ``step`` any positive step is allowed.
    """

    name: str
    step: float | None = None
    max_gap: float | None = None
    # Found with the first batch: how text is read, and how many ticks a second has.
    _text_type: pa.DataType | None = field(default=None, repr=False)
    _scale: float = field(default=1.0, repr=False)

    def __post_init__(self) -> None:
        for label in ("step", "max_gap"):
            value = getattr(self, label)
            if value is not None and checks.real(label, value) <= 0:
                raise InvalidInput(label, value, "a number above 0")

    @property
    def usual(self) -> float:
        """The step that was asked for, in ticks."""
        return self.ticks_of(self.step)

    def ticks(self, column: pa.Array, first_row: int) -> NDArray[Any]:
        """The column as whole numbers, or floats where it has fractions."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.null_count:
            row = first_row + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InvalidInput(self.name, "no time", "a time in every row", at_row(row))
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = self._from_text(column, first_row)
        return self._from_type(column, first_row)

    def first_wrong(self, steps: NDArray[Any], free: NDArray[np.int64]) -> int | None:
        """The first row whose step is not allowed; the rows ``free`` begin a series."""
        steps[free] = 1
        if steps.min() <= 0:
            return int(np.argmax(steps <= 0))
        if self.step is None:
            return None
        wrong = steps != self.usual
        wrong[free] = False
        if not wrong.any():
            return None
        # A long step is a gap, and split if that was asked for; a short one is always wrong.
        wrong &= ~np.isclose(steps, self.usual, rtol=FLOAT_STEP, atol=0)
        if self.max_gap is not None:
            wrong &= steps <= self.ticks_of(self.max_gap)
        return int(np.argmax(wrong)) if wrong.any() else None

    def breaks(self, steps: NDArray[Any], free: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows before which the series is split."""
        if self.max_gap is None:
            return np.empty(0, np.int64)
        long = steps > self.ticks_of(self.max_gap)
        long[free] = False
        return np.flatnonzero(long)

    def complaint(self, step: float, place: str) -> InvalidInput:
        """The error of a step that is not allowed; ``place`` says where."""
        if step == 0:
            return InvalidInput(
                self.name, f"the same time twice, in {place}", "times that increase in a series",
                "Remove the duplicate, or name the series column if rows belong to several.",
            )  # fmt: skip
        if step < 0:
            return InvalidInput(
                self.name, f"a step back in {place}", "times that increase in a series",
                "Sort the table by time first; nothing is sorted here.",
            )  # fmt: skip
        # Which step it is stays private: between beats it tells the rate.
        return InvalidInput(
            self.name, f"a {'longer' if step > self.usual else 'shorter'} step in {place}",
            f"steps of {self.in_words(self.usual)}",
            "Give max_gap to split the series at longer steps.",
        )  # fmt: skip

    def rounded(
        self, column: pa.Array, width: float, seconds: bool, first_row: int = 0
    ) -> pa.Array:
        """The column rounded down to multiples of ``width``; text stays text.

        ``seconds`` says whether the width is one of dates and times, or of plain numbers.
        """
        text = _is_text(column.type)
        ticks = self.ticks(column, first_row)
        kind = self._text_type if text else _value_type(column.type)
        assert kind is not None
        self._check_width(kind, width, seconds)
        every = float(round(width * self._scale)) if pa.types.is_temporal(kind) else width
        if ticks.dtype.kind == "i" and every.is_integer():
            low = pa.array(ticks // int(every) * int(every))
        else:
            low = pa.array(np.floor(ticks / every) * every)
        made = _as_type(low, self.rounded_type(kind, every.is_integer()))
        if not text:
            return made
        return _as_words(made, every >= self._scale).cast(_value_type(column.type))

    def rounded_type(self, kind: pa.DataType, whole: bool) -> pa.DataType:
        """The type of a rounded column; ``whole`` says whether the width is a whole number."""
        kind = _value_type(kind)
        if pa.types.is_temporal(kind) or _is_text(kind):
            return kind
        return pa.int64() if pa.types.is_integer(kind) and whole else pa.float64()

    def _check_width(self, kind: pa.DataType, width: float, seconds: bool) -> None:
        temporal = pa.types.is_temporal(kind)
        if temporal != seconds:
            raise InvalidInput(
                "time_as", f"{width:g}{' seconds' if seconds else ' without a unit'}",
                f"a width with a unit, such as 60s: {self.name!r} holds dates or times" if temporal
                else f"a number without a unit: {self.name!r} holds numbers",
            )  # fmt: skip
        every = width * self._scale
        if temporal and (every < 1 or abs(every - round(every)) > FLOAT_STEP):
            raise InvalidInput(
                "time_as", f"{width:g} seconds", f"whole steps of what {self.name!r} is stored in, "
                f"{1 / self._scale:g} seconds",
            )  # fmt: skip

    def in_steps(self, ticks: NDArray[Any]) -> NDArray[np.float64] | None:
        """Ticks in steps; None where there is no regular step."""
        return None if self.step is None else np.asarray(ticks / self.usual, np.float64)

    def in_words(self, ticks: float) -> str:
        """A step for an error message."""
        return f"{ticks / self._scale:g}{' s' if self._scale != 1 else ''}"

    def ticks_of(self, value: float | None) -> float:
        """A step or gap in ticks."""
        assert value is not None
        return value * self._scale

    def _from_type(self, column: pa.Array, first_row: int) -> NDArray[Any]:
        kind = column.type
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
            self._scale = TICKS_PER_SECOND[kind.unit]
            bits = 32 if pa.types.is_time32(kind) else 64
            return _plain(column.view(pa.int64() if bits == 64 else pa.int32()))
        if pa.types.is_date(kind):
            self._scale = 1 / 86_400 if pa.types.is_date32(kind) else 1_000
            return _plain(column.view(pa.int32() if pa.types.is_date32(kind) else pa.int64()))
        if pa.types.is_integer(kind) and kind != pa.uint64():
            return _plain(column)
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or kind == pa.uint64():
            return self._finite(_plain(column.cast(pa.float64(), safe=False)), first_row)
        raise InvalidInput(self.name, f"a column of type {kind}", "numbers, dates or times")

    def _finite(self, values: NDArray[Any], first_row: int) -> NDArray[Any]:
        finite = np.isfinite(values)
        if not finite.all():
            row = int(np.argmin(finite))
            found = "no time" if np.isnan(values[row]) else "an infinite time"
            raise InvalidInput(self.name, found, "a time in every row", at_row(first_row + row))
        return values

    def _from_text(self, column: pa.Array, first_row: int) -> pa.Array:
        trimmed = pc.utf8_trim_whitespace(column)
        kinds = [pa.int64(), pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")]
        if self._text_type in kinds[1:]:
            kinds = [self._text_type]
        for kind in kinds:
            try:
                read = trimmed.cast(kind)
            except pa.ArrowInvalid:
                continue
            self._text_type = kind
            return read
        self._reject_text(trimmed, kinds, first_row)
        raise AssertionError("unreachable")

    def _reject_text(self, column: pa.Array, kinds: list[pa.DataType], first_row: int) -> None:
        """Name the first row that cannot be read in the way most of the column can."""
        for row, text in enumerate(column.to_pylist()):
            if not any(_readable(text, kind) for kind in kinds):
                found = "a cell that is no time" if text else "an empty cell"
                raise InvalidInput(
                    self.name, found, "numbers or times as 2026-01-31 12:00:00",
                    at_row(first_row + row),
                )  # fmt: skip
        raise InvalidInput(self.name, "a mixture of numbers and times", "one kind of time")


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    kind = _value_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _as_type(ticks: pa.Array, kind: pa.DataType) -> pa.Array:
    """Ticks as values of a column."""
    if not pa.types.is_temporal(kind):
        return ticks.cast(kind)
    return ticks.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def _as_words(column: pa.Array, whole_seconds: bool) -> pa.Array:
    """Rounded times as text, without fractions of seconds that are all 0."""
    if pa.types.is_timestamp(column.type) and whole_seconds:
        column = column.cast(pa.timestamp("s", column.type.tz))
    return column.cast(pa.string())


def _readable(text: str, kind: pa.DataType) -> bool:
    try:
        pa.scalar(text).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _plain(column: pa.Array) -> NDArray[Any]:
    values = column.to_numpy(zero_copy_only=False)
    # Small and unsigned whole numbers would wrap around when subtracted.
    whole = values.dtype.kind in "iu"
    return values.astype(np.int64, copy=False) if whole else np.asarray(values)
