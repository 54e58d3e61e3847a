"""Options that several commands share, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from chainveil.cli.old_options import Choice, renamed
from chainveil.errors import ChainveilError, NotSupported

if TYPE_CHECKING:
    from chainveil.certificate import Certificate
    from chainveil.cli.chain_file import ChainFile
    from chainveil.model.base import DataModel
    from chainveil.noise.base import Noise
    from chainveil.table.read.reading import FileSource
    from chainveil.table.request.discretize import Discretizer
    from chainveil.table.request.kept import Kept
    from chainveil.table.request.request import Layout, StateRules

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(dir_okay=False)


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which help should show them."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _allow(context: click.Context, _: click.Parameter, seconds: float | None) -> None:
    """What a certificate may ask to be computed, for as long as the command runs."""
    from chainveil.certificate import allowing

    if seconds is not None:
        context.with_resource(allowing(seconds))


max_seconds = click.option(
    "--max-seconds", type=float, metavar="S", callback=_allow, expose_value=False,
    help="Seconds that checking the loss of a certificate may take.  [default: 60]",
)  # fmt: skip

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")

layout_options = together(
    click.option("--column", required=True, help="Column with the values."),
    click.option("--series", help="Column that names the series of a row."),
    click.option("--time", help="Column with the time; must increase within a series."),
    click.option("--step", type=float, help="Regular step of the time column (seconds, or its "
                 "own units); any other step is an error."),
    click.option("--max-gap", type=float, help="Split a series at longer steps than this."),
)  # fmt: skip

keep_options = together(
    click.option("--keep", multiple=True, metavar="A,B,…", help="Other columns to publish as they "
                 "are; each is tested first for what it says about the states."),
    click.option("--keep-time", is_flag=True, help="Publish the time column as it is."),
    click.option("--time-as", metavar="index|WIDTH", help="Publish the place of each row in its "
                 "series for its time, or times rounded down: to 60s, 5m, 1h or 1d, or to a "
                 "number in the column's own units."),
    click.option("--allow-leak", multiple=True, metavar="COLUMN", help="Publish a column without "
                 "the test, whatever it says; the certificate lists it. May be given several "
                 "times."),
)  # fmt: skip

discretize_options = together(
    click.option("--threshold", metavar="V,…|mean|median", help="Limits between states: 60 gives "
                 "two states (below 60, and from 60 on), 50,70 three. mean and median look at the "
                 "private data."),
    click.option("--states", metavar="A,B,…", help="The values that the column holds already."),
    click.option("--labels", metavar="A,B,…", help="What to call the states in the release."),
    click.option("--missing", type=click.Choice(["error", "keep"]), default="error",
                 show_default=True, help="Whether a row without a value is an error, or stays one: "
                 "a gap is visible and not protected."),
)  # fmt: skip

format_options = together(
    click.option("--format", "form", metavar="NAME", help="csv, tsv, text, parquet or arrow, "
                 "where the file's name does not tell."),
    click.option("--no-header", is_flag=True, help="The first line holds values; columns are "
                 "called column1, column2, …"),
    click.option("--delimiter", metavar="CHARACTER", help="What stands between the cells of CSV, "
                 "such as ';'; default: a comma."),
    click.option("--multiline", is_flag=True, help="Cells of CSV may hold line ends, in quotes; "
                 "otherwise these are an error."),
)  # fmt: skip

# Between the ends of an interval on the command line.
BETWEEN = ".."


def _ends(_context: Any, option: Any, text: str | None) -> float | tuple[float, float] | None:
    """A number, or the two ends of an interval."""
    if text is None:
        return None
    parts = text.split(BETWEEN)
    if len(parts) > 2:
        raise click.UsageError(f"--{option.name}: {text!r} is not a number or an interval A..B.")
    found = [read_number(str(option.name), part) for part in parts]
    return found[0] if len(found) == 1 else (found[0], found[1])


chain_options = together(
    click.option("--chain", "chain_file", type=FILE, help="Chain written by chainveil fit."),
    click.option("--q", metavar="Q|A..B", callback=_ends, help="Probability of a step from state 0 "
                 "to state 1; with A..B the promise holds for every chain with one between them."),
    click.option("--r", metavar="R|A..B", callback=_ends, help="Probability of a step from state 1 "
                 "to state 0, in the same way."),
)  # fmt: skip


def _order(_context: Any, _option: Any, text: str) -> int | str:
    """A whole number, or "auto"."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise click.UsageError(f"--order: {text!r} is not a whole number or auto.") from None


order = click.option(
    "--order", metavar="M|auto", default="1", show_default=True, callback=_order,
    help="Order of the chain that is fitted: how many points the next one depends on. auto: the "
    "order of the least BIC, from 1 up to what the rows carry.",
)  # fmt: skip

