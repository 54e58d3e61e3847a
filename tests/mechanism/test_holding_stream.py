"""Streams of noise that remembers or reports one point in several."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.mechanism import Stream, sanitize, seeded
from chainveil.noise.base import Noise
from tests.mechanism.remembering import (
    ALL,
    HOLDING,
    STICKY,
    THREE,
    TRACKING,
    data,
    follows,
    seen,
)

FIELDS = {"format", "noise", "source", "length", "missing", "position", "gaps", "memory"}


@pytest.mark.slow
@pytest.mark.parametrize("noise", [STICKY, THREE, STICKY.thinned(3)], ids=repr)
def test_two_owners_in_turn(noise: Noise) -> None:
    """Each sees its own points and the saved state, which is public, and nothing else."""
    x = data(noise, 60_000)
    state = Stream(noise).save()
    found = []
    for point in x[:2000].tolist():
        owner = Stream.restore(json.loads(json.dumps(state)))
        report = owner.push(point)
        found += [] if report is None else [report]
        state = owner.save()
        assert set(state) == FIELDS
        assert state["source"] == {"kind": "secure"}
        assert state["memory"] == (found[-1] if found else None)
    rest = Stream.restore(state).push(x[2000:])
    assert follows(noise, seen(noise, x, np.concatenate([found, rest]).astype(int)))


@pytest.mark.parametrize("noise", [STICKY, THREE, STICKY.thinned(3)], ids=repr)
def test_a_saved_sticky_stream_says_nothing_but_the_last_report(noise: Noise) -> None:
    """Among streams that said the same last, the states are the same whatever the data."""
    saved: dict[Any, set[str]] = {}
    for seed in range(40):
        stream = Stream(noise)
        last = stream.push(data(noise, 31, seed))[-1]
        saved.setdefault(int(last), set()).add(json.dumps(stream.save(), sort_keys=True))
    assert len(saved) == noise.outputs
    assert all(len(texts) == 1 for texts in saved.values())


def test_tracking_remembers_the_last_report_and_point() -> None:
    stream = Stream(TRACKING, missing="keep")
    assert stream.save()["memory"] is None
    report = stream.push(1)
    assert stream.save()["memory"] == [report, 1]
    assert stream.push(None) is None
    assert stream.save()["memory"] == [report]
    assert np.array_equal(stream.push(np.array([-1, -1])), [-1, -1])
    assert stream.save()["memory"] == [report]
    assert stream.report.gaps == 3


def test_every_and_the_next_report() -> None:
    stream = Stream(STICKY.thinned(4))
    assert (stream.every, stream.next_report) == (4, 1)
    assert stream.push(0) is None
    assert stream.next_report == 1
    assert stream.push(1) in (0, 1)
    assert (stream.position, stream.next_report) == (2, 5)
    assert len(stream.push(np.zeros(3, np.uint8))) == 0
    assert stream.push(np.zeros(3, np.uint8)).dtype == np.uint8
    assert stream.position == 8
    often = Stream(TRACKING)
    assert (often.every, often.next_report) == (1, 0)
    assert type(Stream(STICKY.thinned(3)).push(np.zeros((3, 1), np.int8))) is np.ndarray


def test_a_silent_push_of_an_array_keeps_nothing_of_it() -> None:
    x = np.ones(2, np.uint8)
    silent = Stream(STICKY.thinned(9)).push(x)
    assert len(silent) == 0
    assert not np.may_share_memory(silent, x)
    assert silent.base is None


@pytest.mark.parametrize("noise", ALL.values(), ids=ALL)
def test_errors_leave_the_stream_where_it_was(noise: Noise) -> None:
    x = data(noise, 3000)
    bad = x.copy()
    bad[-1] = noise.states
    stream = Stream(noise, rng=seeded(1))
    first = stream.push(x[:100])
    for value in (noise.states, -3, 0.5, "a", None, bad, [[0, 1]], np.zeros(0)):
        with pytest.raises(cv.InvalidInput):
            stream.push(value)
    assert stream.position == 100
    found = np.concatenate([first, stream.push(x[100:])])
    whole = sanitize(x, noise, rng=seeded(1))[noise.first_place :: noise.every]
    assert np.array_equal(found, whole)


@pytest.mark.parametrize("noise", ALL.values(), ids=ALL)
def test_noise_comes_back_from_a_saved_state(noise: Noise) -> None:
    saved = json.loads(json.dumps(Stream(noise).save()))
    assert Stream.restore(saved)._noise == noise
    assert ("every" in saved["noise"]) == (noise.every > 1)


def test_states_that_were_changed_are_refused() -> None:
    sticky, tracking = Stream(STICKY), Stream(TRACKING)
    for stream in (sticky, tracking):
        stream.push(np.zeros(3, np.uint8))
    wrong: list[tuple[Stream, dict[str, Any]]] = [
        (sticky, {"memory": 2}),
        (sticky, {"memory": [0]}),
        (sticky, {"memory": None}),
        (sticky, {"position": 0}),
        (tracking, {"memory": 1}),
        (tracking, {"memory": []}),
        (tracking, {"memory": [0, 2]}),
        (tracking, {"memory": [0, 1, 1]}),
        (tracking, {"memory": None}),
    ]
    for stream, changes in wrong:
        with pytest.raises(cv.InvalidInput, match="state memory"):
            Stream.restore({**stream.save(), **changes})
    timing: list[tuple[Stream, dict[str, Any]]] = [
        (sticky, {"every": 0}),
        (sticky, {"every": 1}),
        (sticky, {"every": 2.5}),
        (sticky, {"every": "3"}),
        (sticky, {"every": 1 << 80}),
        (tracking, {"delay": 1}),
        (tracking, {"late": 1}),
    ]
    for stream, changes in timing:
        saved = stream.save()
        with pytest.raises(cv.InvalidInput):
            Stream.restore({**saved, "noise": {**saved["noise"], **changes}})


def test_results_keep_the_type_of_the_point() -> None:
    for noise in (STICKY, TRACKING, STICKY.thinned(2)):
        stream = Stream(noise)
        for value in (0, True, 1.0, np.uint8(1), np.int64(0), np.bool_(True), np.float32(0)):
            stream.push(0) if noise.every == 2 and stream.position % 2 else None
            assert type(stream.push(value)) is type(value)


def test_the_length_bound_counts_silent_points() -> None:
    stream = Stream(STICKY.thinned(3), length=5)
    stream.push([0, 1, 1, 0])
    with pytest.raises(cv.InvalidInput, match="at most 5"):
        stream.push([0, 1])


def test_all_kinds_are_here() -> None:
    assert {noise.kind for noise in HOLDING.values()} == {"sticky", "tracking"}
