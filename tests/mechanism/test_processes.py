"""No two processes, threads or copies ever share a keystream."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import chainveil as cv
from chainveil.mechanism import Stream, sanitize, seeded
from chainveil.noise.correlated import CorrelatedNoise

CHANNEL = cv.Channel.binary(0.5, 0.5)
ZEROS = np.zeros(4096, np.uint8)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def in_child(work: Callable[[], bytes]) -> bytes:
    """What ``work`` returns in a process forked from this one."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, work())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = pipe.read()
    os.waitpid(child, 0)
    return result


@needs_fork
def test_forked_processes_share_no_noise_when_sanitizing() -> None:
    def work() -> bytes:
        return np.packbits(sanitize(ZEROS, CHANNEL)).tobytes()

    work()
    results = [in_child(work) for _ in range(4)] + [work()]
    assert all(len(result) == 512 for result in results)
    assert len(set(results)) == 5


@needs_fork
@pytest.mark.parametrize("noise", [CHANNEL, CorrelatedNoise(0.5, 0.5)], ids=repr)
def test_forked_streams_share_no_noise(noise: cv.Channel | CorrelatedNoise) -> None:
    stream = Stream(noise)
    stream.push(0)
    stream.push(ZEROS)

    def work() -> bytes:
        points = [stream.push(0) for _ in range(512)]
        return bytes(points) + np.packbits(stream.push(ZEROS)).tobytes()

    results = [in_child(work) for _ in range(3)]
    results += [in_child(lambda: in_child(work)), work()]
    assert all(len(result) == 1024 for result in results)
    assert len({result[:512] for result in results}) == 5
    assert len({result[512:] for result in results}) == 5


@needs_fork
def test_a_fork_while_another_thread_pushes_does_not_hang_the_child() -> None:
    stream = Stream(CHANNEL)
    stream._lock.acquire()
    assert len(in_child(lambda: bytes([stream.push(0)]))) == 1
    stream._lock.release()


@needs_fork
def test_a_forked_seeded_stream_goes_on_alike() -> None:
    stream = Stream(CHANNEL, rng=seeded(1))
    stream.push(ZEROS)

    def work() -> bytes:
        return np.packbits(stream.push(ZEROS)).tobytes()

    assert in_child(work) == in_child(work) == work()


def _sanitized(_: int) -> bytes:
    return np.packbits(sanitize(ZEROS, CHANNEL)).tobytes()


def _streamed(stream: Stream) -> bytes:
    return np.packbits(stream.push(ZEROS)).tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_share_no_noise(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("not on this system")
    stream = Stream(CHANNEL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(2) as pool:
            results = pool.map(_sanitized, range(4)) + pool.map(_streamed, [stream] * 4)
    assert len(set(results)) == 8


def test_threads_share_no_noise() -> None:
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(_sanitized, range(40)))
    assert len(set(results)) == 40


def test_threads_may_push_to_one_stream() -> None:
    stream = Stream(CHANNEL, rng=seeded(1))
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: _streamed(stream), range(40)))
    whole = np.packbits(sanitize(np.zeros(40 * 4096, np.uint8), CHANNEL, rng=seeded(1)))
    assert sorted(results) == sorted(part.tobytes() for part in np.split(whole, 40))
    assert stream.position == 40 * 4096


def test_threads_may_push_points_to_one_stream() -> None:
    stream = Stream(CHANNEL, rng=seeded(1))
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: stream.push(0), range(2000)))
    whole = sanitize(np.zeros(2000, np.uint8), CHANNEL, rng=seeded(1))
    assert sum(results) == int(whole.sum())
