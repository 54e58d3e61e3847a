"""Several releases of a slow chain: their factors are products, and are not taken in leaps."""

from __future__ import annotations

import chainveil as cv
from chainveil.privacy.memory.layout import layout
from chainveil.privacy.memory.sides import Side

CHANGES = (0.002, 0.003)
STICKY = cv.StickyNoise.binary([[0.001, 0.003], [0.997, 0.999]], [0.4, 0.6])


def side(count: int) -> Side:
    return Side(layout([STICKY] * count, False), (CHANGES,), (0.6, 0.4), True)


def test_only_one_release_is_taken_in_leaps() -> None:
    assert side(1).is_slow
    assert not side(2).is_slow


def test_two_releases_lose_what_an_attack_attains() -> None:
    loss = cv.privacy_loss(cv.MarkovChain.binary(*CHANGES), [STICKY, STICKY])
    assert loss.lower <= loss.epsilon <= loss.lower + 1e-9
