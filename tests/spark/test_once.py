"""A release is drawn once: evaluated twice, failed and retried, there is one set of noise."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil import spark
from chainveil.spark import sink as releasing
from chainveil.spark.part import WritePart
from chainveil.spark.table import mapped
from tests.spark.tables import folder_table, two_states

ROWS, PARTITIONS = 2_000, 2


def constant(session: Any, partitions: int = PARTITIONS) -> Any:
    """In every partition rows 0 … 1,999 in state 0; ``id`` tells all of them apart."""
    rows = session.range(0, ROWS * partitions, 1, partitions)
    return rows.selectExpr("id", f"id % {ROWS} as n", "0L as x")


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_was_written_is_what_is_read_however_often(spark_session: Any, tmp_path: Path) -> None:
    done = spark.sanitize(
        constant(spark_session), two_states(), column="x", path=tmp_path / "r.parquet",
        keep=["id"],
    )  # fmt: skip
    written = folder_table(tmp_path / "r.parquet").sort_by("id")
    for _ in range(2):
        spark_session.catalog.clearCache()
        assert done.table.toArrow().sort_by("id")["x"].to_pylist() == written["x"].to_pylist()
    assert _names(tmp_path) == ["r.certificate.json", "r.parquet"]
    # The plan of what comes back reads files; no task of ours is in it.
    plan = done.table._jdf.queryExecution().toString()
    assert "FileScan parquet" in plan
    assert "MapInArrow" not in plan


def test_no_two_tasks_share_their_noise(spark_session: Any, tmp_path: Path) -> None:
    """Equal rows in 8 tasks; two equal results have a chance below 2^-1000."""
    frame = constant(spark_session, 8)
    spark.sanitize(frame, two_states(), column="x", path=tmp_path / "r.parquet", keep=["n"])
    parts = [pq.read_table(path) for path in sorted((tmp_path / "r.parquet").iterdir())]
    assert [part["n"].to_pylist() for part in parts] == [list(range(ROWS))] * 8
    columns = {tuple(part["x"].to_pylist()) for part in parts}
    assert len(columns) == 8


def test_a_task_that_fails_half_way_leaves_nothing(spark_session: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()

    def fails_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        yield next(batches)
        (log / f"{context.partitionId()}-{context.attemptNumber()}").touch()
        if (context.partitionId(), context.attemptNumber()) == (1, 0):
            raise RuntimeError("half of the rows were handed on")
        yield from batches

    frame = constant(spark_session)
    path = tmp_path / "r.parquet"
    done = spark.sanitize(mapped(frame, fails_once, frame.schema), two_states(), column="x",
                          path=path)  # fmt: skip
    assert _names(log) == ["0-0", "1-0", "1-1"]
    assert folder_table(path).num_rows == ROWS * PARTITIONS
    assert len(_names(path)) == PARTITIONS
    assert cv.verify(done.certificate, path).holds
    assert _names(tmp_path) == ["log", "r.certificate.json", "r.parquet"]


def test_a_task_that_fails_after_its_file_is_complete(
    spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt's file is whole and has other noise; the second one's is released."""
    kept = tmp_path / "kept"
    kept.mkdir()

    class FailsLate(WritePart):
        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            context: Any = TaskContext.get()
            (told,) = list(WritePart.__call__(self, batches))
            (file,) = told["file"].to_pylist()
            name = f"{context.partitionId()}-{context.attemptNumber()}"
            shutil.copy(Path(self.folder) / file, kept / name)
            if name == "1-0":
                raise RuntimeError("the file was complete, and nobody was told")
            yield told

    monkeypatch.setattr(releasing, "WritePart", FailsLate)
    path = tmp_path / "r.parquet"
    frame = constant(spark_session)
    done = spark.sanitize(frame, two_states(), column="x", path=path, keep=["id"])
    assert _names(kept) == ["0-0", "1-0", "1-1"]
    for name, part in (("0-0", "part-00000"), ("1-1", "part-00001")):
        assert (path / f"{part}.parquet").read_bytes() == (kept / name).read_bytes()
    first, second = (pq.read_table(kept / name) for name in ("1-0", "1-1"))
    assert first["id"].equals(second["id"])
    assert not first["x"].equals(second["x"])
    assert len(_names(path)) == PARTITIONS
    assert cv.verify(done.certificate, path).holds
    assert _names(tmp_path) == ["kept", "r.certificate.json", "r.parquet"]


def test_a_job_that_fails_for_good_leaves_nothing(spark_session: Any, tmp_path: Path) -> None:
    def fails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield next(batches)
        raise RuntimeError("the disk is on fire")

    frame = constant(spark_session)
    with pytest.raises(cv.ChainveilError, match="Spark stopped: RuntimeError") as caught:
        spark.sanitize(mapped(frame, fails, frame.schema), two_states(), column="x",
                       path=tmp_path / "r.parquet")  # fmt: skip
    assert "\n" not in str(caught.value)
    # What the error says may be about the rows.
    assert "fire" not in str(caught.value)
    assert _names(tmp_path) == []


def test_a_part_that_only_a_worker_sees_is_noticed(
    spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    class OnAnotherDisk(WritePart):
        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            object.__setattr__(self, "folder", str(elsewhere))
            yield from WritePart.__call__(self, batches)

    monkeypatch.setattr(releasing, "WritePart", OnAnotherDisk)
    with pytest.raises(cv.InvalidInput, match="all workers share"):
        spark.sanitize(constant(spark_session), two_states(), column="x",
                       path=tmp_path / "r.parquet")  # fmt: skip
    assert _names(tmp_path) == ["elsewhere"]
