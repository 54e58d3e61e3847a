"""``chainveil fit``."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import progress, show, warn

# Transitions that are printed for people.
MOST_LINES = 64
# Series that are printed for machines, a row each.
MOST_IN_JSON = 1000


@click.command()
@click.argument("table")
@options.layout_options
@options.discretize_options
@options.format_options
@options.order
@options.each_series
@click.option("--pseudocount", type=float, default=0.0, show_default=True, metavar="C",
              help="Take each state to have followed each context C times more often, on average, "
              "than was seen: nothing is impossible then.")  # fmt: skip
@click.option("--public", is_flag=True, help="The table is public: a reference, not the data to "
              "protect.")  # fmt: skip
@click.option("--epsilon", type=float, help="With --series: say what noise for all series together "
              "at this budget would lose on each series' own chain.")  # fmt: skip
@options.mechanism
@click.option("--price", is_flag=True, help="With --series and --epsilon: what each mechanism, or "
              "that of --mechanism, costs if its promise holds for all series together, or for "
              "each; takes minutes for all.")  # fmt: skip
@click.option("--confidence", type=float, metavar="C", help="Write all chains that the counts "
              "leave open with this confidence, in place of one (two states); with --series, of "
              "each series, where it is 0.95 unless told.")  # fmt: skip
@click.option("-o", "--output", type=options.FILE, help="Write the chain to this file, "
              "which is as private as the table.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.as_json
def fit(table: str, public: bool, **given: Any) -> None:
    """Fit a Markov chain to a column of TABLE (a file, or - for standard input).

    Prints the chain, 95% intervals, and how much better a chain with a longer memory
    would fit; --order fits one. With --series also every series on its own: the range of the
    parameters, the order that the data ask for, which series drift and, with --epsilon, what
    noise for all of them together loses on each; what is written is then a family, a model for
    each series with enough points, unless --pooled asks for one chain. With --group all of it is
    printed for each group. What it prints and writes
    is exact, and gives counts of the table away: unless the table is public, keep both as private
    as the table. chainveil calibrate and chainveil sanitize publish such a chain rounded.

    \b
    Example:
      chainveil fit heart.csv --column bpm --threshold 60 -o chain.json
      chainveil fit heart.csv --column bpm --threshold 60 --order auto -o longer.json
      chainveil fit heart.csv --column bpm --series person --threshold 60 --epsilon 2
    """
    source = options.read_source(table, given)
    layout, rules = options.read_layout(given), options.read_rules(given)
    if given["output"] is not None and layout.group is not None:
        raise click.UsageError(
            "-o writes one chain or family, and --group makes one for each group. To use them: "
            "chainveil sanitize --group, with --reference for those of a public table."
        )
    if layout.group is None:
        facts, lines = _fitted(source, source.about_rows, layout, rules, public, given)
    else:
        facts, lines = _by_group(source, layout, rules, public, given)
    if not public:
        warn(
            "the chain was fitted on the data themselves and gives counts of them away: keep this "
            "output and the chain file private"
        )
    show(facts, lines, given["as_json"])


def _by_group(
    source: Any, layout: Any, rules: Any, public: bool, given: dict[str, Any]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Every group on its own, as if it were all there is."""
    from dataclasses import replace

    from chainveil.table.request.request import StateRules
    from chainveil.table.states.fitting import groups_of
    from chainveil.table.states.groups import naming_group

    facts: list[dict[str, Any]] = []
    lines: list[tuple[str, str]] = []
    with progress(source.about_rows, given["as_json"]) as tell:
        discretizer, groups = groups_of(source, layout, rules, tell)
    # The limits are those of the whole table, also where they are its mean.
    inside, same = replace(layout, group=None), StateRules(
        missing=rules.missing, discretizer=discretizer
    )  # fmt: skip
    for label, rows in groups.items():
        with naming_group(label):
            found, text = _fitted(rows, source.about_rows, inside, same, public, given)
        facts.append({"group": label, **found})
        lines += [(f"{label}: {name}", words) for name, words in text]
    return {"group_column": layout.group, "groups": facts}, lines


