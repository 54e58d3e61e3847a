"""Where the noise comes from: AES-256-CTR keystreams, keyed by the operating system or a seed.

Every random byte has an address: a series, a plane (what the bytes are used for) and a
block of 16 bytes within them. A byte depends on the key and its address alone, so the
noise of series ``s``, points ``a … b`` is the same whoever asks for it and in how many
pieces. Nothing else in chainveil draws protective noise.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from chainveil import checks
from chainveil.errors import InvalidInput

BLOCK = 16
# Runs are filled up to a multiple of this, so that loops read 64 symbols of two bytes at once.
# The encryptor of single blocks, too, wants room behind what it writes.
SPARE = 128

# From here on a run is worth a second cipher context.
LONG_RUN = 1 << 12
# GCM counts in the last 32 bits, and its data begins with block 2 of 2^32.
GCM_FIRST = 2
GCM_LAST = 1 << 32

_DOMAIN = b"chainveil: noise for study, not for release; version 1"

Bytes = NDArray[np.uint8]

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def this_process() -> tuple[int, int]:
    """Tells a process from its parent: its number alone could come back after a few generations."""
    return os.getpid(), _forks


class Plane(IntEnum):
    """What the bytes of a series are used for; planes never overlap."""

    BYTES = 0
    BYTES_REFINED = 1
    WIDE = 2
    WIDE_REFINED = 3
    PACKED = 4
    PACKED_REFINED = 5
    CHAIN = 6
    CHAIN_REFINED = 7
    START = 8
    KERNEL = 9
    TURN = 10
    TURN_REFINED = 11


@dataclass(frozen=True)
class Secure:
    """Randomness fit for a release. Holds no key: each use draws a fresh one.

    It can therefore be forked, pickled, copied and shared between threads, and no two
    uses ever share a keystream.
    """

    @property
    def for_release(self) -> bool:
        """Whether a series sanitized with this source may be published."""
        return True

    @property
    def first_series(self) -> int:
        """Number of the first series of a call: always 0, since every call has its own key."""
        return 0

    @property
    def first_point(self) -> int:
        """Number of the first point of each series: always 0."""
        return 0

    def open(self) -> Keystream:
        """A keystream under a key that exists nowhere else."""
        return Keystream(os.urandom(32))


@dataclass(frozen=True)
class Seeded:
    """Reproducible randomness for study. Whoever knows the seed can take the noise away.

    The source is a value: using it twice gives the same noise twice. Take :meth:`child`
    for repetitions, and :meth:`at` for a part of a larger data set.
    """

    seed: int
    path: tuple[int, ...] = ()
    first_series: int = 0
    first_point: int = 0

    @property
    def for_release(self) -> bool:
        """Whether a series sanitized with this source may be published: never."""
        return False

    def child(self, number: int) -> Seeded:
        """Another source, unrelated to this one and to its other children."""
        number = checks.whole("number", number, 0)
        return replace(self, path=(*self.path, number), first_series=0, first_point=0)

    def at(self, *, series: int = 0, point: int = 0) -> Seeded:
        """The same noise, read from ``series`` and ``point`` on.

        ``sanitize(x[3:, 100:], channel, rng=source.at(series=3, point=100))`` equals
        ``sanitize(x, channel, rng=source)[3:, 100:]``.
        """
        series = self.first_series + checks.whole("series", series, 0)
        point = self.first_point + checks.whole("point", point, 0)
        return replace(self, first_series=series, first_point=point)

    def open(self) -> Keystream:
        """The keystream under this seed's key."""
        text = ",".join(str(number) for number in (self.seed, *self.path))
        return Keystream(hashlib.sha256(_DOMAIN + b"|" + text.encode()).digest())


Source = Secure | Seeded


def secure() -> Secure:
    """The source for a release, and the default everywhere: keys from the operating system."""
    return Secure()


def seeded(seed: int) -> Seeded:
    """A reproducible source for study; what it sanitizes is marked as not for release."""
    return Seeded(checks.whole("seed", seed, 0))


def series_number(name: str | bytes) -> int:
    """The number of a series that has a name: 63 bits of the SHA-256 of the name as text.

    It depends on the name alone, so that ``seeded(seed).at(series=series_number(name))`` is
    the noise of that series wherever its points are kept.
    """
    text = name.encode() if isinstance(name, str) else name
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1


