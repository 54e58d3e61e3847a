"""Who attacks: what an adversary already knows, and which point it is after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from chainveil import checks
from chainveil.errors import InvalidInput

AdversaryName = Literal["any", "ignorant", "informed"]
ADVERSARY_NAMES: tuple[str, ...] = get_args(AdversaryName)

MEANING = {
    "any": "every adversary, whatever other points it knows (Bayesian differential privacy)",
    "ignorant": "only an adversary who knows no other point (the paper's Theorem 1)",
    "informed": "only an adversary who knows all other points (ordinary differential privacy)",
}


@dataclass(frozen=True)
class Adversary:
    """One adversary A(i, K) of the paper's definition of the privacy loss.

    Attributes
    ----------
    target : int
        Index i of the point it is after, counted from 0.
    known : frozenset of int
        Indices K of the points whose values it knows already, counted from 0.

    Examples
    --------
    >>> import chainveil as cv
    >>> chain, noise = cv.MarkovChain.symmetric(0.1), cv.Channel.binary(0.02, 0.02)
    >>> between = cv.Adversary(target=2, known={0, 4})
    >>> round(cv.privacy_loss(chain, noise, length=5, adversary=between).epsilon, 3)
    9.408
    """

    target: int
    known: frozenset[int]

    def __init__(self, target: int, known: Iterable[int] = ()) -> None:
        target = checks.whole("target", target, 0)
        if not isinstance(known, Iterable) or isinstance(known, (str, bytes)):
            raise InvalidInput("known", known, "a set of indices, counted from 0")
        indices = frozenset(checks.whole("known", index, 0) for index in known)
        if target in indices:
            raise InvalidInput(
                "known",
                sorted(indices),
                f"indices other than the target {target}",
                "An adversary who knows its target has nothing left to infer.",
            )
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "known", indices)

    @property
    def nearest(self) -> tuple[int | None, int | None]:
        """The nearest known point on the left and on the right; the others change nothing."""
        left = max((j for j in self.known if j < self.target), default=None)
        right = min((j for j in self.known if j > self.target), default=None)
        return left, right


def read_adversary(value: Any, length: int | None) -> AdversaryName | Adversary:
    """``value`` if it is the name of one or an :class:`Adversary` that fits the length."""
    if isinstance(value, Adversary):
        last = max(value.known | {value.target})
        if length is not None and last >= length:
            name = "target" if value.target >= length else "known"
            raise InvalidInput(
                name, last, f"indices 0 … {length - 1}", f"The series has {length} points."
            )
        return value
    for name in get_args(AdversaryName):
        if isinstance(value, str) and value == name:
            return name  # type: ignore[no-any-return]
    names = ", ".join(f'"{name}"' for name in ADVERSARY_NAMES)
    raise InvalidInput("adversary", value, f"{names} or Adversary(target=…, known={{…}})")


def describe(adversary: AdversaryName | Adversary) -> str:
    """The adversary in words."""
    if isinstance(adversary, str):
        return MEANING[adversary]
    known = ", ".join(str(index) for index in sorted(adversary.known)) or "nothing else"
    return f"only the adversary after point {adversary.target} who knows {known}"


def read_length(value: Any, name: str = "length") -> int | None:
    """``value`` as a length of at least one point; None means every length."""
    if value is None:
        return None
    allowed = "None (every length) or a whole number of at least 1"
    return checks.whole(name, value, 1, allowed)
