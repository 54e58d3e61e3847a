"""The same seed gives the same reports for arrays, streams and rows, however they are cut."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv
from chainveil.mechanism import (
    RowNoise,
    Rows,
    Stream,
    sanitize,
    secure,
    seeded,
    series_number,
)
from chainveil.noise.base import Noise
from tests.mechanism.remembering import ALL, HOLDING, STICKY, THINNED, data

NUMBERS = np.array([series_number(name) for name in "abcd"], np.uint64)
noises = st.sampled_from(list(ALL.values()))
cuts = st.lists(st.integers(0, 60), max_size=12)
shares = st.sampled_from([0.0, 0.1, 0.7])


def parts_of(x: Any, sizes: list[int]) -> list[Any]:
    return [part for part in np.split(x, np.cumsum(sizes)) if len(part)]


def made(noise: Noise, x: Any, source: Any) -> Any:
    """A report for each place of the noise, -1 where the point is missing."""
    return sanitize(x, noise, rng=source, missing="keep")[noise.first_place :: noise.every]


@settings(max_examples=120, deadline=None)
@given(noises, st.integers(70, 400), cuts, shares, st.integers(0, 99))
def test_chunks_and_points_of_a_stream(
    noise: Noise, n: int, sizes: list[int], share: float, seed: int
) -> None:
    x = data(noise, n, seed, share)
    whole = made(noise, x, seeded(seed))
    stream = Stream(noise, rng=seeded(seed), missing="keep")
    found: list[Any] = []
    for part in parts_of(x, sizes):
        assert stream.next_report == noise.first_place + len(found) * noise.every
        if len(part) == 1:
            report = stream.push(int(part[0]))
            assert (report is None) == (
                stream.next_report == noise.first_place + len(found) * noise.every
            )
            found += [] if report is None else [report]
        else:
            found += stream.push(part).tolist()
        stream = Stream.restore(json.loads(json.dumps(stream.save())))
    assert found == whole.tolist()
    assert (stream.position, stream.report.gaps) == (n, int((x < 0).sum()))


@settings(max_examples=120, deadline=None)
@given(
    noises,
    st.lists(st.integers(0, 3), min_size=1, max_size=400),
    cuts,
    shares,
    st.integers(0, 99),
)
def test_rows_in_any_batches(
    noise: Noise, owner: list[int], sizes: list[int], share: float, seed: int
) -> None:
    """Missing points are rows that are left out: the point numbers jump over them."""
    owners = np.array(owner)
    series = [data(noise, int((owners == j).sum()), seed + j, share) for j in range(4)]
    states, points = _mixed(owners, series)
    there = states >= 0
    owners, states, points = owners[there], states[there].astype(np.uint8), points[there]
    work = RowNoise(noise, seeded(seed))
    found: list[Any] = []
    masks: list[Any] = []
    edges = np.split(np.arange(len(states)), np.cumsum(sizes))
    for part in edges:
        rows = Rows(owners[part], points[part], NUMBERS)
        masks.append(work.reports(rows))
        found.append(work.apply(states[part], rows))
    speaks, drawn = np.concatenate(masks), np.concatenate(found)
    assert len(drawn) == speaks.sum()
    for j in range(4):
        if not (owners == j).any():
            continue
        whole = sanitize(
            series[j], noise, rng=seeded(seed).at(series=int(NUMBERS[j])), missing="keep"
        )
        mine = (owners == j)[speaks]
        places = points[(owners == j) & speaks]
        assert np.array_equal(drawn[mine], whole[places])


def _mixed(owners: Any, series: list[Any]) -> tuple[Any, Any]:
    states, points = np.zeros(len(owners), np.int64), np.zeros(len(owners), np.int64)
    for j, part in enumerate(series):
        states[owners == j], points[owners == j] = part, np.arange(len(part))
    return states, points


@pytest.mark.slow
@pytest.mark.parametrize("noise", ALL.values(), ids=ALL)
def test_long_batches_with_many_ties(noise: Noise) -> None:
    owner = np.random.default_rng(3).integers(0, 4, 700_000)
    series = [data(noise, int((owner == j).sum()), j) for j in range(4)]
    states, points = _mixed(owner, series)
    rows = Rows(owner, points, NUMBERS)
    work = RowNoise(noise, seeded(9))
    drawn, speaks = work.apply(states.astype(np.uint8), rows), work.reports(rows)
    for j in range(4):
        whole = sanitize(series[j], noise, rng=seeded(9).at(series=int(NUMBERS[j])))
        mine = owner == j
        assert np.array_equal(drawn[mine[speaks]], whole[points[mine & speaks]])


@pytest.mark.parametrize("noise", ALL.values(), ids=ALL)
def test_secure_rows_have_the_law_of_arrays(noise: Noise) -> None:
    """A report is certain where the law says so; here every report repeats its point."""
    k = noise.states
    sure = cv.Channel(np.eye(k)).thinned(noise.every)
    rows = Rows(np.zeros(500, np.int64), np.arange(500), NUMBERS)
    states = data(noise, 500).astype(np.uint8)
    work = RowNoise(sure, secure())
    assert work.needs_rows == (noise.every > 1)
    assert np.array_equal(work.apply(states, rows), states[work.reports(rows)])
    drawn = RowNoise(noise, secure()).apply(states, rows)
    assert len(drawn) == len(noise.places(500))
    assert drawn.max() < noise.outputs


def test_rows_that_jump_hold_the_last_report() -> None:
    x = np.array([1, 0, -1, -1, 1, 0, -1, 1])
    for noise in HOLDING.values():
        whole = sanitize(x, noise, rng=seeded(1).at(series=int(NUMBERS[0])), missing="keep")
        points = np.flatnonzero(x >= 0)
        work = RowNoise(noise, seeded(1))
        singly = [
            work.apply(x[[p]].astype(np.uint8), Rows(np.zeros(1, np.int64), np.array([p]), NUMBERS))
            for p in points
        ]
        assert np.array_equal(np.concatenate(singly), whole[points])


def test_rows_out_of_order() -> None:
    zeros, owner = np.zeros(2, np.uint8), np.zeros(2, np.int64)
    for noise in HOLDING.values():
        for points in ([1, 0], [3, 3]):
            with pytest.raises(cv.InvalidInput, match="order"):
                RowNoise(noise, seeded(1)).apply(zeros, Rows(owner, np.array(points), NUMBERS))
        with pytest.raises(cv.InvalidInput, match="last state"):
            RowNoise(noise, seeded(1)).apply(zeros + 10, Rows(owner, np.arange(2), NUMBERS))
    with pytest.raises(cv.InvalidInput, match="every state"):
        RowNoise(STICKY.thinned(2), secure()).apply(zeros)


def test_every_kind_is_thinned_as_it_should() -> None:
    assert all(noise.every > 1 for noise in THINNED.values())
    assert all(noise.every == 1 and noise.holds for noise in HOLDING.values())
