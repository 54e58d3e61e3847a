"""A cluster of two workers on this machine, and a task that Spark runs twice because it is slow.

Run as a program of its own: ``python -m tests.spark.speculation FOLDER`` prints what happened.
Spark never speculates in local mode, nor on the host where the slow attempt runs, so the two
workers have two addresses of the loopback network.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

import chainveil as cv
from chainveil import spark
from chainveil.spark import sink as releasing
from chainveil.spark.part import WritePart

ROWS, PARTITIONS = 4_000, 4


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as running:
        running.enter_context(_daemon("master.Master", "127.0.0.1", folder, "--port", str(port)))
        for host in ("127.0.0.2", "127.0.0.3"):
            more = ("--cores", "1", "--memory", "600m", "--work-dir", str(folder / host), url)
            running.enter_context(_daemon("worker.Worker", host, folder, *more))
        yield url


@contextmanager
def _daemon(name: str, host: str, folder: Path, *more: str) -> Iterator[None]:
    from pyspark.find_spark_home import _find_spark_home

    home = _find_spark_home()
    environment = {
        **os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": host, "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "128m",
    }  # fmt: skip
    program = [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{name}"]
    with (folder / f"{name}-{host}.log").open("wb") as log:
        process = subprocess.Popen(
            [*program, "--host", host, "--webui-port", "0", *more],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def session(url: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(url).appName("speculation")
    settings = {
        "spark.ui.enabled": False,
        "spark.io.encryption.enabled": True,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "600m",
        "spark.speculation": True,
        "spark.speculation.interval": "200ms",
        "spark.speculation.multiplier": 1.1,
        "spark.speculation.quantile": 0.5,
        # Settings that would make Spark's own writers careless: ours does not lean on them.
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": 2,
        "spark.hadoop.outputCommitCoordination.enabled": False,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    return started


def slow_at_first(folder: Path) -> type[WritePart]:
    """Tasks of which the first attempt, its file complete, waits until the second has one too."""

    class SlowAtFirst(WritePart):
        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            context: Any = TaskContext.get()
            told = list(WritePart.__call__(self, batches))
            attempt = f"{context.partitionId()}-{context.attemptNumber()}"
            files = list(Path(self.folder).glob(f"{context.partitionId()}-*"))
            (folder / f"attempt-{attempt}").write_text(str(len(files)))
            until = time.monotonic() + 100
            while attempt == "0-0" and time.monotonic() < until:
                if (folder / "attempt-0-1").exists():
                    break
                time.sleep(0.05)
            yield from told

    return SlowAtFirst


def main(folder: Path) -> None:
    with cluster(folder) as url:
        running = session(url)
        frame = running.range(0, ROWS, 1, PARTITIONS).selectExpr("id", "0L as x")
        plan = cv.calibrate(cv.MarkovChain.binary(0.1, 0.2), 1.0)
        vars(releasing)["WritePart"] = slow_at_first(folder)
        done = spark.sanitize(frame, plan, column="x", path=folder / "r.parquet", keep=["id"])
        ids = sorted(row["id"] for row in done.table.select("id").collect())
        verified = cv.verify(done.certificate, done.path).holds
        running.stop()
    told = {
        "attempts": {path.name: path.read_text() for path in folder.glob("attempt-*")},
        "every row once": ids == list(range(ROWS)),
        "verified": verified,
        "parts": len(list(done.path.iterdir())),
        "left": [path.name for path in folder.glob(".*")],
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
