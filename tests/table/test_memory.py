"""Tables released with noise that remembers and with rare reports: one release on every path."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import chainveil as cv
from chainveil.certificate import Certificate
from chainveil.mechanism import Stream, sanitize, seeded, series_number
from chainveil.table.files import file_sink
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.released.comparing import compare
from chainveil.table.released.states import read_released
from chainveil.table.request.kept import make_kept
from chainveil.table.request.request import Layout, Request, StateRules

CHAIN = cv.MarkovChain.binary(0.1, 0.2)
LENGTHS = {"a": 50, "b": 33, "c": 1, "d": 8, "e": 2}
KINDS: dict[str, dict[str, Any]] = {
    "sticky": {"mechanism": "sticky", "gaps": True},
    "tracking": {"mechanism": "tracking", "gaps": True},
    "sticky, rare": {"mechanism": "sticky", "every": 4, "gaps": True},
    "independent, rare": {"every": 5},
}


@cache
def plan_of(kind: str) -> cv.NoisePlan:
    return cv.calibrate(CHAIN, 2.0, **KINDS[kind])


def mixed(missing: bool = False) -> pl.DataFrame:
    """Series of several lengths, their rows mixed; some without a value."""
    rng = np.random.default_rng(4)
    people = np.repeat(list(LENGTHS), list(LENGTHS.values()))
    times = np.concatenate([np.arange(n) for n in LENGTHS.values()])
    values: list[int | None] = rng.integers(0, 2, len(people)).tolist()
    if missing:
        values = [
            None if r < 0.2 else v for r, v in zip(rng.random(len(people)), values, strict=True)
        ]
    order = np.argsort(times + rng.random(len(times)), kind="stable")
    frame = pl.DataFrame({"person": people, "minute": times, "x": values})
    ordered: pl.DataFrame = frame[order.tolist()]
    return ordered


def as_reported(plan: cv.NoisePlan, frame: pl.DataFrame, person: str) -> list[Any]:
    """The reports of one series, by a stream: silent points have none."""
    return _by_series(frame, person, lambda x, source: Stream(
        plan.noise, source, missing="keep").push(x))  # fmt: skip


def as_array(plan: cv.NoisePlan, frame: pl.DataFrame, person: str) -> list[Any]:
    """The release of one series as an array: reports stand for the silent points too."""
    return _by_series(frame, person, lambda x, source: sanitize(
        x, plan.noise, rng=source, missing="keep"))  # fmt: skip


def _by_series(frame: pl.DataFrame, person: str, make: Callable[[Any, Any], Any]) -> list[Any]:
    x = np.array(frame.filter(pl.col("person") == person)["x"].to_list(), float)
    made = make(x, seeded(5).at(series=series_number(person)))
    return [None if value != value else int(value) for value in np.ma.filled(made, np.nan)]


HOW: dict[str, Any] = {"series": "person", "time": "minute", "time_as": "index", "states": [0, 1]}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_released_as_its_series_are(kind: str, missing: bool) -> None:
    plan, frame = plan_of(kind), mixed(missing)
    done = cv.sanitize_table(
        frame, "x", plan=plan, missing="keep" if missing else "error", rng=seeded(5), **HOW
    )
    rare = plan.noise.every > 1
    for person, length in LENGTHS.items():
        part = done.table.filter(pl.col("person") == person)
        assert part["x"].to_list() == as_reported(plan, frame, person)
        assert part["minute"].to_list() == plan.noise.places(length).tolist()
    assert cv.verify(done.certificate, done.table).holds
    assert done.certificate["release.rows"] == len(done.table)
    assert done.certificate["release.points"] == (len(frame) if rare else None)
    assert done.certificate["release.series"] == done.table["person"].n_unique()


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_every_kind_and_files_in_small_batches_agree(kind: str, tmp_path: Path) -> None:
    plan, frame = plan_of(kind), mixed(missing=True)
    how: dict[str, Any] = {"plan": plan, "missing": "keep", **HOW}
    done = cv.sanitize_table(frame, "x", rng=seeded(5), **how)
    for other in (frame.to_pandas(), frame.to_arrow(), frame.lazy()):
        again = cv.sanitize_table(other, "x", rng=seeded(5), **how)
        for path in ("states_sha256", "rows", "gaps", "series"):
            assert again.certificate[f"release.{path}"] == done.certificate[f"release.{path}"]
    table, goal = tmp_path / "t.parquet", tmp_path / "r.parquet"
    frame.write_parquet(table, row_group_size=7)
    request = Request(
        Layout("x", "person", "minute"), StateRules(states=[0, 1], missing="keep"),
        plan=plan, kept=make_kept(time_as="index"),
    )  # fmt: skip
    source = open_source(table, text=False)
    made = release_table(source, file_sink(str(goal), source, None, False), request, seeded(5))
    assert made["release.states_sha256"] == done.certificate["release.states_sha256"]
    read = pl.read_parquet(goal)
    assert read["x"].to_list() == done.table["x"].to_list()
    assert read["minute"].to_list() == done.table["minute"].to_list()
    assert cv.verify(Certificate.read(tmp_path / "r.certificate.json"), goal).holds


def test_points_that_time_leaves_out_are_gaps_for_noise_that_holds() -> None:
    """A series with steps of several minutes is the series with the points between missing."""
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.choice([1, 1, 1, 4], 80))
    values = rng.integers(0, 2, 80)
    whole = np.full(times[-1] - times[0] + 1, np.nan)
    whole[times - times[0]] = values
    for kind in KINDS:
        plan = plan_of(kind)
        done = cv.sanitize_table(
            pl.DataFrame({"t": times, "x": values}), "x", plan=plan, time="t", step=1, max_gap=1,
            states=[0, 1], rng=seeded(3),
        )  # fmt: skip
        made = sanitize(whole, plan.noise, rng=seeded(3), missing="keep")
        places = np.intersect1d(times - times[0], plan.noise.places(len(whole)))
        assert done.table["x"].to_list() == made[places].astype(int).tolist()
        assert cv.verify(done.certificate, done.table).holds


def test_gaps_are_refused_by_what_is_asked_not_by_what_rows_hold() -> None:
    plan = cv.calibrate(CHAIN, 2.0, mechanism="sticky")
    for how in ({"missing": "keep"}, {"time": "minute", "max_gap": 1, "step": 1}):
        with pytest.raises(cv.InvalidInput, match="does not cover missing points"):
            cv.sanitize_table(
                mixed(), "x", plan=plan, series="person", states=[0, 1], **how
            )  # fmt: skip
    asked = cv.sanitize_table(mixed(), "x", 2.0, chain=CHAIN, states=[0, 1], missing="keep")
    assert asked.certificate["promise.gaps"]
    free = cv.sanitize_table(mixed(), "x", 2.0, chain=CHAIN, states=[0, 1])
    assert not free.certificate["promise.gaps"]


def test_a_release_with_gaps_needs_a_promise_that_covers_them() -> None:
    done = cv.sanitize_table(
        mixed(True), "x", plan=plan_of("sticky"), series="person", states=[0, 1], missing="keep"
    )
    document = {k: v for k, v in done.certificate.document.items() if k != "seal"}
    promise = {k: v for k, v in document["promise"].items() if k != "gaps"}
    changed = Certificate.sealed({**document, "promise": promise})
    failed = [check.field for check in cv.verify(changed, done.table).failures]
    assert "promise.gaps" in failed


def test_without_a_name_two_states_get_sticky_noise_and_others_independent() -> None:
    frame = pl.DataFrame({"x": [0, 1, 2] * 8, "y": [0, 1] * 12})
    two = cv.sanitize_table(frame, "y", 2.0, chain=CHAIN, states=[0, 1])
    assert two.certificate["noise.mechanism"] == "sticky"
    three = cv.MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    for how in (
        {"column": "x", "chain": three, "states": [0, 1, 2]},
        {"column": "y", "chain": cv.ChainRegion((0.1, 0.2), (0.15, 0.25)), "states": [0, 1]},
        {"column": "y", "chain": cv.MarkovChain.binary(1e-6, 1e-6), "states": [0, 1]},
    ):
        made = cv.sanitize_table(frame, epsilon=3.0, **how)  # type: ignore[arg-type]
        assert made.certificate["noise.mechanism"] == "independent"


def test_where_no_series_is_long_enough_for_a_report() -> None:
    plan = plan_of("independent, rare")
    with pytest.raises(cv.InvalidInput, match="first report"):
        cv.sanitize_table(pl.DataFrame({"x": [0, 1]}), "x", plan=plan, states=[0, 1])


def test_a_promise_of_a_length_and_rows_that_report_alone() -> None:
    frame = pl.DataFrame({"x": [0, 1] * 6})
    for length, status in ((12, "holds"), (13, "holds")):
        plan = cv.calibrate(CHAIN, 2.0, max_length=length, every=3)
        done = cv.sanitize_table(frame, "x", plan=plan, states=[0, 1])
        checks = cv.verify(done.certificate, done.table).checks
        found = [check.status for check in checks if check.field == "promise.length"]
        # Of four reports on one point in three, series of 11 to 13 points are left.
        assert found == [status if length >= 13 else "open"]
    with pytest.raises(cv.InvalidInput, match="series of 12 rows"):
        cv.sanitize_table(
            frame, "x", plan=cv.calibrate(CHAIN, 2.0, max_length=9, every=3), states=[0, 1]
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_read_back_with_each_report_at_its_point(kind: str, tmp_path: Path) -> None:
    plan, frame = plan_of(kind), mixed().sort("person", "minute")
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    request = Request(Layout("x", "person"), StateRules(states=[0, 1]), plan=plan)
    source, goal = open_source(path, text=False), str(tmp_path / "r.parquet")
    made = release_table(source, file_sink(goal, source, None, False), request, seeded(5))
    held = read_released(goal, tmp_path / "r.certificate.json")
    for person, states in zip(held.series, held.states, strict=True):
        places = plan.noise.places(LENGTHS[person])
        own = as_reported(plan, frame, person)
        there = ~np.ma.getmaskarray(np.ma.asarray(states))
        assert np.flatnonzero(there).tolist() == places.tolist()
        assert np.ma.asarray(states)[there].tolist() == [own[i] for i in range(len(places))]
    compared = compare(made, source, open_source(goal, text=False))
    seen = compared.seen if isinstance(compared.seen, list) else [compared.seen]
    assert [len(part) for part in seen] == [LENGTHS[person] for person in sorted(LENGTHS)]
    for person, part in zip(sorted(LENGTHS), seen, strict=True):
        assert np.ma.asarray(part).tolist() == as_array(plan, frame, person)


def test_counts_of_rare_reports_fit_their_noise() -> None:
    done = cv.sanitize_table(
        mixed(), "x", plan=plan_of("sticky, rare"), series="person", states=[0, 1]
    )
    document = {k: v for k, v in done.certificate.document.items() if k != "seal"}
    release = document["release"]
    for changed in ({k: v for k, v in release.items() if k != "points"}, {**release, "points": 3}):
        made = Certificate.sealed({**document, "release": changed})
        assert "release.rows" in [check.field for check in cv.verify(made).failures]
    assert cv.verify(done.certificate, done.table).holds
