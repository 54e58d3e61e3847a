"""One question about privacy, read and checked once; engines take it as it is."""

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
from chainveil.model.region import ChainRegion
from chainveil.noise.automaton import Automaton, product
from chainveil.noise.base import Noise, require_noise
from chainveil.privacy.adversary import Adversary, AdversaryName, read_adversary, read_length
from chainveil.privacy.bounds import Attack, replay
from chainveil.privacy.closed_form import budget

Objective = Literal["flips", "estimate", "distance", "decoded"]
Family = Literal["response", "ordinal", "per-state"]


@dataclass(frozen=True)
class Effort:
    """How close bounds shall come where they are searched for, and when to stop all the same.

    ``attacks_only``: the bound from above is not asked for, and may be infinite. ``most_gap``:
    bounds that are further apart when all are known may be left so. ``in_haste``: bounds that come
    no closer when they are looked for twice as long may be left too.
    """

    tolerance: float = 1e-6
    max_nodes: int = 500_000
    max_seconds: float | None = None
    attacks_only: bool = False
    most_gap: float = math.inf
    in_haste: bool = False

    @classmethod
    def read(cls, tolerance: Any, max_nodes: Any, max_seconds: Any) -> Effort:
        """Checked limits."""
        allowed = "a number between 1e-10 and 1"
        width = checks.real("tolerance", tolerance, allowed)
        if not 1e-10 <= width <= 1:
            raise InvalidInput("tolerance", tolerance, allowed)
        nodes = checks.whole("max_nodes", max_nodes, 1)
        seconds = None if max_seconds is None else checks.real("max_seconds", max_seconds)
        if seconds is not None and seconds <= 0:
            raise InvalidInput("max_seconds", max_seconds, "None (no limit) or a number above 0")
        return cls(width, nodes, seconds)


@dataclass(frozen=True)
class Problem:
    """What the data may follow, what is published of them, how long they are, who attacks.

    Attributes
    ----------
    model : MarkovChain, ChainRegion or another model
    releases : tuple of Noise
        The noise of every release of the series; they are seen together.
    length : int or None
        Number of points; None: the supremum over all lengths.
    adversary : str or Adversary
    effort : Effort
        For engines that search.
    event : int
        The secret: any two values of so many consecutive points; 1 is a single point.
    gaps : bool
        Whether points may be missing anywhere, for all to see. It matters for noise that holds
        its last report over them.
    """

    model: DataModel
    releases: tuple[Noise, ...]
    length: int | None
    adversary: AdversaryName | Adversary
    effort: Effort = Effort()
    event: int = 1
    gaps: bool = False

    @property
    def plain(self) -> bool:
        """Whether every point is reported and a secret of its own, and no point is missing.

        What stands in for missing points matters only where noise holds its last report.
        """
        held = self.gaps and any(noise.holds for noise in self.releases)
        return self.event == 1 and not held and all(noise.every == 1 for noise in self.releases)

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

    @property
    def region(self) -> ChainRegion:
        """The model, for engines of a region."""
        return cast(ChainRegion, self.model)

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
    objective : "flips", "estimate" or "distance"
        What to minimise.
    max_noise : float
        Upper limit of the noise levels of two states.
    family : str
        Which channels of more than two states are looked through.
    every : int or "best"
        How many points there are to a report.
    """

    epsilon: float
    objective: Objective = "flips"
    max_noise: float = 0.5
    family: Family = "response"
    every: int | Literal["best"] = 1

    @classmethod
    def read(cls, epsilon: Any, objective: Any, max_noise: Any, family: Any) -> Aim:
        """Checked wishes, for reports on every point."""
        checks.one_of("objective", objective, Objective.__args__)  # type: ignore[attr-defined]
        checks.one_of("family", family, Family.__args__)  # type: ignore[attr-defined]
        limit = checks.probability("max_noise", max_noise, zero=False)
        return cls(budget(epsilon), objective, limit, family)


def read_problem(
    model: Any,
    noise: Any,
    length: Any,
    adversary: Any,
    effort: Effort | None = None,
    *,
    event: Any = 1,
    gaps: bool = False,
) -> Problem:
    """A problem whose parts fit together; ``noise`` is one, or a sequence of several."""
    points = read_length(length)
    who = read_adversary(adversary, points)
    require_model(model)
    several = isinstance(noise, Sequence) and not isinstance(noise, str | bytes)
    releases = tuple(noise) if several else (noise,)
    for release in releases:
        require_noise(release)
        if model.states != release.states:
            found = f"{release.states} states"
            raise InvalidInput("noise", found, f"{model.states} states, as the chain has")
    if not releases:
        raise InvalidInput("noise", "none", "at least one noise")
    window = read_event(event, points)
    return Problem(model, releases, points, who, effort or Effort(), window, bool(gaps))


def read_event(event: Any, length: int | None) -> int:
    """The number of consecutive points that are one secret."""
    window = checks.whole("event", event, 1)
    if length is not None and window > length:
        raise InvalidInput("event", window, f"at most {length}, the length of the series")
    return window
