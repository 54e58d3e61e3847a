"""A Spark session for a command: started quietly, and ended by who started it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chainveil.errors import EngineFailure
from chainveil.spark import needs

# Set by spark-submit, which has its own say about the Python of the workers.
SUBMITTED = "PYSPARK_GATEWAY_PORT"


@contextmanager
def session(master: str | None = None) -> Iterator[Any]:
    """The session there is, as under spark-submit, or one of our own for the time being."""
    needs.pyspark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    needs.check_java()
    if (master or "local").startswith("local") and SUBMITTED not in os.environ:
        # Workers on this machine run the Python that runs this command, unless told otherwise.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="chainveil-") as folder:
        log = Path(folder) / "spark.log"
        started = _start(master, log)
        try:
            yield started
        finally:
            started.stop()


def _start(master: str | None, log: Path) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("chainveil")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    for name, value in quiet.items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    try:
        with _standard_error_to(log):
            started = builder.getOrCreate()
            started.sparkContext.setLogLevel("ERROR")
    except (PySparkException, OSError) as error:
        raise EngineFailure("Spark", _last_words(log, error)) from error
    return started


@contextmanager
def _standard_error_to(log: Path) -> Iterator[None]:
    """What is started now, Java included, complains to a file for as long as it runs."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _last_words(log: Path, error: Exception) -> str:
    lines = log.read_text("utf-8", errors="replace").splitlines() if log.exists() else []
    told = [line.strip() for line in lines if "Exception" in line or "rror:" in line]
    return (told or [str(error).splitlines()[0]])[-1]
