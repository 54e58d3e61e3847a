"""The one interface of every noise, and the registry that knows each kind by its name.

Solvers, attacks and verification ask a noise for its automaton, and calibration for its
parametrization. Samplers, estimators, smoothing and comparison ask for the laws and the tags that
are declared here. Nobody asks for a class or a name: a new kind is a new class that is registered,
and nothing that exists has to change. ``docs/extending.md`` shows how, and ``check_noise`` checks
whether an instance has all that is needed.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.base import require_model
from chainveil.noise.automaton import Automaton, independent, remembering
from chainveil.plugins import load_installed

if TYPE_CHECKING:
    from chainveil.model.base import DataModel
    from chainveil.model.chain import MarkovChain
    from chainveil.noise.parametrization import Parametrization

# Probabilities that are realised with noise are multiples of 2^-53: exact doubles.
GRID = 2.0**53
# Where packages outside of chainveil name the kinds of noise that they bring.
ENTRY_POINTS = "chainveil.noise"

Sees = Literal["point", "last report", "series"]
NEEDS: dict[Sees, str] = {
    "point": "each report needs its own point alone: every owner can make theirs",
    "last report": "each report needs its own point and the last report, which is public: "
    "every owner can make theirs, in turn",
    "series": "each report needs points before it too: one holder of the whole series makes them",
}


class Noise(ABC):
    """How the report of each point is drawn: ``K(z_t | what it sees)``.

    A subclass is a frozen value. It names its ``kind``, under which it is registered, and
    what a report ``sees`` beside its own point: nothing ("point"), the report before it
    ("last report"), or points before it ("series").
    """

    kind: ClassVar[str]
    sees: ClassVar[Sees]
    # Whether the last report stands over missing points, and is what the next one looks at.
    # Other noise that looks back runs on beneath them.
    holds: ClassVar[bool] = False
    # Which search of finite states finds noise of the kind: channels, or sticky responses.
    finite: ClassVar[Literal["response", "sticky response"] | None] = None
    # One point in ``every`` reports: the middle of each block of so many, from the first on. Noise
    # that sees points before its own reports every point.
    every: int = 1
    # The releases that are seen together as one; privacy figures multiply their laws exactly.
    parts: tuple[Noise, ...] = ()

    @property
    def states(self) -> int:
        """Number of states k."""
        return len(self.first_law())

    @property
    def outputs(self) -> int:
        """Number of different reports m."""
        return int(self.first_law().shape[1])

    @abstractmethod
    def first_law(self) -> FloatArray:
        """``Pr[Z_1 = z | X_1 = x]`` at ``[x, z]``, shape (k, m)."""

    def step_law(self) -> FloatArray:
        """``Pr[Z_t = z' | Z_{t-1} = z, X_{t-1} = x, X_t = x']`` at ``[z, x, x', z']``.

        The first law, for noise that sees its own point alone; other noise has one of its own.
        """
        if self.ordered:
            raise NotImplementedError(f"{type(self).__name__}.step_law")
        k, m = self.states, self.outputs
        return np.broadcast_to(self.first_law(), (m, k, k, m))

    def after_gap_law(self) -> FloatArray:
        """``Pr[Z_t = z' | last report z, X_t = x']`` after missing points, shape (m, k, m).

        For noise that holds its last report over them.
        """
        raise NotSupported(f"{self.kind} noise: it does not hold reports over missing points")

    def automaton(self, gaps: bool = False) -> Automaton:
        """Labels and edges of the noise, for solvers, attacks and verification.

        Parameters
        ----------
        gaps : bool
            Whether any point may be missing, for all to see. Noise that does not hold its last
            report runs on beneath missing points: what is published with gaps follows from what is
            published without, and its automaton stays as it is.
        """
        if not self.ordered:
            return independent(self.first_law(), self.every, gaps)
        after_gap = self.after_gap_law() if gaps and self.holds else None
        return remembering(self.step_law(), self.first_law(), self.every, after_gap)

    @classmethod
    def parametrization(
        cls, transition: FloatArray, every: int = 1, gaps: bool = False, max_noise: float = 0.5
    ) -> Parametrization:
        """Noise of the kind on two states as logits, for a search (``privacy/calibrate.py``)."""
        raise NotSupported(f"mechanism: {cls.kind} noise has no calibration for two states")

    def on_grid(self) -> Self:
        """The noise that sanitizing realises: every probability a multiple of 2^-53.

        Neither direction of rounding is the private one for every model, so a loss that is
        guaranteed must be computed from the result.
        """
        return self.from_matrix(nearest_on_grid(np.array(self.to_matrix()))).thinned(self.every)

    @property
    def flip_probabilities(self) -> FloatArray:
        """``Pr[Z_1 != X_1 | X_1 = x]`` for each state, shape (k,); as many reports as states."""
        law = self.first_law()
        if law.shape[0] != law.shape[1]:
            found = f"{law.shape[0]} states and {law.shape[1]} outputs"
            raise InvalidInput("noise", found, "as many outputs as states, for a flip to be one")
        return np.asarray((law * (1 - np.eye(len(law)))).sum(axis=1))

    def expected_flips(self, chain: DataModel) -> float:
        """Share of points that differ from the report that stands for them, in the long run."""
        from chainveil.noise.wrong import wrong_share

        require_model(chain)
        return wrong_share(self, chain)

    def expected_distance(self, chain: DataModel) -> float:
        """Mean distance between a point and the report that stands for it, in the long run.

        For ordered states, which are the numbers 0 … k-1.
        """
        from chainveil.noise.wrong import mean_distance

        require_model(chain)
        return mean_distance(self, chain)

    @abstractmethod
    def to_matrix(self) -> list[list[float]]:
        """The numbers that define it, as rows; :meth:`from_matrix` reads them back."""

    @classmethod
    @abstractmethod
    def from_matrix(cls, rows: Any) -> Self:
        """The noise that :meth:`to_matrix` wrote down."""

    @abstractmethod
    def describe(self) -> str:
        """What it does to a point, in words."""

    @property
    def ordered(self) -> bool:
        """Whether a report depends on what came before: rows then go in order, in one place."""
        return self.sees != "point"

    @property
    def flips(self) -> MarkovChain | None:
        """Of noise that is ``z = x XOR y``, the stationary chain of the flips y; else None."""
        return None

    @property
    def memory(self) -> float:
        """By which factor the correlation of two points' noise shrinks with each step."""
        return 0.0

    def joint_law(self, offsets: Sequence[int]) -> FloatArray:
        """``Pr[reports at offsets | states at offsets]``, shape (k^p, m^p), first one slowest.

        Only where the points between do not matter.
        """
        if self.ordered:
            raise NotSupported(f"{self.kind} noise: reports depend on the points between them")
        laws = [self.first_law()] * len(offsets)
        return reduce(lambda one, other: np.asarray(np.kron(one, other)), laws)

    @property
    def first_place(self) -> int:
        """Index of the first point that reports, counted from 0: the middle of its block."""
        return (self.every - 1) // 2

    def places(self, n: int) -> NDArray[np.int64]:
        """Indices of the points that report in a series of ``n`` points."""
        return np.arange(self.first_place, n, self.every)

    def thinned(self, every: int) -> Self:
        """The same noise on one point in ``every``; silent points are protected all the same."""
        if every == self.every:
            return self
        raise _reports_every_point(self.kind)

    def quieter(self, share: float, weights: FloatArray) -> Self:
        """The noise a share of the way, from 0 to 1, to one that says nothing about the states.

        ``weights``, shape (k,), are the shares of the states, by which reports are averaged.
        """
        raise NotSupported(f"{self.kind} noise has no way to noise that says nothing")

    @property
    def needs(self) -> str:
        """Who must see what for a report to be made, in one line."""
        return NEEDS[self.sees]

    def to_json(self) -> dict[str, Any]:
        """Kind and numbers, ready for JSON; ``noise.read_noise`` reads them back."""
        words: dict[str, Any] = {"kind": self.kind, "matrix": self.to_matrix()}
        return words if self.every == 1 else words | {"every": self.every}


