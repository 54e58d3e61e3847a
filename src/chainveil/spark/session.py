"""A Spark session for a command: started quietly, and ended by who started it."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chainveil.errors import EngineFailure
from chainveil.spark import needs, scratch

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
    with scratch.cleared_when_terminated():
        started = _start(master)
        try:
            yield started
        finally:
            _stop(started)


def _stop(started: Any) -> None:
    from py4j.protocol import Py4JError

    java = started.sparkContext._gateway.proc if SUBMITTED not in os.environ else None
    # A Java that was killed cannot be asked to stop, nor one that is being killed.
    if java is None or java.poll() is None:
        with contextlib.suppress(Py4JError, OSError):
            started.stop()


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """What it has to say of a Java that has gone reaches the user as an error of ours."""
    import py4j

    return not Path(record.pathname).is_relative_to(Path(py4j.__file__).parent)


def _start(master: str | None) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    logging.getLogger().addFilter(_not_of_py4j)
    builder = SparkSession.builder.appName("chainveil")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    log = scratch.private_folders(os.getpid())[0] / "spark.log"
    if SUBMITTED not in os.environ:
        settings |= scratch.settings()
    for name, value in settings.items():
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
