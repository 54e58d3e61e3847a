"""Bad input on Spark: the error of one machine, nothing written, no job where none is needed."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import chainveil as cv
from chainveil import spark
from chainveil.mechanism import seeded
from tests.spark.tables import correlated, frame_of, long_table, two_states

# How one machine and Spark say where: by number, by series.
HERE = re.compile(r"row \d+( \(rows counted from 1, without a header\))?")
THERE = re.compile(r"a row of series '[^']*'|one of its rows")


def _all(name: str, value: Any) -> pa.Table:
    """A table with one value in every row of a column."""
    table = long_table(series=2, points=6)
    column = pa.array([value] * table.num_rows)
    return table.set_column(table.column_names.index(name), name, column)


def _with(name: str, values: list[Any], kind: Any = None) -> pa.Table:
    table = long_table(series=2, points=6)
    column = pa.array(values + table[name].to_pylist()[len(values) :], kind)
    return table.set_column(table.column_names.index(name), name, column)


def _jobs(session: Any) -> int:
    """Jobs that had something to do."""
    tracker = session.sparkContext.statusTracker()
    found = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(None)]
    return sum(bool(job and job.stageIds) for job in found)


# Found from the columns alone: no job may start.
AT_ONCE: dict[str, tuple[pa.Table, dict[str, Any]]] = {
    "a column that does not exist": (long_table(), {"column": "bmp"}),
    "a series that does not exist": (long_table(), {"series": "persn"}),
    "a column of the wrong type": (_all("bpm", dt.date(2026, 1, 1)), {}),
    "a time of the wrong type": (_all("minute", True), {"time": "minute"}),
    "too many states": (long_table(), {"threshold": [50, 60]}),
    "one column for two things": (long_table(), {"series": "bpm"}),
    "no limit between states": (long_table(), {"threshold": None}),
}

# Found in the rows.
IN_ROWS: dict[str, tuple[pa.Table, dict[str, Any]]] = {
    "a missing value": (_with("bpm", [1.0, None]), {}),
    "an unknown state": (_all("bpm", "lo"), {"threshold": None, "states": ["low", "high"]}),
    "no series": (_with("person", ["p0", None]), {}),
    "no time": (_with("minute", [1, None]), {"time": "minute"}),
    "the same time twice": (_with("minute", [3, 3]), {"time": "minute"}),
    "an irregular step": (_with("minute", [1, 2, 5, 6, 7, 8]),
                          {"time": "minute", "step": 1}),
    "a series that is too long": (long_table(), {"plan": "short"}),
    "no rows": (long_table().slice(0, 0), {}),
}  # fmt: skip


def _both(
    session: Any, table: pa.Table, how: dict[str, Any], path: Path
) -> tuple[cv.InvalidInput, cv.InvalidInput]:
    how = {"column": "bpm", "series": "person", "threshold": 60, **how}
    plan = two_states()
    if how.pop("plan", None) == "short":
        plan = cv.calibrate(cv.MarkovChain.binary(0.1, 0.2), 1.0, max_length=50)
    frame = frame_of(session, table, 1)
    with pytest.raises(cv.InvalidInput) as here:
        cv.sanitize_table(table, plan=plan, **how)
    before = _jobs(session)
    with pytest.raises(cv.InvalidInput) as there:
        spark.sanitize(frame, plan, path=path / "r.parquet", **how)
    there.value.args = (*there.value.args, _jobs(session) - before)
    assert list(path.iterdir()) == []
    return here.value, there.value


@pytest.mark.parametrize("name", list(AT_ONCE))
def test_what_the_columns_tell(name: str, spark_session: Any, tmp_path: Path) -> None:
    here, there = _both(spark_session, *AT_ONCE[name], tmp_path)
    assert there.args == (str(here), 0)


@pytest.mark.parametrize("name", list(IN_ROWS))
def test_what_the_rows_tell(name: str, spark_session: Any, tmp_path: Path) -> None:
    here, there = _both(spark_session, *IN_ROWS[name], tmp_path)
    assert THERE.sub("HERE", there.args[0]) == HERE.sub("HERE", str(here))
    assert ("HERE" in HERE.sub("HERE", str(here))) == ("row" in there.args[0].split("rows")[0])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rng": seeded(1)}, "no order of their own"),
        ({"plan": "correlated"}, "no order of their own"),
        ({"plan": "correlated", "time": "minute", "max_gap": 2}, "step: found None"),
        ({"path": "hdfs://store/r.parquet"}, "share under one path"),
        ({"path": "none/r.parquet"}, "a folder that exists"),
        ({"certificate": "r.parquet/c.json"}, "beside the release"),
        ({"column": "bpm", "epsilon": 2.0}, "that of the plan"),
    ],
)
def test_what_only_spark_asks(
    how: dict[str, Any], message: str, spark_session: Any, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"column": "bpm", "series": "person", "threshold": 60,
                             "path": "r.parquet", **how}  # fmt: skip
    plan = correlated() if given.pop("plan", None) else two_states()
    with pytest.raises(cv.InvalidInput, match=message):
        spark.sanitize(frame_of(spark_session, long_table(), 1), plan, **given)
    assert list(tmp_path.iterdir()) == []


def test_text_is_no_order(spark_session: Any, tmp_path: Path) -> None:
    table = long_table()
    table = table.set_column(1, "minute", table["minute"].cast(pa.string()))
    with pytest.raises(cv.InvalidInput, match="cast the column first"):
        spark.fit(frame_of(spark_session, table, 1), "person", "minute", "bpm", threshold=60)


def test_batches_without_a_limit_are_refused(spark_session: Any) -> None:
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    frame, before = frame_of(spark_session, long_table(), 1), spark_session.conf.get(name)
    spark_session.conf.set(name, 0)
    try:
        with pytest.raises(cv.InvalidInput, match="held in memory"):
            spark.fit(frame, "person", "minute", "bpm", threshold=60)
    finally:
        spark_session.conf.set(name, before)


def test_nothing_is_overwritten_unless_asked_for(spark_session: Any, tmp_path: Path) -> None:
    frame, path = frame_of(spark_session, long_table(), 1), tmp_path / "r.parquet"
    how: dict[str, Any] = {"column": "bpm", "threshold": 60, "path": path}
    spark.sanitize(frame, two_states(), **how)
    before = {file: file.read_bytes() for file in path.iterdir()}
    with pytest.raises(cv.InvalidInput, match="which exists"):
        spark.sanitize(frame, two_states(), **how)
    assert {file: file.read_bytes() for file in path.iterdir()} == before
    # Its own release is a table too, but not one to write over while it is read.
    again = spark_session.read.parquet(str(path))
    with pytest.raises(cv.InvalidInput, match="the table itself"):
        spark.sanitize(again, two_states(), column="bpm", path=path, force=True)
    done = spark.sanitize(frame, two_states(), **how, force=True)
    assert {file: file.read_bytes() for file in path.iterdir()} != before
    assert cv.verify(done.certificate, path).holds
    (path / "notes.txt").write_text("mine")
    with pytest.raises(cv.InvalidInput, match="other things"):
        spark.sanitize(frame, two_states(), **how, force=True)
    assert (path / "notes.txt").read_text() == "mine"
    assert sorted(tmp_path.iterdir()) == [tmp_path / "r.certificate.json", path]
