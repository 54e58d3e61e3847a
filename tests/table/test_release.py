"""The one release path with a sink from outside the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import chainveil as cv
from chainveil.mechanism import seeded
from chainveil.table.read.frames import FrameSource
from chainveil.table.release import Draw, Drawn, RowRelease, Steps, release_table
from chainveil.table.request.request import Layout
from tests.table.samples import CHAIN, KEEP_FLAT, asked, flat


class ListSink:
    """Rows as Python values, with the published column as text."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def dress(self, values: pa.Array) -> pa.Array:
        return values.cast(pa.string())

    @contextmanager
    def claimed(self, table: FrameSource) -> Iterator[Draw]:
        yield partial(self._drawn, table)

    @contextmanager
    def _drawn(self, table: FrameSource, steps: Steps, seen: Any, _: Any) -> Iterator[Drawn]:
        rows, schema = RowRelease(steps, table.columns, True), steps.schema(table.schema)
        found = [
            pa.RecordBatch.from_arrays(rows.columns(batch), schema=schema)
            for batch in table.batches(steps.kept.read(steps.layout, table.columns))
        ]
        yield rows.drawn(seen)
        self.rows = pa.Table.from_batches(found).to_pylist()


LAYOUT = Layout("bpm", "person")


def test_another_sink_takes_the_same_release() -> None:
    sink, how = ListSink(), {"threshold": 60.0, "epsilon": 1.0, "chain": CHAIN}
    told = release_table(FrameSource(flat()), sink, asked(LAYOUT, kept=KEEP_FLAT, **how), seeded(3))
    frame = cv.sanitize_table(flat(), "bpm", series="person", rng=seeded(3),
                              keep=KEEP_FLAT.columns, **how)  # type: ignore[arg-type]  # fmt: skip
    plain = [{**row, "bpm": str(row["bpm"])} for row in frame.table.to_pylist()]
    assert sink.rows == plain
    assert told["release"] == frame.certificate["release"]
    assert cv.verify(told, frame.table).holds


def test_nothing_is_published_where_a_check_fails() -> None:
    """The series are longer than the promise covers, which is known when all rows are drawn."""
    sink = ListSink()
    request = asked(LAYOUT, threshold=60.0, epsilon=1.0, chain=CHAIN, max_length=3)
    with pytest.raises(cv.InvalidInput, match="at most 3 rows"):
        release_table(FrameSource(flat()), sink, request)
    assert sink.rows == []
