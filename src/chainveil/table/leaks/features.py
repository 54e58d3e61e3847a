"""What can be seen of a column: its value, its change, how often it occurs, here and beside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chainveil.table.leaks.sampling import Runs
from chainveil.table.request.discretize import NO_VALUE

IntArray = NDArray[np.int64]
Floats = NDArray[np.float64]
# So many different numbers are taken one by one; more are put into bins of equally many rows.
FEW, BINS = 32, 24
# The most different texts that are told apart; the rarest share a bin.
MOST_WORDS = 500
# Times, and records put together, are texts with numbers in them: so many of each are read.
NUMBER, MOST_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)?"), 8


@dataclass(frozen=True)
class Feature:
    """Something about each tested row: whole numbers below ``count``, and its name in words.

    ``change`` says whether it is about a step from row to row.
    """

    name: str
    codes: IntArray
    count: int
    change: bool = False


def testable(kind: pa.DataType) -> bool:
    """Whether columns of a type can be tested."""
    if pa.types.is_dictionary(kind):
        return testable(kind.value_type)
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return not (pa.types.is_nested(kind) or binary or pa.types.is_fixed_size_binary(kind))


def features(column: pa.ChunkedArray, runs: Runs) -> Iterator[Feature]:
    """All features of a column of the sample; of texts also those of the numbers in them."""
    values = _numbers(column)
    if values is not None:
        yield from _seen(values, runs)
        return
    words = _words(column)
    yield from _seen(words.astype(np.float64), runs, words=True)
    if len(np.unique(words)) > FEW:
        yield from _within(column.to_pylist(), runs)


def _within(texts: list[str | None], runs: Runs) -> Iterator[Feature]:
    """Features of texts that differ from row to row: their numbers, and what stands around."""
    around = _words(pa.chunked_array([[text and NUMBER.sub("0", text) for text in texts]]))
    found = [NUMBER.findall(text or "") for text in texts]
    # From the left, and the last one: what stands before it may hold more numbers or fewer.
    places = [*range(min(MOST_NUMBERS, max(map(len, found)))), -1]
    for place in places:
        name = "the last number" if place < 0 else f"number {place + 1}"
        for feature in _seen(_at(found, place), runs):
            yield replace(feature, name=f"{name} of its text: {feature.name}")
    for feature in _seen(around.astype(np.float64), runs, words=True):
        yield replace(feature, name=f"its text without numbers: {feature.name}")


def _at(found: list[list[str]], place: int) -> Floats:
    """The numbers at one place of each text; NaN where there is none, or one beyond a double."""
    there = (row[place : place + 1 or None] for row in found)
    numbers = np.array([float(row[0]) if row else np.nan for row in there])
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _seen(shown: Floats, runs: Runs, words: bool = False) -> Iterator[Feature]:
    """The features of numbers, or of words by number; none where all are alike in each run."""
    before = np.roll(shown, 1)
    same = ((shown == before) | (np.isnan(shown) & np.isnan(before))) & ~runs.first
    if bool((same | runs.first).all()) and not runs.single:
        return
    change = (~same).astype(np.float64) if words else shown - before
    change[runs.first] = np.nan
    step = "a change" if words else "the difference"
    yield _binned("its value", shown, runs, words)
    yield _binned("its value in the row before", _beside(shown, runs, -1), runs, words)
    yield _binned("its value in the next row", _beside(shown, runs, 1), runs, words)
    yield _binned("the number of neighbouring rows with its value", _shared(same), runs)
    if not words and not _rises(change):
        sorted_steps = _sorted_steps(shown, runs)
        yield _binned("the difference from the next smaller value", sorted_steps, runs)
    for lag, place in ((0, "from the row before"), (1, "to the next row"), (-1, "a row earlier")):
        yield _binned(f"{step} {place}", _beside(change, runs, lag), runs, change=True)


def _numbers(column: pa.ChunkedArray) -> Floats | None:
    """A column as numbers, NaN where it has none; None where it holds words."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return _parsed(column.cast(pa.large_string()))
    if pa.types.is_temporal(kind):
        whole = _ticks(column, kind)
    else:
        whole = column.cast(pa.float64(), safe=False)
    return np.asarray(whole.to_numpy(), np.float64)


def _ticks(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Dates and times counted from the first, so that no fraction is rounded away."""
    plain = pa.int32() if kind.bit_width == 32 else pa.int64()
    ticks = column.cast(plain).cast(pa.int64())
    return pc.subtract(ticks, pc.min(ticks)).cast(pa.float64(), safe=False)


def _parsed(column: pa.ChunkedArray) -> Floats | None:
    """Text that reads as numbers or times throughout, as numbers."""
    column = pc.utf8_trim_whitespace(column)
    words = pa.array(sorted(NO_VALUE), column.type)
    column = pc.if_else(pc.is_in(column, value_set=words), pa.scalar(None, column.type), column)
    times = (pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC"))
    for kind in (pa.float64(), *times):
        try:
            read = column.cast(kind)
        except pa.ArrowInvalid:
            continue
        return _numbers(read)
    return None


def _words(column: pa.ChunkedArray) -> IntArray:
    """A number for each different text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def _beside(values: Floats, runs: Runs, lag: int) -> Floats:
    """What the row after (1) or before (-1) holds; NaN where that belongs to another run."""
    if lag == 0:
        return values
    moved = np.roll(values, -lag)
    border = runs.first if lag < 0 else np.roll(runs.first, -1)
    return np.where(border, np.nan, moved)


def _shared(same: NDArray[np.bool_]) -> Floats:
    """How many neighbouring rows of the run have the value of each row."""
    which = np.cumsum(~same) - 1
    return np.asarray(np.bincount(which)[which], np.float64)


def _rises(change: Floats) -> bool:
    """Whether values never fall within a run, so that they come sorted."""
    return not bool((change < 0).any())


def _sorted_steps(values: Floats, runs: Runs) -> Floats:
    """Differences once the rows of each run are sorted by the column: anyone can do that."""
    order = np.lexsort((values, runs.run))
    steps = np.diff(values[order], prepend=np.nan)
    steps[np.diff(runs.run[order], prepend=-1) != 0] = np.nan
    found = np.empty_like(steps)
    found[order] = steps
    return found


def _binned(
    name: str, values: Floats, runs: Runs, words: bool = False, change: bool = False
) -> Feature:
    """Numbers as bins: each for itself where they are few, else equally many rows to a bin."""
    values = values[runs.chosen]
    known = ~np.isnan(values)
    seen, which, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    codes = np.zeros(len(values), np.int64)
    if len(seen) <= FEW:
        codes[known] = which + 1
        return Feature(name, codes, len(seen) + 1, change)
    if words:
        rank = np.empty(len(seen), np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(seen))
        codes[known] = np.minimum(rank, MOST_WORDS - 1)[which] + 1
        return Feature(name, codes, MOST_WORDS + 1)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, BINS + 1)[1:-1]))
    codes[known] = np.searchsorted(edges, values[known], side="right") + 1
    return Feature(name, codes, len(edges) + 2, change)
