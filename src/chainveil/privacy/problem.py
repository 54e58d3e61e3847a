"""One question about privacy, read and checked once; solvers take it as it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

from chainveil import checks
from chainveil.errors import InvalidInput
from chainveil.model.base import DataModel, require_model
from chainveil.model.chain import MarkovChain
from chainveil.noise.automaton import Automaton, product
from chainveil.noise.base import Noise, require_noise
from chainveil.privacy.adversary import Adversary, AdversaryName, read_adversary, read_length
from chainveil.privacy.bounds import Attack, replay
from chainveil.privacy.closed_form import budget

Objective = Literal["wrong-reports", "share", "distance", "smoothed"]
Shape = Literal["uniform", "ordinal", "per-state"]
Every = int | Literal["auto"]
Unit = int | Literal["point"]


@dataclass(frozen=True)
class Effort:
    """Where a search over more than two states, or over a chain of a higher order, ends.

    Attributes
    ----------
    tolerance : float
        Distance of the bounds, in nats.
    steps : int
        Number of nodes.
    attacks_only : bool
        The upper bound is not asked for, and may be infinite.
    most_gap : float
        Bounds that are further apart when all are known may be left so.
    in_haste : bool
        Bounds that come no closer when they are searched for twice as long may be left so.
    """

    tolerance: float
    steps: int = 500_000
    attacks_only: bool = False
    most_gap: float = math.inf
    in_haste: bool = False


@dataclass(frozen=True)
class Problem:
    """One question: model, noise, unit of privacy, length and adversary.

    Attributes
    ----------
    model : MarkovChain, ChainRegion or another model
    releases : tuple of Noise
        The noise of every release of the series; the adversary sees them together.
    length : int or None
        Number of points; None: the supremum over all lengths.
    adversary : str or Adversary
    effort : int or None
        Steps that the solver may take; None: its default. For two states these are edges of the
        automaton that are visited, for other models nodes of the search. They do not depend on the
        machine.
    unit : int
        The number of consecutive points whose values are protected together.
    gaps : bool
        Whether any point may be missing, which everybody sees. It matters for noise that holds
        its last report over missing points.
    tolerance : float or None
        Distance of the bounds, in nats, at which a search over more than two states, or over a
        chain of a higher order, ends; None: the default of the solver.
    """

    model: DataModel
    releases: tuple[Noise, ...]
    length: int | None
    adversary: AdversaryName | Adversary
    effort: int | None = None
    unit: int = 1
    gaps: bool = False
    tolerance: float | None = None

    @property
    def plain(self) -> bool:
        """Whether the unit is a point, every point is reported, and no point is missing.

        Missing points matter only for noise that holds its last report over them.
        """
        held = self.gaps and any(noise.holds for noise in self.releases)
        return self.unit == 1 and not held and all(noise.every == 1 for noise in self.releases)

    @property
    def ordered(self) -> bool:
        """Whether the reports of some release depend on what came before."""
        return any(noise.ordered for noise in self.releases)

    @cached_property
    def automaton(self) -> Automaton:
        """All releases together, as an automaton."""
        return product([release.automaton(self.gaps) for release in self.releases])

    def replay(self, attack: Attack, model: DataModel | None = None) -> float:
        """What an attack attains on a model that is one law, by default that of the problem."""
        chain = (self.model if model is None else model).hidden_chain()
        return replay(chain, self.automaton, attack)

    @property
    def chain(self) -> MarkovChain:
        """The model, for engines of one chain of order 1."""
        return cast(MarkovChain, self.model)

    def with_release(self, noise: Noise) -> Problem:
        """The same with one more release."""
        return replace(self, releases=(*self.releases, noise))

    def on(self, model: DataModel) -> Problem:
        """The same on another model."""
        return replace(self, model=model)


@dataclass(frozen=True)
class Aim:
    """What calibration shall reach.

    Attributes
    ----------
    epsilon : float
        The budget, in nats, for all releases together.
    objective : str
        What to minimise.
    shape : str
        The channels of more than two states that are compared.
    every : int or "auto"
        Number of points for each report.
    """

    epsilon: float
    objective: Objective = "wrong-reports"
    shape: Shape = "uniform"
    every: Every = 1

    @classmethod
    def read(cls, epsilon: Any, objective: Any, shape: Any, every: Every) -> Aim:
        """Checked wishes."""
        checks.one_of("objective", objective, Objective.__args__)  # type: ignore[attr-defined]
        checks.one_of("shape", shape, Shape.__args__)  # type: ignore[attr-defined]
        return cls(budget(epsilon), objective, shape, every)


def read_problem(
    model: Any,
    noise: Any,
    length: Any,
    adversary: Any,
    effort: Any = None,
    *,
    unit: Any = "point",
    gaps: bool = False,
    tolerance: float | None = None,
) -> Problem:
    """A problem whose parts fit together; ``noise`` is one, or a sequence of several."""
    points = read_length(length)
    who = read_adversary(adversary, points)
    require_model(model, "model")
    several = isinstance(noise, Sequence) and not isinstance(noise, str | bytes)
    releases = tuple(noise) if several else (noise,)
    for release in releases:
        require_noise(release)
        if model.states != release.states:
            found = f"{release.states} states"
            raise InvalidInput("noise", found, f"{model.states} states, as the chain has")
    if not releases:
        raise InvalidInput("noise", "none", "at least one noise")
    steps = None if effort is None else checks.whole("effort", effort, 1)
    size = read_unit(unit, points)
    return Problem(model, releases, points, who, steps, size, bool(gaps), tolerance)


def read_unit(unit: Any, length: int | None) -> int:
    """The number of consecutive points that are protected together."""
    allowed = '"point" or a number of consecutive points'
    is_point = isinstance(unit, str) and unit == "point"
    points = 1 if is_point else checks.whole("unit", unit, 1, allowed)
    if length is not None and points > length:
        raise InvalidInput("unit", points, f"at most {length}, the length of the series")
    return points
