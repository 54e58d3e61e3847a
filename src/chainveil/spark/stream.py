"""``sanitize_stream``: a release that grows, batch by batch, each drawn once.

Spark runs a micro-batch again when the query failed before the batch was noted as done. The
batch then has the same number and the same rows. Each batch becomes a folder that appears
whole, named by its number: a batch whose folder is there is not drawn again, and one that is
not there was never seen by anybody.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chainveil.certificate.make import Origin
from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.randomness import Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.plan import NoisePlan
from chainveil.spark import needs
from chainveil.spark.release import Goal, release
from chainveil.spark.sink import local_path
from chainveil.spark.table import SparkTable, check_types
from chainveil.table.discretize import Label
from chainveil.table.prepare import find_discretizer
from chainveil.table.request import Layout, Request

CHECKPOINT = "_checkpoint"


def sanitize_stream(
    frame: Any,
    plan: NoisePlan,
    *,
    column: str,
    path: str | Path,
    series: str | None = None,
    threshold: float | None = None,
    edges: Sequence[float] | None = None,
    states: Sequence[Label] | None = None,
    labels: Sequence[Label] | None = None,
    missing: Missing = "error",
    origin: Origin = "given",
    rng: Source | None = None,
    trigger: dict[str, Any] | None = None,
) -> Any:
    """Publish one column of a stream with independent noise; each micro-batch is a release.

    Parameters
    ----------
    frame : streaming Spark frame
        From a source that can be read again, such as files or Kafka.
    plan : NoisePlan
        Independent noise, for series of any length.
    column, series, threshold, edges, states, labels, missing
        As in :func:`chainveil.sanitize_table`.
    path : str or Path
        The folder to write; the driver and all workers must share it. Batch 7 is the folder
        ``batch-0000000007.parquet`` with its certificate beside it. The query's own notes
        are in ``_checkpoint``; they belong to the release and must not be removed.
    origin : "given", "reference" or "private"
        Where the plan's chain came from, for the certificates.
    rng : optional
        None, or a secure source.
    trigger : dict, optional
        Arguments of ``DataStreamWriter.trigger``, such as ``{"availableNow": True}``.

    Returns
    -------
    The running ``StreamingQuery``.
    """
    needs.pyspark()
    if plan.noise.ordered or not as_source(rng).for_release:
        raise NotSupported(
            "streams are published with secure independent noise: correlated and seeded noise "
            "depend on a row's place in its series, which no batch knows"
        )
    if plan.loss.length is not None:
        raise InvalidInput(
            "plan", f"a plan for at most {plan.loss.length} points", "a plan for any number",
            "A stream has no last point: leave out length.",
        )  # fmt: skip
    layout = Layout(column, series)
    request = Request(
        layout, threshold, edges, states, labels, plan=plan, chain_origin=origin, missing=missing
    )
    table = SparkTable(frame)
    if not frame.isStreaming:
        raise InvalidInput("frame", "a table at rest", "a stream", "Use sanitize.")
    layout.check(table)
    check_types(table, layout, find_discretizer(table, request))
    folder = _folder(local_path(path))
    writer = frame.writeStream.foreachBatch(_Batches(folder, request))
    writer = writer.option("checkpointLocation", f"file://{folder / CHECKPOINT}")
    return (writer if trigger is None else writer.trigger(**trigger)).start()


@dataclass(frozen=True)
class _Batches:
    """Writes each micro-batch once."""

    folder: Path
    request: Request

    def __call__(self, frame: Any, number: int) -> None:
        goal = Goal(self.folder / f"batch-{number:010d}.parquet")
        if goal.path.exists() or frame.isEmpty():
            return
        # A certificate without its folder is left from an attempt that ended in between.
        goal.certificate_path.unlink(missing_ok=True)
        release(SparkTable(frame), self.request, goal)


def _folder(path: Path) -> Path:
    """The folder of a new stream, or of one that goes on."""
    if not path.parent.is_dir():
        raise InvalidInput("path", str(path), "a folder that exists")
    path.mkdir(exist_ok=True)
    known = (path / CHECKPOINT / "metadata").exists()
    if not known and any(path.iterdir()):
        raise InvalidInput(
            "path", f"{path}, which is not empty and has no {CHECKPOINT}", "a new folder, or "
            "that of a stream to go on with", "Batches would be numbered from 0 again.",
        )  # fmt: skip
    for left in path.glob(".batch-*.part"):
        # From a driver that was killed: noise that nobody has seen.
        shutil.rmtree(left, ignore_errors=True)
    return path
