"""The tables of coverage in docs/estimates.md, from the file that the experiment leaves."""

from __future__ import annotations

import csv
from pathlib import Path

BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
HEAD = ("chain", "noise", "epsilon", "points")
Line = dict[str, str]
COUNTS = (
    ("frequency", "counts", "noise"),
    ("transitions", "counts", "noise"),
    ("transitions", "counts", "sampling"),
    ("durations", "counts", "noise"),
    ("durations", "counts", "sampling"),
    ("autocorrelation", "counts", "noise"),
    ("autocorrelation", "counts", "sampling"),
)
FITS = (
    ("frequency", "counts", "sampling"),
    ("transitions", "likelihood", "noise"),
    ("transitions", "likelihood", "sampling"),
    ("durations", "likelihood", "noise"),
    ("durations", "likelihood", "sampling"),
)


def read_lines(results: Path) -> list[Line]:
    """All lines of the file."""
    with results.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_setting(lines: list[Line]) -> dict[tuple[str, ...], dict[tuple[str, ...], Line]]:
    """Lines by setting, then by question, method and meaning."""
    found: dict[tuple[str, ...], dict[tuple[str, ...], Line]] = {}
    for line in lines:
        setting = tuple(line[name] for name in HEAD)
        answer = line["question"], line["method"], line["covers"]
        found.setdefault(setting, {})[answer] = line
    return dict(sorted(found.items(), key=lambda pair: (int(pair[0][3]), pair[0][0][:1] == "4")))


def shares(line: Line | None) -> str:
    """Lowest and highest coverage, or a dash where the question is refused."""
    if line is None:
        return "–"
    low, high = float(line["lowest"]), float(line["highest"])
    return f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f}–{high:.1f}"


def counts_table(lines: list[Line]) -> list[str]:
    """Answers from counts, a line a setting, with the mean width of a transition's interval."""
    names = [f"{question}, {covers}" for question, _, covers in COUNTS]
    table = _head(["chain", "noise", "ε", "points", *names, "width of transitions"])
    for setting, answers in by_setting(lines).items():
        if COUNTS[0] in answers:
            steps = answers.get(COUNTS[1])
            width = "–" if steps is None else f"{float(steps['width']):.2g}"
            table.append(_row([*_named(setting), *(shares(answers.get(q)) for q in COUNTS), width]))
    return table


def fits_table(lines: list[Line]) -> list[str]:
    """Answers that need a fit, with mean squared errors beside those of counts."""
    names = [f"{question}, {covers}" for question, _, covers in FITS]
    more = ["width of transitions", "squared error over that of counts", "repetitions"]
    table = _head(["chain", "noise", "ε", "points", *names, *more])
    for setting, answers in by_setting(lines).items():
        if FITS[0] in answers:
            steps = answers.get(FITS[2])
            extra = ["–", "–"]
            if steps is not None:
                extra = [f"{float(steps['width']):.2g}", squared(steps)]
            cells = [shares(answers.get(answer)) for answer in FITS]
            count = f"{int(answers[FITS[0]]['repetitions']):,}"
            table.append(_row([*_named(setting), *cells, *extra, count]))
    return table


def squared(line: Line) -> str:
    """The ratio of mean squared errors; how many simulation errors it is above one, if it is."""
    above = float(line["mse_z"])
    return f"{float(line['mse']):.2g}" + (f" ({above:+.1f} errors)" if above > 0 else "")


def tables(results: Path) -> str:
    """Both tables as one text."""
    lines = read_lines(results)
    return "\n".join([*counts_table(lines), "", *fits_table(lines)])


def write_tables(results: Path, page: Path) -> None:
    """Put the tables between their marks on the page."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    page.write_text(
        f"{before}{BEGIN}\n{tables(results)}\n{END}{rest.split(END)[1]}", encoding="utf-8"
    )


def _named(setting: tuple[str, ...]) -> list[str]:
    return [*setting[:3], f"{int(setting[3]):,}"]


def _head(names: list[str]) -> list[str]:
    return [_row(names), "|" + "---|" * len(names)]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
