"""Whether a column that the curator declares public would give the states away.

Three questions are asked before noise is drawn, of the private data and of the model:

- *Series.* Does the state never change within a series, although the model says that it should?
  Then the series are stretches of one state, and their names or lengths publish it.
- *Functions.* Is the state of a row, of the row before or after it, or whether it changed, a
  function of the column? Asked of all rows. If a column were independent of the states, one of F
  functions of its values would fit a path x with a probability of at most F Pr[x]; a column is
  refused where that is below ``CHANCE``.
- *Prediction.* On a sample of at most ``SAMPLED`` rows: are held-out states, or changes, predicted
  better from the column than by the model from the state before? What the adversary of the
  guarantee knows already, the column may say too. It is refused where its log loss is below
  ``EFFECT`` times that of the model, and of the shares of the states, significantly over blocks of
  neighbouring rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chainveil.errors import ChainveilWarning, InvalidInput
from chainveil.next.table.read import Table
from chainveil.next.table.states import Codes, IntArray, Mask, Points, Request, plain, read_times

Floats = NDArray[np.float64]
# Probability below which a coincidence is none.
CHANCE = 1e-6
# Rows of the sample, the pieces of neighbours that it is made of, and rows that are too few.
SAMPLED, PIECES, FEWEST = 50_000, 16, 100
# Rows beside those of the commonest state; with fewer, one coincidence would decide.
FEWEST_OTHERS = 10
# A column predicts better than the model where its loss is below this share of the model's.
EFFECT = 0.8
# Standard errors over blocks (t with 15 degrees: a chance of 2e-4) that make it significant.
SIGNIFICANT, FOLDS = 4.5, 4
# So many different values are taken one by one; of more, numbers are put into bins.
VALUES, BINS = 500, 48
# Series that should change, of which fewer than this share do, are stretches of one state.
FEW_CHANGE = 0.2


@dataclass(frozen=True)
class Rows:
    """Some points in the order of the release, and what the model says about them.

    ``begin`` marks those that do not come right after the one before them.
    """

    codes: Codes
    begin: Mask
    held: Mask
    transition: Floats

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.transition)

    def path_loss(self, change: bool) -> Floats:
        """Surprise of each state, or of whether it changed, given the one before; 0 at begins."""
        before = np.roll(self.codes, 1)
        there = ~self.begin & self.held & np.roll(self.held, 1)
        chance = np.ones(len(self.codes))
        i, j = before[there].astype(int), self.codes[there].astype(int)
        stay = np.diag(self.transition)[i]
        chance[there] = np.where(i == j, stay, 1 - stay) if change else self.transition[i, j]
        return -np.log(np.maximum(chance, 1e-300))

    def shifted(self, by: int) -> tuple[Codes, Mask]:
        """The state ``by`` rows later, and where there is one."""
        moved = np.roll(self.codes, -by)
        edge = self.begin if by < 0 else np.roll(self.begin, -1)
        known = self.held & np.roll(self.held, -by)
        return moved, known if by == 0 else known & ~edge


def check_public(table: Table, points: Points, request: Request, plans: Sequence[Any]) -> None:
    """Error where a public column, or the series themselves, give the states away."""
    transition = _transition(points, plans)
    if request.series is not None and request.series not in request.allow_leak:
        _check_series(points, transition, request)
    names = [name for name in request.public if name not in request.allow_leak]
    if not names:
        return
    held = ~points.gaps
    begin = np.ones(len(points.codes), np.bool_)
    begin[1:] = np.diff(points.owner) != 0
    every = Rows(points.codes, begin, held, transition)
    place = _sample(len(points.codes))
    cut = begin[place]
    cut[0] = True
    cut[1:] |= np.diff(place) != 1
    some = Rows(points.codes[place], cut, held[place], _sharper(points, transition))
    if len(place) < FEWEST:
        warnings.warn(
            f"{len(place)} rows are too few to test what public columns say about the states "
            f"({FEWEST} are enough): look at them yourself", ChainveilWarning, stacklevel=2,
        )  # fmt: skip
    for name in names:
        column = table.read([name]).to_series()
        found = _leak(column, points.row, place, every, some)
        if found is not None:
            raise InvalidInput(
                "public", f"the public column {name}: {found}",
                "columns that say less about the states than the model does",
                f"Leave it out of --public, or add --allow-leak {name}: the certificate will list "
                "it.",
            )  # fmt: skip


def _transition(points: Points, plans: Sequence[Any]) -> Floats:
    """The transitions of the model; those of the data where the model is of another order."""
    chain = plans[0].chain
    if len(plans) == 1 and chain.order == 1:
        return np.asarray(chain.transition)
    return _empirical(points)


def _empirical(points: Points) -> Floats:
    counts = points.counts() + 0.5
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _sharper(points: Points, transition: Floats) -> Floats:
    """Of the model and the transitions of the data, the one that predicts the data better."""
    counts, own = points.counts(), _empirical(points)
    fits = [float((counts * np.log(np.maximum(law, 1e-300))).sum()) for law in (transition, own)]
    return own if fits[1] > fits[0] else transition


def _check_series(points: Points, transition: Floats, request: Request) -> None:
    """Error where series are stretches of one state."""
    counts = points.each()
    leaving = counts.sum(axis=2)
    changes = leaving.sum(axis=1) - np.trace(counts, axis1=1, axis2=2)
    stays = (leaving * np.log(np.maximum(np.diag(transition), 1e-300))).sum(axis=1)
    expected = float((-np.expm1(stays)).sum())
    seen = int(np.count_nonzero(changes))
    if expected <= 0 or seen >= FEW_CHANGE * expected:
        return
    # At most the sum, over all sets of as many series, of the chance that none of them changes.
    sets = math.lgamma(len(stays) + 1) - math.lgamma(seen + 1) - math.lgamma(len(stays) - seen + 1)
    if sets + float(stays[changes == 0].sum()) < math.log(CHANCE):
        name = str(request.series)
        raise InvalidInput(
            "series", f"the series column {name}: its series are stretches of one state",
            "series in which the state changes as the model says",
            "Name series by persons or devices, not by what they do, or add --allow-leak "
            f"{name}: the certificate will list it.",
        )  # fmt: skip


def _sample(rows: int) -> IntArray:
    if rows <= SAMPLED:
        return np.arange(rows)
    size = SAMPLED // PIECES
    starts = [number * (rows - size) // (PIECES - 1) for number in range(PIECES)]
    return np.concatenate([np.arange(start, start + size) for start in starts])


@dataclass(frozen=True)
class Feature:
    """Something to be seen of each row: a number for each value of it, and its name in words."""

    name: str
    values: IntArray
    count: int


def _leak(column: pl.Series, row: IntArray, place: IntArray, every: Rows, some: Rows) -> str | None:
    """What a column gives away, in words; None where that is no more than the model says."""
    shown = list(features(column.gather(row[place]), some.begin))
    for number, feature in enumerate(shown):
        for what, target, known in _targets(some):
            if not _is_function(feature, some, target, known, what):
                continue
            if len(place) < len(row):
                whole = enumerate(features(column.gather(row), every.begin))
                full = next(found for place, found in whole if place == number)
                held, there = next((t, k) for w, t, k in _targets(every) if w == what)
                if not _is_function(full, every, held, there, what):
                    continue
            return f"{what} is a function of {feature.name}"
    if len(place) < FEWEST:
        return None
    for what, change in (("the states", False), ("the changes of state", True)):
        for feature in shown:
            found = _predicts(feature, some, change)
            if found is not None:
                return (
                    f"{feature.name} tells {what} better than the model does, with a log loss of "
                    f"{found[0]:.3f} on held-out rows against {found[1]:.3f}"
                )
    return None


def _targets(rows: Rows) -> Iterator[tuple[str, IntArray, Mask]]:
    for what, by in (("the state", 0), ("the next state", 1), ("the state before", -1)):
        codes, known = rows.shifted(by)
        yield what, codes.astype(np.int64), known
    before, known = rows.shifted(-1)
    yield "whether the state changes", (rows.codes != before).astype(np.int64), known
    after, known = rows.shifted(1)
    yield "whether the next state is another", (rows.codes != after).astype(np.int64), known


def _is_function(feature: Feature, rows: Rows, target: IntArray, known: Mask, what: str) -> bool:
    """Whether a target is a function of a feature, which no independent column would be.

    A function of K values with c changes along them is one of C(K - 1, c) k^(c + 1).
    """
    change = what.startswith("whether")
    values, target = feature.values[known], target[known]
    if len(target) < 2 or (target == target[0]).all():
        return False
    first = np.full(feature.count, -1, np.int64)
    first[values] = target
    if not (first[values] == target).all():
        return False
    first = first[first >= 0]
    size, kinds = len(first), math.log(2 if change else rows.states)
    turns = int(np.count_nonzero(np.diff(first)))
    simple = math.lgamma(size) - math.lgamma(turns + 1) - math.lgamma(size - turns)
    functions = min(size * kinds, math.log(size) + simple + (turns + 1) * kinds)
    return bool(functions - rows.path_loss(change).sum() < math.log(CHANCE))


def _predicts(feature: Feature, rows: Rows, change: bool) -> tuple[float, float] | None:
    """The log losses of a column and of the model, where the column's is clearly less."""
    before, known = rows.shifted(-1)
    target = (rows.codes != before).astype(np.int64) if change else rows.codes.astype(np.int64)
    kinds = 2 if change else rows.states
    place = np.flatnonzero(known)
    if len(place) < FEWEST:
        return None
    values, target = _binned(feature, rows)[place], target[place]
    if len(place) - np.bincount(target).max() < FEWEST_OTHERS:
        return None
    model = rows.path_loss(change)[place]
    block = np.arange(len(place)) * PIECES // len(place)
    size = int(values.max(initial=0)) + 1
    loss, blind = np.empty(len(place)), np.empty(len(place))
    for fold in range(FOLDS):
        here = block % FOLDS == fold
        table = np.bincount(values[~here] * kinds + target[~here], minlength=size * kinds)
        table = table.reshape(size, kinds)
        share = (table.sum(axis=0) + 0.5) / (table.sum() + 0.5 * kinds)
        law = (table + 2.0 * share) / (table.sum(axis=1, keepdims=True) + 2.0)
        loss[here] = -np.log(law[values[here], target[here]])
        blind[here] = -np.log(share[target[here]])
    counts = np.bincount(block, minlength=PIECES)
    for known_anyway in (model, blind):
        means = np.bincount(block, EFFECT * known_anyway - loss, PIECES) / counts
        spread = float(means.std(ddof=1)) / math.sqrt(PIECES)
        if means.mean() <= SIGNIFICANT * max(spread, 1e-12):
            return None
    return float(loss.mean()), float(model.mean())


