"""``chainveil sanitize``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chainveil.cli import options, private_report
from chainveil.cli.instead import GUESSES, tells_nothing
from chainveil.cli.output import progress, show, warn
from chainveil.privacy.rounding import upper

# Options that go into the promise as they are; all but the budget are part of a plan too.
PROMISE = (
    "epsilon", "max_length", "adversary", "objective", "mechanism", "shape", "every", "unit",
)  # fmt: skip


@click.command()
@click.argument("table")
@click.option("-o", "--output", required=True, help="The release: a file, whose name tells its "
              "format, or - for CSV on standard output.")  # fmt: skip
@options.layout_options
@options.keep_options
@options.discretize_options
@click.option("--epsilon", type=float, help="The privacy budget, in nats.")
@options.chain_options
@click.option("--plan", "plan_file", type=options.FILE, help="Plan written by chainveil calibrate.")
@click.option("--reference", help="Separate public table to fit the chain on.")
@options.order
@options.each_series
@options.promise_options
@options.objective
@options.mechanism
@options.timing_options
@options.search_options
@options.format_options
@click.option("--certificate", type=options.FILE, help="Where the certificate goes; default: "
              "beside the release.")  # fmt: skip
@click.option("--check/--no-check", default=True, show_default=True, help="With --series: say what "
              "the noise loses on each series' own chain; reads TABLE once more.")  # fmt: skip
@click.option("--private-report", type=options.FILE, help="Write that check, a line a series, to "
              "this CSV file: for the holder of TABLE alone, in another folder than the "
              "release.")  # fmt: skip
@click.option("--seed", type=int, help="Reproducible noise, for study only; the certificate "
              "says so.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--engine", type=click.Choice(["here", "spark"]), default="here", show_default=True,
              help="Work on this machine, or on Apache Spark: TABLE may then be a folder, and "
              "the release is a folder of Parquet files.")  # fmt: skip
@click.option("--master", metavar="URL", help="Spark's master, such as local[2] or yarn; default: "
              "what Spark is set up for.")  # fmt: skip
@options.max_seconds
@options.as_json
def sanitize(table: str, output: str, **given: Any) -> None:
    """Publish a column of TABLE (a file, or - for standard input) with a certificate.

    Without --chain, --q and --r, --plan or --reference the chain is fitted on the table
    itself, and rounded so that no count can be read from the certificate, which says so. With
    --series it is one model for each series with enough points, and the promise holds for each.
    The release holds the column and the series; other columns, and the time, only when they
    are named.

    \b
    Example:
      chainveil sanitize heart.csv --column bpm --series person --threshold 60 \\
        --epsilon 1 --q 0.0893 --r 0.1092 -o release.parquet
    """
    from chainveil.cli import earlier
    from chainveil.mechanism.randomness import seeded
    from chainveil.table.write.atomic import real_path
    from chainveil.table.write.publishing import recover, was_written

    rng = None if given["seed"] is None else seeded(given["seed"])
    where = _certificate_goal(output, given["certificate"])
    private_report.check_place(given, output, where)
    if where is not None:
        # What an interrupted run has left is no earlier release.
        recover([real_path(where), *([] if output == "-" else [real_path(output)])])
    known = earlier.certificates(where, given["earlier"])
    check = None
    if given["engine"] == "spark":
        from chainveil.cli.spark import sanitize_folder

        certificate = sanitize_folder(table, output, given, _request(given), rng)
    else:
        if given["master"] is not None:
            raise click.UsageError("--master belongs to --engine spark.")
        certificate, check = _sanitize_here(table, output, given, rng)
    try:
        _tell(certificate, output, where, known, given, check)
    except KeyboardInterrupt as stop:
        raise was_written(output) from stop


def _tell(
    certificate: Any,
    output: str,
    where: Path | None,
    known: Any,
    given: dict[str, Any],
    check: Any,
) -> None:
    """What was written, and what to mind about it."""
    from chainveil.cli import earlier

    _warnings(certificate)
    again = earlier.same_data(certificate, known)
    if again:
        warn(earlier.in_words(certificate, again))
    if where is None:
        warn("no certificate was written; --certificate FILE says where it should go")
    # The release itself may be on standard output.
    if output != "-":
        facts = {
            "release": output, "certificate": str(where), "contents": certificate.document,
            "earlier": [str(path) for path, _ in again],
        }  # fmt: skip
        # For who sits here: neither the certificate nor the release holds anything of it.
        facts |= {} if check is None else {"private_check": private_report.facts(check)}
        usual = given["mechanism"] is None and given["plan_file"] is None
        lines = _lines(certificate, output, str(where))
        lines += private_report.lines(check)
        show(facts, [*lines, *_usual(certificate, usual)], given["as_json"])


def _certificate_goal(output: str, certificate: str | None) -> Path | None:
    """Where the certificate goes: as asked, or beside a release that is not standard output."""
    from chainveil.table.files import certificate_path

    if certificate is not None:
        return Path(certificate)
    return None if output == "-" else certificate_path(output)


def _sanitize_here(table: str, output: str, given: dict[str, Any], rng: Any) -> tuple[Any, Any]:
    """Write the release on this machine; its certificate, and the check of each series."""
    from chainveil.table.files import file_sink
    from chainveil.table.read.formats import by_path
    from chainveil.table.release import release_table
    from chainveil.table.write.publishing import was_written

    typed = output != "-" and not by_path(output, argument="output").is_text
    source = options.read_source(table, given, text=not typed)
    goal = file_sink(output, source, given["certificate"], given["force"])
    request = _request(given)
    prepared: list[Any] = []
    with progress(source.about_rows, given["as_json"]) as tell:
        certificate = release_table(source, goal, request, rng, tell, told=prepared.append)
        try:
            return certificate, private_report.check(source, request, prepared[0], given, tell)
        except KeyboardInterrupt as stop:
            raise was_written(output) from stop


def _request(given: dict[str, Any]) -> Any:
    """What is asked for, from whichever files it comes."""
    from chainveil.table.request.request import Promise, Request

    chain, file = options.read_chain(given)
    discretizer = None if file is None else file.discretizer
    plan = None
    if given["plan_file"] is not None:
        _check_left_to_the_plan()
        plan, discretizer = read_plan(given["plan_file"])
    reference, on_spark = given["reference"], given["engine"] == "spark"
    promise = {name: given[name] for name in PROMISE}
    if on_spark:
        from chainveil.spark.release import named_where_unordered

        promise["mechanism"] = named_where_unordered(given["mechanism"], given["time"])
    return Request(
        options.read_layout(given),
        options.read_rules(given, discretizer),
        Promise(earlier=options.read_earlier(given["earlier"]), **promise),
        chain=chain,
        plan=plan,
        reference=None if reference is None or on_spark else options.read_source(reference, given),
        kept=options.read_kept(given),
        order=given["order"],
        pooled=given["pooled"],
        parts=given["parts"],
    )


def _check_left_to_the_plan() -> None:
    """Error where an option would say again, or otherwise, what the plan says."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(str(option.name))
        part = option.name in (*PROMISE[1:], "earlier")
        if part and given is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[-1]} is part of the plan; leave it out.")


