"""What a comparison holds, and how it is handed on: as a frame, as JSON, as a page."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chainveil.comparison.recommend import ASKS, For, Recommendation
from chainveil.comparison.rows import Row
from chainveil.comparison.settings import Refused
from chainveil.errors import InvalidInput
from chainveil.estimate.answer_table import Kind, framed
from chainveil.notebook import card, grid
from chainveil.privacy.rounding import exact

PRIVATE = (
    "private: these figures were computed from the data themselves, exactly; keep them where the "
    "data are kept"
)
ENDINGS = (".json", ".csv", ".html")


@dataclass(frozen=True)
class About:
    """What was compared on.

    Attributes
    ----------
    question : "share", "episodes" or "points"
    points, series : int
    of_a_series : int
        Points of the series that figures are for.
    chain : str
        The chain that figures were computed for, and where it comes from.
    noise_for : str
        The model that noise keeps its budget for: of several series that are fitted, a family.
    own_series : int
        Series whose own models were looked at.
    simulated : str
        What was simulated, and how.
    """

    question: For
    points: int
    series: int
    of_a_series: int
    chain: str
    noise_for: str
    own_series: int
    simulated: str


@dataclass(frozen=True, repr=False)
class Comparison:
    """Every setting that a case allows, at every budget, and which to take.

    Attributes
    ----------
    about : About
    rows : tuple of Row
        By budget and setting.
    refused : tuple of Refused
        Settings that are not compared, with the reason.
    recommendations : tuple of Recommendation
        One for each budget.
    arguments : dict
        What was said of the table, in the words of :func:`chainveil.sanitize_table`.
    words : tuple of str
        The same as words of a command, from the table on; empty where no command can say it.

    Examples
    --------
    >>> import chainveil as cv
    >>> series = [cv.MarkovChain.binary(0.1, 0.2).sample(2000, rng=n) for n in range(3)]
    >>> found = cv.compare(series, epsilon=[2.0], for_="points", mechanism=["independent"])
    >>> found.best(2.0).row.every > 1
    True
    """

    about: About
    rows: tuple[Row, ...]
    refused: tuple[Refused, ...]
    recommendations: tuple[Recommendation, ...]
    arguments: dict[str, Any]
    words: tuple[str, ...] = ()

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The budgets, in order."""
        return tuple(found.epsilon for found in self.recommendations)

    def best(self, epsilon: float) -> Recommendation:
        """The recommendation for a budget."""
        for found in self.recommendations:
            if found.epsilon == epsilon:
                return found
        budgets = " or ".join(map(exact, self.epsilons))
        raise InvalidInput("epsilon", epsilon, f"one that was compared: {budgets}")

    def call(self, epsilon: float) -> dict[str, Any]:
        """Arguments of ``sanitize_table``, after the table, for the release recommended."""
        row = self._row(epsilon)
        return {**self.arguments, "epsilon": epsilon, **row.setting.asked}

    def command(self, epsilon: float, output: str | None = None) -> str:
        """The command for the release recommended; an error where the table is no file."""
        if not self.words:
            raise InvalidInput(
                "table", "a frame or arrays, or a chain that options cannot say", "a file",
                "sanitize_table(table, **comparison.call(epsilon)) makes the release.",
            )  # fmt: skip
        options = [("--epsilon", exact(epsilon))]
        options += [
            (f"--{name}", str(value)) for name, value in self._row(epsilon).setting.asked.items()
        ]
        options.append(("--output", output or _beside(self.words[0])))
        return shlex.join(["chainveil", "sanitize", *self.words, *(w for o in options for w in o)])

    def _row(self, epsilon: float) -> Row:
        found = self.best(epsilon)
        if found.row is None:
            raise InvalidInput("epsilon", epsilon, "a budget with a recommendation", found.reason)
        return found.row

    @property
    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "about": {**vars(self.about), "asks": ASKS[self.about.question], "private": PRIVATE},
            "rows": [row.facts for row in self.rows],
            "refused": [
                {**vars(one.setting), "epsilon": one.epsilon, "reason": one.reason}
                for one in self.refused
            ],
            "recommendations": [self._recommended(found) for found in self.recommendations],
        }

    def _recommended(self, found: Recommendation) -> dict[str, Any]:
        facts = {"epsilon": found.epsilon, "reason": found.reason, "warning": found.warning}
        if found.row is None:
            return {**facts, "setting": None, "command": None}
        command = self.command(found.epsilon) if self.words else None
        return {**facts, "setting": vars(found.row.setting), "command": command}

    def to_json(self) -> str:
        """All of it as JSON; null stands for a figure that there is none of."""
        return json.dumps(self.facts, indent=2, ensure_ascii=False)

    def to_frame(self, kind: Kind | None = None) -> Any:
        """A line a row; ``recommended`` marks those to take.

        ``kind`` is "pandas", "polars" or "arrow"; by default pandas where it is installed.
        """
        taken = [found.row for found in self.recommendations]
        lines = [row.facts | {"recommended": any(row is one for one in taken)} for row in self.rows]
        return framed({name: [line[name] for line in lines] for name in (lines or [{}])[0]}, kind)

    def page(self) -> Any:
        """A page (``chainveil.report.Page``) with the trade-off drawn; needs the extra report."""
        from chainveil.comparison.page import page

        return page(self)

    def plot(self) -> Any:
        """The trade-off as a chart of Altair: error for the question against the budget."""
        from chainveil.comparison.page import chart

        return chart(self)

    def save(self, path: str | os.PathLike[str], force: bool = False) -> Path:
        """Write it as .json, .csv or .html, whole or not at all."""
        from chainveil.table.write.atomic import drafts

        goal = check_ending(path)
        written = self._written(goal.suffix.lower())
        with drafts([goal], force) as (draft,):
            draft.file.write(written)
        return goal

    def _written(self, ending: str) -> bytes:
        if ending == ".html":
            return self.page().html().encode()  # type: ignore[no-any-return]
        if ending == ".json":
            return self.to_json().encode()
        import io

        from pyarrow import csv

        text = io.BytesIO()
        csv.write_csv(self.to_frame("arrow"), text)
        return text.getvalue()

    def __repr__(self) -> str:
        lines = [f"Comparison for {self.about.question}: {len(self.rows)} rows, {PRIVATE}"]
        for found in self.recommendations:
            name = "none" if found.row is None else found.row.name
            lines.append(f"  epsilon {exact(found.epsilon)}: {name}: {found.reason}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        names = ("epsilon", "setting", "wrong reports", "after smoothing", "share ±", "attacker")
        rows = [
            (exact(row.epsilon), row.name, f"{row.figures.wrong:.1%}",
             f"{row.figures.smoothed:.1%}",
             "" if row.figures.share is None else f"{row.figures.share.half_width:.4f}",
             f"{row.figures.attacked.success:.1%}")
            for row in self.rows
        ]  # fmt: skip
        lines = [
            (f"epsilon {exact(found.epsilon)}",
             "none" if found.row is None else f"{found.row.name}: {found.reason}")
            for found in self.recommendations
        ]  # fmt: skip
        title = f"Comparison for {self.about.question}: {ASKS[self.about.question]}"
        return card(title, lines, PRIVATE, grid(names, rows))


def check_ending(path: str | os.PathLike[str]) -> Path:
    """A path that says what to write."""
    goal = Path(path)
    if goal.suffix.lower() not in ENDINGS:
        raise InvalidInput("output", str(path), f"a file ending in {', '.join(ENDINGS)}")
    return goal


def _beside(table: str) -> str:
    """A name for the release of a file; standard input goes to a file that says so."""
    if table == "-":
        return "release.csv"
    path = Path(table)
    stem = path.name.split(".")[0]
    known = (
        path.name[len(stem) :] if path.suffix.lower() in (".csv", ".tsv", ".parquet") else ".csv"
    )
    return str(path.with_name(f"{stem}-release{known}"))