def _binned(feature: Feature, rows: Rows) -> IntArray:
    """The values of a feature in at most ``VALUES`` kinds, equally many rows to a bin.

    The numbers of a feature are in the order of its values where these are numbers.
    """
    if feature.count <= VALUES:
        return feature.values
    edges = np.unique(np.quantile(feature.values, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.searchsorted(edges, feature.values, side="right")


def features(column: pl.Series, begin: Mask) -> Iterator[Feature]:
    """What can be seen of a column: values, steps, how often they repeat, and parts of texts."""
    column = plain(column)
    numbers = _as_numbers(column)
    shown = numbers if numbers is not None else _ranked(column)
    yield _feature("its value", shown)
    if begin.all():
        return
    last = np.roll(begin, -1)
    yield _feature("its value in the row before", np.where(begin, np.nan, np.roll(shown, 1)))
    yield _feature("its value in the next row", np.where(last, np.nan, np.roll(shown, -1)))
    steps = shown - np.roll(shown, 1)
    if numbers is None:
        steps = (steps != 0).astype(np.float64)
    steps[begin] = np.nan
    later = np.where(last, np.nan, np.roll(steps, -1))
    yield _feature("the step from the row before", steps)
    yield _feature("the step to the next row", later)
    yield _feature("the change between its steps", later - steps)
    run = np.cumsum(begin | (np.nan_to_num(steps) != 0)) - 1
    yield _feature("the number of neighbouring rows with its value",
                   np.bincount(run)[run].astype(np.float64))  # fmt: skip
    if numbers is not None:
        whole = np.nan_to_num(numbers)
        yield _feature("whether it is even", np.floor(whole) % 2)
        yield _feature("its last digit", np.floor(whole) % 10)
        yield _feature("its decimals", np.round(whole % 1, 9))
    if column.dtype == pl.String:
        text = column.fill_null("")
        yield _feature("the length of its text", text.str.len_bytes().to_numpy().astype(float))
        yield _feature("the first character of its text", _ranked(text.str.slice(0, 1)))
        yield _feature("the last character of its text", _ranked(text.str.slice(-1)))
        yield _feature("its text without digits", _ranked(text.str.replace_all("[0-9]", "")))


def _feature(name: str, values: Floats) -> Feature:
    """Values by number, in their order; NaN is one of them."""
    seen, numbered = np.unique(values, return_inverse=True)
    return Feature(name, numbered.astype(np.int64), len(seen))


def _ranked(column: pl.Series) -> Floats:
    return column.rank("dense").cast(pl.Float64).fill_null(np.nan).to_numpy(writable=True)


def _as_numbers(column: pl.Series) -> Floats | None:
    """A column as numbers, NaN where it has none; None where it holds words."""
    kind = column.dtype
    if kind == pl.Boolean:
        return None
    if kind == pl.String:
        filled = column.filter(column.str.strip_chars() != "")
        try:
            read_times(filled)
        except InvalidInput:
            return None
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count() + len(column) - len(filled):
            found = np.full(len(column), np.nan)
            there = (column.str.strip_chars() != "").fill_null(False).to_numpy()
            times = read_times(filled).values
            found[there] = times - times.min()
            return found
        return numbers.fill_null(np.nan).to_numpy(writable=True)
    if kind.is_temporal():
        ticks = column.to_physical().cast(pl.Int64)
        # Counted from the first, so that no fraction is rounded away.
        least: Any = ticks.min()
        column = ticks - (least or 0)
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy(writable=True)
