"""Order, gaps and lengths: against a plain loop over rows, and in words."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv
from chainveil.table.request.clock import Clock
from chainveil.table.states.tracker import Columns, Tracker

CHAIN = cv.MarkovChain.binary(0.1, 0.2)


def _by_hand(
    rows: list[tuple[str, int, int]], max_gap: float | None
) -> tuple[dict[tuple[int, int], int], int]:
    """Transitions and splits, one row at a time."""
    last: dict[str, tuple[int, int]] = {}
    counts: dict[tuple[int, int], int] = {}
    splits = 0
    for series, time, state in rows:
        if series in last:
            before, previous = last[series]
            if max_gap is not None and time - before > max_gap:
                splits += 1
            else:
                counts[previous, state] = counts.get((previous, state), 0) + 1
        last[series] = time, state
    return counts, splits


@st.composite
def _tables(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    clocks = dict.fromkeys("abc", 0)
    rows = []
    for _ in range(draw(st.integers(1, 60))):
        series = draw(st.sampled_from("abc"))
        clocks[series] += draw(st.integers(1, 4))
        rows.append((series, clocks[series], draw(st.integers(0, 2))))
    return rows


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(_tables(), st.sampled_from([None, 1, 2, 3]), st.integers(1, 20), st.booleans())
def test_mixed_series_in_batches_are_counted_as_by_hand(
    rows: list[tuple[str, int, int]], max_gap: float | None, size: int, numbers: bool
) -> None:
    tracker = Tracker("series", Clock("time", max_gap=max_gap), 3)
    for begin in range(0, len(rows), size):
        names, times, codes = zip(*rows[begin : begin + size], strict=True)
        keys = pa.array([ord(name) for name in names] if numbers else names)
        columns = Columns(keys, pa.array(times), np.array(codes, np.uint8))
        tracker.update(columns, len(names))
    counts, splits = _by_hand(rows, max_gap)
    assert tracker.counts is not None
    found = {(a, b): int(tracker.counts[a, b]) for a in range(3) for b in range(3)}
    assert {pair: count for pair, count in found.items() if count} == counts
    assert tracker.splits == splits
    assert tracker.series == len({name for name, _, _ in rows})
    lengths = [sum(name == key for name, _, _ in rows) for key in "abc"]
    assert tracker.longest == max(lengths)


def _sanitize(**columns: Any) -> cv.TableRelease:
    layout: dict[str, Any] = {name: name for name in ("series", "time") if name in columns}
    more = {
        name: columns.pop(name) for name in ("step", "max_gap", "max_length") if name in columns
    }
    table = pa.table({"x": [0, 1] * (len(columns["time"]) // 2), **columns})
    return cv.sanitize_table(
        table, "x", 1.0, chain=CHAIN, mechanism="independent", **layout, **more
    )


DAY = dt.datetime(2026, 1, 1)
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"time": [1, 2, 3, 3]}, "same time twice, in row 4"),
    ({"time": [1, 3, 2, 4]}, "step back in row 3"),
    ({"time": [1, 2, 4, 5], "step": 1}, "a longer step in row 3"),
    ({"time": [1.0, 1.5, 2.0, 2.7], "step": 0.5}, "a longer step in row 4"),
    ({"time": [1, None, 2, 3]}, "no time.*row 2"),
    ({"time": [1.0, 2.0, float("nan"), 3.0]}, "no time.*row 3"),
    ({"time": ["1", "2", "x", "4"]}, "a cell that is no time.*row 3"),
    ({"time": [[1], [2], [3], [4]]}, "list"),
    ({"time": [1, 2, 3, 4], "series": ["a", None, "b", "b"]}, "no series.*row 2"),
    ({"time": [1, 5, 1, 1], "series": ["a", "a", "b", "a"]}, "step back in row 4"),
    ({"time": [DAY, DAY + dt.timedelta(hours=1), DAY, DAY]}, "step back in row 3"),
    ({"time": [1, 2, 9, 10], "max_gap": 2, "max_length": 10}, "length"),
    ({"time": [1, 2, 3, 4], "max_length": 3}, "4 rows"),
    ({"time": [1, 2, 3, 4], "step": -1}, "step"),
]


@pytest.mark.parametrize(("columns", "message"), WRONG)
def test_what_is_out_of_order_is_named_with_its_row(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(cv.InvalidInput, match=message):
        _sanitize(**columns)


RIGHT: list[dict[str, Any]] = [
    {"time": [1, 2, 3, 4], "step": 1},
    {"time": [0.1, 0.2, 0.3, 0.4], "step": 0.1},
    {"time": [1, 2, 30, 31], "step": 1, "max_gap": 5},
    {"time": [5, 6, 1, 2], "series": [1, 1, 2, 2]},
    {"time": [1, 1, 2, 2], "series": ["a", "b", "a", "b"]},
    {"time": ["2026-01-01 00:00", "2026-01-01 00:01", "2026-01-02", "2026-01-03"]},
    {
        "time": [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.5Z",
            "2026-01-02T00Z",
            "2026-01-03T00Z",
        ]
    },
    {"time": ["1", "2.5", "3", "4"]},
    {"time": [DAY + dt.timedelta(seconds=s) for s in range(4)], "step": 1},
    {"time": [dt.date(2026, 1, d) for d in (1, 2, 3, 4)], "step": 86_400},
]


@pytest.mark.parametrize("columns", RIGHT)
def test_what_is_in_order_passes(columns: dict[str, Any]) -> None:
    assert _sanitize(**columns).certificate["release.rows"] == 4


def test_a_gap_is_no_transition() -> None:
    table = pa.table({"x": [0, 0, 1, 1, 0, 1], "t": [1, 2, 10, 11, 20, 21]})
    how: dict[str, Any] = {"time": "t", "states": [0, 1]}
    split = cv.sanitize_table(table, "x", 1.0, max_gap=2, reference=None, **how, chain=CHAIN)
    assert split.certificate["release.series"] == 1
    from chainveil.table.read.frames import FrameSource
    from chainveil.table.request.request import Layout, StateRules
    from chainveil.table.states.fitting import fit_table

    table = pa.table({"x": [0, 1, 0, 1, 1, 0, 1], "t": [1, 2, 10, 11, 20, 21, 22]})
    found = fit_table(
        FrameSource(table), Layout("x", time="t", max_gap=2), StateRules(states=[0, 1])
    )
    assert found.chain.counts is not None
    assert found.chain.counts.tolist() == [[0, 3], [1, 0]]
    assert found.splits == 2


@pytest.mark.slow
def test_a_million_series_of_one_point() -> None:
    rows = 1_000_000
    table = pa.table({"x": np.arange(rows) % 2, "id": np.arange(rows)})
    released = cv.sanitize_table(table, "x", 1.0, series="id", chain=CHAIN, max_length=1)
    assert released.certificate["release.series"] == rows
    with pytest.raises(cv.InvalidInput, match="no transition"):
        cv.sanitize_table(table, "x", 1.0, series="id", states=[0, 1])
