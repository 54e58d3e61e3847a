"""Folders for what Spark writes on the way: nobody else may look into them, and none is left.

Spark writes raw rows to disk where it sorts them, and leaves them there when it is killed. A
session of our own therefore works in folders that only this user may enter. They are removed
when the process ends. While it lives it holds a lock on them, so that a later run knows which
ones a process that was killed has left, and removes those.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from chainveil.table.write.locks import claim, is_abandoned

PREFIX = "chainveil-spark-"
# Where Spark is told to keep such files by the environment, which it heeds more than settings.
LOCAL_DIRS = "SPARK_LOCAL_DIRS"


def settings() -> dict[str, str]:
    """What makes a session keep to the private folders, and encrypt what it puts there."""
    folders = private_folders(os.getpid())
    home = folders[0]
    return {
        "spark.local.dir": ",".join(map(str, folders)),
        "spark.io.encryption.enabled": "true",
        "spark.io.encryption.keySizeBits": "256",
        # Java's own temporary files; given before those options that a user may have set.
        "spark.driver.defaultJavaOptions": f'"-Djava.io.tmpdir={home}"',
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
    }


@cache
def private_folders(process: int) -> tuple[Path, ...]:
    """One folder on each disk that Spark may use, for as long as the process lives."""
    given = [part for part in os.environ.get(LOCAL_DIRS, "").split(",") if part.strip()]
    roots = [Path(part.strip()) for part in given] or [Path(tempfile.gettempdir())]
    for root in roots:
        root.mkdir(parents=True, exist_ok=True)
        remove_abandoned(root)
    made = tuple(_private_folder(root) for root in roots)
    if given:
        os.environ[LOCAL_DIRS] = ",".join(map(str, made))
    atexit.register(_remove_own, process, made)
    return made


def remove_abandoned(root: Path) -> None:
    """Remove the folders of processes that were killed."""
    for path in root.glob(f"{PREFIX}*"):
        if path.is_dir() and not path.is_symlink() and is_abandoned(path):
            shutil.rmtree(path, ignore_errors=True)


def _private_folder(root: Path) -> Path:
    # It gets the name by which others look for abandoned ones once it is claimed.
    made = Path(tempfile.mkdtemp(prefix=".chainveil-", dir=root.resolve()))
    claim(os.open(made, os.O_RDONLY | os.O_CLOEXEC))
    return made.rename(made.with_name(PREFIX + made.name.removeprefix(".chainveil-")))


def _remove_own(process: int, folders: tuple[Path, ...]) -> None:
    # A forked child ends too, and does not own them.
    if os.getpid() == process:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def cleared_when_terminated() -> Iterator[None]:
    """A polite request to end ends the process as an interrupt does: with its folders removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before = {name: signal.signal(name, stop) for name in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
