"""A release as others read it: to verify it, and to answer questions from it.

Series and position say which row is which. A release may therefore have been filtered by series or
by public columns, shuffled, or saved in another format: its answers stay the same.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chainveil.errors import ChainveilError, InvalidInput, NotSupported, TooLarge
from chainveil.next.certificate.document import Certificate
from chainveil.next.certificate.make import Released, ReleasedFile, listing_digest
from chainveil.next.certificate.verify import Seen, Verification, allowing, check
from chainveil.next.table.read import Format, Table, check_column, open_table
from chainveil.next.table.release import POSITION, SERIES, described, digest, rows_digest
from chainveil.next.table.states import (
    GAP,
    Codes,
    Discretizer,
    IntArray,
    Label,
    plain,
)
from chainveil.plan import NoisePlan

# Gaps of more points than this are cuts: model and noise have forgotten by then.
LONGEST_GAP = 20_000


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a release, or of a part of one.

    Attributes
    ----------
    frame : polars.DataFrame
        All columns that were asked for.
    series : polars.Series or None
        The name of the series of each row, as text.
    position : int64 array of shape (rows,)
    codes : uint8 array of shape (rows,)
        The reports; ``GAP`` where a row has none.
    """

    frame: pl.DataFrame
    series: pl.Series | None
    position: IntArray
    codes: Codes

    def owner(self) -> IntArray:
        """The series of each row by number, in the order of the names."""
        if self.series is None:
            return np.zeros(len(self.codes), np.int64)
        return self.series.rank("dense").cast(pl.Int64).to_numpy() - 1


def discretizer_of(certificate: Certificate) -> Discretizer:
    """How the labels of a release are read, with or without gaps."""
    said = certificate["states"]
    missing: Any = "keep" if certificate["release.gaps"] else "error"
    labels = tuple(said["labels"])
    return Discretizer((), labels, labels, said["origin"], missing)


def read_rows(table: Table, certificate: Certificate, more: Sequence[str] = ()) -> Rows:
    """Series, positions and reports of a release, and ``more`` of its columns."""
    named = certificate["release.series_names"] is not None
    column = certificate["release.column"]
    placed = POSITION in certificate["release.columns"]
    needed = [*([SERIES] if named else []), *([POSITION] if placed else []), column]
    for name in needed:
        if name not in table.columns:
            raise InvalidInput("release", f"no column {name!r}", f"the columns {needed}")
    frame = table.read([*needed, *more])
    series = None
    if named:
        series = plain(frame.get_column(SERIES)).cast(pl.String)
        if series.null_count():
            raise InvalidInput("release", "rows without a series", "a series in every row")
    codes = discretizer_of(certificate).read_back(frame.get_column(column))
    if placed:
        return Rows(frame, series, _positions(frame.get_column(POSITION)), codes)
    # The rows of a batch of a stream are places in no order.
    counted = pl.int_range(pl.len())
    place = frame.select(counted.over(SERIES) if named else counted).to_series()
    return Rows(frame, series, place.to_numpy().astype(np.int64), codes)


def _positions(column: pl.Series) -> IntArray:
    read = column.cast(pl.Int64, strict=False)
    if column.dtype.is_float() and not (read.cast(pl.Float64) == column).all():
        read = read.clear(len(read))
    if column.dtype == pl.Boolean or read.null_count() or (len(read) and int(read.min()) < 0):  # type: ignore[arg-type]
        raise InvalidInput("release", "positions that are no whole numbers from 0 on",
                           "positions as they were released")  # fmt: skip
    return read.to_numpy()


def observe(table: Table, certificate: Certificate) -> Seen:
    """What a release shows of what its certificate claims."""
    public = [column["name"] for column in certificate["release.public"]]
    there = [name for name in public if name in table.columns]
    rows = read_rows(table, certificate, there)
    frame = rows.frame
    if _is_text_release(certificate):
        # A text file holds no nulls: what another program read as one was an empty cell.
        empty = Format(certificate["release.file.format"].split("+")[0]).empty
        frame = frame.with_columns(pl.col(pl.String).fill_null(empty))
    owner = rows.owner()
    whole = replace(
        _shown(rows, owner, np.ones(len(owner), np.bool_), certificate),
        rows_sha256=rows_digest(frame), order=tuple(table.columns),
        columns=tuple(described(frame.get_column(name)) for name in there),
        file=described_file(table), longest=int(rows.position.max(initial=-1)) + 1,
    )  # fmt: skip
    groups = {}
    column = certificate["release.group_column"]
    if column is not None:
        labels = list(certificate.groups)
        numbers = group_numbers(frame.get_column(column), labels)
        for number, label in enumerate(labels):
            here = numbers == number
            if here.any():
                found = _shown(rows, owner, here, certificate)
                groups[label] = replace(found, longest=int(rows.position[here].max()) + 1)
    return Seen(whole, groups)


