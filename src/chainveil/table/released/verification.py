"""``verify``: a certificate, and the release it speaks of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chainveil.certificate import Certificate, Released, Verification, allowing, check
from chainveil.errors import ChainveilError
from chainveil.table.released.facts import released_facts
from chainveil.table.states.prepare import Progress


def verify(
    certificate: Certificate | str | Path,
    release: Any = None,
    *,
    form: str | None = None,
    header: bool = True,
    delimiter: str | None = None,
    multiline: bool = False,
    progress: Progress | None = None,
    max_seconds: float | None = None,
) -> Verification:
    """Compute again whatever a certificate claims.

    The result says first what is promised, and to whom: ``verdict`` tells a promise that holds
    against anyone from a weaker one, and from one that does not hold.

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
    max_seconds : float, optional
        What each computation may take, 60 seconds unless told. A loss that takes longer is
        neither confirmed nor denied: the certificate does not hold then.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), epsilon=1)
    >>> result = cv.verify(plan.certificate())
    >>> result.holds, result.verdict
    (True, 'holds, with a weaker promise')
    >>> result.weaker
    ('no release was checked: this is a plan',)
    """
    document = _document(certificate)
    with allowing(max_seconds):
        if release is None or isinstance(release, Released):
            return check(document, release)
        text = {"delimiter": delimiter, "multiline": multiline}
        try:
            seen = released_facts(document, release, form, header, progress, **text)
        except ChainveilError as error:
            return check(document, None, str(error))
        return check(document, seen)


def _document(certificate: Certificate | str | Path) -> Certificate:
    return certificate if isinstance(certificate, Certificate) else Certificate.read(certificate)