promise_options = together(
    click.option("--length", "max_length", type=int, help="Points of the longest series; default: "
                 "any number."),
    click.option("--adversary", type=click.Choice(["any", "ignorant", "informed"]), default="any",
                 show_default=True, help="Whom to withstand; only any is Bayesian differential "
                 "privacy."),
)  # fmt: skip

objective = click.option(
    "--objective", type=Choice(["wrong-reports", "share", "distance", "smoothed"],
                               renamed("--objective")),
    default="wrong-reports", show_default=True, help="What to minimise: changed points, the "
    "error of an estimated share, the distance between ordered states (more than two), or the "
    "error after smoothing (sticky, tracking and rare reports).",
)  # fmt: skip


series_models = together(
    click.option("--pooled", is_flag=True, help="With --series: fit one chain to all series, in "
                 "place of a model for each, on whose own chains noise for it may lose more."),
    click.option("--parts", type=int, default=1, show_default=True, metavar="N",
                 help="With --series: also fit a model to each of N parts of each series, for "
                 "series that drift; reads the table once more."),
)  # fmt: skip

each_series = together(
    series_models,
    click.option("--group", metavar="COLUMN", help="With --series: a public column by which people "
                 "differ, such as an age group or a ward; each group has a model and noise of its "
                 "own. It is published with the release."),
)  # fmt: skip


def check_every(noise: Noise | type[Noise], every: int | str) -> None:
    """Wrong usage where noise is to report one point in several and cannot."""
    from chainveil.noise import base

    try:
        base.check_every(noise, every)
    except NotSupported as error:
        raise ChainveilError(str(error)) from None


def _known_mechanism(context: click.Context, _option: Any, name: str | None) -> str | None:
    """The name of a kind of noise; installed packages may bring more of them."""
    from chainveil.noise.base import noise_class

    if name is None:
        return None
    kind = noise_class(name, "--mechanism")
    # Of this and --every one is read first.
    check_every(kind, context.params.get("every", 1))
    return kind.kind


mechanism = click.option(
    "--mechanism", metavar="NAME", callback=_known_mechanism,
    help="independent: noise for each point on its own; sticky: each report also leans on the last "
    "one, which is public; tracking: on the point before too, for the holder of a whole series; "
    "correlated: one chain of flips for the holder of a whole series; or a kind of noise that an "
    "installed package brings.  [default: sticky for two states where it is offered and quickly "
    "found, else independent]",
)  # fmt: skip


def _often(context: click.Context, _option: Any, text: str) -> int | str:
    """A whole number, or "auto"."""
    from chainveil.noise.base import noise_class

    if text in (old := renamed("--every")):
        raise ChainveilError(old[text])
    try:
        every = text if text == "auto" else int(text)
    except ValueError:
        raise click.UsageError(f"--every: {text!r} is not a whole number or auto.") from None
    if context.params.get("mechanism") is not None:
        check_every(noise_class(context.params["mechanism"]), every)
    return every


unit = click.option(
    "--event", "unit", type=int, default=1, show_default=True, metavar="W",
    help="Protect the values of any W consecutive points together (two states).",
)  # fmt: skip

gaps = click.option(
    "--gaps/--no-gaps", default=False, show_default=True, help="Whether points may be missing "
    "anywhere, for all to see: sticky and tracking noise then hold the last report over them.",
)  # fmt: skip

# How often reports are made, and what is one secret.
timing_options = together(
    click.option("--every", metavar="N|auto", default="1", show_default=True, callback=_often,
                 help="Report one point in N, or look for the best N (auto). Silent points are "
                 "protected like the others."),
    unit,
)  # fmt: skip

# What only the search for a plan needs.
search_options = together(
    click.option("--family", "shape", default="uniform", show_default=True,
                 type=Choice(["uniform", "ordinal", "per-state"], renamed("--family")),
                 help="More than two states: any other state alike, near states rather, or noise "
                 "of its own for each state."),
    click.option("--spent", "earlier", type=FILE, multiple=True, metavar="CERTIFICATE",
                 help="An earlier release of the same data: the budget is for both together. May "
                 "be given several times."),
)  # fmt: skip


def read_earlier(paths: tuple[str, ...]) -> list[Any]:
    """The noise of earlier releases, and of those that they were told of themselves."""
    noises: list[Any] = []
    for path in paths:
        plan = read_certificate("spent", path).plan()
        noises += [*plan.earlier, plan.noise]
    return noises


def read_certificate(name: str, path: str) -> Certificate:
    """A certificate that holds, or an error: noise is never taken on trust."""
    from chainveil.certificate import Certificate
    from chainveil.errors import InvalidInput, TooLarge

    certificate = Certificate.read(path)
    result = certificate.verify()
    if result.failures:
        found = f"{path}: {result.failures[0].text}"
        raise InvalidInput(name, found, f"a {name} that can be verified")
    if result.undecided:
        raise TooLarge(f"{name}: {path}: {result.undecided[0]}")
    return certificate


