"""The release of a table: series, position, report and public columns, all built anew.

One rule holds for files, frames and Spark: a release is made from (series, position, report) and
from the *values* of the columns that the curator declares public. No buffer, column object, schema
metadata, row group, dictionary, index or row order of the input is passed through.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chainveil import checks, notebook
from chainveil.errors import ChainveilWarning, InvalidInput
from chainveil.mechanism.randomness import Seeded, as_source, series_number
from chainveil.mechanism.randomness import Source as Randomness
from chainveil.mechanism.rows import RowNoise
from chainveil.mechanism.rows import Rows as NoiseRows
from chainveil.next.certificate.document import Certificate
from chainveil.next.certificate.make import (
    Column,
    Discretization,
    Released,
    ReleasedFile,
    certify,
    certify_groups,
    file_section,
)
from chainveil.next.table.guard import check_public
from chainveil.next.table.read import Table, check_column
from chainveil.next.table.states import (
    GAP,
    Codes,
    Discretizer,
    Mask,
    Plans,
    Points,
    Progress,
    Request,
    arrange,
    find_discretizer,
    find_plans,
    is_category,
    plain,
    type_name,
)
from chainveil.plan import NoisePlan

# The columns that a release has besides the reports and those declared public.
SERIES, POSITION = "series", "position"
# Rows of a text that are taken from a column at once.
PIECE = 1 << 18
# Bytes of a pseudonym: of a million series two share one with a chance of 0.2%, and new ones are
# drawn then.
PSEUDONYM_BYTES = 6
_DOMAIN = b"chainveil: pseudonyms for study; version 1"


@dataclass(frozen=True, repr=False)
class Release:
    """A released table and its certificate.

    Attributes
    ----------
    frame : polars.DataFrame
        ``series`` (where there are several), ``position``, the reports under the name of their
        column, and the columns that were declared public; by series, then position.
    certificate : Certificate
    kind : str
        The kind of data frame that ``table`` is.
    """

    frame: pl.DataFrame
    certificate: Certificate
    kind: str = "polars"

    @property
    def table(self) -> Any:
        """The released table as a frame of the kind that was handed in."""
        if self.kind == "pandas":
            return self.frame.to_pandas()
        return self.frame.to_arrow() if self.kind == "arrow" else self.frame

    def to_frame(self) -> Any:
        """The released table."""
        return self.table

    def __repr__(self) -> str:
        said = self.certificate
        kinds = sorted({part["noise.mechanism"] for part in said.groups.values() or [said]})
        groups = f" for {len(said.groups)} groups" if said.groups else ""
        return (
            f"Release of {said['release.column']}: {said['release.rows']:,} rows in "
            f"{said['release.series']:,} series, {' and '.join(kinds)} noise{groups}, "
            f"epsilon {said['guarantee.epsilon']:g}"
        )

    def _repr_html_(self) -> str:
        said = self.certificate
        lines = [("rows", f"{said['release.rows']:,} in {said['release.series']:,} series"),
                 ("columns", ", ".join(self.frame.columns))]  # fmt: skip
        return notebook.card(repr(self), lines, "", notebook.grid(self.frame.columns,
                             self.frame.head(5).rows()))  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """Everything that is known before noise is drawn. Private, but for the plans."""

    table: Table
    request: Request
    discretizer: Discretizer
    points: Points
    plans: Plans
    source: Randomness


def prepare(
    table: Table,
    request: Request,
    rng: Randomness | None = None,
    progress: Progress | None = None,
) -> Prepared:
    """States, places, noise, and the check of public columns; nothing is drawn."""
    source = as_source(rng)
    request.check(table)
    check_declared(request, table.columns)
    _tell(progress, "reading")
    discretizer = find_discretizer(table, request)
    points = arrange(table, request, discretizer, namer(request, source))
    _tell(progress, "calibrating")
    plans = find_plans(points, request, discretizer)
    _tell(progress, "checking public columns")
    check_public(table, points, request, plans.each)
    for number, plan in enumerate(plans.each):
        part = points.of_group(number) if plans.labels else points
        _check_part(plan, part, request)
    _warn_of_one_state(discretizer, points)
    return Prepared(table, request, discretizer, points, plans, source)


def _tell(progress: Progress | None, what: str) -> None:
    if progress is not None:
        progress(what, 0)


def check_declared(request: Request, columns: Sequence[str]) -> None:
    """Error where a column cannot be public, or must be declared so."""
    public = request.public
    for name in public:
        check_column("public", name, columns)
    if len(set(public)) < len(public):
        raise InvalidInput("public", list(public), "each column once")
    if request.column in public:
        raise InvalidInput("public", request.column, "columns other than the one to protect")
    if request.series in public:
        raise InvalidInput("public", request.series, "columns other than that of the series",
                           "To publish its names: --series-names original.")  # fmt: skip
    for name in (SERIES, POSITION):
        if name in (*public, request.column):
            raise InvalidInput(
                "column" if name == request.column else "public", name, f"another name: {name} is "
                "a column that every release has", "Rename the column first.",
            )  # fmt: skip
    if request.group is not None and request.group not in public:
        raise InvalidInput(
            "group", request.group, "a column that is declared public: it tells the noise of a row",
            f"Add --public {request.group}.",
        )  # fmt: skip
    for name in request.allow_leak:
        if name not in (*public, request.series):
            raise InvalidInput("allow_leak", name, "a column that is declared public, or that of "
                               "the series")  # fmt: skip


def _check_part(plan: NoisePlan, points: Points, request: Request) -> None:
    """Error where the guarantee of a plan does not cover its series."""
    length, noise = plan.loss.length, plan.noise
    beneath = (noise.ordered and not noise.holds) or noise.every > 1
    if points.splits and request.step is None and beneath:
        raise InvalidInput(
            "step", None, "the regular step of the time column, where correlated noise or rare "
            "reports meet a gap", "The points that are missing have to be counted.",
        )  # fmt: skip
    if length is not None and points.splits:
        # Points on both sides of a gap still depend on each other, across unseen points.
        raise InvalidInput("length", length, "None, where there are gaps",
                           "A gap hides how many points lie in it.")  # fmt: skip
    if length is not None and points.longest > length:
        raise InvalidInput(
            "table", f"a series of {points.longest} rows", f"at most {length} rows, the length "
            "the noise was calibrated for", "Leave the length out: the promise then holds for any.",
        )  # fmt: skip
    if noise.every > 1 and not (points.position % noise.every == noise.first_place).any():
        raise InvalidInput(
            "every", noise.every, "a number for which a series has its first report, point "
            f"{noise.first_place + 1} of each series", "Report more often.",
        )  # fmt: skip


def _warn_of_one_state(discretizer: Discretizer, points: Points) -> None:
    """Say so where limits leave all values in one state.

    No error: whether a release appears must not depend on the values.
    """
    codes = points.codes[~points.gaps]
    if discretizer.edges and len(codes) > 1 and codes.min() == codes.max():
        warnings.warn(
            "the limits between states (threshold) leave only one state: all values lie on the "
            "same side of each. Are they in the units of the column? The release is made all the "
            "same, since whether there is one must not depend on the values",
            ChainveilWarning, stacklevel=3,
        )  # fmt: skip


def namer(request: Request, source: Randomness) -> Any:
    """What the series are called in the release: fresh pseudonyms, or their own names."""
    if request.series is None or request.series_names == "original":
        return list

    def publish(names: list[str]) -> list[str]:
        for attempt in range(100):
            key = pseudonym_key(source, attempt)
            made = [pseudonym(key, name) for name in names]
            if len(set(made)) == len(made):
                return made
        raise InvalidInput("series", f"{len(names):,} series", "fewer series")

    return publish


def pseudonym_key(source: Randomness, attempt: int = 0) -> bytes:
    """A key that exists nowhere else; for study, one that follows from the seed."""
    if not isinstance(source, Seeded):
        return os.urandom(32)
    words = ",".join(str(number) for number in (source.seed, *source.path, attempt))
    return hashlib.sha256(_DOMAIN + b"|" + words.encode()).digest()


def pseudonym(key: bytes, name: str) -> str:
    """The pseudonym of a series: a keyed hash of its name, whose key nobody keeps."""
    return hashlib.blake2b(name.encode(), key=key, digest_size=PSEUDONYM_BYTES).hexdigest()


def draw(prepared: Prepared, empty: str | None = None) -> Release:
    """Draw the noise of every point, and build the release.

    ``empty`` is what a cell without a value holds in a text file, where the release goes to one:
    public columns are texts then, as they will be read.
    """
    points, request = prepared.points, prepared.request
    frame, reports, kept = drawn_frame(prepared, empty)
    owner = points.owner[kept]
    columns = tuple(described(frame.get_column(name)) for name in request.public)
    base = Released(
        column=request.column,
        series_names=None if request.series is None else request.series_names,
        rows=len(kept),
        series=len(np.unique(owner)),
        gaps=int(np.count_nonzero(reports == GAP)) if points.missing == "keep" else 0,
        splits=points.splits,
        reports_sha256=digest(reports),
        rows_sha256=rows_digest(frame),
        columns=columns,
        allowed_leaks=request.allow_leak,
        order=tuple(frame.columns),
    )
    certificate = _certificate(prepared, base, reports, kept)
    kind = "polars" if prepared.table.kind == "file" else prepared.table.kind
    return Release(frame, certificate, kind)


def drawn_frame(
    prepared: Prepared, empty: str | None = None
) -> tuple[pl.DataFrame, Codes, NDArray[np.int64]]:
    """The frame of a release, its reports, and the numbers of the points that report."""
    reports, made = _reports(prepared)
    kept = np.flatnonzero(made)
    return _framed(prepared, reports[kept], kept, empty), reports[kept], kept


def _reports(prepared: Prepared) -> tuple[Codes, Mask]:
    """The report of each point, and which points report."""
    points, plans = prepared.points, prepared.plans
    if not plans.labels:
        return apply_noise(points, plans.each[0], prepared.source)
    assert points.group is not None
    reports = np.zeros(len(points.codes), np.uint8)
    made = np.zeros(len(points.codes), np.bool_)
    for number, plan in enumerate(plans.each):
        here = (points.group == number)[points.owner]
        if here.any():
            reports[here], made[here] = apply_noise(points.of_group(number), plan, prepared.source)
    return reports, made


def apply_noise(points: Points, plan: NoisePlan, source: Randomness) -> tuple[Codes, Mask]:
    """The noise of a plan on all points: the reports, and which points report."""
    noise = RowNoise(plan.noise, source)
    named = not source.for_release and points.names != [""]
    numbers = np.array([series_number(n) if named else 0 for n in points.names], np.uint64)
    rows = NoiseRows(points.owner, points.position, numbers)
    made = np.ones(len(points.codes), np.bool_)
    if plan.noise.every > 1:
        made = noise.reports(rows)
    gaps = points.gaps
    reports = np.full(len(points.codes), GAP, np.uint8)
    # Over missing points noise that holds its report is not drawn; other noise runs on beneath.
    drawn = ~gaps if plan.noise.holds and gaps.any() else np.ones(len(gaps), np.bool_)
    states = np.where(gaps, np.uint8(0), points.codes)
    if drawn.all():
        reports[made] = noise.apply(states, rows)
    else:
        some = NoiseRows(points.owner[drawn], points.position[drawn], numbers)
        reports[drawn & made] = noise.apply(states[drawn], some)
    reports[gaps] = GAP
    return reports, made


def _framed(
    prepared: Prepared, reports: Codes, kept: NDArray[np.int64], empty: str | None
) -> pl.DataFrame:
    """The columns of the release, each made of values."""
    points, request, table = prepared.points, prepared.request, prepared.table
    columns = []
    if request.series is not None:
        columns.append(_series_column(prepared, kept))
    columns.append(pl.Series(POSITION, points.position[kept]))
    like = table.read([request.column]).to_series().dtype
    columns.append(prepared.discretizer.values(reports, request.column, like))
    row = points.row[kept]
    for name in request.public:
        column = rebuilt(table.read([name]).to_series().gather(row))
        if empty is not None:
            column = plain(column).cast(pl.String).fill_null(empty)
        columns.append(column)
    return pl.DataFrame(columns)


def _series_column(prepared: Prepared, kept: NDArray[np.int64]) -> pl.Series:
    points, request = prepared.points, prepared.request
    names = pl.Series(SERIES, points.published, dtype=pl.String)
    if request.series_names == "original":
        kind = prepared.table.read([str(request.series)]).to_series().dtype
        first = points.row[points.offsets[:-1]]
        own = prepared.table.read([str(request.series)]).to_series().gather(first)
        if not is_category(kind):
            names = rebuilt(own.alias(SERIES))
    return names.gather(points.owner[kept])


def rebuilt(column: pl.Series) -> pl.Series:
    """A column of the same values in new buffers: nothing of the old ones remains.

    Nulls carry no bytes, and a column of categories has only those that occur.
    """
    name, kind = column.name, column.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Unknown):
        raise InvalidInput("public", f"{name}, a column of type {type_name(kind)}",
                           "columns of text, numbers, truth values, dates or times")  # fmt: skip
    if kind == pl.Null:
        return pl.Series(name, [None] * len(column), dtype=pl.Null)
    if is_category(kind):
        text = rebuilt(plain(column))
        seen = [value for value in text.unique().sort().to_list() if value is not None]
        return text.cast(pl.Enum(seen)).alias(name)
    if kind == pl.String or kind.is_decimal() or kind in (pl.Int128, pl.UInt128):
        pieces = [
            pl.Series(name, column.slice(begin, PIECE).to_list(), dtype=kind)
            for begin in range(0, len(column), PIECE)
        ]
        return pl.concat(pieces) if pieces else pl.Series(name, [], dtype=kind)
    physical = column.to_physical() if kind.is_temporal() else column
    mask = physical.is_null().to_numpy()
    zero: Any = False if kind == pl.Boolean else 0
    values = np.array(physical.fill_null(zero).to_numpy(), copy=True)
    if kind.is_float():
        # What is no number has bits to spare, in which something else may stand.
        values[np.isnan(values)] = np.nan
    made = pl.Series(name, values)
    if mask.any():
        made = pl.select(pl.when(pl.Series(~mask)).then(made)).to_series().alias(name)
    return made.cast(kind).alias(name)


# --- digests ---------------------------------------------------------------------------------


def digest(codes: Codes) -> str:
    """SHA-256 of codes, a byte each."""
    return hashlib.sha256(np.ascontiguousarray(codes, np.uint8).data).hexdigest()


class ColumnDigest:
    """The digest of the values of a column, of which pieces come in their order.

    SHA-256 of the logical type and of three digests: of a byte a row that is 1 where there is no
    value; of the lengths of texts in bytes, as 4 bytes each; and of the texts, or of numbers of 8
    bytes. Numbers are whole or floats, in little-endian order.
    """

    def __init__(self, name: str) -> None:
        self._name, self._kind = name, ""
        self._parts = [hashlib.sha256() for _ in range(3)]

    def update(self, column: pl.Series) -> None:
        """Take the next rows."""
        self._kind, values = _logical(plain(column))
        absent, lengths, data = self._parts
        absent.update(values.is_null().to_numpy().astype(np.uint8).data)
        if values.dtype == pl.Float64:
            held = values.fill_null(0.0).to_numpy(writable=True)
            held[np.isnan(held)] = np.nan
            data.update(np.ascontiguousarray(held + 0.0, "<f8").data)
        elif values.dtype == pl.String:
            for begin in range(0, len(values), PIECE):
                piece = values.slice(begin, PIECE).fill_null("")
                lengths.update(np.ascontiguousarray(piece.str.len_bytes().to_numpy(), "<u4").data)
                data.update((piece.str.join("").item() or "").encode())
        elif len(values):
            data.update(np.ascontiguousarray(values.fill_null(0).to_numpy(), "<i8").data)

    @property
    def described(self) -> Column:
        """Name, type and digest of what came so far."""
        parts = b"".join(part.digest() for part in self._parts)
        found = hashlib.sha256(self._kind.encode() + b"\0" + parts)
        return Column(self._name, self._kind, found.hexdigest())


class RowsDigest:
    """The digest of the series and the position of each row, of which pieces come in order."""

    def __init__(self) -> None:
        self._parts = [ColumnDigest(SERIES), ColumnDigest(POSITION)]

    def update(self, frame: pl.DataFrame) -> None:
        """Take the next rows."""
        series, position = self._parts
        if SERIES in frame.columns:
            series.update(plain(frame.get_column(SERIES)).cast(pl.String))
        if POSITION in frame.columns:
            position.update(frame.get_column(POSITION).cast(pl.Int64))

    def hexdigest(self) -> str:
        """Of what came so far."""
        texts = "".join(part.described.sha256 for part in self._parts)
        return hashlib.sha256(texts.encode()).hexdigest()


def rows_digest(frame: pl.DataFrame) -> str:
    """The digest of the series and positions of a whole release."""
    found = RowsDigest()
    found.update(frame)
    return found.hexdigest()


def described(column: pl.Series) -> Column:
    """The name, the logical type and the digest of the values of a whole column."""
    found = ColumnDigest(column.name)
    found.update(column)
    return found.described


def _logical(column: pl.Series) -> tuple[str, pl.Series]:
    """The logical type of a column, and its values as texts, whole numbers or floats."""
    kind = column.dtype
    if kind == pl.String:
        return "text", column
    if kind == pl.Boolean:
        return "truth", column.cast(pl.Int64)
    if kind in (pl.UInt64, pl.Int128, pl.UInt128) or kind.is_decimal():
        most: Any = column.max()
        if not kind.is_decimal() and (most or 0) < 1 << 63:
            return "whole", column.cast(pl.Int64)
        return ("decimal" if kind.is_decimal() else "whole"), column.cast(pl.String)
    if kind.is_integer():
        return "whole", column.cast(pl.Int64)
    if kind.is_float():
        return "number", column.cast(pl.Float64)
    if kind == pl.Date:
        return "date", column.to_physical().cast(pl.Int64)
    if kind == pl.Time:
        return "time", column.to_physical()
    if isinstance(kind, pl.Datetime):
        zone = f" {kind.time_zone}" if kind.time_zone else ""
        return f"datetime{zone}", column.dt.timestamp("us") if not _fine(kind) else _fine_us(column)
    if isinstance(kind, pl.Duration):
        return "duration", column.dt.total_microseconds()
    if kind == pl.Null:
        return "nothing", column.cast(pl.Int64)
    return str(kind), column.cast(pl.String)


def _fine(kind: pl.Datetime) -> bool:
    return kind.time_unit == "ns"


def _fine_us(column: pl.Series) -> pl.Series:
    """Nanoseconds as microseconds where none is lost, else as texts."""
    ticks = column.to_physical()
    return ticks // 1000 if not (ticks % 1000).any() else ticks.cast(pl.String)


def _certificate(
    prepared: Prepared, base: Released, reports: Codes, kept: NDArray[np.int64]
) -> Certificate:
    discretizer, plans, points = prepared.discretizer, prepared.plans, prepared.points
    states = Discretization(discretizer.kind, discretizer.edges, discretizer.labels,
                            discretizer.origin)  # fmt: skip
    word: Literal["release", "study"] = "release" if prepared.source.for_release else "study"
    total = len(points.codes)
    if not plans.labels:
        plan = plans.each[0]
        shown = replace(base, points=total if plan.noise.every > 1 else None)
        return certify(plan, discretization=states, source=word, released=shown)
    assert points.group is not None
    owner_group = points.group[points.owner]
    parts = []
    for number, (label, plan) in enumerate(zip(plans.labels, plans.each, strict=True)):
        here = owner_group == number
        # A reference may have groups that the table has not.
        if not here.any():
            continue
        own = here[kept]
        part = replace(
            base, rows=int(own.sum()), series=len(np.unique(points.owner[kept][own])),
            gaps=int(np.count_nonzero(reports[own] == GAP)) if points.missing == "keep" else 0,
            splits=points.of_group(number).splits, reports_sha256=digest(reports[own]),
            points=int(here.sum()) if plan.noise.every > 1 else None,
        )  # fmt: skip
        parts.append((label, plan, part))
    return certify_groups(str(prepared.request.group), parts, states, word, base)


def with_file(release: Release, file: ReleasedFile) -> Release:
    """The same release with the file that it was written to in its certificate."""
    return replace(release, certificate=release.certificate.with_file(**file_section(file)))


def sanitize(
    table: Table, request: Request, rng: Randomness | None = None,
    progress: Progress | None = None,
) -> Release:  # fmt: skip
    """Prepare and draw a release; see :class:`Release`."""
    checks.instance("request", request, Request, "a Request")
    return draw(prepare(table, request, rng, progress))
