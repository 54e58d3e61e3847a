"""All benchmarks with settings that take minutes, one after another: ``python -m benchmarks``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# Coverage is a study of many minutes, with a table in the documentation; the peers are called
# by the benchmark of sanitizing; the clock is shared.
SKIP = {"__init__", "__main__", "coverage", "coverage_table", "sanitize_peers", "timing"}


def main() -> int:
    """Run every module of this folder as a program; the exit code counts the failures."""
    failures = 0
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in SKIP:
            print(f"\n== {path.stem}", flush=True)
            done = subprocess.run([sys.executable, "-m", f"benchmarks.{path.stem}"], check=False)
            failures += done.returncode != 0
    return failures


if __name__ == "__main__":
    sys.exit(main())
