"""The table of noise in docs/finite-states.md: ``python docs/tables/finite_states.py``.

Wrong reports of each kind of noise within a budget, for every length and any adversary, on four
levels of a recorded heart rate (see ``heart_rate.py`` beside this file), the four levels of the
page and five sleep stages. Plans are made one by one, the quick ones first, and kept beside this
file in finite_states.csv, with the seconds of one processor; ``--again`` makes anew those that are
there already. The table in the page shows what is kept. Some plans take many minutes.
"""

from __future__ import annotations

import csv
import sys
import time
from itertools import product
from pathlib import Path

from heart_rate import quarters

import chainveil as cv

HERE = Path(__file__).resolve().parent
PAGE, KEPT = HERE.parent / "finite-states.md", HERE / "finite_states.csv"
BEGIN, END = "<!-- noise: begin -->\n", "<!-- noise: end -->"
BUDGETS = (1.0, 2.0, 4.0)

LEVELS = cv.MarkovChain(
    [
        [0.95, 0.04, 0.01, 0.0],
        [0.06, 0.88, 0.05, 0.01],
        [0.01, 0.1, 0.84, 0.05],
        [0.0, 0.02, 0.1, 0.88],
    ]
)
# Wake, REM, N1, N2, N3, in epochs of 30 seconds; the numbers are made up for illustration.
STAGES = cv.MarkovChain(
    [
        [0.89, 0.0, 0.1, 0.01, 0.0],
        [0.02, 0.92, 0.03, 0.03, 0.0],
        [0.12, 0.06, 0.56, 0.26, 0.0],
        [0.015, 0.02, 0.025, 0.9, 0.04],
        [0.01, 0.0, 0.01, 0.06, 0.92],
    ]
)
# Four levels of a heart rate: as fitted on the record, which is public.
CHAINS = {
    "heart rate": lambda: cv.MarkovChain.fit(quarters("N5"), states=4, public=True),
    "four levels": lambda: LEVELS,
    "five stages": lambda: STAGES,
}
NOISES: dict[str, dict[str, str]] = {
    "randomized response": {},
    "ordinal": {"shape": "ordinal"},
    "per-state": {"shape": "per-state"},
    "sticky response": {"mechanism": "sticky"},
}
Row = dict[str, str]
COLUMNS = ("chain", "noise", "thinned", "epsilon", "wrong", "every", "loss", "seconds")


def plan_row(chain: str, noise: str, thinned: bool, epsilon: float) -> Row:
    """One plan; ``wrong`` is the share of points that differ from the report for them."""
    begin = time.process_time()
    rhythm = "auto" if thinned else 1
    plan = cv.calibrate(CHAINS[chain](), epsilon, every=rhythm, **NOISES[noise])  # type: ignore[call-overload]
    assert plan.loss.epsilon <= epsilon
    found = (
        chain, noise, str(thinned), f"{epsilon:g}", f"{plan.expected_flips:.6f}",
        str(plan.noise.every), f"{plan.loss.epsilon:.6f}", f"{time.process_time() - begin:.1f}",
    )  # fmt: skip
    return dict(zip(COLUMNS, found, strict=True))


def keep(rows: list[Row]) -> None:
    """Write all rows, beside and renamed."""
    draft = KEPT.with_suffix(".draft")
    with draft.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draft.replace(KEPT)


def table(rows: list[Row]) -> str:
    """A line for each chain and noise, a column for each budget; a dash where there is no plan."""
    cells = {(r["chain"], r["noise"], r["thinned"], r["epsilon"]): r for r in rows}
    lines = ["| chain | noise | reports | " + " | ".join(f"epsilon {e:g}" for e in BUDGETS) + " |"]
    lines.append("|---|---|---|" + "---|" * len(BUDGETS))
    for chain in CHAINS:
        for noise in NOISES:
            for thinned in (False, True):
                found = [cells.get((chain, noise, str(thinned), f"{e:g}")) for e in BUDGETS]
                if any(found):
                    name = "one in B" if thinned else "every point"
                    shown = " | ".join(_cell(row, thinned) for row in found)
                    lines.append(f"| {chain} | {noise} | {name} | {shown} |")
    return "\n".join(lines) + "\n"


def _cell(row: Row | None, thinned: bool) -> str:
    if row is None:
        return "-"
    share = f"{100 * float(row['wrong']):.1f} %"
    return f"{share} (B = {row['every']})" if thinned else share


def write(rows: list[Row]) -> None:
    """The page with its table made anew."""
    before, rest = PAGE.read_text().split(BEGIN)
    draft = PAGE.with_suffix(".draft")
    draft.write_text(f"{before}{BEGIN}{table(rows)}{END}{rest.split(END)[1]}")
    draft.replace(PAGE)


def main(again: bool) -> None:
    """Make the plans that are missing, and the table of all."""
    rows: list[Row] = []
    if KEPT.exists() and not again:
        with KEPT.open(newline="") as file:
            rows = list(csv.DictReader(file))
    there = {(r["chain"], r["noise"], r["thinned"], r["epsilon"]) for r in rows}
    # The quick ones first: noise with one number, and large budgets, since noise that hides almost
    # everything takes the longest to certify.
    asked = product((False, True), NOISES, CHAINS, reversed(BUDGETS))
    for thinned, noise, chain, epsilon in asked:
        if (chain, noise, str(thinned), f"{epsilon:g}") not in there:
            rows.append(plan_row(chain, noise, thinned, epsilon))
            print(", ".join(rows[-1].values()), flush=True)
            keep(rows)
            write(rows)
    write(rows)


if __name__ == "__main__":
    main("--again" in sys.argv[1:])
