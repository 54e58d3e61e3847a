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
from chainveil.noise.channel import Channel
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import Adversary, Model
from chainveil.privacy.problem import Family, Objective
from chainveil.spark import needs
from chainveil.spark.part import TELLS, Part, WritePart, released_type
from chainveil.spark.sink import Staging, local_path, released_file, staging, states_digest
from chainveil.spark.survey import SPARK, Survey, lengths, survey
from chainveil.spark.table import SparkTable, check_types, mapped, need_order, quoted
from chainveil.spark.trouble import surfaced
from chainveil.table.atomic import check_goal, drafts
from chainveil.table.discretize import Label
from chainveil.table.flow import certificate_path
from chainveil.table.frames import FrameSource
from chainveil.table.noise import check_length
from chainveil.table.prepare import Prepared, check_not_empty, prepare_with
from chainveil.table.request import Layout, LookedUp, Readable, Request


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
    chain: MarkovChain | None = None,
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
        The values to publish. All other columns are passed on as they are.
    path : str or Path
        The folder to write, of Parquet files. The driver and all workers must share it.
    series, time : str, optional
        Columns that name the series of a row and its time. Times are checked where they are
        given, which sorts the rows of each series. Correlated and seeded noise, and a chain
        fitted on the frame, need them; secure independent noise does not, and without
        ``time`` no row is moved.
    certificate : str or Path, optional
        Where the certificate goes; by default beside the folder.
    force : bool
        Whether a release that stands there is replaced.
    epsilon, threshold, edges, states, labels, chain, reference : optional
        As in :func:`chainveil.sanitize_table`; ``reference`` may be a Spark frame.
    step, max_gap, length, adversary, objective, mechanism, missing : optional
        As in :func:`chainveil.sanitize_table`.
    family, spent, rng : optional
        As in :func:`chainveil.sanitize_table`.
    """
    needs.pyspark()
    layout = Layout(column, series, time, step, max_gap)
    request = Request(
        layout, threshold, edges, states, labels, None, epsilon,
        chain, "given", plan, as_table(reference), length, adversary, objective, mechanism,
        missing, family, tuple(spent),
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
        return certificate_path(self.path) if given is None else Path(given).absolute()

    def check(self) -> None:
        """Error where the certificate would lie in the release, or over another file."""
        if self.path in (self.certificate_path, *self.certificate_path.parents):
            raise InvalidInput("certificate", str(self.certificate), "a file beside the release")
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
    layout.check(table)
    with staging(goal.path, goal.force) as place:
        _check_elsewhere(table, goal)
        prepared = prepare_with(SPARK, table, request)
        check_types(table, layout, prepared.discretizer)
        ordered = prepared.plan.noise.ordered or not rng.for_release
        if ordered:
            need_order(layout, "correlated or seeded noise")
        seen = _seen(table, layout, prepared, ordered)
        check_length(prepared.plan, seen)
        with drafts([goal.certificate_path], goal.force) as (draft,):
            parts = _write(table, layout, prepared, rng, ordered, place)
            seen = _checked(prepared.plan, seen, parts, ordered)
            made = _certificate(layout, prepared, rng, seen, parts)
            draft.file.write(made.to_json().encode())
        # The certificate first: a release never stands there without one.
        try:
            place.publish()
        except BaseException:
            goal.certificate_path.unlink(missing_ok=True)
            raise
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
    layout: Layout,
    prepared: Prepared[Any],
    rng: Source,
    ordered: bool,
    place: Staging,
) -> list[tuple[str, Part]]:
    """Run the tasks; one answer for each partition comes back, whatever else was run."""
    task = WritePart(
        layout, prepared.discretizer, prepared.plan, rng,
        str(place.attempts), _types(table, layout, prepared), ordered,
    )  # fmt: skip
    with surfaced():
        rows = in_order(table, layout) if ordered else table.frame
        found = [Part(**row.asDict()) for row in mapped(rows, task, TELLS).collect()]
    return place.gather(found)


def in_order(table: SparkTable, layout: Layout) -> Any:
    """Each series whole in one partition, its rows in the order of time."""
    assert layout.time is not None
    if layout.series is None:
        return table.frame.repartition(1).sortWithinPartitions(quoted(layout.time))
    names = quoted(layout.series), quoted(layout.time)
    return table.frame.repartition(names[0]).sortWithinPartitions(*names)


def _types(table: SparkTable, layout: Layout, prepared: Prepared[Any]) -> str:
    """The released columns in Spark's words."""
    from pyspark.sql import types

    before = table.schema.field(layout.column).type
    kind = released_type(prepared.discretizer, before)
    named = {
        pa.int16(): types.ShortType(),
        pa.int64(): types.LongType(),
        pa.float64(): types.DoubleType(),
        pa.string(): types.StringType(),
        pa.bool_(): types.BooleanType(),
    }
    released = types.StructType()
    for field in table.frame.schema:
        changed = field.name == layout.column and kind != before
        nullable = field.nullable or changed
        released.add(field.name, named[kind] if changed else field.dataType, nullable)
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
    layout: Layout,
    prepared: Prepared[Any],
    rng: Source,
    seen: Survey,
    parts: list[tuple[str, Part]],
) -> Certificate:
    """From the plan and what the tasks have told of the files they wrote."""
    gaps = sum(part.gaps for _, part in parts)
    released = Released(
        layout.column, layout.series, seen.rows, seen.series,
        states_digest(parts), released_file(parts), gaps, seen.splits, len(parts),
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
