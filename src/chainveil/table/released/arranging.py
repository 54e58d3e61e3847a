"""Rows of a release that stand in another order than they were released in: put back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import permutations
from math import factorial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chainveil.certificate import Certificate
from chainveil.errors import InvalidInput
from chainveil.table.request.clock import Clock
from chainveil.table.request.request import one_column

IntArray = NDArray[np.int64]
# Series whose order is looked for among all there are, and states that are digested for it.
MOST_SERIES, MOST_BYTES = 6, 1 << 27

ANOTHER_ORDER = (
    "the rows stand in another order than the certificate's, or are not those of its release: "
    "which of the two cannot be checked"
)


def by_time(
    held: pa.Table, series: str | None, time: str, needed: bool
) -> tuple[pa.Table, IntArray]:
    """The rows series by series in the order of time, and which rows of the table they are.

    ``needed`` says whether the answer depends on the order within a series: an error then where
    rows were moved and equal times leave it open.
    """
    numbers, _ = _numbers(held, series)
    ticks = Clock(time).ticks(one_column(held, time), 0)
    rows = np.lexsort((ticks, numbers))
    standing = np.argsort(numbers, kind="stable")
    if np.array_equal(rows, standing):
        return held, np.arange(held.num_rows)
    same = (np.diff(ticks[rows]) == 0) & (np.diff(numbers[rows]) == 0)
    if needed and same.any():
        raise InvalidInput(
            time, "equal times in rows that stand in another order than that of time",
            "times that tell which row comes first", "Put the rows into the order of the release.",
        )  # fmt: skip
    return held.take(pa.array(rows)), rows


def is_release(
    document: Certificate, codes: NDArray[np.uint8], held: pa.Table, time: str | None
) -> bool:
    """Whether the states are those of the release in one of the orders that tables have."""
    if document["release.parts"] is not None:
        # Of a folder the digest is one of its parts.
        return False
    claimed = document["release.states_sha256"]
    orders = _orders(held, document["release.series_column"], time)
    return any(hashlib.sha256(codes[rows].tobytes()).hexdigest() == claimed for rows in orders)


def _orders(held: pa.Table, series: str | None, time: str | None) -> Iterator[IntArray]:
    """Series after series, or all of them along time; within a series as it stands, or by time."""
    numbers, names = _numbers(held, series)
    ticks = None if time is None else Clock(time).ticks(one_column(held, time), 0)
    for place in _places(names, held.num_rows):
        owner = place[numbers]
        if ticks is None:
            yield np.argsort(owner, kind="stable")
        else:
            yield np.lexsort((ticks, owner))
            yield np.lexsort((owner, ticks))


def _places(names: pa.Array, rows: int) -> Iterator[IntArray]:
    """Which series comes where: as they come, by name, and in any order while that is quick."""
    yield np.arange(len(names))
    yield np.argsort(pc.sort_indices(names).to_numpy())
    if len(names) <= MOST_SERIES and factorial(len(names)) * rows <= MOST_BYTES:
        for order in permutations(range(len(names))):
            yield np.array(order)


def _numbers(held: pa.Table, series: str | None) -> tuple[IntArray, pa.Array]:
    """The series of each row as a number, in the order in which they come, and their names."""
    if series is None:
        return np.zeros(held.num_rows, np.int64), pa.array([""])
    encoded = one_column(held, series).dictionary_encode()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers, encoded.dictionary
