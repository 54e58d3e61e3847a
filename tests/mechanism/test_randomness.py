from __future__ import annotations

import copy
import hashlib
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import chainveil as cv
from chainveil.mechanism import Seeded, randomness, release, sanitize
from chainveil.mechanism.draws import Draws
from chainveil.mechanism.randomness import Keystream, Plane, counter, secure, seeded

CHANNEL = cv.Channel.binary(0.3, 0.2)


def test_the_keystream_is_aes_256_in_counter_mode() -> None:
    key = bytes(range(32))
    cipher = Cipher(algorithms.AES(key), modes.CTR(counter(Plane.CHAIN, 5, 9))).encryptor()
    expected = cipher.update(bytes(1000))
    drawn = Keystream(key).run(Plane.CHAIN, 5, 9 * 16, 1000)[:1000]
    assert drawn.tobytes() == expected


@pytest.mark.parametrize("limit", [1 << 32, 700])
@pytest.mark.parametrize("sizes", [[20_000], [4096, 16, 48, 15_840], [16, 19_984], [4095, 15_905]])
def test_long_runs_are_counter_mode_too(
    sizes: list[int], limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Runs that begin at block 0 take another path through the cipher, up to a limit.
    monkeypatch.setattr(randomness, "GCM_LAST", limit)
    key = bytes(range(32))
    expected = Cipher(algorithms.AES(key), modes.CTR(counter(Plane.BYTES, 7, 0))).encryptor()
    keystream, first, drawn = Keystream(key), 0, b""
    for size in sizes:
        drawn += keystream.run(Plane.BYTES, 7, first, size)[:size].tobytes()
        first += size
    assert drawn == expected.update(bytes(20_000))


@pytest.mark.parametrize("first", [0, 1, 15, 16, 17, 1000])
@pytest.mark.parametrize("count", [1, 15, 16, 64, 333])
def test_any_stretch_of_a_run_is_a_slice_of_it(first: int, count: int) -> None:
    whole = Keystream(bytes(32)).run(Plane.BYTES, 3, 0, 2000)[:2000].copy()
    keystream = Keystream(bytes(32))
    for _ in range(2):
        part = keystream.run(Plane.BYTES, 3, first, count)
        assert np.array_equal(part[:count], whole[first : first + count])
        assert np.all(part[count:] == 255)
        assert len(part) % 128 == 0


@pytest.mark.parametrize("first", [0, 5, 16, 100])
def test_runs_of_many_series_are_the_runs_of_each(first: int) -> None:
    draws = Draws(Seeded(1))
    lengths = np.array([7, 0, 16, 1, 200, 33])
    joined = draws.many(Plane.BYTES, 4, first, lengths)[: lengths.sum()].copy()
    single = [
        seeded(1).open().run(Plane.BYTES, 4 + j, first, int(n))[: int(n)]
        for j, n in enumerate(lengths)
    ]
    assert np.array_equal(joined, np.concatenate(single))


def test_planes_series_and_blocks_never_meet() -> None:
    places = [(p, s, b) for p in Plane for s in (0, 1, 2**40) for b in (0, 1, 2**55)]
    assert len({counter(*place) for place in places}) == len(places)


def test_a_single_word_is_the_beginning_of_its_block() -> None:
    keystream = Keystream(bytes(32))
    word = keystream.word(Plane.START, 8, 3)
    run = keystream.run(Plane.START, 8, 3 * 16, 8)[:8]
    assert word == int(run.view("<u8")[0])


def test_seeded_noise_stays_the_same_between_versions() -> None:
    drawn = seeded(2024).open().run(Plane.BYTES, 0, 0, 4096)[:4096]
    assert hashlib.sha256(drawn.tobytes()).hexdigest() == (
        "4d2d4ebfa036eac9d19933e00c2b7ebf74a52acc5244beec88f3940e5b6ed51b"
    )


def test_children_and_seeds_are_unrelated() -> None:
    sources = [seeded(1), seeded(2), seeded(1).child(0), seeded(1).child(1), seeded(11)]
    sources += [seeded(1).child(0).child(1), seeded(1).child(1).child(0)]
    first = {source.open().run(Plane.BYTES, 0, 0, 16)[:16].tobytes() for source in sources}
    assert len(first) == len(sources)


def test_a_release_takes_one_fresh_key_from_the_operating_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    real = os.urandom

    def recording(size: int) -> bytes:
        sizes.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", recording)
    x = np.zeros(100, np.uint8)
    assert release(x, CHANNEL).report.source == "release"
    assert release(x, CHANNEL, rng=secure()).report.for_release
    assert sizes == [32, 32]
    assert release(x, CHANNEL, rng=seeded(1)).report.source == "study"
    assert sizes == [32, 32]


def test_the_key_of_the_operating_system_is_the_key_of_the_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: bytes(range(size)))
    x = np.zeros(5000, np.uint8)
    same = sanitize(x, CHANNEL)
    assert np.array_equal(same, sanitize(x, CHANNEL))
    monkeypatch.undo()
    assert not np.array_equal(sanitize(x, CHANNEL), sanitize(x, CHANNEL))


def test_sources_travel_but_keystreams_do_not() -> None:
    for source in (secure(), seeded(5).child(2).at(series=1, point=3)):
        assert pickle.loads(pickle.dumps(source)) == source
    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(seeded(1).open())
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.copy(seeded(1).open())
    assert b"key" not in pickle.dumps(secure())


def test_seeded_is_marked_and_secure_is_not() -> None:
    assert secure().for_release
    assert not seeded(3).for_release
    assert not seeded(3).child(1).at(series=4).for_release


@pytest.mark.parametrize("rng", [7, np.random.default_rng(0), "secure", np.random.RandomState(0)])
def test_statistical_generators_are_refused(rng: Any) -> None:
    with pytest.raises(cv.InvalidInput, match=r"rng: found .*seeded"):
        sanitize([0, 1], CHANNEL, rng=rng)


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
def test_seeds_are_whole_numbers(seed: Any) -> None:
    with pytest.raises(cv.InvalidInput, match="seed"):
        seeded(seed)


def test_importing_draws_in_no_compiler() -> None:
    code = (
        "import sys, chainveil, chainveil.mechanism as m;"
        "s = m.Stream(chainveil.Channel.binary(.5, .5)); s.push(0);"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