def _is_text_release(certificate: Certificate) -> bool:
    form = str(certificate["release.file.format"] or "")
    return form.split("+")[0] in ("csv", "tsv", "text")


def _shown(
    rows: Rows, owner: IntArray, here: NDArray[np.bool_], certificate: Certificate
) -> Released:
    codes, held, position = rows.codes[here], owner[here], rows.position[here]
    apart = (np.diff(held) == 0) & (np.diff(position) != 1)
    gaps = int(np.count_nonzero(codes == GAP)) if certificate["release.gaps"] else 0
    return Released(
        certificate["release.column"], len(codes), len(np.unique(held)), digest(codes), "", (),
        gaps=gaps, splits=int(np.count_nonzero(apart)),
    )  # fmt: skip


def group_numbers(column: pl.Series, labels: Sequence[Label]) -> IntArray:
    """The group of each row by number; an error where it is none of those known."""
    known = Discretizer((), tuple(labels), tuple(labels))
    if len(labels) == 1:
        # A discretizer has two states: the other one never occurs.
        known = Discretizer((), (*labels, f"not {labels[0]}"), (*labels, f"not {labels[0]}"))
    return known.codes(column).astype(np.int64)


def described_file(table: Table) -> ReleasedFile | None:
    """The file of a release: format, size and digest; of a folder those of its parts."""
    if not table.files:
        return None
    if len(table.files) == 1 and table.files[0].parent != Path(table.name):
        held = table.files[0].read_bytes()
        return ReleasedFile(str(table.format), len(held), hashlib.sha256(held).hexdigest())
    parts = []
    for path in table.files:
        held = path.read_bytes()
        parts.append((path.name, len(held), hashlib.sha256(held).hexdigest()))
    size = sum(part[1] for part in parts)
    return ReleasedFile(str(table.format), size, listing_digest(parts), len(parts))


def verify(
    certificate: Certificate | str | PathLike[str],
    release: Any = None,
    *,
    max_seconds: float | None = None,
    **reading: Any,
) -> Verification:
    """Compute again everything that a certificate claims, of itself and of its release.

    Parameters
    ----------
    certificate : Certificate or path
        What is claimed.
    release : path or data frame, optional
        Every cell of it is checked where its columns have the types that were published.
    max_seconds : float, optional
        What each computation may take: 60 seconds unless told.
    **reading
        How a text file is read, as in :func:`chainveil.next.table.read.open_table`.

    Returns
    -------
    Verification
        ``exit_code`` is 0 where all holds, 1 where something fails, 3 where the loss takes longer
        than ``max_seconds``, and 4 where the guarantee is weaker or a column was not decided.
    """
    document = certificate
    if not isinstance(document, Certificate):
        if not isinstance(document, str | PathLike):
            raise InvalidInput("certificate", type(document).__name__, "a Certificate or a path")
        document = Certificate.read(Path(document))
    seen, trouble = None, None
    if release is not None:
        table = open_table(release, argument="release", **reading)
        if document["release"] is not None and document["states"] is not None:
            try:
                seen = observe(table, document)
            except ChainveilError as error:
                trouble = str(error)
    with allowing(max_seconds):
        return check(document, seen, trouble)


# --- reading for answers ---------------------------------------------------------------------


