"""Bounds of all targets that make no report: both sides of each, in two ways.

Those by points that report (``silent``) come closer whenever the points themselves do. Those by
all that may lie behind such points (``between``) are worked out once, when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter

from chainveil.privacy.letters.between import Between
from chainveil.privacy.letters.cases import Case
from chainveil.privacy.letters.sides import Script, Spelling
from chainveil.privacy.letters.silent import Told
from chainveil.privacy.letters.worth import Worth


class SilentTargets:
    """What lowers the bounds of silent targets.

    ``worth`` of the sides of points that report, where that is learned; ``any_end``: whether any
    value may be known, and the series end anywhere.
    """

    def __init__(
        self,
        script: Script,
        spellings: tuple[Spelling, Spelling],
        worth: Iterable[Worth | None],
        any_end: bool,
    ) -> None:
        self._script, self._spellings = script, spellings
        self.told = [Told(one) for one in worth if one is not None]
        # What both sides had learned when they last told of silent points.
        self._told_of: list[int] = []
        # What is to be done for bounds by all that may lie behind: they are laid, then look ahead.
        self._turns: list[Callable[[Between], bool]] = []
        if any_end:
            self._turns = [attrgetter("is_offered"), Between.look_ahead]

    @cached_property
    def between(self) -> tuple[Between, Between]:
        """Both sides by all that may lie behind the nearest points that report."""
        left, right = (Between(one, self._script.numbers) for one in self._spellings)
        return left, right

    def lower(self, cases: Sequence[Case], low: float) -> bool:
        """Lower bounds by what was learned since the last time; whether some are lower."""
        changes = [one.changes for one in self.told]
        if changes == self._told_of:
            return False
        self._told_of = changes
        return self._lower_by(self.told, cases, low)

    def lower_between(self, cases: Sequence[Case], low: float) -> bool:
        """Lower bounds by all that may lie behind the nearest points that report, in two turns."""
        while self._turns:
            is_made = self._turns.pop(0)
            if not all(is_made(one) for one in self.between):
                self._turns = []
            elif self._lower_by(self.between, cases, low):
                return True
        return False

    def _lower_by(self, sides: Sequence[Told | Between], cases: Sequence[Case], low: float) -> bool:
        """Whether both sides together lower the bound of a silent target above what is attained."""
        first, every, lowered = self._script.first, self._script.every, False
        for case in cases:
            if case.reports or case.upper <= low:
                continue
            residue, label = case.place
            left, right = (
                one.bound(label, distance % every)[case.pair]
                for one, distance in zip(sides, (residue - first, first - residue), strict=True)
            )
            if left + right < case.upper:
                case.upper, lowered = float(left + right), True
        return lowered
