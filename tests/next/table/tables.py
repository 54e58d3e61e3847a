"""Tables of every kind, for the tests of releases."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

import chainveil as cv
from chainveil.next.table.read import open_table
from chainveil.next.table.states import Request

CHAIN = cv.MarkovChain.binary(q=0.1, r=0.2)
FILES = (
    "t.csv", "t.tsv", "t.txt", "t.csv.gz", "t.csv.zst", "t.parquet", "t.arrow", "t.feather",
)  # fmt: skip
FRAMES = ("pandas", "polars", "pyarrow", "duckdb")
OUTPUTS = ("r.csv", "r.tsv", "r.csv.gz", "r.csv.zst", "r.parquet", "r.arrow")


def request(**how: Any) -> Request:
    """What most tests ask of the tables below."""
    usual: dict[str, Any] = {
        "column": "bpm", "series": "person", "time": "minute", "threshold": 70.0,
        "labels": ["low", "high"], "epsilon": 2.0, "chain": CHAIN, "mechanism": "independent",
    }  # fmt: skip
    return Request(**usual | how)


def heart_rates(points: int = 200, persons: int = 4, seed: int = 1) -> pl.DataFrame:
    """Person, minute, bpm and a ward, in the order of the minutes."""
    rng = np.random.default_rng(seed)
    states = np.concatenate([CHAIN.sample(points, rng=seed + i) for i in range(persons)])
    bpm = np.where(
        states == 1, rng.integers(70, 120, len(states)), rng.integers(40, 70, len(states))
    )
    return pl.DataFrame({
        "person": np.repeat([f"person {i}" for i in range(persons)], points),
        "minute": np.tile(np.arange(points), persons),
        "bpm": bpm,
        "ward": np.repeat([f"ward {i % 2}" for i in range(persons)], points),
    }).sort("minute", "person")  # fmt: skip


def stored(frame: pl.DataFrame, kind: str, folder: Path, metadata: str = "") -> Any:
    """A table as a file of a format, or as a data frame of a kind."""
    path = folder / kind
    if kind in ("t.csv", "t.tsv", "t.csv.gz", "t.csv.zst"):
        text = frame.write_csv(separator="\t" if kind == "t.tsv" else ",")
        data = text.encode()
        if kind.endswith(".gz"):
            data = gzip.compress(data)
        elif kind.endswith(".zst"):
            data = pa.compress(data, "zstd", asbytes=True)
        path.write_bytes(data)
        return path
    if kind == "t.txt":
        rows = [frame.columns, *([str(cell) for cell in row] for row in frame.rows())]
        path.write_text("".join("  ".join(row) + "\n" for row in rows), "utf-8")
        return path
    table = frame.to_arrow()
    if metadata:
        table = table.replace_schema_metadata({"comment": metadata})
    if kind == "t.parquet":
        pq.write_table(table, path, row_group_size=max(1, len(frame) // 3))
        return path
    if kind in ("t.arrow", "t.feather"):
        feather.write_feather(table, str(path))
        return path
    if kind == "pandas":
        made = frame.to_pandas()
        made.index = [metadata + str(i) for i in range(len(made))]
        return made
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(table)
    return frame if kind == "polars" else table


def opened(frame: pl.DataFrame, kind: str, folder: Path, metadata: str = "") -> Any:
    """The same, as it is read."""
    return open_table(stored(frame, kind, folder, metadata))