@dataclass(frozen=True)
class ReleasedStates:
    """What is published, and the noise it carries.

    Attributes
    ----------
    states : array, or list of arrays, one a series, or a run where rows are missing
        Masked where points have no row, no value, or do not report.
    groups : array, or list of arrays, in the shape of ``states``, or None
        The group of each point.
    plan : NoisePlan
        The plan of the certificate, with its noise.
    labels : tuple
        What the states are called.
    rows : int
        Rows of the table.
    series : tuple
        The name of the series of each array of ``states``, where the release has several.
    notes : tuple of str
        What could not be checked: the release is part of what was released.
    group_names : tuple
        Where groups are of several columns: the values of each.
    noise_by : str
        The column that tells the noise of a row, where each group has its own; else empty.
    """

    states: Any
    groups: Any
    plan: NoisePlan
    labels: tuple[Label, ...]
    rows: int
    series: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    group_names: tuple[Any, ...] = ()
    noise_by: str = ""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a release is read for an answer.

    Attributes
    ----------
    by : str or several, optional
        "series", or public columns whose values are the groups; of several, every combination is a
        group.
    window : int, optional
        Stretches of so many positions are the groups.
    lines : mapping
        How a text file is read, as in ``open_table``.
    """

    by: str | Sequence[str] | None = None
    window: int | None = None
    lines: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """What ``by`` names."""
        return [] if self.by is None else [self.by] if isinstance(self.by, str) else list(self.by)


def read_released(release: Any, certificate: Any, how: Reading | None = None) -> ReleasedStates:
    """Read a release whose rows all have one noise; the original is never needed."""
    held = read_by_noise(release, certificate, how)
    if held[0].noise_by:
        raise NotSupported(
            "this, of a release with noise by group: it takes one noise for all rows. Take the "
            f"rows of one group (column {held[0].noise_by!r}) and its certificate, "
            "certificate.groups[label]"
        )
    return held[0]


def read_by_noise(
    release: Any, certificate: Any, how: Reading | None = None
) -> list[ReleasedStates]:
    """A release with the noise of its certificate, one part for each group that has its own.

    Parameters
    ----------
    release : path or data frame
        It may be part of what was released, joined with other columns, saved again, or shuffled.
    certificate : Certificate or path
        An error if it does not hold, or cannot belong to the release.
    how : Reading, optional
        The groups, and how a file is read.
    """
    how = how or Reading()
    document = read_certificate(certificate)
    _check_holds(document)
    table = open_table(release, argument="release", **how.lines)
    column = document["release.group_column"]
    asked = [name for name in how.names if name != SERIES]
    for name in asked:
        check_column("by", name, table.columns)
        if name == document["release.column"]:
            raise InvalidInput(
                "by", name, "a column other than the released one",
                "Groups that the noise decides break every formula; ask for the share instead.",
            )  # fmt: skip
    if SERIES in how.names and document["release.series_names"] is None:
        raise InvalidInput("by", SERIES, "a column: the release has one series")
    more = [*asked, *([column] if column is not None else [])]
    rows = read_rows(table, document, list(dict.fromkeys(more)))
    rows, whole = _in_order(rows, document)
    notes: tuple[str, ...] = ()
    if not whole:
        notes = (_what_is_missing(rows, document),)
    if POSITION not in document["release.columns"]:
        notes = (*notes, "the rows of a stream have no order: shares alone can be answered")
    if column is None:
        return [_laid(rows, np.ones(len(rows.codes), np.bool_), document, how, whole, notes)]
    numbers = group_numbers(rows.frame.get_column(column), list(document.groups))
    return [
        replace(_laid(rows, numbers == number, part, how, whole, notes), noise_by=column)
        for number, part in enumerate(document.groups.values())
        if (numbers == number).any()
    ]


def read_certificate(certificate: Any) -> Certificate:
    """The certificate of a release, from a file where it is one."""
    if isinstance(certificate, Certificate):
        document = certificate
    elif isinstance(certificate, str | PathLike):
        document = Certificate.read(Path(certificate))
    else:
        found = f"an object of type {type(certificate).__name__}"
        raise InvalidInput("certificate", found, "a Certificate, or the path of its file")
    if document["release"] is None:
        raise InvalidInput("certificate", "a plan", "the certificate of a release")
    return document


def _check_holds(document: Certificate) -> None:
    result = check(document)
    if result.undecided and not result.failures:
        raise TooLarge(f"certificate: {result.undecided[0]}")
    if result.failures:
        raise InvalidInput("certificate", result.objections[0], "a certificate that holds",
                           "chainveil verify shows every check.")  # fmt: skip


def _in_order(rows: Rows, document: Certificate) -> tuple[Rows, bool]:
    """The rows by series, then position, and whether they are all that were released."""
    owner = rows.owner()
    order = np.lexsort((rows.position, owner))
    rows = Rows(rows.frame[order], None if rows.series is None else rows.series.gather(order),
                rows.position[order], rows.codes[order])  # fmt: skip
    owner = owner[order]
    twice = (np.diff(owner) == 0) & (np.diff(rows.position) == 0)
    claimed = document["release.rows"]
    if twice.any() or len(owner) > claimed:
        raise InvalidInput(
            "release", "rows that occur more than once", "the rows that were released",
            "A join may have repeated some.",
        )  # fmt: skip
    if len(owner) == 0:
        raise InvalidInput("release", "no rows", "at least one row")
    if len(owner) < claimed:
        return rows, False
    same = digest(rows.codes) == document["release.reports_sha256"]
    if document["release.series_names"] != "original":
        same = same and rows_digest(rows.frame) == document["release.rows_sha256"]
    elif not same:
        # Names that are numbers come in their order, and not in that of their texts.
        by_value = rows.frame.with_row_index("row").sort(SERIES, POSITION).get_column("row")
        same = digest(rows.codes[by_value.to_numpy()]) == document["release.reports_sha256"]
    if not same:
        raise InvalidInput(
            "certificate", "one of another release, or a release that was changed",
            "a certificate that belongs to the release", "chainveil verify shows every check.",
        )  # fmt: skip
    return rows, True


def _what_is_missing(rows: Rows, document: Certificate) -> str:
    return (
        f"{len(rows.codes):,} of the {document['release.rows']:,} rows of the certificate are "
        "here. It cannot be checked that they are rows of that release, or that the others were "
        "left out without looking at the published values"
    )


def _laid(
    rows: Rows, here: NDArray[np.bool_], document: Certificate, how: Reading, whole: bool,
    notes: tuple[str, ...],
) -> ReleasedStates:  # fmt: skip
    """The rows of one noise as series, masked where points are missing, cut where rows are."""
    plan = document.plan()
    noise, every = plan.noise, plan.noise.every
    if not whole and noise.ordered and noise.sees == "series":
        raise NotSupported(
            f"part of a release with {noise.kind} noise: what lies between the rows is not known"
        )
    place = np.flatnonzero(here)
    owner, position, codes = rows.owner()[place], rows.position[place], rows.codes[place]
    empty = codes == GAP if document["release.gaps"] else np.zeros(len(codes), np.bool_)
    first = np.concatenate([[True], np.diff(owner) != 0])
    apart = np.diff(position, prepend=position[:1] - 1)
    cut = first | (apart > LONGEST_GAP)
    if not whole:
        # Which report came before the first one of a run is not known, so it is not looked at.
        cut |= apart > every
        cut |= first & (position > 0)
    elif noise.holds and (~first & (apart > LONGEST_GAP)).any():
        raise NotSupported(
            f"a gap of more than {LONGEST_GAP:,} points, over which the last report is held"
        )
    groups, group_names = _combined([_group(rows, name)[place] for name in how.names])
    if how.window is not None:
        groups, group_names = _combined(
            [*([] if groups is None else [groups]), position // int(how.window)]
        )
    begins = np.flatnonzero(cut)
    ends = np.append(begins[1:], len(codes))
    states, labels = [], []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        part = slice(begin, end)
        # A whole series starts at position 0; a run where its block of points begins.
        start = 0 if whole and first[begin] else int(position[begin]) - noise.first_place
        spread = position[part] - start
        states.append(_spread(codes[part], spread, empty[part]))
        if groups is not None:
            labels.append(_spread(groups[part], spread, np.zeros(end - begin, np.bool_)))
    names = () if rows.series is None else _run_names(rows.series.gather(place), owner, begins)
    one = len(states) == 1
    found = None if groups is None else labels[0] if one else labels
    return ReleasedStates(
        states[0] if one else states, found, plan, tuple(document["states.labels"]), len(codes),
        names, notes, group_names,
    )  # fmt: skip


def _spread(values: NDArray[Any], place: IntArray, empty: NDArray[np.bool_]) -> NDArray[Any]:
    """One run with its gaps; a plain array where it has none."""
    if len(values) == place[-1] + 1 and not empty.any():
        return values
    run = np.ma.array(np.zeros(place[-1] + 1, values.dtype), mask=True)
    run[place[~empty]] = values[~empty]
    return run


def _run_names(series: pl.Series, owner: IntArray, begins: IntArray) -> tuple[Any, ...]:
    """The series of each run; of a series that is cut, also which run."""
    names = series.gather(begins).to_list()
    _, first, several = np.unique(owner[begins], return_index=True, return_counts=True)
    number = owner[begins]
    place = np.searchsorted(np.unique(number), number)
    which = np.arange(len(begins)) - first[place]
    return tuple(
        f"{name}, run {which[i]}" if several[place[i]] > 1 else name for i, name in enumerate(names)
    )


def _group(rows: Rows, name: str) -> NDArray[Any]:
    column = rows.series if name == SERIES else plain(rows.frame.get_column(name))
    assert column is not None
    if column.null_count():
        raise InvalidInput(name, "a missing value", "a group in every row",
                           "Fill it, such as with the name of a group of its own.")  # fmt: skip
    if column.dtype.is_temporal():
        column = column.cast(pl.String)
    return np.asarray(column.to_numpy())


def _combined(parts: list[NDArray[Any]]) -> tuple[NDArray[Any] | None, tuple[Any, ...]]:
    """One group a row from the values of several columns, and the values of each group."""
    if len(parts) < 2:
        return (parts[0], ()) if parts else (None, ())
    found = [np.unique(part, return_inverse=True) for part in parts]
    sizes = tuple(len(values) for values, _ in found)
    codes = np.ravel_multi_index([codes.reshape(-1) for _, codes in found], sizes)
    kept, groups = np.unique(codes, return_inverse=True)
    places = np.unravel_index(kept, sizes)
    named = zip(*(values[at] for (values, _), at in zip(found, places, strict=True)), strict=True)
    return groups, tuple(named)


def warn_of(notes: Sequence[str]) -> None:
    """Say what could not be checked."""
    if notes:
        from chainveil.errors import ChainveilWarning

        warnings.warn("; ".join(dict.fromkeys(notes)), ChainveilWarning, stacklevel=3)
