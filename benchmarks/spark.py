"""Parquet to Parquet on Spark with secure noise, beside the same job with an identity map.

    python -m benchmarks.spark [--rows 50000000] [--repeat 2] [--master local[2]] [--folder PLACE]

The table has a series id, a time and a value, in sixteen files. The identity job hands every
batch to Python and back and lets Spark write it; a second one writes the batches from Python,
as chainveil does, but leaves them as they are. chainveil does the whole job: series counted,
values discretized, secure noise, one attempt of each task committed, digests, certificate. All
in one session, in turn, after a warm-up; printed are the best seconds and ratios to both.

Then one series that holds all the rows, with correlated noise: the rows are put in order on
disk and pass through one task. Printed is the most memory that Java and the Python workers
held together, for a tenth of the rows and for all of them.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import chainveil as cv
from chainveil import spark
from chainveil.spark import needs
from chainveil.spark.part import groups
from chainveil.spark.table import mapped
from chainveil.table.write.writing import ParquetWriter

POINTS = 10_000
FILES = 16
CHUNK = 1_000_000


def write_table(folder: Path, rows: int, points: int) -> None:
    """Series of so many points, cut into files without regard to where a series ends."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    each = -(-rows // FILES)
    for number in range(FILES):
        first, last = number * each, min(rows, (number + 1) * each)
        with pq.ParquetWriter(folder / f"{number:02}.parquet", SCHEMA) as writer:
            for begin in range(first, last, CHUNK):
                row = np.arange(begin, min(last, begin + CHUNK))
                values = rng.normal(70, 10, len(row)).round(1)
                columns = [(row // points).astype(np.int32), row % points, values]
                writer.write_table(pa.table([pa.array(c) for c in columns], schema=SCHEMA))


SCHEMA = pa.schema([("series", pa.int32()), ("time", pa.int64()), ("value", pa.float64())])


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def identity_by_spark(frame: Any, goal: Path) -> None:
    mapped(frame, same, frame.schema).write.parquet(f"file://{goal}")


def identity_from_python(frame: Any, goal: Path) -> None:
    goal.mkdir()

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = 0
        with (goal / f"{secrets.token_hex(8)}.parquet").open("wb") as file:
            writer = ParquetWriter(file, SCHEMA, None)
            for batch in groups(batches):
                writer.write(batch)
                rows += batch.num_rows
            writer.close()
        yield pa.RecordBatch.from_pylist([{"rows": rows}])

    mapped(frame, write, "rows bigint").collect()


def release(frame: Any, goal: Path) -> None:
    plan = cv.calibrate(cv.MarkovChain.binary(0.0893, 0.1092), 1.0)
    keep = [name for name in frame.columns if name not in ("series", "value")]
    spark.sanitize(frame, plan, column="value", series="series", threshold=70, path=goal, keep=keep)


CONTESTANTS: dict[str, Callable[[Any, Path], None]] = {
    "identity map, written by Spark": identity_by_spark,
    "identity map, written from Python": identity_from_python,
    "chainveil": release,
}


def speed(session: Any, folder: Path, rows: int, repeat: int) -> None:
    write_table(folder / "small", 200_000, POINTS)
    write_table(folder / "large", rows, POINTS)
    found: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for turn in range(-1, repeat):
        frame = session.read.parquet(str(folder / ("large" if turn >= 0 else "small")))
        for name, run in CONTESTANTS.items():
            goal = folder / "out.parquet"
            before = time.perf_counter()
            run(frame, goal)
            if turn >= 0:
                found[name].append(time.perf_counter() - before)
            shutil.rmtree(goal)
            (folder / "out.certificate.json").unlink(missing_ok=True)
    ours = min(found["chainveil"])
    print(f"{rows:,} rows, Parquet to Parquet\n{'':38}{'best s':>8}{'chainveil / this':>18}")
    for name, seconds in found.items():
        print(f"{name:38}{min(seconds):8.1f}{ours / min(seconds):18.2f}", flush=True)


def memory(session: Any, folder: Path, rows: int) -> None:
    plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), 2.0, mechanism="correlated")
    print(f"one series, correlated noise\n{'rows':>14}{'Java MiB':>12}{'Python MiB':>12}")
    for count in (rows // 10, rows):
        write_table(folder / f"one-{count}", count, rows)
        frame = session.read.parquet(str(folder / f"one-{count}"))
        with Watch() as watch:
            spark.sanitize(
                frame, plan, column="value", series="series", time="time", threshold=70,
                path=folder / f"one-{count}.parquet",
            )  # fmt: skip
        java, python = watch.peaks
        print(f"{count:14,}{java:12,.0f}{python:12,.0f}", flush=True)


class Watch:
    """The most memory that our Java and its Python workers hold, looked at ten times a second."""

    def __enter__(self) -> Watch:
        self.peaks = (0.0, 0.0)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.1):
            java, python = _held()
            self.peaks = (max(self.peaks[0], java), max(self.peaks[1], python))


def _held() -> tuple[float, float]:
    """MiB of the Java processes among our descendants, and of the Python ones."""
    parents, names, sizes = {}, {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
                pages = int((entry / "statm").read_text().split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            number = int(entry.name)
            parents[number], names[number] = int(rest.split()[1]), name
            sizes[number] = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    totals = {"java": 0.0, "python": 0.0}
    for number in parents:
        above = parents[number]
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            totals["java" if names[number] == "java" else "python"] += sizes[number]
    return totals["java"], totals["python"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--only", choices=["speed", "memory"])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if (reason := needs.java_is_missing()) is not None:
        print(f"not measured: {reason}")
        return
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(given.master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.io.encryption.enabled", "true")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        if given.only != "memory":
            speed(session, Path(folder), given.rows, given.repeat)
        if given.only != "speed":
            memory(session, Path(folder), given.rows)
    session.stop()


if __name__ == "__main__":
    main()
