"""A Spark frame in, a folder with one release and its certificate out.

The rows, values and order over all part files are those that one machine would publish. Series are
put in the order of their published names by Spark, which sorts raw rows on the disks of its
workers: a session that does not encrypt them there is refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chainveil.errors import ChainveilError, InvalidInput, MissingExtra, NotSupported
from chainveil.mechanism.randomness import Source, as_source
from chainveil.model.contexts import MOST_CONTEXTS
from chainveil.next.certificate.document import Certificate
from chainveil.next.certificate.make import Column, Discretization, Released, certify
from chainveil.next.spark.sink import (
    COLLISION,
    COUNTS,
    TELLS,
    Count,
    Names,
    Part,
    Staging,
    Write,
    local_path,
    released,
    staging,
    surfaced,
)
from chainveil.next.table.guard import SAMPLED, check_public
from chainveil.next.table.read import Table, open_table
from chainveil.next.table.release import POSITION, SERIES, check_declared, pseudonym_key
from chainveil.next.table.states import (
    Discretizer,
    Plans,
    Request,
    arrange,
    find_discretizer,
    find_plans,
    fit,
    plan_for,
)
from chainveil.next.table.write import certificate_path, outputs
from chainveil.plan import NoisePlan

ENCRYPTION = "spark.io.encryption.enabled"
# The column of published names, while rows are put in order.
NAME = "chainveil_published_name"
# Rows that are looked at to find series to sample, and series of the sample.
START, SAMPLED_SERIES = 20_000, 200


@dataclass(frozen=True)
class SparkRelease:
    """A release that was written, and its certificate.

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
    request: Request,
    path: str | Path,
    *,
    rng: Source | None = None,
    certificate: str | Path | None = None,
    private_report: str | Path | None = None,
    force: bool = False,
) -> SparkRelease:
    """Publish one column of a Spark frame under Bayesian differential privacy.

    Noise is drawn once and written; what comes back is read from what was written. A lazy
    frame would draw new noise whenever it is evaluated.

    Parameters
    ----------
    frame : Spark frame
        The table. Its rows may lie in any order; ``request.time`` puts them in one.
    request : Request
        What is asked; its ``reference`` may be a table of any kind.
    path : str or Path
        The folder to write, of Parquet files. The driver and all workers must share it.
    rng : optional
        None for a release; a seeded source for study.
    certificate, private_report : str or Path, optional
        Where the certificate goes, by default beside the folder; and the list of who is who.
    force : bool
        Whether a release that stands there is replaced.
    """
    source = as_source(rng)
    goal = local_path(path)
    beside = certificate_path(goal) if certificate is None else Path(certificate)
    who = [] if private_report is None else [Path(private_report)]
    check_session(frame)
    table = schema_of(frame)
    _check_request(request, table)
    _check_elsewhere(frame, goal)
    with staging(goal, force) as place:
        with outputs([*who, beside], force, (), [True] * len(who) + [False],
                     ["private_report"] * len(who) + ["certificate"]) as drafts:  # fmt: skip
            discretizer = find_discretizer(_with_limit(frame, request, table), request)
            plan = _plan(frame, request, discretizer)
            _check_sample(frame, request, discretizer, plan)
            names, parts = _written(frame, request, discretizer, plan, source, place)
            files = place.gather(parts)
            made = _certificate(request, discretizer, plan, source, parts, files, table)
            if who:
                drafts[0].file.write(_who_is_who(frame, request, names))
            drafts[-1].file.write(made.to_json().encode())
        try:
            place.place(force)
        except BaseException:
            beside.unlink()
            raise
    return SparkRelease(frame.sparkSession.read.parquet(spark_path(goal)), made, goal)


def spark_path(path: Path) -> str:
    """A path to the letter: Spark would take some characters for patterns."""
    return "file://" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path))


def check_session(frame: Any) -> None:
    """Error unless it is a Spark frame, of a session that encrypts what it writes to disks."""
    try:
        import pyspark
    except ModuleNotFoundError:
        raise MissingExtra("pyspark", "spark", "Working on Apache Spark") from None
    del pyspark
    if not hasattr(frame, "mapInArrow"):
        raise InvalidInput("frame", type(frame).__name__, "a Spark data frame")
    session = frame.sparkSession
    try:
        # By the settings Spark was started with: what a session is told later has no effect.
        found = session.sparkContext.getConf().get(ENCRYPTION, "false")
    except Exception:  # A session over Spark Connect does not show them.
        found = session.conf.get(ENCRYPTION, "false")
    if str(found).lower() != "true":
        raise InvalidInput(
            "frame", "a Spark session that writes raw rows to the disks of its workers in the "
            "clear, where it sorts them", f"one that was started with {ENCRYPTION}=true",
        )  # fmt: skip


