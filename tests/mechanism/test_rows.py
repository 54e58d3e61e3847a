"""Rows of many series, mixed and in batches: the noise of whole series as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv
from chainveil.mechanism import (
    RowNoise,
    Rows,
    sanitize,
    secure,
    seeded,
    series_number,
)
from chainveil.mechanism.correlated import MOST_UNSEEN
from chainveil.noise.correlated import CorrelatedNoise

NAMES = ["Ada", "Bo", "", "ünï"]
NUMBERS = np.array([series_number(name) for name in NAMES], np.uint64)
# Small tables tie often: a channel on the grid of a byte would never need refined bits.
TWO = cv.Channel.binary(0.3, 0.001)
FEW = cv.Channel.randomized_response(5, 0.4)
MANY = cv.Channel.randomized_response(11, 0.7)
CHAINED = CorrelatedNoise(0.1, 0.3)


class _Drawn(CorrelatedNoise):
    """A kind that nobody has made a sampler for."""

    kind = "drawn from its laws"


NOISES: list[Any] = [TWO, FEW, MANY, CHAINED]


def whole(noise: Any, states: Any, number: int, seed: int = 1) -> Any:
    """The series as an array."""
    source = seeded(seed).at(series=number)
    if isinstance(noise, CorrelatedNoise):
        return sanitize(states, noise, rng=source)
    return sanitize(states, noise, rng=source)


def outputs(noise: Any) -> int:
    return 2 if isinstance(noise, CorrelatedNoise) else int(noise.states)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(NOISES),
    st.lists(st.integers(0, 3), min_size=1, max_size=300),
    st.lists(st.integers(1, 60), min_size=1, max_size=20),
    st.integers(0, 99),
)
def test_any_order_and_any_batches_give_the_noise_of_whole_series(
    noise: Any, owner: list[int], sizes: list[int], seed: int
) -> None:
    owners = np.array(owner)
    states = np.random.default_rng(seed).integers(0, outputs(noise), len(owner)).astype(np.uint8)
    points = np.zeros(len(owner), np.int64)
    for j in range(4):
        points[owners == j] = np.arange(np.sum(owners == j))
    work, found, begin = RowNoise(noise, seeded(seed)), [], 0
    for size in [*sizes, len(owner)]:
        part = slice(begin, begin + size)
        found.append(work.apply(states[part], Rows(owners[part], points[part], NUMBERS)))
        begin += size
    reports = np.concatenate(found)
    assert reports.dtype == np.uint8
    for j in set(owner):
        alone = whole(noise, states[owners == j], int(NUMBERS[j]), seed)
        assert np.array_equal(reports[owners == j], alone)


@pytest.mark.parametrize("noise", NOISES)
def test_long_batches_with_many_ties(noise: Any) -> None:
    rows = 700_000
    generator = np.random.default_rng(3)
    owner = generator.integers(0, 4, rows)
    states = generator.integers(0, outputs(noise), rows).astype(np.uint8)
    points = np.zeros(rows, np.int64)
    for j in range(4):
        points[owner == j] = np.arange(np.sum(owner == j))
    reports = RowNoise(noise, seeded(9)).apply(states, Rows(owner, points, NUMBERS))
    for j in range(4):
        alone = whole(noise, states[owner == j], int(NUMBERS[j]), 9)
        assert np.array_equal(reports[owner == j], alone)


@pytest.mark.parametrize("gap", [1, 2, 1000, 600_000])
def test_correlated_noise_runs_on_beneath_unseen_points(gap: int) -> None:
    points = np.array([0, 1, 1 + gap, 2 + gap])
    full = whole(CHAINED, np.zeros(3 + gap, np.uint8), int(NUMBERS[0]))
    zeros, owner = np.zeros(4, np.uint8), np.zeros(4, np.int64)
    at_once = RowNoise(CHAINED, seeded(1)).apply(zeros, Rows(owner, points, NUMBERS))
    assert np.array_equal(at_once, full[points])
    work = RowNoise(CHAINED, seeded(1))
    singly = [work.apply(zeros[:1], Rows(owner[:1], points[i : i + 1], NUMBERS)) for i in range(4)]
    assert np.array_equal(np.concatenate(singly), full[points])


def test_only_secure_independent_noise_needs_to_know_nothing() -> None:
    assert not RowNoise(TWO, secure()).needs_rows
    assert RowNoise(TWO, seeded(1)).needs_rows
    assert RowNoise(CHAINED, secure()).needs_rows
    assert RowNoise(CHAINED, seeded(1)).needs_rows


def test_bad_rows() -> None:
    owner, numbers = np.zeros(2, np.int64), NUMBERS
    zeros = np.zeros(2, np.uint8)
    wrong: list[tuple[Any, Any, Any, str]] = [
        (CHAINED, zeros, Rows(owner, np.array([1, 0]), numbers), "order"),
        (CHAINED, zeros, Rows(owner, np.array([3, 3]), numbers), "order"),
        (CHAINED, zeros, Rows(owner, np.array([0, MOST_UNSEEN + 3]), numbers), "gap"),
        (CHAINED, zeros, None, "every state"),
        (CHAINED, zeros + 2, Rows(owner, np.arange(2), numbers), "above the last state"),
        (_Drawn(0.25, 0.25), zeros + 2, Rows(owner, np.arange(2), numbers), "above the last state"),
        (FEW, zeros + 5, Rows(owner, np.arange(2), numbers), "above the last state"),
        (TWO, zeros, Rows(owner[:1], np.arange(1), numbers), "every state"),
    ]
    for noise, states, rows, message in wrong:
        with pytest.raises(cv.InvalidInput, match=message):
            RowNoise(noise, seeded(1)).apply(states, rows)


def test_numbers_of_series_are_what_is_documented() -> None:
    # printf Ada | sha256sum
    assert series_number("Ada") == series_number(b"Ada") == 0x99A563AB2F6E21E9 >> 1
    assert all(series_number(str(i)) < 2**63 for i in range(100))
