"""A plan: how much noise, what it guarantees, and how to apply it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from chainveil import notebook
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.base import Origin
from chainveil.model.family import ModelFamily
from chainveil.model.region import ChainRegion
from chainveil.noise.base import Noise
from chainveil.noise.channel import Channel
from chainveil.privacy.adversary import describe
from chainveil.privacy.closed_form import HalfPlanes
from chainveil.privacy.problem import Objective
from chainveil.privacy.result import Calibrated, PrivacyLoss
from chainveil.privacy.rounding import exact, lower, upper

if TYPE_CHECKING:
    from chainveil.certificate import Certificate
    from chainveil.mechanism import Release, Reported, Source, Stream
    from chainveil.mechanism.reading import Missing

# Bounds that are further apart, as a share of the budget, are told.
FAR_APART = 0.01


@dataclass(frozen=True, repr=False)
class NoisePlan:
    """Noise that meets a budget, with the loss it was certified to have.

    Attributes
    ----------
    chain : MarkovChain, HigherOrderChain or another model
        The chain the data are taken to follow; in place of one that was fitted on private
        data, a rounded one.
    noise : Channel or CorrelatedNoise
        The noise; its probabilities are multiples of 2^-53 and realised exactly.
    loss : PrivacyLoss
        Certified loss of this noise; ``loss.epsilon`` is never above ``epsilon``.
    epsilon : float
        The budget that was asked for.
    objective : str
        What was minimised: "flips", "estimate" or "distance".
    half_planes : HalfPlanes or None
        The feasible noise levels; None for correlated noise, for chains with q + r > 1,
        where the borders curve, and for more than two states.
    spent : tuple of Channel
        Earlier releases of the same series; ``loss`` is that of all releases together.
    region : ChainRegion or None
        The chains the loss holds for, where the chain is only roughly known.
    known_noise : callable or None
        Looks for the noise that would do if ``chain`` were known to be the right one of
        ``region`` or ``family``; ``if_known`` is what it finds.
    family : ModelFamily or None
        The models that the loss holds for, each of them, where there are several; ``chain`` is
        then the typical one.
    event : int
        The secret: any two values of so many consecutive points.
    gaps : bool
        Whether ``loss`` covers points that are missing, for all to see. Noise that looks at
        each point alone loses nothing by them; noise that holds its last report may.

    Examples
    --------
    >>> import chainveil as cv
    >>> chain = cv.MarkovChain.binary(q=0.2384, r=0.3831)
    >>> plan = cv.calibrate(chain, epsilon=2.0)
    >>> plan.loss.epsilon <= 2.0, round(plan.expected_flips, 3)
    (True, 0.278)
    >>> plan.sanitize(chain.sample(1000, rng=1)).shape
    (1000,)
    """

    chain: Any
    noise: Noise
    loss: PrivacyLoss
    epsilon: float
    objective: Objective
    half_planes: HalfPlanes | None
    spent: tuple[Noise, ...] = ()
    region: ChainRegion | None = None
    known_noise: Callable[[], Calibrated] | None = field(default=None, compare=False, repr=False)
    event: int = 1
    gaps: bool = False
    family: ModelFamily | None = None

    @property
    def model(self) -> Any:
        """What the loss holds for: the family or the region where there is one, else the chain."""
        return self.family or self.region or self.chain

    @property
    def shown(self) -> Noise | list[Noise]:
        """What the loss is about: the noise, with that of earlier releases where there are any."""
        return [*self.spent, self.noise] if self.spent else self.noise

    @cached_property
    def if_known(self) -> Noise | None:
        """The noise that would do if ``chain`` were known; None where it is known.

        Looked for when it is first asked for: most plans are never asked.
        """
        return None if self.known_noise is None else self.known_noise().noise

    @property
    def cost_of_uncertainty(self) -> float:
        """Share of points changed only because the chain is not known exactly."""
        if self.if_known is None and self.family is not None:
            raise NotSupported(
                "cost_of_uncertainty: noise for the typical chain of the family alone is found "
                "for two states and order 1; compare with calibrate(plan.chain, …)"
            )
        if self.if_known is None:
            return 0.0
        return self.expected_flips - self.if_known.expected_flips(self.chain)

    @property
    def origin(self) -> Origin:
        """Where the chain came from: "given", "reference" (public data) or "private"."""
        origin: Origin = self.model.origin
        return origin

    @property
    def mechanism(self) -> str:
        """The kind of noise: "independent" (every point on its own), "correlated", …."""
        return self.noise.kind

    @property
    def channel(self) -> Channel:
        """The noise matrix of a plan with independent noise."""
        if not self.noise.ordered:
            return cast(Channel, self.noise)
        raise InvalidInput(
            "channel", f"a plan with {self.mechanism} noise", "a plan with independent noise",
            "Use noise.",
        )  # fmt: skip

    @property
    def expected_flips(self) -> float:
        """Share of points that the noise changes on average (stationary law)."""
        return self.noise.expected_flips(self.chain)

    def sanitize(
        self, x: Any, out: Any = None, rng: Source | None = None, missing: Missing = "error"
    ) -> Any:
        """Apply the noise: what comes back may be published.

        Parameters
        ----------
        x : array of shape (n,) or (series, n), or a list of arrays of different lengths
            States ``0 … k-1`` as booleans, integers of any width, or whole floats. A column,
            of shape (n, 1), is one series, and so is a frame with one column.
        out : array like ``x``, optional
            Where the result goes; ``out=x`` sanitizes in place.
        rng : optional
            By default a secure source with a fresh key from the operating system.
            ``chainveil.mechanism.seeded(seed)`` is reproducible and for study only.
        missing : "error" or "keep"
            Whether gaps (NaN, masked, -1) are an error or stay where they are, visible.

        Returns
        -------
        An array of the shape and dtype of ``x`` (a list of arrays for a list), or ``out``.
        Each call draws new noise: publishing two results spends the budget twice. Where one
        point in several reports, each report is held over its block; see
        :func:`chainveil.mechanism.sanitize` and :meth:`reports`.
        """
        return self.release(x, out, rng, missing).values

    def release(
        self, x: Any, out: Any = None, rng: Source | None = None, missing: Missing = "error"
    ) -> Release:
        """Like :meth:`sanitize`, with a report on what was done."""
        from chainveil import mechanism

        mechanism.check_length("x", x, self.loss.length)
        self._check_gaps(missing)
        return mechanism.release(x, self.noise, out, rng, missing)

    def reports(
        self, x: Any, rng: Source | None = None, missing: Missing = "error"
    ) -> Reported | list[Reported]:
        """The reports alone, and the point of each; a list for several series.

        They are those of :meth:`sanitize`, which also holds them over silent points. The
        arguments are its arguments.
        """
        from chainveil import mechanism

        mechanism.check_length("x", x, self.loss.length)
        self._check_gaps(missing)
        return mechanism.reports(x, self.noise, rng, missing)

    def stream(self, rng: Source | None = None, missing: Missing = "error") -> Stream:
        """Sanitize one series point by point, as it arrives; see ``mechanism.Stream``."""
        from chainveil.mechanism import Stream

        self._check_gaps(missing)
        return Stream(self.noise, rng, self.loss.length, missing)

    def _check_gaps(self, missing: Missing) -> None:
        """Error if gaps are to be kept that the loss does not cover."""
        if missing == "keep" and self.noise.holds and not self.gaps:
            raise InvalidInput(
                "missing", '"keep"', f'"error": the loss of this {self.mechanism} noise does not '
                "cover missing points, over which it would hold its last report",
                "Calibrate for them: calibrate(..., gaps=True).",
            )  # fmt: skip

    def certificate(self) -> Certificate:
        """What this plan promises, as a document that anyone can check again."""
        from chainveil.certificate import certify

        return certify(self)

    def plot(self, points: int = 240, seed: int = 0) -> Any:
        """A figure of what the noise does to a simulated series; see ``plot.plan_figure``."""
        from chainveil.plot import plan_figure

        return plan_figure(self, points, seed)

    def __repr__(self) -> str:
        return f"NoisePlan ({self.mechanism}): {self}"

    def __str__(self) -> str:
        return (
            f"{self.noise.describe()}: {self.expected_flips:.2%} of the points change; "
            f"loss {upper(self.loss.epsilon, 10)} of {exact(self.epsilon)}, "
            f"against {describe(self.loss.adversary)}{self._left_open}"
        )

    @property
    def _left_open(self) -> str:
        """What a search whose bounds stayed apart says of noise that may be too much."""
        if self.loss.gap <= FAR_APART * self.epsilon:
            return ""
        attained = lower(self.loss.lower, 4)
        return f"; the bounds did not meet: attacks attain {attained}, so less noise may do"

    def _repr_html_(self) -> str:
        secret = "one point" if self.event == 1 else f"any {self.event} consecutive points"
        lines = [
            ("loss", f"at most {upper(self.loss.epsilon)} of epsilon {exact(self.epsilon)}"),
            ("against", describe(self.loss.adversary)),
            ("protects", secret),
            ("noise", f"{self.mechanism}: {self.noise.describe()}"),
            ("chain", self.chain.describe()),
        ]
        if self._left_open:
            lines.insert(1, ("not closed", self._left_open.removeprefix("; ")))
        if self.spent:
            lines.append(("together with", f"{len(self.spent)} earlier releases"))
        title = f"noise plan: {self.expected_flips:.2%} of the points change on average"
        return notebook.card(title, lines)
