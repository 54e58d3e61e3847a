"""The one tree of errors a user can meet.

Every error that chainveil raises on purpose is a :class:`ChainveilError`, so one
``except`` clause is enough; the branches also inherit from the built-in error a
Python programmer would expect.
"""

from __future__ import annotations


class ChainveilError(Exception):
    """Root of every error that chainveil raises on purpose."""


class ChainveilWarning(UserWarning):
    """Something that a user should look at, though it was done as asked."""


class InvalidInput(ChainveilError, ValueError):
    """An argument that cannot be used.

    The message names the argument, the value found, what is allowed, and what to do. Of
    private data ``found`` says what kind of problem there is, never the value.
    """

    def __init__(self, argument: str, found: object, allowed: str, advice: str = "") -> None:
        self.argument = argument
        self.found = found
        self.allowed = allowed
        self.advice = advice
        message = f"{argument}: found {_short(found)}; allowed: {allowed}."
        super().__init__(f"{message} {advice}" if advice else message)

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[str, object, str, str]]:
        return type(self), (self.argument, self.found, self.allowed, self.advice)


class NotSupported(ChainveilError, NotImplementedError):
    """A valid question that this version cannot answer exactly, and therefore does not answer."""


class TooLarge(NotSupported):
    """A valid question whose answer would take more time or memory than was allowed."""


class UnreachableBudget(ChainveilError, ValueError):
    """A privacy budget that a method cannot meet with any amount of noise it can describe."""


class BrokenContract(ChainveilError, AssertionError):
    """A noise or a model that does not satisfy a clause of its contract."""

    def __init__(self, subject: str, clause: str, found: str) -> None:
        self.subject, self.clause, self.found = subject, clause, found
        super().__init__(f"{subject} breaks the clause {clause!r} of its contract: {found}")

    def __reduce__(self) -> tuple[type[BrokenContract], tuple[str, str, str]]:
        return type(self), (self.subject, self.clause, self.found)


class MissingExtra(ChainveilError, ImportError):
    """An optional package is needed; the message says which extra to install."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra, self.purpose = package, extra, purpose
        super().__init__(
            f"{purpose} needs {package}, which is not installed; "
            f"run: pip install 'chainveil[{extra}]'"
        )

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str, str]]:
        return type(self), (self.package, self.extra, self.purpose)


class EngineFailure(ChainveilError, RuntimeError):
    """The engine that ran the work stopped it, for a reason of its own."""

    def __init__(self, engine: str, reason: str) -> None:
        self.engine, self.reason = engine, reason
        super().__init__(f"{engine} stopped: {reason}")

    def __reduce__(self) -> tuple[type[EngineFailure], tuple[str, str]]:
        return type(self), (self.engine, self.reason)


def _short(value: object, limit: int = 120) -> str:
    """A value on one line, cut to a readable length; a description in words goes unquoted."""
    in_words = isinstance(value, str) and " " in value
    try:
        text = " ".join((str(value) if in_words else repr(value)).split())
    except (ValueError, RecursionError):
        # A number of thousands of digits, or lists in lists in lists.
        text = f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= limit else text[: limit - 1] + "…"
