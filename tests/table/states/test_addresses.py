"""Seeded and correlated noise in tables: the noise of each series, however its rows come."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil.mechanism import seeded, series_number
from chainveil.table.files import file_sink
from chainveil.table.read import reading
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.request.request import Layout
from chainveil.table.states.positions import series_numbers
from tests.table.samples import asked

TWO = cv.MarkovChain.binary(0.1, 0.2)
THREE = cv.MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
KINDS: dict[str, tuple[cv.MarkovChain, float, str]] = {
    "two states": (TWO, 2.0, "independent"),
    "three states": (THREE, 3.0, "independent"),
    "correlated": (TWO, 3.0, "correlated"),
}
ROWS = 3000


@functools.cache
def plan_of(kind: str) -> cv.NoisePlan:
    """Made when it is used: what is collected compiles nothing."""
    chain, epsilon, mechanism = KINDS[kind]
    return cv.calibrate(chain, epsilon, mechanism=mechanism)


def mixed(plan: cv.NoisePlan) -> pa.Table:
    """Five series, mixed; one of them long, one of a single row."""
    generator = np.random.default_rng(4)
    names = np.array(["a", "b", "Ω", "long one"])[generator.choice(4, ROWS, p=[0.1, 0.2, 0.1, 0.6])]
    names[ROWS // 2] = "once"
    states = generator.integers(0, plan.chain.states, ROWS).astype(np.uint8)
    return pa.table({"who": names, "x": states, "row": np.arange(ROWS)})


def expected(table: pa.Table, plan: cv.NoisePlan, seed: int) -> np.ndarray:
    """The release made series by series from arrays."""
    names, states = table["who"].to_numpy(), table["x"].to_numpy()
    result = np.empty(len(states), np.uint8)
    for name in set(names):
        here = names == name
        source = seeded(seed).at(series=series_number(str(name)))
        result[here] = plan.sanitize(states[here], rng=source)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_sanitized_as_its_series_are(kind: str) -> None:
    plan = plan_of(kind)
    table = mixed(plan)
    wanted = expected(table, plan, 7)
    released = cv.sanitize_table(table, "x", plan=plan, series="who", rng=seeded(7))
    assert np.array_equal(released.table["x"].to_numpy(), wanted)
    assert cv.verify(released.certificate, released.table).holds
    # Another mixture of the same series, and categories instead of text.
    order = np.argsort(table["who"].to_numpy(), kind="stable")
    sorted_frame = pl.from_arrow(table.take(pa.array(order)))
    frame = sorted_frame.with_columns(pl.col("who").cast(pl.Categorical))  # type: ignore[union-attr]
    again = cv.sanitize_table(frame, "x", plan=plan, series="who", rng=seeded(7))
    assert np.array_equal(again.table["x"].to_numpy(), wanted[order])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_a_file_is_sanitized_alike_in_any_batches(
    kind: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(kind)
    table = mixed(plan).slice(0, 500 if size == 1 else ROWS)
    pq.write_table(table, tmp_path / "in.parquet")
    monkeypatch.setattr(reading, "BATCH_ROWS", size)
    source = open_source(tmp_path / "in.parquet")
    goal = file_sink(str(tmp_path / "out.parquet"), source, None, False)
    request = asked(Layout("x", "who"), plan=plan)
    release_table(source, goal, request, seeded(8))
    released = pq.read_table(tmp_path / "out.parquet")
    assert np.array_equal(released["x"].to_numpy(), expected(table, plan, 8))
    assert cv.verify(tmp_path / "out.certificate.json", tmp_path / "out.parquet").holds


@pytest.mark.parametrize("kind", KINDS)
def test_one_series_without_a_name_has_number_zero(kind: str) -> None:
    plan = plan_of(kind)
    table = mixed(plan)
    released = cv.sanitize_table(table, "x", plan=plan, rng=seeded(7))
    alone = plan.sanitize(table["x"].to_numpy(), rng=seeded(7))
    assert np.array_equal(released.table["x"].to_numpy(), alone)


def test_correlated_noise_runs_on_beneath_a_gap() -> None:
    plan = plan_of("correlated")
    times = np.array([0, 1, 2, 7, 8, 30, 31])
    full = np.full(32, -1)
    full[times] = np.arange(7) % 2
    table = pa.table({"t": times, "x": full[times], "who": ["a"] * 7})
    how: dict[str, Any] = {"time": "t", "series": "who", "plan": plan, "rng": seeded(3)}
    released = cv.sanitize_table(table, "x", step=1, max_gap=1, **how)
    source = seeded(3).at(series=series_number("a"))
    kept = plan.sanitize(full, rng=source, missing="keep")
    assert np.array_equal(released.table["x"].to_numpy(), kept[times])
    # In seconds, and with a decimal step.
    start = dt.datetime(2026, 1, 1)
    clock = pa.array([start + dt.timedelta(seconds=0.1 * int(t)) for t in times])
    other = table.set_column(0, "t", clock)
    again = cv.sanitize_table(other, "x", step=0.1, max_gap=0.1, **how)
    assert again.table["x"].equals(released.table["x"])


def test_gaps_whose_length_is_not_known_are_refused() -> None:
    how: dict[str, Any] = {"time": "t", "plan": plan_of("correlated"), "max_gap": 2}
    table = pa.table({"t": [0.0, 1.0, 2.0, 7.0], "x": [0, 1, 0, 1]})
    with pytest.raises(cv.InvalidInput, match=r"step: .*row 4"):
        cv.sanitize_table(table, "x", **how)
    crooked = pa.table({"t": [0.0, 1.0, 2.0, 7.5], "x": [0, 1, 0, 1]})
    with pytest.raises(cv.InvalidInput, match=r"no whole number of steps.*row 4"):
        cv.sanitize_table(crooked, "x", step=1, **how)
    # Independent noise does not care, and the certificate says how many gaps there were.
    how["plan"] = plan_of("two states")
    certificate = cv.sanitize_table(crooked, "x", step=1, **how).certificate
    assert (certificate["release.rows"], certificate["release.splits"]) == (4, 1)


def test_the_mechanism_can_be_asked_for() -> None:
    table = mixed(plan_of("two states"))
    released = cv.sanitize_table(table, "x", 3.0, series="who", chain=TWO, mechanism="correlated")
    assert released.certificate["noise.mechanism"] == "correlated"
    assert released.certificate["randomness.source"] == "release"
    assert cv.verify(released.certificate, released.table).holds
    again = cv.sanitize_table(table, "x", 3.0, series="who", chain=TWO, mechanism="correlated")
    assert not again.table["x"].equals(released.table["x"])


@pytest.mark.parametrize("kind", ["two states", "correlated"])
def test_very_many_series_of_one_point(kind: str) -> None:
    rows = 200_000
    table = pa.table({"x": np.arange(rows) % 2, "id": np.arange(rows)})
    plan = plan_of(kind)
    released = cv.sanitize_table(table, "x", series="id", plan=plan, rng=seeded(1))
    flips = released.table["x"].to_numpy() != np.arange(rows) % 2
    # Five deviations of a share near a half: a false alarm in fewer than one seed in a million.
    independent = plan.mechanism == "independent"
    rate = plan.channel.flip_probabilities.mean() if independent else plan.expected_flips
    assert abs(flips.mean() - rate) < 5 * 0.5 / rows**0.5
    for row in (0, 1, rows - 1):
        source = seeded(1).at(series=series_number(str(row)))
        assert released.table["x"][row].as_py() == plan.sanitize([row % 2], rng=source)[0]


def test_a_series_has_the_same_number_whatever_its_column_is_made_of() -> None:
    texts = pa.array(["1", "20", "300"])
    wanted = [series_number(text) for text in ("1", "20", "300")]
    for column in (
        texts, texts.dictionary_encode(), texts.cast(pa.large_string()), texts.cast(pa.binary()),
        pa.array([1, 20, 300], pa.int16()), pa.array([1.0, 20.0, 300.0]),
        pa.array([decimal.Decimal(n) for n in (1, 20, 300)], pa.decimal128(5, 0)),
    ):  # fmt: skip
        assert series_numbers(column).tolist() == wanted
    day = pa.array([dt.datetime(2026, 1, 2)], pa.timestamp("s"))
    assert series_numbers(day).tolist() == [series_number("2026-01-02 00:00:00")]


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.1, 0.3), (0.02, 0.01)])
def test_secure_correlated_rows_move_at_their_rates(rates: tuple[float, float]) -> None:
    """Not seeded: eight comparisons of 5.4 deviations, one false alarm in a million runs."""
    from dataclasses import replace

    from chainveil.noise.correlated import CorrelatedNoise

    plan = replace(plan_of("correlated"), noise=CorrelatedNoise(*rates))
    series, points = 20_000, 50
    generator = np.random.default_rng(1)
    owner = np.repeat(np.arange(series), points)
    generator.shuffle(owner)
    table = pa.table({"who": owner, "x": np.zeros(len(owner), np.uint8)})
    released = cv.sanitize_table(table, "x", plan=plan, series="who")
    order = np.argsort(owner, kind="stable")
    flips = released.table["x"].to_numpy()[order].reshape(series, points)
    _check(flips[:, 0], rates[0] / sum(rates))
    for state, rate in enumerate(rates):
        here = flips[:, :-1] == state
        _check(flips[:, 1:][here] != state, rate)
    # Given the present, the past says nothing.
    _check(flips[:, 2:][(flips[:, 1:-1] == 0) & (flips[:, :-2] == 1)], rates[0])


def _check(hits: Any, rate: float) -> None:
    spread = (len(hits) * rate * (1 - rate)) ** 0.5
    assert abs(float(np.sum(hits)) - len(hits) * rate) <= 5.4 * spread
