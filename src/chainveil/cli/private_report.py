"""What the holder of a table is told about its series, and nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chainveil.cli.output import warn


def check_place(given: dict[str, Any], output: str, certificate: Path | None) -> None:
    """Error where the report would lie beside what is published, or cannot be made."""
    report = given["private_report"]
    if report is None:
        return
    if given["series"] is None or not given["check"] or given["engine"] == "spark":
        raise click.UsageError("--private-report takes --series and --check, on this machine.")
    public = [] if output == "-" else [Path(output)]
    public += [] if certificate is None else [certificate]
    folder = Path(report).resolve().parent
    if any(path.resolve().parent == folder for path in public):
        raise click.UsageError(
            "--private-report: found a file in the folder of the release; allowed: another "
            "folder. It says how each series behaves, and must not be published with them."
        )
    if Path(report).exists() and not given["force"]:
        raise click.UsageError(f"--private-report: {report} exists; --force overwrites it.")


def check(source: Any, request: Any, prepared: Any, given: dict[str, Any], tell: Any) -> Any:
    """The check of every series, written where that was asked for; None where there is none.

    The release is there by now: what fails here is told and changes nothing.
    """
    from chainveil.errors import ChainveilError
    from chainveil.table.series_check import check_groups, check_table, to_csv
    from chainveil.table.write.atomic import drafts

    if given["series"] is None or not given["check"]:
        return None
    try:
        how, plans = (source, request.layout, prepared.discretizer), prepared.plans
        found: Any
        if plans.labels:
            named = dict(zip(plans.labels, plans.each, strict=True))
            found = check_groups(*how, named, tell)
        else:
            found = check_table(*how, plans.only, tell)
    except ChainveilError as error:
        warn(f"the series were not checked one by one: {error}")
        return None
    if given["private_report"] is not None:
        with drafts([given["private_report"]], given["force"]) as (draft,):
            draft.file.write(to_csv(found))
    return found


def lines(check: Any) -> list[tuple[str, str]]:
    """The check in two lines, of each group where there are several."""
    if check is None:
        return []
    if not isinstance(check, dict):
        return check.two_lines if check.read.any() else []
    return [(f"{label}: {name}", text) for label, one in check.items() for name, text in lines(one)]


def facts(check: Any) -> Any:
    """The check for machines."""
    if not isinstance(check, dict):
        return check.facts
    return [{"group": label, **one.facts} for label, one in check.items()]
