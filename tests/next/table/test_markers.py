"""Marks in every private place of an input are found in nothing that leaves a run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from tests.next.table.tables import CHAIN

ROWS = 4000
ASKED = ["--column", "bpm", "--series", "person", "--time", "minute", "--threshold", "70",
         "--epsilon", "2", "--q", "0.1", "--r", "0.2", "--missing", "keep", "--public",
         "ward,age,when", "--allow-leak", "ward,age,when"]  # fmt: skip


def mark(number: int) -> bytes:
    """Eight bytes that occur nowhere by chance."""
    return f"QX{number:04d}ZJ".encode()


def number(place: int) -> int:
    """A whole number whose bytes are a mark."""
    return int.from_bytes(mark(place), "little")


MARKS = [mark(place) for place in range(1, 13)]


def table() -> pa.Table:
    """A table with marks under nulls, in names, dropped columns, dictionaries and metadata."""
    states = CHAIN.sample(ROWS, rng=1)
    hidden = np.arange(ROWS) % 3 == 0

    def beneath(place: int, values: Any) -> pa.Array:
        held = np.where(hidden, number(place), values).astype(np.int64)
        bits = np.packbits(~hidden, bitorder="little").tobytes()
        return pa.Array.from_buffers(pa.int64(), ROWS, [pa.py_buffer(bits), pa.py_buffer(held)])

    person = [f"{mark(4).decode()}-{i % 4}" for i in range(ROWS)]
    words = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(ROWS) % 2, pa.int32()), ["north", "south", mark(5).decode()]
    )
    found = pa.table({
        "person": person, "minute": np.arange(ROWS),
        "bpm": beneath(1, np.where(states, 80, 50)), "age": beneath(2, np.arange(ROWS) % 7),
        "when": beneath(3, np.arange(ROWS) % 5).cast(pa.timestamp("us")), "ward": words,
        "secret": [mark(6).decode()] * ROWS, mark(7).decode(): np.full(ROWS, number(8)),
    })  # fmt: skip
    fields = [field.with_metadata({"note": mark(9)}) for field in found.schema]
    return found.cast(pa.schema(fields, metadata={"comment": mark(10), "pandas": b"{}"}))


def written(folder: Path, name: str) -> Path:
    path = folder / name
    if name.endswith(".csv"):
        frame = pl.from_arrow(table())
        assert isinstance(frame, pl.DataFrame)
        frame.write_csv(path)
    elif name.endswith(".parquet"):
        pq.write_table(table(), path, row_group_size=1000)
    else:
        feather.write_feather(table(), str(path), compression="uncompressed")
    return path


def run(folder: Path, source: Path, output: str, *more: str, **how: Any) -> Any:
    command = [sys.executable, "-m", "chainveil.next", "sanitize", str(source), *ASKED, "-o",
               str(folder / output), *more]  # fmt: skip
    environment = os.environ | {"TMPDIR": str(folder / "tmp")}
    (folder / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment, **how)  # fmt: skip


def unmarked(folder: Path, source: Path, *streams: bytes) -> None:
    """No file but the input, and no stream, holds a mark."""
    held = {str(path): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and path != source}  # fmt: skip
    held |= {f"stream {i}": stream for i, stream in enumerate(streams)}
    for name, data in held.items():
        for one in MARKS:
            assert one not in data, (name, one)
            assert one[::-1] not in data, (name, one)


INPUTS = ("t.parquet", "t.arrow", "t.csv")


@pytest.mark.parametrize("output", ["r.parquet", "r.arrow", "r.csv"])
@pytest.mark.parametrize("name", INPUTS)
def test_nothing_private_leaves_a_run_that_ends_well(
    tmp_path: Path, name: str, output: str
) -> None:
    if name == "t.csv" and output != "r.csv":
        pytest.skip("texts of one kind")
    source = written(tmp_path, name)
    process = run(tmp_path, source, output)
    told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert (tmp_path / output).stat().st_size > 1000
    unmarked(tmp_path, source, *told)


@pytest.mark.parametrize(
    "more",
    [
        ("--missing", "error"), ("--step", "2"), ("--threshold", "mean", "--missing", "error"),
        ("--column", "secret"), ("--time", "age"), ("--public", "person"), ("--group", "secret"),
        ("--time", "secret"), ("--public", "ward", "--allow-leak", "ward", "--time", "when"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_nothing_private_leaves_a_refusal(tmp_path: Path, name: str, more: tuple[str, ...]) -> None:
    source = written(tmp_path, name)
    process = run(tmp_path, source, "r.csv", *more)
    told = process.communicate(timeout=120)
    assert process.returncode == 2, told
    assert told[1].startswith(b"error: ")
    assert not (tmp_path / "r.csv").exists()
    unmarked(tmp_path, source, *told)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_nothing_private_stays_after_a_kill(tmp_path: Path, seed: int) -> None:
    source = written(tmp_path, "t.parquet")
    process = run(tmp_path, source, "r.parquet")
    time.sleep(random.Random(seed).uniform(0.5, 3.5))
    process.send_signal(signal.SIGKILL)
    told = process.communicate()
    unmarked(tmp_path, source, *told)
    again = run(tmp_path, source, "r.parquet", "--force")
    assert again.communicate(timeout=120)[0] == b""
    assert again.returncode == 0
    left = {path.name for path in tmp_path.iterdir()} - {"tmp", "t.parquet"}
    assert left == {"r.parquet", "r.certificate.json"}


def test_nothing_private_stays_where_files_may_not_grow(tmp_path: Path) -> None:
    """As on a full disk: writing ends with an error."""

    def limit() -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    source = written(tmp_path, "t.csv")
    # Loops are compiled before, and kept in files of their own.
    run(tmp_path, source, "first.csv").communicate(timeout=120)
    for path in (tmp_path / "first.csv", tmp_path / "first.certificate.json"):
        path.unlink()
    process = run(tmp_path, source, "r.csv", preexec_fn=limit)
    told = process.communicate(timeout=120)
    assert process.returncode == 2, told
    assert b"no space left" in told[1]
    assert not (tmp_path / "r.csv").exists()
    assert not (tmp_path / "r.certificate.json").exists()
    unmarked(tmp_path, source, *told)


def test_damaged_files_are_refused_without_their_cells(tmp_path: Path) -> None:
    source = written(tmp_path, "t.parquet")
    whole = bytearray(source.read_bytes())
    rng = random.Random(1)
    for _ in range(3):
        held = bytearray(whole)
        for _ in range(20):
            held[rng.randrange(len(held) - 4000, len(held))] = rng.randrange(256)
        source.write_bytes(bytes(held))
        told = run(tmp_path, source, "r.csv", "--force").communicate(timeout=120)
        unmarked(tmp_path, source, *told)
        assert b"Traceback" not in told[1]
