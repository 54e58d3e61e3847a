"""``chainveil report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chainveil.cli import options
from chainveil.cli.output import FAILED, UNREACHABLE, progress, show, warn, working

if TYPE_CHECKING:
    from chainveil.certificate import Certificate, Verification
    from chainveil.table import Review, Summary

ENDING = ".certificate.json"


@click.command()
@click.argument("certificate", type=options.FILE)
@click.argument("release", required=False)
@click.option("-o", "--output", type=options.FILE, help="The page.  [default: beside CERTIFICATE, "
              "ending in .report.html; --private has none]")  # fmt: skip
@click.option("--private", is_flag=True, help="A page for the curator, which also shows the "
              "original, what each series loses, misfit, attacks and leaks. Never in the folder of "
              "the release.")  # fmt: skip
@click.option("--original", help="For --private: the private table that was released.")
@click.option("--level", type=float, default=0.95, show_default=True, help="How sure the intervals "
              "are.")  # fmt: skip
@click.option("--time", help="Column of RELEASE with dates and times, for gaps and for the order "
              "of rows.")  # fmt: skip
@click.option("--step", type=float, help="Regular step of the time column, as when the table was "
              "sanitized.")  # fmt: skip
@click.option("--max-gap", type=float, help="Longer steps than this are gaps, as when the table "
              "was sanitized.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.format_options
@options.max_seconds
@options.as_json
def report(certificate: str, release: str | None, **given: Any) -> int:
    """Write a page about a RELEASE and its CERTIFICATE, as one HTML file.

    For whoever receives the release: what was asked, what is promised and against whom, what is
    not protected, what was checked, the noise, how to estimate and, with RELEASE, estimates with
    intervals. It opens from disk, needs no network, and is made from these two files alone. With
    --private, --original TABLE and -o, a page for the curator alone, in a folder of its own.

    \b
    Ends with 0, with 1 where the certificate fails (which the page says), and with
    3 where that is not decided within --max-seconds.
    \b
    Example:
      chainveil report release.certificate.json release.parquet
    """
    goal = _goal(certificate, release, given)
    page, found = _page(certificate, release, given, goal)
    page.save(goal, given["force"])
    size = goal.stat().st_size
    facts = {"page": str(goal), "bytes": size, "private": given["private"],
             "verdict": found.verdict}  # fmt: skip
    lines = [
        ("page", f"{goal}: {size / 1e6:.1f} MB"),
        ("verdict", found.verdict),
        ("open", f"with any browser: {goal.resolve().as_uri()}"),
    ]
    show(facts, lines, given["as_json"])
    if given["private"]:
        warn(f"{goal} shows the original: do not publish it")
    return FAILED if found.failures else UNREACHABLE if found.undecided else 0


def _goal(certificate: str, release: str | None, given: dict[str, Any]) -> Path:
    """The file to write, or an error before anything is computed."""
    if given["private"] and (given["original"] is None or release is None):
        raise click.UsageError("--private needs RELEASE and --original.")
    if given["original"] is not None and not given["private"]:
        raise click.UsageError("--original is for --private: a public page never reads it.")
    if given["output"] is not None:
        goal = Path(given["output"])
    elif given["private"]:
        raise click.UsageError("--private needs -o, a file in another folder than the release.")
    else:
        name = Path(certificate).name
        goal = Path(certificate).with_name(f"{name.removesuffix(ENDING)}.report.html")
    _check(goal, [certificate, release, given["original"]], given)
    return goal


def _check(goal: Path, read: list[str | None], given: dict[str, Any]) -> None:
    from chainveil.errors import InvalidInput
    from chainveil.table.write.atomic import check_goal

    if goal.suffix.lower() not in (".html", ".htm"):
        raise InvalidInput("output", str(goal), "a file ending in .html")
    if goal.resolve() in [Path(path).resolve() for path in read if path]:
        raise InvalidInput("output", str(goal), "another file than those that are read")
    check_goal(goal, given["force"], "output")


def _page(
    certificate: str, release: str | None, given: dict[str, Any], goal: Path
) -> tuple[Any, Verification]:
    from chainveil.report.page import refuse_beside
    from chainveil.report.private import private_page, published
    from chainveil.report.public import public_page

    if not given["private"]:
        summary = _summary(certificate, release, given, given)
        return public_page(summary), summary.verification
    refuse_beside(goal, published(certificate, release))
    # A release names its columns, whether or not the table did.
    fitting = options.fitting(str(release), {**given, "no_header": False})
    summary = _summary(certificate, release, given, fitting)
    found = _review(summary.certificate, str(release), given, fitting)
    page = private_page(summary, found, published(certificate, release))
    return page, summary.verification


def _summary(
    certificate: str, release: str | None, given: dict[str, Any], reading: dict[str, Any]
) -> Summary:
    from chainveil.table import summarize

    asked = {name: given[name] for name in ("level", "time", "step", "max_gap")}
    with progress(None, given["as_json"]) as tell:
        return summarize(
            certificate, release, progress=tell, form=reading["form"], **asked,
            **options.read_lines(reading),
        )  # fmt: skip


def _review(
    document: Certificate, release: str, given: dict[str, Any], reading: dict[str, Any]
) -> Review:
    from chainveil.table import review

    original = options.read_beside(str(given["original"]), given)
    with working("comparing with the original, and attacking", given["as_json"]):
        return review(document, original, options.read_source(release, reading))
