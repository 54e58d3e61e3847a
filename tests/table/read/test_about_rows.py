"""About how many rows a file has, told for a bar without reading it."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from chainveil.table.read.reading import open_source


def _csv(path: Path, rows: int) -> Path:
    path.write_text("time,bpm\n" + "".join(f"{i:07d},{i % 90:03d}\n" for i in range(rows)))
    return path


def test_text_is_judged_by_its_first_lines_and_its_size(tmp_path: Path) -> None:
    source = open_source(_csv(tmp_path / "a.csv", 50_000))
    assert source.rows is None
    assert source.about_rows is not None
    assert abs(source.about_rows - 50_000) < 50


def test_parquet_says_it_and_compressed_text_does_not(tmp_path: Path) -> None:
    pq.write_table(pa.table({"bpm": range(77)}), tmp_path / "a.parquet")
    assert open_source(tmp_path / "a.parquet").about_rows == 77
    plain = _csv(tmp_path / "a.csv", 100).read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(plain))
    assert open_source(tmp_path / "a.csv.gz").about_rows is None


def test_a_pipe_is_not_read_for_it(tmp_path: Path) -> None:
    from chainveil.table.read.pieces import lines_by_size

    os.mkfifo(tmp_path / "pipe.csv")
    assert lines_by_size(tmp_path / "pipe.csv") is None
    (tmp_path / "empty.csv").write_bytes(b"")
    assert lines_by_size(tmp_path / "empty.csv") is None
