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
    from chainveil.table.verification import verify as check

    with progress(None, given["as_json"]) as tell:
        reading = options.read_lines(given)
        result = check(certificate, release, form=given["form"], progress=tell, **reading)
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
