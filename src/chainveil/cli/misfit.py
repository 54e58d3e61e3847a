"""``chainveil misfit``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import progress, show, warn
from chainveil.privacy.rounding import exact


def _orders(_context: Any, _option: Any, text: str) -> tuple[int, ...]:
    """Whole numbers, with commas between them."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(f"--orders: {text!r} is not a list such as 1,2,3.") from None


@click.command()
@click.argument("table")
@click.option("--plan", "plan_file", type=options.FILE, required=True, help="Plan written by "
              "chainveil calibrate, or certificate of a release.")  # fmt: skip
@options.layout_options
@options.discretize_options
@options.format_options
@click.option("--orders", default="1,2,3,4", show_default=True, metavar="M,…", callback=_orders,
              help="How many points the chains remember that TABLE is read with.")  # fmt: skip
@click.option("--each", is_flag=True, help="Also read every series with chains of its own.")
@click.option("--effort", type=int, metavar="N", help="Steps of the search for one loss; the "
              "distance of bounds that are still apart is told.")  # fmt: skip
@options.max_seconds
@options.as_json
def misfit(table: str, plan_file: str, orders: tuple[int, ...], **given: Any) -> None:
    """Say what a plan is worth if the adversary knows more than its chain.

    Fits chains of several orders to a column of TABLE (a file, or - for standard input), to
    all series together or, with --each, to each, and computes what the noise of the plan
    loses if the data are each of them: against the plan's adversaries, for every length, as
    what an attack attains and what none exceeds. The figures are exact, and give the table
    away: keep them as private as the table.

    \b
    Example:
      chainveil misfit heart.csv --column bpm --threshold 60 --plan plan.json --orders 1,2
    """
    from chainveil.cli.sanitize import read_plan

    plan, discretizer = read_plan(plan_file)
    source = options.read_source(table, given)
    layout = options.read_layout(given)
    rules = options.read_rules(given, discretizer)
    with progress(source.rows, given["as_json"]) as tell:
        series, names = _series(source, layout, rules, plan, tell)
    found = _read(series, names, plan, orders, given)
    warn("these figures are computed from the data without noise: keep them as private as the data")
    facts = {
        "promise": found.promise, "points": found.points, "series": len(set(names)),
        "verdict": found.verdict, "readings": [reading.facts for reading in found.readings],
    }  # fmt: skip
    head = [
        ("promise", f"epsilon {exact(plan.epsilon)}"),
        ("noise", plan.noise.describe()),
        ("data", f"{found.points:,} points in {len(set(names)):,} series"),
    ]
    show(facts, [*head, *found.lines], given["as_json"])


def _series(
    source: Any, layout: Any, rules: Any, plan: Any, tell: Any
) -> tuple[list[Any], list[Any]]:
    """Stretches of states without a gap, and the series that each belongs to."""
    from chainveil.table.request.request import Promise, Request
    from chainveil.table.states.by_series import read_states
    from chainveil.table.states.prepare import find_discretizer

    layout.check(source)
    request = Request(layout, rules, Promise(plan.epsilon), chain=plan.chain)
    discretizer = find_discretizer(source, request, tell)
    if discretizer.count != plan.noise.states:
        found = f"{discretizer.count} states"
        raise click.UsageError(f"The plan is for {plan.noise.states} states, not {found}.")
    held = read_states(source, layout, discretizer, tell)
    pieces, owners = held.stretches()
    return pieces, [held.names[owner] for owner in owners]


def _read(
    series: list[Any], names: list[Any], plan: Any, orders: tuple[int, ...], given: dict[str, Any]
) -> Any:
    import numpy as np

    from chainveil.attack.misfit import how_many
    from chainveil.attack.misfit import misfit as read

    lengths = np.array([len(piece) for piece in series])
    total = how_many(lengths, plan.noise.states, orders, given["each"])
    with progress(total, given["as_json"], "models") as tell:
        return read(
            series, plan, orders, each=given["each"], names=names,
            effort=given["effort"], progress=tell,
        )  # fmt: skip
