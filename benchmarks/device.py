"""What the program for devices costs: ``python -m benchmarks.device [--points N]``.

Import time and memory are those of a process of its own that imports and uses nothing else.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import chainveil as cv
from chainveil.device import device_program
from chainveil.noise.base import Noise
from chainveil.noise.memory import StickyNoise, TrackingNoise

CHAIN = cv.MarkovChain.binary(0.0893, 0.1092)
NOISES: dict[str, Noise] = {
    "independent": cv.Channel.binary(0.43, 0.45),
    "correlated": cv.CorrelatedNoise(0.15, 0.4),
    "sticky": StickyNoise.binary([[0.08, 0.26], [0.72, 0.92]], [0.29, 0.68]),
    "tracking": TrackingNoise.binary(
        [[[0.07, 0.61], [0.22, 0.48]], [[0.43, 0.83], [0.31, 0.96]]], [0.35, 0.71]
    ),
}
MEASURE = """
import time, tracemalloc
begin = time.perf_counter()
import sanitizer
imported = time.perf_counter() - begin
tracemalloc.start()
made = sanitizer.Sanitizer()
held = tracemalloc.get_traced_memory()[0]
tracemalloc.stop()
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
push, points = made.push, [n // 5 % 2 for n in range({points})]
begin = time.perf_counter()
for point in points:
    push(point)
print(imported, held, peak, (time.perf_counter() - begin) / len(points))
"""


@dataclass(frozen=True)
class Cost:
    """Medians of runs: seconds to import and a point, bytes of a sanitizer, KiB of the process."""

    lines: int
    size: int
    imported: float
    held: float
    peak: float
    point: float


def measure(noise: Noise, points: int, runs: int = 5) -> Cost:
    """The cost of one noise, each run in a fresh process."""
    plan = replace(cv.calibrate(CHAIN, 4.0), noise=noise.on_grid())
    text = device_program(plan)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sanitizer.py").write_text(text, encoding="utf-8")
        # The first run leaves the compiled program beside the source, as on a device.
        told = [_run(folder, points) for _ in range(runs + 1)][1:]
    columns = zip(*(map(float, line.split()) for line in told), strict=True)
    medians = [statistics.median(column) for column in columns]
    return Cost(text.count("\n"), len(text.encode()), *medians)


def _run(folder: str, points: int) -> str:
    command = [sys.executable, "-S", "-c", MEASURE.format(points=points)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, env=clean
    )
    return done.stdout


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    arguments = parser.parse_args()
    print("| mechanism | lines | bytes | import, ms | a sanitizer, bytes | the process, MiB "
          "| µs a point |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for name, noise in NOISES.items():
        cost = measure(noise, arguments.points)
        print(f"| {name} | {cost.lines} | {cost.size:,} | {cost.imported * 1e3:.1f} | "
              f"{cost.held:,.0f} | {cost.peak / 1024:.1f} | {cost.point * 1e6:.1f} |")  # fmt: skip


if __name__ == "__main__":
    main()
