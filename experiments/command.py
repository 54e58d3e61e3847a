"""The command ``python -m experiments``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from chainveil.cli import options, run_command
from chainveil.cli.output import note, show, warn
from experiments import report
from experiments.run import HOMES, check_place, run_experiment


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="NAME...", nargs=-1, required=True,
                type=click.Choice([*HOMES, "all"]))  # fmt: skip
@click.option("--quick/--full", default=True, show_default=True, help="A small version for a "
              "look, or the one that the documentation shows.")  # fmt: skip
@click.option("--device", default="cpu", show_default=True, type=click.Choice(["cpu", "cuda"]),
              help="Where the LSTM attackers of fig4 learn.")  # fmt: skip
@click.option("--out", default="reproduction", show_default=True,
              type=click.Path(file_okay=False), help="Folder for results and figures; the page "
              "OUT.md is written beside it.")  # fmt: skip
@options.as_json
def reproduce(names: tuple[str, ...], quick: bool, device: str, out: str, as_json: bool) -> None:
    """Run the paper's figures and claims again, beside the corrected ones.

    NAME is fig1, fig2, fig3, fig4, correlated, theorem2, memory, limit or all. Each leaves results
    (CSV), their circumstances (JSON) and a figure (SVG and PNG) in a folder of its own. What an
    interrupted run has finished is kept, and the same command goes on from there. --quick takes
    a minute or so, --full some minutes, but for the networks of fig4: a quarter of an hour on a
    CUDA device, and far longer on a CPU.

    \b
    Example:
      python -m experiments fig1 theorem2
    """
    folder, size = Path(out), "quick" if quick else "full"
    chosen = tuple(HOMES) if "all" in names else tuple(dict.fromkeys(names))
    report.page_path(folder)
    for name in chosen:
        check_place(name, size, folder, device)
    facts, lines = [], []
    for name in chosen:
        with _bar(name) as advance, _kept(folder):
            result = run_experiment(name, size, folder, device, advance, note)
        for text in result.record["missing"]:
            warn(f"{name}: {text}")
        taken = result.record["seconds"]
        facts.append({
            "name": name, "folder": str(folder / name), "rows": len(result.rows),
            "seconds": taken, "missing": result.record["missing"],
        })  # fmt: skip
        lines.append((name, f"{len(result.rows)} rows and a figure in {folder / name} ({taken} s)"))
    page = report.write(folder)
    lines.append(("page", str(page)))
    show({"experiments": facts, "page": str(page)}, lines, as_json)


def run(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(reproduce, "python -m experiments", arguments)


@contextmanager
def _kept(folder: Path) -> Iterator[None]:
    """An interrupt that says what is left of the run."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"what was finished is kept in {folder}, and the same command goes on from there"
        ) from None


@contextmanager
def _bar(name: str) -> Iterator[Any]:
    """A function to tell the parts done; draws a bar on a terminal and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn())  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)

        def advance(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{name} {what}")

        yield advance
