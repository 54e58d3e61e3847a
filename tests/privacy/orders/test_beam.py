"""Attacks on chains of a higher order: words on both sides of a target, replayed."""

from __future__ import annotations

import numpy as np
import pytest

import chainveil as cv
from chainveil.noise.memory import StickyNoise
from chainveil.privacy.bounds import attack_on
from chainveil.privacy.orders import around
from chainveil.privacy.orders.alphabet import SILENT, Alphabet
from chainveil.privacy.orders.beam import Beam
from chainveil.privacy.orders.numbers import read_numbers
from chainveil.privacy.orders.spelling import Word
from chainveil.privacy.orders.tables import make_tables
from tests.oracle.letters import letters_loss
from tests.privacy.orders.test_loss import CHAIN, NOISE

STICKY = StickyNoise.response(0.3, NOISE.on_grid(), cv.Channel.binary(0.35, 0.4).on_grid())
KINDS = {
    "channel": NOISE, "sticky": STICKY, "rare": NOISE.thinned(3), "rare sticky": STICKY.thinned(3),
    "every other": STICKY.thinned(2),
}  # fmt: skip


def _beam(noise: object, points: int | None, adversary: str = "any") -> Beam:
    alphabet = Alphabet(read_numbers(CHAIN, noise), adversary)  # type: ignore[arg-type]
    return Beam(alphabet, make_tables(alphabet), points, points is not None)


def _replayed(word: Word, noise: object) -> float:
    reports = tuple(None if report == SILENT else report for report in word.reports)
    attack = attack_on(word.target, word.pair, word.known, reports)
    return attack.replay(CHAIN, noise)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("points", [None, 6])
def test_what_a_beam_attains_is_attained(kind: str, points: int | None) -> None:
    noise = KINDS[kind]
    value, word = _beam(noise, points).attack()
    assert word is not None
    assert _replayed(word, noise) == pytest.approx(value, abs=1e-9)
    silent = [index for index, report in enumerate(word.reports) if report == SILENT]
    places = noise.places(len(word.reports)).tolist()
    assert sorted([*silent, *places]) == list(range(len(word.reports)))


@pytest.mark.parametrize("kind", KINDS)
def test_longer_series_show_more(kind: str) -> None:
    value, _ = _beam(KINDS[kind], None).attack()
    assert value > letters_loss(CHAIN, KINDS[kind], 4, "any") - 1e-9


@pytest.mark.parametrize("points", [1, 2, 4])
def test_words_of_short_series_stay_within_them(points: int) -> None:
    value, word = _beam(STICKY, points).attack()
    assert word is not None
    assert len(word.reports) <= points
    assert value <= letters_loss(CHAIN, STICKY, points, "any") + 1e-12


def test_a_word_letter_by_letter_is_worth_what_its_tables_say() -> None:
    beam = _beam(STICKY, None)
    roots, tables = beam.alphabet.roots, beam.tables
    words = around.begun(tables, roots[:1])
    letters = list[tuple[int, int, int]]()
    for size in range(4):
        words, _, _ = around.grown(tables, words.at(np.array([0])), size, False)
        words = words.at(np.array([size % len(words.table)]))
        _, side, label, letter = words.origin[0].tolist()
        letters.append((side, label, letter))
        words.origin[:] = 0
    value, _ = around.worth(tables, words)
    assert around.spelled_worth(tables, roots[0], letters) == pytest.approx(float(value[0]))
