"""``chainveil fit``."""

from __future__ import annotations

from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import progress, show, warn


@click.command()
@click.argument("table")
@options.layout_options
@options.discretize_options
@options.format_options
@click.option("--public", is_flag=True, help="The table is public: a reference, not the data to "
              "protect.")  # fmt: skip
@click.option("-o", "--output", type=options.FILE, help="Write the chain to this file, "
              "which is as private as the table.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.as_json
def fit(table: str, public: bool, output: str | None, force: bool, **given: Any) -> None:
    """Fit a Markov chain to a column of TABLE (a file, or - for standard input).

    Prints the chain, 95% intervals, and how much better a chain with a longer memory
    would fit. What it prints and writes is exact, and gives counts of the table away: unless
    the table is public, keep both as private as the table. chainveil calibrate and chainveil
    sanitize publish such a chain rounded.

    \b
    Example:
      chainveil fit heart.csv --column bpm --threshold 60 -o chain.json
    """
    from chainveil.cli.chain_file import ChainFile, to_document, write_chain_file
    from chainveil.table.states.fitting import fit_table

    source = options.read_source(table, given)
    layout, rules = options.read_layout(given), options.read_rules(given)
    with progress(source.rows, given["as_json"]) as tell:
        found = fit_table(source, layout, rules, tell)
    file = ChainFile(found.chain, "reference" if public else "private", found.discretizer)
    if output is not None:
        write_chain_file(output, file, force)
    if not public:
        warn(
            "the chain was fitted on the data themselves and gives counts of them away: keep this "
            "output and the chain file private"
        )
    facts = {**to_document(file), **found.facts}
    show(facts, _lines(found), given["as_json"])


def _lines(found: Any) -> list[tuple[str, str]]:
    lines = [
        ("rows", f"{found.rows:,} in {found.series:,} series"),
        ("transitions", f"{int(found.chain.counts.sum()):,}"),
    ]
    names = ["q", "r"] if found.chain.states == 2 else []
    labels = found.discretizer.labels
    for (a, b), estimate, (low, high) in found.entries:
        name = names[a] if names and a != b else f"{labels[a]} -> {labels[b]}"
        if names and a == b:
            continue
        lines.append((name, f"{estimate:.6g}  (95% interval {low:.6g} to {high:.6g})"))
    if found.splits:
        lines.append(("splits", f"{found.splits:,} at gaps"))
    return [*lines, ("memory", found.memory_in_words)]