def _fitted(
    source: Any, rows: int | None, layout: Any, rules: Any, public: bool, given: dict[str, Any]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The fit of one table, written where that was asked for: for machines, and in words."""
    from chainveil.cli.chain_file import ChainFile, to_document, write_chain_file
    from chainveil.table.states.fitting import fit_table

    memory = {"order": given["order"], "pseudocount": given["pseudocount"]}
    with progress(rows, given["as_json"]) as tell:
        found = fit_table(source, layout, rules, tell, **memory)
        check = _check(source, layout, found, given, tell)
        paid = _prices(source, layout, found, check, public, given, tell)
    origin: Any = "reference" if public else "private"
    model = _family(source, layout, found, origin, given)
    if model.order == 1 and model.single and given["confidence"] is not None:
        model = model.region(given["confidence"])
    file = ChainFile(model, origin, found.discretizer)
    if given["output"] is not None:
        write_chain_file(given["output"], file, given["force"])
    one = ChainFile(found.chain, origin, found.discretizer)
    facts = {**to_document(one), **to_document(file), **found.facts}
    lines = [*_lines(found), *_set_words(model)]
    if check is not None:
        facts["each_series"] = {**check.facts, "rows": _rows(check)}
        lines += [*check.lines, *check.table()]
    if paid is not None:
        facts["prices"] = [vars(price) for price in paid.prices]
        lines += paid.lines
    return facts, lines


def _check(source: Any, layout: Any, found: Any, given: dict[str, Any], tell: Any) -> Any:
    """Every series on its own, and what noise for all of them loses there."""
    from chainveil.table.series_check import check_table, plan_at

    if layout.series is None:
        if given["epsilon"] is not None:
            raise click.UsageError("--epsilon belongs to --series, each of which it is about.")
        return None
    if tell is not None:
        tell("calibrating", 0)
    plan = plan_at(found.chain, given["epsilon"], given["mechanism"])
    return check_table(source, layout, found.discretizer, plan, tell)


def _prices(
    source: Any, layout: Any, found: Any, check: Any, public: bool, given: dict[str, Any], tell: Any
) -> Any:
    """What a promise costs that holds for all series together, for each, and for more memory."""
    from chainveil.table.series_check import priced

    if not given["price"]:
        return None
    if check is None or given["epsilon"] is None:
        raise click.UsageError("--price takes --series and --epsilon.")
    how = {"public": public, "mechanism": given["mechanism"]}
    return priced(source, layout, found, check, progress=tell, **how)


def _rows(check: Any) -> list[dict[str, Any]] | None:
    """All series, unless there are too many to print."""
    columns = check.columns()
    if len(check.points) > MOST_IN_JSON:
        return None
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, map(_plain, row), strict=True)) for row in rows]


def _plain(value: Any) -> Any:
    """A value that JSON has: none for what is not known or not bounded."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _family(source: Any, layout: Any, found: Any, origin: Any, given: dict[str, Any]) -> Any:
    """The family of the series, or the chain of all together where there is none."""
    from chainveil.checks import probability
    from chainveil.table.states.families import model_of, read_parts

    confidence, parts, pooled = (given[name] for name in ("confidence", "parts", "pooled"))
    if parts < 1 or (parts > 1 and (pooled or layout.series is None)):
        raise click.UsageError("--parts takes a number from 1 on, and --series without --pooled.")
    if pooled and layout.series is None:
        raise click.UsageError("--pooled takes --series.")
    if confidence is not None:
        probability("confidence", confidence, zero=False, one=False)
    chain = found.chain.of_origin(origin)
    if confidence is not None and chain.order != 1:
        raise click.UsageError("--confidence is for chains of order 1.")
    if found.each is None:
        return chain
    each = read_parts(found.each, parts, source, layout, found.discretizer, None)
    return model_of(each, chain, pooled, confidence)


def _set_words(model: Any) -> list[tuple[str, str]]:
    """What is written in place of one chain, if anything is."""
    if model.single:
        return []
    if len(model.members) > 1:
        return [("family", model.describe())]
    (q, r) = (f"{low:.6g} to {high:.6g}" for low, high in (model.box[:2], model.box[2:]))
    return [("region", f"q {q}, r {r}")]


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
