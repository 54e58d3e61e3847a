"""No two processes, threads or copies ever share a keystream."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.mechanism import RowNoise, Stream, sanitize, secure, seeded
from chainveil.mechanism.correlated import ChainFlips
from chainveil.mechanism.packed import PackedFlips
from chainveil.mechanism.pieces import one_series
from chainveil.mechanism.rows import Rows
from chainveil.mechanism.samplers import sampler
from chainveil.noise.base import Noise
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.noise.memory import StickyNoise

CHANNEL = cv.Channel.binary(0.5, 0.5)
STICKY = StickyNoise.binary([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5])
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
@pytest.mark.parametrize("noise", [CHANNEL, CorrelatedNoise(0.5, 0.5), STICKY], ids=repr)
def test_forked_streams_share_no_noise(noise: Noise) -> None:
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


@pytest.mark.slow
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


@contextmanager
def switching_often() -> Iterator[None]:
    """Threads take turns after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _by_threads(push: Callable[[], bytes]) -> bytes:
    """What two threads draw that begin at the same moment."""
    begin = threading.Barrier(2)

    def wait_and_push(_: int) -> bytes:
        begin.wait()
        return push()

    with ThreadPoolExecutor(2) as threads:
        return b"".join(threads.map(wait_and_push, range(2)))


@pytest.mark.slow
@needs_fork
def test_threads_of_a_forked_stream_never_draw_the_parents_noise() -> None:
    """Runs of 256 fair bits: two equal ones have a chance below 2^-230 in all of the test."""
    stream = Stream(CHANNEL)
    stream.push(ZEROS)
    size = 256

    def push() -> bytes:
        return np.packbits(stream.push(ZEROS[:size])).tobytes()

    parts: list[bytes] = []
    with switching_often():
        for _ in range(60):
            drawn = in_child(lambda: _by_threads(push))
            assert len(drawn) == 2 * size // 8
            parts += [drawn[: size // 8], drawn[size // 8 :]]
    # The parent stands where every child began.
    parts += [push(), push()]
    assert len(set(parts)) == len(parts)


@needs_fork
@pytest.mark.parametrize(
    "noise",
    [STICKY, *(pytest.param(noise, marks=pytest.mark.slow)
               for noise in (CHANNEL, CorrelatedNoise(0.5, 0.5)))],
    ids=repr,
)  # fmt: skip
def test_a_fork_at_any_moment_of_a_push_gives_the_child_a_whole_stream(noise: Noise) -> None:
    """While another thread pushes pairs of points, every child counts an even number of them."""
    stream, done = Stream(noise), threading.Event()

    def keep_pushing() -> None:
        while not done.is_set():
            stream.push(ZEROS[:2])

    def tell() -> bytes:
        signal.alarm(10)  # A child that waits for ever ends in an error.
        saved = pickle.loads(pickle.dumps(stream)).save()
        return bytes([stream.save()["position"] % 2, saved["position"] % 2, stream.push(0)])

    with switching_often(), ThreadPoolExecutor(1) as threads:
        pushing = threads.submit(keep_pushing)
        try:
            for _ in range(40):
                assert in_child(tell)[:2] == b"\0\0"
        finally:
            done.set()
        pushing.result()


@needs_fork
def test_saving_in_a_child_does_not_wait_for_the_parents_thread() -> None:
    stream = Stream(CHANNEL)

    def save() -> bytes:
        signal.alarm(10)  # A child that waits for ever ends in an error.
        return bytes([stream.save()["position"]])

    with stream._lock:
        assert in_child(save) == b"\0"


@needs_fork
@pytest.mark.parametrize("noise", [CHANNEL, CorrelatedNoise(0.5, 0.5)], ids=repr)
def test_forked_noise_for_rows_shares_nothing(noise: cv.Channel | CorrelatedNoise) -> None:
    rows = RowNoise(noise, secure())
    numbers = np.zeros(1, np.uint64)

    def work(first: int = 4096) -> bytes:
        places = Rows(np.zeros(4096, np.int64), np.arange(first, first + 4096), numbers)
        return np.packbits(rows.apply(ZEROS, places)).tobytes()

    work(0)
    results = [in_child(work), in_child(work), in_child(lambda: in_child(work)), work()]
    assert all(len(result) == 512 for result in results)
    assert len(set(results)) == 4


@needs_fork
@pytest.mark.parametrize("kind", ["flips", "reports", "chain", "packed"])
def test_whatever_holds_a_key_leaves_it_to_the_parent(kind: str) -> None:
    """Work that was begun before a fork goes on under another key in the child."""
    source, piece = secure(), one_series(0, 0, 4096)
    kinds: dict[str, Callable[[], Any]] = {
        "flips": lambda: sampler(CHANNEL, source),
        "reports": lambda: sampler(cv.Channel(np.full((3, 3), 1 / 3)), source),
        "chain": lambda: ChainFlips(CorrelatedNoise(0.5, 0.5), source),
        "packed": lambda: PackedFlips(CHANNEL, source),
    }
    work = kinds[kind]()

    def draw() -> bytes:
        out = np.zeros_like(ZEROS)
        work.apply(piece, ZEROS, out)
        single = bytes(work.one(point, 0) for point in range(64)) if kind != "packed" else b""
        return single + out.tobytes()

    results = [in_child(draw), in_child(draw), draw()]
    assert len({result[:64] for result in results}) == 3
    assert len({result[64:] for result in results}) == 3
