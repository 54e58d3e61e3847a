"""One side of a target as a graph: how it begins."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.memory import StickyNoise
from chainveil.privacy.letters import words
from chainveil.privacy.letters.graph import FIRST_DEPTHS, FIRST_NODES, Side
from chainveil.privacy.letters.numbers import read_numbers
from chainveil.privacy.letters.priors import Allowed, Priors
from chainveil.privacy.letters.sides import Script
from tests.machines import THREE

ORDINAL = cv.Channel.ordinal(3, 0.5)
KEPT = 0.4 * np.eye(3)[:, None, :] + 0.6 * ORDINAL.matrix
NOISES = {"independent": ORDINAL, "sticky": StickyNoise(KEPT, ORDINAL.matrix)}


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("count", [0, 1, 2 * FIRST_NODES, 2 * FIRST_DEPTHS])
def test_a_side_begins_with_the_words_on_the_way_to_one(
    name: str, is_left: bool, count: int
) -> None:
    script = Script(read_numbers(THREE, (NOISES[name],)), (NOISES[name],), False)
    spelling, priors = script.spelling(is_left), Priors(script.numbers, is_left)
    word = [t % 2 for t in range(count)]
    side = Side(spelling, priors, (0, 2), (0, 0), Allowed(), word=word)
    assert side.nodes == count + 1
    assert [side.word(node) for node in range(count + 1)] == [word[:t] for t in range(count + 1)]
    # No way leads to any of them yet, and none is closed.
    assert side.graph.reach[0] == 0.0
    assert np.all(side.graph.reach[1:] == -np.inf)
    assert np.all(side.graph.kids[: count + 1, 0] == -1)
    rows, label = np.array(side._rows(0)[0, :2]), 0
    for depth, letter in enumerate(word):
        found = spelling.letters[0, label][letter]
        rows, label = rows * found.weight @ spelling.matrix, found.following
        node = depth + 1
        assert side.graph.label[node] == label
        stored = side.graph.rows[node, : words.UNDER + 1]
        assert stored / stored.max() == pytest.approx(rows / rows.max(), rel=1e-12)
        known = np.log(rows[0] / rows[1]) + side.tables.prior[node, :3]
        assert side.graph.attained[node, :3] == pytest.approx(known, rel=1e-9, abs=1e-12)
        assert side.graph.bound[node] >= known.max()
