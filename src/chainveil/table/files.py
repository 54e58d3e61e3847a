"""From file to file: read, discretize, add noise, write; a batch at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from chainveil.certificate import ReleasedFile
from chainveil.errors import InvalidInput
from chainveil.table.read import formats
from chainveil.table.read.formats import Format
from chainveil.table.read.reading import FileSource
from chainveil.table.release import Draw, Drawn, RowRelease, Steps
from chainveil.table.states.prepare import Progress
from chainveil.table.states.tracker import Tracker
from chainveil.table.write.atomic import Digested, check_apart, check_goal, drafts, real_path
from chainveil.table.write.publishing import recover
from chainveil.table.write.writing import as_text, open_writer, written, written_schema

Item = TypeVar("Item")


@dataclass(frozen=True)
class FileSink:
    """A path, or standard output for ``-``; and the path of the certificate."""

    release: str
    format: Format
    certificate: Path | None
    force: bool = False

    def dress(self, values: pa.Array) -> pa.Array:
        """Between blanks an empty cell would not be one."""
        return as_text(values, "NaN") if self.format.name == "text" else values

    @contextmanager
    def claimed(self, table: FileSource) -> Iterator[Draw]:
        """Files take their names at the end; until then the paths are only looked at."""
        recover(map(real_path, self.paths))
        # The release first: it is the one that was asked for.
        for path in reversed(self.paths):
            same = path.exists() and not isinstance(table.place, bytes)
            if same and path.samefile(str(table.place)):
                raise InvalidInput("output", f"{path}, the table itself", "another file")
            check_goal(path, self.force)
        check_apart(self.paths)
        yield partial(self._drawn, table)

    @property
    def paths(self) -> list[Path]:
        """The files to write, in the order in which they take their names."""
        # The certificate first: a release never stands there without its own.
        release = [] if self.release == "-" else [Path(self.release)]
        return ([] if self.certificate is None else [self.certificate]) + release

    @contextmanager
    def _drawn(
        self, table: FileSource, steps: Steps, seen: Tracker | None, progress: Progress | None
    ) -> Iterator[Drawn]:
        rows = RowRelease(steps, table.columns, seen is None or steps.ordered)
        with drafts(self.paths, self.force) as files:
            file = Digested(sys.stdout.buffer if self.release == "-" else files[-1].file)
            try:
                drawn = self._poured(table, steps, rows, file, seen, progress)
            except BaseException:
                file.abandon()
                raise
            described = ReleasedFile(str(self.format), file.bytes, file.sha256)
            certificate = None if self.certificate is None else files[0].file
            yield replace(drawn, file=described, certificate=certificate)

    def _poured(
        self,
        table: FileSource,
        steps: Steps,
        rows: RowRelease,
        file: Digested,
        seen: Tracker | None,
        progress: Progress | None,
    ) -> Drawn:
        """Read, change and write every batch; reading and writing run beside the noise."""
        schema = written_schema(steps.schema(table.schema), self.format)
        # Columns are named in the file, also where the table's have no names of their own: which
        # they are could not be told any more once some are left out.
        writer = open_writer(file, schema, self.format, True, table.parquet)
        names = steps.kept.read(steps.layout, table.columns)
        with ThreadPoolExecutor(2, thread_name_prefix="chainveil") as pool:
            writing: Future[None] | None = None
            for batch in _ahead(table.batches(names), pool):
                released = written(rows.columns(batch), schema)
                if writing is not None:
                    writing.result()
                writing = pool.submit(writer.write, released)
                if progress is not None:
                    progress("releasing", batch.num_rows)
            if writing is not None:
                writing.result()
        drawn = rows.drawn(seen)
        writer.close()
        return drawn


def file_sink(release: str, table: FileSource, certificate: str | None, force: bool) -> FileSink:
    """A sink with the default certificate beside the release, and the format of its ending.

    On standard output a release is CSV, and has no certificate unless a path is given.
    """
    path = None if certificate is None else Path(certificate)
    if release == "-":
        found = Format("csv")
    else:
        found = formats.by_path(release, argument="output")
        path = path or certificate_path(release)
    # What stands between cells of a CSV table stands between those of the release.
    return FileSink(release, replace(found, delimiter=table.format.delimiter), path, force)


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


def _ahead(items: Iterator[Item], pool: ThreadPoolExecutor) -> Iterator[Item]:
    """The items, the next one being fetched while this one is used."""
    end: Any = object()
    coming = pool.submit(next, items, end)
    while (item := coming.result()) is not end:
        coming = pool.submit(next, items, end)
        yield item
