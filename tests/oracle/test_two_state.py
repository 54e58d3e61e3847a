"""Bounds on losses of two-state chains against the enumeration of the definition.

``python -m tests.oracle 20000`` looks at as many other cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from chainveil.privacy.bounds import Attack
from tests.oracle import two_state
from tests.oracle.two_state import Case, Checked, Release


def _failures(found: Iterator[Checked]) -> list[str]:
    return [str(one) for one in found if one.wrong]


def _cases(seed: int, count: int) -> Iterator[Checked]:
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        yield two_state.check(two_state.random_case(rng))


def _boxes(seed: int, count: int, chains: int) -> Iterator[Checked]:
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        yield two_state.check_box(two_state.random_box(rng), rng, chains)


def _lengths(seed: int, count: int) -> Iterator[Checked]:
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        yield two_state.check_lengths(two_state.random_lengths(rng))


@pytest.mark.parametrize("seed", range(10))
def test_random_cases(seed: int) -> None:
    assert _failures(_cases(100 + seed, 50)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_more_random_cases(seed: int) -> None:
    assert _failures(_cases(200 + seed, 200)) == []


@pytest.mark.parametrize("seed", range(2))
def test_boxes_of_chains(seed: int) -> None:
    assert _failures(_boxes(300 + seed, 10, 40)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_more_boxes_of_chains(seed: int) -> None:
    assert _failures(_boxes(400 + seed, 50, 200)) == []


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_of_every_length_is_not_below_that_of_a_given_one(seed: int) -> None:
    assert _failures(_lengths(500 + seed, 50)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_more_lengths(seed: int) -> None:
    assert _failures(_lengths(600 + seed, 200)) == []


# ----------------------------------------------------------------------- the enumeration itself
def _independent(first: list[list[float]], every: int = 1) -> Release:
    law = np.array(first)
    held = np.repeat(law[None], law.shape[1], axis=0)
    return Release("independent", law, np.repeat(held[:, None], 2, axis=1), held, every)


def _sticky(after: list[list[list[float]]], first: list[list[float]], every: int = 1) -> Release:
    held = np.array(after)
    return Release("sticky", np.array(first), np.repeat(held[:, None], 2, axis=1), held, every)


def test_the_enumeration_knows_losses_that_are_known() -> None:
    fair = _independent([[0.8, 0.2], [0.2, 0.8]])
    # Points that do not depend on each other: a report speaks for its own point alone.
    apart = Case(0.3, 0.7, None, (fair,), 1, "any", 5)
    assert two_state.enumerated(apart)[0] == pytest.approx(math.log(4), rel=1e-12)
    # A unit of two such points loses both.
    pair = Case(0.3, 0.7, None, (fair,), 2, "any", 5)
    assert two_state.enumerated(pair)[0] == pytest.approx(2 * math.log(4), rel=1e-12)
    # Points that follow from each other: all reports speak for each point, known points tell it.
    alternating = Case(1.0, 1.0, None, (fair,), 1, "any", 4)
    assert two_state.enumerated(alternating)[0] == pytest.approx(4 * math.log(4), rel=1e-12)
    assert two_state.enumerated(Case(1.0, 1.0, None, (fair,), 1, "informed", 4))[0] == 0.0
    # The report of the middle point of three says less about the first one than about itself.
    thinned = _independent([[0.8, 0.2], [0.2, 0.8]], 3)
    own, other = (
        two_state.enumerated(Case(0.1, 0.1, None, (thinned,), 1, (target, frozenset()), 3))[0]
        for target in (1, 0)
    )
    assert own == pytest.approx(math.log(4), rel=1e-12)
    assert other == pytest.approx(math.log((0.9 * 0.8 + 0.1 * 0.2) / (0.9 * 0.2 + 0.1 * 0.8)))


def test_laws_of_outputs_sum_to_one_for_each_set_of_missing_points() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        release = two_state.random_release(rng, 0.2, 3)
        outputs = release.outputs(4)
        law = release.law(two_state.all_series(4), outputs)
        missing = (outputs == two_state.NOTHING) @ (1 << np.arange(4))
        for one in np.unique(missing):
            np.testing.assert_allclose(law[:, missing == one].sum(axis=1), 1.0, rtol=1e-12)


def test_both_ways_to_weigh_an_attack_agree() -> None:
    weighed = 0
    for number in range(60):
        case = two_state.random_case(np.random.default_rng([7, number]))
        attack = two_state.solve(case).witness
        if attack is not None and two_state.weigh(case, attack) > 1e-6:
            own, long = two_state.weigh(case, attack), two_state.weigh_long(case, attack)
            assert long == (math.inf if own == math.inf else pytest.approx(own, rel=1e-9))
            weighed += 1
    assert weighed > 30


# ------------------------------------------------------------------------------------- corners
_PLAIN = _independent([[0.7, 0.3], [0.3, 0.7]])
_KERNEL = [[[0.9, 0.1], [0.7, 0.3]], [[0.3, 0.7], [0.1, 0.9]]]
_STICKY = _sticky(_KERNEL, [[0.7, 0.3], [0.3, 0.7]])
# Reports that take turns, whatever the states are.
_TURNS = _sticky([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[1, 0], [1, 0]])
# Only the first report speaks of a state.
_FIRST = _sticky([[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [[0.7, 0.3], [0.4, 0.6]])


def _thinned(release: Release, every: int) -> Release:
    return replace(release, every=every)


@pytest.mark.parametrize("adversary", ["any", "ignorant", "informed", (0, frozenset())])
@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_labels_that_take_turns_and_chains_that_do(
    length: int, adversary: str | tuple[int, frozenset[int]]
) -> None:
    chains = [(0.1, 0.2), (1.0, 1.0), (1.0, 0.5), (1e-6, 1e-3), (1 - 1e-9, 1.0)]
    found = (
        two_state.check(Case(q, r, initial, (release,), 1, adversary, length))
        for q, r in chains
        for initial in (None, (1.0, 0.0))
        for release in (_TURNS, replace(_TURNS, gaps=True), _FIRST)
    )
    assert _failures(found) == []


@pytest.mark.parametrize(("length", "unit"), [(1, 1), (2, 2), (5, 5), (6, 4)])
def test_units_as_long_as_the_series_or_longer_than_the_period(length: int, unit: int) -> None:
    releases = [_thinned(_PLAIN, 2), _STICKY, _thinned(_TURNS, 2)]
    found = (
        two_state.check(Case(q, r, initial, (release,), unit, adversary, length))
        for q, r in [(0.1, 0.2), (1.0, 1.0), (1.0, 0.3)]
        for initial in (None, (1.0, 0.0))
        for release in releases
        for adversary in ("any", "ignorant", "informed", (0, frozenset[int]()))
    )
    assert _failures(found) == []


@pytest.mark.parametrize("every", [4, 9, 40])
def test_series_that_are_shorter_than_a_block(every: int) -> None:
    found = (
        two_state.check(Case(0.1, 0.2, (0.3, 0.7), (release,), 1, adversary, length))
        for length in (1, 2, 3, 5, 7)
        for release in (_thinned(_PLAIN, every), _thinned(_STICKY, every))
        for adversary in ("any", "ignorant", "informed")
    )
    assert _failures(found) == []


def test_an_adversary_after_a_point_of_a_very_long_series() -> None:
    weak = _independent([[0.501, 0.499], [0.499, 0.501]])
    case = Case(1e-4, 1e-4, None, (weak,), 1, (4999, frozenset()), 10_000)
    all_ones = Attack(4999, (1,), (0,), {}, (((1,), 10_000),))
    found = two_state.solve(case)
    assert two_state.weigh_long(case, all_ones) < found.upper
    assert found.upper == pytest.approx(two_state.weigh_long(case, all_ones), rel=2e-3)
    assert found.witness is not None
    assert two_state.wrong_attacker(case, found.witness) == ""


@pytest.mark.parametrize(("length", "unit"), [(40, 40), (44, 40), (500, 490)])
@pytest.mark.parametrize("every", [1, 4])
def test_units_of_most_of_a_long_series(length: int, unit: int, every: int) -> None:
    for release in (_thinned(_PLAIN, every), _thinned(_STICKY, every)):
        case = Case(0.1, 0.2, None, (release,), unit, "any", length)
        found = two_state.solve(case)
        assert found.upper == pytest.approx(found.lower, rel=1e-6)
        assert two_state.attack_failures(case, found) == {}


def test_known_points_that_rule_a_value_out() -> None:
    known = [{0}, {1}, {0, 3}, {1, 3}, {3}]
    found = (
        two_state.check(Case(q, r, initial, (release,), 1, (2, frozenset(points)), 5))
        for q, r in [(1.0, 0.3), (0.3, 1.0), (1.0, 1.0)]
        for initial in (None, (1.0, 0.0))
        for release in (_PLAIN, _STICKY, _TURNS)
        for points in known
    )
    assert _failures(found) == []
