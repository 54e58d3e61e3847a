"""What a reader and what a curator may know of a release, as values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import chainveil as cv
from chainveil.mechanism import seeded
from chainveil.table import review, summarize
from chainveil.table.read.frames import FrameSource

CHAIN = cv.MarkovChain.binary(0.1, 0.15)


def _table(points: int = 200, people: int = 3) -> Any:
    held = CHAIN.sample(points, people, rng=1).reshape(-1)
    names = np.repeat([f"p{n}" for n in range(people)], points)
    return pa.table({"person": names, "x": np.where(held == 1, 9.0, 1.0)})


def _released(table: Any, epsilon: float = 4.0, **how: Any) -> Any:
    usual = {"series": "person", "threshold": 5.0, "chain": CHAIN, "mechanism": "independent"}
    return cv.sanitize_table(table, "x", epsilon=epsilon, rng=seeded(2), **{**usual, **how})


def test_questions_are_those_of_estimate_table() -> None:
    done = _released(_table())
    found = summarize(done.certificate, done.table, level=0.9)
    assert list(found.answers) == ["share", "by series", "over time", "transitions", "sojourns"]
    assert {one.level for one in found.answers.values()} == {0.9}
    frame = cv.estimate_table(done.table, done.certificate, "share", by="person", level=0.9)
    assert found.answers["by series"].groups == ("p0", "p1", "p2")
    np.testing.assert_array_equal(
        np.clip(found.answers["by series"].value, 0, 1).reshape(-1), frame["estimate"].to_numpy()
    )
    assert found.files == (None, None)
    assert found.even_odds == cv.success_bound(
        cv.MarkovChain.symmetric(0.5), done.certificate["loss.epsilon"]
    )


def test_stretches_grow_with_the_noise() -> None:
    """Of much noise a stretch of ten points says nothing, and is refused."""
    little, much = (_released(_table(), epsilon) for epsilon in (8.0, 1.5))
    short, long = (summarize(one.certificate, one.table).width for one in (little, much))
    assert short == 10
    assert long is not None
    assert long > 10
    answer = summarize(much.certificate, much.table).answers["over time"]
    assert answer.groups == tuple(range(0, 200, long))


def test_a_release_that_is_another_has_no_answers() -> None:
    done, other = _released(_table()), _released(_table(), threshold=6.0)
    found = summarize(done.certificate, other.table.slice(1))
    assert not found.verification.holds
    assert (found.answers, found.refused, found.example) == ({}, {}, None)


def test_the_example_is_made_up_and_always_the_same() -> None:
    done = _released(_table())
    one, two = (summarize(done.certificate, table).example for table in (done.table, None))
    assert one is not None
    assert two is not None
    np.testing.assert_array_equal(one, two)


def test_a_wrong_column_is_an_error_and_not_a_finding() -> None:
    done = _released(_table())
    with pytest.raises(cv.InvalidInput, match="time: found 'hour'"):
        summarize(done.certificate, done.table, time="hour")
    with pytest.raises(cv.InvalidInput, match="level"):
        summarize(done.certificate, done.table, level=2.0)


def test_a_review_counts_what_is_wrong(tmp_path: Path) -> None:
    table = _table()
    done = _released(table)
    found = review(done.certificate, FrameSource(table), FrameSource(done.table))
    assert [one.name for one in found.series] == ["p0", "p1", "p2"]
    for number, one in enumerate(found.series):
        rows = slice(200 * number, 200 * number + 200)
        truth = table["x"].to_numpy()[rows] > 5
        seen = np.asarray(done.table["x"].to_pylist())[rows].astype(int)
        assert one.wrong == np.mean(truth != seen)
        assert one.shares == pytest.approx((1 - truth.mean(), truth.mean()))
        assert one.own is not None
    assert not isinstance(found.attacked, str)
    assert found.leaks == ()


def test_of_many_series_every_so_many_th_has_its_loss() -> None:
    table = _table(points=12, people=450)
    done = _released(table)
    found = review(done.certificate, FrameSource(table), FrameSource(done.table))
    asked = [number for number, one in enumerate(found.series) if one.own is not None]
    assert asked == list(range(0, 450, 3))
