"""Without Java the tests of Spark are skipped with the reason, and fail where Spark is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import NEEDED

ROOT = Path(__file__).resolve().parents[2]
ONE = "tests/spark/test_fit.py::test_rows_without_an_order_cannot_be_counted"


@pytest.mark.slow
@pytest.mark.parametrize("needed", [False, True])
def test_a_machine_without_java(needed: bool) -> None:
    pytest.importorskip("pyspark")
    bare = {name: value for name, value in os.environ.items() if name != NEEDED}
    bare |= {"PATH": "", "JAVA_HOME": ""} | ({NEEDED: "1"} if needed else {})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", ONE],
        cwd=ROOT, env=bare, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == (1 if needed else 0), done.stdout
    assert ("1 error" if needed else "1 skipped") in done.stdout
    assert "no java on the PATH" in done.stdout


def test_the_check_before_a_submission_needs_spark() -> None:
    assert f"export {NEEDED}=1" in (ROOT / ".ci" / "run").read_text()
