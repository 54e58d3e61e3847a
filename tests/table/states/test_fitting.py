"""What is said about a fitted chain: intervals, and signs of a longer memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import chainveil as cv
from chainveil.table.read.frames import FrameSource
from chainveil.table.request.request import Layout, StateRules
from chainveil.table.states.fitting import fit_table


def _table(x: np.ndarray, series: int) -> FrameSource:
    numbers = np.repeat(np.arange(series), len(x) // series)
    return FrameSource(pa.table({"x": x, "id": numbers}))


def test_the_fit_is_that_of_the_library() -> None:
    x = cv.MarkovChain([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]).sample(500, 9, rng=4)
    found = fit_table(_table(x.reshape(-1), 9), Layout("x", "id"), StateRules(states=[0, 1, 2]))
    expected = cv.MarkovChain.fit(x, states=3)
    assert found.chain == expected
    assert (found.rows, found.series, found.splits) == (4500, 9, 0)
    for (a, b), estimate, (low, high) in found.entries:
        assert low < estimate < high
        assert estimate == expected.transition[a, b]


def test_a_longer_memory_is_noticed_and_its_absence_too() -> None:
    # Fixed seeds; the second has p = 0.17 or more, the first is beyond doubt.
    rng = np.random.default_rng(1)
    x = np.zeros(20_000, np.uint8)
    for t in range(2, len(x)):
        x[t] = rng.random() < (0.2, 0.5, 0.6, 0.8)[2 * x[t - 2] + x[t - 1]]
    remembers = fit_table(_table(x, 1), Layout("x"), StateRules(states=[0, 1]))
    assert remembers.memory is not None
    assert remembers.memory.p_value < 1e-9
    assert "do not quite follow" in remembers.memory_in_words
    plain = cv.MarkovChain.binary(0.1, 0.2).sample(20_000, rng=3)
    forgets = fit_table(_table(plain, 1), Layout("x"), StateRules(states=[0, 1]))
    assert forgets.memory is not None
    assert forgets.memory.p_value > 0.01
    assert "no sign" in forgets.memory_in_words


def test_series_that_differ_are_not_taken_for_a_longer_memory() -> None:
    chains = cv.MarkovChain.binary(0.02, 0.03), cv.MarkovChain.binary(0.4, 0.4)
    x = np.concatenate([chain.sample(5000, rng=1) for chain in chains])
    found = fit_table(_table(x, 2), Layout("x", "id"), StateRules(states=[0, 1]))
    assert found.memory_in_words.endswith("the series differ, or remember more than one point")


def test_triples_are_never_counted_across_series() -> None:
    # Within a series the third point repeats the first; across series it never does.
    x = np.array([0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1] * 3, np.uint8)
    found = fit_table(_table(x, len(x) // 3), Layout("x", "id"), StateRules(states=[0, 1]))
    assert found.memory is not None
    assert found.memory.points == len(x) // 3
    ones = fit_table(_table(np.array([0, 1, 1, 0, 0, 0], np.uint8), 3), Layout("x", "id"),
                     StateRules(states=[0, 1]))  # fmt: skip
    assert ones.memory is None
    assert "too few" in ones.memory_in_words
