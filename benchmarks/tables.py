"""Parquet to Parquet with secure noise, beside Polars reading and writing the same table.

    python -m benchmarks.tables [--rows 100000000] [--repeat 3] [--folder PLACE]

The table has a series id, a time and a value with one decimal. Polars reads it, applies one
trivial expression to the value and writes it again: eagerly, and with its streaming engine.
chainveil does the whole job: order and gaps checked, the kept time tested for what it gives away,
discretized, secure noise, written beside and renamed, digests and certificate. Every contestant
runs in a process of its own, in turn, after a warm-up on a small table; printed are the seconds of
the best and the median turn, the peak memory of the process, and the ratio of medians to eager
Polars.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

POINTS = 10_000
SMALL = 200_000


def write_table(path: Path, rows: int) -> None:
    """Series of 10,000 points, in pieces so that the writer needs no memory to speak of."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy.signal import lfilter

    rng = np.random.default_rng(1)
    schema = pa.schema([("series", pa.int32()), ("time", pa.int64()), ("value", pa.float64())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for begin in range(0, rows, 1_000_000):
            row = np.arange(begin, min(rows, begin + 1_000_000))
            # Neighbours are alike, as those of a heart rate are.
            values = (70 + lfilter([4.4], [1, -0.9], rng.normal(size=len(row)))).round(1)
            columns = [(row // POINTS).astype(np.int32), row % POINTS * 1000, values]
            writer.write_table(pa.table([pa.array(c) for c in columns], schema=schema))


def polars_eager(source: Path, goal: Path) -> None:
    import polars as pl

    state = (pl.col("value") >= 70).cast(pl.UInt8)
    pl.read_parquet(source).with_columns(state).write_parquet(goal)


def polars_streaming(source: Path, goal: Path) -> None:
    import polars as pl

    state = (pl.col("value") >= 70).cast(pl.UInt8)
    pl.scan_parquet(source).with_columns(state).sink_parquet(goal)


def _chainveil(source: Path, goal: Path, **chain: Any) -> None:
    from chainveil.table.files import file_sink
    from chainveil.table.read.reading import open_source
    from chainveil.table.release import release_table
    from chainveil.table.request.kept import Kept
    from chainveil.table.request.request import Layout, Promise, Request, StateRules

    table = open_source(source)
    layout = Layout("value", "series", "time", step=1000)
    # The time is kept, as Polars keeps it; it is tested for what it says, which is part of the job.
    request = Request(layout, StateRules(70.0), Promise(1.0), kept=Kept(time=True), **chain)
    release_table(table, file_sink(str(goal), table, None, True), request)


def chainveil_given_chain(source: Path, goal: Path) -> None:
    from chainveil import MarkovChain

    _chainveil(source, goal, chain=MarkovChain.binary(0.0893, 0.1092))


def chainveil_fitted_chain(source: Path, goal: Path) -> None:
    _chainveil(source, goal)


CONTESTANTS: dict[str, Callable[[Path, Path], None]] = {
    "polars, eager": polars_eager,
    "polars, streaming": polars_streaming,
    "chainveil, chain given": chainveil_given_chain,
    "chainveil, chain fitted (two passes)": chainveil_fitted_chain,
}


def turn(name: str, folder: Path) -> None:
    """One measured run in this process; prints seconds and peak memory as JSON."""
    run = CONTESTANTS[name]
    run(folder / "small.parquet", folder / "out.parquet")
    before = time.perf_counter()
    run(folder / "large.parquet", folder / "out.parquet")
    seconds = time.perf_counter() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": seconds, "peak": peak}))


def measure(folder: Path, rows: int, repeat: int) -> None:
    write_table(folder / "small.parquet", SMALL)
    write_table(folder / "large.parquet", rows)
    # Everyone reads from memory, not from the disk: the first turn of all would pay for it.
    (folder / "large.parquet").read_bytes()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in CONTESTANTS}
    for _ in range(repeat):
        for name, results in found.items():
            command = [sys.executable, "-m", "benchmarks.tables", "--turn", name,
                       "--folder", str(folder)]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            results.append(json.loads(done.stdout))
    report(found, rows)


def report(found: dict[str, list[dict[str, float]]], rows: int) -> None:
    base = statistics.median(one["seconds"] for one in found["polars, eager"])
    print(f"{rows:,} rows, Parquet to Parquet")
    print(f"{'':38}{'best s':>8}{'median s':>10}{'ratio':>7}{'peak GiB':>10}")
    for name, results in found.items():
        seconds = [one["seconds"] for one in results]
        middle = statistics.median(seconds)
        peak = max(one["peak"] for one in results)
        print(f"{name:38}{min(seconds):8.2f}{middle:10.2f}{middle / base:7.2f}{peak:10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--turn", choices=list(CONTESTANTS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.turn is not None:
        turn(given.turn, given.folder)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        measure(Path(folder), given.rows, given.repeat)


if __name__ == "__main__":
    main()
