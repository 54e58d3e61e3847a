"""``chainveil demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chainveil.cli import options
from chainveil.cli.output import note, show

SEED, SERIES, MINUTES = 2026, 20, 1500
Q, R = 0.0893, 0.1092


@click.command()
@click.option("--folder", default="demo", show_default=True, type=click.Path(file_okay=False),
              help="Where the results go.")  # fmt: skip
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="The budget.")
@options.as_json
def demo(folder: str, epsilon: float, as_json: bool) -> int:
    """Do the whole job on built-in data: fit, calibrate, sanitize, verify, attack, draw.

    The data are 20 series of simulated heart beats from a known chain. Every step is the
    command that is printed above it.

    \b
    Example:
      chainveil demo --epsilon 2
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    write_sample(place / "heart.csv")
    for step in steps(place, epsilon):
        code = _run(step, as_json)
        if code:
            return code
    picture = _picture(place)
    found = sorted(str(path) for path in place.iterdir())
    show({"files": found, "picture": picture}, [("", ""), ("files", " ".join(found))], as_json)
    return 0


def steps(place: Path, epsilon: float) -> list[list[str]]:
    """The commands of the demo."""
    table, chain, plan = (str(place / n) for n in ("heart.csv", "chain.json", "plan.json"))
    release, certificate = (str(place / n) for n in ("release.parquet", "release.certificate.json"))
    where = ["--column", "bpm", "--series", "person", "--time", "minute"]
    states = ["--threshold", "60", "--labels", "low,high"]
    return [
        ["fit", table, *where, *states, "-o", chain, "--force"],
        ["calibrate", "--chain", chain, "--epsilon", f"{epsilon:g}", "-o", plan, "--force"],
        ["sanitize", table, *where, *states, "--plan", plan, "-o", release, "--force"],
        ["verify", certificate, release],
        ["attack", release, "--original", table],
    ]


def write_sample(path: Path) -> None:
    """Simulated heart rates: below 60 in state 0, above in state 1."""
    import numpy as np

    from chainveil.chain import MarkovChain
    from chainveil.table.atomic import drafts

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
        click.echo(click.style("\n$ chainveil " + " ".join(step), bold=True))
        return run(step)
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        return run(step)


def _picture(place: Path) -> str | None:
    """Original, release and posterior of the first series; None without matplotlib."""
    from chainveil.errors import MissingExtra

    try:
        from chainveil.plot import release_figure, save

        return str(save(release_figure(**_first_series(place)), place / "release.png"))
    except MissingExtra as error:
        note(str(error))
        return None


def _first_series(place: Path, points: int = 240) -> dict[str, Any]:
    import pyarrow.csv
    import pyarrow.parquet

    from chainveil.attack import Posterior
    from chainveil.certificate import Certificate

    original = pyarrow.csv.read_csv(place / "heart.csv").slice(0, MINUTES)
    released = pyarrow.parquet.read_table(place / "release.parquet").slice(0, MINUTES)
    states = (original["bpm"].to_numpy() >= 60).astype("uint8")
    reports = (released["bpm"].to_numpy(zero_copy_only=False) == "high").astype("uint8")
    plan = Certificate.read(place / "release.certificate.json").plan()
    posterior = Posterior(plan.chain, plan.channel).probabilities(reports)[:, 1]
    return {
        "original": states[:points], "released": reports[:points], "posterior": posterior[:points],
        "title": f"Heart rate above 60, ε = {plan.epsilon:g}",
    }  # fmt: skip
