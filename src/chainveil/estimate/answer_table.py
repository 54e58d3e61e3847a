"""An answer as rows: what each number is about, its interval within its scale, nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from chainveil import checks, notebook
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from chainveil.estimate.results import Estimate

Kind = Literal["pandas", "polars", "arrow"]
KINDS = ("pandas", "polars", "arrow")
# Answers that a short text shows.
MOST_LINES = 8


def shown(found: Estimate) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value and limits within the scale of the question, of the shape of ``found.value``.

    Noise may take a value off its scale, or outside of its interval, which never leaves the scale:
    it is moved to the nearer end of the interval.
    """
    return np.clip(found.value, found.low, found.high), found.low, found.high


def group_values(found: Estimate, by: Sequence[str]) -> list[dict[str, Any]]:
    """The columns of ``by`` for each group."""
    if found.groups is None:
        return [{}]
    if len(by) == 1 and not isinstance(found.groups[0], tuple):
        return [{by[0]: group} for group in found.groups]
    parts = [_flat(group) for group in found.groups]
    names = list(by)
    if len(parts[0]) == 2 * len(by):
        # Of two groups that are compared.
        names += [f"other {name}" for name in by]
    elif len(parts[0]) != len(by):
        names = [f"group {number + 1}" for number in range(len(parts[0]))]
    return [dict(zip(names, part, strict=True)) for part in parts]


def _flat(group: Any) -> tuple[Any, ...]:
    """The parts of a group, those of two groups one after the other."""
    return tuple(x for part in group for x in _flat(part)) if isinstance(group, tuple) else (group,)


def columns(
    found: Estimate, labels: Sequence[Any] | None = None, by: Sequence[str] = ("group",)
) -> dict[str, list[Any]]:
    """An answer as columns, a row a number.

    Those of ``by`` where there are groups; what it is about (``state``, and ``next``, ``lag`` or
    ``group``); ``estimate``, ``low``, ``high``, ``unit``, ``points``. An estimate that is no
    finite number is None: the interval says what is known.
    """
    groups, places = group_values(found, by), found.places(labels)
    value, low, high = (part.reshape(len(groups), len(places)) for part in shown(found))
    kept = once(found, labels) if "lag" in places[0] else range(len(places))
    points = np.asarray(found.points, float).reshape(len(groups), -1)
    points = np.repeat(points, len(places) // points.shape[1], axis=1)
    rows = [
        {**group, **place, "estimate": _finite(value[i, j]), "low": float(low[i, j]),
         "high": float(high[i, j]), "unit": found.unit, "points": int(points[i, j])}
        for i, group in enumerate(groups)
        for j, place in ((j, places[j]) for j in kept)
    ]  # fmt: skip
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def framed(data: dict[str, list[Any]], kind: Kind | None = None) -> Any:
    """Columns as a frame; by default of pandas where it is installed, else an Arrow table."""
    if kind is not None:
        checks.one_of("kind", kind, KINDS)
    import pyarrow as pa

    table = pa.table({name: _column(name, values) for name, values in data.items()})
    if kind == "arrow":
        return table
    if kind == "polars":
        return _package("polars").from_arrow(table)
    try:
        import pandas  # noqa: F401
    except ImportError:
        if kind == "pandas":
            raise MissingExtra("pandas", "plot", "a pandas frame") from None
        return table
    return table.to_pandas()


def _package(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise InvalidInput("kind", name, "a package that is installed") from None


def _column(name: str, values: list[Any]) -> Any:
    import pyarrow as pa

    # Also where all of them are missing.
    kind = pa.float64() if name in ("estimate", "low", "high") else None
    return pa.array(_plain(values), kind)


def _plain(values: list[Any]) -> list[Any]:
    """Values that Arrow can hold in one column."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in plain} - {type(None)}
    mixed = len(kinds) > 1 and not kinds <= {int, float}
    return [None if value is None else str(value) for value in plain] if mixed else plain


def once(found: Estimate, labels: Sequence[Any] | None = None) -> list[int]:
    """Places of the numbers that say something new: of two states one tells the other."""
    places = found.places(labels)
    return [number for number in range(len(places)) if found.tells(number)]


def place_words(found: Estimate, place: dict[str, Any]) -> str:
    """What a number is about: a state, a move, or how many points later."""
    if "next" in place:
        return f"{place['state']} -> {place['next']}"
    if "lag" not in place:
        return str(place["state"])
    return f"lag {place['lag']}" + (f", {place['state']}" if found.states > 2 else "")


def in_words(value: float, low: float, high: float, digits: int = 5) -> str:
    """An estimate with its interval; the interval alone where the value lies at its end."""
    if np.isnan(value):
        return "not known"
    if np.isinf(high):
        return f"at least {low:.{digits}g}"
    reach = f"{low:.{digits}g} to {high:.{digits}g}"
    return reach if value <= low or value >= high else f"{value:.{digits}g} ({reach})"


def text(found: Estimate, labels: Sequence[Any] | None = None) -> str:
    """A few lines: what was asked, and the first answers."""
    answers = _answers(found, labels)
    lines = [f"  {', '.join(place)}: {words}" for place, words in answers[:MOST_LINES]]
    more = [f"  … {len(answers) - MOST_LINES:,} more"] if len(answers) > MOST_LINES else []
    return "\n".join([_head(found), *lines, *more])


def html(found: Estimate, labels: Sequence[Any] | None = None) -> str:
    """The same for a notebook, with what the intervals cover."""
    rows = [[", ".join(place[:-1]), place[-1], words] for place, words in _answers(found, labels)]
    names = ["group", "about", f"{found.unit} ({found.level:.12g} interval)"]
    alone = int(found.groups is None)
    table = notebook.grid(names[alone:], [row[alone:] for row in rows])
    return notebook.card(_head(found), [("covers", found.meaning)], below=table)


def _answers(found: Estimate, labels: Sequence[Any] | None) -> list[tuple[list[str], str]]:
    """What each number is about, and the number with its interval; nothing twice."""
    groups, places = group_values(found, ("group",)), found.places(labels)
    value, low, high = (part.reshape(len(groups), len(places)) for part in shown(found))
    return [
        ([*map(str, group.values()), place_words(found, places[j])],
         in_words(value[i, j], low[i, j], high[i, j], 4))
        for i, group in enumerate(groups)
        for j in once(found, labels)
    ]  # fmt: skip


def _head(found: Estimate) -> str:
    size = f", {len(found.groups):,} groups" if found.groups is not None else ""
    name = type(found).__name__
    return f"{name}{size}, {found.level:.12g} intervals ({found.about})"
