"""From file to file: read, discretize, add noise, write; a batch at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from chainveil.certificate import Certificate, ReleasedFile, certify
from chainveil.errors import InvalidInput
from chainveil.mechanism.randomness import Source as Randomness
from chainveil.table.read import formats
from chainveil.table.read.formats import Format
from chainveil.table.read.reading import FileSource
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.request import Request, one_column
from chainveil.table.states.column_noise import (
    ColumnNoise,
    check_length,
    check_same_rows,
    released_rows,
    warn_of_one_state,
)
from chainveil.table.states.prepare import Prepared, Progress, check_not_empty, follow, prepare
from chainveil.table.states.tracker import Tracker
from chainveil.table.write.atomic import Digested, check_apart, check_goal, drafts, real_path
from chainveil.table.write.publishing import recover
from chainveil.table.write.shaping import Shaping
from chainveil.table.write.writing import Writer, as_text, open_writer, written, written_schema

Item = TypeVar("Item")
_NO_CODES = np.empty(0, np.uint8)


@dataclass(frozen=True)
class Goal:
    """Where a release goes: a path, or standard output for ``-``; and its certificate."""

    release: str
    format: Format
    certificate: Path | None
    force: bool = False

    def check(self, table: FileSource) -> None:
        """Error now rather than after an hour."""
        recover(map(real_path, self.paths))
        # The release first: it is the one that was asked for.
        for path in reversed(self.paths):
            same = path.exists() and not isinstance(table.place, bytes)
            if same and path.samefile(str(table.place)):
                raise InvalidInput("output", f"{path}, the table itself", "another file")
            check_goal(path, self.force)
        check_apart(self.paths)

    @property
    def paths(self) -> list[Path]:
        """The files to write, in the order in which they take their names."""
        # The certificate first: a release never stands there without its own.
        release = [] if self.release == "-" else [Path(self.release)]
        return ([] if self.certificate is None else [self.certificate]) + release


def make_goal(
    release: str, table: FileSource, form: str | None, certificate: str | None, force: bool
) -> Goal:
    """A goal with the default certificate beside the release, and the format of its ending."""
    if release == "-":
        name = formats.read_name(form, "format") or table.format.name
        path = None if certificate is None else Path(certificate)
        return Goal(release, Format(name, None, table.format.delimiter), path, force)
    beside = certificate_path(release) if certificate is None else Path(certificate)
    # What stands between cells of a CSV table stands between those of the release.
    found = replace(formats.by_path(release, form, "output"), delimiter=table.format.delimiter)
    return Goal(release, found, beside, force)


def certificate_path(release: str | Path) -> Path:
    """``release.parquet`` has its certificate in ``release.certificate.json``."""
    path = Path(release)
    name = path.name
    if not name:
        raise InvalidInput("release", str(release), "a file, not a folder")
    for ending in reversed(path.suffixes):
        if ending.lower() in {**formats.ENDINGS, **formats.COMPRESSED}:
            name = name.removesuffix(ending)
    return path.with_name(name + ".certificate.json")


def sanitize_file(
    table: FileSource,
    goal: Goal,
    request: Request,
    rng: Randomness | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Release one column of a file; the certificate is written and returned."""
    goal.check(table)
    prepared = prepare(table, request, progress)
    noise = ColumnNoise(prepared.plan, rng, request.rules.missing)
    with drafts(goal.paths, goal.force) as files:
        to_stdout = goal.release == "-"
        sink = Digested(sys.stdout.buffer if to_stdout else files[-1].file)
        try:
            seen = _pour(table, goal.format, request, prepared, noise, sink, progress)
        except BaseException:
            sink.abandon()
            raise
        check_same_rows(prepared.seen, noise.rows)
        check_length(prepared.plan, seen)
        warn_of_one_state(prepared.discretizer, noise.rows, noise.lowest, noise.highest)
        file = ReleasedFile(str(goal.format), sink.bytes, sink.sha256)
        certificate = _certificate(table, request, prepared, noise, seen, file)
        if goal.certificate is not None:
            files[0].file.write(certificate.to_json().encode())
    return certificate


def _pour(
    table: FileSource,
    form: Format,
    request: Request,
    prepared: Prepared[Tracker],
    noise: ColumnNoise,
    sink: Digested,
    progress: Progress | None,
) -> Tracker:
    """Read, change and write every batch; reading and writing run beside the noise."""
    layout, kept, blocks = request.layout, request.kept, None
    tracker = noise.follower(prepared.seen, layout, kept.positions)
    shaping = Shaping(kept, layout, table.columns)
    like = table.schema.field(layout.column).type
    kind = _values(_NO_CODES, like, prepared.discretizer, form).type
    schema = written_schema(shaping.schema(table.schema, kind), form)
    # Columns are named in the file, also where the table's have no names of their own: which
    # they are could not be told any more once some are left out.
    writer = open_writer(sink, schema, form, True, table.parquet)
    with ThreadPoolExecutor(2, thread_name_prefix="chainveil") as pool:
        writing: Future[None] | None = None
        for batch in _ahead(table.batches(kept.read(layout, table.columns)), pool):
            column = one_column(batch, layout.column)
            row = noise.rows
            codes = prepared.discretizer.codes(column, layout.column, row)
            if tracker is not prepared.seen:
                blocks = follow(tracker, layout, batch, None)
            noisy = noise.apply(codes, blocks)
            values = _values(noisy, column.type, prepared.discretizer, form)
            columns = shaping.columns(batch, values, blocks, row)
            released = written(columns, schema)
            if writing is not None:
                writing.result()
            writing = pool.submit(_write, writer, released)
            if progress is not None:
                progress("releasing", batch.num_rows)
        if writing is not None:
            writing.result()
    check_not_empty(noise.rows)
    writer.close()
    return tracker


def _ahead(items: Iterator[Item], pool: ThreadPoolExecutor) -> Iterator[Item]:
    """The items, the next one being fetched while this one is used."""
    end: Any = object()
    coming = pool.submit(next, items, end)
    while (item := coming.result()) is not end:
        coming = pool.submit(next, items, end)
        yield item


def _write(writer: Writer, batch: pa.RecordBatch) -> None:
    writer.write(batch)


def _values(codes: Any, like: pa.DataType, discretizer: Discretizer, form: Format) -> pa.Array:
    """The published column."""
    values = discretizer.values(codes, like)
    # Between blanks an empty cell would not be one.
    return as_text(values, "NaN") if form.name == "text" else values


def _certificate(
    table: FileSource,
    request: Request,
    prepared: Prepared[Tracker],
    noise: ColumnNoise,
    seen: Tracker,
    file: ReleasedFile,
) -> Certificate:
    released = released_rows(table, request, noise, seen, file)
    described = prepared.discretizer.described
    return certify(prepared.plan, prepared.origin, described, noise.source, released)
