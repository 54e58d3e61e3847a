"""``sanitize``: a Spark frame in, a folder with one release and its certificate out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from chainveil.certificate import Certificate, Released, certify
from chainveil.errors import InvalidInput
from chainveil.mechanism.randomness import Source, as_source
from chainveil.mechanism.reading import Missing
from chainveil.mechanism.release import source_word
from chainveil.model.chain import MarkovChain
from chainveil.model.region import ChainRegion
from chainveil.noise.channel import Channel
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import Adversary, Model
from chainveil.privacy.problem import Family, Objective
from chainveil.spark import needs
from chainveil.spark.part import TELLS, Part, WritePart, released_type
from chainveil.spark.sink import Staging, local_path, released_file, staging, states_digest
from chainveil.spark.survey import SPARK, Survey, lengths, survey
from chainveil.spark.table import (
    SparkTable,
    check_types,
    mapped,
    need_order,
    quoted,
    without_notes,
)
from chainveil.spark.trouble import surfaced
from chainveil.table.files import certificate_path
from chainveil.table.read.frames import FrameSource
from chainveil.table.read.unchanged import check_unchanged, identity
from chainveil.table.request.discretize import Label
from chainveil.table.request.kept import make_kept
from chainveil.table.request.request import Layout, LookedUp, Promise, Readable, Request, StateRules
from chainveil.table.states.column_noise import check_length, released_columns, warn_of_one_state
from chainveil.table.states.prepare import Prepared, check_not_empty, prepare_with
from chainveil.table.write.atomic import check_goal, drafts, real_path
from chainveil.table.write.publishing import recover
from chainveil.table.write.shaping import Shaping


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
    threshold: float | LookedUp | None = None,
    edges: Sequence[float] | None = None,
    states: Sequence[Label] | None = None,
    labels: Sequence[Label] | None = None,
    chain: MarkovChain | ChainRegion | None = None,
    reference: Any = None,
    step: float | None = None,
    max_gap: float | None = None,
    length: int | None = None,
    adversary: Model | Adversary = "any",
    objective: Objective = "flips",
    mechanism: str = "independent",
    missing: Missing = "error",
    family: Family = "response",
    spent: Sequence[Channel] = (),
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
        given, which sorts the rows of each series. Correlated and seeded noise, positions, and
        a chain fitted on the frame, need them; secure independent noise does not, and without
        ``time`` no row is moved.
    certificate : str or Path, optional
        Where the certificate goes; by default beside the folder.
    force : bool
        Whether a release that stands there is replaced.
    epsilon, threshold, edges, states, labels, chain, reference : optional
        As in :func:`chainveil.sanitize_table`; ``reference`` may be a Spark frame.
    step, max_gap, length, adversary, objective, mechanism, missing : optional
        As in :func:`chainveil.sanitize_table`.
    family, spent, keep, keep_time, time_as, allow_leak, rng : optional
        As in :func:`chainveil.sanitize_table`.
    """
    needs.pyspark()
    request = Request(
        Layout(column, series, time, step, max_gap),
        StateRules(threshold, edges, states, labels, missing),
        Promise(epsilon, length, adversary, objective, mechanism, family, spent),
        chain, plan, as_table(reference), make_kept(keep, keep_time, time_as, allow_leak),
    )  # fmt: skip
    goal = Goal(local_path(path), certificate, force)
    return release(SparkTable(frame), request, goal, rng)


@dataclass(frozen=True)
class Goal:
    """The folder to write, its certificate, and whether what is there may go."""

    path: Path
    certificate: str | Path | None = None
    force: bool = False

    @property
    def certificate_path(self) -> Path:
        """By default beside the folder."""
        given = self.certificate
        return certificate_path(self.path) if given is None else real_path(given)

    def check(self) -> None:
        """Error where the certificate would lie in the release, or over another file."""
        if self.path in (self.certificate_path, *self.certificate_path.parents):
            raise InvalidInput("certificate", str(self.certificate), "a file beside the release")
        recover([self.path, self.certificate_path])
        check_goal(self.certificate_path, self.force)


def as_table(frame: Any) -> Readable | None:
    """A reference table, of Spark or any other kind; None stays None."""
    if frame is None:
        return None
    return SparkTable(frame) if hasattr(frame, "mapInArrow") else FrameSource(frame)


def release(
    table: SparkTable, request: Request, goal: Goal, rng: Source | None = None
) -> SparkRelease:
    """Write one release of a table and its certificate."""
    rng = as_source(rng)
    layout = request.layout
    goal.check()
    request.check(table)
    with staging(goal.path, goal.force) as place:
        _check_elsewhere(table, goal)
        files = table.local_files()
        before = identity("of Spark", files)
        prepared = prepare_with(SPARK, table, request)
        check_types(table, layout, prepared.discretizer)
        ordered = prepared.plan.noise.ordered or not rng.for_release
        if ordered:
            need_order(layout, "correlated or seeded noise")
        ordered |= request.kept.positions
        seen = _seen(table, layout, prepared, ordered)
        check_length(prepared.plan, seen)
        # The certificate first: a release never stands there without its own.
        with drafts([goal.certificate_path], goal.force, last=place) as (draft,):
            parts = _write(table, request, prepared, rng, ordered, place)
            check_unchanged("of Spark", before, files)
            seen = _checked(prepared.plan, seen, parts, ordered)
            lowest = min(part.lowest for _, part in parts)
            highest = max(part.highest for _, part in parts)
            warn_of_one_state(prepared.discretizer, seen.rows, lowest, highest)
            made = _certificate(table, request, prepared, rng, seen, parts)
            draft.file.write(made.to_json().encode())
    return SparkRelease(read_back(table.session, goal.path), made, goal.path)


