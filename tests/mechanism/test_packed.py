from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.mechanism import Report, release_packed, sanitize_packed, seeded

CHANNEL = cv.Channel.binary(0.3, 0.2)


def packed(shape: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 511, 512, 513, 4099])
@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_bits_behind_the_last_point_come_back_empty(count: int, bitorder: Any) -> None:
    bits = np.full(-(-count // 8), 255, np.uint8)
    z = sanitize_packed(bits, cv.Channel.binary(1.0, 0.0), count, bitorder=bitorder)
    points = np.unpackbits(z, bitorder=bitorder)
    assert points[:count].all()
    assert not points[count:].any()


@pytest.mark.parametrize("cuts", [[1], [63, 64, 65], [40_000], [8, 100, 5000, 33_000]])
def test_any_cut_gives_the_same_noise(cuts: list[int]) -> None:
    bits = packed(50_000)
    whole = sanitize_packed(bits, CHANNEL, rng=seeded(1))
    parts = np.split(bits, cuts)
    begins = [0, *cuts]
    joined = [
        sanitize_packed(part, CHANNEL, rng=seeded(1).at(point=8 * begin))
        for part, begin in zip(parts, begins, strict=True)
    ]
    assert np.array_equal(np.concatenate(joined), whole)


@pytest.mark.parametrize("width", [1, 13, 64, 100, 20_000])
def test_rows_are_series(width: int) -> None:
    bits = packed((9, width))
    z = sanitize_packed(bits, CHANNEL, count=8 * width - 3, rng=seeded(1))
    for j, row in enumerate(bits):
        alone = sanitize_packed(row, CHANNEL, 8 * width - 3, rng=seeded(1).at(series=j))
        assert np.array_equal(z[j], alone)


def test_in_place_into_and_strided() -> None:
    bits = packed((6, 3000))
    expected = sanitize_packed(bits, CHANNEL, rng=seeded(1))
    out = np.zeros_like(bits)
    assert sanitize_packed(bits, CHANNEL, out=out, rng=seeded(1)) is out
    assert np.array_equal(out, expected)
    strided = np.repeat(bits, 2, axis=1)[:, ::2]
    assert np.array_equal(sanitize_packed(strided, CHANNEL, rng=seeded(1)), expected)
    sanitize_packed(bits, CHANNEL, out=bits, rng=seeded(1))
    assert np.array_equal(bits, expected)


def test_the_report_counts_points() -> None:
    done = release_packed(packed((4, 5)), CHANNEL, count=37)
    assert done.report == Report("independent", "release", 4, 148, 0)


def test_bad_input() -> None:
    bits = packed(10)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"bits": bits.astype(np.int8)}, "bits: found .int8"),
        ({"bits": [1, 2]}, "bits: found an object of type list"),
        ({"bits": packed((2, 2, 2))}, "bits"),
        ({"bits": bits[:0]}, "no points"),
        ({"bits": np.ma.MaskedArray(bits)}, "masked"),
        ({"count": 72}, "count: found 72; allowed: 73 … 80"),
        ({"count": 81}, "count"),
        ({"count": 7.5}, "count"),
        ({"bitorder": "middle"}, "bitorder"),
        ({"channel": cv.Channel.randomized_response(3, 0.1)}, "channel"),
        ({"rng": seeded(1).at(point=3)}, "multiple of 8"),
        ({"out": np.empty(9, np.uint8)}, "out"),
    ]
    for arguments, message in wrong:
        with pytest.raises(cv.InvalidInput, match=message):
            sanitize_packed(**{"bits": bits, "channel": CHANNEL, **arguments})


def test_memory_beyond_input_and_output_is_bounded() -> None:
    bits = np.zeros(1 << 22, np.uint8)
    sanitize_packed(bits[:100], CHANNEL)
    for shaped in (bits, bits[: 1 << 18].reshape(-1, 1)):
        tracemalloc.start()
        sanitize_packed(shaped, CHANNEL, out=np.empty_like(shaped))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 64 << 20
