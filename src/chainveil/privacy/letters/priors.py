"""Where a side may end, and what the chain says there without any report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil.checks import FloatArray
from chainveil.privacy.letters.numbers import Numbers
from chainveil.privacy.letters.shares import Shares
from chainveil.privacy.letters.sides import IntArray
from chainveil.privacy.letters.worth import Worth

# An index that no series has.
NEVER = 1 << 40


@dataclass(frozen=True)
class Allowed:
    """Where a side may end.

    ``known``: whether a value may be known, ``known_at``: and only so far away;
    ``end``: whether the series may begin (end) there, ``end_at``: and only so far away;
    ``limit``: how many points there may be at most; ``values``: those that a known point may
    have, None: all of them.
    """

    known: bool = True
    end: bool = True
    known_at: int | None = None
    end_at: int | None = None
    limit: int | None = None
    values: tuple[int, ...] | None = None

    @property
    def furthest(self) -> int | None:
        """The greatest distance that matters, None: any."""
        return self.last_depth(0)

    def last_depth(self, extra: int) -> int | None:
        """The depth of the last node that matters; that of a known point is ``extra`` less."""
        ends = [None if self.known_at is None else self.known_at - extra] if self.known else []
        ends += [self.end_at] if self.end else []
        far = None if None in ends else max((end for end in ends if end is not None), default=0)
        limits = [end for end in (far, self.limit) if end is not None]
        return min(limits, default=None)


class Priors:
    """What holds on one side for all pairs of values: above all the powers of the chain.

    ``first``: the chain from the target to the first point of the side. ``worth``: what was shown
    of the side so far, where that is of use; ``shares`` of what follows, if no value is known.
    """

    def __init__(self, numbers: Numbers, is_left: bool, first: FloatArray | None = None) -> None:
        self.numbers, self.is_left = numbers, is_left
        step = numbers.transition.T if is_left else numbers.transition
        self._step = np.ascontiguousarray(step)
        if first is None:
            first = np.eye(numbers.states) if is_left else self._step
        self.first = first
        self._rows, self._starts = first[None].copy(), numbers.start[None].copy()
        self._power = self._step
        self.worth: Worth | None = None
        self.shares: Shares | None = None
        self._earliest: dict[tuple[int, int], IntArray] = {}
        # What sides have made of them and of the one spelling there is for each side, by pair,
        # residue and where they may end.
        self.tables: dict[Any, Any] = {}

    def upto(self, depths: int) -> tuple[FloatArray, FloatArray]:
        """For each of the first depths M to the power of its distance, and the law of the point.

        The point at depth j is as many steps behind the first one. Both are read only.
        """
        while len(self._rows) < depths:
            # As many again, by one power of the chain: no more rounding than step by step.
            self._rows = np.concatenate([self._rows, self._rows @ self._power])
            further = self._starts
            if not self.numbers.is_stationary:
                further = further @ (self._power.T if self.is_left else self._power)
            self._starts = np.concatenate([self._starts, further])
            self._power = self._power @ self._power
        return self._rows[:depths], self._starts[:depths]

    def earliest(self, period: int, first: int) -> IntArray:
        """The first index from ``first`` on, of each residue, at which each value is possible.

        Shape (period, k); so late that it does not matter where there is none.
        """
        if (period, first) in self._earliest:
            return self._earliest[period, first]
        k = self.numbers.states
        found = self._earliest[period, first] = np.full((period, k), NEVER)
        possible = self.numbers.start > 0
        for index in range(first + period * (2 * k * k + 2)):
            if index >= first:
                now = found[index % period]
                found[index % period] = np.where(possible & (now == NEVER), index, now)
                if np.all(found < NEVER):
                    break
            possible = possible @ (self.numbers.transition > 0)
        return found
