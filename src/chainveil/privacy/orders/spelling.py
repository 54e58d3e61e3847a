"""A word as a series: what is reported and known from its first point to its last."""

from __future__ import annotations

from dataclasses import dataclass

from chainveil.privacy.orders.alphabet import Letter, Root


@dataclass(frozen=True)
class Word:
    """Reports and known values from the first point to the last.

    Attributes
    ----------
    target : int
    pair : tuple of int
        The value that the word speaks for, and the other.
    reports : tuple of int
        One a point, -1 where there is none.
    known : dict of int to int
    """

    target: int
    pair: tuple[int, int]
    reports: tuple[int, ...]
    known: dict[int, int]

    @classmethod
    def spelled(cls, root: Root, letters: list[tuple[int, Letter]]) -> Word:
        """A target and letters from it outwards, each with its side: 0 right, 1 left."""
        right, left = ([letter for side, letter in letters if side == one] for one in (0, 1))
        target = len(left)
        reports = [*(x.report for x in left[::-1]), root.report, *(x.report for x in right)]
        known = {target - 1 - place: x.known for place, x in enumerate(left)}
        known |= {target + 1 + place: x.known for place, x in enumerate(right)}
        there = {place: value for place, value in known.items() if value >= 0}
        return cls(target, root.pair, tuple(reports), there)
