"""Values to states and back: limits for numbers, a list of states for anything else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chainveil import checks
from chainveil.certificate.make import Discretization
from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.reading import Missing, check_missing
from chainveil.table.error_text import at_row

Label = str | float | bool
Codes = NDArray[np.uint8]
MOST_STATES = 256
# The code of a gap; Discretizer.gaps says more.
GAP = 255
# Cells of text that hold no value, as most programs write them.
NO_VALUE = frozenset([
    "", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "-NaN", "-nan", "#N/A", "#NA",
    "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "<NA>",
])  # fmt: skip


@dataclass(frozen=True)
class Discretizer:
    """How values become states, and what states are called in a release.

    Attributes
    ----------
    edges : tuple of float
        Increasing limits; a value on a limit belongs to the state above it. Empty where
        the column holds states already.
    states : tuple of labels
        What the column holds, where ``edges`` is empty.
    labels : tuple of labels
        What the release holds, a label a state.
    origin : str
        Where the limits came from, as in a certificate.
    missing : "error" or "keep"
        Whether a row without a value is an error or stays one, visible; its code is ``GAP``.
    """

    edges: tuple[float, ...]
    states: tuple[Label, ...]
    labels: tuple[Label, ...]
    origin: Literal["given", "private mean", "private median"] = "given"
    missing: Missing = "error"

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self.labels)

    @property
    def keeps_type(self) -> bool:
        """Whether a released column has the type it came with."""
        return not self.edges and _texts(self.labels) == _texts(self.states)

    def relabelled(self, labels: Sequence[Label] | None) -> Discretizer:
        """The same states under other names; None keeps them."""
        return self if labels is None else replace(self, labels=_labels(labels, self.count))

    @property
    def described(self) -> Discretization:
        """For a certificate."""
        kind: Literal["threshold", "edges", "states"] = "edges"
        kind = {0: "states", 1: "threshold"}.get(len(self.edges), "edges")  # type: ignore[assignment]
        return Discretization(kind, self.edges, self.labels, self.origin)

    def keeping(self, missing: Missing) -> Discretizer:
        """The same states, with gaps treated as ``missing`` says."""
        check_missing(missing)
        if missing == "keep" and self.count > GAP:
            raise NotSupported(f"{self.count} states and gaps: at most {GAP} where gaps are kept")
        taken = [label for label in (*self.states, *self.labels) if str(label) in NO_VALUE]
        if missing == "keep" and taken:
            raise InvalidInput(
                "labels",
                taken[0],
                "words that do not mean a missing value, to keep gaps",
            )
        return replace(self, missing=missing)

    def codes(self, column: pa.Array, name: str, first_row: int = 0) -> Codes:
        """The state of every value, shape (rows,); a value that has none is an error."""
        if self.missing == "keep":
            gaps = self._gaps(column)
            if gaps.any():
                codes = self._codes(self._filled(column, gaps, name), name, first_row)
                codes[gaps] = GAP
                return codes
        elif column.null_count:
            gap = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise missing_value(name, first_row + gap)
        return self._codes(column, name, first_row)

    def gaps(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows hold no value.

        The one encoding of a gap in tables: the code ``GAP``, 255, where gaps are kept; elsewhere
        every code is a state, and 255 may be one. Certificates take their digests of these codes.
        Others are translated where they come in or go out: null, NaN and words in columns
        (:meth:`codes`, :meth:`values`), masked points for those who analyse or attack
        (``released/``). Arrays have their own, NaN, masked points and -1
        (:func:`chainveil.mechanism.sanitize`), and are never met here: noise is drawn for the
        points beneath the gaps too.
        """
        return codes == GAP if self.missing == "keep" else np.zeros(len(codes), np.bool_)

    def _codes(self, column: pa.Array, name: str, first_row: int) -> Codes:
        if self.edges:
            return self._by_edges(numbers(column, name, first_row))
        return self._by_states(column, self.states, name, first_row)

    def read_back(self, column: pa.Array, name: str, first_row: int = 0) -> Codes:
        """The states of a released column, from its labels."""
        plain = replace(self, edges=(), states=self.labels)
        return plain.codes(column, name, first_row)

    def values(self, codes: Codes, like: pa.DataType | None = None) -> pa.Array:
        """The label of every state; of the type ``like`` where that was the column's own."""
        if like is not None and self.keeps_type:
            return self._values_like(codes, like)
        # As text, because False equals 0 and True equals 1.
        if _texts(self.labels) == _texts(range(self.count)):
            return self._indices(codes)
        return label_array(self.labels).take(self._indices(codes))

    def _values_like(self, codes: Codes, like: pa.DataType) -> pa.Array:
        value_type = like.value_type if pa.types.is_dictionary(like) else like
        dictionary = pa.array(_typed(self.labels, value_type, "labels"), value_type)
        if pa.types.is_dictionary(like):
            indices = self._indices(codes).cast(like.index_type)
            return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=like.ordered)
        return dictionary.take(self._indices(codes))

    def _indices(self, codes: Codes) -> pa.Array:
        """Codes as an Arrow array, null where there is a gap."""
        return pa.array(codes, mask=self.gaps(codes) if self.missing == "keep" else None)

    def _gaps(self, column: pa.Array) -> NDArray[np.bool_]:
        """Which rows hold no value: null, not a number, or a word for it in text."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        gaps = column.is_null(nan_is_null=pa.types.is_floating(column.type))
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            words = pa.array(sorted(NO_VALUE - set(_texts((*self.states, *self.labels)))))
            trimmed = pc.utf8_trim_whitespace(column)
            gaps = pc.or_(gaps, pc.is_in(trimmed, value_set=words.cast(column.type)))
        return np.asarray(gaps.to_numpy(zero_copy_only=False))

    def _filled(self, column: pa.Array, gaps: NDArray[np.bool_], name: str) -> pa.Array:
        """The column with some value at its gaps, to be read like any other."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if self.edges and not _is_numeric(column.type):
            filler = pa.scalar("0", pa.string()).cast(column.type)
        elif self.edges:
            filler = pa.scalar(0, pa.int8()).cast(column.type)
        else:
            filler = pa.scalar(_typed(self.states[:1], column.type, name)[0], column.type)
        return pc.if_else(pa.array(gaps), filler, column)

    def _by_edges(self, values: NDArray[np.float64]) -> Codes:
        if len(self.edges) == 1:
            codes = np.empty(len(values), np.uint8)
            np.greater_equal(values, self.edges[0], out=codes.view(np.bool_))
            return codes
        below = np.searchsorted(np.array(self.edges), values, side="right")
        return np.asarray(below, dtype=np.uint8)

    def _by_states(
        self, column: pa.Array, states: Sequence[Label], name: str, first_row: int
    ) -> Codes:
        if pa.types.is_dictionary(column.type):
            table = self._lookup(column.dictionary, states, name)
            found = table[column.indices.to_numpy()]
        else:
            found = self._lookup(column, states, name)
        if len(found) and int(found.min()) < 0:
            row = int(np.argmin(found))
            self._unknown(column[row].as_py(), states, name, first_row + row)
        return np.asarray(found, dtype=np.uint8)

    def _lookup(self, column: pa.Array, states: Sequence[Label], name: str) -> NDArray[np.int32]:
        """Index of each value among the states, -1 where it is none."""
        wanted = pa.array(_typed(states, column.type, name), column.type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = pc.utf8_trim_whitespace(column)
        found = pc.index_in(column, value_set=wanted)
        return np.asarray(found.fill_null(-1).to_numpy())

    def _unknown(self, value: Any, states: Sequence[Label], name: str, row: int) -> None:
        if str(value).strip() in NO_VALUE:
            raise missing_value(name, row)
        texts = [str(state) for state in states]
        found = "a value that is none of the states"
        if str(value).casefold() in (text.casefold() for text in texts):
            found += " but for upper and lower case"
        raise InvalidInput(name, found, ", ".join(texts), at_row(row))


MISSING_ADVICE = (
    "Fill it or remove the row first, or keep it as it is (missing is keep): a gap that is "
    "published is not protected."
)


def missing_value(name: str, row: int) -> InvalidInput:
    """The error for a row without a value."""
    advice = f"{at_row(row)} {MISSING_ADVICE}"
    return InvalidInput(name, "a missing value", "a value in every row", advice)


def make_discretizer(
    threshold: float | Sequence[float] | None = None,
    states: Sequence[Label] | None = None,
    labels: Sequence[Label] | None = None,
    origin: Literal["given", "private mean", "private median"] = "given",
) -> Discretizer:
    """A discretizer from either ``threshold``, one or several of them, or ``states``."""
    if (threshold is None) == (states is None):
        raise InvalidInput(
            "threshold, states",
            "neither" if threshold is None else "both",
            "one of them",
            "They say how values become states.",
        )
    limits = () if threshold is None else _limits(threshold)
    held = tuple(states) if states is not None else ()
    count = len(limits) + 1 if limits else len(held)
    names = _labels(labels, count) if labels is not None else (held or tuple(range(count)))
    _check_distinct("states", held)
    if not 2 <= count <= MOST_STATES:
        raise NotSupported(f"{count} states: from 2 to {MOST_STATES} can be published")
    return Discretizer(limits, held, names, origin)


def numbers(column: pa.Array, name: str, first_row: int = 0) -> NDArray[np.float64]:
    """A column as finite floats; text is read as numbers, and what is none is an error."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = _text_numbers(column, name, first_row)
    elif pa.types.is_boolean(kind) or not _is_numeric(kind):
        raise InvalidInput(
            name, f"a column of type {kind}", "a column of numbers", "Or list its states."
        )
    values: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(
        zero_copy_only=False
    )
    # One sum is cheaper than a look at every value, and not finite if one of them is not.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())
    if not finite:
        row = int(np.argmin(np.isfinite(values)))
        if np.isnan(values[row]):
            raise missing_value(name, first_row + row)
        raise InvalidInput(name, "an infinite number", "finite numbers", at_row(first_row + row))
    return values


def _text_numbers(column: pa.Array, name: str, first_row: int) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(column)
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        for row, text in enumerate(trimmed.to_pylist()):
            if not _reads_as_number(text):
                if text in NO_VALUE:
                    raise missing_value(name, first_row + row) from None
                found = "a cell that is not a number"
                raise InvalidInput(name, found, "numbers", at_row(first_row + row)) from None
        raise InvalidInput(name, "cells that are not numbers", "numbers") from None


def _reads_as_number(text: str) -> bool:
    try:
        pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _typed(states: Sequence[Label], kind: pa.DataType, name: str) -> list[Any]:
    """The states as values of a column's type."""
    try:
        if pa.types.is_boolean(kind):
            return [_truth(state) for state in states]
        if pa.types.is_integer(kind):
            return [_whole(state) for state in states]
        if pa.types.is_floating(kind):
            return [float(state) for state in states]
    except (TypeError, ValueError):
        raise InvalidInput(
            name, f"a column of type {kind}", f"values such as the states {list(states)!r}"
        ) from None
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()):
        raise InvalidInput(name, f"a column of type {kind}", "text, numbers or booleans")
    return list(label_array(states).cast(pa.string()).to_pylist())