def read_plan(path: str) -> tuple[Any, Any]:
    """A plan that holds, and the limits it was made with."""
    certificate = options.read_certificate("plan", path)
    return certificate.plan(), _limits(certificate)


def _limits(certificate: Any) -> Any:
    """How the plan's values become states, if it says so."""
    from chainveil.table.request.discretize import make_discretizer

    if certificate["discretization"] is None:
        return None
    labels, origin = (certificate[f"discretization.{part}"] for part in ("labels", "origin"))
    edges = certificate["discretization.edges"]
    # A plan does not say what states were called before they were given other labels.
    return make_discretizer(
        threshold=edges or None, states=None if edges else labels, labels=labels, origin=origin
    )


def _warnings(certificate: Any) -> None:
    parts = list(certificate.groups.values()) or [certificate]
    for meaning in {part["chain.meaning"] for part in parts if part["chain.origin"] == "private"}:
        warn(meaning)
    if certificate["discretization.origin"] != "given":
        warn(certificate["discretization.meaning"])
    if certificate["release.gaps"]:
        gaps = certificate["release.gaps"]
        warn(f"{gaps:,} rows have no value; where they are is visible and not protected")
    allowed = certificate["release.allowed_leaks"]
    if allowed:
        warn(f"published without a test for what they say: {', '.join(allowed)}; the promise does "
             "not cover what these columns give away")  # fmt: skip
    if certificate["randomness.source"] == "study":
        warn("seeded noise: " + certificate["randomness.meaning"])
    if certificate["promise.adversary.model"] != "any":
        warn("this holds against " + certificate["promise.adversary.meaning"])
    if any(map(tells_nothing, parts)):
        warn(GUESSES)


def _lines(certificate: Any, output: str, where: str) -> list[tuple[str, str]]:
    rows, series = certificate["release.rows"], certificate["release.series"]
    points = certificate["release.points"]
    told = "" if points is None else f", those of {points:,} that report"
    return [
        ("release", f"{output}: {rows:,} rows in {series:,} series{told}"),
        ("columns", ", ".join(_columns(certificate))),
        ("certificate", where),
        *_noise_lines(certificate),
    ]


def _noise_lines(certificate: Any) -> list[tuple[str, str]]:
    """What the noise loses and changes, and who can make it; of each group by itself."""
    from chainveil.noise.base import NEEDS, noise_class

    against = ("against", certificate["promise.adversary.meaning"])
    if certificate.groups:
        column, number = certificate["groups.column"], len(certificate.groups)
        lines = [("groups", f"{number} by {column}, each with noise of its own"), against]
        for label, part in certificate.groups.items():
            own = (line for line in _noise_lines(part) if line != against)
            lines += [(f"{label}: {name}", text) for name, text in own]
        return lines
    return [
        ("loss", f"at most {upper(certificate['loss.epsilon'], 10)}"),
        against,
        ("changed points", f"{certificate['noise.expected_flips']:.4%} on average"),
        ("made by", NEEDS[noise_class(certificate["noise.mechanism"]).sees]),
    ]


def _usual(certificate: Any, usual: bool) -> list[tuple[str, str]]:
    """What else could have been asked for, where no mechanism was named."""
    if (
        not usual
        or certificate.groups
        or certificate["noise.mechanism"] != "sticky"
        or certificate["noise.every"] > 1
    ):
        return []
    words = "--every auto or --mechanism tracking may tell more within the same budget: chainveil "
    return [("instead", words + "calibrate says how much")]


def _columns(certificate: Any) -> list[str]:
    """What the release holds, the released column first."""
    names = [certificate["release.column"], certificate["release.series_column"]]
    return [name for name in (*names, *certificate["release.kept"]) if name is not None]
