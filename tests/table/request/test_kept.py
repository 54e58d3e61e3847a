"""Which columns a release holds, and what becomes of the time."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.cli import run
from chainveil.table.released.states import Reading, read_released
from chainveil.table.request.clock import Clock
from chainveil.table.request.kept import make_kept
from tests.table.planted import planted
from tests.table.samples import CHAIN

HOW: dict[str, Any] = {"series": "series", "states": [0, 1], "chain": CHAIN}
CLI = ["--column", "x", "--series", "series", "--states", "0,1", "--q", "0.1", "--r", "0.1",
       "--epsilon", "1"]  # fmt: skip


def test_a_release_holds_the_column_and_the_series_alone() -> None:
    released = cv.sanitize_table(planted(1), "x", 1.0, time="clock", **HOW)
    assert released.table.column_names == ["series", "x"]
    certificate = released.certificate
    assert certificate["release.kept"] == []
    assert certificate["release.time"] is None
    more = released.table.append_column("extra", released.table["x"])
    failures = cv.verify(certificate, more).failures
    assert [(check.field, check.text) for check in failures] == [
        ("release.kept", "claimed [], found ['extra']")
    ]


def test_named_columns_come_in_the_order_of_the_table(tmp_path: Path) -> None:
    table = planted(2)
    names = ["random", "constant"]
    released = cv.sanitize_table(table, "x", 1.0, time="clock", keep=names, keep_time=True, **HOW)
    assert released.table.column_names == ["series", "x", "constant", "random", "clock"]
    assert released.certificate["release.time"] == "as it was"
    assert released.table["random"].equals(table["random"])
    fewer = released.table.drop(["constant"])
    assert not cv.verify(released.certificate, fewer).holds
    mixed = released.table.select(["random", "clock", "x", "constant", "series"])
    assert cv.verify(released.certificate, mixed).holds
    pq.write_table(table.rename_columns([*table.column_names[:3], "a,b", *table.column_names[4:]]),
                   tmp_path / "t.parquet")  # fmt: skip
    goal = tmp_path / "r.csv"
    keep = ["--keep", '"a,b", constant', "--keep", "clock"]
    assert run(["sanitize", str(tmp_path / "t.parquet"), *CLI, *keep, "-o", str(goal)]) == 0
    assert goal.read_text().splitlines()[0] == 'series,x,constant,"a,b",clock'


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"keep": ["x"]}, "keep: found 'x'; allowed: columns other than the released one"),
        ({"keep": ["randon"]}, "Did you mean 'random'"),
        ({"keep": "random"}, "keep: found 'random'; allowed: a list of columns"),
        ({"keep": [7]}, "the name of a column, a text"),
        ({"keep_time": True}, "time: found None; allowed: a column, where keep_time is given"),
        ({"time_as": "index"}, "time: found None; allowed: a column, where time_as is given"),
        ({"time": "clock", "keep_time": True, "time_as": "index"}, "time_as: found 'index'"),
        ({"time": "clock", "keep": ["clock"], "time_as": 60}, "keep: found 'clock'"),
        ({"time": "clock", "time_as": "60s"}, "a number without a unit: 'clock' holds numbers"),
        ({"time": "clock", "time_as": "indx"}, "time_as: found 'indx'; allowed: index, a width"),
        ({"time": "clock", "time_as": 0}, "time_as: found 0"),
        ({"time": "clock", "time_as": -60}, "time_as: found -60"),
        ({"time": "clock", "time_as": True}, "time_as: found True"),
        ({"time": "clock", "time_as": float("nan")}, "time_as: found nan"),
        ({"allow_leak": ["random"]}, "allow_leak: found 'random'; allowed: a column that is kept"),
        ({"keep": ["random"], "allow_leak": "random"}, "allow_leak: found 'random'; allowed: a l"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(cv.InvalidInput) as error:
        cv.sanitize_table(planted(3), "x", 1.0, **HOW, **asked)
    assert message in str(error.value)


def test_positions_count_rows_and_whole_gaps() -> None:
    table = pa.table({
        "series": ["a", "b", "a", "b", "a", "a", "b"], "x": [0, 1, 1, 0, 0, 1, 1],
        "t": [10.0, 0.0, 10.1, 0.1, 10.2, 10.7, 0.2],
    })  # fmt: skip

    def places(**gaps: Any) -> list[int]:
        how = {**HOW, "time": "t", "time_as": "index"}
        released = cv.sanitize_table(table, "x", 1.0, **how, **gaps)
        assert released.certificate["release.time"] == "positions"
        found: list[int] = released.table["t"].to_pylist()
        return found

    assert places() == [0, 0, 1, 1, 2, 3, 2]
    assert places(step=0.1, max_gap=0.1) == [0, 0, 1, 1, 2, 7, 2]
    # Without a step nobody knows how many points lie in the gap; that there is one stays visible.
    assert places(max_gap=0.2) == [0, 0, 1, 1, 2, 4, 2]
    crooked = table.set_column(2, "t", pa.array([10.0, 0, 10.1, 0.1, 10.2, 10.75, 0.2]))
    with pytest.raises(cv.InvalidInput, match="gaps of whole steps"):
        cv.sanitize_table(
            crooked, "x", 1.0, **HOW, time="t", time_as="index", step=0.1, max_gap=0.1
        )


@pytest.mark.parametrize("mechanism", ["independent", "correlated"])
def test_estimates_read_the_gaps_from_positions(mechanism: str, tmp_path: Path) -> None:
    """What an analyst reads from positions is what the times would have told."""
    table = planted(4, 2, 300)
    table = table.filter(pa.array([i % 100 not in (40, 41, 42) for i in range(600)]))
    pq.write_table(table, tmp_path / "t.parquet")
    how = [*CLI[:-1], "4", "--time", "clock", "--step", "60", "--max-gap", "60", "--seed", "1",
           "--mechanism", mechanism]  # fmt: skip
    found = []
    for name, more in (("times", ["--keep-time"]), ("places", ["--time-as", "index"])):
        goal = tmp_path / f"{name}.parquet"
        assert run(["sanitize", str(tmp_path / "t.parquet"), *how, *more, "-o", str(goal)]) == 0
        unit = 60 if name == "times" else 1
        found.append(read_released(
            goal, tmp_path / f"{name}.certificate.json",
            Reading(time="clock", step=unit, max_gap=unit),
        ))  # fmt: skip
    times, places = found
    assert [len(part) for part in places.states] == [300, 300]
    for one, other in zip(times.states, places.states, strict=True):
        assert np.ma.allequal(one, other)
        assert np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other))
    assert (times.splits, places.splits) == (0, 0)


UTC = dt.UTC


@pytest.mark.parametrize(
    ("column", "width", "expected"),
    [
        (pa.array([0, 59, 60, 125]), 60, pa.array([0, 0, 60, 120])),
        (pa.array([0, 59], pa.int16()), "2.5", pa.array([0.0, 57.5])),
        (pa.array([-0.5, 1.75]), 0.5, pa.array([-0.5, 1.5])),
        (pa.array(["7", "61"]), 60, pa.array(["0", "60"])),
        (pa.array(["7.5", "61"]), 60, pa.array(["0", "60"])),
        (pa.array(["2026-01-31 12:00:59", "2026-01-31 12:01:00"]), "60s",
         pa.array(["2026-01-31 12:00:00", "2026-01-31 12:01:00"])),
        (pa.array(["2026-01-31T12:00:59Z"]), "1h", pa.array(["2026-01-31 12:00:00Z"])),
        (pa.array([61_500], pa.timestamp("ms", "Europe/Vienna")), "1m",
         pa.array([60_000], pa.timestamp("ms", "Europe/Vienna"))),
        (pa.array([61_500], pa.timestamp("ms")), "0.5s", pa.array([61_500], pa.timestamp("ms"))),
        (pa.array([10, 11], pa.date32()), "2d", pa.array([10, 10], pa.date32())),
        (pa.array([90_061], pa.duration("s")), "1d", pa.array([86_400], pa.duration("s"))),
        (pa.array([3_700], pa.time32("s")), "1h", pa.array([3_600], pa.time32("s"))),
    ],
)  # fmt: skip
def test_times_are_rounded_down_in_their_own_type(
    column: pa.Array, width: Any, expected: pa.Array
) -> None:
    kept = make_kept(time_as=width)
    assert kept.width is not None
    clock = Clock("t")
    found = clock.rounded(column, kept.width.value, kept.width.seconds)
    assert found.equals(expected), found
    whole = kept.width.value.is_integer()
    assert clock.rounded_type(column.type, whole) == expected.type


def test_widths_finer_than_the_column_are_an_error() -> None:
    with pytest.raises(cv.InvalidInput, match="whole steps of what 't' is stored in, 86400 sec"):
        Clock("t").rounded(pa.array([1], pa.date32()), 3600.0, True)
    with pytest.raises(cv.InvalidInput, match="with a unit, such as 60s: 't' holds dates or times"):
        Clock("t").rounded(pa.array([1], pa.date32()), 86400.0, False)


def test_rounded_times_in_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = planted(5, 3, 200)
    start = dt.datetime(2026, 3, 1)
    when = [f"{start + dt.timedelta(seconds=s):%Y-%m-%d %H:%M:%S}"
            for s in table["clock"].to_pylist()]  # fmt: skip
    table = table.set_column(4, "clock", pa.array(when)).select(["series", "x", "clock"])
    lines = [",".join(map(str, row.values())) for row in table.to_pylist()]
    (tmp_path / "t.csv").write_text("\n".join(["series,x,clock", *lines]) + "\n")
    source = str(tmp_path / "t.csv")
    for name in ("r.csv", "r.parquet"):
        goal = tmp_path / name
        how = [*CLI, "--time", "clock", "--time-as", "5m", "--force", "-o", str(goal)]
        assert run(["sanitize", source, *how]) == 0
        facts = cv.Certificate.read(tmp_path / "r.certificate.json")
        assert facts["release.time"] == "rounded down to 300 s"
        assert cv.verify(facts, goal).holds
    text = (tmp_path / "r.csv").read_text().splitlines()
    assert text[6].split(",")[2] == "2026-03-01 00:05:00"
    assert pq.read_table(tmp_path / "r.parquet")["clock"][5].as_py() == dt.datetime(
        2026, 3, 1, 0, 5
    )
    assert run(["sanitize", source, *CLI, "--time", "clock", "--time-as", "300", "-o", "-"]) == 2
    assert "a width with a unit" in capsys.readouterr().err