def schema_of(frame: Any) -> Table:
    """The columns of a Spark frame with their types, and no rows."""
    empty = frame.sparkSession.createDataFrame([], frame.schema)
    with surfaced():
        return open_table(pl.DataFrame(empty.limit(0).toArrow()))


def _check_request(request: Request, table: Table) -> None:
    request.check(table)
    check_declared(request, table.columns)
    if request.time is None:
        raise InvalidInput("time", None, "a column that orders the rows of a series",
                           "The rows of a Spark frame have no order of their own.")  # fmt: skip
    if table.read([request.time]).to_series().dtype == pl.String:
        raise InvalidInput(request.time, "a column of text", "numbers, dates or times",
                           "Rows are put in order by it on Spark: cast it first.")  # fmt: skip
    if request.group is not None:
        raise NotSupported(
            "group on Spark: a plan for each group is for tables on one machine; release each "
            "group on its own, with its own certificate"
        )
    if request.plan is None and request.epsilon is None:
        raise InvalidInput("epsilon", None, "a number above 0", "It is the privacy budget.")


def _check_elsewhere(frame: Any, goal: Path) -> None:
    """Error where the table would be replaced by its own release."""
    inside = str(goal) + "/"
    names = frame.inputFiles() if goal.exists() else []
    if any(inside in name or name.endswith(str(goal)) for name in names):
        raise InvalidInput("output", f"{goal}, the table itself", "another folder")


def quoted(name: str) -> str:
    """A column name in which dots and blanks mean nothing."""
    return "`" + name.replace("`", "``") + "`"


def mapped(frame: Any, task: Any, columns: Any) -> Any:
    """The frame that a task makes of another, batch by batch."""
    with warnings.catch_warnings():
        # Spark says so of pandas, which is not used here.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        return frame.mapInArrow(task, columns)


def _with_limit(frame: Any, request: Request, table: Table) -> Table:
    """A table that holds one value, the mean or the median, where that is to be looked up."""
    from pyspark.sql import functions

    if not isinstance(request.threshold, str):
        return table
    column = functions.col(quoted(request.column)).cast("double")
    found = functions.avg(column)
    if request.threshold == "median":
        found = functions.percentile(column, functions.lit(0.5))
    with surfaced():
        value = frame.where(column.isNotNull() & ~functions.isnan(column)).agg(found).first()[0]
    return open_table(pl.DataFrame({request.column: [value]}, schema={request.column: pl.Float64}))


def _in_order(frame: Any, request: Request, names: Names, columns: Sequence[str]) -> Any:
    """Whole series in each partition, in the order of their published names, each by time."""
    rows = frame.select(*(quoted(name) for name in dict.fromkeys(columns)))
    time = quoted(str(request.time))
    if request.series is None:
        return rows.repartition(1).sortWithinPartitions(time)
    name = quoted(request.series)
    if names.key is not None:
        from pyspark.sql import types

        schema = types.StructType(
            [*rows.schema.fields, types.StructField(NAME, types.StringType())]
        )
        rows, name = mapped(rows, names.added(request.series, NAME), schema), NAME
    rows = rows.repartitionByRange(name).sortWithinPartitions(name, time)
    return rows.drop(NAME) if names.key is not None else rows


@dataclass(frozen=True)
class Counted:
    """What tasks have counted, for a model that is fitted to all series together."""

    states: int
    found: dict[int, NDArray[np.int64]]
    reached: dict[int, int]

    def counts(self, order: int = 1, least: int = 0) -> NDArray[np.int64]:
        """As of :class:`chainveil.next.table.states.Points`."""
        return self.found[order]

    def reach(self, order: int) -> int:
        """As of :class:`chainveil.next.table.states.Points`."""
        return self.reached.get(order, 0)


