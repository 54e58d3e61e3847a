"""``sanitize_stream``: a release that grows, batch by batch, each drawn once.

Spark runs a micro-batch again when the query failed before the batch was noted as done. The
batch then has the same number and the same rows. Each batch becomes a folder that appears
whole, named by its number: a batch whose folder is there is not drawn again, and one that is
not there was never seen by anybody.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chainveil.errors import ChainveilWarning, InvalidInput, NotSupported
from chainveil.mechanism.randomness import Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.plan import NoisePlan
from chainveil.spark import needs
from chainveil.spark.sink import FolderSink
from chainveil.spark.staging import local_path
from chainveil.spark.survey import SPARK
from chainveil.spark.table import SparkTable, check_types
from chainveil.table.release import release_table
from chainveil.table.request.discretize import Label
from chainveil.table.request.kept import make_kept
from chainveil.table.request.request import Layout, Request, StateRules
from chainveil.table.states.prepare import find_discretizer
from chainveil.table.write.locks import is_abandoned
from chainveil.table.write.publishing import recover, remove

CHECKPOINT = "_checkpoint"


def sanitize_stream(
    frame: Any,
    plan: NoisePlan,
    *,
    column: str,
    path: str | Path,
    series: str | None = None,
    time: str | None = None,
    threshold: float | Sequence[float] | None = None,
    states: Sequence[Label] | None = None,
    labels: Sequence[Label] | None = None,
    missing: Missing = "error",
    keep: Sequence[str] = (),
    keep_time: bool = False,
    time_as: str | float | None = None,
    allow_leak: Sequence[str] = (),
    rng: Source | None = None,
    trigger: dict[str, Any] | None = None,
) -> Any:
    """Publish one column of a stream with independent noise; each micro-batch is a release.

    Parameters
    ----------
    frame : streaming Spark frame
        From a source that can be read again, such as files or Kafka.
    plan : NoisePlan
        Independent noise on every point, for series of any length.
    column, series, time, threshold, states, labels, missing
        As in :func:`chainveil.sanitize_table`. Times are checked within each batch.
    keep, keep_time, time_as, allow_leak
        As in :func:`chainveil.sanitize_table`; no batch knows positions. Columns are tested in
        every batch, with false alarms in at most 1 in 100 streams, however long.
    path : str or Path
        The folder to write; the driver and all workers must share it. Batch 7 is the folder
        ``batch-0000000007.parquet`` with its certificate beside it. The query's own notes
        are in ``_checkpoint``; they belong to the release and must not be removed.
    rng : optional
        None, or a secure source.
    trigger : dict, optional
        Arguments of ``DataStreamWriter.trigger``, such as ``{"availableNow": True}``.

    Returns
    -------
    The running ``StreamingQuery``.
    """
    needs.pyspark()
    rare = plan.noise.every > 1
    if plan.noise.ordered or rare or not as_source(rng).for_release:
        raise NotSupported(
            "streams are published with secure independent noise on every row: noise with a "
            "memory, rare reports and seeded noise depend on a row's place in its series, which no "
            "batch knows"
        )
    if plan.loss.length is not None:
        raise InvalidInput(
            "plan", f"a plan for at most {plan.loss.length} points", "a plan for any number",
            "A stream has no last point: leave out length.",
        )  # fmt: skip
    kept = make_kept(keep, keep_time, time_as, allow_leak)
    if kept.positions:
        raise NotSupported("positions in a stream: no batch knows how long its series are already")
    layout = Layout(column, series, time)
    rules = StateRules(threshold, states, labels, missing)
    request = Request(layout, rules, plan=plan, kept=kept)
    table = SparkTable(frame)
    if not frame.isStreaming:
        raise InvalidInput("frame", "a table at rest", "a stream", "Use sanitize.")
    request.check(table)
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
        sink = FolderSink(self.folder / f"batch-{number:010d}.parquet")
        recover([sink.path, sink.certificate_path])
        if sink.path.exists() or frame.isEmpty():
            return
        with warnings.catch_warnings():
            # Few rows: that all of them are in one state means nothing.
            warnings.simplefilter("ignore", ChainveilWarning)
            release_table(SparkTable(frame), sink, self._asked(number), reader=SPARK)

    def _asked(self, number: int) -> Request:
        """The request with its share of false alarms: those of all batches add up to the whole."""
        share = 6 / (math.pi * (number + 1)) ** 2
        kept = self.request.kept
        return replace(self.request, kept=replace(kept, false_alarms=share * kept.false_alarms))


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
        if is_abandoned(left):
            remove(left)
    return path
