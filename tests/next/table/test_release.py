"""What a release holds: the noise of its plan, and columns built anew."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

import chainveil as cv
from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.randomness import seeded, series_number
from chainveil.next.table.read import open_table
from chainveil.next.table.release import described, rebuilt, sanitize
from chainveil.next.table.released import Reading, read_by_noise, read_released, verify
from tests.next.table.tables import CHAIN, heart_rates, request


@pytest.mark.parametrize("mechanism", ["independent", "sticky", "tracking", "correlated"])
def test_noise_is_that_of_whole_series(mechanism: str) -> None:
    plan = cv.calibrate(CHAIN, 2.0, mechanism=mechanism)
    frame = heart_rates(100, 3)
    asked = request(chain=None, epsilon=None, mechanism=None, plan=plan, labels=None,
                    series_names="original")  # fmt: skip
    found = sanitize(open_table(frame), asked, seeded(3)).frame
    for name in frame.get_column("person").unique():
        states = (frame.filter(pl.col("person") == name).sort("minute")["bpm"] >= 70).to_numpy()
        source = seeded(3).at(series=series_number(name))
        expected = plan.sanitize(states.astype(np.uint8), rng=source)
        here = found.filter(pl.col("series") == name).get_column("bpm").to_numpy()
        assert np.array_equal(here, expected)


def test_rare_reports_are_those_of_the_plan() -> None:
    plan = cv.calibrate(CHAIN, 2.0, mechanism="sticky", every=3)
    frame = heart_rates(100, 2)
    asked = request(chain=None, epsilon=None, mechanism=None, plan=plan, labels=None,
                    series_names="original")  # fmt: skip
    held = sanitize(open_table(frame), asked, seeded(3))
    assert held.certificate["release.points"] == 200
    for name in frame.get_column("person").unique():
        states = (frame.filter(pl.col("person") == name).sort("minute")["bpm"] >= 70).to_numpy()
        made: Any = plan.reports(
            states.astype(np.uint8), rng=seeded(3).at(series=series_number(name))
        )
        here = held.frame.filter(pl.col("series") == name)
        assert here.get_column("bpm").to_list() == list(made.values)
        assert here.get_column("position").to_list() == list(made.places)
    assert verify(held.certificate, held.frame).failures == ()


COLUMNS: dict[str, Any] = {
    "text": pl.Series(["007", None, "", "ä"]),
    "categories": pl.Series(["u", None, "w", "u"], dtype=pl.Enum(["u", "v", "w"])),
    "whole": pl.Series([1, None, -3, 2**62]),
    "small": pl.Series([1, None, 3, 255], dtype=pl.UInt8),
    "large": pl.Series([1, None, 3, 2**64 - 1], dtype=pl.UInt64),
    "number": pl.Series([0.5, None, float("nan"), -0.0]),
    "truth": pl.Series([True, None, False, True]),
    "decimal": pl.Series([Decimal("1.50"), None, Decimal("-2.25"), Decimal("0.00")]),
    "date": pl.Series([date(2026, 1, 31), None, date(1900, 1, 1), date(2026, 2, 1)]),
    "time": pl.Series([time(12, 30), None, time(0), time(23, 59, 59)]),
    "datetime": pl.Series([datetime(2026, 1, 31, 12), None, datetime(1900, 1, 1), None]),
    "duration": pl.Series([timedelta(seconds=1), None, timedelta(0), timedelta(days=-1)]),
    "nothing": pl.Series([None] * 4),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_public_columns_keep_their_values_and_types(name: str) -> None:
    column = COLUMNS[name].alias(name)
    made = rebuilt(column)
    assert made.to_list()[:2] == column.to_list()[:2] or name == "number"
    assert made.equals(column.cast(made.dtype), null_equal=True)
    assert described(made).sha256 == described(column).sha256
    if name == "categories":
        assert made.dtype == pl.Enum(["u", "w"])
    else:
        assert made.dtype == column.dtype


@pytest.mark.parametrize("name", COLUMNS)
def test_digests_tell_values_apart(name: str) -> None:
    column = COLUMNS[name].alias(name)
    if name == "nothing":
        return
    assert described(column).sha256 != described(column.reverse()).sha256
    without = column.set(pl.Series([True, False, False, False]), None) if name not in (
        "categories", "decimal") else column.slice(1, 3)  # fmt: skip
    assert described(column).sha256 != described(without).sha256


def test_bits_of_what_is_no_number_are_not_copied() -> None:
    hidden = np.array([0x7FF8000000000000 | 0x1234567, 0x3FF0000000000000], np.uint64)
    made = rebuilt(pl.Series("x", hidden.view(np.float64)))
    assert made.to_numpy().view(np.uint64).tolist() == [0x7FF8000000000000, 0x3FF0000000000000]


@pytest.mark.parametrize("kind", [pl.List(pl.Int64), pl.Struct({"a": pl.Int64}), pl.Binary])
def test_columns_that_may_hide_more_are_refused(kind: Any) -> None:
    values: Any = {"List": [[1]], "Struct": [{"a": 1}], "Binary": [b"1"]}[str(kind).split("(")[0]]
    frame = heart_rates(10, 1).with_columns(more=pl.Series(values * 10, dtype=kind))
    with pytest.raises(InvalidInput, match="columns of text, numbers"):
        sanitize(open_table(frame), request(public=("more",), allow_leak=("more",)))


@pytest.mark.parametrize("mechanism", ["independent", "sticky"])
def test_answers_do_not_depend_on_filters_shuffles_and_formats(mechanism: str) -> None:
    from chainveil import estimate

    frame = heart_rates(300, 6)
    held = sanitize(open_table(frame), request(mechanism=mechanism, public=("ward",)), seeded(1))

    def answers(table: Any) -> dict[Any, list[float]]:
        part = read_released(table, held.certificate, Reading(by="ward"))
        found = estimate.frequency(part.states, part.plan, by=part.groups)
        return dict(zip(found.groups or (), found.value.round(9).tolist(), strict=True))

    whole = answers(held.frame)
    assert answers(held.frame.sample(fraction=1, shuffle=True, seed=1)) == whole
    assert answers(held.frame.to_pandas()) == whole
    assert answers(held.frame.with_columns(pl.col("position").cast(pl.String))) == whole
    part = answers(held.frame.filter(pl.col("ward") == "ward 1").reverse())
    assert part == {"ward 1": whole["ward 1"]}


def test_gaps_are_found_in_the_positions() -> None:
    frame = heart_rates(60, 1).filter(pl.col("minute") % 10 != 3)
    plan = cv.calibrate(CHAIN, 2.0, mechanism="sticky", gaps=True)
    asked = request(chain=None, epsilon=None, mechanism=None, plan=plan, step=1, max_gap=1,
                    labels=None)  # fmt: skip
    held = sanitize(open_table(frame), asked, seeded(1))
    assert held.certificate["release.splits"] == 6
    assert verify(held.certificate, held.frame).failures == ()
    part = read_released(held.frame, held.certificate)
    assert np.ma.getmaskarray(part.states).nonzero()[0].tolist() == list(range(3, 60, 10))


def test_windows_and_columns_are_groups() -> None:
    held = sanitize(open_table(heart_rates(100, 2)), request(public=("ward",)), seeded(1))
    (part,) = read_by_noise(held.frame, held.certificate, Reading(by="ward", window=50))
    assert set(part.group_names) == {(f"ward {i}", j) for i in range(2) for j in range(2)}


def test_other_releases_and_changed_ones_are_refused() -> None:
    table = open_table(heart_rates(50, 2))
    one, two = sanitize(table, request()), sanitize(table, request())
    with pytest.raises(InvalidInput, match="another release"):
        read_released(two.frame, one.certificate)
    with pytest.raises(InvalidInput, match="more than once"):
        read_released(pl.concat([one.frame, one.frame.head(1)]), one.certificate)
    plan = cv.calibrate(CHAIN, 2.0, mechanism="correlated")
    asked = request(chain=None, epsilon=None, mechanism=None, plan=plan)
    held = sanitize(table, asked)
    with pytest.raises(NotSupported, match="part of a release"):
        read_released(held.frame.head(70), held.certificate)


def test_honest_columns_pass_the_check() -> None:
    rng = np.random.default_rng(1)
    frame = heart_rates(2000, 6)
    frame = frame.with_columns(
        hour=pl.col("minute") // 60 % 24,
        age=pl.col("person").replace_strict({f"person {i}": 20 + 7 * i for i in range(6)}),
        temperature=pl.Series(rng.normal(size=len(frame)).cumsum()),
        when=pl.col("minute").cast(pl.Duration("ms")) * 60000 + pl.lit(datetime(2026, 1, 1)),
        note=pl.Series([f"row {i}" for i in rng.permutation(len(frame))]),
    )
    public = ("hour", "age", "temperature", "when", "note", "ward", "minute")
    assert sanitize(open_table(frame), request(public=public)).frame.width == 3 + len(public)


@pytest.mark.parametrize("name", ["time", "series"])
def test_leaks_are_named_and_can_be_allowed(name: str) -> None:
    frame = heart_rates(2000, 1).with_columns(beat=(60_000 / pl.col("bpm")).cum_sum())
    asked: dict[str, Any] = {"time": "beat", "public": ("beat",)}
    if name == "series":
        frame = frame.with_columns(person=pl.Series(np.cumsum(np.diff(
            (frame["bpm"] >= 70).to_numpy().astype(int), prepend=0) != 0)))  # fmt: skip
        asked = {}
    with pytest.raises(InvalidInput, match="--allow-leak"):
        sanitize(open_table(frame), request(**asked))
    leak = "beat" if name == "time" else "person"
    held = sanitize(open_table(frame), request(**asked, allow_leak=(leak,)))
    assert held.certificate["release.allowed_leaks"] == [leak]
    assert any("overridden" in reason for reason in verify(held.certificate, held.frame).weaker)
