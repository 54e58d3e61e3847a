"""Where a target may stand and where its sides may end, by what an adversary knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chainveil.errors import NotSupported
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.letters.graph import MOST_DEPTHS
from chainveil.privacy.letters.priors import Allowed
from chainveil.privacy.letters.sides import Script


@dataclass(frozen=True)
class Places:
    """The places of one adversary in series of one length, or of any."""

    script: Script
    adversary: AdversaryName | Adversary
    length: int | None

    @cached_property
    def allowed(self) -> list[tuple[Allowed, Allowed]]:
        """Where both sides may end: the ways there are."""
        if isinstance(self.adversary, Adversary):
            return [self._named(self.adversary)]
        room = None if self.length is None else self.length - 1
        if self.adversary != "informed":
            one = Allowed(known=self.adversary == "any", limit=room)
            return [(one, one)]
        known, end = Allowed(end=False, known_at=1, limit=room), Allowed(known=False, end_at=0)
        if self.length == 1:
            return [(end, end)]
        ways = [(end, known), (known, end)] + [(known, known)] * (self.length != 2)
        return ways + [(end, end)] * (self.length is None)

    def _named(self, adversary: Adversary) -> tuple[Allowed, Allowed]:
        target = adversary.target
        before, behind = adversary.nearest
        spans = [target - (before or 0), 0 if behind is None else behind - target]
        if behind is None and self.length is not None:
            spans.append(self.length - 1 - target)
        if max(spans) > MOST_DEPTHS:
            raise NotSupported(
                "adversary: a named adversary on a chain of more than two states is offered up to "
                f"{MOST_DEPTHS} points on either side of its target."
            )
        left = Allowed(known=False, end_at=target, limit=target)
        if before is not None:
            values = self._possible_at(before)
            left = Allowed(end=False, known_at=target - before, limit=target, values=values)
        last = None if self.length is None else self.length - 1 - target
        right = Allowed(known=False, end_at=last)
        if behind is not None:
            right = Allowed(end=False, known_at=behind - target)
        return left, right

    def _possible_at(self, index: int) -> tuple[int, ...]:
        """The values that the point ``index`` may have."""
        possible, step = self.script.numbers.start > 0, self.script.numbers.transition > 0
        while index:
            if index & 1:
                possible = possible @ step
            step, index = step @ step, index >> 1
        return tuple(np.flatnonzero(possible).tolist())

    def fits(self, residue: int, early: bool, allowed: tuple[Allowed, Allowed]) -> bool:
        """Whether a target may stand there, with or without a report before it."""
        script = self.script
        if early and not (script.missing or residue < script.first):
            return False
        if isinstance(self.adversary, Adversary):
            target = self.adversary.target
            is_early = target < script.first and bool(script.sticky)
            return target % script.every == residue and (script.missing or early == is_early)
        if self.adversary != "informed":
            return True
        left, right = allowed
        if early and left.known != (residue > 0) and not script.missing:
            return False
        last = self.length is not None and right.end
        return not last or (self.length - 1) % script.every == residue  # type: ignore[operator]
