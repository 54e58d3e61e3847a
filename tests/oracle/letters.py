"""The loss of chains of k states and any order, from the definition, fast enough for thousands.

Every series, every output, every target, every set of known points and every value of theirs is
gone through, in blocks of outputs. Of the noise only its own numbers are read, and of the model
only its transitions and the law of its first points: no loss engine has a part in it. Sums are
of numbers that are not negative, so the relative error of a ratio is a few roundings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import chainveil as cv

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Entries of one table of a block: about what a processor's cache holds.
BLOCK = 1 << 18


def letters_loss(model: Any, noise: Any, n: int, adversary: str | cv.Adversary = "any") -> float:
    """Largest ``log Pr[z | x_i = a, x_K] / Pr[z | x_i = b, x_K]``, inf where b is ruled out.

    ``model`` has ``transition`` of shape (k ** order, k), the oldest value the leading digit of
    a row, and the law of its first ``order`` points as ``contexts`` (``start`` for order 1).
    ``noise`` is one noise or a list of releases. Points that report nothing are points: they may
    be the target and they may be known. Values that cannot be, given the known ones, are not
    compared.
    """
    releases = list(noise) if isinstance(noise, (list, tuple)) else [noise]
    prior = series_law(model, n)
    before = _with_sums(prior[..., None])
    worst = 1.0
    for reports in _blocks(releases, n, before.size):
        told = _with_sums(prior[..., None] * reports_law(releases, reports, model.states, n))
        for target in _targets(n, adversary):
            choice = _choice(target, n, model.states, adversary)
            worst = max(worst, _worst_ratio(before[choice], told[choice], target))
    return float(np.log(worst))


def series_law(model: Any, n: int) -> FloatArray:
    """``Pr[x_1 … x_n]`` of every series, shape (k,) * n."""
    k, m = model.states, model.order
    first = np.asarray(model.start if m == 1 else model.contexts).reshape((k,) * m)
    law = first.sum(axis=tuple(range(n, m)))
    for _ in range(n - m):
        law = law[..., None] * model.transition.reshape((k,) * (m + 1))
    return np.asarray(law)


def reports_law(releases: Sequence[Any], reports: Sequence[IntArray], k: int, n: int) -> FloatArray:
    """``Pr[reports | series]``, shape (k,) * n + (outputs,); ``reports``: a row an output."""
    law: FloatArray = np.ones((1,) * n + (len(reports[0]),))
    for noise, rows in zip(releases, reports, strict=True):
        for number, t in enumerate(noise.places(n).tolist()):
            now, last = rows[:, number], rows[:, number - 1] if number else None
            factor = _one_report(noise, last, now)  # (outputs, values of t-1 and t, or of t)
            shape = [1] * n
            shape[t - factor.ndim + 2 : t + 1] = factor.shape[1:]
            law = law * np.moveaxis(factor, 0, -1).reshape(*shape, -1)
    return np.broadcast_to(law, (k,) * n + law.shape[-1:])


def _one_report(noise: Any, last: IntArray | None, now: IntArray) -> FloatArray:
    """``Pr[report now | report last, values]``, shape (outputs, k), or (outputs, k, k)."""
    if noise.kind == "independent":
        return np.asarray(noise.matrix.T[now])
    if last is None:
        return np.asarray(noise.first.T[now])
    if noise.kind == "sticky":
        return np.asarray(noise.kernel[last, :, now])
    assert noise.kind == "tracking", noise.kind
    return np.asarray(noise.kernel[last, :, :, now])


def _blocks(releases: Sequence[Any], n: int, size: int) -> Iterator[list[IntArray]]:
    """Every output of all releases, so many at once that tables of ``size`` entries each fit."""
    places = [len(noise.places(n)) for noise in releases]
    digits = [
        noise.outputs for noise, own in zip(releases, places, strict=True) for _ in range(own)
    ]
    total, step = int(np.prod(digits, dtype=np.int64)), max(1, BLOCK // size)
    for begin in range(0, total, step):
        codes = np.arange(begin, min(total, begin + step))
        rows = np.array(np.unravel_index(codes, digits) if digits else np.zeros((0, 1), int)).T
        yield np.split(rows, np.cumsum(places)[:-1], axis=1)


def _with_sums(table: FloatArray) -> FloatArray:
    """A table (k, …, k, m) as (k + 1, …, k + 1, m): index k of a point sums over its values."""
    n, k = table.ndim - 1, table.shape[0]
    result = np.empty((k + 1,) * n + table.shape[-1:])
    result[(slice(0, k),) * n] = table
    for axis in range(n):
        rest = (slice(0, k),) * (n - axis - 1)
        before = (slice(None),) * axis
        result[(*before, k, *rest)] = result[(*before, slice(0, k), *rest)].sum(axis=axis)
    return result


def _targets(n: int, adversary: str | cv.Adversary) -> Sequence[int]:
    return range(n) if isinstance(adversary, str) else [adversary.target]


def _choice(target: int, n: int, k: int, adversary: str | cv.Adversary) -> tuple[slice, ...]:
    """Which entries of each point to look at: its values, its sum, or both."""
    known, unknown = slice(0, k), slice(k, k + 1)
    if isinstance(adversary, str):
        other = {"any": slice(0, k + 1), "ignorant": unknown, "informed": known}[adversary]
        return tuple(known if t == target else other for t in range(n))
    return tuple(known if t in {target, *adversary.known} else unknown for t in range(n))


def _worst_ratio(before: FloatArray, told: FloatArray, target: int) -> float:
    """The largest ratio of ``told / before`` at two possible values of the target."""
    possible = np.broadcast_to(before > 0, told.shape)
    # Where a value is impossible: below every other in the maximum, above in the minimum.
    likelihood = np.divide(told, before, out=np.zeros_like(told), where=possible)
    highest = likelihood.max(axis=target)
    lowest = np.where(possible, likelihood, np.inf).min(axis=target)
    seen = highest > 0
    with np.errstate(divide="ignore"):
        ratios = np.divide(highest, lowest, out=np.zeros_like(highest), where=seen)
    return float(ratios.max())