def read_back(session: Any, path: Path) -> Any:
    """The frame that a folder holds."""
    return session.read.parquet(spark_path(path))


def spark_path(path: Path) -> str:
    """A path to the letter: Spark would take some characters for patterns."""
    return "file://" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path))


def _seen(table: SparkTable, layout: Layout, prepared: Prepared[Any], ordered: bool) -> Survey:
    """Rows, series and gaps; the times are checked, unless the tasks that write will do so."""
    if prepared.seen is not None:
        found: Survey = prepared.seen
    elif layout.time is not None and not ordered:
        found = survey(table, layout, None)
    else:
        found = lengths(table, layout)
    check_not_empty(found.rows)
    return found


def _write(
    table: SparkTable,
    request: Request,
    prepared: Prepared[Any],
    rng: Source,
    ordered: bool,
    place: Staging,
) -> list[tuple[str, Part]]:
    """Run the tasks; one answer for each partition comes back, whatever else was run."""
    layout, kept = request.layout, request.kept
    task = WritePart(
        layout, kept, prepared.discretizer, prepared.plan, rng,
        str(place.attempts), _types(table, request, prepared), ordered,
    )  # fmt: skip
    with surfaced():
        rows = table.columns_of(kept.read(layout, table.columns))
        rows = in_order(rows, layout) if ordered else rows
        found = [Part(**row.asDict()) for row in mapped(rows, task, TELLS).collect()]
    return place.gather(found)


def in_order(rows: Any, layout: Layout) -> Any:
    """Each series whole in one partition, its rows in the order of time."""
    assert layout.time is not None
    if layout.series is None:
        return rows.repartition(1).sortWithinPartitions(quoted(layout.time))
    names = quoted(layout.series), quoted(layout.time)
    return rows.repartition(names[0]).sortWithinPartitions(*names)


def _types(table: SparkTable, request: Request, prepared: Prepared[Any]) -> str:
    """The released columns in Spark's words: names and types, and no notes on them."""
    from pyspark.sql import types

    layout, before = request.layout, table.schema
    kind = released_type(prepared.discretizer, before.field(layout.column).type)
    after = Shaping(request.kept, layout, table.columns).schema(before, kind)
    named = {
        pa.int16(): types.ShortType(),
        pa.int64(): types.LongType(),
        pa.float64(): types.DoubleType(),
        pa.string(): types.StringType(),
        pa.bool_(): types.BooleanType(),
    }
    released = types.StructType()
    for field in after:
        changed = field.type != before.field(field.name).type
        old = table.frame.schema[field.name]
        new = named[field.type] if changed else without_notes(old.dataType)
        released.add(field.name, new, old.nullable or changed or field.name == layout.column)
    return str(released.json())


def _checked(plan: NoisePlan, seen: Survey, parts: list[tuple[str, Part]], ordered: bool) -> Survey:
    """What was seen, splits included; an error unless tasks met the rows counted before."""
    rows, series, splits = (
        sum(getattr(part, name) for _, part in parts) for name in ("rows", "series", "splits")
    )
    # A series that was in two places would have had two beginnings of its noise.
    if rows != seen.rows or (ordered and series != seen.series):
        raise InvalidInput(
            "table", f"{seen.rows:,} rows in {seen.series:,} series at first, {rows:,} rows later",
            "a table that stays the same while it is read", "Write it to files first.",
        )  # fmt: skip
    if ordered:
        seen = replace(seen, splits=splits)
        check_length(plan, seen)
    return seen


def _certificate(
    table: SparkTable,
    request: Request,
    prepared: Prepared[Any],
    rng: Source,
    seen: Survey,
    parts: list[tuple[str, Part]],
) -> Certificate:
    """From the plan and what the tasks have told of the files they wrote."""
    gaps, layout = sum(part.gaps for _, part in parts), request.layout
    released = Released(
        layout.column, layout.series, seen.rows, seen.series,
        states_digest(parts), released_file(parts), gaps, seen.splits, len(parts),
        **released_columns(table, request),
    )  # fmt: skip
    described = prepared.discretizer.described
    return certify(prepared.plan, prepared.origin, described, source_word(rng), released)


def _check_elsewhere(table: SparkTable, goal: Goal) -> None:
    """Error where the table would be replaced by its own release."""
    if not goal.path.exists():
        return
    inside = str(goal.path) + "/"
    if any(inside in name or name.endswith(str(goal.path)) for name in table.frame.inputFiles()):
        raise InvalidInput("output", f"{goal.path}, the table itself", "another folder")
