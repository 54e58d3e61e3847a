"""The noise of a release as an estimator needs it: the law of the reports at any few points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.estimate.report_weights import checked_inverse, report_weights, worst_variance
from chainveil.noise.base import Noise
from chainveil.plan import NoisePlan

# Flips further apart than this correlation are taken as independent.
FORGOTTEN = 1e-5
# Distances that are added up, at most.
MOST_REACH = 20_000
# Past this standard error any share between nothing and everything fits a release.
USELESS = 0.5


@dataclass(frozen=True)
class NoiseLaw:
    """A noise, read as a law of several reports given several states.

    Attributes
    ----------
    source : Noise
        The noise as it falls on the points that report.
    every : int
        One point in so many reports; an estimate looks at these.
    """

    source: Noise
    every: int = 1

    @property
    def noise(self) -> Noise:
        """The noise as it falls on all points."""
        return self.source.thinned(self.every)

    @property
    def looks_back(self) -> bool:
        """Whether a report depends on its point and the last report (``counts.last_report``)."""
        return self.source.sees == "last report"

    @property
    def shared(self) -> bool:
        """Whether points have noise in common that estimates of two groups would both carry."""
        return self.source.ordered and not self.looks_back

    @cached_property
    def from_counts(self) -> bool:
        """Whether the noise can be undone without a model of the series."""
        try:
            self.inverse((0,))
        except NotSupported:
            return False
        return True

    @property
    def states(self) -> int:
        """Number of states k."""
        return self.source.states

    @property
    def outputs(self) -> int:
        """Number of reports m."""
        return self.source.outputs

    @property
    def memory(self) -> float:
        """The factor lambda_y by which the correlation of two flips shrinks with each step."""
        return self.source.memory

    @cached_property
    def reach(self) -> int:
        """The largest distance of two points whose noise is still correlated."""
        size = abs(self.memory)
        if size < FORGOTTEN:
            return 0
        found = math.inf if size >= 1 else math.log(FORGOTTEN) / math.log(size)
        if found > MOST_REACH:
            raise NotSupported(
                f"noise: its flips stay correlated over more than {MOST_REACH:,} points; estimates "
                "add up all distances within reach"
            )
        return math.ceil(found)

    def joint(self, offsets: Sequence[int]) -> FloatArray:
        """``Pr[reports at offsets | states at offsets]``, shape (k^p, m^p).

        The p offsets increase. Rows and columns count in base k and m, the first point first.
        """
        return _joint(self.source, tuple(offsets))

    def inverse(self, offsets: Sequence[int]) -> FloatArray:
        """The matrix that turns shares of reports into unbiased shares of states, (m^p, k^p).

        Where reports look back at the last one, a row for each pair of the two, (m^2p, k^p).
        """
        return _inverse(self.source, tuple(offsets))

    def points_needed(self, window: Sequence[int]) -> int:
        """Windows of points that bring the standard error of any share below ``USELESS``.

        A weight that a report gets lies between a least and a largest one, so its spread is
        at most half their distance; correlated noise counts each point less by
        ``(1 - lambda_y) / (1 + lambda_y)``. Where reports look back at the last one, by the
        worst series that there could be.
        """
        if self.looks_back:
            return math.ceil(worst_variance(self.source, len(window) > 1) / USELESS**2)
        weights = self.inverse(window)
        spread = float((weights.max(axis=0) - weights.min(axis=0)).max()) / 2
        inflation = (1 + max(self.memory, 0.0)) / (1 - max(self.memory, 0.0))
        return math.ceil(spread**2 * inflation / USELESS**2)

    def too_few(self, window: Sequence[int], points: FloatArray) -> NDArray[np.bool_]:
        """Which numbers of windows leave a share less certain than ``USELESS``."""
        return np.asarray(points < self.points_needed(window))

    def check_length(
        self,
        window: Sequence[int],
        points: int,
        question: str,
        advice: str = "Take larger groups, or a release with a larger budget.",
    ) -> None:
        """Error if ``points`` windows leave a share less certain than ``USELESS``."""
        if points == 0:
            raise InvalidInput(
                "z", f"no two points {window[-1]} apart within a group",
                f"larger groups or windows for {question}",
            )  # fmt: skip
        needed = self.points_needed(window)
        if points < needed:
            raise InvalidInput(
                "noise",
                f"noise too close to singular for {question} from {points:,} "
                f"{'points' if len(window) == 1 else 'pairs of points'}",
                f"at least {needed:,} of them",
                f"Fewer leave a standard error above {USELESS:g} for a share. {advice}",
            )


def as_noise_law(noise: Any) -> NoiseLaw:
    """The law of a noise or of a plan's noise."""
    if isinstance(noise, NoiseLaw):
        return noise
    if isinstance(noise, NoisePlan):
        noise = noise.noise
    if isinstance(noise, Noise):
        return NoiseLaw(noise.thinned(1), noise.every)
    raise InvalidInput(
        "noise", noise, "a Channel, another noise or a NoisePlan",
        "certificate.plan() gives the plan of a release.",
    )  # fmt: skip


@lru_cache(maxsize=512)
def _joint(source: Noise, offsets: tuple[int, ...]) -> FloatArray:
    if source.holds and source.sees == "series":
        raise NotSupported(
            f"estimates under {source.kind} noise, whose reports mix the states of two points: "
            "nothing undoes it without a model. Denoising takes one, and answers for each point"
        )
    return source.joint_law(offsets)


@lru_cache(maxsize=512)
def _inverse(source: Noise, offsets: tuple[int, ...]) -> FloatArray:
    if source.sees == "last report":
        alone = report_weights(source)
    elif source.ordered:
        return checked_inverse(_joint(source, offsets))
    else:
        alone = checked_inverse(_joint(source, (0,)))
    # The inverse of a product of points is the product of their inverses.
    return reduce(lambda left, right: np.asarray(np.kron(left, right)), [alone] * len(offsets))
