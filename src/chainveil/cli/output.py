"""What goes to the terminal: results to standard output, the rest to standard error.

Everything printed goes through :func:`printable` or :func:`to_json`: names of columns, labels and
files come from others, and no terminal may obey them.
"""

from __future__ import annotations

import io
import json
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import floor
from pathlib import Path
from typing import Any

import click

import chainveil
from chainveil.errors import ChainveilError, ChainveilWarning
from chainveil.progress import showing
from chainveil.text import STEERING, printable

FAILED, USAGE, UNREACHABLE, WEAKER, BUG, INTERRUPTED = 1, 2, 3, 4, 70, 130
# Set in the environment, it lets errors of the program itself show all they know.
TRACEBACK = "CHAINVEIL_TRACEBACK"
# Losses that are known this closely need no remark.
CLOSED = 1e-5
# The folder of the package's own files, as they stand in the frames of a traceback.
PACKAGE = Path(chainveil.__file__).parent


def to_json(facts: Any, indent: int | None = None) -> str:
    """JSON in which no character steers a terminal; its meaning is the same."""
    text = json.dumps(facts, indent=indent, ensure_ascii=False, default=_plain)
    return STEERING.sub(lambda found: _json_escape(found[0]), text)


def _json_escape(character: str) -> str:
    # Line ends are JSON's own layout: inside a string they are escaped already.
    return character if character == "\n" else f"\\u{ord(character):04x}"


def show(facts: Mapping[str, Any], lines: Sequence[tuple[str, str]], as_json: bool) -> None:
    """Print ``facts`` as JSON for machines, or ``lines`` of name and text for people."""
    if as_json:
        click.echo(to_json(facts, indent=2))
        return
    safe = [(printable(name), printable(text)) for name, text in lines]
    width = max((len(name) for name, _ in safe), default=0)
    for name, text in safe:
        click.echo(f"{click.style(name.ljust(width), bold=True)}  {text}".rstrip())


def note(text: str) -> None:
    """A remark for who sits at a terminal."""
    if sys.stderr.isatty():
        click.echo(printable(text), err=True)


def warn(text: str) -> None:
    """Something that bears on the promise: always said."""
    click.echo(click.style("warning: ", fg="yellow", bold=True) + printable(text), err=True)


@contextmanager
def warnings_in_words() -> Iterator[None]:
    """Warnings of the library, said as the program says its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", ChainveilWarning)
        show_others = warnings.showwarning

        def tell(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, ChainveilWarning):
                warn(str(message))
            else:
                show_others(message, category, *where, **more)

        warnings.showwarning = tell
        yield


def complain(error: object) -> None:
    """An error in words; as JSON where the machine asked for JSON."""
    if "--json" in sys.argv:
        facts = {"error": type(error).__name__, "message": str(error)}
        click.echo(to_json(facts), err=True)
    else:
        click.echo(click.style("error: ", fg="red", bold=True) + printable(error), err=True)


def complain_of_usage(error: click.ClickException) -> None:
    """A wrong use of the program, in Click's words."""
    told = io.StringIO()
    error.show(told)
    for line in told.getvalue().splitlines():
        click.echo(printable(line), err=True)


def complain_of_bug(error: BaseException) -> None:
    """An error of the program itself: where it arose, and not what it says of the data."""
    places = traceback.extract_tb(error.__traceback__)
    where = f"{Path(places[-1].filename).name}, line {places[-1].lineno}" if places else "nowhere"
    ours = [place for place in places if Path(place.filename).is_relative_to(PACKAGE)]
    if ours:
        where = f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}"
    complain(
        f"{type(error).__name__} in {where}: a mistake of chainveil, please report it. What the "
        f"error says is left out, as it may quote the data; with {TRACEBACK}=1 it is shown"
    )


@contextmanager
def progress(total: int | None, quiet: bool, unit: str = "rows") -> Iterator[Any]:
    """A function to tell the rows done; draws a bar on a terminal and nothing elsewhere."""
    with showing(total, not quiet, unit) as tell:
        yield tell


def claimed_rows(certificate: Any) -> int | None:
    """How many rows a certificate speaks of; what is wrong with it is said later."""
    from chainveil.certificate import Certificate

    if not Path(certificate).is_file():
        # A pipe is read once, and not for this.
        return None
    try:
        return Certificate.read(certificate)["release.rows"]  # type: ignore[no-any-return]
    except ChainveilError:
        return None


@contextmanager
def working(text: str, quiet: bool) -> Iterator[None]:
    """Says on a terminal what is being computed, while it is."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(printable(text))):
        yield


def open_loss(loss: Any) -> str:
    """What a search that met its limit leaves open."""
    # Cut off, not rounded: the attack found loses at least this much.
    attained = floor(loss.lower * 1e6) / 1e6
    return f"the search met its limit: at most that, and at least {attained:.12g}"


def _plain(value: Any) -> Any:
    """NumPy values as JSON values."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
