"""A stream: each micro-batch is released once, also when Spark runs it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil import spark
from chainveil.mechanism import seeded
from chainveil.spark.table import mapped
from tests.spark.tables import correlated, folder_table, long_table, two_states

# Spark's own gateway for callbacks leaves a socket to the collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket.socket:ResourceWarning")

TYPES = "person string, minute long, bpm double"


def _source(session: Any, folder: Path) -> Any:
    return session.readStream.schema(TYPES).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _arrives(folder: Path, number: int) -> int:
    table = long_table(seed=number, series=3, points=40)
    pq.write_table(table, folder / f"{number}.parquet")
    return int(table.num_rows)


def _run(frame: Any, path: Path, **how: Any) -> None:
    query = spark.sanitize_stream(
        frame, two_states(), column="bpm", series="person", threshold=60, path=path,
        trigger={"availableNow": True}, **how,
    )  # fmt: skip
    query.awaitTermination()


def _batches(path: Path) -> dict[str, bytes]:
    """Every released file by its place."""
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.glob("batch-*/*.parquet"))
    }


def _check(path: Path, rows: int) -> None:
    folders = sorted(path.glob("batch-*.parquet"))
    assert sum(folder_table(folder).num_rows for folder in folders) == rows
    for folder in folders:
        certificate = folder.with_name(folder.stem + ".certificate.json")
        assert cv.verify(certificate, folder).holds
    left = {entry.name for entry in path.iterdir()} - {folder.name for folder in folders}
    assert left == {f"{folder.stem}.certificate.json" for folder in folders} | {"_checkpoint"}


def test_batches_are_released_once(spark_session: Any, tmp_path: Path) -> None:
    source, path = tmp_path / "source", tmp_path / "released"
    source.mkdir()
    rows = _arrives(source, 0) + _arrives(source, 1)
    _run(_source(spark_session, source), path)
    _check(path, rows)
    first = _batches(path)
    assert {name.split("/")[0] for name in first} == {
        "batch-0000000000.parquet", "batch-0000000001.parquet",
    }  # fmt: skip
    # Spark forgets that the last batch was done, as after a crash: it is run again.
    for mark in (path / "_checkpoint" / "commits").glob("*1*"):
        mark.unlink()
    rows += _arrives(source, 2)
    _run(_source(spark_session, source), path)
    _check(path, rows)
    assert first.items() <= _batches(path).items()
    assert len({name.split("/")[0] for name in _batches(path)}) == 3


@pytest.mark.slow
def test_a_batch_that_fails_is_drawn_anew_and_seen_once(spark_session: Any, tmp_path: Path) -> None:
    source, path, fault = tmp_path / "source", tmp_path / "released", tmp_path / "fault"
    source.mkdir()
    fault.touch()
    rows = _arrives(source, 0)

    def fails_while_there_is_a_fault(batches: Any) -> Any:
        for batch in batches:
            yield batch
            if fault.exists():
                raise RuntimeError("rows were handed on, and then this")

    frame = _source(spark_session, source)
    broken = mapped(frame, fails_while_there_is_a_fault, frame.schema)
    with pytest.raises(Exception, match="Spark stopped: RuntimeError"):
        _run(broken, path)
    assert {entry.name for entry in path.iterdir()} == {"_checkpoint"}
    fault.unlink()
    _run(broken, path)
    _check(path, rows)


def test_what_a_stream_cannot_promise(spark_session: Any, tmp_path: Path) -> None:
    source, path = tmp_path / "source", tmp_path / "released"
    source.mkdir()
    _arrives(source, 0)
    frame = _source(spark_session, source)
    how: dict[str, Any] = {"column": "bpm", "threshold": 60, "path": path}
    with pytest.raises(cv.NotSupported, match="secure independent"):
        spark.sanitize_stream(frame, correlated(), **how)
    with pytest.raises(cv.NotSupported, match="secure independent"):
        spark.sanitize_stream(frame, two_states(), **how, rng=seeded(1))
    short = cv.calibrate(cv.MarkovChain.binary(0.1, 0.2), 1.0, max_length=50)
    with pytest.raises(cv.InvalidInput, match="no last point"):
        spark.sanitize_stream(frame, short, **how)
    with pytest.raises(cv.InvalidInput, match="Did you mean 'bpm'"):
        spark.sanitize_stream(frame, two_states(), **{**how, "column": "bpn"})
    still = spark_session.read.parquet(str(source))
    with pytest.raises(cv.InvalidInput, match="Use sanitize"):
        spark.sanitize_stream(still, two_states(), **how)
    assert not path.exists()
    path.mkdir()
    pq.write_table(pa.table({"x": [1]}), path / "batch-0000000000.parquet")
    with pytest.raises(cv.InvalidInput, match="numbered from 0 again"):
        spark.sanitize_stream(frame, two_states(), **how)
