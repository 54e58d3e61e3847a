"""``chainveil estimate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import claimed_rows, progress, show, warn

# Questions with numbers and intervals for an answer, and the one about the series itself.
NUMBERS = ("frequency", "transitions", "durations", "autocorrelation")
QUESTIONS = (*NUMBERS, "denoise")


@click.command()
@click.argument("release")
@click.argument("question", type=click.Choice(QUESTIONS))
@click.option("--certificate", type=options.FILE, help="Its certificate; default: beside RELEASE.")
@click.option("--by", metavar="COLUMN", help="An answer for each value of a column, or for each "
              "series.")  # fmt: skip
@click.option("--time", help="Column with dates and times, for gaps and for the order of rows.")
@click.option("--step", type=float, help="Regular step of the time column (seconds, or its own "
              "units), which tells how many points lie in a gap.")  # fmt: skip
@click.option("--max-gap", type=float, help="Longer steps than this are gaps: points on both "
              "sides are no neighbours.")  # fmt: skip
@click.option("--window", type=int, help="An answer for every so many points of each "
              "series; of each run between gaps where their lengths are not known.")  # fmt: skip
@click.option("--level", type=float, default=0.95, show_default=True, help="How sure the intervals "
              "are.")  # fmt: skip
@click.option("--covers", type=click.Choice(["noise", "sampling"]), default="noise",
              show_default=True, help="Intervals about the series as it was, or also about the "
              "chain it was drawn from.")  # fmt: skip
@click.option("--model", type=options.FILE, help="For denoise: the model behind the series, as "
              "chainveil fit writes it; default: that of the certificate.")  # fmt: skip
@click.option("--lags", default="1,2,3,4,5", show_default=True, metavar="A,B,…",
              help="Distances for autocorrelation, in points.")  # fmt: skip
@click.option("--plot", "picture", type=options.FILE, help="Draw the answer to this file.")
@click.option("--original", metavar="TABLE", help="For the curator: draw what the private table "
              "says beside the answer. The picture is then as private as the table.")  # fmt: skip
@click.option("-o", "--output", type=options.FILE, help="For denoise: a CSV file with the "
              "probability of each state in each row.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@options.format_options
@options.max_seconds
@options.as_json
def estimate(release: str, question: str, **given: Any) -> None:
    """Answer a QUESTION from a RELEASE, with intervals.

    The noise comes from the certificate, which is checked first; the original is not needed.

    \b
    Example:
      chainveil estimate release.parquet frequency --by person
    """
    from chainveil.table.files import certificate_path
    from chainveil.table.released.states import Reading, read_by_noise

    _check_options(question)
    if given["original"] is not None and given["picture"] is None:
        raise click.UsageError("--original is for --plot: only the picture shows it.")
    certificate = given["certificate"] or certificate_path(release)
    _check_goals(given, release, certificate)
    # A share of points depends on neighbours only where a chain is fitted beside it.
    neighbours = question != "frequency" or given["covers"] == "sampling"
    with progress(claimed_rows(certificate), given["as_json"]) as tell:
        how = Reading(
            by=given["by"], time=given["time"], step=given["step"], max_gap=given["max_gap"],
            neighbours=neighbours, form=given["form"], progress=tell, **options.read_lines(given),
        )  # fmt: skip
        parts = read_by_noise(release, certificate, how)
    held, splits = parts[0], sum(part.splits for part in parts)
    for note in dict.fromkeys(note for part in parts for note in part.notes):
        warn(note)
    if splits and neighbours:
        warn(f"{splits:,} neighbouring rows are no neighbouring points, by the certificate; "
             "they are counted as if they were. --time and --max-gap, as when the table was "
             "sanitized, tell which")  # fmt: skip
    for often in sorted({part.plan.noise.every for part in parts} - {1}):
        if question != "frequency":
            warn(f"one point in {often} reports: the answer is about those points alone")
    if held.noise_by:
        _check_groups(held, question, given)
    if question == "denoise":
        _denoise(held, {**given, "certificate": certificate})
        return
    found = _ask_all(parts, question, given)
    if given["picture"] is not None:
        _draw(found, held, question, release, {**given, "certificate": certificate})
    show(_facts(found, held, question), _lines(found, held), given["as_json"])


def _check_goals(given: dict[str, Any], *read: Any) -> None:
    """An error for a file that cannot be written, or that is ``read`` here."""
    from chainveil.errors import InvalidInput
    from chainveil.table.write.atomic import check_goal

    for name, goal in (("plot", given["picture"]), ("output", given["output"])):
        if goal is None:
            continue
        check_goal(Path(goal), given["force"], name)
        if Path(goal).resolve() in (Path(path).resolve() for path in read):
            raise InvalidInput(name, goal, "another file than the release and its certificate")
    if given["picture"] is not None:
        from chainveil import plot

        plot.check_ending("plot", given["picture"])
    if given["output"] is not None and not str(given["output"]).lower().endswith(".csv"):
        raise InvalidInput("output", given["output"], "a file ending in .csv")


# Options that only some questions know.
KNOWN_BY = {
    "by": NUMBERS,
    "window": NUMBERS,
    "level": NUMBERS,
    "covers": NUMBERS,
    "picture": NUMBERS,
    "original": NUMBERS,
    "lags": ("autocorrelation",),
    "model": ("denoise",),
    "output": ("denoise",),
}


def _check_options(question: str) -> None:
    """An error for an option that the question would not look at."""
    context = click.get_current_context()
    for option in context.command.params:
        known = KNOWN_BY.get(str(option.name), QUESTIONS)
        source = context.get_parameter_source(str(option.name))
        if question not in known and source != click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"{option.opts[-1]} is for {' and '.join(known)}.")


def _check_groups(held: Any, question: str, given: dict[str, Any]) -> None:
    """An error for what takes one noise for all rows."""
    asked = "denoise" if question == "denoise" else "--original" if given["original"] else None
    if asked is not None:
        raise click.UsageError(
            f"{asked} takes one noise for all rows, and each group of {held.noise_by} has its own: "
            "in Python, take the rows of one group and certificate.groups[label]."
        )


def _ask_all(parts: list[Any], question: str, given: dict[str, Any]) -> Any:
    """One answer from rows of one noise, or of several."""
    from dataclasses import replace

    from chainveil.estimate.joining import joined

    found = [_ask(part, question, given) for part in parts]
    if len(parts) == 1:
        return found[0]
    if given["window"] is not None:
        # Series are numbered in each part, and called by their names in all.
        found = [
            replace(one, groups=tuple((part.series[i], window) for i, window in one.groups))
            for one, part in zip(found, parts, strict=True)
        ]
    answer = joined(found, [part.plan.noise.every for part in parts], parts[0].noise_by)
    if given["window"] is not None:
        named = (f"{series}, window {window}" for series, window in answer.groups or ())
        answer = replace(answer, groups=tuple(named))
    return answer


def _ask(held: Any, question: str, given: dict[str, Any]) -> Any:
    import chainveil.estimate as ask

    common = {name: given[name] for name in ("window", "level", "covers")}
    common["by"] = held.groups
    if question == "frequency":
        return ask.frequency(held.states, held.plan, **common)
    if question == "autocorrelation":
        return ask.autocorrelation(held.states, held.plan, _lags(given["lags"]), **common)
    answer = ask.transitions if question == "transitions" else ask.durations
    return answer(held.states, held.plan, **common)


def _lags(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise click.UsageError(f"--lags: {text!r} is not a list of whole numbers.") from None


def _names(found: Any, held: Any) -> list[str]:
    """What each number of one answer is about, in the order of the flat array."""
    from chainveil.estimate.answer_table import place_words

    return [place_words(found, place) for place in found.places(held.labels)]


def _rows(found: Any, held: Any) -> list[tuple[Any, str, tuple[float, ...]]]:
    """Group, name, and (value, error, low, high, effective size) of every number."""
    names = _names(found, held)
    groups = [None] if found.groups is None else _group_names(found.groups, held)
    parts = [
        array.reshape(len(groups), len(names))
        for array in (found.value, found.standard_error, found.low, found.high,
                      found.effective_size)
    ]  # fmt: skip
    return [
        (group, name, tuple(float(part[i, j]) for part in parts))
        for i, group in enumerate(groups)
        for j, name in enumerate(names)
    ]


def _group_names(groups: Any, held: Any) -> list[Any]:
    """Groups as the table calls them; windows of several series are pairs of numbers."""
    if held.series and groups and isinstance(groups[0], tuple):
        return [f"{held.series[series]}, window {window}" for series, window in groups]
    return list(groups)


def _facts(found: Any, held: Any, question: str) -> dict[str, Any]:
    keys = ("value", "standard_error", "low", "high", "effective_size")
    return {
        "question": question,
        "level": found.level,
        "covers": found.covers,
        "meaning": found.meaning,
        "answers": [
            {"group": group, "about": name,
             **{key: _finite(number) for key, number in zip(keys, numbers, strict=True)}}
            for group, name, numbers in _rows(found, held)
        ],
    }  # fmt: skip


def _finite(number: float) -> float | None:
    """JSON has no infinity: null stands for a number that is not known."""
    return number if abs(number) < float("inf") else None


def _lines(found: Any, held: Any) -> list[tuple[str, str]]:
    """A line a number; what another line says already is left out."""
    from chainveil.estimate.answer_table import once, shown

    names = _names(found, held)
    groups = [None] if found.groups is None else _group_names(found.groups, held)
    parts = (*shown(found), found.standard_error, found.effective_size)
    arrays = [part.reshape(len(groups), len(names)) for part in parts]
    lines = [("covers", found.meaning)]
    for i, group in enumerate(groups):
        for j in once(found, held.labels):
            value, low, high, error, worth = (float(array[i, j]) for array in arrays)
            text = _words(value, low, high, found.level) + _sureness(error, worth)
            lines.append((names[j] if group is None else f"{group}: {names[j]}", text))
    return lines


def _words(value: float, low: float, high: float, level: float) -> str:
    """An estimate and its interval; the interval alone where the value lies at its end."""
    from chainveil.estimate.answer_table import in_words

    reach = f"{low:.5g} to {high:.5g}"
    if low < value < high < float("inf"):
        return f"{value:.5g}  ({level:.12g} interval {reach}"
    return f"{in_words(value, low, high)}  ({level:.12g} interval"


def _sureness(error: float, worth: float) -> str:
    """The error, where there is one, and the points that it is worth."""
    known = [f"error {error:.3g}"] if error < float("inf") else []
    known += [f"worth {worth:,.0f} points"] if known and worth < 1e15 else []
    return "".join(f", {text}" for text in known) + ")"


def _draw(found: Any, held: Any, question: str, release: str, given: dict[str, Any]) -> None:
    from dataclasses import replace

    from chainveil import plot
    from chainveil.certificate import Certificate
    from chainveil.table.shown import about_release

    if held.series and found.groups and isinstance(found.groups[0], tuple):
        # Windows of several series: one panel a series.
        named = ((held.series[series], window) for series, window in found.groups)
        found = replace(found, groups=tuple(named))
    by = given["by"] or (f"window of {given['window']:,} points" if given["window"] else "")
    document = Certificate.read(given["certificate"])
    about, words = about_release(document, Path(release).name), {}
    if given["original"] is not None:
        words["truth"] = _truth(held, question, document, release, given)
        about = f"PRIVATE: shows the original; {about}"
    plot.save(found.plot(held.labels, by=by, about=about, **words), given["picture"])
    if words:
        warn(f"{given['picture']} shows the original: keep it as private as the table")


def _truth(held: Any, question: str, document: Any, release: str, given: dict[str, Any]) -> Any:
    """The same question asked of the original."""
    from dataclasses import replace

    import numpy as np

    from chainveil.noise.channel import Channel
    from chainveil.table.released.comparing import original_states

    if held.reordered:
        raise click.UsageError("--original needs the rows of RELEASE in their own order.")
    named = options.read_beside(release, {**given, "no_header": False})
    private = options.read_beside(given["original"], given)
    states = original_states(document, private, named, held.states, held.order)
    clear = replace(held, states=states, plan=Channel(np.eye(len(held.labels))))
    return _ask(clear, question, {**given, "covers": "noise"})


def _denoise(held: Any, given: dict[str, Any]) -> None:
    import chainveil.estimate as ask

    model, origin = None, "certificate"
    if given["model"] is not None:
        model, origin = _model(given["model"], given["certificate"]), given["model"]
    found = ask.denoise(held.states, held.plan, model)
    if given["output"] is not None:
        _write(found, held, given)
    else:
        warn("nothing written; give -o FILE for the probability of each state in each row")
    facts = {
        "accuracy": None if found.accuracy is None else vars(found.accuracy),
        "expected_accuracy": found.expected_accuracy,
        "transition": found.chain.transition,
        "model": origin,
        "output": given["output"],
    }
    share = f"{found.expected_accuracy:.4%} of the points, if the model is right"
    lines = [("model", f"{found.chain} ({origin})"), ("expected accuracy", share)]
    if found.accuracy is not None:
        lines.insert(0, ("accuracy", str(found.accuracy)))
    show(facts, lines, given["as_json"])


def _model(path: str, certificate: Any) -> Any:
    """The model of a file, whose states must be those of the release."""
    from chainveil.certificate import Certificate
    from chainveil.cli.chain_file import read_chain_file
    from chainveil.errors import InvalidInput

    file, document = read_chain_file(path), Certificate.read(certificate)
    part = "edges" if document["discretization.edges"] else "labels"
    found, wanted = list(getattr(file.discretizer, part)), document[f"discretization.{part}"]
    if found != list(wanted):
        raise InvalidInput("model", f"states by the {part} {found}", f"{wanted}, as in the release")
    return file.chain


def _write(found: Any, held: Any, given: dict[str, Any]) -> None:
    """One line a row of the release, in its order."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    from chainveil.table.write.atomic import drafts

    several = isinstance(found.path, list)
    paths = found.path if several else [found.path]
    probability = np.concatenate(found.probability) if several else found.probability
    there = np.concatenate([~np.ma.getmaskarray(part) for part in paths])
    path = np.concatenate([np.asarray(part) for part in paths])[there]
    probability = probability[there]
    # Rows without a value have no answer: a null at their place in the table.
    place = np.full(held.rows, len(path))
    place[held.order] = np.arange(len(path))
    back = pa.array(place, mask=place == len(path))
    labels = np.array([str(label) for label in held.labels])
    columns = {"likeliest": pa.array(labels[path]).take(back)}
    for state, label in enumerate(labels):
        columns[f"probability of {label}"] = pa.array(probability[:, state].round(6)).take(back)
    with drafts([given["output"]], given["force"]) as (draft,):
        csv.write_csv(pa.table(columns), draft.file)
