"""Rows without a value: an error, or gaps that stay where they are."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

import chainveil as cv
from chainveil.mechanism import seeded, series_number
from chainveil.table.files import certificate_path, file_sink
from chainveil.table.read.frames import FrameSource
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.request.discretize import GAP, NO_VALUE, make_discretizer
from chainveil.table.request.request import Layout, StateRules
from chainveil.table.states.fitting import fit_table
from chainveil.table.states.tracker import Columns, Tracker
from tests.table.samples import CHAIN, ROWS, asked, flat

PLAN = cv.calibrate(CHAIN, 2.0)
EVERY = 7


def holes(table: pa.Table) -> pa.Table:
    """Every seventh row without a value."""
    values = [None if i % EVERY == 0 else v for i, v in enumerate(table["bpm"].to_pylist())]
    place = table.schema.get_field_index("bpm")
    return table.set_column(place, "bpm", pa.array(values, pa.float64()))


def missing_rows(column: Any) -> list[int]:
    return [i for i, value in enumerate(column) if value is None or str(value) in NO_VALUE]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv", "a.tsv.gz", "a.txt"])
@pytest.mark.parametrize("goal", ["b.parquet", "b.feather", "b.csv.zst", "b.txt"])
def test_gaps_stay_in_every_format(name: str, goal: str, tmp_path: Path) -> None:
    table = holes(flat().drop(["word"]))
    if name.endswith((".parquet", ".arrow")):
        write = pq.write_table if name.endswith(".parquet") else feather.write_feather
        write(table, str(tmp_path / name))
    else:
        separator = {"a.csv": ",", "a.tsv.gz": "\t", "a.txt": " "}[name]
        text = table.to_pandas().to_csv(index=False, sep=separator, na_rep="NaN")
        opened = gzip.open if name.endswith(".gz") else open
        with opened(tmp_path / name, "wt") as file:
            file.write(text)
    source = open_source(tmp_path / name)
    out = tmp_path / goal
    request = asked(Layout("bpm", "person"), threshold=60.0, plan=PLAN, missing="keep")
    certificate = release_table(
        source, file_sink(str(out), source, None, False), request, seeded(3)
    )
    wanted = list(range(0, ROWS, EVERY))
    released = pa.Table.from_batches(open_source(out).batches())
    assert missing_rows(released["bpm"].to_pylist()) == wanted
    assert certificate["release.gaps"] == len(wanted)
    assert cv.verify(certificate_path(out), out).holds
    assert released["person"].to_pylist() == flat()["person"].to_pylist()
    # The noise is drawn beneath: the points that are there have the noise of the whole series.
    values = np.array(table["bpm"].to_pylist(), np.float64)
    for person in ("p0", "p5"):
        here = np.array(flat()["person"].to_pylist()) == person
        states = np.where(np.isnan(values), np.nan, values >= 60)[here]
        alone = PLAN.sanitize(states, rng=seeded(3).at(series=series_number(person)),
                              missing="keep")  # fmt: skip
        found = [released["bpm"][int(i)].as_py() for i in np.flatnonzero(here)]
        for a, b in zip(alone, found, strict=True):
            assert (b is None or b in ("", "NaN")) if np.isnan(a) else int(b) == a


FRAMES: dict[str, Any] = {
    "pandas": lambda t: t.to_pandas(),
    "pandas nullable": lambda t: t.to_pandas(types_mapper={pa.float64(): pd.Float64Dtype()}.get),
    "polars": pl.from_arrow,
    "polars NaN": lambda t: pl.from_arrow(t).with_columns(pl.col("bpm").fill_null(float("nan"))),  # type: ignore[union-attr]
    "pyarrow": lambda t: t,
    "duckdb": duckdb.from_arrow,
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("labels", [None, ["low", "high"], [False, True], [40.5, 80.5]])
def test_gaps_stay_in_every_kind_of_frame(kind: str, labels: Any) -> None:
    table = holes(flat())
    done = cv.sanitize_table(
        FRAMES[kind](table), "bpm", 2.0, threshold=60, labels=labels, chain=CHAIN, missing="keep"
    )
    assert done.certificate["release.gaps"] == len(range(0, ROWS, EVERY))
    assert cv.verify(done.certificate, done.table).holds
    column = FrameSource(done.table).frame.get_column("bpm").to_arrow().to_pylist()
    empty = [i for i, value in enumerate(column) if value is None or value != value]
    assert empty == list(range(0, ROWS, EVERY))


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "b", "a"]),
        pa.array(["a", "", " b", "NA"]),
        pa.array(["a", None, "b", "a"]).dictionary_encode(),
        pa.array(["a", None, "b", "a"], pa.large_string()),
    ],
)
def test_states_with_gaps_keep_the_type_of_the_column(column: pa.Array) -> None:
    reader = make_discretizer(states=["a", "b"]).keeping("keep")
    codes = reader.codes(column, "x")
    assert codes[:3].tolist() == [0, GAP, 1]
    values = reader.values(codes, column.type)
    assert values.type == column.type
    assert values.to_pylist()[:3] == ["a", None, "b"]
    for kind, texts in ((pa.int8(), [1, 2]), (pa.bool_(), [False, True]), (pa.float32(), [1, 2])):
        numbers = make_discretizer(states=texts).keeping("keep")
        held = pa.array([texts[1], None], kind)
        assert numbers.codes(held, "x").tolist() == [1, GAP]
        assert numbers.values(numbers.codes(held, "x"), kind).equals(held)


def test_gaps_are_an_error_unless_asked_for() -> None:
    table = holes(flat())
    ways: list[Any] = [{}, {"missing": "error"}]
    for missing in ways:
        with pytest.raises(cv.InvalidInput, match=r"missing value.*row 1 .*keep"):
            cv.sanitize_table(table, "bpm", 1.0, threshold=60, chain=CHAIN, **missing)
    with pytest.raises(cv.InvalidInput, match="missing"):
        cv.sanitize_table(table, "bpm", 1.0, threshold=60, chain=CHAIN, missing="drop")  # type: ignore[arg-type]
    endless = pa.table({"x": [1.0, float("inf"), None]})
    with pytest.raises(cv.InvalidInput, match=r"infinite.*row 2"):
        cv.sanitize_table(endless, "x", 1.0, threshold=60, chain=CHAIN, missing="keep")
    with pytest.raises(cv.InvalidInput, match="NaN"):
        make_discretizer(threshold=1.0, labels=["NaN", "high"]).keeping("keep")
    with pytest.raises(cv.NotSupported, match="256"):
        make_discretizer(states=list(range(256))).keeping("keep")


def test_a_gap_more_or_less_is_found() -> None:
    table = pa.table({"x": [0, 1, None, 1, 0, 0]})
    done = cv.sanitize_table(table, "x", 2.0, chain=CHAIN, missing="keep")
    assert cv.verify(done.certificate, done.table).holds
    values = done.table["x"].to_pylist()
    for place, value in ((2, 0), (3, None)):
        changed = [*values[:place], value, *values[place + 1 :]]
        result = cv.verify(done.certificate, pa.table({"x": pa.array(changed, pa.int64())}))
        assert {"release.gaps", "release.states_sha256"} <= {c.field for c in result.failures}
    whole = cv.sanitize_table(pa.table({"x": [0, 1, 1]}), "x", 2.0, chain=CHAIN)
    assert not cv.verify(whole.certificate, pa.table({"x": [0, 1, None]})).holds


def test_the_mean_is_that_of_the_values_there_are() -> None:
    table = pa.table({"x": [1.0, None, 2.0, float("nan"), 6.0]})
    for which, limit in (("mean", 3.0), ("median", 2.0)):
        how: Any = {"threshold": which, "chain": CHAIN, "missing": "keep"}
        done = cv.sanitize_table(table, "x", 2.0, **how)
        assert done.certificate["discretization.edges"] == [limit]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([0, 1, 2, GAP])), min_size=1),
    st.integers(1, 9),
)
def test_no_pair_or_context_reaches_across_a_gap(rows: list[tuple[str, int]], size: int) -> None:
    tracker = Tracker("series", None, 3, orders=(2, 4), gaps=True)
    for begin in range(0, len(rows), size):
        names, codes = zip(*rows[begin : begin + size], strict=True)
        columns = Columns(pa.array(names), None, np.array(codes, np.uint8))
        tracker.update(columns, len(names))
    wanted = np.zeros((3, 3), np.int64)
    for key in "ab":
        states = [code for name, code in rows if name == key]
        for a, b in pairwise(states):
            if GAP not in (a, b):
                wanted[a, b] += 1
    assert tracker.counts is not None
    assert np.array_equal(tracker.counts, wanted)
    for order in (2, 4):
        contexts = np.zeros((3**order, 3), np.int64)
        for key in "ab":
            states = [code for name, code in rows if name == key]
            for t in range(order, len(states)):
                window = states[t - order : t + 1]
                if GAP not in window:
                    contexts[int("".join(map(str, window[:-1])), 3), window[-1]] += 1
        assert np.array_equal(tracker.contexts[order], contexts)


def test_a_fit_does_not_see_gaps() -> None:
    states = [0, 1, None, 1, 1, 0, None, None, 0, 0, 1, 0]
    found = fit_table(
        FrameSource(pa.table({"x": states})),
        Layout("x"),
        StateRules(states=[0, 1], missing="keep"),
    )
    assert found.chain.counts is not None
    assert found.chain.counts.tolist() == [[1, 2], [2, 1]]
    assert found.rows == 12
