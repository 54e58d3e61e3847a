"""A folder of Parquet files that Spark's tasks write, one a partition, as a sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from chainveil.errors import InvalidInput
from chainveil.spark.part import TELLS, WritePart, WrittenPart, spark_values
from chainveil.spark.staging import (
    Staging,
    released_file,
    staging,
    states_digest,
)
from chainveil.spark.survey import Survey, lengths, survey
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
from chainveil.table.read.unchanged import check_unchanged, identity
from chainveil.table.release import Draw, Drawn, Steps, check_length
from chainveil.table.request.request import Layout
from chainveil.table.states.prepare import Progress, check_not_empty
from chainveil.table.write.atomic import check_goal, drafts, real_path
from chainveil.table.write.publishing import recover


@dataclass(frozen=True)
class FolderSink:
    """The folder to write, its certificate, and whether what is there may go."""

    path: Path
    certificate: str | Path | None = None
    force: bool = False
    dress = staticmethod(spark_values)

    @property
    def certificate_path(self) -> Path:
        """By default beside the folder."""
        given = self.certificate
        return certificate_path(self.path) if given is None else real_path(given)

    @contextmanager
    def claimed(self, table: SparkTable) -> Iterator[Draw]:
        """A hidden folder beside the goal; the table must stay as it is until the end."""
        if self.path in (self.certificate_path, *self.certificate_path.parents):
            raise InvalidInput("certificate", str(self.certificate), "a file beside the release")
        recover([self.path, self.certificate_path])
        check_goal(self.certificate_path, self.force)
        with staging(self.path, self.force) as place:
            _check_elsewhere(table, self.path)
            files = table.local_files()
            before = identity("of Spark", files)

            def check() -> None:
                check_unchanged("of Spark", before, files)

            yield partial(self._drawn, table, place, check)

    @contextmanager
    def _drawn(
        self,
        table: SparkTable,
        place: Staging,
        check: Callable[[], None],
        steps: Steps,
        seen: Survey | None,
        _: Progress | None,
    ) -> Iterator[Drawn]:
        check_types(table, steps.layout, steps.discretizer)
        if steps.ordered_noise:
            need_order(steps.layout, "noise with a memory, rare reports or seeded noise")
        found = _counted(table, steps, seen)
        check_length(steps.plans.only, found)
        # The certificate first: a release never stands there without its own.
        with drafts([self.certificate_path], self.force, last=place) as (draft,):
            parts = _write(table, steps, place)
            check()
            drawn = _drawn(_checked(found, parts, steps.ordered), parts)
            yield replace(drawn, certificate=draft.file)


def _counted(table: SparkTable, steps: Steps, seen: Survey | None) -> Survey:
    """Rows, series and gaps; the times are checked, unless the tasks that write will do so."""
    if seen is not None:
        found = seen
    elif steps.layout.time is not None and not steps.ordered:
        found = survey(table, steps.layout, None)
    else:
        found = lengths(table, steps.layout)
    check_not_empty(found.rows)
    return found


def _write(table: SparkTable, steps: Steps, place: Staging) -> list[tuple[str, WrittenPart]]:
    """Run the tasks; one answer for each partition comes back, whatever else was run."""
    task = WritePart(steps, str(place.attempts), _types(table, steps))
    with surfaced():
        rows = table.columns_of(steps.kept.read(steps.layout, table.columns))
        rows = in_order(rows, steps.layout) if steps.ordered else rows
        found = [WrittenPart(**row.asDict()) for row in mapped(rows, task, TELLS).collect()]
    return place.gather(found)


def in_order(rows: Any, layout: Layout) -> Any:
    """Each series whole in one partition, its rows in the order of time."""
    assert layout.time is not None
    if layout.series is None:
        return rows.repartition(1).sortWithinPartitions(quoted(layout.time))
    names = quoted(layout.series), quoted(layout.time)
    return rows.repartition(names[0]).sortWithinPartitions(*names)


def _types(table: SparkTable, steps: Steps) -> str:
    """The released columns in Spark's words: names and types, and no notes on them."""
    from pyspark.sql import types

    before = table.schema
    named = {
        pa.int16(): types.ShortType(),
        pa.int64(): types.LongType(),
        pa.float64(): types.DoubleType(),
        pa.string(): types.StringType(),
        pa.bool_(): types.BooleanType(),
    }
    released = types.StructType()
    for field in steps.schema(before):
        changed = field.type != before.field(field.name).type
        old = table.frame.schema[field.name]
        new = named[field.type] if changed else without_notes(old.dataType)
        released.add(field.name, new, old.nullable or changed or field.name == steps.layout.column)
    return str(released.json())


def _checked(seen: Survey, parts: list[tuple[str, WrittenPart]], ordered: bool) -> Survey:
    """What was seen, splits included; an error unless tasks met the rows counted before."""
    rows, series, splits = (
        sum(getattr(part, name) for _, part in parts) for name in ("points", "series", "splits")
    )
    # A series that was in two places would have had two beginnings of its noise.
    if rows != seen.rows or (ordered and series != seen.series):
        raise InvalidInput(
            "table", f"{seen.rows:,} rows in {seen.series:,} series at first, {rows:,} rows later",
            "a table that stays the same while it is read", "Write it to files first.",
        )  # fmt: skip
    return replace(seen, splits=splits) if ordered else seen


def _drawn(seen: Survey, parts: list[tuple[str, WrittenPart]]) -> Drawn:
    """All parts together, from what the tasks have told of the files they wrote."""
    written = [part for _, part in parts]
    return Drawn(
        seen,
        seen.rows,
        sum(part.rows for part in written),
        sum(part.gaps for part in written),
        states_digest(parts),
        min(part.lowest for part in written),
        max(part.highest for part in written),
        sum(part.heard for part in written),
        released_file(parts),
        len(parts),
    )


def _check_elsewhere(table: SparkTable, goal: Path) -> None:
    """Error where the table would be replaced by its own release."""
    if not goal.exists():
        return
    inside = str(goal) + "/"
    if any(inside in name or name.endswith(str(goal)) for name in table.frame.inputFiles()):
        raise InvalidInput("output", f"{goal}, the table itself", "another folder")
