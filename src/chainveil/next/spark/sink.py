"""A folder of Parquet files that Spark's tasks write, one a partition; whole, or not there.

Spark may run a task again: after a failure, because it is slow, because an executor was lost. Each
attempt would draw other noise for the same rows, and two of them together say more than one is
allowed to. So every attempt writes a file of its own into a hidden folder, and tells the driver its
name. Spark gives the driver one answer for each partition, that of one attempt, whatever else ran.
Only the files named in these answers are moved into the release; the hidden folder is removed with
all the others in it, and an attempt that still runs then has no folder left to write to.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from chainveil import errors
from chainveil.errors import ChainveilError, EngineFailure, InvalidInput
from chainveil.next.certificate.make import Released, ReleasedFile, listing_digest
from chainveil.next.table.read import Format, Name, open_table
from chainveil.next.table.release import (
    SERIES,
    ColumnDigest,
    Prepared,
    RowsDigest,
    drawn_frame,
    pseudonym,
)
from chainveil.next.table.states import (
    GAP,
    Codes,
    Discretizer,
    Plans,
    Points,
    Request,
    arrange,
)
from chainveil.next.table.write import real_path, write_frame

FORMAT: Name = "parquet"
COLLISION = "two series with one pseudonym"


# --- in a task -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A file that one attempt of one task has written, and nobody has seen yet.

    ``points`` are the rows that came, ``rows`` those of the file.
    """

    partition: int
    file: str
    points: int
    rows: int
    series: int
    gaps: int
    splits: int
    bytes: int
    sha256: str


TELLS = (
    "partition bigint, file string, points bigint, rows bigint, series bigint, gaps bigint, "
    "splits bigint, bytes bigint, sha256 string"
)


