"""The loss of any mix of noise, with memory, thinned, over missing points, from the definition.

Every series, every output of all releases together, every window of points as the secret, every
set of known points and every value of theirs: all are written down in one table. Of the noise
only its own numbers are read, and of the chain its start and its steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import chainveil as cv

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def memory_loss(
    chain: cv.MarkovChain,
    releases: Sequence[Any],
    length: int,
    *,
    unit: int = 1,
    gaps: Collection[int] | Literal["any"] = (),
    adversary: str | cv.Adversary = "any",
) -> float:
    """Largest ``log Pr[z | x_W = a, x_K] / Pr[z | x_W = b, x_K]``.

    ``unit`` is the number of consecutive points of a window W. ``gaps`` are the missing points;
    "any": the largest loss over all sets of them. Missing and silent points are points: they may
    be secret and they may be known. An ``Adversary`` is after the window that begins at its
    target. Values of the window that cannot occur together with the known ones are not compared;
    an output that rules a possible value out has loss inf.
    """
    if isinstance(gaps, str):
        sets = (found for size in range(length + 1) for found in combinations(range(length), size))
        return max(
            memory_loss(chain, releases, length, unit=unit, gaps=found, adversary=adversary)
            for found in sets
        )
    series = np.array(list(product(range(chain.states), repeat=length)))
    prior = series_law(chain, series)[:, None]
    told = prior * reports_law(releases, series, gaps)
    before = with_sums(prior, chain.states, length)
    after = with_sums(told, chain.states, length)
    return max(
        _window_loss(before, after, _choice(window, length, chain.states, adversary), window)
        for window in _windows(length, unit, adversary)
    )


def series_law(chain: cv.MarkovChain, series: IntArray) -> FloatArray:
    """Probability of every series (s, n), shape (s,)."""
    steps = chain.transition[series[:, :-1], series[:, 1:]]
    return np.asarray(chain.start[series[:, 0]] * steps.prod(axis=1))


def reports_law(releases: Sequence[Any], series: IntArray, gaps: Collection[int]) -> FloatArray:
    """``Pr[all reports | series]``, shape (s, outputs), the last release's reports fastest."""
    law: FloatArray = np.ones((len(series), 1))
    for noise in releases:
        own = report_law(noise, series, gaps)
        law = (law[:, :, None] * own[:, None, :]).reshape(len(series), -1)
    return law


def report_law(noise: Any, series: IntArray, gaps: Collection[int]) -> FloatArray:
    """``Pr[reports of one release | series]``, shape (s, m^reports), the last report fastest."""
    places = [t for t in noise.places(series.shape[1]).tolist() if t not in gaps]
    if noise.kind == "correlated":
        return _flip_law(noise, series, places)
    law: FloatArray = np.ones((len(series), 1))
    for number, t in enumerate(places):
        # The last report is the last digit of the number of an output.
        last = np.arange(law.shape[1]) % noise.outputs
        # Tracking looks at the point before, unless that one is missing.
        step = _one_report(noise, series, t, None if number == 0 else last, t - 1 in gaps)
        law = (law[:, :, None] * step).reshape(len(series), -1)
    return law


def _one_report(
    noise: Any, series: IntArray, t: int, last: IntArray | None, after_gap: bool
) -> FloatArray:
    """``Pr[report at t | last report, series]``, shape (s, last or 1, m)."""
    here = series[:, t, None]
    if noise.kind == "independent":
        return np.asarray(noise.matrix[here])
    if last is None:
        return np.asarray(noise.first[here])
    if noise.kind == "sticky":
        return np.asarray(noise.kernel[last[None, :], here])
    assert noise.kind == "tracking", noise.kind
    if after_gap:
        return np.asarray(noise.after_gap[last[None, :], here])
    return np.asarray(noise.kernel[last[None, :], series[:, t - 1, None], here])


def _flip_law(noise: Any, series: IntArray, places: list[int]) -> FloatArray:
    """Reports are ``x XOR y``; y runs on beneath missing reports, where it is summed out."""
    rho0, rho1 = noise.rho0, noise.rho1
    flips = np.array(list(product(range(2), repeat=series.shape[1])))
    steps = np.array([[1 - rho0, rho0], [rho1, 1 - rho1]])[flips[:, :-1], flips[:, 1:]]
    weights = (np.array([rho1, rho0]) / (rho0 + rho1))[flips[:, 0]] * steps.prod(axis=1)
    reports = series[:, None, places] ^ flips[None, :, places]
    codes = reports @ (2 ** np.arange(len(places))[::-1])
    law = np.zeros((len(series), 2 ** len(places)))
    np.add.at(law, (np.arange(len(series))[:, None], codes), weights[None, :])
    return law


def with_sums(table: FloatArray, states: int, n: int) -> FloatArray:
    """A table (k^n, m) as (k + 1, …, k + 1, m): index k of a point is the sum over its values."""
    result = table.reshape((states,) * n + (-1,))
    for axis in range(n):
        result = np.concatenate([result, result.sum(axis=axis, keepdims=True)], axis=axis)
    return result


def _windows(length: int, unit: int, adversary: str | cv.Adversary) -> list[tuple[int, ...]]:
    starts = range(length - unit + 1) if isinstance(adversary, str) else [adversary.target]
    return [tuple(range(start, start + unit)) for start in starts]


def _choice(
    window: tuple[int, ...], length: int, states: int, adversary: str | cv.Adversary
) -> tuple[slice, ...]:
    """Which entries of each point to look at: its values, its sum, or both."""
    known, unknown = slice(0, states), slice(states, states + 1)
    names = {"any": slice(0, states + 1), "ignorant": unknown, "informed": known}
    if isinstance(adversary, str):
        return tuple(known if t in window else names[adversary] for t in range(length))
    assert not adversary.known & set(window)
    fixed = {*window, *adversary.known}
    return tuple(known if t in fixed else unknown for t in range(length))


def _window_loss(
    before: FloatArray, after: FloatArray, choice: tuple[slice, ...], window: tuple[int, ...]
) -> float:
    """The largest log ratio of two values of the window, over all that is chosen of the rest."""
    prior, told = (_window_first(table[choice], window) for table in (before, after))
    possible = prior > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(told) - np.log(prior)
    highest = np.where(possible, logs, -np.inf).max(axis=0)
    lowest = np.where(possible, logs, np.inf).min(axis=0)
    seen = highest > -np.inf
    return float((highest[seen] - lowest[seen]).max(initial=0.0))


def _window_first(table: FloatArray, window: tuple[int, ...]) -> FloatArray:
    """Values of the window by values of the rest by outputs, shape (k^w, rest, m)."""
    moved = np.moveaxis(table, window, range(len(window)))
    values = int(np.prod(moved.shape[: len(window)]))
    return moved.reshape(values, -1, table.shape[-1])
