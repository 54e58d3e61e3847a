"""Whether a column that is to be published gives the states away.

Each kept column is turned into features (its value, its first difference, how many rows share
it, and the same of the neighbouring rows). A table of the states that go with each value is
learned on some blocks of rows and tried on the others; what counts is the log-likelihood gained
there over knowing the shares of the states alone. Rows that are neighbours are alike, in the
column as in the states, so chance alone can gain something too: how much is measured by holding
the column against states of the same series from other times, which says nothing by the same
reasoning that makes an unrelated column say nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.errors import ChainveilWarning, InvalidInput
from chainveil.table.leaks.features import Feature, features, testable
from chainveil.table.leaks.sampling import Runs, runs_of
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.request import Readable, Request, one_column
from chainveil.table.write.shaping import rounded

Floats = NDArray[np.float64]
# How many other times the states are taken from: first to look, then to be sure.
QUICK, SURE = 12, 64
# What is likelier than this by chance is not looked at any further.
DOUBTFUL = 0.01
# Rows beside those of the commonest state; with fewer, one coincidence would decide.
FEWEST = 10
# Rows from which a copy of the states is found.
ENOUGH = 100
# Pseudo-counts by which an unseen value is given the shares of all rows.
SMOOTHING = 2.0


@dataclass(frozen=True)
class Leak:
    """A column that says something about the states.

    Attributes
    ----------
    column, feature : str
        Which column, and what of it.
    accuracy, chance : float
        How often it names the state of a held-out row, each state counted alike; and how often
        a guess without it does. NaN where the column is of a kind that cannot be tested.
    of_changes : bool
        Whether it tells when the state changes, rather than the state itself.
    """

    column: str
    feature: str
    accuracy: float
    chance: float
    of_changes: bool = False

    def __str__(self) -> str:
        if math.isnan(self.accuracy):
            return f"{self.column!r} is {self.feature}."
        return (
            f"Of {self.column!r}, {self.feature} "
            f"{'tells when the state changes, and ' if self.of_changes else ''}is right about "
            f"{self.accuracy:.1%} of held-out rows, where a guess is right about "
            f"{self.chance:.1%} (each state counted alike)."
        )


def check_kept(table: Readable, request: Request, discretizer: Discretizer) -> None:
    """Error where a column that is to be published says something about the states.

    A bounded number of rows is looked at, wherever the table lies.
    """
    kept, layout = request.kept, request.layout
    names = kept.tested(layout, table.columns)
    if not names:
        return
    columns = dict.fromkeys(name for name in (layout.column, layout.series, *names) if name)
    sample = runs_of(table.pieces(layout, list(columns)), layout, discretizer)
    if sample is None:
        return
    held, runs = sample
    if len(runs.states) < ENOUGH:
        warnings.warn(
            f"{len(runs.states)} rows are too few to test what kept columns say about the states "
            f"(some {ENOUGH} are enough to find a plain copy): look at them yourself",
            ChainveilWarning,
            stacklevel=2,
        )
    try:
        shown = _shown(held, request)
    except InvalidInput as error:
        if error.argument == "time_as":
            raise
        # A time that cannot be read ends the release itself, which knows its row.
        return
    _refuse(find_leaks(shown, runs, names, kept.false_alarms))


def _shown(held: pa.Table, request: Request) -> pa.Table:
    """A sample as it is published."""
    clock = request.layout.clock()
    if request.kept.width is None or clock is None or clock.name not in held.column_names:
        return held
    place = held.column_names.index(clock.name)
    times = rounded(request.kept, clock, one_column(held, clock.name), 0)
    return held.set_column(place, clock.name, times)


def _refuse(found: list[Leak]) -> None:
    if not found:
        return
    names = ", ".join(leak.column for leak in found)
    raise InvalidInput(
        "keep", names, "columns that say nothing about the states",
        f"{' '.join(map(str, found))} Leave it out, publish times as positions (--time-as index), "
        f"or let it through by name (--allow-leak {found[0].column}): the certificate will say so.",
    )  # fmt: skip


def find_leaks(
    table: pa.Table, runs: Runs, names: list[str], false_alarms: float = 0.01
) -> list[Leak]:
    """The columns of ``names`` that say something about the states, each by its plainest feature.

    A table whose columns say nothing is found guilty with a chance of about ``false_alarms`` at
    most, whatever their number.
    """
    if runs.constant:
        return []
    found = []
    changes = runs.changes()
    targets = [Pairings(runs, changes), Pairings(changes)]
    for name in names:
        column = table.column(name)
        if not testable(column.type):
            text = f"of type {column.type}, cannot be tested for what it says about the states"
            found.append(Leak(name, text, math.nan, math.nan))
            continue
        shown = list(features(column, runs))
        guilty = list(_guilty(name, shown, targets, false_alarms / len(names)))
        found += sorted(guilty, key=lambda leak: (leak.of_changes, -leak.accuracy))[:1]
    return found


def _guilty(
    name: str, shown: list[Feature], targets: list[Pairings], level: float
) -> Iterator[Leak]:
    """Every feature that tells, of the states or of when they change."""
    tests = [(feature, target) for feature in shown for target in targets[: 1 + feature.change]]
    for feature, target in tests:
        if target.tell(feature, level / len(tests)):
            of_changes = target is not targets[0]
            yield Leak(name, feature.name, *target.accuracy(feature), of_changes)


class Pairings:
    """The states of a sample, as they are and as they were at other times of the same series."""

    def __init__(self, runs: Runs, changes: Runs | None = None) -> None:
        self._runs, self._states = runs, runs.count
        self._changes = 0 if changes is None else int(np.sum(changes.all_states == 1))
        self._folds = runs.folds.astype(np.int64)
        self._drawn: list[NDArray[np.int64]] = [runs.states]
        each = np.bincount(runs.states, minlength=runs.count + 1)[:-1]
        self._known = int(each.sum())
        self._rare = self._known - int(each.max())

    def tell(self, feature: Feature, level: float) -> bool:
        """Whether the feature gains more than chance explains, at a false-alarm rate."""
        if self._settles(feature):
            return True
        # A likelihood ratio of 1 / level or more has a chance of at most the level where rows are
        # independent. Most columns that say nothing are done with here.
        gained = self._gains(feature, 0)[0] * self._known
        if self._rare < FEWEST or gained < -math.log(level):
            return False
        for count in (QUICK, SURE):
            gains = self._gains(feature, count)
            if gains[0] <= gains[1:].max():
                return False
            if tail(gains) > max(level, DOUBTFUL if count == QUICK else 0.0):
                return False
        return True

    def _settles(self, feature: Feature) -> bool:
        """Whether the state follows from the feature without exception.

        States that seldom change are alike at other times too; a copy is one all the same.
        """
        enough = self._changes >= 4 and len(self._folds) >= 10 * feature.count
        if not enough or feature.change:
            return False
        together = self._counts(feature, 1)[0].sum(axis=0) > 0
        return bool((together.sum(axis=1) <= 1).all() and (together.sum(axis=0) > 0).sum() > 1)

    def accuracy(self, feature: Feature) -> tuple[float, float]:
        """Share of held-out states that the feature names, each state counted alike."""
        counts = self._counts(feature, 1)[0]
        right = np.zeros(self._states)
        for train, test in ((counts[0], counts[1]), (counts[1], counts[0])):
            likely = train / np.maximum(train.sum(axis=0), 1)
            guess = likely.argmax(axis=1)
            right += np.bincount(guess, test[np.arange(len(test)), guess], self._states)
        total = counts.sum(axis=(0, 1))
        seen = total > 0
        return float((right[seen] / total[seen]).mean()), 1 / int(seen.sum())

    def _gains(self, feature: Feature, count: int) -> Floats:
        """Held-out log-likelihood a row gained by the feature, as it is and by chance."""
        return gain(self._counts(feature, count + 1))

    def _counts(self, feature: Feature, count: int) -> Floats:
        """How often each value goes with each state, shape (pairings, 2, values, states)."""
        self._draw(count)
        states, values = self._states + 1, feature.count
        base = (self._folds * values + feature.codes) * states
        found = [
            np.bincount(base + drawn, minlength=2 * values * states)
            for drawn in self._drawn[:count]
        ]
        # The last state stands for rows without one.
        counts = np.array(found, np.float64).reshape(len(found), 2, values, states)
        return counts[..., :-1]

    def _draw(self, count: int) -> None:
        while len(self._drawn) < count:
            self._drawn.append(self._runs.elsewhere(len(self._drawn) - 1))


def gain(counts: Floats) -> Floats:
    """Held-out log-likelihood a row over that of the shares alone, for each pairing."""
    total = np.zeros(len(counts))
    for train, test in ((counts[:, 0], counts[:, 1]), (counts[:, 1], counts[:, 0])):
        shares = train.sum(axis=1, keepdims=True) + 1e-9
        shares = shares / shares.sum(axis=2, keepdims=True)
        rows = train.sum(axis=2, keepdims=True)
        learned = (train + SMOOTHING * shares) / (rows + SMOOTHING)
        total += (test * np.log(learned / shares)).sum(axis=(1, 2))
    return np.asarray(total / np.maximum(counts.sum(axis=(1, 2, 3)), 1))


def tail(gains: Floats) -> float:
    """Chance of the first gain if it were one of the others.

    A sum of products of what is learned and what is tried has the tail of a Laplace
    distribution, which is heavier than that of a normal one.
    """
    by_chance = gains[1:]
    spread = float(by_chance.std(ddof=1))
    if spread == 0:
        return 0.0 if gains[0] > by_chance[0] else 1.0
    return 0.5 * math.exp(-math.sqrt(2) * float(gains[0] - by_chance.mean()) / spread)
