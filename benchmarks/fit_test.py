"""How often the test of the fitted chain flags a release: the table of docs/coverage.md.

    python -m benchmarks.fit_test [--records 20] [--chains 200] [--only TEXT]
    python -m benchmarks.fit_test --table

Releases at epsilon 4 of the heart rates of PhysioNet's meditation database (CHAINVEIL_DATA names
the folder above it), whose states are at or above the mean rate, and of series that chains of order
1 draw. Every line of ``fit_test.csv`` counts releases, those whose likelihood covers all
transitions that the series made (95% each), those that are flagged, and those that neither cover
nor are flagged. Lines that are there already are not computed again; ``--table`` writes them to the
page.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coverage_sticky import RECORDS, record
from chainveil import InvalidInput, MarkovChain, NoisePlan, calibrate
from chainveil.estimate.counts.cells import read_cells
from chainveil.estimate.likelihood.fit_test import fit_test
from chainveil.estimate.likelihood.grouped_fits import fit_groups
from chainveil.estimate.noise_law import as_noise_law
from chainveil.estimate.results import valid_chain
from chainveil.mechanism import seeded

RESULTS = Path(__file__).with_name("fit_test.csv")
PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
BEGIN, END = "<!-- fit test: begin -->", "<!-- fit test: end -->"
FIELDS = ("data", "noise", "epsilon", "points", "releases", "cover", "flagged", "missed")
MECHANISMS = ("independent", "sticky", "tracking")
EPSILON = 4.0
LENGTH = 10_000
CHAINS = {
    "q = .0893, r = .1092": MarkovChain.binary(0.0893, 0.1092),
    "q = .1, r = .15": MarkovChain.binary(0.1, 0.15),
    "q = .01, r = .02": MarkovChain.binary(0.01, 0.02),
}


def settings(records: int, chains: int) -> Iterator[tuple[str, Any, int]]:
    """Names, what the data are, and how many releases."""
    for name in RECORDS:
        x = record(name)
        if x is not None:
            yield f"heart rate {name}", x, records
    for name, chain in CHAINS.items():
        yield name, chain, chains


def counted(data: Any, plan: NoisePlan, releases: int) -> dict[str, int]:
    """Releases that cover, that are flagged, and that are neither."""
    law = as_noise_law(plan)
    found = {"releases": 0, "cover": 0, "flagged": 0, "missed": 0}
    for seed in range(releases):
        x = data.sample(LENGTH, rng=seed) if isinstance(data, MarkovChain) else data
        z = plan.sanitize(x, rng=seeded(seed))
        try:
            best = fit_groups(read_cells(z, 2), law, 0.95)
        except InvalidInput:
            return found
        made = MarkovChain.fit(x, public=True).transition
        _, _, low, high, *_ = best.answer("noise")
        covers = bool(np.all((low[0] <= made) & (made <= high[0])))
        flagged = fit_test(best.parts, law, [valid_chain(best.fits[0].transition)]).misfit
        found["releases"] += 1
        found["cover"] += covers
        found["flagged"] += flagged
        found["missed"] += not covers and not flagged
    return found


def table(results: Path) -> str:
    """The lines of the file that have releases, as a table."""
    with results.open(encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if int(line["releases"])]
    names = ["series", "noise", "points", "releases", "cover", "flagged", "neither"]
    rows = [
        [line["data"], line["noise"], f"{int(line['points']):,}", line["releases"], line["cover"],
         line["flagged"], line["missed"]]
        for line in lines
    ]  # fmt: skip
    return "\n".join("| " + " | ".join(row) + " |" for row in (names, ["---"] * 7, *rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--records", type=int, default=20)
    parser.add_argument("--chains", type=int, default=200)
    parser.add_argument("--only", default="", help="lines whose name holds this")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="write the table of the page")
    given = parser.parse_args()
    if given.table:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        text = f"{before}{BEGIN}\n{table(given.results)}\n{END}{rest.split(END)[1]}"
        PAGE.write_text(text, encoding="utf-8")
        return
    held = set()
    if given.results.exists():
        with given.results.open(encoding="utf-8") as file:
            held = {(line["data"], line["noise"]) for line in csv.DictReader(file)}
    for mechanism in MECHANISMS:
        for name, data, releases in settings(given.records, given.chains):
            if not releases or (name, mechanism) in held or given.only not in f"{name} {mechanism}":
                continue
            begin = time.monotonic()
            chain = data if isinstance(data, MarkovChain) else MarkovChain.fit(data, public=True)
            plan = calibrate(chain, EPSILON, mechanism=mechanism)
            points = LENGTH if isinstance(data, MarkovChain) else len(data)
            line = {"data": name, "noise": mechanism, "epsilon": f"{EPSILON:g}", "points": points}
            _save(given.results, line | counted(data, plan, releases))
            print(f"{name:24s} {mechanism:12s} {time.monotonic() - begin:6.0f} s", flush=True)


def _save(path: Path, line: dict[str, Any]) -> None:
    begin = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if begin:
            lines.writeheader()
        lines.writerow(line)


if __name__ == "__main__":
    main()