def _truth(state: Label) -> bool:
    words = {"true": True, "false": False, "1": True, "0": False}
    return words[str(state).lower()] if str(state).lower() in words else bool(float(state))


def _whole(state: Label) -> int:
    if isinstance(state, int | str):
        # Numbers of more than 15 digits are others as floats.
        with suppress(ValueError):
            return int(state)
    number = float(state)
    if not number.is_integer():
        raise ValueError(state)
    return int(number)


def label_array(labels: Sequence[Label]) -> pa.Array:
    """Labels as one column: all booleans, all numbers, or else text."""
    if all(isinstance(label, bool) for label in labels):
        return pa.array(labels, pa.bool_())
    if any(isinstance(label, str | bool) for label in labels):
        return pa.array([str(label) for label in labels], pa.string())
    if all(float(label).is_integer() for label in labels):
        return pa.array([int(label) for label in labels], pa.int64())
    return pa.array([float(label) for label in labels], pa.float64())


def _limits(threshold: float | Sequence[float]) -> tuple[float, ...]:
    allowed = "a finite number, or several increasing numbers"
    if not np.iterable(threshold):
        return (checks.real("threshold", threshold, allowed),)
    checks.items("threshold", threshold, allowed)
    limits = tuple(checks.real("threshold", number, allowed) for number in threshold)
    if not limits or any(a >= b for a, b in pairwise(limits)):
        raise InvalidInput("threshold", list(limits), allowed)
    return limits


def _labels(labels: Sequence[Label], count: int) -> tuple[Label, ...]:
    if len(labels) != count:
        raise InvalidInput("labels", list(labels), f"{count} labels, one a state")
    _check_distinct("labels", labels)
    return tuple(labels)


def _texts(labels: Sequence[Label]) -> list[str]:
    return [str(label) for label in labels]


def _check_distinct(name: str, labels: Sequence[Label]) -> None:
    texts = _texts(labels)
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidInput(name, text, "text that can be written in UTF-8") from None
    if len(set(texts)) < len(texts) or not all(texts):
        raise InvalidInput(name, list(labels), "labels that differ from each other, none empty")
