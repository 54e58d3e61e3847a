"""``chainveil fit``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import progress, show, warn

# Transitions that are printed for people.
MOST_LINES = 64


@click.command()
@click.argument("table")
@options.layout_options
@options.discretize_options
@options.format_options
@options.order
@click.option("--pseudocount", type=float, default=0.0, show_default=True, metavar="C",
              help="Take each state to have followed each context C times more often, on average, "
              "than was seen: nothing is impossible then.")  # fmt: skip
@click.option("--public", is_flag=True, help="The table is public: a reference, not the data to "
              "protect.")  # fmt: skip
@click.option("-o", "--output", type=options.FILE, help="Write the chain to this file, "
              "which is as private as the table.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.as_json
def fit(table: str, public: bool, output: str | None, force: bool, **given: Any) -> None:
    """Fit a Markov chain to a column of TABLE (a file, or - for standard input).

    Prints the chain, 95% intervals, and how much better a chain with a longer memory
    would fit; --order fits one. What it prints and writes is exact, and gives counts of the
    table away: unless the table is public, keep both as private as the table. chainveil
    calibrate and chainveil sanitize publish such a chain rounded.

    \b
    Example:
      chainveil fit heart.csv --column bpm --threshold 60 -o chain.json
      chainveil fit heart.csv --column bpm --threshold 60 --order auto -o longer.json
    """
    from chainveil.cli.chain_file import ChainFile, to_document, write_chain_file
    from chainveil.table.states.fitting import fit_table

    source = options.read_source(table, given)
    layout, rules = options.read_layout(given), options.read_rules(given)
    with progress(source.about_rows, given["as_json"]) as tell:
        memory = {"order": given["order"], "pseudocount": given["pseudocount"]}
        found = fit_table(source, layout, rules, tell, **memory)
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
    if found.chain.order > 1:
        lines.append(("chain", found.chain.describe()))
    entries = list(_named(found))
    lines += [
        (name, f"{estimate:.6g}  (95% interval {low:.6g} to {high:.6g})")
        for name, estimate, (low, high) in entries[:MOST_LINES]
    ]
    if len(entries) > MOST_LINES:
        lines.append(("…", f"{len(entries) - MOST_LINES:,} more, which --json shows"))
    if found.splits:
        lines.append(("splits", f"{found.splits:,} at gaps"))
    if found.chain.order_choice is not None:
        lines.append(("order", str(found.chain.order_choice)))
    return [*lines, ("memory", found.memory_in_words)]


def _named(found: Any) -> Iterator[tuple[str, float, tuple[float, float]]]:
    """The entries by name; of two states each context has but one number."""
    labels, two = found.discretizer.labels, found.chain.states == 2
    for (*before, after), estimate, interval in found.entries:
        if two and after == before[-1]:
            continue
        if two and len(before) == 1:
            yield "qr"[before[0]], estimate, interval
            continue
        context = " ".join(str(labels[state]) for state in before)
        yield f"{context} -> {labels[after]}", estimate, interval
