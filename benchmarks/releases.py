"""Releases of 5 million rows beside Polars reading, sorting and writing the same columns.

    python -m benchmarks.releases [--rows 5000000] [--repeat 3] [--folder PLACE]

The table has a person, a minute, a heart rate and a ward; its rows stand in the order of the
minutes. Polars reads it, sorts it by person and minute, and writes it. chainveil does the whole
job: strict reading, order and equal times, states, the check of the public columns (minute and
ward), secure noise, new columns, digests, certificate; with a given model, and with one that is
fitted on the table. Every contestant runs in a process of its own, in turn, after a warm-up on a
small table. Printed are the seconds of the best and the median turn, the peak memory, and the
ratios to Polars.
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
import warnings
from pathlib import Path
from typing import Any

import numpy as np

POINTS, SMALL = 5_000, 20_000
FORMATS = ("csv", "parquet")
CONTESTANTS = ("polars", "given", "fitted")


def write_table(path: Path, rows: int) -> None:
    """Persons of 5,000 points each, whose rows are mixed as they come minute by minute."""
    import polars as pl

    rng = np.random.default_rng(1)
    persons = rows // POINTS or 1
    points = rows // persons
    states = (np.cumsum(rng.random(persons * points) < 0.1) % 2).astype(bool)
    bpm = np.where(states, rng.integers(90, 140, len(states)), rng.integers(40, 90, len(states)))
    frame = pl.DataFrame({
        "person": np.repeat([f"p{i:04d}" for i in range(persons)], points),
        "minute": np.tile(np.arange(points), persons), "bpm": bpm,
        "ward": np.repeat(rng.integers(0, 5, persons), points),
    }).sort("minute", "person")  # fmt: skip
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)


def polars(source: Path, goal: Path) -> None:
    """Read, sort and write."""
    import polars as pl

    if source.suffix == ".csv":
        pl.read_csv(source).sort("person", "minute").write_csv(goal)
    else:
        pl.read_parquet(source).sort("person", "minute").write_parquet(goal)


def release(source: Path, goal: Path, **model: Any) -> None:
    """The whole job."""
    from chainveil.next.table.read import open_table
    from chainveil.next.table.states import Request
    from chainveil.next.table.write import Goal, sanitize_to_file

    asked = Request("bpm", series="person", time="minute", threshold=90, epsilon=1.0,
                    mechanism="independent", public=("minute", "ward"), **model)  # fmt: skip
    sanitize_to_file(open_table(source), asked, Goal(str(goal), force=True))


def given(source: Path, goal: Path) -> None:
    """With a given model."""
    from chainveil import MarkovChain

    release(source, goal, chain=MarkovChain.symmetric(0.1))


def fitted(source: Path, goal: Path) -> None:
    """With one model, fitted on the table."""
    warnings.simplefilter("ignore")
    release(source, goal, pooled=True)


def turn(name: str, source: Path, small: Path, goal: Path) -> dict[str, float]:
    """Seconds and memory of one contestant, in a process of its own."""
    code = ["-m", "benchmarks.releases", "--turn", name, str(source), str(small), str(goal)]
    done = subprocess.run([sys.executable, *code], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(name: str, source: str, small: str, goal: str) -> None:
    """One turn."""
    contest = {"polars": polars, "given": given, "fitted": fitted}[name]
    contest(Path(small), Path(goal))
    begin = time.perf_counter()
    contest(Path(source), Path(goal))
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "mib": peak}))


def main() -> None:
    """All contestants in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--turn", nargs=4)
    options = parser.parse_args()
    if options.turn:
        run(*options.turn)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        for ending in FORMATS:
            source, small = Path(place) / f"t.{ending}", Path(place) / f"small.{ending}"
            write_table(source, options.rows)
            write_table(small, SMALL)
            turns: dict[str, list[dict[str, float]]] = {name: [] for name in CONTESTANTS}
            for _ in range(options.repeat):
                for name in CONTESTANTS:
                    turns[name].append(turn(name, source, small, Path(place) / f"r.{ending}"))
            base = statistics.median(t["seconds"] for t in turns["polars"])
            memory = max(t["mib"] for t in turns["polars"])
            for name, found in turns.items():
                seconds, peak = [t["seconds"] for t in found], max(t["mib"] for t in found)
                middle = statistics.median(seconds)
                print(f"{ending:8} {name:7} best {min(seconds):6.2f} s, median {middle:6.2f} s, "
                      f"{peak:6.0f} MiB; {middle / base:.2f} times Polars' time, "
                      f"{peak / memory:.2f} times its memory", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
