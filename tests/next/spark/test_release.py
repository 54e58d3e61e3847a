"""Releases of Spark frames: the rows that one machine would publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import chainveil as cv
from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.randomness import seeded
from chainveil.next.spark.release import sanitize
from chainveil.next.table.read import open_table
from chainveil.next.table.release import sanitize as sanitize_here
from chainveil.next.table.released import verify
from tests.next.table.tables import CHAIN, heart_rates, request


def on_spark(session: Any, frame: pl.DataFrame) -> Any:
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    return session.createDataFrame(
        shuffled.to_arrow(compat_level=pl.CompatLevel.oldest())
    ).repartition(4)


def folder(path: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(part) for part in sorted(path.glob("*.parquet"))])


WAYS: dict[str, dict[str, Any]] = {
    "independent": {},
    "public": {"public": ("ward", "minute")},
    "sticky": {"mechanism": "sticky"},
    "thinned": {"mechanism": "sticky", "every": 3},
    "original": {"series_names": "original"},
    "one series": {"series": None},
    "gaps": {"step": 1, "max_gap": 1},
    "fitted": {"chain": None, "pooled": True},
    "order 2": {"chain": None, "pooled": True, "order": 2},
    "auto": {"chain": None, "pooled": True, "order": "auto"},
    "mean": {"threshold": "mean"},
    "median": {"threshold": "median"},
}


@pytest.mark.filterwarnings("ignore:pooled")
@pytest.mark.parametrize("way", WAYS)
def test_rows_values_and_order_are_those_of_one_machine(
    spark_session: Any, tmp_path: Path, way: str
) -> None:
    frame = heart_rates(200, 5)
    if way == "one series":
        frame = frame.filter(pl.col("person") == "person 0")
    if way == "gaps":
        frame = frame.filter(pl.col("minute") % 17 != 3)
    asked = request(**WAYS[way])
    here = sanitize_here(open_table(frame), asked, seeded(5))
    made = sanitize(on_spark(spark_session, frame), asked, tmp_path / "r.parquet", rng=seeded(5))
    assert folder(made.path).equals(here.frame)
    for field in ("rows", "series", "gaps", "splits", "points", "reports_sha256", "rows_sha256",
                  "public", "columns"):  # fmt: skip
        assert made.certificate["release"][field] == here.certificate["release"][field], field
    result = verify(tmp_path / "r.certificate.json", made.path)
    assert (result.failures, result.exit_code) == ((), 4)
    assert made.table.count() == len(here.frame)
    assert verify(made.certificate, here.frame).failures == ()


def test_a_changed_part_is_found(spark_session: Any, tmp_path: Path) -> None:
    asked = request(public=("ward",))
    made = sanitize(on_spark(spark_session, heart_rates(200, 5)), asked, tmp_path / "r.parquet")
    assert verify(made.certificate, made.path).exit_code == 0
    part = sorted(made.path.glob("*.parquet"))[0]
    pl.read_parquet(part).with_columns(ward=pl.lit("x")).write_parquet(part)
    assert verify(made.certificate, made.path).exit_code == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"time": None}, "orders the rows"), ({"group": "ward", "public": ("ward",)}, "group"),
        ({"public": ("position",)}, "one of the columns"), ({"epsilon": None}, "budget"),
        ({"threshold": None, "states": ["a", "b"]}, "column of type"), ({"step": 2}, "step"),
        ({"public": ("copy",)}, "--allow-leak copy"),
    ],
)  # fmt: skip
def test_refusals_leave_nothing_behind(
    spark_session: Any, tmp_path: Path, more: dict[str, Any], words: str
) -> None:
    frame = heart_rates(200, 3).with_columns(copy=pl.col("bpm") * 3)
    asked = request(**more, **({"chain": None} if "group" in more else {}))
    held = on_spark(spark_session, frame)
    with pytest.raises((InvalidInput, NotSupported), match=words) as error:
        sanitize(held, asked, tmp_path / "r.parquet")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_equal_times_are_an_error_without_a_row(spark_session: Any, tmp_path: Path) -> None:
    frame = pl.concat([heart_rates(50, 2), heart_rates(1, 2)])
    with pytest.raises(InvalidInput, match="the same time twice"):
        sanitize(on_spark(spark_session, frame), request(), tmp_path / "r.parquet")
    assert list(tmp_path.iterdir()) == []


def test_force_replaces_a_release_and_nothing_else(spark_session: Any, tmp_path: Path) -> None:
    frame, goal = on_spark(spark_session, heart_rates(50, 2)), tmp_path / "r.parquet"
    report = tmp_path / "who.csv"
    first = sanitize(frame, request(), goal, private_report=report)
    assert report.stat().st_mode & 0o777 == 0o600
    assert set(pl.read_csv(report)["name"]) == {"person 0", "person 1"}
    assert set(pl.read_csv(report)["series"]) == set(folder(goal)["series"])
    with pytest.raises(InvalidInput, match="which exists"):
        sanitize(frame, request(), goal)
    second = sanitize(frame, request(), goal, private_report=report, force=True)
    assert first.certificate.document != second.certificate.document
    assert verify(second.certificate, goal).exit_code == 0
    (goal / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="other things"):
        sanitize(frame, request(), goal, force=True)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"r.parquet", "r.certificate.json", "who.csv"}


def test_a_family_holds_for_each_series(spark_session: Any, tmp_path: Path) -> None:
    family = cv.ModelFamily([CHAIN, cv.MarkovChain.binary(0.2, 0.3)], ["a", "b"])
    made = sanitize(on_spark(spark_session, heart_rates(50, 2)), request(chain=family),
                    tmp_path / "r.parquet")  # fmt: skip
    assert made.certificate.model is not None
    assert verify(made.certificate, made.path).failures == ()
