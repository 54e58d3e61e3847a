"""A release of several files is verified on one machine, and what is not the same is rejected."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil import spark
from tests.spark.tables import folder_table, frame_of, long_table, two_states


@pytest.fixture(scope="module")
def released(spark_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("released") / "r.parquet"
    spark.sanitize(
        frame_of(spark_session, long_table()), two_states(), column="bpm", series="person",
        threshold=60, path=path, keep=["minute"],
    )  # fmt: skip
    return path


@pytest.fixture
def folder(released: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(released, tmp_path / "r.parquet"))


def _failures(released: Path, folder: Any) -> set[str]:
    result = cv.verify(released.with_name("r.certificate.json"), folder)
    return {check.field for check in result.failures}


def test_a_folder_holds(released: Path, folder: Path) -> None:
    assert _failures(released, folder) == set()
    # Marks that other programs leave are no part of the table.
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000.parquet.crc").write_bytes(b"x")
    assert _failures(released, folder) == set()


def test_one_changed_value(released: Path, folder: Path) -> None:
    part = folder / "part-00001.parquet"
    table = pq.read_table(part)
    values = table["bpm"].to_pylist()
    values[3] = 1 - values[3]
    changed = pa.array(values, table.schema.field("bpm").type)
    pq.write_table(table.set_column(2, table.schema.field("bpm"), changed), part)
    assert "release.states_sha256" in _failures(released, folder)


def test_one_changed_byte_of_another_column(released: Path, folder: Path) -> None:
    part = folder / "part-00001.parquet"
    table = pq.read_table(part)
    minutes = pa.array([7, *table["minute"].to_pylist()[1:]])
    pq.write_table(table.set_column(1, "minute", minutes), part)
    assert "release.file.sha256" in _failures(released, folder)


@pytest.mark.parametrize("change", ["missing", "added", "swapped", "empty"])
def test_changed_parts(change: str, released: Path, folder: Path) -> None:
    first, second = folder / "part-00000.parquet", folder / "part-00001.parquet"
    if change == "missing":
        second.unlink()
    elif change == "added":
        shutil.copy(first, folder / "part-00009.parquet")
    elif change == "empty":
        pq.write_table(pq.read_table(first).slice(0, 0), folder / "part-00009.parquet")
    else:
        first.rename(folder / "x")
        second.rename(first)
        (folder / "x").rename(second)
    failed = _failures(released, folder)
    assert "release.states_sha256" in failed
    assert ("release.parts" in failed) == (change != "swapped")


def test_a_frame_is_checked_as_far_as_it_can_be(released: Path) -> None:
    table = folder_table(released)
    assert _failures(released, table) == set()
    assert "release.rows" in _failures(released, table.slice(1))
    result = cv.verify(released.with_name("r.certificate.json"), table)
    assert {"release.parts", "release.states_sha256"} <= {
        check.field for check in result.checks if check.status == "open"
    }


def test_parts_in_other_columns_are_an_error(released: Path, folder: Path) -> None:
    part = folder / "part-00001.parquet"
    pq.write_table(pq.read_table(part).rename_columns(["person", "minute", "x"]), part)
    assert _failures(released, folder) == {"release"}


def test_an_analyst_reads_a_folder(released: Path) -> None:
    from chainveil.table.released.states import read_released

    read = read_released(released, released.with_name("r.certificate.json"))
    assert len(read.order) == long_table().num_rows
