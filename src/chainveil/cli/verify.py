"""``chainveil verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from chainveil.cli import options
from chainveil.cli.output import FAILED, UNREACHABLE, WEAKER, claimed_rows, progress, show

if TYPE_CHECKING:
    from chainveil.certificate import Verification


@click.command()
@click.argument("certificate", type=options.FILE)
@click.argument("release", required=False)
@options.format_options
@options.max_seconds
@options.as_json
def verify(certificate: str, release: str | None, **given: Any) -> int:
    """Check CERTIFICATE again, and the RELEASE that it speaks of.

    Says first what is promised. Chain, noise, loss and worst attack are computed from the
    certificate alone; digests, rows, lengths and labels from the release.

    \b
    Ends with
      0  holds as promised to anyone
      4  holds, with a weaker promise: against a weaker adversary, with seeded
         noise, or without a release that was checked
      3  not decided: the loss takes longer than --max-seconds
      1  fails
    \b
    Example:
      chainveil verify release.certificate.json release.parquet
    """
    from chainveil.table.released.verification import verify as check

    with progress(claimed_rows(certificate), given["as_json"]) as tell:
        reading = options.read_lines(given)
        result = check(certificate, release, form=given["form"], progress=tell, **reading)
    show(_facts(result), _lines(result), given["as_json"])
    return _code(result)


def _code(result: Verification) -> int:
    if result.failures:
        return FAILED
    if result.undecided:
        return UNREACHABLE
    return WEAKER if result.weaker else 0


def _facts(result: Verification) -> dict[str, Any]:
    return {
        "verdict": result.verdict,
        "holds": result.holds,
        "weaker": list(result.weaker),
        "undecided": list(result.undecided),
        "promise": [{"name": name, "text": text} for name, text in result.promise],
        "checks": [
            {"field": line.field, "status": line.status, "text": line.text}
            for line in result.checks
        ],
    }


def _lines(result: Verification) -> list[tuple[str, str]]:
    """What is promised first; the verdict at both ends, where nobody overlooks it."""
    words = {"holds": "holds", "fails": "FAILS", "open": "cannot be checked"}
    lines = [(words[line.status], f"{line.field}: {line.text}") for line in result.checks]
    reasons = "; ".join(result.undecided or result.weaker) if not result.failures else ""
    verdict = f"{result.verdict}: {reasons}" if reasons else result.verdict
    return [*result.summary, *lines, ("verdict", verdict)]
