"""Chains: make, fit, sample, and what follows from the matrix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainveil as cv
from chainveil.model.fitting import count_transitions

THREE = cv.MarkovChain([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.3, 0.0, 0.7]])


def test_constructors_agree() -> None:
    assert cv.MarkovChain.symmetric(0.1) == cv.MarkovChain.binary(0.1, 0.1)
    assert cv.MarkovChain.binary(0.1, 0.2) == cv.MarkovChain([[0.9, 0.1], [0.2, 0.8]])
    assert hash(cv.MarkovChain.symmetric(0.1)) == hash(cv.MarkovChain.binary(0.1, 0.1))
    assert cv.MarkovChain.binary(0.1, 0.2) != cv.MarkovChain.binary(0.1, 0.2, [1, 0])
    assert eval(repr(cv.MarkovChain.binary(0.1, 0.2, [1, 0])), {"MarkovChain": cv.MarkovChain}) == (
        cv.MarkovChain.binary(0.1, 0.2, [1, 0])
    )


@pytest.mark.parametrize("size", [1e-12, 0.3, 1.0])
def test_stationary_law_of_two_states(size: float) -> None:
    chain = cv.MarkovChain.binary(size, size / 3)
    assert chain.stationary == pytest.approx([0.25, 0.75], rel=1e-14)


def test_stationary_law_of_many_states() -> None:
    rng = np.random.default_rng(0)
    for k in range(2, 9):
        chain = cv.MarkovChain(rng.dirichlet(np.ones(k), k))
        assert chain.stationary @ chain.transition == pytest.approx(chain.stationary, rel=1e-12)
        assert chain.stationary.sum() == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize(
    "chain",
    [cv.MarkovChain.binary(0.1, 0.3), cv.MarkovChain.binary(0.9, 0.7), THREE],
)
def test_powers(chain: cv.MarkovChain) -> None:
    product = np.eye(chain.states)
    for t in range(8):
        assert chain.power(t) == pytest.approx(product, rel=1e-12, abs=1e-15)
        product = product @ chain.transition
    assert chain.power(10**9)[0] == pytest.approx(chain.stationary, rel=1e-6)


def test_power_of_a_slow_chain_keeps_its_digits() -> None:
    chain = cv.MarkovChain.binary(1e-12, 1e-12)
    assert chain.power(3)[0, 1] == pytest.approx(3e-12, rel=1e-11)


def test_reverse() -> None:
    flow = THREE.stationary[:, None] * THREE.transition
    backwards = THREE.reverse()
    assert backwards.stationary[:, None] * backwards.transition == pytest.approx(flow.T, rel=1e-12)
    assert backwards.reverse().transition == pytest.approx(THREE.transition, rel=1e-12)


def _counts_by_hand(
    sequences: list[list[int]], k: int
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    counts = np.zeros((k, k), dtype=np.int64)
    for sequence in sequences:
        for a, b in itertools.pairwise(sequence):
            counts[a, b] += 1
    return counts


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=8))
def test_counting_never_crosses_a_border(sequences: list[list[int]]) -> None:
    if max(len(sequence) for sequence in sequences) < 2:
        with pytest.raises(cv.InvalidInput, match="two points|lists of one number"):
            count_transitions(sequences, 4)
        return
    assert np.array_equal(count_transitions(sequences, 4), _counts_by_hand(sequences, 4))


def test_fit_in_every_shape() -> None:
    rows = [[0, 1, 1, 0, 0], [1, 1, 0, 1, 0]]
    expected = _counts_by_hand(rows, 2)
    for data in (rows, np.array(rows), np.array(rows, dtype=bool), np.array(rows, dtype=float)):
        fitted = cv.MarkovChain.fit(data)
        assert fitted.counts is not None
        assert np.array_equal(fitted.counts, expected)
        assert fitted.transition == pytest.approx(expected / expected.sum(axis=1, keepdims=True))
    one = cv.MarkovChain.fit([0, 1, 1, 0, 0])
    assert one.counts is not None
    assert one.counts.tolist() == [[1, 1], [1, 1]]


def test_fit_recovers_a_chain() -> None:
    chain = cv.MarkovChain.binary(0.0893, 0.1092)
    fitted = cv.MarkovChain.fit(chain.sample(2000, 500, rng=7))
    # One million steps: four standard errors are below 0.002.
    assert fitted.transition == pytest.approx(chain.transition, abs=0.002)


@pytest.mark.parametrize("chain", [cv.MarkovChain.binary(0.2, 0.4, [1, 0]), THREE])
def test_samples_follow_the_chain(chain: cv.MarkovChain) -> None:
    series = chain.sample(50, 40_000, rng=11)
    assert series.shape == (40_000, 50)
    assert series.dtype == np.uint8
    start = np.bincount(series[:, 0], minlength=chain.states) / 40_000
    # Binomial standard error is at most 0.0025; five of them.
    assert start == pytest.approx(chain.start, abs=0.0125)
    counts = count_transitions(series, chain.states)
    rates = counts / counts.sum(axis=1, keepdims=True)
    assert rates == pytest.approx(chain.transition, abs=0.01)
    assert np.all(counts[chain.transition == 0] == 0)


def test_samples_are_reproducible_and_shaped() -> None:
    chain = cv.MarkovChain.symmetric(0.3)
    assert np.array_equal(chain.sample(9, 4, rng=1), chain.sample(9, 4, rng=1))
    assert chain.sample(9).shape == (9,)
    assert chain.sample(9, 1, rng=np.random.default_rng(0)).shape == (1, 9)


def test_arrays_are_frozen() -> None:
    chain = cv.MarkovChain.symmetric(0.3)
    for array in (chain.transition, chain.stationary):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


BAD = {
    "nan": ([[np.nan, 1], [0.5, 0.5]], "row 0"),
    "negative": ([[-0.1, 1.1], [0.5, 0.5]], "between 0 and 1"),
    "row sum": ([[0.5, 0.6], [0.5, 0.5]], "sum to 1.1"),
    "not square": ([[0.5, 0.5]], "square"),
    "one state": ([[1.0]], "at least two states"),
    "not 2-D": ([0.5, 0.5], "2-D"),
    "ragged": ([[0.5, 0.5], [1.0]], "2-D"),
    "reducible": ([[1.0, 0.0], [0.5, 0.5]], "never gets from state 0 to state 1"),
    "text": ([["a", "b"], ["c", "d"]], "2-D"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_matrices(name: str) -> None:
    matrix, message = BAD[name]
    with pytest.raises(cv.InvalidInput, match=message):
        cv.MarkovChain(matrix)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [np.nan, -0.1, 0.0, 1.1, np.inf, "0.1", None, True])
def test_bad_probabilities(value: object) -> None:
    with pytest.raises(cv.InvalidInput, match="q: found"):
        cv.MarkovChain.binary(value, 0.5)  # type: ignore[arg-type]
    with pytest.raises(cv.InvalidInput, match="theta: found"):
        cv.MarkovChain.symmetric(value)  # type: ignore[arg-type]


def test_bad_arguments() -> None:
    chain = cv.MarkovChain.symmetric(0.3)
    for initial in ([1.0], [0.5, 0.6], [np.nan, 1]):
        with pytest.raises(cv.InvalidInput, match="initial"):
            cv.MarkovChain.binary(0.1, 0.1, initial)
    for t in (-1, 1.5, "2"):
        with pytest.raises(cv.InvalidInput, match="t: found"):
            chain.power(t)  # type: ignore[arg-type]
    with pytest.raises(cv.InvalidInput, match="n: found"):
        chain.sample(0)
    with pytest.raises(cv.InvalidInput, match="rng: found"):
        chain.sample(3, rng="seed")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([0, 0, 0], "at least two states"),
        ([0, 1], "out of state 1"),
        ([], "two points"),
        ([0.5, 1.0], "discretize"),
        ([np.nan, 1.0], "discretize"),
        ([-1, 0], "point 0"),
        (["a", "b"], "dtype"),
        (np.zeros((2, 2, 2)), "shape"),
        ([[[0]]], "shape"),
    ],
)
def test_bad_data(data: object, message: str) -> None:
    with pytest.raises(cv.InvalidInput, match=message):
        cv.MarkovChain.fit(data)


def test_state_outside_the_alphabet() -> None:
    with pytest.raises(cv.InvalidInput, match="states 0 … 1.*point 2"):
        cv.MarkovChain.fit([0, 1, 2, 0], states=2)
