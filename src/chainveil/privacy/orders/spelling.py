"""A word as a series: what is reported and known from its first point to its last."""

from __future__ import annotations

from dataclasses import dataclass

from chainveil.privacy.orders import words
from chainveil.privacy.orders.graph import Graph
from chainveil.privacy.orders.numbers import Alphabet, Letter


@dataclass(frozen=True)
class Word:
    """Reports and known values from the first point to the last.

    Attributes
    ----------
    target : int
    pair : tuple of int
        The value that the word speaks for, and the other.
    reports : tuple of int
    known : dict of int to int
    """

    target: int
    pair: tuple[int, int]
    reports: tuple[int, ...]
    known: dict[int, int]

    @classmethod
    def of(cls, alphabet: Alphabet, graph: Graph, node: int) -> Word:
        """The word of a node, as its letters spell it."""
        whole = graph.whole
        end = int(whole[node, words.LABEL]), int(whole[node, words.ENDING])
        letters = []
        while whole[node, words.PARENT] >= 0:
            parent = int(whole[node, words.PARENT])
            label, letter = int(whole[parent, words.LABEL]), int(whole[node, words.LETTER])
            letters.append(alphabet.letters[label][letter])
            node = parent
        return cls.spelled(alphabet, int(whole[node, words.LABEL]), *_sides(letters[::-1]), end)

    @classmethod
    def spelled(
        cls, alphabet: Alphabet, first: int, right: list[Letter], left: list[Letter],
        end: tuple[int, int],
    ) -> Word:  # fmt: skip
        """Letters from the target outwards, that of the target the first one on the left.

        ``first``: the label it begins with; ``end``: that at its left end, and how it begins there.
        """
        pair, own, _ = alphabet.read(first)
        if alphabet.numbers.looks_back:
            return cls._looking_back(alphabet, pair, own, right, left, end)
        reports = [x.report for x in left[:0:-1]] + [x.report for x in (*left[:1], *right)]
        target = len(left) - 1
        known = {target - place: x.known for place, x in enumerate(left) if place}
        known |= {target + 1 + place: x.known for place, x in enumerate(right)}
        return cls(target, pair, tuple(reports), _only(known))

    @classmethod
    def _looking_back(
        cls, alphabet: Alphabet, pair: tuple[int, int], own: int, right: list[Letter],
        left: list[Letter], end: tuple[int, int],
    ) -> Word:  # fmt: skip
        """A letter to the left weighs the report before it and names the next one."""
        target = len(left)
        reports = [x.report for x in left[::-1]] + [own] + [x.report for x in right]
        known = {target - place: x.known for place, x in enumerate(left) if place}
        known |= {target + 1 + place: x.known for place, x in enumerate(right)}
        if left:
            known[0] = alphabet.ends(end[0])[end[1]][2]
        return cls(target, pair, tuple(reports), _only(known))


def _sides(letters: list[Letter]) -> tuple[list[Letter], list[Letter]]:
    """Letters to the right of the target, and from the target to the left."""
    turn = next((place for place, x in enumerate(letters) if x.turns), len(letters))
    return letters[:turn], letters[turn:]


def _only(known: dict[int, int]) -> dict[int, int]:
    return {place: value for place, value in known.items() if value >= 0}