def require_noise(noise: Any) -> None:
    """Error unless it is a noise, and reports every point where it sees points before its own."""
    if not isinstance(noise, Noise):
        found = f"an object of type {type(noise).__name__}"
        advice = "Channel.binary(rho0, rho1) makes one, and a plan has one as its noise."
        raise InvalidInput("noise", found, "a Channel or another noise", advice)
    check_every(noise, noise.every)


def check_every(noise: Noise | type[Noise], every: int | str) -> None:
    """Error where noise that sees points before its own shall report one point in several."""
    if every != 1 and noise.sees == "series":
        raise _reports_every_point(noise.kind)


def _reports_every_point(kind: str) -> NotSupported:
    return NotSupported(
        f"every: {kind} noise reports every point; for reports on one point in several take "
        "independent or sticky noise"
    )


def require_channel(noise: Any, argument: str = "channel") -> None:
    """Error unless it is a noise whose reports look at their own point alone."""
    if not isinstance(noise, Noise) or noise.ordered:
        found = f"an object of type {type(noise).__name__}"
        advice = "Channel.binary(rho0, rho1) makes one."
        raise InvalidInput(argument, found, "a Channel", advice)


NoiseT = TypeVar("NoiseT", bound=type[Noise])

KINDS: dict[str, type[Noise]] = {}


def register(noise: NoiseT) -> NoiseT:
    """Make a kind of noise known by its name; usable as a decorator of the class."""
    KINDS[noise.kind] = noise
    return noise


def kinds() -> tuple[str, ...]:
    """The names of all kinds of noise, those of installed packages included."""
    load_installed(ENTRY_POINTS, KINDS)
    return tuple(KINDS)


def noise_class(kind: str, argument: str = "mechanism") -> type[Noise]:
    """The class of a kind, or an error that names the kinds there are."""
    # Documents from elsewhere may hold anything in its place, also what cannot be looked up.
    named = isinstance(kind, str)
    if named and kind not in KINDS:
        load_installed(ENTRY_POINTS, KINDS)
    if named and kind in KINDS:
        return KINDS[kind]
    near = difflib.get_close_matches(str(kind), KINDS, 1)
    advice = f"Did you mean {near[0]!r}?" if near else ""
    raise InvalidInput(argument, kind, " or ".join(f'"{name}"' for name in KINDS), advice)


def form_of(kind: str) -> Parametrization | None:
    """What the search on two states knows of a kind of noise; None where there is no search."""
    try:
        return noise_class(kind).parametrization(np.full((2, 2), 0.5))
    except NotSupported:
        return None


def read_noise(words: Mapping[str, Any]) -> Noise:
    """A noise from its kind, its numbers and how often it reports."""
    noise = noise_class(words["kind"], "noise").from_matrix(words["matrix"])
    return noise.thinned(checks.whole("noise.every", words.get("every", 1), 1))


def nearest_on_grid(rows: FloatArray) -> FloatArray:
    """Rows of probabilities in multiples of 2^-53; the largest of each row takes what is left.

    What is possible stays so, and what is impossible too.
    """
    units = np.where(rows > 0, np.maximum(np.rint(rows * GRID), 1.0), 0.0).astype(np.int64)
    largest, place = np.argmax(rows, axis=1), np.arange(len(rows))
    units[place, largest] = 0
    units[place, largest] = int(GRID) - units.sum(axis=1)
    return np.asarray(units / GRID)
