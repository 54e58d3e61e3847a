"""``sanitize``: a Spark frame in, a folder with one release and its certificate out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chainveil.certificate import Certificate
from chainveil.mechanism.randomness import Source
from chainveil.mechanism.reading import Missing
from chainveil.model.base import DataModel
from chainveil.noise.base import Noise
from chainveil.noise.channel import Channel
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.problem import Every, Objective, Shape, Unit
from chainveil.spark import needs
from chainveil.spark.sink import FolderSink
from chainveil.spark.staging import local_path
from chainveil.spark.survey import SPARK
from chainveil.spark.table import SparkTable
from chainveil.table.read.frames import FrameSource
from chainveil.table.release import release_table
from chainveil.table.request.discretize import Label
from chainveil.table.request.kept import make_kept
from chainveil.table.request.request import (
    Layout,
    Order,
    Promise,
    Readable,
    Request,
    StateRules,
    Threshold,
)


@dataclass(frozen=True)
class SparkRelease:
    """A release that was written, and what is promised about it.

    Attributes
    ----------
    table : Spark frame
        Read from the folder: evaluate it as often as you like, it is the same release.
    certificate : Certificate
    path : Path
        The folder.
    """

    table: Any
    certificate: Certificate
    path: Path


def sanitize(
    frame: Any,
    plan: NoisePlan | None = None,
    *,
    column: str,
    path: str | Path,
    epsilon: float | None = None,
    series: str | None = None,
    time: str | None = None,
    threshold: Threshold | None = None,
    states: Sequence[Label] | None = None,
    labels: Sequence[Label] | None = None,
    chain: DataModel | None = None,
    reference: Any = None,
    order: Order = 1,
    step: float | None = None,
    max_gap: float | None = None,
    max_length: int | None = None,
    adversary: AdversaryName | Adversary = "any",
    objective: Objective = "wrong-reports",
    mechanism: str | None = None,
    every: Every = 1,
    unit: Unit = "point",
    missing: Missing = "error",
    shape: Shape = "uniform",
    earlier: Sequence[Noise] = (),
    keep: Sequence[str] = (),
    keep_time: bool = False,
    time_as: str | float | None = None,
    allow_leak: Sequence[str] = (),
    rng: Source | None = None,
    certificate: str | Path | None = None,
    force: bool = False,
) -> SparkRelease:
    """Publish one column of a Spark frame under Bayesian differential privacy.

    Noise is drawn once and written; what comes back is read from what was written. A lazy
    frame would draw new noise whenever it is evaluated.

    Parameters
    ----------
    frame : Spark frame
        The table. Its rows may lie in any order.
    plan : NoisePlan, optional
        The noise; else ``epsilon`` and a chain, as in :func:`chainveil.sanitize_table`.
    column : str
        The values to publish, with those of ``series``, and other columns that are named.
    path : str or Path
        The folder to write, of Parquet files. The driver and all workers must share it.
    series, time : str, optional
        Columns that name the series of a row and its time. Times are checked where they are
        given, which sorts the rows of each series. Noise with a memory, rare reports, seeded
        noise, positions, and a chain fitted on the frame need them; secure independent noise on
        every row does not, and without ``time`` no row is moved.
    certificate : str or Path, optional
        Where the certificate goes; by default beside the folder.
    force : bool
        Whether a release that stands there is replaced.
    epsilon, threshold, states, labels, chain, reference, order : optional
        As in :func:`chainveil.sanitize_table`; ``reference`` may be a Spark frame. A chain that
        is fitted is one for all series together, on whose own chains the noise may lose more: give
        a :class:`chainveil.ModelFamily` for a promise that holds for each.
    step, max_gap, max_length, adversary, objective, missing, every, unit : optional
        As in :func:`chainveil.sanitize_table`.
    mechanism : str, optional
        As in :func:`chainveil.sanitize_table`; without a name independent noise where there is
        no ``time``, since the rows of a Spark frame have no order.
    shape, earlier, keep, keep_time, time_as, allow_leak, rng : optional
        As in :func:`chainveil.sanitize_table`.
    """
    needs.pyspark()
    request = Request(
        Layout(column, series, time, step, max_gap),
        StateRules(threshold, states, labels, missing),
        Promise(
            epsilon, max_length, adversary, objective, named_where_unordered(mechanism, time),
            shape, earlier, every, unit,
        ),
        chain, plan, as_table(reference), make_kept(keep, keep_time, time_as, allow_leak),
        order,
    )  # fmt: skip
    sink = FolderSink(local_path(path), certificate, force)
    made = release_table(SparkTable(frame), sink, request, rng, reader=SPARK)
    return SparkRelease(read_back(frame.sparkSession, sink.path), made, sink.path)


def named_where_unordered(mechanism: str | None, time: str | None) -> str | None:
    """The mechanism, where rows without a time leave but one that needs no order."""
    return Channel.kind if mechanism is None and time is None else mechanism


def as_table(frame: Any) -> Readable | None:
    """A reference table, of Spark or any other kind; None stays None."""
    if frame is None:
        return None
    return SparkTable(frame) if hasattr(frame, "mapInArrow") else FrameSource(frame)


def read_back(session: Any, path: Path) -> Any:
    """The frame that a folder holds."""
    return session.read.parquet(spark_path(path))


def spark_path(path: Path) -> str:
    """A path to the letter: Spark would take some characters for patterns."""
    return "file://" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path))