def read_layout(options: dict[str, Any]) -> Layout:
    """Where things stand in the table."""
    from chainveil.table.request.request import Layout

    names = ("column", "series", "time", "step", "max_gap")
    return Layout(**{name: options[name] for name in names}, group=options.get("group"))


def read_kept(options: dict[str, Any]) -> Kept:
    """Which other columns are published; a name with a comma stands in double quotes."""
    import csv

    from chainveil.table.request.kept import make_kept

    names = [name.strip() for line in csv.reader(options["keep"]) for name in line]
    time, form = options["keep_time"], options["time_as"]
    return make_kept(names, time, form, options["allow_leak"])


def read_source(table: str, options: dict[str, Any], text: bool = True) -> FileSource:
    """The table; ``text`` keeps the cells of a text file to the letter."""
    from chainveil.table.read.reading import open_source

    return open_source(table, options["form"], text=text, **read_lines(options))


def read_beside(path: str, options: dict[str, Any]) -> FileSource:
    """One of two tables, by the options that fit it."""
    return read_source(path, fitting(path, options))


def fitting(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Of two tables, --format and --delimiter are for the one that they fit."""
    from chainveil.table.read import formats

    if path == "-" or not formats.told_by(path):
        return options
    is_csv = formats.by_path(path).name == "csv"
    return {**options, "form": None, "delimiter": options["delimiter"] if is_csv else None}


def read_lines(options: dict[str, Any]) -> dict[str, Any]:
    """How the lines of a text file are read, from --no-header, --delimiter and --multiline."""
    return {
        "header": not options["no_header"],
        "delimiter": options["delimiter"],
        "multiline": options["multiline"],
    }


def read_rules(options: dict[str, Any], discretizer: Discretizer | None = None) -> StateRules:
    """How values become states, from --threshold, --states, --labels and --missing."""
    from chainveil.table.request.request import StateRules

    threshold = options["threshold"]
    if threshold is not None and threshold not in ("mean", "median"):
        threshold = _numbers("threshold", threshold)
    return StateRules(
        threshold,
        _texts(options["states"]),
        _labels(options["labels"]),
        options["missing"],
        discretizer,
    )


def read_chain(options: dict[str, Any]) -> tuple[DataModel | None, ChainFile | None]:
    """The chain from a file or from numbers; (None, None) where there is none."""
    path, q, r = (options[name] for name in ("chain_file", "q", "r"))
    if path is not None:
        if q is not None or r is not None:
            raise click.UsageError("Give --chain, or --q with --r, not both.")
        from chainveil.cli.chain_file import read_chain_file

        file = read_chain_file(path)
        return file.chain, file
    if q is None and r is None:
        return None, None
    if q is None or r is None:
        raise click.UsageError("--q and --r belong together.")
    from chainveil.model.chain import MarkovChain

    return _region(q, r) if isinstance(q, tuple) or isinstance(r, tuple) else (
        MarkovChain.binary(q, r)
    ), None  # fmt: skip


def _region(q: Any, r: Any) -> DataModel:
    """All chains between the ends that were given; a number is both ends."""
    from chainveil.model.region import ChainRegion

    first, second = (ends if isinstance(ends, tuple) else (ends, ends) for ends in (q, r))
    return ChainRegion(first, second)


def need_chain(options: dict[str, Any]) -> tuple[DataModel, ChainFile | None]:
    """As :func:`read_chain`, where a chain must be given."""
    chain, file = read_chain(options)
    if chain is None:
        raise click.UsageError("Give a chain: --chain FILE, or --q and --r.")
    return chain, file


def _texts(value: str | None) -> list[Any] | None:
    return None if value is None else [part.strip() for part in value.split(",")]


def _labels(value: str | None) -> list[Any] | None:
    """Labels as numbers where all of them are, else as text."""
    texts = _texts(value)
    if texts is None:
        return None
    try:
        return [int(text) for text in texts]
    except ValueError:
        pass
    try:
        return [read_number("labels", text) for text in texts]
    except click.UsageError:
        return texts


def read_numbers(name: str, value: str, count: int) -> list[float]:
    """So many numbers, with commas between them."""
    found = _numbers(name, value)
    if len(found) != count:
        raise click.UsageError(f"--{name} takes {count} numbers, not {len(found)}.")
    return found


def _numbers(name: str, value: str) -> list[float]:
    return [read_number(name, part) for part in value.split(",")]


def read_number(name: str, text: str) -> float:
    """One number, or an error that names the option."""
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"--{name}: {text!r} is not a number.") from None
