"""What goes to the terminal: results to standard output, the rest to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import floor
from typing import Any

import click

FAILED, USAGE, UNREACHABLE, WEAKER, INTERRUPTED = 1, 2, 3, 4, 130
# Losses that are known this closely need no remark.
CLOSED = 1e-5


def show(facts: Mapping[str, Any], lines: Sequence[tuple[str, str]], as_json: bool) -> None:
    """Print ``facts`` as JSON for machines, or ``lines`` of name and text for people."""
    if as_json:
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False, default=_plain))
        return
    width = max((len(name) for name, _ in lines), default=0)
    for name, text in lines:
        click.echo(f"{click.style(name.ljust(width), bold=True)}  {text}".rstrip())


def note(text: str) -> None:
    """A remark for who sits at a terminal."""
    if sys.stderr.isatty():
        click.echo(text, err=True)


def warn(text: str) -> None:
    """Something that bears on the promise: always said."""
    click.echo(click.style("warning: ", fg="yellow", bold=True) + text, err=True)


def complain(error: object) -> None:
    """An error in words; as JSON where the machine asked for JSON."""
    if "--json" in sys.argv:
        facts = {"error": type(error).__name__, "message": str(error)}
        click.echo(json.dumps(facts, ensure_ascii=False), err=True)
    else:
        click.echo(click.style("error: ", fg="red", bold=True) + str(error), err=True)


@contextmanager
def progress(total: int | None, quiet: bool) -> Iterator[Any]:
    """A function to tell the rows done; draws a bar on a terminal and nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,} rows"),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:

        def tell(what: str, rows: int) -> None:
            if what not in tasks:
                # Work that counts no rows has no end that could be foreseen.
                tasks[what] = bar.add_task(what, total=total if rows else None)
            bar.advance(tasks[what], rows)

        yield tell


@contextmanager
def working(text: str, quiet: bool) -> Iterator[None]:
    """Says on a terminal what is being computed, while it is."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def open_loss(loss: Any) -> str:
    """What a search that met its limit leaves open."""
    # Cut off, not rounded: the attack found loses at least this much.
    attained = floor(loss.lower * 1e6) / 1e6
    return f"the search met its limit: at most that, and at least {attained:.12g}"


def _plain(value: Any) -> Any:
    """NumPy values as JSON values."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
