"""A release carries names, types and rows, and nothing else of the table it was made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.table.files import file_sink
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.request.kept import Kept
from chainveil.table.request.request import Layout
from tests.table.samples import CHAIN, asked

SECRET = "SECRET72"
NOTE = {b"note": SECRET.encode()}
ROWS = 40
WORDS = ["low", "high"] * (ROWS // 2)
KINDS = ["a", "b", None, "b"] * (ROWS // 4)
HOW: dict[str, Any] = {"states": ["low", "high"], "chain": CHAIN}
KEEP: dict[str, Any] = {"keep": ["kind"], "allow_leak": ["kind"]}


def _noted() -> pa.Table:
    """Notes on the table, on columns and inside them; categories that no row has."""
    kind = pa.DictionaryArray.from_arrays(
        pa.array([None if word is None else ["z", "a", "b"].index(word) for word in KINDS],
                 pa.int8()), pa.array([SECRET, "a", "b"]),
    )  # fmt: skip
    state = pa.DictionaryArray.from_arrays(
        pa.array([WORDS.index(word) + 1 for word in WORDS], pa.int8()),
        pa.array([SECRET, "low", "high"]),
    )
    inner = pa.struct([pa.field("n", pa.int64(), metadata=NOTE)])
    schema = pa.schema(
        [
            pa.field("state", state.type, metadata=NOTE),
            pa.field("kind", kind.type, metadata=NOTE),
            pa.field("record", inner, metadata=NOTE),
            pa.field("list", pa.list_(pa.field("item", inner, metadata=NOTE)), metadata=NOTE),
        ],
        metadata={**NOTE, b"pandas": json.dumps({"index_columns": [SECRET]}).encode()},
    )
    records = pa.array([{"n": i} for i in range(ROWS)], inner)
    lists = pa.array([[{"n": i}] for i in range(ROWS)], schema.field("list").type)
    return pa.table([state, kind, records, lists], schema=schema)


def _all_notes(kind: pa.DataType) -> list[Any]:
    """Metadata of all fields inside a type."""
    inner = [kind.field(i) for i in range(kind.num_fields)]
    return [note for field in inner for note in (field.metadata, *_all_notes(field.type)) if note]


def _check_bare(schema: pa.Schema) -> None:
    assert schema.metadata is None
    for field in schema:
        assert field.metadata is None, field
        assert _all_notes(field.type) == [], field


def test_pyarrow() -> None:
    names = ["kind", "record", "list"]
    released = cv.sanitize_table(_noted(), "state", 1.0, keep=names, allow_leak=names, **HOW).table
    _check_bare(released.schema)
    assert released["kind"].chunk(0).dictionary.to_pylist() == ["a", "b"]
    assert released["state"].chunk(0).dictionary.to_pylist() == ["low", "high"]
    assert released["kind"].to_pylist() == KINDS
    assert released["list"].to_pylist() == _noted()["list"].to_pylist()
    chunks = pa.chunked_array([_noted()["kind"].chunk(0), pa.array([SECRET, "b"] * 20)[1::2]
                               .dictionary_encode().cast(_noted()["kind"].type)])  # fmt: skip
    twice = pa.table({"state": WORDS + WORDS[:20], "kind": chunks})
    released = cv.sanitize_table(twice, "state", 1.0, **KEEP, **HOW).table
    assert released["kind"].chunk(0).dictionary.to_pylist() == ["a", "b"]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_files(ending: str, tmp_path: Path) -> None:
    source, goal = tmp_path / "a.parquet", tmp_path / f"b.{ending}"
    pq.write_table(_noted(), source)
    assert SECRET.encode() in source.read_bytes()
    names = ("kind", "record", "list") if ending != "csv" else ("kind",)
    table = open_source(source)
    request = asked(
        Layout("state"), states=["low", "high"], epsilon=1.0, chain=CHAIN,
        kept=Kept(names, allow_leak=names),
    )  # fmt: skip
    release_table(table, file_sink(str(goal), table, None, False), request)
    assert SECRET.encode() not in goal.read_bytes()
    if ending == "parquet":
        _check_bare(pq.read_schema(goal).remove_metadata())
        assert set(pq.read_metadata(goal).metadata) == {b"ARROW:schema"}
    if ending == "arrow":
        with pa.ipc.open_file(str(goal)) as reader:
            _check_bare(reader.schema)
    found = pa.Table.from_batches(open_source(goal).batches())
    kinds = [word or None for word in found["kind"].to_pylist()]
    assert kinds == KINDS


def test_categories_of_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches have other categories each; a file of any format holds those of its rows."""
    monkeypatch.setattr("chainveil.table.read.reading.BATCH_ROWS", 10)
    pq.write_table(_noted(), tmp_path / "a.parquet")
    table = open_source(tmp_path / "a.parquet")
    for ending in ("parquet", "arrow", "csv"):
        goal = tmp_path / f"b.{ending}"
        request = asked(
            Layout("state"), states=["low", "high"], epsilon=1.0, chain=CHAIN,
            kept=Kept(("kind",), allow_leak=("kind",)),
        )  # fmt: skip
        release_table(table, file_sink(str(goal), table, None, True), request)
        found = pa.Table.from_batches(open_source(goal).batches())
        assert [word or None for word in found["kind"].to_pylist()] == KINDS


