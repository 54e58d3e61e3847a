"""A release that grows, micro-batch by micro-batch, each drawn once.

Spark runs a micro-batch again when the query failed before the batch was noted as done. The
batch then has the same number and the same rows. Each batch becomes a folder that appears
whole, named by its number: a batch whose folder is there is not drawn again, and one that is
not there was never seen by anybody.

A batch holds series and report. Its rows are in the order of series and report, so that their order
says nothing. The pseudonyms are the same in all batches of a query: the key that makes them lies in
the folder of the query's own notes, which is not published.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.randomness import secure
from chainveil.mechanism.rows import RowNoise
from chainveil.next.certificate.make import Discretization, Released, certify
from chainveil.next.spark.release import (
    check_session,
    mapped,
    quoted,
    schema_of,
)
from chainveil.next.spark.sink import (
    TELLS,
    Names,
    Part,
    local_path,
    marked,
    released,
    staging,
    surfaced,
    write_part,
)
from chainveil.next.table.release import SERIES, check_declared
from chainveil.next.table.states import (
    GAP,
    Discretizer,
    Request,
    find_discretizer,
)
from chainveil.next.table.write import certificate_path, outputs

CHECKPOINT, KEY = "_checkpoint", "pseudonyms.key"


def sanitize_stream(
    frame: Any, request: Request, path: str | Path, *, trigger: dict[str, Any] | None = None
) -> Any:
    """Publish one column of a stream with independent noise; each micro-batch is a release.

    Parameters
    ----------
    frame : streaming Spark frame
        From a source that can be read again, such as files or Kafka.
    request : Request
        ``plan``, with independent noise on every point for series of any length; ``column``,
        ``series``, how values become states, and ``missing``.
    path : str or Path
        The folder to write; the driver and all workers must share it. Batch 7 is the folder
        ``batch-0000000007.parquet`` with its certificate beside it. The query's own notes
        are in ``_checkpoint``; they are private, and must not be removed.
    trigger : dict, optional
        Arguments of ``DataStreamWriter.trigger``, such as ``{"availableNow": True}``.

    Returns
    -------
    The running ``StreamingQuery``.
    """
    check_session(frame)
    if not frame.isStreaming:
        raise InvalidInput("frame", "a table at rest", "a stream", "Use sanitize.")
    table = schema_of(frame)
    request.check(table)
    check_declared(request, table.columns)
    plan = request.plan
    if plan is None or plan.noise.ordered or plan.noise.every > 1:
        raise NotSupported(
            "streams are published with a plan of independent noise on every row: noise with a "
            "memory and rare reports depend on a row's place in its series, which no batch knows"
        )
    if plan.loss.length is not None:
        raise InvalidInput(
            "plan", f"a plan for at most {plan.loss.length} points", "a plan for any number",
            "A stream has no last point: leave out length.",
        )  # fmt: skip
    if request.time is not None or request.public or request.group is not None:
        raise NotSupported("time, public columns and groups in a stream: a batch holds series and "
                           "report alone")  # fmt: skip
    discretizer = find_discretizer(table, request)
    folder = _folder(local_path(path))
    names = Names(None if request.series is None or request.series_names == "original"
                  else _key(folder))  # fmt: skip
    writer = frame.writeStream.foreachBatch(_Batches(folder, request, discretizer, names))
    writer = writer.option("checkpointLocation", f"file://{folder / CHECKPOINT}")
    return (writer if trigger is None else writer.trigger(**trigger)).start()


def _folder(path: Path) -> Path:
    """The folder of a new stream, or of one that goes on."""
    if not path.parent.is_dir():
        raise InvalidInput("path", str(path), "a folder that exists")
    path.mkdir(exist_ok=True)
    known = (path / CHECKPOINT / "metadata").exists()
    if not known and any(entry.name != CHECKPOINT for entry in path.iterdir()):
        raise InvalidInput(
            "path", f"{path}, which is not empty and has no {CHECKPOINT}", "a new folder, or "
            "that of a stream to go on with", "Batches would be numbered from 0 again.",
        )  # fmt: skip
    (path / CHECKPOINT).mkdir(mode=0o700, exist_ok=True)
    return path


def _key(folder: Path) -> bytes:
    """The key of the pseudonyms of a query, for its owner alone."""
    path = folder / CHECKPOINT / KEY
    if not path.exists():
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(os.urandom(32))
            os.fsync(file.fileno())
    key = path.read_bytes()
    if len(key) != 32:
        raise InvalidInput("path", f"{path}, which is no key", "the folder of a stream as it was")
    return key


@dataclass(frozen=True)
class _Batches:
    """Writes each micro-batch once."""

    folder: Path
    request: Request
    discretizer: Discretizer
    names: Names

    def __call__(self, frame: Any, number: int) -> None:
        request, plan = self.request, self.request.plan
        assert plan is not None
        goal = self.folder / f"batch-{number:010d}.parquet"
        if goal.exists() or frame.isEmpty():
            return
        beside = certificate_path(goal)
        # The folder is not there: a certificate was left by a run that nobody has seen.
        beside.unlink(missing_ok=True)
        wanted = [name for name in (request.series, request.column) if name is not None]
        rows = frame.select(*map(quoted, wanted))
        if request.series is not None:
            rows = rows.repartition(quoted(request.series))
        with staging(goal, False) as place:
            with outputs([beside]) as (draft,):
                task = _WriteBatch(request, self.discretizer, self.names, str(place.attempts))
                with surfaced():
                    found = [Part(**row.asDict()) for row in mapped(rows, task, TELLS).collect()]
                files = place.gather(found)
                named = () if request.series is None else (SERIES,)
                base = Released(
                    request.column, 0, 0, "", "", (*named, request.column),
                    series_names=request.series_names if named else None,
                )  # fmt: skip
                shown = released(files, found, base, self.discretizer.labels)
                made = self.discretizer
                states = Discretization(made.kind, made.edges, made.labels, made.origin)
                certificate = certify(plan, discretization=states, source="release", released=shown)
                draft.file.write(certificate.to_json().encode())
            place.place(False)


@dataclass(frozen=True)
class _WriteBatch:
    """A task that draws the noise of its rows and writes them to a file of its own."""

    request: Request
    discretizer: Discretizer
    names: Names
    folder: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """At most one row, about the file."""
        import pyarrow as pa

        with marked():
            held = [batch for batch in batches if batch.num_rows]
            if not held:
                return
            frame, reports = self._drawn(pl.DataFrame(pa.Table.from_batches(held)))
            keeps = self.discretizer.missing == "keep"
            part = write_part(frame, reports, keeps, self.folder)
            yield pa.RecordBatch.from_pylist([vars(part)])

    def _drawn(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, Any]:
        request, plan = self.request, self.request.plan
        assert plan is not None
        column = rows.get_column(request.column)
        codes = self.discretizer.codes(column)
        gaps = self.discretizer.gaps(codes)
        reports = RowNoise(plan.noise, secure()).apply(np.where(gaps, np.uint8(0), codes))
        reports[gaps] = GAP
        columns = []
        order: Any = np.argsort(reports, kind="stable")
        if request.series is not None:
            series = rows.get_column(request.series).cast(pl.String)
            unique = series.unique()
            if unique.null_count():
                raise InvalidInput(request.series, "no name", "a series in every row")
            made = self.names.publish(unique.to_list())
            published = series.replace_strict(unique, made, return_dtype=pl.String)
            order = pl.DataFrame({"series": published, "report": reports}).select(
                pl.arg_sort_by("series", "report")
            ).to_series().to_numpy()  # fmt: skip
            columns.append(pl.Series(SERIES, published.gather(order).to_list(), dtype=pl.String))
        reports = reports[order]
        columns.append(self.discretizer.values(reports, request.column, column.dtype))
        return pl.DataFrame(columns), reports