def as_source(rng: Source | None) -> Source:
    """``rng`` itself, or the secure source for None."""
    if rng is None:
        return Secure()
    if isinstance(rng, Secure | Seeded):
        return rng
    raise InvalidInput(
        "rng",
        rng,
        "None (secure), or secure() or seeded(seed) of chainveil.mechanism",
        "Statistical generators can be predicted and are not used for noise; "
        "for a reproducible study pass chainveil.mechanism.seeded(7).",
    )


class Keystream:
    """Random bytes under one key, found by their address.

    Lives within one call or one stream, never leaves its process (``Draws`` sees to that
    after a fork), and is not safe for use by several threads at once. The arrays it hands
    out are overwritten by the next request of the same kind.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = algorithms.AES(key)
        # CTR with counters of our choice: each 16-byte block of input is a counter.
        self._single: Any = Cipher(self._cipher, modes.ECB()).encryptor()
        self._running: Any = None
        self._next: tuple[int, int, int] | None = None
        self._limit = 0
        self._zeros = np.zeros(0, np.uint8)
        self._run = np.zeros(0, np.uint8)
        self._blocks = np.zeros(0, np.uint8)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a keystream cannot be copied or pickled: its noise would repeat")

    def run(self, plane: Plane, series: int, first: int, count: int) -> Bytes:
        """Bytes ``first … first + count - 1`` of one plane of one series.

        The result is filled up with 255 to a multiple of ``SPARE`` bytes, and aligned to words.
        """
        begin, skip = divmod(first, BLOCK)
        size = -(-(skip + count) // BLOCK) * BLOCK
        self._reserve(size)
        self.veil(plane, series, begin, self._zeros[:size], self._run[:size])
        if skip:
            self._run[:count] = self._run[skip : skip + count]
        return fill_up(self._run, count)

    def veil(self, plane: Plane, series: int, block: int, values: Bytes, out: Bytes) -> None:
        """Write ``values`` XOR the bytes of one plane of one series from ``block`` on.

        ``values``, ``out`` : uint8 (n,). The cipher waits for no memory, so it is the
        cheapest place to read the one and to write the other for the first time.
        """
        whole, rest = divmod(len(values), BLOCK)
        head = 0
        if block == 0 and len(values) >= LONG_RUN:
            head = self._start_long(plane, series, values, out)
        elif self._next != (plane, series, block) or block + whole >= self._limit:
            self._running, self._limit = self._counting(plane, series, block), 1 << 56
        self._running.update_into(values[head:], out[head:])
        self._next = None if rest else (plane, series, block + whole)

    def _start_long(self, plane: Plane, series: int, values: Bytes, out: Bytes) -> int:
        """Begin a run at block 0 with the faster cipher; returns how many bytes are done.

        GCM encrypts by the same counters, and OpenSSL has a quicker path for it than for
        bare CTR. It leaves blocks 0 and 1 to others. Its tag is never asked for.
        """
        head = GCM_FIRST * BLOCK
        self._counting(plane, series, 0).update_into(values[:head], out[:head])
        top = counter(plane, series, 0)[:12]
        self._running = Cipher(self._cipher, modes.GCM(top)).encryptor()
        self._limit = GCM_LAST
        return head

    def _counting(self, plane: Plane, series: int, block: int) -> Any:
        return Cipher(self._cipher, modes.CTR(counter(plane, series, block))).encryptor()

    def blocks(self, counters: NDArray[np.uint64]) -> Bytes:
        """The blocks at the given counters (shape (n, 2), big-endian halves): shape (16 n,)."""
        size = counters.shape[0] * BLOCK
        if len(self._blocks) < size + SPARE:
            self._blocks = np.zeros(size + size // 4 + SPARE, np.uint8)
        if size:
            self._single.update_into(counters.reshape(-1).view(np.uint8), self._blocks)
        return self._blocks[:size]

    def word(self, plane: Plane, series: int, block: int) -> int:
        """The first 64 bits of one block, as the kernels read them."""
        return int.from_bytes(self._single.update(counter(plane, series, block))[:8], "little")

    def _reserve(self, size: int) -> None:
        if len(self._run) < size + SPARE:
            self._zeros = np.zeros(size, np.uint8)
            self._run = np.zeros(size + SPARE, np.uint8)


def fill_up(buffer: Bytes, count: int) -> Bytes:
    """``count`` bytes of a buffer, filled up with 255 to a multiple of ``SPARE``."""
    end = -(-count // SPARE) * SPARE
    buffer[count:end] = 255
    return buffer[:end]


def counter(plane: Plane, series: int, block: int) -> bytes:
    """The 16 bytes that are encrypted for one block: series, plane, block, big-endian."""
    return series.to_bytes(8, "big") + ((int(plane) << 56) | block).to_bytes(8, "big")