@dataclass(frozen=True)
class Names:
    """What the series are called in the release; ``key`` None: their own names."""

    key: bytes | None

    def publish(self, names: list[str]) -> list[str]:
        """The published names; an error where two are the same."""
        if self.key is None:
            return names
        made = [pseudonym(self.key, name) for name in names]
        if len(set(made)) < len(made):
            raise ChainveilError(COLLISION)
        return made

    def added(self, column: str, name: str) -> Any:
        """A task that adds the pseudonyms of a column to its rows, under a name."""

        def add(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            with marked():
                for batch in batches:
                    series = pl.Series(batch.column(column)).cast(pl.String)
                    unique = series.unique()
                    if unique.null_count():
                        raise InvalidInput(column, "no name", "a series in every row")
                    made = self.publish(unique.to_list())
                    found = series.replace_strict(unique, made, return_dtype=pl.String)
                    yield pa.RecordBatch.from_arrays(
                        [*batch.columns, found.to_arrow().cast(pa.string())],
                        names=[*batch.schema.names, name],
                    )

        return add


@dataclass(frozen=True)
class Rows:
    """A task that is handed whole series, and sees them as points."""

    request: Request
    discretizer: Discretizer
    names: Names

    def read(self, batches: Iterator[Any]) -> tuple[Any, Points] | None:
        """The table and the points of a partition; None where it has no rows."""
        import pyarrow as pa

        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return None
        frame = pl.DataFrame(pa.Table.from_batches(held))
        table = open_table(frame)
        return table, arrange(table, self.request, self.discretizer, self.names.publish)


@dataclass(frozen=True)
class Count(Rows):
    """Counts contexts of the orders that a model may have."""

    orders: tuple[int, ...] = (1,)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """At most one row: rows, series, and counts as bytes."""
        import pyarrow as pa

        with marked():
            found = self.read(batches)
            if found is None:
                return
            points = found[1]
            counts = [points.counts(order, order).tobytes() for order in self.orders]
            reach = [points.reach(order) for order in self.orders]
            yield pa.RecordBatch.from_pylist(
                [{"points": len(points.codes), "counts": counts, "reach": reach}]
            )


COUNTS = "points bigint, counts array<binary>, reach array<bigint>"


@dataclass(frozen=True)
class Write(Rows):
    """Draws the noise of whole series and writes them to a file of its own."""

    plans: Plans = field(default_factory=lambda: Plans(()))
    source: Any = None
    folder: str = ""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """At most one row, about the file."""
        import pyarrow as pa

        with marked():
            found = self.read(batches)
            if found is None:
                return
            table, points = found
            prepared = Prepared(
                table, self.request, self.discretizer, points, self.plans, self.source
            )
            frame, reports, _ = drawn_frame(prepared)
            part = write_part(frame, reports, points.missing == "keep", self.folder)
            part = replace(part, points=len(points.codes), splits=points.splits)
            yield pa.RecordBatch.from_pylist([vars(part)])


def write_part(frame: pl.DataFrame, reports: Codes, keeps: bool, folder: str) -> Part:
    """Write the rows of a task to a file of its own, that no other attempt has the name of."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    number, attempt = context.partitionId(), context.taskAttemptId()
    path = Path(folder) / f"{number}-{attempt}-{secrets.token_hex(8)}.parquet"
    try:
        with path.open("xb") as file:
            write_frame(frame, Format(FORMAT), file)
            file.flush()
            os.fsync(file.fileno())
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    gaps = int(np.count_nonzero(reports == GAP)) if keeps else 0
    series = frame.get_column(SERIES).n_unique() if SERIES in frame.columns else 1
    rows = frame.height
    return Part(number, path.name, rows, rows, series, gaps, 0, path.stat().st_size, digest)


# --- errors that cross Spark -----------------------------------------------------------------

# Spark hands on the text of an error, wrapped in the texts of others: ours is told by marks.
_MARKED = re.compile(r"<chainveil:([A-Za-z0-9_=-]+)>")
_PLAIN = (str, int, float, bool, type(None))
# Rows of a Spark frame have no numbers.
_ROW = re.compile(r"It stands in row \d+ \(rows counted from 1, without a header\)\.\s?")
_ROWS = re.compile(r", in rows \d+ and \d+| in row \d+| ?\(Rows are counted from 1[^)]*\)")


class TaskFailure(Exception):
    """Carries one of our errors through Spark, as text."""


@contextmanager
def marked() -> Iterator[None]:
    """Within a task: our errors leave it in a form that survives the way to the driver."""
    try:
        yield
    except ChainveilError as error:
        raise TaskFailure(_mark(error)) from None
    except (pl.exceptions.PolarsError, OSError) as error:
        told = re.search(r"os error (\d+)", str(error))
        code = getattr(error, "errno", None) or (int(told[1]) if told else None)
        if code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            full = InvalidInput("output", "no space left where the release is written",
                                "room for the whole release", "Nothing was written.")  # fmt: skip
            raise TaskFailure(_mark(full)) from None
        # Others may quote values.
        raise TaskFailure(_mark(EngineFailure("Polars", type(error).__name__))) from None


def _mark(error: ChainveilError) -> str:
    parts: list[Any] = [str(error)]
    if isinstance(error, EngineFailure):
        parts = [error.engine, error.reason]
    if isinstance(error, InvalidInput):
        found = error.found if isinstance(error.found, _PLAIN) else str(error.found)
        parts = [error.argument, found, error.allowed, error.advice]
    parts = [_ROWS.sub("", _ROW.sub("", p)).strip() if isinstance(p, str) else p for p in parts]
    text = json.dumps([type(error).__name__, parts])
    return f"<chainveil:{base64.urlsafe_b64encode(text.encode()).decode()}>"


@contextmanager
def surfaced() -> Iterator[None]:
    """On the driver: whatever went wrong in a job, as an error of ours."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        marks = _MARKED.search(str(error))
        if marks is not None:
            name, parts = json.loads(base64.urlsafe_b64decode(marks[1]))
            raise getattr(errors, name, ChainveilError)(*parts) from None
        # Spark's own report may quote rows.
        raise EngineFailure("Spark", _in_words(error)) from None
    except ConnectionError:
        raise EngineFailure("Spark", "its Java has ended: killed, or out of memory") from None


def _in_words(error: Exception) -> str:
    """What Spark's report says most clearly, but for the rows that it may quote."""
    from pyspark.errors import AnalysisException

    text = str(error)
    if "No module named 'chainveil'" in text:
        return "chainveil is not installed for the Python that the workers run"
    if "No space left on device" in text:
        return "no space left on a device"
    if isinstance(error, AnalysisException):
        # About names, types and paths, before any row is read.
        return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
    kinds = re.findall(
        r"^\s*(?:Caused by: )?([A-Za-z_.]*(?:Error|Exception))\b", text, re.MULTILINE
    )
    name = kinds[-1] if kinds else type(error).__name__
    return f"{name}; what it says is left out, as it may quote rows"


# --- the folder ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Staging:
    """A hidden folder beside the goal, in which a release is put together."""

    goal: Path
    folder: Path

    @property
    def attempts(self) -> Path:
        """Where tasks write."""
        return self.folder / "attempts"

    @property
    def release(self) -> Path:
        """What will become the release."""
        return self.folder / "release"

    def gather(self, parts: Sequence[Part]) -> list[Path]:
        """Take one file for each partition, and give it the name it will keep."""
        chosen = sorted(parts, key=lambda part: part.partition)
        if len({part.partition for part in chosen}) < len(chosen):
            raise AssertionError("two answers for one partition")
        width = max(5, len(str(len(chosen))))
        for number, part in enumerate(chosen):
            path = self.attempts / part.file
            if not path.is_file() or path.stat().st_size != part.bytes:
                raise InvalidInput(
                    "output", f"{self.goal}: a part that a worker wrote cannot be seen here",
                    "a folder that the driver and all workers share under this path",
                )  # fmt: skip
            path.rename(self.release / f"part-{number:0{width}d}.parquet")
        return sorted(self.release.iterdir())

    def place(self, force: bool) -> None:
        """Give the folder its name; with ``force`` in place of an older release."""
        if force and self.goal.exists():
            self.goal.rename(self.folder / "old")
        if os.path.lexists(self.goal):
            raise _exists(self.goal)
        self.release.rename(self.goal)


@contextmanager
def staging(goal: Path, force: bool) -> Iterator[Staging]:
    """A hidden folder that is gone at the end, with everything that was not published.

    The driver claims it while it lives; what a driver that was killed has left, the next one
    for the same goal removes.
    """
    check_folder(goal, force)
    pattern = re.compile(re.escape(f".{goal.name}.") + r"[0-9a-f]{8}\.part")
    for path in [path for path in goal.parent.iterdir() if pattern.fullmatch(path.name)]:
        if _is_abandoned(path):
            shutil.rmtree(path, ignore_errors=True)
    made = Staging(goal, goal.with_name(f".{goal.name}.{secrets.token_hex(4)}.part"))
    try:
        made.attempts.mkdir(parents=True)
        made.release.mkdir()
    except PermissionError as error:
        raise InvalidInput("output", f"{goal.parent}: {error.strerror}",
                           "a folder that may be written to") from None  # fmt: skip
    handle = os.open(made.folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield made
    finally:
        # A lost attempt may be writing into it at this moment.
        for _ in range(10):
            shutil.rmtree(made.folder, ignore_errors=True)
            if not made.folder.exists():
                break
            time.sleep(0.2)
        os.close(handle)


def _is_abandoned(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        ours = os.fstat(handle).st_uid == os.geteuid()
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return ours


def local_path(path: str | Path) -> Path:
    """A path that driver and workers share; other addresses are refused."""
    text = str(path)
    scheme, found, rest = text.partition("://")
    if found and scheme != "file":
        raise InvalidInput(
            "output", text, "a folder that the driver and all workers share under one path",
            "Mount the store, or copy the finished release there.",
        )  # fmt: skip
    return real_path(Path(rest if found else text.removeprefix("file:")).absolute())


def check_folder(goal: Path, force: bool) -> None:
    """Error if something would be replaced that is not an older release."""
    if not goal.parent.is_dir():
        raise InvalidInput("output", str(goal), "a folder that exists")
    if not os.path.lexists(goal):
        return
    if not stat.S_ISDIR(goal.lstat().st_mode):
        raise InvalidInput("output", f"{goal}, which is no folder", "a folder, or a new name")
    if not force:
        raise _exists(goal)
    if any(path.suffix != ".parquet" for path in goal.iterdir()):
        raise InvalidInput(
            "output", f"{goal}, a folder with other things in it", "a folder of Parquet files"
        )


def _exists(goal: Path) -> InvalidInput:
    return InvalidInput(
        "output", f"{goal}, which exists", "a new folder", "Overwrite it with --force."
    )


def released(
    files: Sequence[Path], parts: Sequence[Part], base: Released, labels: tuple[Any, ...]
) -> Released:
    """What the part files show: digests over all of them, in their order."""
    reports, rows = hashlib.sha256(), RowsDigest()
    columns = [ColumnDigest(column.name) for column in base.columns]
    listing = []
    chosen = sorted(parts, key=lambda part: part.partition)
    missing: Any = "keep" if any(part.gaps for part in parts) else "error"
    reader = Discretizer((), labels, labels, missing=missing)
    for file, part in zip(files, chosen, strict=True):
        frame = pl.read_parquet(file.read_bytes())
        reports.update(reader.read_back(frame.get_column(base.column)).tobytes())
        rows.update(frame)
        for column, digest in zip(base.columns, columns, strict=True):
            digest.update(frame.get_column(column.name))
        listing.append((file.name, part.bytes, part.sha256))
    size = sum(part.bytes for part in chosen)
    file_facts = ReleasedFile(FORMAT, size, listing_digest(listing), len(listing))
    return replace(
        base, rows=sum(p.rows for p in parts), series=sum(p.series for p in parts),
        gaps=sum(p.gaps for p in parts), splits=sum(p.splits for p in parts),
        reports_sha256=reports.hexdigest(), rows_sha256=rows.hexdigest(),
        columns=tuple(digest.described for digest in columns), file=file_facts,
    )  # fmt: skip
