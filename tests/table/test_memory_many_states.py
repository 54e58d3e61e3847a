"""Tables of several states released with noise that remembers and with rare reports."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import chainveil as cv
from chainveil.mechanism import seeded
from chainveil.noise import Channel, Noise, StickyNoise
from chainveil.table.files import file_sink
from chainveil.table.read.reading import open_source
from chainveil.table.release import release_table
from chainveil.table.request.kept import make_kept
from chainveil.table.request.request import Layout, Request, StateRules
from tests.table.test_memory import LENGTHS, as_reported

CHAIN = cv.MarkovChain(
    [[0.7, 0.2, 0.1, 0.0], [0.2, 0.6, 0.2, 0.0], [0.0, 0.2, 0.6, 0.2], [0.0, 0.1, 0.2, 0.7]]
)
STATES = [0, 1, 2, 3]
LABELS = ["rest", "calm", "brisk", "hard"]
STICKY = StickyNoise.response(
    0.5, Channel.randomized_response(4, 0.5), Channel.randomized_response(4, 0.6)
).on_grid()
NOISES: dict[str, Noise] = {
    "sticky": STICKY,
    "sticky, rare": STICKY.thinned(3),
    "independent, rare": Channel.ordinal(4, 0.6).on_grid().thinned(4),
}
HOW: dict[str, Any] = {"series": "person", "time": "minute", "time_as": "index"}


@cache
def short_plan() -> cv.NoisePlan:
    """Sticky noise for series of three points, whose loss is enumerated."""
    loss = cv.privacy_loss(CHAIN, STICKY, length=3)
    return cv.NoisePlan(CHAIN, STICKY, loss, 2.5, "wrong-reports", None)


def long_plan(kind: str) -> cv.NoisePlan:
    """A plan whose loss nobody looks at: what is tested is how it is applied."""
    loss = replace(short_plan().loss, length=None)
    return replace(short_plan(), noise=NOISES[kind], loss=loss, gaps=True)


def levels(missing: bool = False, lengths: dict[str, int] = LENGTHS) -> pl.DataFrame:
    """Series of several lengths, their rows mixed; some without a value."""
    rng = np.random.default_rng(4)
    people = np.repeat(list(lengths), list(lengths.values()))
    times = np.concatenate([np.arange(n) for n in lengths.values()])
    values: list[int | None] = rng.integers(0, 4, len(people)).tolist()
    if missing:
        values = [
            None if r < 0.2 else v for r, v in zip(rng.random(len(people)), values, strict=True)
        ]
    order = np.argsort(times + rng.random(len(times)), kind="stable")
    frame = pl.DataFrame({"person": people, "minute": times, "x": values})
    ordered: pl.DataFrame = frame[order.tolist()]
    return ordered


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", NOISES)
def test_a_table_is_released_as_its_series_are(kind: str, missing: bool) -> None:
    plan, frame = long_plan(kind), levels(missing)
    done = cv.sanitize_table(
        frame, "x", plan=plan, missing="keep" if missing else "error",
        rng=seeded(5), states=STATES, **HOW,
    )  # fmt: skip
    for person, length in LENGTHS.items():
        part = done.table.filter(pl.col("person") == person)
        assert part["x"].to_list() == as_reported(plan, frame, person)
        assert part["minute"].to_list() == plan.noise.places(length).tolist()


@pytest.mark.parametrize("kind", NOISES)
def test_frames_of_every_kind_and_files_in_small_batches_agree(kind: str, tmp_path: Path) -> None:
    plan, frame = long_plan(kind), levels(missing=True)
    how: dict[str, Any] = {"plan": plan, "missing": "keep", **HOW}
    done = cv.sanitize_table(frame, "x", rng=seeded(5), states=STATES, **how)
    for other in (frame.to_pandas(), frame.to_arrow()):
        again = cv.sanitize_table(other, "x", rng=seeded(5), states=STATES, **how)
        digest = "release.states_sha256"
        assert again.certificate[digest] == done.certificate[digest]
    table, goal = tmp_path / "t.parquet", tmp_path / "r.parquet"
    frame.write_parquet(table, row_group_size=7)
    request = Request(
        Layout("x", "person", "minute"), StateRules(states=STATES, missing="keep"),
        plan=plan, kept=make_kept(time_as="index"),
    )  # fmt: skip
    source = open_source(table, text=False)
    release_table(source, file_sink(str(goal), source, None, False), request, seeded(5))
    assert pl.read_parquet(goal)["x"].to_list() == done.table["x"].to_list()


@pytest.mark.slow
def test_a_release_is_verified_analysed_and_cannot_be_changed() -> None:
    people = {f"p{i}": 3 for i in range(300)}
    frame = levels(lengths=people)
    done = cv.sanitize_table(frame, "x", plan=short_plan(), states=STATES, labels=LABELS, **HOW)
    assert set(done.table["x"]) == set(LABELS)
    assert cv.verify(done.certificate, done.table).holds
    changed = done.table.with_columns(x=pl.lit("rest"))
    assert not cv.verify(done.certificate, changed).holds
    noise = cv.noise.read_noise(
        {"kind": done.certificate["noise.mechanism"], "matrix": done.certificate["noise.matrix"]}
    )
    assert noise == STICKY
    codes = [
        done.table.filter(pl.col("person") == person)["x"].replace_strict(
            LABELS, STATES, return_dtype=pl.UInt8
        )
        for person in people
    ]
    found = cv.estimate.frequency([part.to_numpy() for part in codes], noise)
    shares = np.bincount(frame["x"].to_numpy(), minlength=4) / len(frame)
    assert np.all(np.abs(found.value - shares) < 6 * found.standard_error)
