"""Answers about released tables, as tables: whole releases, and parts of them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import chainveil as cv

CHAIN = cv.MarkovChain.binary(0.1, 0.15)
POINTS = 1200
KINDS: dict[str, Any] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
}


def private() -> pd.DataFrame:
    frames = [
        pd.DataFrame({
            "person": name,
            "time": pd.date_range("2026-01-05", periods=POINTS, freq="30s"),
            "bpm": 54 + 13 * CHAIN.sample(POINTS, rng=seed).astype(int),
        })
        for seed, name in enumerate(["Ann", "Bob", "Cem"])
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)


def released(kind: str = "pandas", **how: Any) -> cv.TableRelease:
    given: dict[str, Any] = {
        "series": "person", "time": "time", "threshold": 60, "labels": ["low", "high"],
        "chain": CHAIN, "keep_time": True, "allow_leak": ["time"], "mechanism": "sticky",
        "rng": cv.mechanism.seeded(1),
    }  # fmt: skip
    return cv.sanitize_table(KINDS[kind](private()), "bpm", 4, **(given | how))


RELEASE: cv.TableRelease


@pytest.fixture(scope="module", autouse=True)
def _made() -> None:
    """Made for the tests, and not by every worker that only collects them."""
    global RELEASE
    RELEASE = released()


def truth() -> pd.Series:
    high = private().assign(high=lambda frame: frame["bpm"] >= 60)
    return high.groupby("person")["high"].mean()


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_of_the_kind_that_came(kind: str) -> None:
    release = released(kind)
    found = cv.estimate_table(release.table, release.certificate, "share", by="person")
    assert type(found) is type(release.table)
    names = found.column_names if kind == "arrow" else list(found.columns)
    assert names == ["person", "state", "estimate", "low", "high", "unit", "points"]
    frame = found if kind == "pandas" else found.to_pandas()
    assert frame["person"].tolist() == ["Ann", "Ann", "Bob", "Bob", "Cem", "Cem"]
    assert frame["state"].tolist() == ["low", "high"] * 3
    high = frame[frame["state"] == "high"].set_index("person")["estimate"]
    assert np.abs(high - truth()).max() < 0.1


def test_by_several_columns() -> None:
    table = RELEASE.table.assign(hour=RELEASE.table["time"].dt.hour)
    found = cv.estimate_table(table, RELEASE.certificate, by=["person", "hour"])
    assert found.columns[:3].tolist() == ["person", "hour", "state"]
    assert found[["person", "hour"]].drop_duplicates().shape == (30, 2)
    figure = cv.plot.estimates(found)
    assert len(figure.axes[0].get_legend_handles_labels()[1]) == 3


def test_sojourns_are_told_in_time_where_it_is_known() -> None:
    table, certificate = RELEASE.table, RELEASE.certificate
    points = cv.estimate_table(table, certificate, "sojourns")
    lasting = cv.estimate_table(table, certificate, "sojourns", time="time", step=30, max_gap=30)
    assert set(points["unit"]) == {"points"}
    assert set(lasting["unit"]) == {"seconds"}
    np.testing.assert_allclose(lasting["estimate"], 30 * points["estimate"])
    # All steps are equal: the column itself says how long a point lasts.
    told = cv.estimate_table(table, certificate, "sojourns", by="person", time="time")
    assert set(told["unit"]) == {"seconds"}
    later = table.assign(
        time=table["time"].where(table.index != 5, table["time"] + pd.Timedelta("1s"))
    )
    uneven = cv.estimate_table(later, certificate, "sojourns", time="time")
    assert set(uneven["unit"]) == {"points"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_sojourn_whose_end_does_not_show_is_missing(kind: str) -> None:
    """Its interval says what is known: at least so many points, and no most."""
    release = released(kind, chain=cv.MarkovChain.binary(0.02, 0.02))
    found = cv.estimate_table(release.table, release.certificate, "sojourns", by="person")
    column = found.column("estimate") if kind == "arrow" else found["estimate"]
    missing = column.isna().sum() if kind == "pandas" else column.null_count
    if kind == "polars":
        missing = column.null_count()
        assert column.is_nan().sum() == 0
    assert 0 < missing < len(column)
    frame = found if kind == "pandas" else found.to_pandas()
    assert np.isfinite(frame["low"]).all()
    open_ended = frame[frame["estimate"].isna()]
    assert (open_ended["low"] >= 1).all()
    assert np.isinf(open_ended["high"]).all()
    known = frame[frame["estimate"].notna()]
    assert np.isfinite(known["estimate"]).all()
    assert len(cv.plot.estimates(found).axes) == 1


@pytest.mark.parametrize("question", ["share", "pairs", "transitions", "autocorrelation"])
def test_questions(question: Any) -> None:
    found = RELEASE.estimate(question)
    assert len(found) == {"share": 2, "autocorrelation": 5}.get(question, 4)


def test_comparison() -> None:
    found = cv.compare_table(RELEASE.table, RELEASE.certificate, by="person", reference="Ann")
    assert found[["person", "other person"]].drop_duplicates().to_numpy().tolist() == [
        ["Bob", "Ann"], ["Cem", "Ann"],
    ]  # fmt: skip
    assert np.all((found["low"] < found["estimate"]) & (found["estimate"] < found["high"]))


def test_short_words_and_a_figure() -> None:
    assert repr(RELEASE) == "TableRelease of bpm: 3,600 rows in 3 series, sticky noise, epsilon 4"
    assert RELEASE.to_frame() is RELEASE.table
    assert len(RELEASE.plot().axes) == 1


def test_files(tmp_path: Path) -> None:
    """Saved again in another format, with a column more: all states are there and checked."""
    path = tmp_path / "again.parquet"
    RELEASE.table.assign(room=1).to_parquet(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cv.estimate_table(path, RELEASE.certificate, by="person")
    pd.testing.assert_frame_equal(found, RELEASE.estimate(by="person"))


def test_some_series_of_a_release() -> None:
    """Whole series: their answers are what they were; what cannot be checked is said once."""
    some = RELEASE.table[RELEASE.table["person"] != "Bob"]
    with pytest.warns(cv.ChainveilWarning, match=r"2,400 of the 3,600 rows.*") as told:
        found = cv.estimate_table(some, RELEASE.certificate, "transitions", by="person")
    assert len(told) == 1
    whole = RELEASE.estimate("transitions", by="person")
    np.testing.assert_allclose(found["estimate"], whole[whole["person"] != "Bob"]["estimate"])


def test_some_rows_of_a_release() -> None:
    """What a filter broke is a gap: the first report after it is not looked at."""
    table = RELEASE.table
    some = table[(table["time"].dt.minute % 10 != 0) & (table["person"] == "Ann")]
    runs = np.split(
        np.arange(len(some)),
        np.flatnonzero(np.diff(some["time"].dt.hour * 60 + some["time"].dt.minute) > 1) + 1,
    )
    with pytest.warns(cv.ChainveilWarning, match="cannot be checked"):
        found = cv.estimate_table(
            some, RELEASE.certificate, "transitions", time="time", step=30, max_gap=30
        )
    assert found["points"][0] == sum(len(run) - 2 for run in runs)
    states = (some["bpm"] == "high").to_numpy().astype(int)
    plan = RELEASE.certificate.plan()
    expected = cv.estimate.transitions([states[run] for run in runs], plan)
    np.testing.assert_allclose(found["estimate"], np.clip(expected.value.ravel(), 0, 1))
    # The time alone tells as much where most rows are equally far apart, and it is said.
    with pytest.warns(cv.ChainveilWarning, match=r"than most of them \(30\)"):
        told = cv.estimate_table(some, RELEASE.certificate, "transitions", time="time")
    pd.testing.assert_frame_equal(told, found)


def test_joined_and_shuffled() -> None:
    """What is wrong is the order, not the column more; the time puts the rows back."""
    rooms = pd.DataFrame({"person": ["Ann", "Bob", "Cem"], "room": [1, 2, 1]})
    joined = RELEASE.table.merge(rooms, on="person").sample(frac=1, random_state=1)
    with pytest.raises(cv.InvalidInput, match="states_sha256.*another order, give time"):
        cv.estimate_table(joined, RELEASE.certificate, by="room")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cv.estimate_table(joined, RELEASE.certificate, by="room", time="time")
    assert found["room"].tolist() == [1, 1, 2, 2]
    whole = RELEASE.estimate(by="person")
    assert found["estimate"][3] == pytest.approx(whole["estimate"][3])


def test_what_cannot_belong() -> None:
    more = pd.concat([RELEASE.table, RELEASE.table.tail(1)])
    with pytest.raises(cv.InvalidInput, match="belongs to the release.*repeated some"):
        cv.estimate_table(more, RELEASE.certificate)
    people = RELEASE.table["person"]
    rooms = RELEASE.table.assign(room=people.where(people != "Ann"))
    with pytest.raises(cv.InvalidInput, match="a missing value.*Fill it"):
        cv.estimate_table(rooms, RELEASE.certificate, by="room")
    other = RELEASE.table.assign(bpm=RELEASE.table["bpm"].to_numpy()[::-1])
    with pytest.raises(cv.InvalidInput, match="states_sha256"):
        cv.estimate_table(other, RELEASE.certificate)
    for wrong in (None, {"a": 1}, 3):
        with pytest.raises(cv.InvalidInput, match="the path of its file"):
            cv.estimate_table(RELEASE.table, wrong)
    with pytest.raises(cv.InvalidInput, match="question"):
        cv.estimate_table(RELEASE.table, RELEASE.certificate, "mode")  # type: ignore[arg-type]


def test_parts_of_what_looks_further_back_are_refused() -> None:
    release = released(mechanism="tracking")
    with pytest.raises(cv.NotSupported, match="between the rows"):
        cv.estimate_table(release.table.head(3000), release.certificate, "sojourns")
