"""The order of a chain, chosen by BIC over the same points."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.model.orders import ENOUGH_POINTS, largest_order

SECOND = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]], order=2)
THIRD = cv.HigherOrderChain(
    [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9], [0.5, 0.5],
     [0.3, 0.7]], order=3,
)  # fmt: skip
FIRST = cv.MarkovChain([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])


def _bic(series: list[list[int]], order: int, skip: int) -> tuple[float, int]:
    """From the definition: every point after the first ``skip`` of its series."""
    pairs: Counter[Any] = Counter()
    follows: dict[int, set[int]] = {}
    for x in series:
        for t in range(skip, len(x)):
            pairs[tuple(x[t - order : t]), x[t]] += 1
            follows.setdefault(x[t - 1], set()).add(x[t])
    contexts = Counter[Any]()
    for (context, _), count in pairs.items():
        contexts[context] += count
    likelihood = sum(n * math.log(n / contexts[c]) for (c, _), n in pairs.items())
    free = sum(len(follows[context[-1]]) - 1 for context in contexts)
    return free * math.log(sum(pairs.values())) - 2 * likelihood, free


@pytest.mark.parametrize(
    ("chain", "order"), [(SECOND, 2), (THIRD, 3), (FIRST, 1)], ids=["second", "third", "first"]
)
def test_the_order_comes_out_and_the_figures_are_those_of_the_definition(
    chain: Any, order: int
) -> None:
    """Fixed seeds; BIC finds the order of so much data but for rare cases."""
    x = chain.sample(2000, 3, rng=order)
    choice = cv.choose_order(x)
    assert choice.order == order
    assert list(choice.bic) == list(range(1, choice.largest + 1))
    for score in choice.scores:
        bic, free = _bic(x.tolist(), score.order, choice.largest)
        assert score.bic == pytest.approx(bic, rel=1e-12)
        assert score.parameters == free
    assert choice.points == 3 * (2000 - choice.largest)
    assert f"order {order} has the least BIC" in str(choice)


def test_a_fit_says_which_order_it_chose_and_why() -> None:
    x = SECOND.sample(4000, rng=5)
    chain = cv.MarkovChain.fit(x, order="auto", public=True)
    assert isinstance(chain, cv.HigherOrderChain)
    assert chain == cv.HigherOrderChain.fit(x, 2, public=True)
    assert chain.order_choice == cv.choose_order(x)
    flat = cv.MarkovChain.fit(FIRST.sample(4000, rng=1), order="auto")
    assert isinstance(flat, cv.MarkovChain)
    assert flat.order_choice is not None
    assert cv.MarkovChain.fit(x).order_choice is None


def test_the_largest_order_is_what_the_data_carry() -> None:
    assert largest_order(2, lambda _: 10**9) == 8
    assert largest_order(16, lambda _: 10**9) == 2
    assert largest_order(17, lambda _: 10**9) == 1
    for points in (100, 1000, 30_000):
        found = largest_order(3, lambda _, n=points: n)  # type: ignore[misc]
        assert found == 1 or ENOUGH_POINTS * 3 ** (found + 1) <= points
        assert 3 ** (found + 1) > 256 or ENOUGH_POINTS * 3 ** (found + 2) > points
    # Series of four points have few with three before them.
    assert cv.choose_order(SECOND.sample(4, 5000, rng=1)).largest == 2


def test_data_that_end_before_their_memory_does() -> None:
    choice = cv.choose_order(SECOND.sample(300, rng=2))
    assert choice.at_the_end
    assert "no longer memory was tried" in str(choice)
    with pytest.raises(cv.InvalidInput, match="sequences"):
        cv.choose_order(np.array([], int))
