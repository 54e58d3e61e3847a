"""Other columns on Spark: named, tested, and without the notes they came with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil import spark
from chainveil.spark.part import SPARK_TYPES
from tests.spark.tables import folder_table, frame_of, long_table, shuffled, two_states
from tests.table.planted import beats, planted

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")

STATES: dict[str, Any] = {"column": "x", "series": "series", "states": [0, 1]}


def test_a_release_holds_what_is_named(spark_session: Any, tmp_path: Path) -> None:
    table = long_table()
    frame = frame_of(spark_session, shuffled(table))
    how: dict[str, Any] = {"column": "bpm", "series": "person", "threshold": 60, "time": "minute"}
    bare = spark.sanitize(frame, two_states(), path=tmp_path / "bare.parquet", **how)
    assert bare.table.columns == ["person", "bpm"]
    gaps: dict[str, Any] = {"step": 1, "max_gap": 1, "time_as": "index"}
    there = spark.sanitize(frame, two_states(), path=tmp_path / "at.parquet", **how, **gaps)
    here = cv.sanitize_table(table, plan=two_states(), **how, **gaps)
    keys = [("person", "ascending"), ("minute", "ascending")]
    found = folder_table(tmp_path / "at.parquet").sort_by(keys)
    assert found["minute"].equals(here.table.sort_by(keys)["minute"])
    assert there.certificate["release.time"] == "positions"
    assert cv.verify(there.certificate, there.path).holds
    rough = spark.sanitize(frame, two_states(), path=tmp_path / "b.parquet", time_as=10, **how)
    minutes = rough.table.toArrow()["minute"].to_pylist()
    assert sorted(minutes) == sorted(m // 10 * 10 for m in table["minute"].to_pylist())


@pytest.mark.parametrize("leak", ["copy", "noisy", "beats"])
def test_columns_that_tell_are_refused(leak: str, spark_session: Any, tmp_path: Path) -> None:
    table = beats(planted(1, series=3, points=800))
    frame = frame_of(spark_session, shuffled(table))
    how: dict[str, Any] = {**STATES, "time": "clock", "path": tmp_path / "r.parquet"}
    with pytest.raises(cv.InvalidInput, match=f"keep: found .*'{leak}'.*right about"):
        spark.sanitize(frame, two_states(), keep=[leak], **how)
    with pytest.raises(cv.InvalidInput, match=f"keep: found .*'{leak}'.*right about"):
        spark.sanitize(frame, two_states(), keep=[leak], **{**how, "time": None})
    assert list(tmp_path.iterdir()) == []
    done = spark.sanitize(frame, two_states(), keep=[leak, "random"], allow_leak=[leak], **how)
    assert done.certificate["release.allowed_leaks"] == [leak]
    assert done.certificate["release.kept"] == ["random", leak]


def test_notes_on_columns_stay_behind(spark_session: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions, types

    secret = {"ml_attr": {"vals": ["SECRET72"]}}
    inner = types.StructType([types.StructField("a", types.LongType(), True, secret)])
    frame = frame_of(spark_session, long_table())
    frame = frame.select(
        functions.col("person").alias("person", metadata=secret),
        functions.col("bpm").alias("bpm", metadata=secret),
        functions.struct(functions.col("minute").alias("a")).cast(inner).alias("s"),
    )
    done = spark.sanitize(
        frame, two_states(), column="bpm", series="person", threshold=60, keep=["s"],
        allow_leak=["s"], path=tmp_path / "r.parquet",
    )  # fmt: skip
    for part in done.path.iterdir():
        assert b"SECRET72" not in part.read_bytes()
        stored = json.loads(pq.read_schema(part).metadata[SPARK_TYPES.encode()])
        assert [field["name"] for field in stored["fields"]] == ["person", "bpm", "s"]
    assert done.table.schema["bpm"].metadata == {}


def test_a_release_of_spark_s_own_file_can_be_read_by_spark(
    spark_session: Any, tmp_path: Path
) -> None:
    """Spark leaves a schema of its own in the file, which would no longer be true."""
    from chainveil.cli import run

    frame = frame_of(spark_session, long_table(), 1)
    frame.write.parquet(str(tmp_path / "t"))
    part = next((tmp_path / "t").glob("*.parquet"))
    assert SPARK_TYPES.encode() in pq.read_schema(part).metadata
    goal = tmp_path / "r.parquet"
    how = ["--column", "bpm", "--threshold", "60", "--q", "0.1", "--r", "0.1", "--epsilon", "1"]
    assert run(["sanitize", str(part), *how, "--keep", "person", "-o", str(goal)]) == 0
    assert pq.read_schema(goal).metadata is None
    read = spark_session.read.parquet(str(goal))
    assert {row["bpm"] for row in read.collect()} == {0, 1}
    assert read.columns == ["person", "bpm"]


def test_a_stream_keeps_and_refuses(spark_session: Any, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    table = planted(2, series=2, points=900)
    pq.write_table(table, source / "0.parquet")
    schema = spark_session.read.parquet(str(source)).schema
    frame = spark_session.readStream.schema(schema).parquet(str(source))

    def ask(path: Path, **how: Any) -> None:
        spark.sanitize_stream(
            frame, two_states(), path=path, trigger={"availableNow": True}, **STATES, **how
        ).awaitTermination()

    ask(tmp_path / "kept", time="clock", time_as=100, keep=["random"])
    found = folder_table(tmp_path / "kept" / "batch-0000000000.parquet")
    assert set(found.column_names) == {"series", "x", "clock", "random"}
    assert set(np.unique(found["clock"].to_numpy()) % 100) == {0}
    with pytest.raises(Exception, match="columns that say nothing about the states"):
        ask(tmp_path / "refused", keep=["copy"])
    assert not list((tmp_path / "refused").glob("batch-*"))
    with pytest.raises(cv.NotSupported, match="positions"):
        ask(tmp_path / "positions", time="clock", time_as="index")
