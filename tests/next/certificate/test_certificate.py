"""Certificates of version 2: made, read, verified, and tampered with."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import chainveil as cv
from chainveil.errors import ChainveilError, InvalidInput
from chainveil.next.certificate.document import (
    BY_PATH,
    BY_PLAN_PATH,
    Certificate,
    leaves,
    seal,
)
from chainveil.next.certificate.make import certify
from chainveil.next.certificate.verify import FAILED, VERIFIED, WEAKER
from chainveil.next.table.read import open_table
from chainveil.next.table.release import Release, sanitize
from chainveil.next.table.released import verify
from tests.next.table.tables import CHAIN, heart_rates, request

PLANS = {
    "independent": lambda: cv.calibrate(CHAIN, 2.0),
    "sticky": lambda: cv.calibrate(CHAIN, 2.0, mechanism="sticky"),
    "thinned": lambda: cv.calibrate(CHAIN, 2.0, mechanism="sticky", every=3),
    "correlated": lambda: cv.calibrate(CHAIN, 2.0, mechanism="correlated"),
    "region": lambda: cv.calibrate(cv.ChainRegion((0.1, 0.2), (0.2, 0.3), (0.15, 0.25)), 2.0),
    "three states": lambda: cv.calibrate(
        cv.MarkovChain([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]), 2.0
    ),
    "order 2": lambda: cv.calibrate(
        cv.HigherOrderChain([[0.9, 0.1], [0.3, 0.7], [0.8, 0.2], [0.2, 0.8]], order=2), 2.0
    ),
    "family": lambda: cv.calibrate(
        cv.ModelFamily([CHAIN, cv.MarkovChain.binary(0.2, 0.3)], ["a", "b"]), 2.0
    ),
    "ignorant": lambda: cv.calibrate(CHAIN, 2.0, adversary="ignorant"),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_certificate_of_a_plan_holds_and_is_read_back(name: str) -> None:
    plan = PLANS[name]()
    held = certify(plan)
    again = Certificate.from_json(held.to_json())
    assert again.document == held.document
    result = again.verify()
    assert result.failures == ()
    assert result.verdict == WEAKER
    assert "no release was checked: this is a plan" in result.weaker
    found = again.plan()
    assert found.noise.to_matrix() == plan.noise.on_grid().to_matrix()
    assert found.loss.epsilon <= plan.epsilon + 1e-6


@pytest.fixture(scope="module")
def release() -> Release:
    return sanitize(open_table(heart_rates()), request(public=("ward", "minute")))


def test_a_release_is_verified_in_full(release: Release) -> None:
    result = verify(release.certificate, release.table)
    assert (result.verdict, result.exit_code, result.weaker) == (VERIFIED, 0, ())


def _changed(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    first = pl.int_range(pl.len()) == 0
    other = {"bpm": "high", "ward": "x", "minute": 999, "position": 999, "series": "x"}
    flipped = pl.when(pl.col("bpm") == "low").then(pl.lit("high")).otherwise(pl.lit("low"))
    cells = {
        name: frame.with_columns(
            pl.when(first).then(flipped if name == "bpm" else pl.lit(value))
            .otherwise(pl.col(name)).alias(name)
        )
        for name, value in other.items()
    }  # fmt: skip
    nulls = {
        f"{name} null": frame.with_columns(
            pl.when(first).then(None).otherwise(pl.col(name)).alias(name)
        )
        for name in ("ward", "minute", "bpm")
    }
    return {
        **cells, **nulls,
        "renamed": frame.rename({"ward": "area"}),
        "order": frame.select("position", "series", "bpm", "ward", "minute"),
        "more": frame.with_columns(more=pl.lit(1)),
        "without": frame.drop("ward"),
        "row less": frame.head(len(frame) - 1),
        "row twice": pl.concat([frame, frame.tail(1)]),
        "shuffled": frame.reverse(),
        "swapped names": frame.rename({"ward": "minute", "minute": "ward"}),
    }  # fmt: skip


def test_every_change_of_a_release_is_found(release: Release) -> None:
    for name, frame in _changed(release.frame).items():
        assert verify(release.certificate, frame).exit_code == 1, name


def test_lost_types_are_not_decided_and_never_taken_for_checked(
    release: Release, tmp_path: Path
) -> None:
    path = tmp_path / "copy.csv"
    release.frame.write_csv(path)
    result = verify(release.certificate, path)
    assert (result.exit_code, result.failures) == (4, ())
    assert any("minute: not decided" in reason for reason in result.weaker)
    for name, frame in _changed(release.frame).items():
        frame.write_csv(path)
        assert verify(release.certificate, path).exit_code in (1, 4), name


def test_copies_that_keep_types_are_checked_in_full(release: Release, tmp_path: Path) -> None:
    for name in ("copy.parquet", "copy.arrow"):
        path = tmp_path / name
        (release.frame.write_parquet if name[5] == "p" else release.frame.write_ipc)(path)
        assert verify(release.certificate, path).exit_code == 0
    assert verify(release.certificate, release.frame.to_pandas()).exit_code == 0
    assert verify(release.certificate, release.frame.to_arrow()).exit_code == 0


def _resealed(document: dict[str, Any]) -> dict[str, Any]:
    document["seal"]["digest"] = seal(document)
    return document


def test_every_field_that_is_checked_is_found_where_it_is_changed(release: Release) -> None:
    """Each field is changed to another value of its kind, and the seal made anew."""
    whole = release.certificate.document
    changed = 0
    for path, value in [*leaves({k: v for k, v in whole.items() if k != "plans"}),
                        *((f"plans.{p}", v) for p, v in leaves(whole["plans"][0]))]:  # fmt: skip
        plain = path.removeprefix("plans.")
        known = (BY_PLAN_PATH if path != plain else BY_PATH).get(plain)
        if known is None or known.checked == "open" or plain.startswith(("seal", "loss.witness")):
            continue
        other = _other(value)
        if other is None:
            continue
        document = copy.deepcopy(dict(whole))
        place: Any = document["plans"][0] if path != plain else document
        *keys, last = plain.split(".")
        for key in keys:
            place = place[key]
        place[last] = other
        try:
            result = verify(Certificate(_resealed(document)), release.table)
        except ChainveilError:
            changed += 1
            continue
        # A guarantee may be claimed looser than need be.
        if known.checked == "bounded" and result.verdict == VERIFIED:
            continue
        assert result.verdict in (FAILED, WEAKER), path
        assert result.verdict == FAILED or known.checked == "bounded", (path, result.weaker)
        changed += 1
    assert changed > 25


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 0.9
    if isinstance(value, str):
        return "0" * 64 if len(value) == 64 else value + " more"
    if isinstance(value, list) and value and isinstance(value[0], str):
        return value[1:] + value[:1] if len(set(value)) > 1 else [*value, "more"]
    return None


def test_a_smaller_loss_than_the_true_one_fails() -> None:
    document = copy.deepcopy(dict(certify(cv.calibrate(CHAIN, 2.0)).document))
    document["plans"][0]["loss"]["epsilon"] *= 0.9
    document["guarantee"]["epsilon"] *= 0.95
    failed = {line.field for line in Certificate(_resealed(document)).verify().failures}
    assert "loss.epsilon" in failed


def test_groups_have_plans_of_their_own(release: Release) -> None:
    frame = heart_rates(400, 6)
    asked = request(group="ward", public=("ward",), chain=None, mechanism="independent")
    held = sanitize(open_table(frame), asked)
    assert verify(held.certificate, held.table).exit_code == 0
    assert set(held.certificate.groups) == {"ward 0", "ward 1"}
    assert Certificate.from_json(held.certificate.to_json()).groups
    one, two = pl.lit("ward 0"), pl.lit("ward 1")
    other = pl.when(pl.col("ward") == "ward 0").then(two).otherwise(one)
    moved = held.frame.with_columns(
        ward=pl.when(pl.col("series") == held.frame["series"][0]).then(other).otherwise("ward")
    )
    assert verify(held.certificate, moved).exit_code == 1


@pytest.mark.parametrize("seed", range(4))
def test_damaged_documents_are_refused_or_judged_in_words(seed: int, release: Release) -> None:
    rng = random.Random(seed)
    text = release.certificate.to_json()
    for _ in range(100):
        held = list(text)
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(held))
            kind = rng.randrange(3)
            if kind == 0:
                held[place] = rng.choice('0123456789{}[]",:-e.x')
            elif kind == 1:
                del held[place]
            else:
                held[place:place] = held[place : place + rng.randint(1, 40)]
        try:
            result = verify(Certificate.from_json("".join(held)), release.table)
        except ChainveilError:
            continue
        assert result.exit_code in (0, 1, 3, 4)
        if result.exit_code == 0:
            assert json.loads("".join(held)) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"schema": "chainveil certificate", "schema_version": 1}',
     "[" * 100_000, '{"a": 1e999}', '{"a": 1, "a": 2}', '"\\ud800"', "\xff"],
)  # fmt: skip
def test_other_documents_are_refused_with_one_sentence(text: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Certificate.from_json(text)
    assert "\n" not in str(error.value)
