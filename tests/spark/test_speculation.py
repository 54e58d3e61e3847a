"""Spark runs a slow task twice at the same time; one of the two is released."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs the whole loopback network")
def test_two_attempts_at_the_same_time_give_one_release(spark_session: Any, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.spark.speculation", str(tmp_path)],
        cwd=ROOT, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    # Both attempts of partition 0 had written a whole file, side by side.
    assert {"attempt-0-0", "attempt-0-1"} <= set(told["attempts"])
    assert told["attempts"]["attempt-0-1"] == "2"
    assert told["every row once"]
    assert told["verified"]
    assert told["parts"] == 4
    assert told["left"] == []
