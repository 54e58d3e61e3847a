"""Series whose own chains a family leaves out: what a user is told of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import NotSupported
from chainveil.model.base import DataModel
from chainveil.model.chain import MarkovChain
from chainveil.model.family import ModelFamily
from chainveil.model.fit_test import LEVEL, p_values

NOT_COVERED = (
    "{missed:,} of {count:,} series with enough points have chains of their own that the model "
    "leaves out: boxes go up to where q + r is 1, and those of private series are rounded. The "
    "chain of all series together stands for them; on their own chains the noise may lose more "
    "than the budget. A public reference has a model for each"
)


def told_of_left_out(
    own: Sequence[tuple[int, DataModel | None]],
    counts: NDArray[np.int64],
    family: ModelFamily | None,
    pooled: MarkovChain,
) -> str:
    """What to say of series that have enough points, no model, and contradict all other models.

    Fits differ from the chains behind them, so each series is tested, at the 1% level for all of
    them together.
    """
    whole = [(place, model) for place, model in own if place < len(counts)]
    left = [place for place, model in whole if model is None]
    if not left or counts.shape[1] > 2:
        return ""
    members = [member for member in _published(family, pooled).members if member.order == 1]
    found = np.max([p_values(counts[left], member) for member in members], axis=0)
    missed = int(np.count_nonzero(found < LEVEL / len(left)))
    return NOT_COVERED.format(missed=missed, count=len(whole)) if missed else ""


def _published(family: ModelFamily | None, pooled: MarkovChain) -> DataModel:
    """Of private series one box covers all; where it cannot, the table is refused later."""
    if family is None:
        return pooled
    try:
        return family.rounded() if family.is_unrounded else family
    except NotSupported:
        return family
