"""What comes out of a verification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chainveil import notebook

Status = Literal["holds", "fails", "open"]

AS_PROMISED = "holds as promised to anyone"
WEAKER = "holds, with a weaker promise"
UNDECIDED = "not decided"
FAILS = "fails: not as claimed"


@dataclass(frozen=True)
class Check:
    """One line of a verification; ``field`` is a path of the certificate or a section of it."""

    field: str
    status: Status
    text: str


@dataclass(frozen=True, repr=False)
class Verification:
    """What a certificate promises, and all checks of it.

    Checks that are "open" could not be made: their text says why, and they are no reason to
    trust or to distrust.

    Attributes
    ----------
    checks : tuple of Check
    promise : tuple of (name, text)
        What is promised, in words: how much, against whom, for which series, and what is not
        protected. True only where the certificate holds.
    weaker : tuple of str
        Why the promise is weaker than one that holds for a release against anyone.
    undecided : tuple of str
        What would have had to be computed and was too large to compute here.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), epsilon=2.0)
    >>> result = plan.certificate().verify()
    >>> result.verdict, result.weaker
    ('holds, with a weaker promise', ('no release was checked: this is a plan',))
    """

    checks: tuple[Check, ...]
    promise: tuple[tuple[str, str], ...] = ()
    weaker: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether everything that could be checked is as claimed, the loss among it."""
        return not self.objections

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.status == "fails")

    @property
    def objections(self) -> tuple[str, ...]:
        """Why the certificate cannot be relied on: what failed, and what is undecided."""
        return (*(f"{check.field}: {check.text}" for check in self.failures), *self.undecided)

    @property
    def verdict(self) -> str:
        """One of "holds as promised to anyone", "holds, with a weaker promise", "not decided" and
        "fails: not as claimed".
        """
        if self.failures:
            return FAILS
        if self.undecided:
            return UNDECIDED
        return WEAKER if self.weaker else AS_PROMISED

    @property
    def summary(self) -> tuple[tuple[str, str], ...]:
        """The verdict with its reasons, and what is promised, or only claimed."""
        name = "FAILS" if self.failures else "UNDECIDED"
        reasons = [(name, reason) for reason in self.objections]
        if self.holds:
            reasons = [("WEAKER", reason) for reason in self.weaker]
        (first, text), *rest = self.promise or [("promise", "")]
        promise = (first if self.holds else "claimed", text)
        return (("verdict", self.verdict), *reasons, promise, *rest)

    def __str__(self) -> str:
        lines = [f"{name}: {text}" for name, text in self.summary]
        return "\n".join(
            [*lines, *(f"{check.status:5}  {check.field}: {check.text}" for check in self.checks)]
        )

    def __repr__(self) -> str:
        return f"Verification: {self.verdict} ({self._counted}; print() lists every check)"

    @property
    def _counted(self) -> str:
        """How many checks hold, fail, and could not be made."""
        held = [str(check.status) for check in self.checks]
        return ", ".join(f"{held.count(status)} {word}" for status, word in
                         (("holds", "hold"), ("fails", "fail"), ("open", "open")))  # fmt: skip

    def _repr_html_(self) -> str:
        (_, verdict), *rest = self.summary
        lines = [*(line for line in rest if line[0] != "not protected"), ("checks", self._counted)]
        note = "Open checks could not be made; print() lists every check."
        return notebook.card(f"verification: {verdict}", lines, note)
