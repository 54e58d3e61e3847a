"""Columns that give the states away are refused; columns that do not are let through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.table.files import file_sink
from chainveil.table.leaks.finding import find_leaks
from chainveil.table.leaks.sampling import runs_of
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.request.discretize import make_discretizer
from chainveil.table.request.kept import Kept
from chainveil.table.request.request import Layout
from experiments.records import find_record
from tests.table.planted import HONEST, LEAKS, beats, planted
from tests.table.samples import asked

PLAN = cv.calibrate(cv.MarkovChain.binary(0.0893, 0.1092), 1.0)
HOW: dict[str, Any] = {"plan": PLAN, "series": "series", "states": [0, 1]}
LAYOUT = Layout("x", "series")


def leaks(table: pa.Table, names: list[str], layout: Layout = LAYOUT, states: int = 2) -> set[str]:
    """The columns that are found guilty."""
    reader = make_discretizer(states=list(range(states)))
    found = runs_of(table.combine_chunks().to_batches(), layout, reader)
    assert found is not None
    return {leak.column for leak in find_leaks(*found, names)}


def _honest(number: int) -> tuple[pa.Table, list[str]]:
    """An honest table of one of several shapes, with slow and with quick columns."""
    rng = np.random.default_rng(number)
    shapes = [(1, 2000), (6, 40), (4, 400), (200, 8), (1, 700), (300, 2)]
    series, points = shapes[number % len(shapes)]
    q, r = rng.uniform(0.02, 0.5, 2)
    chain = cv.MarkovChain.binary(q, r)
    table = planted(number, series, points, chain)
    rows = table.num_rows
    other = np.asarray(chain.sample(points, series, rng=number + 10_000)).reshape(-1)
    more = {
        "walk": np.cumsum(rng.normal(size=rows)),
        "other": other,
        "uneven": np.cumsum(rng.exponential(1.0, rows)),
        "hour": table["clock"].to_numpy() // 3600 % 24,
        "word": np.array(["a", "b", "c", "d"])[rng.integers(0, 4, rows)],
        "slow": np.cumsum(rng.random(rows) < 0.01) % 5,
        "stamp": [f"[{t // 60:.0f}:{t % 60:06.3f}]" for t in np.cumsum(rng.exponential(1.0, rows))],
    }
    for name, column in more.items():
        table = table.append_column(name, pa.array(column))
    return table, [*HONEST, *more]


@pytest.mark.slow
def test_honest_tables_are_refused_at_most_once_in_a_hundred() -> None:
    """100 tables with 10 columns each, fixed seeds; as many as the stated rate allows: one."""
    guilty = {}
    for number in range(100):
        table, names = _honest(number)
        found = leaks(table, names)
        if found:
            guilty[number] = found
    assert len(guilty) <= 1, guilty


@pytest.mark.parametrize(("series", "points"), [(1, 4000), (4, 1000), (20, 100), (500, 4)])
def test_what_is_planted_is_found_and_nothing_else(series: int, points: int) -> None:
    for seed in range(5):
        table = beats(planted(seed, series, points), seed)
        assert leaks(table, [*LEAKS, *HONEST]) == set(LEAKS)


def test_states_that_seldom_change_hide_nothing() -> None:
    for seed in range(3):
        table = beats(planted(seed, 1, 40_000, cv.MarkovChain.binary(0.002, 0.003)), seed)
        assert leaks(table, [*LEAKS, *HONEST]) == set(LEAKS)


def test_rows_that_are_mixed_can_be_sorted_again() -> None:
    """Out of order an honest clock looks guilty too: rows near in time are alike."""
    for seed in range(3):
        table = beats(planted(seed), seed)
        mixed = table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))
        assert leaks(mixed, [*LEAKS, "constant", "random"]) == set(LEAKS)


def test_a_copy_is_a_copy_however_seldom_it_changes() -> None:
    for seed in range(10):
        table = planted(seed, 1, 1000, cv.MarkovChain.binary(0.01, 0.02))
        assert leaks(table, ["copy", *HONEST]) == {"copy"}


def test_a_rare_state_is_given_away_by_less_than_a_majority() -> None:
    """A noisy copy of a state in 3% of the rows is never the likelier guess, and tells."""
    rng = np.random.default_rng(3)
    table = planted(3, 4, 4000, cv.MarkovChain.binary(0.01, 0.3))
    x = table["x"].to_numpy()
    hint = np.where(rng.random(len(x)) < 0.8, x, 1 - x)
    assert leaks(table.append_column("hint", pa.array(hint)), ["hint"]) == {"hint"}


def test_a_pattern_that_all_series_share_is_no_leak_of_the_clock() -> None:
    """Everybody sleeps at night: the hour tells nothing that the order of the rows does not."""
    rng = np.random.default_rng(4)
    minutes = np.arange(1440)
    asleep = np.where((minutes < 420) | (minutes > 1380), 0.95, 0.1)
    x = (rng.random((10, 1440)) > asleep).astype(np.int64)
    table = pa.table({
        "series": np.repeat(np.arange(10), 1440), "x": x.reshape(-1),
        "clock": np.tile(minutes, 10), "hour": np.tile(minutes // 60, 10),
    })  # fmt: skip
    assert leaks(table, ["clock", "hour"]) == set()


def test_columns_are_told_apart_in_whatever_type_they_come() -> None:
    table = planted(5)
    x = table["x"].to_numpy()
    start = np.cumsum(np.where(x == 1, 800_000, 1_100_000))
    typed = {
        "text": pa.array([f" {value}.0" for value in x]),
        "when": pa.array(start, pa.timestamp("us", "UTC")),
        "written": pa.array(start, pa.timestamp("us")).cast(pa.string()),
        "word": pa.array(np.array(["low", "high"])[x]).dictionary_encode(),
        "flag": pa.array(x == 1),
        "decimal": pa.array(x.astype(np.int8)).cast(pa.decimal128(5, 2)),
        "late": pa.array(np.roll(x, 1)),
        "holes": pa.array([None if value else 1 for value in x]),
        "list": pa.array([[int(value)] for value in x]),
        "bytes": pa.array([bytes([value]) for value in x]),
    }
    for name, column in typed.items():
        table = table.append_column(name, column)
    assert leaks(table, [*typed, *HONEST]) == set(typed)


def test_more_states_and_rows_without_one() -> None:
    chain = cv.MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    table = planted(6, chain=chain)
    x = table["x"].to_numpy()
    bright = table.append_column("bright", pa.array(x // 2))
    assert leaks(bright, ["bright", *HONEST], states=3) == {"bright"}
    with_gaps = pa.array([None if i % 5 == 0 else int(v) for i, v in enumerate(x)])
    table = bright.set_column(1, "x", with_gaps)
    how: dict[str, Any] = {"series": "series", "states": [0, 1, 2], "chain": chain, "max_length": 3}
    with pytest.raises(cv.InvalidInput, match="Of 'bright', its value"):
        cv.sanitize_table(table, "x", 3.0, keep=["bright"], missing="keep", **how)


def test_how_many_rows_share_a_time_is_the_rate() -> None:
    table = beats(planted(7, 1, 40_000, cv.MarkovChain.binary(0.01, 0.01)))
    how: dict[str, Any] = {**HOW, "time": "beats"}
    with pytest.raises(cv.InvalidInput, match="the number of neighbouring rows with its value"):
        cv.sanitize_table(table, "x", time_as=60, **how)
    released = cv.sanitize_table(table, "x", time_as="index", **how)
    assert released.table["beats"].to_pylist() == list(range(40_000))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_tested(kind: Any) -> None:
    frame = kind(beats(planted(8)).to_pydict())
    for name in LEAKS:
        with pytest.raises(cv.InvalidInput, match=f"keep: found .*'{name}'.*--allow-leak {name}"):
            cv.sanitize_table(frame, "x", keep=[name, *HONEST], **HOW)
    released = cv.sanitize_table(frame, "x", keep=[*HONEST, "copy"], allow_leak=["copy"], **HOW)
    assert released.certificate["release.kept"] == [*HONEST, "copy"]
    assert released.certificate["release.allowed_leaks"] == ["copy"]
    assert cv.verify(released.certificate, released.table).holds


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.arrow", "a.csv.gz", "folder"])
def test_files_are_tested_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    table, path = beats(planted(9)), tmp_path / name
    if name == "folder":
        path.mkdir()
        pq.write_table(table.slice(0, 2000), path / "0.parquet")
        pq.write_table(table.slice(2000), path / "1.parquet")
    elif name.endswith("parquet"):
        pq.write_table(table, path, row_group_size=300)
    elif name.endswith("arrow"):
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=300)
    else:
        with pa.output_stream(str(path)) as file:
            pyarrow.csv.write_csv(table, file)
    source, goal = open_source(path), str(tmp_path / "out.parquet")
    for column in LEAKS:
        kept = Kept((column, "random"))
        request = asked(LAYOUT, states=[0, 1], plan=PLAN, kept=kept)
        with pytest.raises(cv.InvalidInput, match=f"'{column}'.*right about"):
            release_table(source, file_sink(goal, source, None, False), request)
        assert [entry.name for entry in tmp_path.iterdir()] == [name]
    request = asked(LAYOUT, states=[0, 1], plan=PLAN, kept=Kept(HONEST))
    release_table(source, file_sink(goal, source, None, False), request)
    assert pq.read_schema(goal).names == ["series", "x", *HONEST]


def test_a_leak_late_in_a_large_file_is_found(tmp_path: Path) -> None:
    """The sample is taken all over: here the first tenth is honest."""
    table = planted(10, 1, 400_000)
    x, rng = table["x"].to_numpy(), np.random.default_rng(10)
    late = np.where(np.arange(len(x)) < 40_000, rng.integers(0, 2, len(x)), x)
    table = table.append_column("late", pa.array(late))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=50_000)
    source = open_source(tmp_path / "a.parquet")
    request = asked(LAYOUT, states=[0, 1], plan=PLAN, kept=Kept(("late",)))
    goal = file_sink(str(tmp_path / "b.parquet"), source, None, False)
    with pytest.raises(cv.InvalidInput, match="'late'"):
        release_table(source, goal, request)


@pytest.mark.skipif(find_record("N10") is None, reason="the record is not at hand")
def test_the_times_of_real_heart_beats() -> None:
    record = find_record("N10")
    assert record is not None
    seconds, rate = np.loadtxt(record, unpack=True)
    frame = pl.DataFrame({"seconds": seconds, "rate": rate})
    how: dict[str, Any] = {"plan": PLAN, "time": "seconds", "threshold": "mean"}
    with pytest.raises(cv.InvalidInput, match=r"the difference .* right about 99\.\d% of"):
        cv.sanitize_table(frame, "rate", keep_time=True, **how)
    with pytest.raises(cv.InvalidInput, match="number of neighbouring rows"):
        cv.sanitize_table(frame, "rate", time_as=60, **how)
    released = cv.sanitize_table(frame, "rate", time_as="index", **how)
    assert released.table["seconds"].to_list() == list(range(len(seconds)))


def _of_day(t: float, digits: int) -> str:
    return f"{t // 3600:02.0f}:{t // 60 % 60:02.0f}:{t % 60:0{digits + 3}.{digits}f}"


# How programs write times as text.
WRITTEN: dict[str, Callable[[float], str]] = {
    "nanoseconds": lambda t: f"2026-01-01 {_of_day(t, 9)}",
    "time of day": lambda t: _of_day(t, 3),
    "in brackets": lambda t: f"[{_of_day(t, 3)} 01/02/2026]",
    "comma": lambda t: f"{t:.3f}".replace(".", ","),
    "unit": lambda t: f"{t:.3f} s",
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_times_in_any_writing_are_read_as_times(kind: str) -> None:
    table = beats(planted(1))
    write = WRITTEN[kind]
    beat, clock = (list(map(write, table[name].to_pylist())) for name in ("beats", "clock"))
    table = table.select(["series", "x"]).append_column("beat", [beat])
    table = table.append_column("clock", [clock]).append_column(
        "coded", pa.array(beat).dictionary_encode()
    )
    assert leaks(table, ["beat", "clock", "coded"]) == {"beat", "coded"}


def test_a_state_inside_a_text_that_differs_in_every_row_is_found() -> None:
    table, rng = planted(2), np.random.default_rng(2)
    states = table["x"].to_pylist()
    ids = rng.integers(0, 1 << 60, len(states)).tolist()
    texts = {
        "record": [f"{i:x};{50 + 20 * x}" for i, x in zip(ids, states, strict=True)],
        "words": [f"beat {i} {'high' if x else 'low'}" for i, x in zip(ids, states, strict=True)],
        "ids": [f"id-{i:x}" for i in ids],
        "huge": ["9" * 400 + str(i) for i in ids],
    }
    for name, text in texts.items():
        table = table.append_column(name, [text])
    assert leaks(table, list(texts)) == {"record", "words"}


def test_few_rows_are_said_to_be_too_few() -> None:
    frame = pl.DataFrame({"x": [0, 0, 0, 1, 1, 1] * 5, "note": ["a", "b", "c"] * 10})
    how: dict[str, Any] = {"states": [0, 1], "chain": cv.MarkovChain.symmetric(0.2)}
    with pytest.warns(cv.ChainveilWarning, match="30 rows are too few to test"):
        cv.sanitize_table(frame, "x", 1.0, keep=["note"], **how)
    nothing: Any = None
    assert cv.sanitize_table(frame, "x", 1.0, keep=nothing, **how).table.columns == ["x"]
