"""``chainveil compare``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.old_options import Choice
from chainveil.cli.output import to_json, warn
from chainveil.privacy.rounding import exact, upper
from chainveil.text import printable

# What is said of the table here as it is said to sanitize; the rest is about the comparison.
OWN = ("table", "epsilon", "question", "mechanism", "output", "force", "as_json")
# Columns of the table that people read, beside the budget and the setting.
HEADS = (
    "wrong", "after\nsmoothing", "share ±", "by series ±", "transitions ±", "sojourns ±",
    "attacker", "own loss",
)  # fmt: skip
REMOVED = {
    "pattern": "--for pattern was removed: --for share looks for the least error of a share."
}


@click.command()
@click.argument("table")
@options.layout_options
@options.discretize_options
@click.option("--epsilon", default="1,2,4", show_default=True, metavar="A,B,…",
              help="The privacy budgets to compare, in nats.")  # fmt: skip
@click.option("--for", "question", type=Choice(["share", "episodes", "points"], REMOVED),
              default="share", show_default=True, help="What the release is for: how much of the "
              "time a state takes, how long it lasts, or which state a point is in.")  # fmt: skip
@options.chain_options
@click.option("--reference", help="Separate public table to fit the chain on.")
@options.order
@options.series_models
@options.promise_options
@options.unit
@options.search_options
@click.option("--mechanism", metavar="A,B,…", help="Compare these kinds of noise alone, and all "
              "settings of them, also those for which the search takes from seconds to minutes for "
              "each budget.")  # fmt: skip
@options.format_options
@click.option(
    "-o",
    "--output",
    type=options.FILE,
    help="Write the comparison to this file, as "
    "private as the table: .json, .csv, or .html for a page with the trade-off drawn.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.max_seconds
@options.as_json
def compare(table: str, epsilon: str, question: str, mechanism: str | None, **given: Any) -> None:
    """Compare every way to release a column of TABLE, before anything is released.

    Every mechanism, on every point and, where it is offered, on one in several, with every
    objective that the case allows: wrong reports, error after smoothing, 95% half-widths, what the
    best attacker gets, and what series lose on their own chains. Ends with what to take, and the
    command for it. With --series noise is for the model of each series, as that of sanitize, unless
    --pooled asks for one chain. The output is as private as the table.

    \b
    Example:
      chainveil compare heart.csv --column bpm --series person --threshold 60 \\
        --epsilon 1,2,4 --for episodes -o comparison.html
    """
    from chainveil.comparison.comparing import Wanted, compare_source
    from chainveil.comparison.results import PRIVATE

    _check_goal(given["output"], given["force"], table)
    budgets = [options.read_number("epsilon", part) for part in epsilon.split(",")]
    kinds = None if mechanism is None else [part.strip() for part in mechanism.split(",")]
    wanted = Wanted.read(budgets, question, kinds)
    source, request = options.read_source(table, given), _request(given)
    found = compare_source(source, request, wanted, {}, _words(table), not given["as_json"])
    if given["output"] is not None:
        found.save(given["output"], given["force"])
    warn(PRIVATE)
    if given["as_json"]:
        click.echo(to_json(found.facts, indent=2))
    else:
        _show(found)


def _check_goal(output: str | None, force: bool, table: str) -> None:
    """Say before the work what would say so after it."""
    from chainveil.comparison.results import check_ending
    from chainveil.errors import InvalidInput
    from chainveil.table.write.atomic import check_goal

    if output is None:
        return
    goal = check_ending(output)
    check_goal(goal, force)
    if table != "-" and goal.resolve() == Path(table).resolve():
        raise InvalidInput("output", output, "another file than the table")
    if goal.suffix.lower() == ".html":
        from chainveil.report import charts, page

        charts.altair()
        page.vega()


def _request(given: dict[str, Any]) -> Any:
    """What is asked for, but for the budget."""
    from chainveil.table.request.request import Promise, Request

    chain, file = options.read_chain(given)
    promise = {name: given[name] for name in ("max_length", "adversary", "shape", "unit")}
    reference = given["reference"]
    return Request(
        options.read_layout(given),
        options.read_rules(given, None if file is None else file.discretizer),
        Promise(epsilon=1.0, earlier=options.read_earlier(given["earlier"]), **promise),
        chain=chain,
        reference=None if reference is None else options.read_source(reference, given),
        order=given["order"],
        pooled=given["pooled"],
        parts=given["parts"],
    )


def _words(table: str) -> tuple[str, ...]:
    """The table and what was said of it, as it was said."""
    context = click.get_current_context()
    words = [table]
    for option in context.command.params:
        name = str(option.name)
        source = context.get_parameter_source(name)
        if name not in OWN and source is click.core.ParameterSource.COMMANDLINE:
            words += _said(option.opts[-1], context.params[name])
    return tuple(words)


def _said(option: str, value: Any) -> Iterator[str]:
    for one in value if isinstance(value, tuple) else (value,):
        yield option
        if one is not True:
            yield exact(one) if isinstance(one, float) else str(one)


def _show(found: Any) -> None:
    """The table, what is not in it, and what to take."""
    from rich.console import Console

    # Off a terminal lines are as long as they are: whoever reads them folds them.
    console = Console() if Console().is_terminal else Console(width=160)
    console.print(_table(found))
    about = found.about
    for line in (
        f"by series: one of {about.of_a_series:,} points; sojourns: as shares of a spell; "
        "attacker: knows chain and noise; own loss: at most, on each series' own chain, worst and "
        "median",
        f"chain: {about.chain}", f"noise: for {about.noise_for}", f"simulated: {about.simulated}",
    ):  # fmt: skip
        click.echo(printable(line))
    for reason, settings in _reasons(found.refused).items():
        click.echo(printable(f"not compared: {settings}: {reason}"))
    _recommend(found)


def _table(found: Any) -> Any:
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD)
    shown.add_column("ε", justify="right")
    shown.add_column("setting")
    for head in HEADS:
        shown.add_column(head, justify="right")
    taken = [best.row for best in found.recommendations]
    for row in found.rows:
        name = f"{row.name} ◀" if any(row is one for one in taken) else row.name
        shown.add_row(exact(row.epsilon), printable(name), *_cells(row))
    return shown


def _cells(row: Any) -> list[str]:
    told = row.figures
    shares = [_reach(part) for part in (told.share, told.by_series)]
    own = told.own
    losses = "" if own.worst is None else f"{upper(own.worst, 3)}, {upper(own.median, 3)}"
    return [
        f"{told.wrong:.1%}", f"{told.smoothed:.1%}", *shares, _reach(told.transitions),
        "" if told.sojourns is None else f"{told.sojourns.half_width:.1%}",
        f"{told.attacked.success:.1%}", losses,
    ]  # fmt: skip


def _reach(found: Any) -> str:
    return "" if found is None else f"{found.half_width:.4f}"


def _reasons(refused: Any) -> dict[str, str]:
    """Settings by why they are not compared."""
    groups: dict[str, list[str]] = {}
    for one in refused:
        at = "" if one.epsilon is None else f" at {exact(one.epsilon)}"
        groups.setdefault(one.reason, []).append(f"{one.setting}{at}")
    return {reason: "; ".join(settings) for reason, settings in groups.items()}


def _recommend(found: Any) -> None:
    for best in found.recommendations:
        name = "nothing" if best.row is None else best.row.name
        head = click.style(f"epsilon {exact(best.epsilon)}: take {name}", bold=True)
        click.echo(f"\n{head}\n  {printable(best.reason)}")
        if best.row is not None:
            click.echo(f"  {printable(best.row.needs)}")
            click.echo(f"  {printable(found.command(best.epsilon))}")
        if best.warning:
            warn(best.warning)
