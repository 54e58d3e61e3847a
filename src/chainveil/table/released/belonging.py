"""Whether a certificate speaks of a release, also of one filtered, joined or saved again."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from chainveil.certificate import Certificate, Verification
from chainveil.errors import InvalidInput, TooLarge
from chainveil.table.released.verification import verify
from chainveil.table.states.prepare import Progress

# What a join changes, or saving again: the states themselves are checked all the same.
RESAVED = {"release.kept", "release.file.format", "release.file.bytes", "release.file.sha256",
           "release.parts"}  # fmt: skip
# What another order of the rows changes as well.
REORDERED = RESAVED | {"release.states_sha256"}
# What a filter changes as well.
FILTERED = RESAVED | {"release.rows", "release.series", "release.gaps", "release.states_sha256"}

MORE_ROWS = (
    "There are more rows than were released: a join may have repeated some. chainveil verify shows "
    "every check."
)


@dataclass(frozen=True)
class Belonging:
    """A certificate that holds, and how what is there differs from what was released.

    Attributes
    ----------
    document : Certificate
    filtered : bool
        Rows are missing.
    reordered : bool
        All rows are there, with other states than the certificate's, or in another order.
    notes : tuple of str
        What cannot be checked.
    objection : str
        What the verification says against it.
    """

    document: Certificate
    filtered: bool = False
    reordered: bool = False
    notes: tuple[str, ...] = ()
    objection: str = ""

    @property
    def moved(self) -> bool:
        """Whether rows may stand in another order than they were released in."""
        return self.filtered or self.reordered

    def refuse(self, advice: str = "chainveil verify shows every check.") -> InvalidInput:
        """The error of a certificate that cannot be relied on for this release."""
        allowed = "a certificate that holds and belongs to the release"
        return InvalidInput("certificate", self.objection, allowed, advice)


def belonging(
    release: Any,
    certificate: Any,
    form: str | None,
    lines: dict[str, Any],
    progress: Progress | None,
) -> Belonging:
    """The certificate, if it holds and may speak of this release; and what cannot be checked."""
    document = read_certificate(certificate)
    result = verify(document, release, form=form, progress=progress, **lines)
    if result.undecided and not result.failures:
        raise TooLarge(f"certificate: {_name(certificate)}: {result.undecided[0]}")
    failed = {check.field for check in result.failures}
    if not result.undecided and failed <= RESAVED:
        return Belonging(document)
    objection = _objection(certificate, result)
    if not result.undecided and failed <= FILTERED and _fewer_rows(result):
        return Belonging(document, filtered=True, notes=(_what_is_missing(result),))
    if not result.undecided and failed <= REORDERED:
        return Belonging(document, reordered=True, objection=objection)
    rows = _rows(result)
    if rows is not None and rows[1] > rows[0]:
        raise Belonging(document, objection=objection).refuse(MORE_ROWS)
    raise Belonging(document, objection=objection).refuse()


def read_certificate(certificate: Any) -> Certificate:
    """The certificate of a release, from a file where it is one."""
    if isinstance(certificate, Certificate):
        document = certificate
    elif isinstance(certificate, str | PathLike):
        document = Certificate.read(Path(certificate))
    else:
        found = f"an object of type {type(certificate).__name__}"
        raise InvalidInput("certificate", found, "a Certificate, or the path of its file")
    if document["release"] is None:
        raise InvalidInput("certificate", "a plan", "the certificate of a release")
    return document


def _objection(certificate: Any, result: Verification) -> str:
    """What speaks most against it: not what a join or saving again changes, if there is more."""
    grave = [f"{check.field}: {check.text}" for check in result.failures
             if check.field not in RESAVED]  # fmt: skip
    name = "" if isinstance(certificate, Certificate) else f"{certificate}: "
    return name + (*grave, *result.objections)[0]


def _name(certificate: Any) -> str:
    return "it" if isinstance(certificate, Certificate) else str(certificate)


def _rows(result: Verification) -> tuple[int, int] | None:
    """Rows that are claimed, and rows that are there, where these differ."""
    for check in result.failures:
        if check.field == "release.rows":
            claimed, found = check.text.removeprefix("claimed ").split(", found ")
            return int(claimed), int(found)
    return None


def _fewer_rows(result: Verification) -> bool:
    rows = _rows(result)
    return rows is not None and 0 < rows[1] < rows[0]


def _what_is_missing(result: Verification) -> str:
    rows = _rows(result)
    assert rows is not None
    return (
        f"{rows[1]:,} of the {rows[0]:,} rows of the certificate are here. It cannot be checked "
        "that they are rows of that release, or that the others were left out without looking at "
        "the published values"
    )
