"""The noise as pictures: what is reported of each value, and what becomes of a series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.noise.base import Noise
from chainveil.report import charts
from chainveil.report.blocks import Block, Column, Figure, Table, distinct, number

# Squares that a chart of the noise has room for.
MOST_SQUARES = 200
# What a report is drawn from, in the words of a title.
GIVEN = {
    "point": "the value of its point",
    "last report": "the value of its point and the last report",
    "series": "the value of its point, the one before and the last report",
}


def kernel(noise: Noise, labels: Sequence[Any]) -> Block:
    """How often each value is reported, given what the report is drawn from."""
    named = list(distinct(labels).values())
    laws = _laws(noise, named)
    title = f"How often is each value reported, given {GIVEN[noise.sees]}?"
    if len(laws) * noise.outputs > MOST_SQUARES:
        laws = [(f"value {name}", row) for name, row in zip(named, noise.first_law(), strict=True)]
        title = "How often is each value reported at the first point of a series, given its value?"
    reports = named if noise.outputs == len(named) else [str(z) for z in range(noise.outputs)]
    squares = [
        {"row": given, "column": f"report {name}", "value": float(share), "shown": f"{share:.1%}",
         "told": f"{given}: report {name} with probability {share:.4g}"}
        for given, row in laws
        for name, share in zip(reports, row, strict=True)
    ]  # fmt: skip
    lines = [(one["row"], one["column"], one["value"]) for one in squares]
    columns = (Column("where"), Column("report"), number("probability"))
    told = f"{len(laws)} rows, one for each case, and {noise.outputs} columns, one for each report."
    if len(squares) > MOST_SQUARES:
        return Table(title, columns, lines)
    spec = charts.squares(squares, "what is reported", "", "probability")
    return Figure(title, told, spec, Table(title, columns, lines))


def _laws(noise: Noise, named: list[str]) -> list[tuple[str, NDArray[np.float64]]]:
    """The law of a report in each case; of noise that looks back, after the first point."""
    if noise.sees == "point":
        return [(f"value {name}", row) for name, row in zip(named, noise.first_law(), strict=True)]
    law = noise.step_law()
    cases = range(noise.outputs), range(noise.states), range(noise.states)
    reports = named if noise.outputs == len(named) else [str(z) for z in cases[0]]
    if noise.sees == "last report":
        return [(f"last report {reports[z]}, value {named[x]}", law[z, 0, x])
                for z in cases[0] for x in cases[2]]  # fmt: skip
    return [(f"last report {reports[z]}, value {named[before]} then {named[x]}", law[z, before, x])
            for z in cases[0] for before in cases[1] for x in cases[2]]  # fmt: skip


def stripes(
    title: str, series: Sequence[tuple[str, Any]], labels: Sequence[Any], first: int = 0
) -> Block:
    """Series beside each other, a stripe each, in runs of one state; nothing at masked points."""
    named = list(distinct(labels).values())
    runs = [run for name, states in series for run in _runs(name, states, named, first)]
    lines = [(run["name"], run["state"], run["begin"], run["end"] - 1) for run in runs]
    columns = (Column("series"), Column("state"), number("from point"), number("to point"))
    values = Table(title, columns, lines)
    if len(named) > len(charts.STATES):
        return values
    told = f"{len(series)} stripes; colours are states, {', '.join(named)}."
    return Figure(title, told, charts.strips(runs, "point", named), values)


def _runs(name: str, states: Any, named: list[str], first: int) -> list[dict[str, Any]]:
    plain = np.ma.filled(np.ma.asarray(states).astype(np.int64), -1)
    starts = np.flatnonzero(np.diff(plain, prepend=-2))
    ends = np.append(starts[1:], len(plain))
    return [
        {"name": name, "begin": first + int(begin), "end": first + int(end),
         "state": named[plain[begin]],
         "told": f"{name}: {named[plain[begin]]} from point {first + begin} to {first + end - 1}"}
        for begin, end in zip(starts, ends, strict=True)
        if plain[begin] >= 0
    ]  # fmt: skip
