"""A plan: how much noise, what it guarantees, and how to apply it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from chainveil import notebook
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.base import Origin
from chainveil.noise.base import Noise
from chainveil.noise.channel import Channel
from chainveil.privacy import engines
from chainveil.privacy.adversary import describe
from chainveil.privacy.closed_form import HalfPlanes
from chainveil.privacy.problem import Aim, Objective, Problem, Unit
from chainveil.privacy.result import PrivacyLoss
from chainveil.privacy.rounding import exact, lower, upper

if TYPE_CHECKING:
    from chainveil.certificate import Certificate
    from chainveil.mechanism import Release, Reported, Source, Stream
    from chainveil.mechanism.reading import Missing
    from chainveil.model.family import ModelFamily
    from chainveil.model.region import ChainRegion

# Bounds that are further apart, as a share of the budget, are told.
FAR_APART = 0.01


@dataclass(frozen=True, repr=False)
class NoisePlan:
    """Noise that meets a budget, with the loss it was certified to have.

    Attributes
    ----------
    model : MarkovChain, ChainRegion, ModelFamily or another model
        The model that the loss holds for; in place of one that was fitted on private data, a
        rounded one.
    noise : Noise
        The noise; its probabilities are multiples of 2^-53 and realised exactly.
    loss : PrivacyLoss
        Certified loss of this noise and the earlier releases; ``loss.epsilon`` is never above
        ``epsilon``.
    epsilon : float
        The budget that was asked for, in nats.
    objective : str
        What was minimised: "wrong-reports", "share", "distance" or "smoothed".
    half_planes : HalfPlanes or None
        The feasible noise levels of independent noise on two states with q + r up to 1.
    earlier : tuple of Noise
        Noise of earlier releases of the same series.
    unit : "point" or int
        The unit of privacy: one point, or so many consecutive points.
    gaps : bool
        Whether ``loss`` covers missing points, over which noise may carry its last report forward.

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

    model: Any
    noise: Noise
    loss: PrivacyLoss
    epsilon: float
    objective: Objective
    half_planes: HalfPlanes | None = None
    earlier: tuple[Noise, ...] = ()
    unit: Unit = "point"
    gaps: bool = False

    @cached_property
    def chain(self) -> Any:
        """The model, or its likeliest chain if it is a region or a family."""
        return self.model.likeliest

    @property
    def region(self) -> ChainRegion | None:
        """The chains that the loss holds for, if the model is a region."""
        return None if self.model.single or self.family is not None else self.model

    @property
    def family(self) -> ModelFamily | None:
        """The models that the loss holds for, each of them, if the model is a family."""
        return self.model if engines.is_family(self.model) else None

    @property
    def shown(self) -> Noise | list[Noise]:
        """What the loss is about: the noise, with that of earlier releases where there are any."""
        return [*self.earlier, self.noise] if self.earlier else self.noise

    @cached_property
    def if_known(self) -> Noise | None:
        """The noise that would do if ``chain`` were known to be the right one; None if it is.

        It is searched for when it is first asked for.
        """
        if self.model.single:
            return None
        if self.chain.box is None:
            raise NotSupported(
                "if_known: noise for the typical chain of the family alone is found for two states "
                "and order 1; compare with calibrate(plan.chain, …)"
            )
        size = 1 if self.unit == "point" else self.unit
        length, who = self.loss.length, self.loss.adversary
        problem = Problem(self.chain, self.earlier, length, who, unit=size, gaps=self.gaps)
        aim = Aim(self.epsilon, self.objective, every=self.noise.every)
        return engines.least_noise(self.mechanism, problem, aim).noise

    @property
    def cost_of_uncertainty(self) -> float:
        """Share of points changed only because the chain is not known exactly."""
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
        secret = "one point" if self.unit == "point" else f"any {self.unit} consecutive points"
        lines = [
            ("loss", f"at most {upper(self.loss.epsilon)} of epsilon {exact(self.epsilon)}"),
            ("against", describe(self.loss.adversary)),
            ("protects", secret),
            ("noise", f"{self.mechanism}: {self.noise.describe()}"),
            ("chain", self.chain.describe()),
        ]
        if self._left_open:
            lines.insert(1, ("not closed", self._left_open.removeprefix("; ")))
        if self.earlier:
            lines.append(("together with", f"{len(self.earlier)} earlier releases"))
        title = f"noise plan: {self.expected_flips:.2%} of the points change on average"
        return notebook.card(title, lines)
