"""One release, whoever makes it: Spark and a single machine agree row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import chainveil as cv
from chainveil import spark
from chainveil.mechanism import seeded
from chainveil.table.read.frames import FrameSource
from chainveil.table.request.request import Layout, StateRules
from chainveil.table.states.fitting import fit_table
from tests.spark.tables import (
    correlated,
    folder_table,
    frame_of,
    in_order,
    long_table,
    remembering,
    shuffled,
    two_states,
)
from tests.table.samples import KEEP_AWKWARD, awkward
from tests.table.test_memory_many_states import long_plan


@pytest.mark.parametrize(
    "partitions",
    [pytest.param(1, marks=pytest.mark.slow), 7, pytest.param(64, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("mechanism", ["independent", "correlated"])
def test_a_seeded_release_is_the_same_for_any_partitioning(
    mechanism: str, partitions: int, spark_session: Any, tmp_path: Path
) -> None:
    table = long_table()
    plan = two_states() if mechanism == "independent" else correlated()
    how: dict[str, Any] = {
        "series": "person", "time": "minute", "step": 1, "max_gap": 1, "threshold": 60,
        "labels": ["low", "high"], "rng": seeded(11), "keep_time": True,
    }  # fmt: skip
    here = cv.sanitize_table(table, "bpm", plan=plan, **how)
    frame = frame_of(spark_session, shuffled(table, partitions), partitions)
    shuffle = "spark.sql.shuffle.partitions"
    before = spark_session.conf.get(shuffle)
    spark_session.conf.set(shuffle, partitions)
    try:
        there = spark.sanitize(frame, plan, column="bpm", path=tmp_path / "r.parquet", **how)
    finally:
        spark_session.conf.set(shuffle, before)
    assert in_order(folder_table(tmp_path / "r.parquet")).equals(in_order(here.table))
    assert in_order(there.table.toArrow()).equals(in_order(here.table))
    assert there.certificate["release.parts"] == len(list((tmp_path / "r.parquet").iterdir()))
    assert cv.verify(there.certificate, tmp_path / "r.parquet").holds
    assert here.certificate["release.splits"] > 20
    same = ("release.splits", "release.rows", "release.series", "release.gaps")
    for path in ("promise", "chain", "noise", "loss", "discretization", "randomness", *same):
        assert there.certificate[path] == here.certificate[path]


@pytest.mark.parametrize(
    "kind", ["sticky", "rare", pytest.param("tracking", marks=pytest.mark.slow)]
)
def test_noise_that_remembers_and_rare_reports_are_the_same_on_spark(
    kind: str, spark_session: Any, tmp_path: Path
) -> None:
    table, plan = long_table(), remembering(kind)
    how: dict[str, Any] = {
        "series": "person", "time": "minute", "step": 1, "max_gap": 1, "threshold": 60,
        "labels": ["low", "high"], "rng": seeded(11), "keep_time": True,
    }  # fmt: skip
    here = cv.sanitize_table(table, "bpm", plan=plan, **how)
    frame = frame_of(spark_session, shuffled(table), 5)
    there = spark.sanitize(frame, plan, column="bpm", path=tmp_path / "r.parquet", **how)
    found = in_order(folder_table(tmp_path / "r.parquet"))
    assert found.equals(in_order(here.table))
    assert cv.verify(there.certificate, tmp_path / "r.parquet").holds
    for name in ("rows", "points", "series", "gaps", "splits"):
        assert there.certificate[f"release.{name}"] == here.certificate[f"release.{name}"]


@pytest.mark.parametrize("kind", ["sticky", "sticky, rare"])
def test_noise_that_remembers_is_the_same_on_spark_for_four_states(
    kind: str, spark_session: Any, tmp_path: Path
) -> None:
    table, plan = long_table(), long_plan(kind)
    how: dict[str, Any] = {
        "series": "person", "time": "minute", "step": 1, "max_gap": 1, "threshold": [57, 60, 63],
        "labels": list("abcd"), "rng": seeded(11), "keep_time": True,
    }  # fmt: skip
    here = cv.sanitize_table(table, "bpm", plan=plan, **how)
    frame = frame_of(spark_session, shuffled(table), 5)
    spark.sanitize(frame, plan, column="bpm", path=tmp_path / "r.parquet", **how)
    assert in_order(folder_table(tmp_path / "r.parquet")).equals(in_order(here.table))


def test_without_a_time_the_usual_noise_needs_no_order(spark_session: Any, tmp_path: Path) -> None:
    frame = frame_of(spark_session, long_table(series=2))
    how: dict[str, Any] = {"column": "bpm", "epsilon": 2.0, "threshold": 60, "series": "person"}
    chain = cv.MarkovChain.binary(0.1, 0.2)
    free = spark.sanitize(frame, path=tmp_path / "a.parquet", chain=chain, **how)
    timed = spark.sanitize(frame, path=tmp_path / "b.parquet", chain=chain, time="minute", **how)
    kinds = [made.certificate["noise.mechanism"] for made in (free, timed)]
    assert kinds == ["independent", "sticky"]


@pytest.mark.filterwarnings("ignore:60 rows are too few to test")
def test_more_states_and_no_series_column(spark_session: Any, tmp_path: Path) -> None:
    table = long_table(series=1).drop_columns("person")
    chain = cv.MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    plan = cv.calibrate(chain, 3.0)
    how: dict[str, Any] = {
        "time": "minute", "threshold": [55, 65], "rng": seeded(5), "keep_time": True,
    }  # fmt: skip
    here = cv.sanitize_table(table, "bpm", plan=plan, **how).table
    frame = frame_of(spark_session, shuffled(table))
    path = tmp_path / "r.parquet"
    spark.sanitize(frame, plan, column="bpm", path=path, **how)
    found = folder_table(path).sort_by("minute")
    assert found["bpm"].to_pylist() == here["bpm"].to_pylist()


@pytest.mark.parametrize("mechanism", ["independent", "correlated"])
def test_gaps_that_are_kept(mechanism: str, spark_session: Any, tmp_path: Path) -> None:
    table = long_table(series=3)
    values = [None if i % 7 == 3 else v for i, v in enumerate(table["bpm"].to_pylist())]
    table = table.set_column(2, "bpm", pa.array(values))
    plan = two_states() if mechanism == "independent" else correlated()
    how: dict[str, Any] = {
        "series": "person", "time": "minute", "threshold": 60, "missing": "keep",
        "keep_time": True,
    }  # fmt: skip
    here = cv.sanitize_table(table, "bpm", plan=plan, **how, rng=seeded(2))
    frame, path = frame_of(spark_session, shuffled(table)), tmp_path / "r.parquet"
    there = spark.sanitize(frame, plan, column="bpm", path=path, **how, rng=seeded(2))
    found = in_order(folder_table(path))["bpm"].to_pylist()
    assert found == in_order(here.table)["bpm"].to_pylist()
    assert there.certificate["release.gaps"] == here.certificate["release.gaps"] > 0
    assert cv.verify(there.certificate, path).holds
    for limit in (60, "median"):
        fitted = spark.fit(frame, "person", "minute", "bpm", threshold=limit, missing="keep")
        single = fit_table(
            FrameSource(table),
            Layout("bpm", "person", "minute"),
            StateRules(threshold=limit, missing="keep"),
        )
        assert fitted.facts == single.facts


def test_named_columns_pass_through_untouched(spark_session: Any, tmp_path: Path) -> None:
    table = awkward().set_column(5, "kind", awkward()["kind"].cast("string"))
    frame = frame_of(spark_session, table)
    done = spark.sanitize(
        frame, two_states(), column="bpm", series="person", threshold=60, labels=["low", "high"],
        path=tmp_path / "r.parquet", keep=KEEP_AWKWARD.columns, allow_leak=["nested"],
    )  # fmt: skip
    keys = [("person", "ascending"), ("time", "ascending")]
    others = [name for name in table.column_names if name != "bpm"]
    before, after = (held.toArrow().sort_by(keys) for held in (frame, done.table))
    assert after.column_names == before.column_names
    assert after.select(others).equals(before.select(others))
    types = {field.name: field.dataType for field in frame.schema}
    assert {field.name: field.dataType for field in done.table.schema} == {
        **types, "bpm": type(types["person"])(),
    }  # fmt: skip
    assert set(after["bpm"].to_pylist()) == {"low", "high"}


def test_a_column_of_states_keeps_its_type(spark_session: Any, tmp_path: Path) -> None:
    table = awkward().select(["person", "flag"])
    frame = frame_of(spark_session, table)
    done = spark.sanitize(frame, two_states(), column="flag", path=tmp_path / "r.parquet")
    assert done.table.schema == frame.select("flag").schema
    assert cv.verify(done.certificate, done.path).holds


@pytest.mark.slow
@pytest.mark.parametrize("order", [2, "auto"])
def test_a_chain_of_a_higher_order_that_is_fitted(
    order: Any, spark_session: Any, tmp_path: Path
) -> None:
    """The same counts, so the same rounded chain, plan and noise."""
    chain = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], order=2)
    x = chain.sample(4, 900, rng=3)
    rows = range(x.size)
    table = pa.table({
        "person": [f"p{row // 4}" for row in rows], "minute": [row % 4 for row in rows],
        "x": x.reshape(-1).astype("int64"),
    })  # fmt: skip
    how: dict[str, Any] = {
        "series": "person", "time": "minute", "states": [0, 1], "max_length": 4, "order": order,
        "epsilon": 2.0, "rng": seeded(4), "time_as": "index",
    }  # fmt: skip
    here = cv.sanitize_table(table, "x", **how)
    frame = frame_of(spark_session, shuffled(table), 3)
    there = spark.sanitize(frame, column="x", path=tmp_path / "out.parquet", **how)
    for part in ("chain", "noise", "loss"):
        assert there.certificate[part] == here.certificate[part]
    assert there.certificate.plan().chain.order == 2
    found = folder_table(tmp_path / "out.parquet")
    assert in_order(found).equals(in_order(here.table).cast(found.schema))
