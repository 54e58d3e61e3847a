"""The tables of coverage in docs/coverage.md, from the file that the experiment leaves."""

from __future__ import annotations

import csv
from pathlib import Path

BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
HEAD = ("chain", "noise", "epsilon", "points")
Line = dict[str, str]
COUNTS = (
    ("frequency", "noise"),
    ("frequency", "sampling"),
    ("transitions", "noise"),
    ("transitions", "sampling"),
    ("durations", "noise"),
    ("durations", "sampling"),
    ("autocorrelation", "noise"),
    ("autocorrelation", "sampling"),
)
STICKY = (
    ("frequency", "noise"),
    ("pairs", "noise"),
    ("transitions", "noise"),
    ("durations", "noise"),
    ("autocorrelation", "noise"),
)


def read_lines(results: Path) -> list[Line]:
    """All lines of the file."""
    with results.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_setting(lines: list[Line]) -> dict[tuple[str, ...], dict[tuple[str, ...], Line]]:
    """Lines by setting, then by question and meaning."""
    found: dict[tuple[str, ...], dict[tuple[str, ...], Line]] = {}
    for line in lines:
        setting = tuple(line[name] for name in HEAD)
        answer = line["question"], line["covers"]
        found.setdefault(setting, {})[answer] = line
    chains = list(dict.fromkeys(line["chain"] for line in lines))

    def place(setting: tuple[str, ...]) -> tuple[int, int, float, bool]:
        chain, noise, epsilon, points = setting
        return int(points), chains.index(chain), float(epsilon), noise == "correlated"

    return {setting: found[setting] for setting in sorted(found, key=place)}


def shares(line: Line | None) -> str:
    """Lowest and highest coverage; a dash, or brackets, where the question is refused."""
    if line is None:
        return "–"
    low, high = f"{float(line['lowest']):.1f}", f"{float(line['highest']):.1f}"
    text = low if low == high else f"{low}–{high}"
    apart = {"frequency": 0, "autocorrelation": 5}.get(line["question"], 1)
    refused = int(line["needed"]) > int(line["points"]) - apart
    return f"({text})" if refused else text


def counts_table(lines: list[Line]) -> list[str]:
    """All answers, a line a setting, with the mean width of a transition's interval."""
    names = [f"{question}, {covers}" for question, covers in COUNTS]
    more = ["width of transitions", "pairs needed"]
    table = _head(["chain", "noise", "ε", "points", *names, *more])
    for setting, answers in by_setting(lines).items():
        if COUNTS[0] in answers:
            steps = answers["transitions", "noise"]
            extra = [f"{float(steps['width']):.2g}", f"{int(steps['needed']):,}"]
            cells = [shares(answers.get(answer)) for answer in COUNTS]
            table.append(_row([*_named(setting), *cells, *extra]))
    return table


def sticky_table(lines: list[Line]) -> list[str]:
    """Answers from sticky releases, without a model, a line a setting."""
    names = [question for question, _ in STICKY]
    table = _head(["series", "ε", "points", *names, "width of a share", "of transitions"])
    for setting, answers in by_setting(lines).items():
        widths = [answers[STICKY[place]]["width"] for place in (0, 2)]
        cells = [shares(answers.get(answer)) for answer in STICKY]
        width = [f"{float(number):.2g}" for number in widths]
        name, _, *rest = _named(setting)
        table.append(_row([name, *rest, *cells, *width]))
    return table


def tables(results: Path) -> str:
    """All tables as one text."""
    lines = read_lines(results)
    sticky = [line for line in lines if line["noise"] == "sticky"]
    other = [line for line in lines if line["noise"] != "sticky"]
    parts = [counts_table(other), *([sticky_table(sticky)] if sticky else [])]
    return "\n\n".join("\n".join(part) for part in parts)


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
