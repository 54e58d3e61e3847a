"""An attack that attains a loss, written out: what all kinds of noise have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput
from chainveil.model.chain import MarkovChain

if TYPE_CHECKING:
    from flint import arb


# Points of an attack that are written out one by one.
LONGEST = 10_000_000


@dataclass(frozen=True)
class DescribedAttack:
    """An attack as somebody describes it, before it is known to make sense.

    ``symbols`` are the outputs at the target, at even and at odd distance from it; where it is
    empty, ``runs`` holds the output as pairs of a report and how often it is repeated.
    ``outputs`` is the number of different reports, ``states`` that of the states, ``event`` the
    number of points that are the secret. ``with_silence`` counts the reports where each release
    may also publish nothing. ``plain``: every point is reported, each on its own.
    """

    length: int
    target: int
    known: Mapping[int, int]
    value: int
    other: int
    symbols: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]
    outputs: int
    states: int
    event: int = 1
    with_silence: int = 0
    plain: bool = True

    @property
    def place(self) -> tuple[int, int, Mapping[int, int], int, int]:
        """What every witness begins with."""
        return self.length, self.target, self.known, self.value, self.other

    def output(self) -> NDArray[np.int64]:
        """The whole output, shape (length,), from its runs."""
        sound = 0 < self.length <= LONGEST and all(z < self.outputs for z, _ in self.runs)
        if not sound or sum(count for _, count in self.runs) != self.length:
            allowed = f"{self.length} reports, 0 … {self.outputs - 1}"
            raise InvalidInput("witness output", f"{len(self.runs)} runs", allowed)
        reports, counts = zip(*self.runs, strict=True)
        return np.repeat(np.array(reports, np.int64), counts)


@dataclass(frozen=True)
class Witness(ABC):
    """An attack written out, so that anyone can replay it.

    Attributes
    ----------
    length : int
        Number of points of the series.
    target : int
        Index of the point the adversary is after, counted from 0.
    known : mapping of int to int
        Index and value of the points it knows; points that change nothing may be missing.
    value, other : int
        The two values of the target: the output speaks for ``value`` against ``other``.
    """

    length: int
    target: int
    known: Mapping[int, int]
    value: int
    other: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", MappingProxyType(dict(sorted(self.known.items()))))

    def __reduce__(self) -> tuple[type[Any], tuple[object, ...]]:
        # A view of a mapping cannot be pickled, the mapping can.
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self), tuple((values | {"known": dict(self.known)}).values())

    @property
    def plain(self) -> Witness:
        """The attack without the name of a member of a family that it is on."""
        return self

    @abstractmethod
    def output_array(self) -> NDArray[Any]:
        """The whole output, shape (length,)."""

    @abstractmethod
    def replay(self, chain: Any, noise: Any, /) -> float:
        """Log likelihood ratio of the output, computed independently of the search."""

    def leaves_out(self, noise: Any, /) -> bool:
        """Whether a point is missing in it: nothing is published where a report is due."""
        return False

    def in_words(self, sees: str = "") -> str:
        """The attack as a sentence without its beginning; of the known points the nearest two."""
        near = sorted(self.known.items(), key=lambda item: abs(item[0] - self.target))[:2]
        known = " and ".join(f"point {j} = {v}" for j, v in sorted(near)) or "no other point"
        seen = f"sees {sees} and " if sees else ""
        return (
            f"an adversary after point {self.target} of {self.length}, knowing {known}, "
            f"{seen}weighs {self.value} against {self.other}"
        )


def log_odds_gained(seen: Sequence[arb], prior: Sequence[arb], chain: MarkovChain) -> arb:
    """``log (seen[0] prior[1] / seen[1] prior[0])`` in ball arithmetic.

    ``seen`` and ``prior`` hold the probabilities of the two values of a target with all that is
    known, with and without the output.
    """
    from flint import arb

    if not (prior[0] > 0 and prior[1] > 0):
        raise InvalidInput(
            "chain",
            chain,
            "a chain in which both compared values can occur with the known ones",
        )
    if seen[1] == 0:
        return arb.pos_inf() if seen[0] > 0 else arb(0)
    return (seen[0] * prior[1] / (seen[1] * prior[0])).log()
