"""Streams: each micro-batch is released once, under one set of pseudonyms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import chainveil as cv
from chainveil.errors import InvalidInput, NotSupported
from chainveil.next.spark.stream import sanitize_stream
from chainveil.next.table.released import verify
from tests.next.table.tables import CHAIN, heart_rates, request

TYPES = "person string, minute long, bpm long, ward string"


def asked(**how: Any) -> Any:
    plan = cv.calibrate(CHAIN, 2.0)
    usual = {"chain": None, "epsilon": None, "mechanism": None, "plan": plan, "time": None}
    return request(**usual | how)


def run(session: Any, source: Path, path: Path, **how: Any) -> None:
    frame = session.readStream.schema(TYPES).option("maxFilesPerTrigger", 1).parquet(str(source))
    query = sanitize_stream(frame, asked(**how), path, trigger={"availableNow": True})
    query.awaitTermination()


def batches(path: Path) -> dict[str, pl.DataFrame]:
    return {
        folder.name: pl.concat([pl.read_parquet(p) for p in sorted(folder.glob("*.parquet"))])
        for folder in sorted(path.glob("batch-*.parquet"))
    }


def test_batches_are_released_once_under_the_same_pseudonyms(
    spark_session: Any, tmp_path: Path
) -> None:
    source, path = tmp_path / "source", tmp_path / "released"
    source.mkdir()
    for number in range(2):
        heart_rates(30, 3, seed=number).write_parquet(source / f"{number}.parquet")
    run(spark_session, source, path)
    first = batches(path)
    assert [len(frame) for frame in first.values()] == [90, 90]
    for mark in (path / "_checkpoint" / "commits").glob("*1*"):
        # Spark forgets that the last batch was done, as after a crash: it is run again.
        mark.unlink()
    heart_rates(30, 3, seed=2).write_parquet(source / "2.parquet")
    run(spark_session, source, path)
    found = batches(path)
    assert len(found) == 3
    assert all(found[name].equals(frame) for name, frame in first.items())
    names = [set(frame["series"]) for frame in found.values()]
    assert names[0] == names[1] == names[2]
    assert len(names[0]) == 3
    assert not any("person" in name for name in names[0])
    for name, frame in found.items():
        assert frame.columns == ["series", "bpm"]
        certificate = path / f"{Path(name).stem}.certificate.json"
        assert verify(certificate, path / name).exit_code == 0
    assert (path / "_checkpoint" / "pseudonyms.key").stat().st_mode & 0o777 == 0o600


def test_streams_take_what_a_batch_can_do(spark_session: Any, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    heart_rates(30, 3).write_parquet(source / "0.parquet")
    sticky = cv.calibrate(CHAIN, 2.0, mechanism="sticky")
    for how in ({"plan": sticky}, {"time": "minute"}, {"public": ("ward",)}):
        with pytest.raises(NotSupported):
            run(spark_session, source, tmp_path / "released", **how)
    frame = spark_session.read.parquet(str(source))
    with pytest.raises(InvalidInput, match="a stream"):
        sanitize_stream(frame, asked(), tmp_path / "released")
    assert not (tmp_path / "released").exists()
