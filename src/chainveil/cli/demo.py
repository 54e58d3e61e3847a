"""``chainveil demo``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.fetching import PHYSIONET
from chainveil.cli.output import note, show
from chainveil.text import printable

SEED, SERIES, MINUTES = 2026, 20, 1500
Q, R = 0.0893, 0.1092
RECORD = "N10"
# Each report leans on the one before it: docs/memory.md.
MECHANISM = "sticky"
SHOWN = 240
# A demo must not wait for a network that is not there.
SECONDS = 4.0


@dataclass(frozen=True)
class Sample:
    """A table to show things on.

    Attributes
    ----------
    table : Path
    reading, columns, states : lists of options
        How the file is read, where things stand in it, how values become states.
    title : str
        What the picture shows.
    """

    table: Path
    reading: list[str]
    columns: list[str]
    states: list[str]
    title: str


@click.command()
@click.option("--folder", default="demo", show_default=True, type=click.Path(file_okay=False),
              help="Where the results go.")  # fmt: skip
@click.option("--epsilon", type=float, default=2.0, show_default=True, help="The budget.")
@click.option("--offline", is_flag=True, help="Leave out the heart beats from PhysioNet.")
@click.option("--data", metavar="FOLDER", type=click.Path(file_okay=False),
              envvar="CHAINVEIL_DATA", show_envvar=True, help="Folder with PhysioNet's files, in "
              "which to look before the network is asked.")  # fmt: skip
@click.option("--mirror", default=PHYSIONET, show_default=True, envvar="CHAINVEIL_MIRROR",
              show_envvar=True, metavar="URL", help="Where PhysioNet's files lie.")  # fmt: skip
@options.as_json
def demo(
    folder: str, epsilon: float, offline: bool, data: str | None, mirror: str, as_json: bool
) -> int:
    """Do the whole job on built-in data: fit, calibrate, sanitize, verify, attack, show.

    The noise is sticky: each report leans on the one before it. The picture shows the release
    beside what independent noise makes of the same series at the same budget. The data are 20
    series of simulated heart beats from a known chain, and, where --data, the network or an
    earlier demo brings them, the real ones of PhysioNet's record N10. Every step is the command
    that is printed above it. It ends with two pages to open in a browser: one for whoever receives
    the release, and one for its curator, which is private, in a folder of its own.

    \b
    Example:
      chainveil demo --epsilon 4
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    write_sample(place / "heart.csv")
    tasks = [(place, simulated(place / "heart.csv"))]
    record, reason = (None, "left out") if offline else _record(data, mirror)
    if record is not None:
        (place / RECORD).mkdir(exist_ok=True)
        tasks.append((place / RECORD, _recorded(record)))
    for where, sample in tasks:
        for step in steps(where, sample, epsilon):
            code = _run(step, as_json)
            if code:
                return code
    pages = page_steps(*tasks[0])
    for step in pages.values():
        code = _run(step, as_json)
        if code:
            return code
    shown = [_comparison(where, sample) for where, sample in tasks]
    pictures = [_picture(where, one) for (where, _), one in zip(tasks, shown, strict=True)]
    found = sorted(str(path) for path in place.rglob("*") if path.is_file())
    facts = {
        "files": found, "picture": pictures[0],
        "pages": {name: step[-2] for name, step in pages.items()},
        "wrong": [one.wrong for one in shown],
        "record": {"name": RECORD, "path": record and str(record), "reason": reason},
    }  # fmt: skip
    lines = [("", ""), *(line for one in shown for line in one.lines()), ("files", " ".join(found))]
    if reason is not None:
        lines.append((RECORD, reason))
    lines += [(f"{name} page", f"open {Path(step[-2]).resolve().as_uri()} in a browser")
              for name, step in pages.items()]  # fmt: skip
    show(facts, lines, as_json)
    return 0


def simulated(table: Path) -> Sample:
    """The table of :func:`write_sample`."""
    columns = ["--column", "bpm", "--series", "person", "--time", "minute"]
    states = ["--threshold", "60", "--labels", "low,high"]
    return Sample(table, [], columns, states, "Heart rate above 60")


def _recorded(table: Path) -> Sample:
    """Seconds and beats a minute, without a header: the form of PhysioNet's collection."""
    columns = ["--column", "column2", "--time", "column1"]
    states = ["--threshold", "mean", "--labels", "low,high"]
    reading = ["--format", "text", "--no-header"]
    return Sample(table, reading, columns, states, "Record N10, heart rate above its mean")


def _record(data: str | None, mirror: str) -> tuple[Path | None, str | None]:
    """PhysioNet's record, or one line that says why it is not there."""
    from chainveil.cli.fetching import fetch, held_in
    from chainveil.errors import ChainveilError

    name = f"meditation/{RECORD}"
    try:
        held = held_in(data, name) if data else None
        return held or fetch(name, mirror, SECONDS), None
    except (ChainveilError, OSError) as error:
        return None, f"left out: {error}"


