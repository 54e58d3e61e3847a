"""How long sanitizing takes, beside the cipher, plain NumPy and other packages; one run.

    python -m benchmarks.sanitize [--points 28] [--repeats 5] [--peers] [--linear 30]

Everything runs on one thread, after a warm-up, into memory that was there before. Rounds
are interleaved, so that a slow moment of the machine falls on all alike. The packages of
``--peers`` are in ``benchmarks/requirements.txt``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

import chainveil as cv
from chainveil.mechanism import Stream, sanitize, sanitize_packed
from chainveil.noise.base import Noise
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.noise.memory import StickyNoise, TrackingNoise

CHANNEL = cv.Channel.binary(0.30, 0.25)
EIGHT = cv.Channel.randomized_response(8, 0.4)
STICKY = StickyNoise.binary([[0.05, 0.32], [0.68, 0.95]], [0.35, 0.65])
TRACKING = TrackingNoise.binary(
    [[[0.04, 0.45], [0.10, 0.40]], [[0.60, 0.90], [0.55, 0.96]]], [0.35, 0.65]
)
THINNED = STICKY.thinned(5)


def response(states: int) -> StickyNoise:
    """A sticky response of several states."""
    answer = cv.Channel.randomized_response(states, 0.4)
    return StickyNoise.response(0.7, answer, answer)


STREAMED = {
    "independent": CHANNEL, "sticky": STICKY, "tracking": TRACKING, "sticky, 1 in 5": THINNED,
}  # fmt: skip
CHUNK = 1 << 18
# Points that a stream is given at once.
CALL = 1000


@dataclass(frozen=True)
class Entry:
    """Something to time: ``run`` handles ``points`` points."""

    name: str
    points: int
    run: Callable[[], object]


def keystream(points: int) -> Callable[[], object]:
    """As many bytes of AES-256-CTR as there are points, in the cache-sized pieces we use."""
    zeros, buffer = memoryview(bytes(CHUNK)), memoryview(bytearray(CHUNK))

    def run() -> None:
        encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
        for begin in range(0, points, CHUNK):
            size = min(CHUNK, points - begin)
            encryptor.update_into(zeros[:size], buffer[:size])

    return run


def keystream_into(out: NDArray[np.uint8]) -> Callable[[], object]:
    """The same bytes into memory as large as the result, which is what a release must write."""
    zeros, goal = memoryview(bytes(CHUNK)), out.data

    def run() -> None:
        encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16))).encryptor()
        for begin in range(0, len(out), CHUNK):
            part = goal[begin : begin + CHUNK]
            encryptor.update_into(zeros[: len(part)], part)

    return run


def own_entries(points: int) -> list[Entry]:
    generator = np.random.default_rng(0)
    x = generator.integers(0, 2, points, dtype=np.uint8)
    x4, x8 = (generator.integers(0, k, points, dtype=np.uint8) for k in (4, 8))
    four, eight = response(4), response(8)
    out = np.ones_like(x)
    bits, bits_out = np.packbits(x), np.ones(-(-points // 8), np.uint8)
    noise = CorrelatedNoise(0.1, 0.3)
    few = min(points, 1 << 24)
    rho, uniform = np.array([0.30, 0.25]), np.empty(few)
    flips = np.empty(few, np.bool_)
    plain = np.random.default_rng(1)

    def numpy_plain() -> None:
        plain.random(out=uniform)
        np.less(uniform, rho[x[:few]], out=flips)
        np.bitwise_xor(x[:few], flips, out=out[:few])

    return [
        Entry("AES-256-CTR keystream", points, keystream(points)),
        Entry("keystream into the result", points, keystream_into(out)),
        Entry("memory copy", points, lambda: np.copyto(out, x)),
        Entry("chainveil, uint8", points, lambda: sanitize(x, CHANNEL, out=out)),
        Entry("chainveil, packed", points, lambda: sanitize_packed(bits, CHANNEL, out=bits_out)),
        Entry("chainveil, 8 states", points, lambda: sanitize(x8, EIGHT, out=out)),
        Entry("chainveil, correlated", points, lambda: sanitize(x, noise, out=out)),
        Entry("chainveil, sticky", points, lambda: sanitize(x, STICKY, out=out)),
        Entry("chainveil, tracking", points, lambda: sanitize(x, TRACKING, out=out)),
        Entry("chainveil, sticky, 1 in 5", points, lambda: sanitize(x, THINNED, out=out)),
        Entry("chainveil, sticky, 4 states", points, lambda: sanitize(x4, four, out=out)),
        Entry("chainveil, sticky, 8 states", points, lambda: sanitize(x8, eight, out=out)),
        Entry(
            "chainveil, 4 states, 1 in 5", points, lambda: sanitize(x4, four.thinned(5), out=out)
        ),
        Entry("plain NumPy (not secure)", few, numpy_plain),
        *(stream_entry(name, noise, x) for name, noise in STREAMED.items()),
    ]


def stream_entry(name: str, noise: Noise, x: NDArray[np.uint8]) -> Entry:
    """A stream that is given 1,000 points at a time."""
    points = min(len(x), 1000 * CALL)

    def run() -> None:
        stream = Stream(noise)
        for begin in range(0, points, CALL):
            stream.push(x[begin : begin + CALL])

    return Entry(f"stream by 1,000, {name}", points, run)


def measure(entries: list[Entry], repeats: int) -> dict[str, list[float]]:
    """Nanoseconds a point, ``repeats`` times each, in turns.

    Each is run once untimed right before: memory that rested during the others' turns may
    have been taken away, and costs many times as much when it is touched again.
    """
    times: dict[str, list[float]] = {entry.name: [] for entry in entries}
    for _ in range(repeats):
        for entry in entries:
            entry.run()
            begin = time.perf_counter()
            entry.run()
            times[entry.name].append((time.perf_counter() - begin) / entry.points * 1e9)
    return times


def table(times: dict[str, list[float]]) -> None:
    medians = {name: statistics.median(values) for name, values in times.items()}
    base, ours = medians["AES-256-CTR keystream"], medians["chainveil, uint8"]
    print(f"{'':32}{'median':>10}{'least':>10}{'most':>10}{'/keystream':>12}{'/uint8':>10}")
    for name, values in times.items():
        median = medians[name]
        numbers = f"{median:10.3f}{min(values):10.3f}{max(values):10.3f}"
        print(f"{name:32}{numbers}{median / base:12.2f}{median / ours:10.2f}")
    print(f"nanoseconds a point; load {', '.join(f'{load:.1f}' for load in os.getloadavg())}")


def peak(points: int) -> None:
    """Memory that a call allocates beyond input and output."""
    x = np.zeros(points, np.uint8)
    out = np.ones_like(x)
    sanitize(x[: 1 << 20], CHANNEL, out=out[: 1 << 20])
    tracemalloc.start()
    sanitize(x, CHANNEL, out=out)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"peak memory beyond input and output: {most / 2**20:.1f} MiB")


def linear(largest: int, repeats: int) -> None:
    """Time a point from 2^16 points up; constant where time is linear."""
    x = np.zeros(1 << largest, np.uint8)
    out = np.ones_like(x)
    print(f"{'points':>8}{'ns a point':>12}")
    for power in range(16, largest + 1, 2):
        n = 1 << power
        rounds = max(1, min(repeats * 4, (1 << 26) // n)) if power < 26 else 1
        best = []
        for _ in range(repeats):
            begin = time.perf_counter()
            for _ in range(rounds):
                sanitize(x[:n], CHANNEL, out=out[:n])
            best.append((time.perf_counter() - begin) / n / rounds * 1e9)
        print(f"{f'2^{power}':>8}{statistics.median(best):12.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=28, help="power of two (default 28)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--linear", type=int, default=0, help="up to which power of two, e.g. 30")
    parser.add_argument("--peers", action="store_true")
    arguments = parser.parse_args()
    peak(1 << arguments.points)
    entries = own_entries(1 << arguments.points)
    if arguments.peers:
        from benchmarks.sanitize_peers import peer_entries

        entries += [Entry(*entry) for entry in peer_entries()]
    table(measure(entries, arguments.repeats))
    if arguments.linear:
        linear(arguments.linear, arguments.repeats)


if __name__ == "__main__":
    main()
