"""``verify``: a certificate, and the release it speaks of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from chainveil.certificate import Certificate, Check, Released, Verification, check
from chainveil.errors import ChainveilError
from chainveil.table.facts import released_facts
from chainveil.table.prepare import Progress


def verify(
    certificate: Certificate | str | Path,
    release: Any = None,
    *,
    form: str | None = None,
    header: bool = True,
    delimiter: str | None = None,
    multiline: bool = False,
    progress: Progress | None = None,
) -> Verification:
    """Compute again whatever a certificate claims.

    Parameters
    ----------
    certificate : Certificate or path
        What was handed over.
    release : path or data frame, optional
        The published table. Without it nothing about the release is checked.
    form, header : optional
        Format of the release where its name does not tell; whether text has a header.
    delimiter, multiline : optional
        What stands between the cells of CSV, by default a comma; whether its quoted cells may
        hold line ends.
    progress : callable, optional
        Told what is being done and how many rows are.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), epsilon=1)
    >>> cv.verify(plan.certificate()).holds
    True
    """
    document = _document(certificate)
    if release is None or isinstance(release, Released):
        return check(document, release)
    try:
        text = {"delimiter": delimiter, "multiline": multiline}
        found = released_facts(document, release, form, header, progress, **text)
        return check(document, found)
    except ChainveilError as error:
        result = check(document)
        kept = [line for line in result.checks if line.field != "release"]
        return replace(result, checks=(*kept, Check("release", "fails", str(error))))


def _document(certificate: Certificate | str | Path) -> Certificate:
    return certificate if isinstance(certificate, Certificate) else Certificate.read(certificate)
