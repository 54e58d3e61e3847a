"""How words on both sides and passes take turns, and when either is left alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.orders import search as searches
from chainveil.privacy.orders.loss import Closing, loss
from chainveil.privacy.orders.numbers import Alphabet, read_numbers
from chainveil.privacy.orders.search import Search
from chainveil.privacy.problem import Effort, read_problem
from tests.privacy.family.families import second_order
from tests.privacy.orders.test_both_sides import THREE, _heart
from tests.privacy.orders.test_loss import CHAIN, NOISE


def _search() -> Search:
    return Search(Alphabet(read_numbers(CHAIN, NOISE), "any"), None, Effort(1e-3))


def test_attacks_alone_are_looked_for_without_a_bound() -> None:
    closing = Closing(read_problem(CHAIN, NOISE, None, "any"))
    quick = closing.to(Effort(1e-3, attacks_only=True))
    assert closing.nodes == 0
    assert quick.epsilon == math.inf
    found = closing.to(Effort(1e-3))
    assert quick.lower <= found.lower <= found.epsilon < math.inf


def test_no_look_is_worth_its_work_where_passes_have_shown_more() -> None:
    search = _search()
    search.lower = 1.0
    assert search._next_look()[1] < math.inf
    search.upper = 1.0 + 0.9 * search._next_look()[0]
    assert search._next_look()[1] == math.inf
    assert search._is_pass_next(math.inf)


def test_a_pass_that_did_not_end_is_tried_again_with_more_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = _search()
    search.lower, search.upper = 1.0, 3.0
    monkeypatch.setattr(search, "_pass", lambda cost: False)
    before = search._room_for_pass
    search._next_pass()
    assert search._room_for_pass > before
    assert search._cost == searches.FIRST_COST
    assert not search._is_laid_out
    # Not where there is less left than it took.
    search.effort = Effort(1e-3, int(0.9 * before / searches.WORK_A_NODE))
    assert search._is_laid_out


def test_passes_that_show_nothing_new_are_expected_to_take_more() -> None:
    search = _search()
    search.lower, search.upper = 1.0, 3.0
    search._next_pass()
    assert search._passed > 0
    shown = search._pass_share * search._cost
    search.upper = search.lower + 1.1 * shown
    expected = search._expected_pass
    assert expected == search._least_pass
    search.upper = search.lower + 0.3 * shown
    assert search._expected_pass == expected * search._finer**2
    # Then looks come first as long as they take less.
    assert search._is_pass_next(expected * search._finer**2 + 2 * search._compared)
    assert not search._is_pass_next(expected)


def test_looks_begin_where_passes_have_come_to() -> None:
    search = _search()
    search.run()
    search.effort = Effort(1e-6)
    search._width, search._work = 0.5, 1e3
    search.upper = search.lower + 0.01
    width, work = search._next_look()
    assert width < 0.01
    assert work > 1e3


def test_a_look_that_would_take_more_than_any_number_is_not_taken() -> None:
    # Passes come down to a small tolerance, where looks have become steep: this overflowed.
    search = _search()
    search.run()
    search.effort = Effort(1e-10)
    search._width, search._work, search._power = 0.5, 1e3, 50.0
    search.upper = search.lower + 1e-9
    assert search._next_look()[1] == math.inf


def test_passes_that_take_little_close_a_chain_of_order_two() -> None:
    # Words on both sides took a thousand times the work of passes here, and were preferred.
    chain = second_order(np.random.default_rng(1))
    search = Search(
        Alphabet(read_numbers(chain, cv.Channel.binary(0.44, 0.44)), "any"), None, Effort(1e-3)
    )
    search.run()
    assert search.is_close
    assert search._worked < 1e6


@pytest.mark.slow
def test_noise_that_hides_much_is_bounded_on_order_three() -> None:
    # The knowledge alone tells more than the reports: words on both sides stay above 1.2.
    noise = cv.Channel.binary(0.484, 0.484)
    found = loss(read_problem(_heart(THREE, 3), noise, None, "any", Effort(0.02, 70_000)))
    assert 0.3 <= found.lower <= found.epsilon <= 1.05
