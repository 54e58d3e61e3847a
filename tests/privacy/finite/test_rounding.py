"""Bounds with k states against exact fractions: rounding never lowers one nor lifts the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.privacy.adversary import AdversaryName
from chainveil.privacy.finite.numbers import read_numbers
from chainveil.privacy.finite.side import SideTables, build_side, sources_left, sources_right
from chainveil.privacy.finite.state import SearchBudget, finite_state_loss
from tests.oracle.enumeration import ratio_of_every_adversary, worst_loss
from tests.oracle.exact import (
    exact_attack,
    exact_channel,
    exact_rows,
    exact_start,
    log_is_between,
)
from tests.privacy.finite.random_chains import random_chain, random_channel

Case = tuple[cv.MarkovChain, cv.Channel]
ADVERSARY_NAMES: tuple[AdversaryName, ...] = ("any", "ignorant", "informed")


def random_case(rng: np.random.Generator) -> Case:
    k = int(rng.choice([3, 3, 4]))
    channel = random_channel(rng, k, int(rng.integers(2, 4)))
    return random_chain(rng, k), channel


def nasty_case(rng: np.random.Generator) -> Case:
    """Entries of very different size, rows nearly alike, chains that hardly move."""
    k = 3
    kind = rng.integers(4)
    rows, noise = rng.dirichlet(np.ones(k), size=k), rng.dirichlet(np.ones(3), size=k)
    if kind == 0:  # tiny entries
        rows, noise = rows ** rng.integers(1, 30, (k, k)), noise ** rng.integers(1, 30, (k, 3))
        rows, noise = np.maximum(rows, 1e-20), np.maximum(noise, 1e-20)
    elif kind == 1:  # rows that differ in the last digits only
        rows = rows[:1] * (1 + 1e-13 * rng.random((k, k)))
        noise = noise[:1] * (1 + 1e-14 * rng.random((k, 3)))
    elif kind == 2:  # hardly any change, hardly any noise
        rows = np.eye(k) + 10.0 ** -rng.integers(6, 16) * rows
        noise = np.eye(k) + 10.0 ** -rng.integers(6, 16) * noise
    else:  # one state that is almost never met
        rows[:, 0] *= 10.0 ** -rng.integers(10, 30)
    start = rng.dirichlet(np.ones(k)) ** 4 if rng.random() < 0.4 else None
    start = None if start is None else start / start.sum()
    rows, noise = (one / one.sum(axis=1, keepdims=True) for one in (rows, noise))
    return cv.MarkovChain(rows, start), cv.Channel(noise)


def _exact(case: Case) -> tuple[Any, Any, Any]:
    chain, channel = case
    return exact_start(chain), exact_rows(chain.transition.tolist()), exact_channel(channel)


@pytest.mark.parametrize("make", [random_case, nasty_case])
def test_bounds_enclose_the_definition_in_fractions(make: Any) -> None:
    rng = np.random.default_rng(29)
    for _ in range(30):
        chain, channel = case = make(rng)
        n = int(rng.integers(1, 4 if chain.states == 3 else 3))
        ratios = ratio_of_every_adversary(*_exact(case), n)
        for model in ADVERSARY_NAMES:
            truth = worst_loss(ratios, n, model)
            found = finite_state_loss(chain, channel, n, model, SearchBudget(1e-9))
            if truth == math.inf:
                assert found.upper == found.lower == math.inf
            else:
                assert log_is_between(truth, found.lower, found.upper)
                assert found.upper - found.lower <= 1e-9


@pytest.mark.parametrize("make", [random_case, nasty_case])
def test_the_witness_attains_what_is_said_in_fractions(make: Any) -> None:
    rng = np.random.default_rng(31)
    replayed = 0
    for _ in range(30):
        chain, channel = make(rng)
        for length in (None if make is random_case else 40, 6):
            loss = cv.privacy_loss(chain, channel, length, max_nodes=2_000)
            if loss.witness is None or math.isinf(loss.lower) or loss.witness.length > 60:
                continue
            attained = exact_attack(chain, channel, loss.witness)
            assert log_is_between(attained, loss.lower, loss.epsilon)
            assert log_is_between(attained, -math.inf, loss.lower + 1e-12 * (1 + loss.lower))
            replayed += 1
    assert replayed >= 20


def _sides(chain: cv.MarkovChain, channel: cv.Channel) -> list[tuple[bool, SideTables]]:
    numbers = read_numbers(chain, channel)
    return [
        (left, build_side(numbers, left, make(numbers, True), 12, None, 1e-6, 4))
        for left, make in ((True, sources_left), (False, sources_right))
    ]


@pytest.mark.parametrize("make", [random_case, nasty_case])
def test_zones_hold_every_message_in_fractions(make: Any) -> None:
    """Messages of random outputs, exactly, against the zones of their source and depth."""
    rng = np.random.default_rng(37)
    for _ in range(12):
        chain, channel = case = make(rng)
        start, transition, emission = _exact(case)
        for left, side in _sides(chain, channel):
            matrix = transition.T if left else transition
            for number, source in enumerate(side.sources):
                vector = start if left else np.ones(chain.states, int) + 0 * start
                if source.known is not None:
                    vector = transition[source.known] if left else transition[:, source.known]
                for depth in range(7):
                    if depth:
                        z = int(rng.integers(emission.shape[1]))
                        vector = matrix @ (emission[:, z] * vector)
                    if any(vector > 0):
                        _check_zones(side, number, depth, vector)


def _check_zones(side: SideTables, source: int, depth: int, message: Any) -> None:
    table = side.table
    tables = [table.union[source, depth]] if depth < table.union.shape[1] else []
    if depth < table.exact.shape[1]:
        tables.append(table.exact[source, depth])
    support = [bool(entry > 0) for entry in message]
    for first, last in tables:
        zones = [z for z in table.zones[first:last] if (np.diag(z) > 0).tolist() == support]
        assert len(zones) == 1
        for x, y in np.argwhere(np.outer(support, support)):
            assert _ratio_within(message[x], message[y], float(zones[0][x, y]))


def _ratio_within(above: Any, below: Any, bound: float) -> bool:
    if bound == math.inf:
        return True
    above, below = above / 1, below / 1
    p, q = bound.as_integer_ratio()
    return bool(above * q <= below * p)