@pytest.mark.parametrize("arrow_types", [False, True])
def test_pandas(arrow_types: bool) -> None:
    frame = pd.DataFrame({
        "state": pd.Categorical(WORDS, categories=[SECRET, "high", "low"]),
        "kind": pd.Categorical(KINDS, categories=["b", SECRET, "a"], ordered=True),
    }, index=pd.Index(range(ROWS, 0, -1), name=SECRET))  # fmt: skip
    if arrow_types:
        frame = pa.Table.from_pandas(frame).to_pandas(types_mapper=pd.ArrowDtype)
    frame.attrs["note"] = SECRET
    frame["kind"].attrs["note"] = SECRET
    frame.columns.name = SECRET
    released = cv.sanitize_table(frame, "state", 1.0, **KEEP, **HOW).table
    assert type(released) is pd.DataFrame
    assert released.attrs == {}
    assert released["kind"].attrs == {}
    assert released.columns.name is None
    assert isinstance(released.index, pd.RangeIndex)
    assert (released.index.start, released.index.stop, released.index.name) == (0, ROWS, None)
    arrow = pa.Table.from_pandas(released)
    if not arrow_types:
        assert list(released["kind"].cat.categories) == ["b", "a"]
        assert released["kind"].cat.ordered
    assert SECRET not in str(arrow.schema.to_string(show_schema_metadata=True))
    for name in arrow.column_names:
        column = arrow[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            assert SECRET not in column.dictionary.to_pylist()
    assert [None if pd.isna(kind) else kind for kind in released["kind"]] == KINDS


@pytest.mark.parametrize("lazy", [False, True])
def test_polars(lazy: bool, tmp_path: Path) -> None:
    kinds = pl.Enum([SECRET, "b", "a"])
    frame: Any = pl.DataFrame(
        {
            "state": pl.Series(WORDS, dtype=pl.Enum([SECRET, "high", "low"])),
            "kind": pl.Series(KINDS, dtype=kinds),
            "lists": pl.Series([[kind] for kind in KINDS], dtype=pl.List(kinds)),
            "category": pl.Series([SECRET, *KINDS], dtype=pl.Categorical).slice(1),
        }
    )
    names = ["kind", "lists", "category"]
    given = frame.lazy() if lazy else frame
    released = cv.sanitize_table(given, "state", 1.0, keep=names, allow_leak=names, **HOW).table
    released = released.lazy().collect()
    assert released.schema["kind"] == pl.Enum(["b", "a"])
    assert released.schema["state"] == pl.Enum(["low", "high"])
    assert released.schema["lists"] == pl.List(pl.String)
    for name in names:
        assert released[name].cast(frame.schema[name]).to_list() == frame[name].to_list()
    released.write_parquet(tmp_path / "a.parquet")
    released.write_ipc(tmp_path / "a.arrow")
    for name in ("a.parquet", "a.arrow"):
        assert SECRET.encode() not in (tmp_path / name).read_bytes()


def test_duckdb(tmp_path: Path) -> None:
    kinds = f"ENUM('{SECRET}', 'it''s b', 'a')"
    relation = duckdb.from_arrow(pa.table({"state": WORDS, "kind": ["a", "it's b"] * 20})).project(
        f"CAST(state AS ENUM('{SECRET}', 'low', 'high')) AS state, CAST(kind AS {kinds}) AS kind"
    )
    released = cv.sanitize_table(relation, "state", 1.0, **KEEP, **HOW).table
    types = dict(zip(released.columns, map(str, released.types), strict=True))
    assert types == {"state": "ENUM('low', 'high')", "kind": "ENUM('it''s b', 'a')"}
    assert released.pl()["kind"].to_list() == ["a", "it's b"] * 20


def test_categories_inside_lists_are_refused() -> None:
    inner = pa.list_(pa.dictionary(pa.int8(), pa.string()))
    lists = pa.ListArray.from_arrays(
        pa.array(range(ROWS + 1), pa.int32()),
        pa.array(WORDS).dictionary_encode().cast(inner.value_type),
    )
    table = pa.table({"state": WORDS, "kind": lists})
    with pytest.raises(cv.InvalidInput, match="no categories inside lists"):
        cv.sanitize_table(table, "state", 1.0, **KEEP, **HOW)
