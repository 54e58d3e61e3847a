"""Series whose own chains a family leaves out: what a user is told of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import NotSupported
from chainveil.model.base import Box, DataModel
from chainveil.model.family import ModelFamily

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
) -> str:
    """What to say of series that have enough points, no model, and a chain outside of all boxes."""
    whole = [(place, model) for place, model in own if place < len(counts)]
    left = [place for place, model in whole if model is None]
    if not left or counts.shape[1] > 2:
        return ""
    (stay, leave), (back, keep) = counts[left].transpose(1, 2, 0)
    q, r = leave / (leave + stay), back / (back + keep)
    inside = np.zeros(len(left), bool)
    for q_low, q_high, r_low, r_high in _published_boxes(family):
        inside |= (q_low <= q) & (q <= q_high) & (r_low <= r) & (r <= r_high)
    missed = len(left) - int(np.count_nonzero(inside))
    return NOT_COVERED.format(missed=missed, count=len(whole)) if missed else ""


def _published_boxes(family: ModelFamily | None) -> list[Box]:
    """Of private series one covers all; where it cannot, the table is refused later."""
    if family is None:
        return []
    try:
        model = family.rounded() if family.is_unrounded else family
    except NotSupported:
        model = family
    return [member.box for member in model.members if member.box is not None]
