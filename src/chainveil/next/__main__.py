"""The data path as a program: ``python -m chainveil.next sanitize | verify``."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from chainveil.errors import ChainveilError, ChainveilWarning, UnreachableBudget
from chainveil.mechanism.randomness import seeded
from chainveil.model.chain import MarkovChain
from chainveil.next.table.read import open_table
from chainveil.next.table.release import Prepared
from chainveil.next.table.released import verify as check
from chainveil.next.table.states import Request
from chainveil.next.table.write import Goal, sanitize_to_file


def _listed(_: Any, __: Any, text: str | None) -> tuple[str, ...]:
    """Names with commas between them."""
    return () if text is None else tuple(part.strip() for part in text.split(","))


def _limits(_: Any, __: Any, text: str | None) -> Any:
    if text is None or text in ("mean", "median"):
        return text
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--threshold: {text!r} is no list of numbers.") from None


@click.group()
def program() -> None:
    """Publish a column of a table under Bayesian differential privacy."""


@program.command()
@click.argument("table")
@click.option("--column", required=True)
@click.option("--series")
@click.option("--time")
@click.option("--group")
@click.option("--step", type=float)
@click.option("--max-gap", type=float)
@click.option("--threshold", callback=_limits)
@click.option("--states", callback=_listed)
@click.option("--labels", callback=_listed)
@click.option("--missing", default="error")
@click.option("--epsilon", type=float)
@click.option("--mechanism")
@click.option("--every", type=int, default=1)
@click.option("--q", type=float)
@click.option("--r", type=float)
@click.option("--reference")
@click.option("--public", callback=_listed)
@click.option("--allow-leak", callback=_listed)
@click.option("--series-names", default="pseudonyms")
@click.option("-o", "--output", required=True)
@click.option("--certificate")
@click.option("--private-report")
@click.option("--format", "form")
@click.option("--header/--no-header", default=True)
@click.option("--delimiter")
@click.option("--multiline", is_flag=True)
@click.option("--force", is_flag=True)
@click.option("--seed", type=int)
def sanitize(**given: Any) -> None:
    """Publish a column of TABLE, with a certificate."""
    lines = {name: given.pop(name) for name in ("form", "header", "delimiter", "multiline")}
    table = open_table(given.pop("table"), **lines)
    reference = given.pop("reference")
    q, r, seed = given.pop("q"), given.pop("r"), given.pop("seed")
    paths = {name: given.pop(name) for name in ("certificate", "private_report")}
    files = {name: None if path is None else Path(path) for name, path in paths.items()}
    opened = None if reference is None else open_table(reference, **lines)
    goal = Goal(given.pop("output"), files["certificate"], files["private_report"],
                given.pop("force"), () if opened is None else opened.files)  # fmt: skip
    chain = None if q is None or r is None else MarkovChain.binary(q, r)
    states, labels = given.pop("states"), given.pop("labels")
    request = Request(**given, states=states or None, labels=labels or None, chain=chain,
                      reference=opened)  # fmt: skip
    told: list[Prepared] = []
    rng = None if seed is None else seeded(seed)
    release = sanitize_to_file(table, request, goal, rng, None, told.append)
    click.echo(repr(release), err=True)


@program.command()
@click.argument("certificate")
@click.argument("release", required=False)
@click.option("--max-seconds", type=float)
@click.option("--format", "form")
@click.option("--header/--no-header", default=True)
@click.option("--delimiter")
@click.option("--multiline", is_flag=True)
def verify(certificate: str, release: str | None, **given: Any) -> int:
    """Check CERTIFICATE again, and the RELEASE that it speaks of."""
    result = check(certificate, release, **given)
    with contextlib.suppress(BrokenPipeError):
        print(result, flush=True)
        return result.exit_code
    # Whoever reads has read enough: that is no failed verification.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return result.exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0, 1 or 4 of a verification, 2 for unusable input."""

    def show(message: Any, category: Any, *_: Any, **__: Any) -> None:
        word = "note" if issubclass(category, ChainveilWarning) else "warning"
        click.echo(f"{word}: {message}", err=True)

    warnings.showwarning = show
    try:
        return int(program(arguments, standalone_mode=False) or 0)
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return 2
    except UnreachableBudget as error:
        click.echo(f"error: {error}", err=True)
        return 3
    except ChainveilError as error:
        click.echo(f"error: {error}", err=True)
        return 2
    except BrokenPipeError:
        return 2
    except (KeyboardInterrupt, click.Abort):
        return 130


if __name__ == "__main__":
    sys.exit(main())
