"""Groups of series that differ by something public: which row is in which, and a plan for each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chainveil.errors import InvalidInput, NotSupported
from chainveil.plan import NoisePlan
from chainveil.table.error_text import at_row
from chainveil.table.request.discretize import GAP, NO_VALUE, Discretizer, Label
from chainveil.table.request.request import Layout, Readable, one_column
from chainveil.table.states.tracker import Tracker

# The group of a row is a byte.
MOST_GROUPS = GAP


class GroupColumn:
    """The groups of a column by number, in the order in which they are first met.

    With ``labels`` these are all there are, and another one is an error.
    """

    def __init__(self, name: str, labels: Sequence[Label] = ()) -> None:
        self.name, self._known = name, bool(labels)
        self.labels: list[Label] = list(labels)

    def numbers(self, column: pa.Array, first_row: int) -> NDArray[np.uint8]:
        """The group of each row, shape (rows,)."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        self._check_kind(column.type)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        column = pc.utf8_trim_whitespace(column) if text else column
        if pa.types.is_floating(column.type):
            # Zeros of either sign are one group.
            column = pc.add(column.cast(pa.float64()), 0.0)
        self._check_present(column, text, first_row)
        if not self._known:
            self._meet(column)
        labels = tuple(self.labels)
        try:
            return Discretizer((), labels, labels).codes(column, self.name, first_row)
        except InvalidInput as error:
            raise InvalidInput(
                self.name, "a group that is not among those known", ", ".join(map(str, labels)),
                f"{error.advice} A reference table needs all groups of the table.",
            ) from None  # fmt: skip

    def _check_kind(self, kind: pa.DataType) -> None:
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not (number or text or pa.types.is_boolean(kind)):
            found = f"a column of type {kind}"
            raise InvalidInput(self.name, found, "groups as text, numbers or booleans")

    def _check_present(self, column: pa.Array, text: bool, first_row: int) -> None:
        """Error for a row without a group: nobody could tell which noise it has."""
        absent = column.is_null()
        if pa.types.is_floating(column.type):
            absent = pc.or_(absent, pc.invert(pc.is_finite(column)).fill_null(True))
        if text:
            words = pa.array(sorted(NO_VALUE)).cast(column.type)
            absent = pc.or_(absent, pc.is_in(column, value_set=words))
        if absent.true_count:
            row = first_row + int(np.argmax(absent.to_numpy(zero_copy_only=False)))
            raise InvalidInput(
                self.name, "no group", "a group in every row; numbers are finite",
                f"{at_row(row)} Give those without one a name of their own, such as unknown.",
            )  # fmt: skip

    def _meet(self, column: pa.Array) -> None:
        """Learn the groups of a batch that are new."""
        known = {(type(label), label) for label in self.labels}
        found = [
            label for label in pc.unique(column).to_pylist() if (type(label), label) not in known
        ]
        self.labels += found
        if len(self.labels) > MOST_GROUPS:
            raise InvalidInput(
                self.name, f"more than {MOST_GROUPS} groups", f"at most {MOST_GROUPS}",
                "A group needs series enough to be told apart from the others: take wider ones.",
            )  # fmt: skip


@contextmanager
def naming_group(label: Label) -> Iterator[None]:
    """An error or a warning about what was counted names its group, which is public."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            yield
        except InvalidInput as error:
            advice = f"{error.advice} This is about the group {label}: join it with another one."
            raise InvalidInput(error.argument, error.found, error.allowed, advice.strip()) from None
    for one in told:
        warnings.warn(f"group {label}: {one.message}", one.category, stacklevel=3)


@dataclass(frozen=True)
class Plans:
    """One plan for all rows; or one for each group of series, which ``labels`` name."""

    each: tuple[NoisePlan, ...]
    labels: tuple[Label, ...] = ()

    @classmethod
    def one(cls, plan: NoisePlan) -> Plans:
        """The same plan for all rows."""
        return cls((plan,))

    @property
    def only(self) -> NoisePlan:
        """The plan, where there is one for all rows."""
        if self.labels:
            raise NotSupported("a plan for each group, where one for all rows is needed")
        return self.each[0]

    @property
    def ordered(self) -> bool:
        """Whether the noise of a row depends on its place in its series."""
        return any(plan.noise.ordered for plan in self.each) or self.rare

    @property
    def rare(self) -> bool:
        """Whether one row in several reports, in some group."""
        return any(plan.noise.every > 1 for plan in self.each)


@dataclass(frozen=True)
class GroupsSeen:
    """What was counted in a table of several groups: of all rows, and of each group.

    What it says itself is about all rows, as of :class:`chainveil.table.states.prepare.Seen`.
    """

    whole: Tracker
    labels: tuple[Label, ...]
    groups: tuple[Tracker, ...]
    counts: None = None
    each: None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.whole.rows

    @property
    def series(self) -> int:
        """Number of series."""
        return self.whole.series

    @property
    def splits(self) -> int:
        """Number of gaps at which series are split."""
        return self.whole.splits

    @property
    def longest(self) -> int:
        """Rows of the longest series."""
        return self.whole.longest

    @property
    def contexts(self) -> dict[int, Any]:
        """Nothing: they are counted in each group."""
        return {}

    @property
    def names(self) -> list[Any]:
        """The value of the series column for each series."""
        return self.whole.names


def check_one_group(groups: Sequence[Any], series: int, column: str) -> None:
    """Error where a series has rows in several groups, of which so many series were counted."""
    if sum(seen.series for seen in groups) != series:
        raise InvalidInput(
            "group", f"column {column!r}, with several groups in one series",
            "one group for each series, which is its noise",
            "Take a column that stays the same within a series, or name series by both columns.",
        )  # fmt: skip


@dataclass(frozen=True)
class RowsOfGroup:
    """The rows of one group, as a table that can be read like any other."""

    table: Readable
    group: str
    labels: tuple[Label, ...]
    number: int

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self.table.columns

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        return self.table.schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order."""
        wanted = None if columns is None else list(dict.fromkeys([*columns, self.group]))
        groups, row = GroupColumn(self.group, self.labels), 0
        for batch in self.table.batches(wanted):
            here = groups.numbers(one_column(batch, self.group), row) == self.number
            row += batch.num_rows
            yield batch.filter(pa.array(here))

    def pieces(self, layout: Layout, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """No sample is taken of a group."""
        raise NotSupported("a sample of one group")
