"""A model for each series of a table: a promise for each of them, not for their average."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import ChainveilWarning, NotSupported
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.model.family import ModelFamily
from chainveil.model.fitting import first_order
from chainveil.model.per_series import count_series
from chainveil.model.populations import FEWEST_SEEN, Wishes, enough, from_counts
from chainveil.sequences import Sequences
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.request import Layout, Readable
from chainveil.table.states.by_series import read_states
from chainveil.table.states.prepare import Progress, Seen

IntArray = NDArray[np.int64]
# As in ModelFamily.fit, whose defaults they are.
CONFIDENCE, UNSEEN, PSEUDOCOUNT = 0.95, 0.95, 0.5

POOLED = (
    "pooled: the noise is for the chain of all series together; on the own chain of a single "
    "series, which somebody may know, it may lose more than the budget"
)
MANY_STATES = (
    "the noise is for the chain of all series together: of more than two states no box covers the "
    "chains of private series, which one by one would be published. On the own chain of a single "
    "series it may lose more than the budget; a public reference table has a model for each"
)
NO_MARGIN = (
    "the noise is for the series of the reference table, with no margin for persons who are not "
    f"in it: that takes {FEWEST_SEEN} series that leave each state 20 times or more"
)


@dataclass(frozen=True)
class Each:
    """Transitions of each series, shape (series, k, k), and what the series are called.

    After the first ``series`` of them may come parts of the same series.
    """

    counts: IntArray
    names: Sequence[str]
    series: int

    @classmethod
    def of(cls, counts: IntArray, names: Sequence[Any]) -> Each:
        """The series by the values of their column."""
        return cls(counts, [f"series {name}" for name in names], len(counts))

    @property
    def differ(self) -> bool:
        """Whether there are several series, one of them with enough points for a model."""
        return self.series > 1 and bool(enough(self.counts))

    def with_parts(self, parts: int, held: Sequences) -> Each:
        """The same and, of each series, so many parts of the same length."""
        cuts = [
            np.linspace(begin, end, parts + 1).astype(np.int64)[:-1]
            for begin, end in itertools.pairwise(held.offsets.tolist())
        ]
        pieces = Sequences(held.flat, np.append(np.concatenate(cuts), held.offsets[-1]))
        counted = count_series(pieces, self.counts.shape[1]).pairs
        called = [f"{name}, part {i}" for name in self.names for i in range(1, parts + 1)]
        counts = np.concatenate([self.counts, counted])
        return Each(counts, [*self.names, *called], self.series)


def each_of(seen: Seen) -> Each | None:
    """What a reader has counted of each series; None where it has not."""
    return None if seen.each is None else Each.of(seen.each, seen.names)


def read_parts(
    each: Each,
    parts: int,
    table: Readable,
    layout: Layout,
    discretizer: Discretizer,
    progress: Progress | None,
) -> Each:
    """The series with their parts, for which the table is read once more."""
    if parts == 1 or not each.differ:
        return each
    return each.with_parts(parts, read_states(table, layout, discretizer, progress).sequences)


def model_of(
    each: Each | None, fitted: Any, pooled: bool = False, confidence: float | None = None
) -> DataModel:
    """The family of the series; ``fitted``, the model of all together, where there is none.

    There is none where no series has enough points for a model of its own, where it was not
    asked for, of private series of more than two states, and where no box covers the chain of any
    private series; all but the first are warned of.
    """
    model: DataModel = fitted
    if each is None or not each.differ:
        return model
    private = model.origin == "private"
    if pooled or (private and model.states > 2):
        _warn(POOLED if pooled else MANY_STATES)
        return model
    chain = first_order(each.counts[: each.series].sum(axis=0), model.origin)
    return _family(each, chain, None if model.order == 1 else model, confidence) or model


def _family(
    each: Each, chain: MarkovChain, longer: DataModel | None, confidence: float | None
) -> DataModel | None:
    """The family; without a margin where a reference has too few series for one.

    Where no box covers private series, which go up to where q + r is 1, upper ends are those of
    the fits themselves: more noise is needed at the lower ones.
    """
    margin = chain.origin == "reference" and chain.states == 2
    if margin and len(enough(each.counts[: each.series])) < FEWEST_SEEN:
        _warn(NO_MARGIN)
        margin = False
    wishes = Wishes(1, confidence or CONFIDENCE, UNSEEN if margin else 0.0, PSEUDOCOUNT)
    family, told = from_counts(each.counts, each.names, chain, wishes, each.series, longer)
    if family is not None and not _can_be_published(family):
        wishes = replace(wishes, low=True)
        family, told = from_counts(each.counts, each.names, chain, wishes, each.series, longer)
    if told:
        _warn(told)
    return family


def _can_be_published(family: ModelFamily) -> bool:
    """Whether a box covers it, where it is private; boxes go up to where q + r is 1."""
    try:
        return not family.is_unrounded or bool(family.rounded())
    except NotSupported:
        return False


def _warn(words: str) -> None:
    warnings.warn(words, ChainveilWarning, stacklevel=2)
