"""Rows on their time line: gaps are masked where their length is known, cut where it is not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from chainveil import InvalidInput
from chainveil.table.released.grouping import series_order
from chainveil.table.released.timeline import CUT, LONGEST_GAP, check_known, distances, lay
from chainveil.table.request.clock import Clock

ROWS = pa.table(
    {
        "who": ["a", "b", "a", "b", "a", "a", "b", "a"],
        "when": [0, 0, 2, 2, 8, 10, 4, 10 + 2 * (LONGEST_GAP + 1)],
    }
)


FULL = np.zeros(8, np.bool_)


def measured(step: float | None, table: pa.Table = ROWS) -> tuple[Clock, np.ndarray, np.ndarray]:
    clock = Clock("when", step, max_gap=2)
    order, ends = series_order(table, "who")
    return clock, order, distances(table, "who", clock, order, ends)


def test_a_step_tells_how_many_points_lie_in_a_gap() -> None:
    _, order, apart = measured(2)
    assert order.tolist() == [0, 2, 4, 5, 7, 1, 3, 6]
    # The last gap of a is too long to matter; b begins anew and has none.
    assert apart.tolist() == [1, 1, 3, 1, CUT, 1, 1, 1]
    laid = lay(np.arange(8), order, np.array([5]), apart, FULL)
    assert [part.tolist() for part in laid] == [[0, 2, None, None, 4, 5], [7], [1, 3, 6]]
    names = lay(np.array(list("abababab")), order, np.array([5]), apart, FULL)
    assert [len(part) for part in names] == [6, 1, 3]


def test_gaps_of_unknown_length_are_cuts() -> None:
    clock, order, apart = measured(None)
    assert apart.tolist() == [1, 1, CUT, 1, CUT, 1, 1, 1]
    with pytest.raises(InvalidInput, match=r"remembers across the gaps.*row 5"):
        check_known(apart, order, clock)
    crooked = pa.table({"who": ["a"] * 3, "when": [0, 2, 7]})
    clock, order, apart = measured(2, crooked)
    assert apart.tolist() == [1, 1, CUT]
    check_known(apart, order, clock)


def test_one_series_without_gaps_is_one_plain_array() -> None:
    order = np.arange(4)
    laid = lay(np.arange(4), order, np.empty(0, np.int64), np.ones(4, np.int64), FULL[:4])
    assert not np.ma.isMaskedArray(laid)
    assert laid.tolist() == [0, 1, 2, 3]


def test_rows_without_a_value_are_points_all_the_same() -> None:
    _, order, apart = measured(2)
    empty = np.isin(np.arange(8), [2, 6])
    laid = lay(np.arange(8), order, np.array([5]), apart, empty)
    assert [part.tolist() for part in laid] == [[0, None, None, None, 4, 5], [7], [1, 3, None]]
