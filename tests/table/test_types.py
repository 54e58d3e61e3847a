"""Columns of every Arrow type can be kept, and pass through files and frames unchanged."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.table.files import file_sink
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.request.kept import Kept
from chainveil.table.request.request import Layout
from chainveil.table.write.metadata import without_categories
from tests.table.samples import asked

ROWS = 40
CHAIN = cv.MarkovChain.symmetric(0.1)
NUMBERS = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


def _twice(one: object, other: object, kind: pa.DataType | None = None) -> pa.Array:
    return pa.array([one, other] * (ROWS // 2), kind)


def _every_type() -> pa.Table:
    columns = {"x": _twice(0, 1)}
    for name in NUMBERS:
        columns[name] = pa.array(np.arange(ROWS).astype(name))
        columns[f"{name} or null"] = columns[name].take(_twice(None, 3, pa.int64()))
    for unit in ("s", "ms", "us", "ns"):
        columns[f"timestamp {unit}"] = pa.array(range(ROWS), pa.timestamp(unit))
        columns[f"zoned {unit}"] = pa.array(range(ROWS), pa.timestamp(unit, "America/New_York"))
        columns[f"duration {unit}"] = pa.array(range(ROWS), pa.duration(unit))
    return pa.table(columns | _odd_types())


def _odd_types() -> dict[str, pa.Array]:
    words = _twice("lo", "hi").dictionary_encode()
    return {
        "extremes": _twice(-(2**63), 2**63 - 1, pa.int64()),
        "unsigned extremes": _twice(0, 2**64 - 1, pa.uint64()),
        "clock": pa.array(range(ROWS), pa.time32("ms")),
        "fine clock": pa.array(range(ROWS), pa.time64("ns")),
        "date": pa.array(range(ROWS), pa.date32()),
        "long date": pa.array([day * 86_400_000 for day in range(ROWS)], pa.date64()),
        "decimal": _twice(Decimal("1.23"), None, pa.decimal256(50, 2)),
        "nothing": pa.nulls(ROWS),
        "bytes": _twice(b"\xff\x00", b""),
        "fixed bytes": _twice(b"abcd", None, pa.binary(4)),
        "large text": _twice("ü", "", pa.large_string()),
        "text view": _twice("a text of more than twelve bytes", None, pa.string_view()),
        "large list": _twice([1], [], pa.large_list(pa.int32())),
        "pair": _twice([1, 2], [3, 4], pa.list_(pa.int8(), 2)),
        "record": _twice({"a": 1, "b": "x"}, None),
        "map": _twice([("k", 1)], None, pa.map_(pa.string(), pa.int64())),
        "ordered": pa.DictionaryArray.from_arrays(words.indices, words.dictionary, ordered=True),
        "small index": words.cast(pa.dictionary(pa.int8(), pa.string())),
        "truth": _twice(True, None),
        "dot.ted": pa.array(range(ROWS)),
    }


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_every_type_passes_through_files(ending: str, tmp_path: Path) -> None:
    source, goal = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    if ending == "parquet":
        pq.write_table(_every_type(), source)
    else:
        pyarrow.feather.write_feather(_every_type(), str(source))
    table = open_source(source)
    names = tuple(table.columns[1:])
    request = asked(Layout("x"), epsilon=1.0, chain=CHAIN, kept=Kept(names, allow_leak=names))
    release_table(table, file_sink(str(goal), table, None, False), request)
    before, after = (pa.Table.from_batches(open_source(p).batches()) for p in (source, goal))
    plain = [without_categories(kind) for kind in before.schema.types]
    assert after.schema.types == (before.schema.types if ending == "parquet" else plain)
    for name in before.schema.names[1:]:
        assert after[name].to_pylist() == before[name].to_pylist(), name


def test_every_type_passes_through_frames() -> None:
    table = _every_type()
    names = table.column_names[1:]
    how: Any = {"chain": CHAIN, "keep": names, "allow_leak": names}
    released = cv.sanitize_table(table, "x", 1.0, **how).table
    assert released.drop(["x"]).equals(table.drop(["x"]))
