"""What Spark writes on the way: for nobody else's eyes, encrypted, and removed in the end."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from chainveil.spark.scratch import PREFIX
from chainveil.spark.table import ENCRYPTION, SparkTable
from tests.cli.program import environment
from tests.conftest import NEEDED, QUICK_JAVA, why_no_spark

SECRET = b"SECRET-"

# A session of our own that has moved secret rows and waits, so that it can be killed.
WAITING = """
import sys
import warnings
from chainveil.spark.session import session
from chainveil.spark.table import SparkTable

warnings.filterwarnings("error", category=UserWarning)
with session("local[2]") as spark:
    rows = spark.range(2000).selectExpr("id % 7 as k", "concat('SECRET-', id) as v")
    assert rows.repartition(3, "k").selectExpr("max(v)").collect()
    SparkTable(rows)  # Has nothing to warn of.
    print(spark.sparkContext._gateway.proc.pid, flush=True)
    sys.stdin.read()
"""


def _started(scratch: Path, **more: str) -> tuple[subprocess.Popen[str], int]:
    """The process, and the number of its Java."""
    running = _running(scratch, WAITING, **more)
    assert running.stdout is not None
    return running, int(running.stdout.readline())


def _running(scratch: Path, code: str, **more: str) -> subprocess.Popen[str]:
    reason = why_no_spark()
    if reason is not None and not os.environ.get(NEEDED):
        pytest.skip(f"Spark cannot start: {reason}")
    scratch.mkdir(exist_ok=True)
    there = {**environment(), "SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": QUICK_JAVA}
    there.pop("SPARK_LOCAL_DIRS", None)
    there |= {"TMPDIR": str(scratch), **more}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=there, cwd=scratch.parent,
    )  # fmt: skip


def _check_private(scratch: Path) -> None:
    """All of it lies in one folder of our own, and nothing can be read from it."""
    (folder,) = scratch.iterdir()
    assert folder.name.startswith(PREFIX)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".data" and path.stat().st_size for path in files)
    assert not [path for path in files if SECRET in path.read_bytes()]


@pytest.mark.slow
def test_what_a_killed_run_with_java_leaves_the_next_one_removes(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    running, java = _started(scratch)
    try:
        _check_private(scratch)
        # A run beside it leaves it alone.
        _look_for_abandoned(scratch)
        _check_private(scratch)
    finally:
        os.kill(java, signal.SIGKILL)
        running.kill()
        running.communicate(timeout=60)
    _check_private(scratch)
    assert _names(tmp_path) == ["scratch"]
    _look_for_abandoned(scratch)
    assert _names(scratch) == []


@pytest.mark.slow
def test_the_disks_that_were_chosen_for_it_are_cleared_also_after_a_killed_java(
    tmp_path: Path,
) -> None:
    disks = [tmp_path / "one", tmp_path / "two"]
    running, java = _started(tmp_path / "scratch", SPARK_LOCAL_DIRS=",".join(map(str, disks)))
    for disk in disks:
        (folder,) = disk.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert any(folder.rglob("blockmgr-*"))
    os.kill(java, signal.SIGKILL)
    while _is_running(java):
        time.sleep(0.05)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 0, told
    assert "Traceback" not in told
    assert [_names(folder) for folder in (*disks, tmp_path / "scratch")] == [[], [], []]


# The folders of a session that has not come to start Java.
ALONE = """
import os
import sys
from chainveil.spark import scratch

with scratch.cleared_when_terminated():
    print(*scratch.private_folders(os.getpid()), flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("disks", [False, True], ids=["usual", "chosen"])
def test_what_a_killed_run_leaves_the_next_one_removes(disks: bool, tmp_path: Path) -> None:
    """Without Java, which takes ten seconds to start; with it among the slow tests."""
    scratch = tmp_path / "scratch"
    place = tmp_path / "disk" if disks else scratch
    chosen = {"SPARK_LOCAL_DIRS": str(place)} if disks else {}
    running = _running(scratch, ALONE, **chosen)
    assert running.stdout is not None
    try:
        assert running.stdout.readline()
        _look_for_abandoned(scratch, **chosen)
        (folder,) = place.iterdir()
        assert folder.name.startswith(PREFIX)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        running.kill()
        running.communicate(timeout=60)
    assert _names(place) == [folder.name]
    _look_for_abandoned(scratch, **chosen)
    assert _names(place) == []


@pytest.mark.parametrize("code", [ALONE, pytest.param(WAITING, marks=pytest.mark.slow)],
                         ids=["alone", "with Java"])  # fmt: skip
def test_who_is_asked_to_end_leaves_nothing(code: str, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    running = _running(scratch, code)
    assert running.stdout is not None
    assert running.stdout.readline()
    assert len(_names(scratch)) == 1
    running.send_signal(signal.SIGTERM)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 143, told
    assert _names(scratch) == []


def _look_for_abandoned(scratch: Path, **more: str) -> None:
    """As every run does that starts a session."""
    code = "import os; from chainveil.spark import scratch; scratch.private_folders(os.getpid())"
    there = {**environment(), "TMPDIR": str(scratch)}
    there.pop("SPARK_LOCAL_DIRS", None)
    subprocess.run([sys.executable, "-c", code], env=there | more, check=True)


def _is_running(process: int) -> bool:
    """Not if it has ended and waits to be asked about."""
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_session_that_does_not_encrypt_is_told(
    spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import SparkConf

    # As if it had been started without.
    context = type(spark_session.sparkContext)
    monkeypatch.setattr(context, "getConf", lambda _: SparkConf(loadDefaults=False))
    other = spark_session.newSession()
    # Too late to have an effect, and so to be believed.
    other._jsparkSession.sessionState().conf().setConfString(ENCRYPTION, "true")
    for session in (spark_session, other):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            SparkTable(session.range(1))
        (told,) = [str(one.message) for one in caught if one.category is UserWarning]
        assert f"{ENCRYPTION}=true" in told
