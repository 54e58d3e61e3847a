"""A plan's noise on a column of states, batch after batch, with its digest."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chainveil.errors import InvalidInput, NotSupported
from chainveil.mechanism.independent import sanitize
from chainveil.mechanism.randomness import Seeded, Source, as_source
from chainveil.plan import NoisePlan
from chainveil.table.prepare import Seen


class ColumnNoise:
    """Applies independent noise to the rows of a table as they come.

    With independent noise every row has noise of its own, so the column is one long run
    of points whatever series its rows belong to.
    """

    def __init__(self, plan: NoisePlan, rng: Source | None) -> None:
        if plan.mechanism != "independent":
            raise NotSupported(
                f"mechanism = {plan.mechanism!r}: tables are published with independent noise, "
                "which holds across gaps; apply other plans to arrays with plan.sanitize"
            )
        self._channel = plan.channel
        self._source = as_source(rng)
        self._digest = hashlib.sha256()
        self.rows = 0

    @property
    def source(self) -> Literal["release", "study"]:
        """As a certificate names it."""
        return "release" if self._source.for_release else "study"

    @property
    def sha256(self) -> str:
        """Digest of all states released so far, a byte each."""
        return self._digest.hexdigest()

    def apply(self, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The states to publish for the next rows."""
        if len(codes) == 0:
            return codes
        source = self._source
        if isinstance(source, Seeded):
            source = source.at(point=self.rows)
        noisy: NDArray[Any] = sanitize(codes, self._channel, rng=source)
        self._digest.update(np.ascontiguousarray(noisy, np.uint8).data)
        self.rows += len(codes)
        return noisy


def check_length(plan: NoisePlan, seen: Seen) -> None:
    """Error if a series is longer than the plan's promise covers."""
    length = plan.loss.length
    if length is None:
        return
    if seen.splits:
        # Points on both sides of a gap still depend on each other, across unseen points.
        raise InvalidInput(
            "length", length, "None, where series are split at gaps",
            "A gap hides how many points lie in it.",
        )  # fmt: skip
    if seen.longest > length:
        raise InvalidInput(
            "table", f"a series of {seen.longest} rows", f"at most {length} rows, the length "
            "the noise was calibrated for", "Leave the length out: the promise then holds for any.",
        )  # fmt: skip
