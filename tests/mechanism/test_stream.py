from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.mechanism import Stream, sanitize, seeded
from chainveil.noise.correlated import CorrelatedNoise

TWO = cv.Channel.binary(0.3, 0.2)
CHAIN = CorrelatedNoise(0.2, 0.3)
NOISES: list[Any] = [TWO, cv.Channel.randomized_response(5, 0.4), CHAIN]
NOISES.append(cv.Channel.randomized_response(30, 0.4))


def whole(x: Any, noise: Any, seed: int) -> Any:
    return sanitize(x, noise, rng=seeded(seed))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_points_and_arrays_of_any_size_give_the_same_noise(noise: Any) -> None:
    x = np.random.default_rng(0).integers(0, 2, 9000)
    stream = Stream(noise, rng=seeded(1))
    results: list[Any] = []
    at = 0
    for size in [*[1] * 3000, 500, 1, 1, 2000, 17]:
        pushed = stream.push(int(x[at]) if size == 1 else x[at : at + size])
        results.append(np.atleast_1d(pushed))
        at += size
    results.append(stream.push(x[at:]))
    assert stream.position == 9000
    assert np.array_equal(np.concatenate(results), whole(x, noise, 1))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_restored_seeded_stream_goes_on_where_it_was(noise: Any) -> None:
    x = np.random.default_rng(0).integers(0, 2, 3000)
    stream = Stream(noise, rng=seeded(1).child(4).at(series=2))
    results = []
    for part in np.split(x, 30):
        results.append(stream.push(part))
        stream = Stream.restore(json.loads(json.dumps(stream.save())))
    unbroken = Stream(noise, rng=seeded(1).child(4).at(series=2)).push(x)
    assert np.array_equal(np.concatenate(results), unbroken)


def test_a_restored_secure_stream_takes_a_fresh_key() -> None:
    stream = Stream(TWO)
    stream.push([0, 1])
    saved = stream.save()
    zeros = np.zeros(2000, np.uint8)
    streams = [stream, Stream.restore(saved), Stream.restore(saved)]
    streams += [copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]
    results = [other.push(zeros).tobytes() for other in streams]
    assert len(set(results)) == len(streams)


def test_no_key_is_ever_saved() -> None:
    assert set(Stream(CHAIN).save()["source"]) == {"kind"}


def test_only_the_state_of_the_noise_chain_is_carried() -> None:
    # Noise that never leaves its state once the first point is drawn, as good as never.
    sticky = CorrelatedNoise(1e-15, 1e-15)
    for _ in range(20):
        stream = Stream(sticky)
        first = stream.push(0)
        saved = stream.save()
        assert saved["memory"] == first
        assert set(Stream.restore(saved).push(np.zeros(100, np.uint8))) == {first}


def test_results_keep_the_type_of_the_point() -> None:
    stream = Stream(TWO)
    for value in (0, True, 1.0, np.uint8(1), np.int64(0), np.bool_(True), np.float32(0)):
        assert type(stream.push(value)) is type(value)
    assert isinstance(stream.push(np.array([1, 0], np.int8)), np.ndarray)


def test_gaps() -> None:
    stream = Stream(TWO, missing="keep")
    assert stream.push(None) is None
    assert np.isnan(stream.push(float("nan")))
    assert stream.push(-1) == -1
    assert np.array_equal(np.isnan(stream.push(np.array([0, np.nan, 1]))), [False, True, False])
    assert stream.report.gaps == 4
    assert stream.report.points == 6
    for gap in (None, float("nan"), -1):
        with pytest.raises(cv.InvalidInput):
            Stream(TWO).push(gap)


def test_errors_leave_the_stream_where_it_was() -> None:
    x = np.zeros(600_000, np.uint8)
    bad = x.copy()
    bad[-1] = 3
    for noise in NOISES[:1] + NOISES[2:3]:
        stream = Stream(noise, rng=seeded(1))
        for value in (2, -3, 0.5, "a", bad, [[0, 1]], np.zeros(0)):
            with pytest.raises(cv.InvalidInput):
                stream.push(value)
        assert stream.position == 0
        assert np.array_equal(stream.push(x), whole(x, noise, 1))


def test_the_length_bound() -> None:
    stream = Stream(TWO, length=5)
    stream.push([0, 1, 1])
    with pytest.raises(cv.InvalidInput, match=r"6 points; .*at most 5"):
        stream.push([0, 1, 1])
    stream.push([0, 1])
    with pytest.raises(cv.InvalidInput, match="at most 5"):
        stream.push(0)
    assert Stream.restore(stream.save()).position == 5


def test_reports_say_what_was_used() -> None:
    assert Stream(TWO).report.source == "release"
    assert Stream(CHAIN, rng=seeded(1)).report.source == "study"
    assert Stream(CHAIN).report.mechanism == "correlated"


@pytest.mark.parametrize("state", [{}, {"format": "other"}, {"format": "chainveil-stream-1"}, None])
def test_broken_states_are_refused(state: Any) -> None:
    with pytest.raises(cv.InvalidInput, match="state"):
        Stream.restore(state)


def test_a_broken_noise_state_is_refused() -> None:
    saved = Stream(CHAIN).save()
    with pytest.raises(cv.InvalidInput, match="state"):
        Stream.restore({**saved, "memory": 2})
    kinds: list[Any] = [["correlated"], {}, None, 7]
    for kind in kinds:
        with pytest.raises(cv.InvalidInput, match="noise"):
            Stream.restore({**saved, "noise": {**saved["noise"], "kind": kind}})
    with pytest.raises(cv.InvalidInput):
        Stream(0.3)  # type: ignore[arg-type]


def test_reports_must_fit_the_type_of_the_point() -> None:
    three = cv.Channel([[0, 0, 1], [0, 0, 1]])
    assert Stream(three).push(0) == 2
    with pytest.raises(cv.InvalidInput, match="bool"):
        Stream(three).push(True)
