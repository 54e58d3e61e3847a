"""Places of rows, against a second account of the rules."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from chainveil.errors import InvalidInput
from chainveil.mechanism.randomness import seeded
from chainveil.next.table.read import open_table
from chainveil.next.table.release import sanitize
from chainveil.next.table.states import arrange, find_discretizer
from tests.next.table.tables import request


def positions(frame: pl.DataFrame, **how: Any) -> list[int]:
    table = open_table(frame)
    asked = request(**{"series": None} | how)
    found: list[int] = arrange(table, asked, find_discretizer(table, asked)).position.tolist()
    return found


def frame(minutes: list[Any], **more: Any) -> pl.DataFrame:
    return pl.DataFrame({"minute": minutes, "bpm": [50 + 40 * (i % 2) for i in range(len(minutes))],
                         **more})  # fmt: skip


def test_rows_are_ordered_by_time_and_counted_from_0() -> None:
    assert positions(frame([5, 1, 9, 3])) == [0, 1, 2, 3]


def test_a_step_gives_the_place_on_the_grid() -> None:
    assert positions(frame([10, 12, 18, 20]), step=2, max_gap=2) == [0, 1, 4, 5]


def test_a_gap_of_unknown_length_takes_one_more_position() -> None:
    assert positions(frame([10, 12, 18, 20]), max_gap=2) == [0, 1, 3, 4]


@pytest.mark.parametrize("text", [False, True])
def test_dates_and_times_have_steps_in_seconds(text: bool) -> None:
    start = datetime(2026, 1, 31, 12)
    times = [start + timedelta(minutes=minute) for minute in (0, 1, 5)]
    held = frame([str(time) for time in times] if text else times)
    assert positions(held, step=60, max_gap=60) == [0, 1, 5]


@pytest.mark.parametrize(
    ("minutes", "how", "words"),
    [
        ([1, 1, 2], {}, "the same time twice, in rows 1 and 2"),
        ([1, 2, 4], {"step": 1}, "a longer step in row 3"),
        ([1.0, 2.0, 2.5], {"step": 1}, "a shorter step in row 3"),
        ([1.0, 2.0, 4.5], {"step": 1, "max_gap": 1}, "no whole number of steps"),
        ([1, None, 2], {}, "no time"),
        (["1", "x", "2"], {}, "no time, or times of several kinds"),
        ([1.0, float("inf"), 2], {}, "an infinite time"),
    ],
)
def test_wrong_times_are_errors(minutes: list[Any], how: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        positions(frame(minutes), **how)


def test_missing_and_unreported_points_keep_their_positions() -> None:
    held = frame(list(range(9))).with_columns(
        bpm=pl.when(pl.col("minute") == 4).then(None).otherwise(pl.col("bpm"))
    )
    kept = sanitize(open_table(held), request(series=None, missing="keep"), seeded(1))
    assert kept.frame.get_column("position").to_list() == list(range(9))
    assert kept.frame.get_column("bpm").is_null().to_list() == [i == 4 for i in range(9)]
    rare = sanitize(open_table(frame(list(range(9)))), request(series=None, every=3), seeded(1))
    assert rare.frame.get_column("position").to_list() == [1, 4, 7]


def test_rows_come_out_by_series_then_position(tmp_path: Path) -> None:
    held = frame([2, 1, 2, 1], person=["b", "b", "a", "a"])
    asked = request(series="person", series_names="original")
    found = sanitize(open_table(held), asked, seeded(1)).frame
    assert found.get_column("series").to_list() == ["a", "a", "b", "b"]
    numbered = held.with_columns(person=pl.Series([10, 10, 9, 9]))
    found = sanitize(open_table(numbered), asked, seeded(1)).frame
    assert found.get_column("series").to_list() == [9, 9, 10, 10]


def test_pseudonyms_are_new_in_every_release() -> None:
    held = open_table(frame([1, 2, 1, 2], person=["b", "b", "a", "a"]))
    names = [set(sanitize(held, request()).frame.get_column("series")) for _ in range(2)]
    assert len(names[0] | names[1]) == 4