def steps(place: Path, sample: Sample, epsilon: float) -> list[list[str]]:
    """The commands of the demo."""
    table = str(sample.table)
    chain, plan, release, certificate = (
        str(place / name)
        for name in ("chain.json", "plan.json", "release.parquet", "release.certificate.json")
    )
    where = [table, *sample.reading, *sample.columns]
    # The simulated persons all follow one chain.
    one = ["--pooled"] if "--series" in sample.columns else []
    return [
        ["fit", *where, *sample.states, *one, "-o", chain, "--force"],
        ["calibrate", "--chain", chain, "--epsilon", f"{epsilon:g}", "--mechanism", MECHANISM,
         "-o", plan, "--force"],
        # Positions, not times: the time between two beats is the heart rate.
        ["sanitize", *where, "--time-as", "index", "--plan", plan, "-o", release, "--force"],
        ["verify", certificate, release],
        ["attack", release, "--original", table, *sample.reading],
    ]  # fmt: skip


def page_steps(place: Path, sample: Sample) -> dict[str, list[str]]:
    """The commands that write the two pages; none without the extra that they need."""
    from importlib.util import find_spec

    if any(find_spec(package) is None for package in ("altair", "jinja2", "vl_convert")):
        note("no pages: they need pip install 'chainveil[report]'")
        return {}
    private = place / "private"
    private.mkdir(exist_ok=True)
    report = ["report", str(place / "release.certificate.json"), str(place / "release.parquet")]
    original = ["--private", "--original", str(sample.table), *sample.reading]
    return {
        "public": [*report, "-o", str(place / "release.report.html"), "--force"],
        "private": [*report, *original, "-o", str(private / "curator.html"), "--force"],
    }


def write_sample(path: Path) -> None:
    """Simulated heart rates: below 60 in state 0, above in state 1."""
    import numpy as np

    from chainveil.model.chain import MarkovChain
    from chainveil.table.write.atomic import drafts

    states = MarkovChain.binary(Q, R).sample(MINUTES, SERIES, rng=SEED)
    spread = np.random.default_rng(SEED).gamma(2.0, 2.0, states.shape)
    rates = np.where(states == 1, 60 + spread, 59.9 - spread)
    with drafts([path], force=True) as (draft,):
        draft.file.write(b"person,minute,bpm\n")
        for person, row in enumerate(rates, start=1):
            lines = (f"{person},{minute},{rate:.1f}\n" for minute, rate in enumerate(row))
            draft.file.write("".join(lines).encode())


def _run(step: list[str], as_json: bool) -> int:
    from chainveil.cli import run

    if not as_json:
        click.echo(click.style("\n$ chainveil " + printable(" ".join(step)), bold=True))
        return run(step)
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        return run(step)


@dataclass(frozen=True)
class Comparison:
    """One series of the release, beside the same series under independent noise.

    Attributes
    ----------
    title : str
    original, released, independent : arrays of n states
    posterior : array of n floats
        Probability of state 1 at each point given the whole release.
    wrong : mapping of mechanism to float
        Share of points that the noise changes on average.
    """

    title: str
    original: Any
    released: Any
    independent: Any
    posterior: Any
    wrong: dict[str, float]

    def lines(self) -> list[tuple[str, str]]:
        """What the same budget buys with either noise."""
        words = ", ".join(f"{share:.1%} with {name} noise" for name, share in self.wrong.items())
        return [("wrong reports", f"{words} ({self.title})")]


def _comparison(place: Path, sample: Sample) -> Comparison:
    """The first series of the release. Independent noise is drawn for the picture alone."""
    from chainveil.attack import Posterior
    from chainveil.calibration import calibrate
    from chainveil.certificate import Certificate

    document = Certificate.read(place / "release.certificate.json")
    truth, reports = _first_series(place, sample, document)
    plan = document.plan()
    other = calibrate(plan.chain, plan.epsilon)
    return Comparison(
        f"{sample.title}, ε = {plan.epsilon:g}", truth, reports, other.sanitize(truth),
        Posterior(plan.chain, plan.noise).probabilities(reports)[:, 1],
        {"independent": other.expected_flips, plan.mechanism: plan.expected_flips},
    )  # fmt: skip


def _first_series(place: Path, sample: Sample, document: Any) -> tuple[Any, Any]:
    """The states of the first series, and its reports."""
    from chainveil.table.read.reading import open_source
    from chainveil.table.released.comparing import compare

    form, header = ("text", False) if sample.reading else (None, True)
    held = compare(
        document, open_source(sample.table, form, header), open_source(place / "release.parquet")
    )
    several = isinstance(held.truth, list)
    truth, reports = (part[0] if several else part for part in (held.truth, held.seen))
    return truth, reports


def _picture(place: Path, shown: Comparison) -> str | None:
    """The comparison, drawn; None without matplotlib. It shows the original: not for release."""
    from chainveil.errors import MissingExtra

    try:
        from chainveil.plot import release_figure, save

        rows = {"independent\nnoise": shown.independent[:SHOWN],
                "release,\nsticky noise": shown.released[:SHOWN]}  # fmt: skip
        title = f"{shown.title}: {SHOWN} points of {place.name}/release.parquet"
        figure = release_figure(shown.original[:SHOWN], rows, shown.posterior[:SHOWN], title)
        return str(save(figure, place / "release.png"))
    except MissingExtra as error:
        note(str(error))
        return None