def _plan(frame: Any, request: Request, discretizer: Discretizer) -> NoisePlan:
    """The noise; a model that is fitted is one chain for all series together."""
    if request.plan is not None or request.chain is not None or request.reference is not None:
        nothing: Any = Counted(discretizer.count, {}, {})
        labelled: Any = _Unlabelled(nothing)
        return find_plans(labelled, request, discretizer).each[0]
    k, wanted = discretizer.count, request.order
    largest = max(m for m in range(1, 9) if m == 1 or k**m <= MOST_CONTEXTS)
    orders = tuple(range(1, largest + 1)) if wanted == "auto" else (int(wanted),)
    asked = replace(request, public=(), reference=None)
    task = Count(asked, discretizer, Names(None), orders)
    rows = _in_order(frame, request, Names(None), request.names)
    with surfaced():
        answers = mapped(rows, task, COUNTS).collect()
    found, reached = {}, {}
    for place, order in enumerate(orders):
        tables = [np.frombuffer(answer["counts"][place], np.int64) for answer in answers]
        found[order] = sum(tables, np.zeros(k ** (order + 1), np.int64)).reshape(-1, k)
        reached[order] = sum(answer["reach"][place] for answer in answers)
    counted: Any = Counted(k, found, reached)
    return plan_for(fit(counted, "private", request.order), request)


class _Unlabelled:
    """Points without groups, for where the model is not fitted on them."""

    labels: tuple[Any, ...] = ()
    group = None

    def __init__(self, counted: Counted) -> None:
        self.states = counted.states


def _check_sample(frame: Any, request: Request, discretizer: Discretizer, plan: NoisePlan) -> None:
    """The check of public columns, on some whole series."""
    from pyspark.sql import functions

    columns = list(dict.fromkeys([*request.names, *request.public]))
    rows = frame.select(*map(quoted, columns))
    order = [quoted(name) for name in (request.series, request.time) if name is not None]
    with surfaced():
        if request.series is not None:
            name = quoted(request.series)
            few = rows.limit(START).select(name).distinct().limit(SAMPLED_SERIES).collect()
            rows = rows.where(functions.col(name).isin([row[0] for row in few]))
        held = rows.orderBy(*order).limit(SAMPLED).toArrow()
    if held.num_rows == 0:
        raise InvalidInput("table", "no rows", "at least one row")
    table = open_table(pl.DataFrame(held))
    points = arrange(table, replace(request, reference=None), discretizer)
    check_public(table, points, request, [plan])


def _written(
    frame: Any, request: Request, discretizer: Discretizer, plan: NoisePlan, source: Source,
    place: Staging,
) -> tuple[Names, list[Part]]:  # fmt: skip
    """Run the tasks; one answer for each partition comes back, whatever else was run."""
    asked = replace(request, reference=None, chain=None, plan=None, epsilon=1.0)
    for attempt in range(100):
        pseudonyms = request.series is not None and request.series_names == "pseudonyms"
        names = Names(pseudonym_key(source, attempt) if pseudonyms else None)
        rows = _in_order(frame, request, names, [*request.names, *request.public])
        task = Write(asked, discretizer, names, Plans((plan,)), source, str(place.attempts))
        try:
            with surfaced():
                found = [Part(**row.asDict()) for row in mapped(rows, task, TELLS).collect()]
        except ChainveilError as error:
            if str(error) != COLLISION:
                raise
            continue
        if not found:
            raise InvalidInput("table", "no rows", "at least one row")
        return names, found
    raise InvalidInput("series", "too many series for pseudonyms", "fewer series")


def _certificate(
    request: Request, discretizer: Discretizer, plan: NoisePlan, source: Source,
    parts: list[Part], files: list[Path], table: Table,
) -> Certificate:  # fmt: skip
    named = request.series is not None
    order = (*((SERIES,) if named else ()), POSITION, request.column, *request.public)
    base = Released(
        request.column, 0, 0, "", "", order,
        series_names=request.series_names if named else None,
        columns=tuple(Column(name, "", "") for name in request.public),
        allowed_leaks=request.allow_leak,
        points=sum(part.points for part in parts) if plan.noise.every > 1 else None,
    )  # fmt: skip
    shown = released(files, parts, base, discretizer.labels)
    states = Discretization(discretizer.kind, discretizer.edges, discretizer.labels,
                            discretizer.origin)  # fmt: skip
    word: Any = "release" if source.for_release else "study"
    return certify(plan, discretization=states, source=word, released=shown)


def _who_is_who(frame: Any, request: Request, names: Names) -> bytes:
    """The names of the series beside their pseudonyms, as CSV. Private."""
    found: list[str] = []
    if request.series is not None:
        with surfaced():
            rows = frame.select(quoted(request.series)).distinct().toArrow()
        found = sorted(pl.Series(rows.column(0)).cast(pl.String).to_list())
    made = pl.DataFrame({"series": names.publish(found), "name": found},
                        schema={"series": pl.String, "name": pl.String})  # fmt: skip
    return made.write_csv().encode()
