"""The realised probabilities are those of the grid, exactly: every threshold is enumerated."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import chainveil as cv
from chainveil.mechanism import sanitize, thresholds
from chainveil.mechanism.correlated import ChainFlips
from chainveil.mechanism.draws import Draws, Flips, Reports
from chainveil.mechanism.packed import PackedFlips, sanitize_packed
from chainveil.mechanism.pieces import one_series
from chainveil.mechanism.randomness import Keystream, Seeded, seeded
from chainveil.noise.correlated import CorrelatedNoise
from tests.mechanism.crafted import Crafted, Remembering
from tests.mechanism.exactly import realised

RATES = [0.0, 2.0**-53, 2.0**-45, 1 / 256, 0.1, 0.25, 1 / 3, 0.5, 0.75, 1 - 2.0**-53, 1.0]
CHANNELS = [
    cv.Channel.randomized_response(3, 0.3),
    cv.Channel.randomized_response(8, 0.7),
    cv.Channel([[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    cv.Channel([[0.0, 1.0, 0.0], [0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]]),
    cv.Channel([[0.5, 0.25, 0.25], [0.1, 0.9, 0.0]]),
    cv.Channel([[1.0], [1.0]]),
    cv.Channel.randomized_response(20, 0.37),
    cv.Channel.randomized_response(300, 0.9),
]


def apply(noise: Any, symbols: NDArray[Any], word: int, states: NDArray[Any]) -> NDArray[Any]:
    """The reports for given symbols, where every tie gets the same further word."""
    noise._draws.keystream = cast(Keystream, Crafted(symbols, [word] * len(symbols)))
    out = np.full_like(states, 99)
    noise.apply(one_series(0, 0, len(states)), states, out)
    return out


def threshold(noise: Any, symbol: int, state: int, shift: int, bits: int) -> int:
    """How many of the numbers ``0 … 2^bits - 1`` flip a tie, by bisection on the kernel itself."""
    symbols = np.full(64, symbol, np.uint8)
    states = np.full(64, state, np.uint8)
    low, high = 0, 1 << bits
    while low < high:
        middle = (low + high) // 2
        flipped = apply(noise, symbols, middle << shift, states)[0] != state
        low, high = (middle + 1, high) if flipped else (low, middle)
    return low


@pytest.mark.parametrize("rho0", RATES)
@pytest.mark.parametrize("rho1", [0.0, 0.3, 1.0])
def test_two_states_flip_with_exactly_their_probability(rho0: float, rho1: float) -> None:
    channel = cv.Channel.binary(rho0, rho1)
    noise = Flips(channel, Draws(Seeded(0)))
    expected = channel.on_grid().matrix
    for state, rate in ((0, expected[0, 1]), (1, expected[1, 0])):
        symbols = np.arange(256, dtype=np.uint8)
        states = np.full(256, state, np.uint8)
        never = apply(noise, symbols, (1 << 64) - 1, states)
        flips = never[1:] != state
        whole = int(flips.sum())
        assert np.array_equal(never[1:], apply(noise, symbols, 0, states)[1:])
        tied = threshold(noise, 0, state, shift=19, bits=45)
        assert Fraction(whole * 2**45 + tied, 2**53) == Fraction(float(rate))


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda c: f"{c.states}x{c.outputs}")
def test_tables_of_any_channel_hold_its_grid_exactly(channel: cv.Channel) -> None:
    grid = channel.on_grid().matrix
    rows = realised(thresholds.report_table(channel))
    assert rows == [[Fraction(float(entry)) for entry in row] for row in grid]


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda c: f"{c.states}x{c.outputs}")
def test_kernels_of_any_channel_follow_their_table(channel: cv.Channel) -> None:
    noise = Reports(channel, Draws(Seeded(0)))
    table = noise.table
    symbols: NDArray[Any] = np.arange(1 << table.bits).astype(noise.dtype)
    for state in {0, channel.states // 2, channel.states - 1}:
        states = np.full(len(symbols), state, noise.dtype)
        reports = apply(noise, symbols, 0, states)
        bounds = table.last[state].astype(np.int64)
        clear = symbols >= table.reserved
        expected = (symbols.astype(np.int64)[:, None] > bounds).sum(axis=1)
        assert np.array_equal(reports[clear], expected[clear])
        _check_ties(noise, state)


def _check_ties(noise: Reports, state: int) -> None:
    """At every bound of a tie, and one below it, the report changes as the table says."""
    table = noise.table
    bounds = table.tied[state].tolist()
    numbers = {0, (table.reserved << table.rest) - 1}
    numbers |= {n for bound in bounds for n in (bound - 1, bound) if n >= 0}
    for number in sorted(n for n in numbers if n < table.reserved << table.rest)[:60]:
        symbol, rest = number >> table.rest, number & ((1 << table.rest) - 1)
        symbols = np.full(64, symbol, noise.dtype)
        states = np.full(64, state, noise.dtype)
        report = apply(noise, symbols, rest << table.shift, states)[0]
        assert report == sum(number >= bound for bound in bounds)


@pytest.mark.parametrize("rho", RATES)
def test_packed_points_flip_with_exactly_their_probability(rho: float) -> None:
    channel = cv.Channel.binary(rho, 1 - rho)
    noise = PackedFlips(channel, Seeded(0))
    # The 256 symbols of 256 points, spread over eight planes.
    symbols = np.arange(256).reshape(32, 8)
    planes = np.zeros((8, 64), np.uint8)
    for bit in range(8):
        planes[bit, :32] = np.packbits(symbols >> bit & 1, axis=1, bitorder="little")[:, 0]
    for state, rate in ((0, channel.on_grid().matrix[0, 1]), (1, channel.on_grid().matrix[1, 0])):
        packed = np.full(64, 255 * state, np.uint8)
        out = np.empty_like(packed)
        counts = []
        for word in (0, (1 << 64) - 1):
            noise._draws.keystream = cast(Keystream, Crafted(planes, [word] * 4096))
            noise.apply(one_series(0, 0, 64), packed, out)
            flips = np.unpackbits(out[:32] ^ packed[:32], bitorder="little")
            counts.append(int(flips[1:].sum()))
        flip = Fraction(float(rate))
        assert counts[0] == counts[1] == min(flip * 256 // 1, 255)
        unit = flip * 2**53 - counts[0] * 2**45
        for number in (unit - 1, unit):
            if 0 <= number < 2**45:
                noise._draws.keystream = cast(
                    Keystream, Crafted(planes, [int(number) << 19] * 4096)
                )
                noise.apply(one_series(0, 0, 64), packed, out)
                assert (out[0] ^ packed[0]) & 1 == (number < unit)


def test_the_start_of_a_noise_chain_is_exactly_uniform_below_its_bound() -> None:
    draws = Draws(Seeded(3))
    drawn = draws.uniform(np.arange(70_000), 7)
    counts = np.bincount(drawn.astype(np.int64), minlength=7)
    assert len(counts) == 7
    # Chi-squared with 6 degrees of freedom: above 38.3 once in a million seeds.
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 38.3
    assert set(draws.uniform(np.arange(1000), 1)) == {0}
    assert int(draws.uniform(np.arange(1000), 2**54).max()) < 2**54


def test_the_start_of_a_noise_chain_rejects_what_is_too_large() -> None:
    noise = CorrelatedNoise(0.25, 0.5)
    work = ChainFlips(noise, Seeded(0))
    begin, stop = 2**51, 2**52
    bits = (begin + stop - 1).bit_length()
    for number, flips in ((0, 1), (begin - 1, 1), (begin, 0), (begin + stop - 1, 0)):
        fake = Crafted(np.zeros(0, np.uint8), [number << (64 - bits)])
        work._draws.keystream = cast(Keystream, fake)
        assert work.starts(np.zeros(1))[0] == flips


@pytest.mark.parametrize("kind", ["two", "many", "wide", "packed", "chain"])
def test_what_is_drawn_does_not_depend_on_the_data(kind: str) -> None:
    asked = []
    for data in (np.zeros(20_000, np.uint8), np.ones(20_000, np.uint8), np.arange(20_000) % 2):
        keystream = Remembering(bytes(32))
        _draw(kind, keystream, data.astype(np.uint8))
        asked.append(keystream.asked)
    assert asked[0] == asked[1] == asked[2]
    assert len(asked[0]) >= 2


def _draw(kind: str, keystream: Remembering, data: NDArray[np.uint8]) -> None:
    piece = one_series(0, 0, len(data))
    makers: dict[str, Callable[[], Any]] = {
        "two": lambda: Flips(cv.Channel.binary(0.3, 0.1), Draws(Seeded(0))),
        "many": lambda: Reports(cv.Channel.randomized_response(5, 0.3), Draws(Seeded(0))),
        "wide": lambda: Reports(cv.Channel.randomized_response(50, 0.3), Draws(Seeded(0))),
        "packed": lambda: PackedFlips(cv.Channel.binary(0.3, 0.1), Seeded(0)),
        "chain": lambda: ChainFlips(CorrelatedNoise(0.2, 0.3), Seeded(0)),
    }
    work = makers[kind]()
    work._draws.keystream = keystream
    states = data * np.uint8(255) if kind == "packed" else data
    states = states.astype(getattr(work, "dtype", np.uint8))
    work.apply(piece, states, np.empty_like(states))


def test_certain_and_impossible_flips() -> None:
    x = np.arange(70_000, dtype=np.uint8) % 2
    for rng in (None, seeded(1)):
        kept = cv.Channel.binary(0.0, 0.0)
        turned = cv.Channel.binary(1.0, 1.0)
        assert np.array_equal(sanitize(x, kept, rng=rng), x)
        assert np.array_equal(sanitize(x, turned, rng=rng), 1 - x)
        packed = np.packbits(x)
        assert np.array_equal(sanitize_packed(packed, kept, rng=rng), packed)
        assert np.array_equal(sanitize_packed(packed, turned, rng=rng), ~packed)
