"""What a release shows of itself, to be held against its certificate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from chainveil.certificate.document import Certificate
from chainveil.certificate.make import Released, ReleasedFile
from chainveil.certificate.parts import listing_digest
from chainveil.errors import InvalidInput
from chainveil.mechanism.reading import Missing
from chainveil.table.error_text import check_column
from chainveil.table.read.frames import FrameSource
from chainveil.table.read.reading import FileSource, open_source
from chainveil.table.request.discretize import Codes, Discretizer
from chainveil.table.request.request import Readable, one_column
from chainveil.table.states.groups import GroupColumn
from chainveil.table.states.prepare import Progress
from chainveil.table.states.tracker import Columns, Tracker


def released_facts(
    certificate: Certificate,
    release: Any,
    form: str | None = None,
    header: bool = True,
    progress: Progress | None = None,
    **text: Any,
) -> Released:
    """Rows, series and digests of a release, read with the labels of its certificate.

    ``text`` is how text is read, as in :func:`chainveil.table.read.reading.open_source`.
    """
    discretizer = discretizer_of(certificate)
    column, series = certificate["release.column"], certificate["release.series_column"]
    table = _open(release, form, header, text)
    check_column("column", column, table.columns)
    check_column("series", series, table.columns)
    check_column("group", certificate["groups.column"], table.columns)
    tracker = Tracker(series, None)
    parts = table.parts if isinstance(table, FileSource) else [table]
    groups = _Groups(certificate, discretizer) if certificate.groups else None
    states = [
        _states(part, column, series, discretizer, tracker, groups, progress) for part in parts
    ]
    seen, longest = (tracker.rows, tracker.series), tracker.longest
    gaps = sum(part.gaps for part in states)
    names = table.all_columns if isinstance(table, FrameSource) else table.columns
    kept = tuple(name for name in names if name not in (column, series))
    rest: dict[str, Any] = {"longest": longest, "kept": kept}
    rest["groups"] = {} if groups is None else groups.facts()
    if not isinstance(table, FileSource) or not table.is_folder:
        file = _file(table) if isinstance(table, FileSource) else None
        return Released(column, series, *seen, states[0].sha256, file, gaps, **rest)
    files = [Path(part.name).name for part in table.parts]
    whole = listing_digest(
        (name, part.rows, part.sha256) for name, part in zip(files, states, strict=True)
    )
    file = _file(table)
    return Released(column, series, *seen, whole, file, gaps, parts=len(files), **rest)


@dataclass(frozen=True)
class _States:
    """Rows and gaps of a table or part, and the digest of its states."""

    rows: int
    gaps: int
    sha256: str


class _Groups:
    """What the rows of each group show, which the certificate says of each too."""

    def __init__(self, certificate: Certificate, discretizer: Discretizer) -> None:
        labels = list(certificate.groups)
        self.column = GroupColumn(certificate["groups.column"], labels)
        self._released, self._discretizer = certificate["release.column"], discretizer
        self._series = certificate["release.series_column"]
        self._trackers = [Tracker(self._series, None) for _ in labels]
        self._digests = [hashlib.sha256() for _ in labels]
        self._gaps = [0 for _ in labels]

    def see(self, batch: pa.RecordBatch, codes: Codes, series: str, first_row: int) -> None:
        numbers = self.column.numbers(one_column(batch, self.column.name), first_row)
        owner = one_column(batch, series)
        for group in np.unique(numbers).tolist():
            here = numbers == group
            states = codes[here]
            self._digests[group].update(states.data)
            self._gaps[group] += int(np.count_nonzero(self._discretizer.gaps(states)))
            rows = Columns(owner.filter(pa.array(here)), None, None)
            self._trackers[group].update(rows, len(states))

    def facts(self) -> dict[Any, Released]:
        """By the label of the group, of those that have rows."""
        found = zip(self.column.labels, self._trackers, self._digests, self._gaps, strict=True)
        return {
            label: Released(self._released, self._series, tracker.rows, tracker.series,
                            digest.hexdigest(), gaps=gaps, longest=tracker.longest)
            for label, tracker, digest, gaps in found
            if tracker.rows
        }  # fmt: skip


def _states(
    table: Readable,
    column: str,
    series: str | None,
    discretizer: Discretizer,
    tracker: Tracker,
    groups: _Groups | None,
    progress: Progress | None,
) -> _States:
    digest, before, gaps = hashlib.sha256(), tracker.rows, 0
    names = [column, series, None if groups is None else groups.column.name]
    for batch in table.batches([name for name in names if name is not None]):
        codes = discretizer.read_back(one_column(batch, column), column, tracker.rows)
        digest.update(codes.data)
        gaps += int(np.count_nonzero(discretizer.gaps(codes)))
        if groups is not None:
            groups.see(batch, codes, str(series), tracker.rows)
        owner = None if series is None else one_column(batch, series)
        tracker.update(Columns(owner, None, None), batch.num_rows)
        if progress is not None:
            progress("checking", batch.num_rows)
    return _States(tracker.rows - before, gaps, digest.hexdigest())


def discretizer_of(certificate: Certificate) -> Discretizer:
    """How values became states and labels in a release, by its certificate."""
    if certificate["release"] is None or certificate["discretization.labels"] is None:
        raise InvalidInput("certificate", "a plan", "the certificate of a release")
    labels, edges = (tuple(certificate[f"discretization.{part}"]) for part in ("labels", "edges"))
    missing: Missing = "keep" if certificate["release.gaps"] else "error"
    return Discretizer(edges, labels, labels, missing=missing)


def _open(
    release: Any, form: str | None, header: bool, text: dict[str, Any]
) -> FileSource | FrameSource:
    if not isinstance(release, str | Path):
        return FrameSource(release)
    return open_source(release, form, header, **text)


def _file(source: FileSource) -> ReleasedFile:
    """Size and digest of a file, or of all parts of a folder."""
    found = [(Path(part.name).name, *_file_digest(part)) for part in source.parts]
    total = sum(size for _, size, _ in found)
    whole = listing_digest(found) if source.is_folder else found[0][2]
    return ReleasedFile(str(source.format), total, whole)


def _file_digest(source: FileSource) -> tuple[int, str]:
    if isinstance(source.place, bytes):
        return len(source.place), hashlib.sha256(source.place).hexdigest()
    with source.place.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest
