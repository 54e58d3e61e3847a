"""Kill, fill and forbid: nothing half-made is ever left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.program import PROGRAM, environment, program

DEFAULT = ["--column", "x", "--epsilon", "1", "--q", "0.2", "--r", "0.2", "--states", "0,1"]
# Found at once; what is said here is about files.
ASK = [*DEFAULT, "--mechanism", "independent"]
ROWS = 12_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that takes a few seconds to release."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    rng = np.random.default_rng(1)
    columns = {"x": rng.integers(0, 2, ROWS, np.uint8), "y": rng.random(ROWS, np.float32)}
    pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False)
    return path


def _mounted(folder: Path, options: str) -> bool:
    mounting = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(mounting, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one mebibyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    if not _mounted(folder, "size=1m"):
        pytest.skip("no permission to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_release_leaves_nothing(large: Path, tmp_path: Path, how: signal.Signals) -> None:
    goal = tmp_path / "release.parquet"
    command = [*PROGRAM, "sanitize", str(large), *ASK, "-o", str(goal)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment()) as running:
        _wait_until_writing(running)
        running.send_signal(how)
        _, told = running.communicate(timeout=60)
    assert running.returncode != 0
    assert b"Traceback" not in told
    assert list(tmp_path.iterdir()) == []
    if how == signal.SIGINT:
        assert running.returncode == 130


def _wait_until_writing(running: subprocess.Popen[bytes]) -> None:
    """Until the process has put a mebibyte into a file of its own that has no name."""
    files = Path(f"/proc/{running.pid}/fd")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert running.poll() is None, "finished before it could be stopped"
        for file in files.iterdir():
            try:
                name = str(file.readlink())
                if (
                    name.endswith("(deleted)") or ".part" in name
                ) and file.stat().st_size > 1 << 20:
                    return
            except OSError:
                continue
        time.sleep(0.005)
    raise AssertionError("never began to write")


def _peak(*arguments: str | Path) -> float:
    """Most memory of its own that a command holds, in MiB, looked at every few milliseconds.

    The pages of a mapped file do not count: the system takes them back when it wants to.
    """
    command = [*PROGRAM, *map(str, arguments)]
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment()) as running:
        while running.poll() is None:
            status = Path(f"/proc/{running.pid}/status").read_text()
            found = re.search(r"RssAnon:\s+(\d+) kB", status)
            most = max(most, int(found[1]) if found else 0)
            time.sleep(0.003)
    assert running.returncode == 0
    return most / 1024


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table(large: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.parquet"
    pq.write_table(pq.read_table(large).slice(0, ROWS // 6), small, use_dictionary=False)
    peaks = [_peak("sanitize", table, *DEFAULT, "-o", tmp_path / f"{i}.parquet")
             for i, table in enumerate((small, large))]  # fmt: skip
    # To hold the values and states of the further rows would take 60 MB.
    assert peaks[1] - peaks[0] < 30
    assert peaks[1] < 1024


@pytest.mark.slow
def test_a_full_disk_is_told_and_left_as_it_was(large: Path, small_disk: Path) -> None:
    for name in ("release.parquet", "release.csv"):
        done = program("sanitize", large, *ASK, "-o", small_disk / name, folder=small_disk, code=2)
        assert b"no space left" in done.stderr
        assert list(small_disk.iterdir()) == []


def test_a_read_only_folder_is_told(large: Path, tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    folder.mkdir()
    mounted = _mounted(folder, "ro")
    folder.chmod(0o555) if not mounted else None
    if not mounted and os.access(folder, os.W_OK):
        pytest.skip("nothing is read-only here")
    done = program("sanitize", large, *ASK, "-o", folder / "a.csv", folder=tmp_path, code=2)
    assert b"may be written to" in done.stderr
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_reader_that_goes_away_is_no_disaster(large: Path, tmp_path: Path) -> None:
    command = [*PROGRAM, "sanitize", str(large), *ASK, "-o", "-"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=tmp_path
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"x\n"
        running.stdout.close()
        assert running.stderr is not None
        told = running.stderr.read()
        running.wait(60)
    assert running.returncode == 1
    assert b"Traceback" not in told
