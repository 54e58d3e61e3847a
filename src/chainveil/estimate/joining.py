"""Answers from rows with different noise, put together to one.

Series with different noise are different series: what noise and drawing do to one says nothing
about another, so that errors add up as those of independent numbers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.estimate.results import Estimate, Frequency, Pairs

# Shares of all points are means of the shares of their parts; ratios and correlations are not.
ADDS_UP = (Frequency, Pairs)
# What an answer holds once for all of its groups, or once for each.
ARRAYS = ("value", "standard_error", "low", "high", "effective_size", "points")
MORE_ARRAYS = ("sampling_error", "pairs")


def joined(parts: Sequence[Estimate], worth: Sequence[float], column: str) -> Estimate:
    """One answer from the answers to the same question about rows with different noise.

    Parameters
    ----------
    parts : sequence of Estimate
        One for each noise. A group that is in one of them alone is taken as it is; shares of a
        group that is in several are weighed by its points.
    worth : sequence of float
        How many points of the series each point of a part stands for: several, of rare reports.
    column : str
        What tells the noise of a row, for the error where numbers do not add up.
    """
    if len(parts) == 1:
        return parts[0]
    split = [_split(found) for found in parts]
    names = _names([name for part in split for name in part])
    made = []
    for name in names:
        held = [(part[name], w) for part, w in zip(split, worth, strict=True) if name in part]
        held = [(found, w) for found, w in held if found.points > 0] or held[:1]
        made.append(held[0][0] if len(held) == 1 else _mean(held, column))
    return _stacked(made, parts, None if parts[0].groups is None else tuple(names))


def _split(found: Estimate) -> dict[Any, Estimate]:
    """The answer about each group; the only one under no name."""
    if found.groups is None:
        return {None: found}
    made: dict[Any, Estimate] = {}
    for place, name in enumerate(found.groups):
        held = {part: getattr(found, part) for part in _arrays(found)}
        own: dict[str, Any] = {k: None if v is None else v[place] for k, v in held.items()}
        made[name] = replace(found, groups=None, **own)
    return made


def _names(found: Sequence[Any]) -> list[Any]:
    """All names, in order where they have one, as groups of one answer are."""
    names = list(dict.fromkeys(found))
    try:
        return sorted(names)
    except TypeError:
        return names


def _arrays(found: Estimate) -> list[str]:
    known = {field.name for field in fields(found)}
    return [name for name in (*ARRAYS, *MORE_ARRAYS) if name in known]


def _mean(held: Sequence[tuple[Estimate, float]], column: str) -> Estimate:
    """The mean of shares, weighed by points."""
    first = held[0][0]
    if not isinstance(first, ADDS_UP):
        raise InvalidInput(
            "by", "rows of several groups in one answer",
            f"{column!r}, or columns whose values lie in one group of {column!r} each",
            f"Groups have different noise, and only shares and pairs add up: a {first.unit} is "
            "told for each.",
        )  # fmt: skip
    points = np.array([float(found.points) * worth for found, worth in held])
    weights = points / points.sum()

    def spread(errors: Sequence[Any]) -> Any:
        squares = [(w * error) ** 2 for w, error in zip(weights, errors, strict=True)]
        return np.sqrt(np.sum(squares, axis=0))

    parts = [found for found, _ in held]
    value = sum(w * part.value for w, part in zip(weights, parts, strict=True))
    # Where an interval is all of the scale, a value off the scale stands at its end.
    inside = [np.clip(part.value, part.low, part.high) for part in parts]
    middle = sum(w * at for w, at in zip(weights, inside, strict=True))
    low = middle - spread([at - part.low for at, part in zip(inside, parts, strict=True)])
    high = middle + spread([part.high - at for at, part in zip(inside, parts, strict=True)])
    error = spread([part.standard_error for part in parts])
    share = np.clip(value, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = share * (1 - share) / error**2
    silent = [part.sampling_error for part in parts]
    between = None if all(one is None for one in silent) else spread(
        [np.zeros_like(part.value) if one is None else one
         for one, part in zip(silent, parts, strict=True)]
    )  # fmt: skip
    total = np.sum([part.points for part in parts], axis=0)
    return replace(first, value=value, standard_error=error, low=low, high=high, points=total,
                   effective_size=size, sampling_error=between)  # fmt: skip


def _stacked(
    made: Sequence[Estimate], parts: Sequence[Estimate], names: tuple[Any, ...] | None
) -> Estimate:
    """Answers about single groups as one about all of them."""
    arrays = {
        name: _stack([getattr(one, name) for one in made], names is None)
        for name in _arrays(made[0])
    }
    more: dict[str, Any] = {"groups": names, "shared": any(part.shared for part in parts)}
    return replace(made[0], **arrays, **more)


def _stack(values: Sequence[Any], one: bool) -> Any:
    if one:
        return values[0]
    if all(value is None for value in values):
        return None
    like = next(value for value in values if value is not None)
    array = np.stack([np.zeros_like(like) if value is None else value for value in values])
    array.setflags(write=False)
    return array
