"""Releases whose rows stand in another order: put back where that can be, said where it cannot."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import chainveil as cv
from chainveil.table.released.states import Reading, read_released

CHAIN = cv.MarkovChain.binary(0.1, 0.15)
POINTS = 700


def _private(people: tuple[str, ...] = ("Zoe", "Ann", "Bob")) -> pd.DataFrame:
    frames = [
        pd.DataFrame({
            "person": name,
            "time": pd.date_range("2026-01-05", periods=POINTS, freq="30s"),
            "bpm": 54 + 13 * CHAIN.sample(POINTS, rng=seed).astype(int),
        })
        for seed, name in enumerate(people)
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)


def _released(mechanism: str, frame: pd.DataFrame | None = None, **how: Any) -> cv.TableRelease:
    given: dict[str, Any] = {
        "series": "person", "time": "time", "threshold": 60, "labels": ["low", "high"],
        "chain": CHAIN, "keep_time": True, "allow_leak": ["time"], "mechanism": mechanism,
        "rng": cv.mechanism.seeded(1),
    }  # fmt: skip
    return cv.sanitize_table(_private() if frame is None else frame, "bpm", 4, **(given | how))


KINDS = ("independent", "sticky")
RELEASES: dict[str, cv.TableRelease] = {}


@pytest.fixture(scope="module", autouse=True)
def _made() -> None:
    """Made for the tests, and not by every worker that only collects them."""
    RELEASES.update({kind: _released(kind) for kind in KINDS})


ORDERS: dict[str, Any] = {
    "shuffled": lambda table: table.sample(frac=1, random_state=3),
    "by time": lambda table: table.sort_values(["time", "person"]),
    "by person": lambda table: table.sort_values(["person", "time"]),
    "backwards": lambda table: table.iloc[::-1],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("question", ["share", "transitions"])
def test_time_puts_rows_back_and_the_certificate_confirms_it(
    kind: str, order: str, question: Any
) -> None:
    release = RELEASES[kind]
    moved = ORDERS[order](release.table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cv.estimate_table(moved, release.certificate, question, by="person", time="time")
    pd.testing.assert_frame_equal(found, release.estimate(question, by="person"))


def test_series_in_another_order_need_no_time() -> None:
    release = RELEASES["sticky"]
    moved = pl.from_pandas(release.table).sort("person", maintain_order=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cv.estimate_table(moved, release.certificate, "transitions", by="person")
    np.testing.assert_allclose(
        found["estimate"], release.estimate("transitions", by="person")["estimate"]
    )


def test_order_does_not_matter_to_a_share_under_independent_noise() -> None:
    release = RELEASES["independent"]
    moved = release.table.drop(columns="time").sample(frac=1, random_state=4)
    with pytest.warns(cv.ChainveilWarning, match="another order than the certificate's") as told:
        found = cv.estimate_table(moved, release.certificate, by="person")
    assert len(told) == 1
    pd.testing.assert_frame_equal(found, release.estimate(by="person"))


@pytest.mark.parametrize(
    ("kind", "question"), [("independent", "transitions"), ("sticky", "share")]
)
def test_where_order_matters_and_nothing_tells_it_the_release_is_refused(
    kind: str, question: Any
) -> None:
    release = RELEASES[kind]
    moved = release.table.sample(frac=1, random_state=4)
    with pytest.raises(cv.InvalidInput, match=r"states_sha256.*give time"):
        cv.estimate_table(moved, release.certificate, question)


def test_many_series_whose_order_cannot_be_found_are_answered_with_a_remark() -> None:
    names = tuple("hgfbcdea")
    release = _released("sticky", _private(names))
    moved = release.table.sort_values(["time", "person"])
    with pytest.warns(cv.ChainveilWarning, match="cannot be checked") as told:
        found = cv.estimate_table(moved, release.certificate, by="person", time="time")
    assert len(told) == 1
    pd.testing.assert_frame_equal(found, release.estimate(by="person"))


@pytest.mark.parametrize("kind", KINDS)
def test_some_rows_in_another_order(kind: str) -> None:
    release = RELEASES[kind]
    some = release.table[release.table["time"].dt.minute % 10 != 0]
    how: dict[str, Any] = {"by": "person", "time": "time", "step": 30, "max_gap": 30}
    with pytest.warns(cv.ChainveilWarning, match="rows of the certificate are here"):
        standing = cv.estimate_table(some, release.certificate, "transitions", **how)
    with pytest.warns(cv.ChainveilWarning, match="rows of the certificate are here"):
        moved = cv.estimate_table(
            some.sample(frac=1, random_state=5), release.certificate, "transitions", **how
        )
    pd.testing.assert_frame_equal(moved, standing)


def test_equal_times_do_not_tell_the_order() -> None:
    release = _released("sticky", time_as="1h", keep_time=False, allow_leak=["time"])
    moved = release.table.sample(frac=1, random_state=6)
    with pytest.raises(cv.InvalidInput, match="equal times in rows"):
        cv.estimate_table(moved, release.certificate, by="person", time="time")


def test_points_are_told_by_the_rows_of_the_table_as_it_was_handed_in() -> None:
    release = RELEASES["independent"]
    moved = ORDERS["shuffled"](release.table).reset_index(drop=True)
    held = read_released(moved, release.certificate, Reading(time="time"))
    flat = np.concatenate(held.states)
    labels = np.array(held.labels)[flat]
    assert (moved["bpm"].to_numpy()[held.order] == labels).all()
    assert held.reordered
