"""``chainveil verify``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import FAILED, progress, show


@click.command()
@click.argument("certificate", type=options.FILE)
@click.argument("release", required=False)
@options.format_options
@options.as_json
def verify(certificate: str, release: str | None, **given: Any) -> int:
    """Check CERTIFICATE again, and the RELEASE that it speaks of.

    Chain, noise, loss and worst attack are computed from the certificate alone; digests,
    rows and labels from the release. Ends with 0 only if everything that can be checked
    holds.

    \b
    Example:
      chainveil verify release.certificate.json release.parquet
    """
    from chainveil.certificate import Certificate
    from chainveil.certificate import verify as check
    from chainveil.errors import InvalidInput

    try:
        document = Certificate.read(certificate)
    except FileNotFoundError:
        raise InvalidInput("certificate", certificate, "a file that exists") from None
    result = check(document, _facts(document, release, given))
    facts = {
        "holds": result.holds,
        "checks": [
            {"field": line.field, "status": line.status, "text": line.text}
            for line in result.checks
        ],
    }
    words = {"holds": "holds", "fails": "FAILS", "open": "cannot be checked"}
    lines = [(words[line.status], f"{line.field}: {line.text}") for line in result.checks]
    verdict = "everything that can be checked holds" if result.holds else "NOT as claimed"
    show(facts, [*lines, ("verdict", verdict)], given["as_json"])
    return 0 if result.holds else FAILED


def _facts(document: Any, release: str | None, given: dict[str, Any]) -> Any:
    """What the release shows; left to the library where it cannot be read."""
    if release is None or document["release"] is None:
        return release
    from chainveil.errors import ChainveilError
    from chainveil.table.facts import released_facts

    with progress(document["release.rows"], given["as_json"]) as tell:
        try:
            return released_facts(document, release, given["form"], not given["no_header"], tell)
        except ChainveilError:
            return release
