"""The program as somebody who may write nowhere but to the folder of the release."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import chainveil
from tests.cli.program import environment

# From linux/prctl.h and linux/capability.h.
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rights are dropped as on Linux")


@pytest.fixture
def fixed(tmp_path: Path) -> Iterator[Path]:
    """A copy of the package and a home in which nothing can be written; ``out`` can be."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(chainveil.__file__).parent, tmp_path / "chainveil", ignore=leave)
    (tmp_path / "home").mkdir()
    (tmp_path / "out").mkdir()
    folders = [path for path in tmp_path.rglob("*") if path.is_dir() and path.name != "out"]
    for path in folders:
        path.chmod(0o555)
    yield tmp_path
    for path in folders:
        path.chmod(0o755)


def _mere_mortal() -> None:
    """Permissions count for the process that is about to start, also where root runs the tests."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, right, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "prctl")


def _run(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    there = {
        **environment(), "HOME": str(folder / "home"), "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1", **more,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, *command], cwd=folder / "out", env=there, capture_output=True, text=True,
        check=False, timeout=300, preexec_fn=_mere_mortal,
    )  # fmt: skip


SAMPLE = "import chainveil as cv; print(len(cv.MarkovChain.binary(0.1, 0.2).sample(9, 2, rng=1)))"


@pytest.mark.slow
def test_loops_without_a_folder_for_compiled_code(fixed: Path) -> None:
    done = _run(fixed, "-c", SAMPLE)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert done.stderr.count("compiled code cannot be kept") == 1
    assert not list(fixed.rglob("*.nbi"))
    kept = fixed / "out" / "kept"
    again = _run(fixed, "-c", SAMPLE, NUMBA_CACHE_DIR=str(kept))
    assert (again.stdout, again.stderr) == ("2\n", "")
    assert list(kept.rglob("*.nbi"))


@pytest.mark.slow
def test_a_release_without_a_folder_for_compiled_code(fixed: Path) -> None:
    (fixed / "out" / "t.csv").write_text("x\n" + "0\n1\n1\n0\n" * 50)
    ask = ["-m", "chainveil.cli", "sanitize", "t.csv", "--column", "x", "--states", "0,1"]
    # Noise without memory: fewer loops are to be compiled, twice over.
    ask += ["--q", "0.2", "--r", "0.2", "--epsilon", "1", "--mechanism", "independent"]
    done = _run(fixed, *ask, "-o", "r.csv")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("warning: compiled code cannot be kept") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert not list(fixed.rglob("*.nbi"))
    kept = fixed / "out" / "kept"
    again = _run(fixed, *ask, "-o", "s.csv", NUMBA_CACHE_DIR=str(kept))
    assert again.returncode == 0
    assert "compiled code" not in again.stderr
    assert list(kept.rglob("*.nbi"))
