"""Bars of what is done: on terminals, in notebooks, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
from typing import Any

from chainveil.notebook import plain

# Told what is being done, and how much more of it is.
Tell = Callable[[str, int], None]

# Seconds before a notebook shows a bar of its own accord, and between two looks of it.
PATIENCE, BETWEEN = 0.5, 0.1


@contextmanager
def showing(
    total: int | None, wanted: bool | None = None, unit: str = "rows"
) -> Iterator[Tell | None]:
    """A function to tell what is done, which moves a bar; None where there is none.

    Parameters
    ----------
    total : int or None
        How much there is to do at each stage, where that is known. Otherwise the first stage
        that counts tells those after it.
    wanted : bool, optional
        True: on a terminal and in a notebook. By default in a notebook alone, where no program
        reads what is shown.
    unit : str
        What is counted.
    """
    if wanted is not False and in_notebook():
        with _in_cell(total, unit) as tell:
            yield tell
    elif wanted and sys.stderr.isatty():
        with _on_terminal(total, unit) as tell:
            yield tell
    else:
        yield None


def in_notebook() -> bool:
    """Whether cells of a notebook run this; IPython on a terminal has no kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class Stages:
    """How far each stage of some work has come; the last is the one that runs."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        self.done: dict[str, int] = {}

    def advance(self, what: str, count: int) -> bool:
        """More was done; whether that begins a stage."""
        begins = what not in self.done
        if begins and self.total is None and self.done:
            # The stage before counted everything there is, if it counts at all.
            self.total = next(reversed(self.done.values())) or None
        self.done[what] = self.done.get(what, 0) + count
        return begins

    def end(self, count: int) -> int | None:
        """How much a stage is that begins with ``count``: without a count no end is foreseen."""
        return self.total if count else None


@contextmanager
def _on_terminal(total: int | None, unit: str) -> Iterator[Tell]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        Progress,
        TaskID,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
        TextColumn("{task.completed:,} " + unit), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("left"),
    )  # fmt: skip
    stages, tasks = Stages(total), list[TaskID]()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:

        def tell(what: str, count: int) -> None:
            if stages.advance(what, count):
                for earlier in tasks:
                    bar.update(earlier, visible=False)
                tasks.append(bar.add_task(escape(visible(what)), total=stages.end(count)))
            bar.advance(tasks[list(stages.done).index(what)], count)

        yield tell


def visible(text: str) -> str:
    """Text whose characters all show: none steers a terminal or the direction of writing."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}"
                   for letter in text)  # fmt: skip


@contextmanager
def _in_cell(total: int | None, unit: str) -> Iterator[Tell]:
    display = import_module("IPython.display").display
    stages, begun, shown = Stages(total), monotonic(), 0.0
    started: dict[str, float] = {}
    handle: Any = None

    def tell(what: str, count: int) -> None:
        nonlocal handle, shown
        begins, now = stages.advance(what, count), monotonic()
        started.setdefault(what, now)
        # Work without a count may be long, and tells nothing more until it ends.
        due = now - begun >= PATIENCE if handle is None else now - shown >= BETWEEN
        if due or (begins and not count):
            look = cell(what, stages.done[what], stages.end(stages.done[what]), unit,
                        now - started[what])  # fmt: skip
            shown = now
            if handle is None:
                handle = display(look, raw=True, display_id=True)
            else:
                handle.update(look, raw=True)

    try:
        yield tell
    finally:
        if handle is not None:
            handle.update({"text/html": "", "text/plain": ""}, raw=True)


def cell(what: str, done: int, total: int | None, unit: str, seconds: float) -> dict[str, str]:
    """A bar as a notebook shows it, and in words where it shows none."""
    words = f"{visible(what)} …"
    known = total is not None and 0 < done <= total
    if done:
        words = f"{visible(what)}: {done:,} {unit}"
    if known and total is not None:
        left = seconds * (total - done) / done
        words = f"{visible(what)}: {done:,} of {total:,} {unit}, {done / total:.0%}"
        words += f", {left:.0f} s left" if done < total else ""
    ends = f' max="{total}" value="{done}"' if known else ""
    # The words say it too: for who hears the page, and in print.
    html = f'<div><progress{ends} aria-hidden="true"></progress> {plain(words)}</div>'
    return {"text/html": html, "text/plain": words}
