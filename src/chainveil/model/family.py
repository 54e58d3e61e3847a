"""Several models at once: a promise has to hold for each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput, NotSupported
from chainveil.model.base import (
    Box,
    DataModel,
    HiddenChain,
    Origin,
    read_model,
    register,
    require_model,
)
from chainveil.model.chain import MarkovChain, read_public
from chainveil.model.higher_order import read_pseudocount
from chainveil.model.region import ChainRegion

# A certificate lists no more.
MOST_MEMBERS = 4096
ADVICE = (
    "Fit a reference population that is public, or use order 1; or fit one chain to all series, "
    "of a table with pooled=True (--pooled)."
)


@register
@dataclass(frozen=True, repr=False)
class ModelFamily(DataModel):
    """Finitely many chains of any order, and boxes of chains, on the same states.

    Its loss is the largest of its members', and calibrated noise keeps the budget for each of
    them: what is promised holds for every person whose own model is among the members, also
    against an adversary who knows which one it is.

    Parameters
    ----------
    members : sequence of MarkovChain, HigherOrderChain and ChainRegion
        One or more.
    names : sequence of str, optional
        What the members are called where one is named: "member 1", "member 2", … by default.
        They are published in certificates.
    typical : MarkovChain or HigherOrderChain, optional
        The one law that figures for one law are given for: the share of wrong reports,
        posteriors, smoothing. It need not be a member, and no promise leans on it. By default,
        for two states and order 1, the chain of the geometric means of the members' q and r;
        else the likeliest chain of the first member.

    Examples
    --------
    >>> import chainveil as cv
    >>> slow, fast = cv.MarkovChain.binary(0.02, 0.05), cv.MarkovChain.binary(0.1, 0.2)
    >>> family = cv.ModelFamily([slow, fast], names=["Ann", "Bob"])
    >>> loss = cv.privacy_loss(family, cv.Channel.binary(0.4, 0.4))
    >>> loss.member, loss.epsilon == cv.privacy_loss(slow, cv.Channel.binary(0.4, 0.4)).epsilon
    ('Ann', True)
    >>> cv.calibrate(family, epsilon=2).loss.epsilon <= 2
    True
    """

    kind: ClassVar[str] = "family"
    single: ClassVar[bool] = False

    # Type checkers know ``members`` as the property that every model has.
    _members: tuple[DataModel, ...]
    names: tuple[str, ...]
    typical: Any
    origin: Origin

    def __init__(
        self,
        members: Sequence[DataModel],
        names: Sequence[str] | None = None,
        typical: DataModel | None = None,
    ) -> None:
        held = _read_members(members)
        origin = _origin(held)
        likely = _typical(held, origin) if typical is None else _read_typical(typical, held)
        object.__setattr__(self, "_members", held)
        object.__setattr__(self, "names", _read_names(names, len(held)))
        object.__setattr__(self, "typical", likely)
        object.__setattr__(self, "origin", origin)

    @classmethod
    def fit(
        cls, sequences: Any, states: int | None = None, *, public: bool = False,
        order: int | Literal["auto"] = "auto", confidence: float | None = 0.95,
        unseen: float = 0.95, parts: int = 1, names: Sequence[str] | None = None,
        pseudocount: float = 0.5,
    ) -> ModelFamily:  # fmt: skip
        """A model for each series with enough points, and the pooled one for the rest.

        Parameters
        ----------
        sequences, states
            As in :meth:`chainveil.MarkovChain.fit`: a person a series. A series has a model of
            its own where it leaves each state 20 times or more.
        public : bool
            Whether the series need no protection: a reference population. Else they are those
            that are to be released, and what is published is one box that covers them.
        order : int or "auto"
            From 2 on, a chain of that order for each series stands beside its chain of order 1;
            "auto": of the order that it asks for (:func:`chainveil.choose_order`). Of private
            series there is one such chain, of all together.
        confidence : float or None
            For two states: in place of a chain the box that holds it with this probability
            (:meth:`chainveil.MarkovChain.region`). None: the chain itself.
        unseen : float
            For a reference population of two states: the probability with which the family
            holds the chain of one more person of the same population; 0: no margin.
            docs/families.md says how it is made.
        parts : int
            Where series drift: also the models of so many equal parts of each.
        names : sequence of str, optional
            What the series are called, where one is named: "series 1", … by default.
        pseudocount : float
            Of chains of orders above 1, as in :meth:`chainveil.MarkovChain.fit`.

        Examples
        --------
        >>> import chainveil as cv
        >>> people = [cv.MarkovChain.binary(q, 2 * q) for q in (.04, .05, .07, .08, .1, .12)]
        >>> series = [chain.sample(2000, rng=i) for i, chain in enumerate(people)]
        >>> family = cv.ModelFamily.fit(series, public=True, order=1)
        >>> all(family.covers(chain) for chain in people)
        True
        """
        from chainveil.model.populations import Wishes, fit

        wishes = Wishes.read(order, confidence, unseen, read_pseudocount(pseudocount))
        return fit(sequences, states, read_public(public), wishes, parts, names)

    @property
    def members(self) -> tuple[DataModel, ...]:
        """The models that a promise has to hold for, each by itself."""
        return self._members

    @property
    def states(self) -> int:
        """Number of states k, the same for all members."""
        return self.members[0].states

    @property
    def order(self) -> int | None:
        """The largest of the members'; None where one is no chain of any order."""
        orders = [member.order for member in self.members]
        return None if None in orders else max(order for order in orders if order is not None)

    def __getitem__(self, name: str) -> DataModel:
        """The member of that name."""
        if name not in self.names:
            raise InvalidInput("name", name, f"one of the {len(self.names)} names of the members")
        return self.members[self.names.index(name)]

    def __len__(self) -> int:
        return len(self.members)

    def covers(self, other: DataModel) -> bool:
        """Whether each member of the other is part of a member of this family."""
        return all(any(mine.covers(one) for mine in self.members) for one in other.members)

    def without_covered(self) -> ModelFamily:
        """The family without members that are part of others, whose loss can be no larger."""
        return self._uncovered or self

    @cached_property
    def _uncovered(self) -> ModelFamily | None:
        """The family without members that are part of others; None where there are none."""
        kept = _uncovered(self.members)
        if len(kept) == len(self.members):
            return None
        members, names = ([of[i] for i in kept] for of in (self.members, self.names))
        return ModelFamily(members, names, self.typical)  # type: ignore[arg-type]

    def describe(self) -> str:
        """How many members there are, of which orders, and between which limits."""
        words = f"a family of {len(self)} models on {self.states} states"
        orders = sorted({member.order for member in self.members if member.order is not None})
        words += f", of order {' and '.join(map(str, orders))}" if orders else ""
        boxes = [member.box for member in self.members if member.box is not None]
        if boxes:
            q_low, q_high, r_low, r_high = hull(boxes)
            words += (
                f"; those of order 1 go from 0 to 1 with {q_low!r} to {q_high!r}, from 1 to 0 "
                f"with {r_low!r} to {r_high!r}"
            )
        return words

    def of_origin(self, origin: Origin) -> ModelFamily:
        """The same family, all of whose members are known to come from there."""
        members = [member.of_origin(origin) for member in self.members]
        return ModelFamily(members, self.names, self.typical.of_origin(origin))

    @property
    def is_unrounded(self) -> bool:
        """Whether it would publish a fit of private data, or one model a private series."""
        private = [member for member in self.members if member.origin == "private"]
        boxed = sum(member.box is not None for member in private)
        several = boxed > 1 or len(private) - boxed > 1
        return several or any(model.is_unrounded for model in (*private, self.typical))

    def rounded(self) -> DataModel:
        """What may be published in place of members that were fitted on private data.

        One box covers all private two-state chains of order 1 and boxes, so that nobody's own
        parameters are published; a private model of another kind is rounded as it is when it
        stands alone, and there may be one of them, that of all series together.
        """
        private = [member for member in self.members if member.origin == "private"]
        boxed = [member for member in private if member.box is not None]
        others = [member for member in private if member.box is None]
        if len(others) > 1:
            raise NotSupported(
                f"family: {len(others)} private models of more than two states or of an order "
                f"above 1; no box covers them, and one by one they would be published. {ADVICE}"
            )
        named: list[tuple[str, DataModel]] = []
        if boxed:
            named.append(("the box of all series", _covering(boxed, self.typical)))
        named += [("all series together", _as_rounded(other)) for other in others]
        pairs = zip(self.names, self.members, strict=True)
        public = [(name, member) for name, member in pairs if member.origin != "private"]
        if len(named) == 1 and not public:
            return named[0][1]
        named += public
        return ModelFamily(
            [model for _, model in named], [name for name, _ in named], named[0][1].likeliest
        )

    @property
    def stationary(self) -> FloatArray:
        """That of the typical chain."""
        return np.asarray(self.typical.stationary)

    @property
    def likeliest(self) -> Any:
        """The typical chain."""
        return self.typical

    def hidden_chain(self) -> HiddenChain:
        """That of the typical chain."""
        hidden: HiddenChain = self.typical.hidden_chain()
        return hidden

    def series_law(self, n: int) -> FloatArray:
        """A family has no one law."""
        raise NotSupported("a family of models has no law of its own; each of its members has one")

    def sample(self, *_: Any, **__: Any) -> Any:
        """A family has no one law to draw from."""
        raise NotSupported(
            "a family of models has no law to draw series from; use a member, "
            "family.members[0].sample(n), or family.typical.sample(n)"
        )

    def to_json(self) -> dict[str, Any]:
        """Kind and numbers of each member, their names, and those of the typical chain."""
        return {
            "members": [[member.kind, member.to_json()] for member in self.members],
            "names": list(self.names),
            "typical": [self.typical.kind, self.typical.to_json()],
        }

    @classmethod
    def from_json(cls, words: Mapping[str, Any]) -> ModelFamily:
        """The family with these members; their numbers as objects or as lists of pairs."""
        members = [read_model(kind, dict(numbers)) for kind, numbers in words["members"]]
        kind, numbers = words["typical"]
        return cls(members, words["names"], read_model(kind, dict(numbers)))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.members[:3]))
        more = f", … {len(self) - 3} more" if len(self) > 3 else ""
        return f"ModelFamily([{shown}{more}])"


def hull(boxes: Sequence[Box]) -> Box:
    """The smallest box that holds all of them."""
    ends = np.array(boxes)
    q_low, r_low = ends[:, 0].min(), ends[:, 2].min()
    q_high, r_high = ends[:, 1].max(), ends[:, 3].max()
    return float(q_low), float(q_high), float(r_low), float(r_high)


def _read_members(members: Any) -> tuple[DataModel, ...]:
    checks.items("members", members, "a list of models")
    held: tuple[Any, ...] = tuple(members)
    if not 1 <= len(held) <= MOST_MEMBERS:
        raise InvalidInput("members", f"{len(held)} of them", f"1 to {MOST_MEMBERS} models")
    for number, member in enumerate(held):
        require_model(member, f"members[{number}]")
        if member.members != (member,):
            allowed = "chains and boxes, no family"
            raise InvalidInput(f"members[{number}]", "a family", allowed, "List its members.")
        if member.states != held[0].states:
            allowed = f"{held[0].states} states, as the first member has"
            raise InvalidInput(f"members[{number}]", f"{member.states} states", allowed)
    return held


def _read_names(names: Any, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"member {number}" for number in range(1, count + 1))
    checks.items("names", names, "a list of texts")
    found = tuple(names)
    sound = all(isinstance(name, str) for name in found) and len(set(found)) == len(found) == count
    if not sound:
        raise InvalidInput("names", f"{len(found)} of them", f"{count} different texts, one each")
    return found


def _read_typical(typical: Any, members: tuple[DataModel, ...]) -> DataModel:
    require_model(typical, "typical")
    if not typical.single or typical.states != members[0].states:
        found = f"{typical.describe()}"
        raise InvalidInput("typical", found, f"one chain on {members[0].states} states")
    law: DataModel = typical
    return law


def _origin(members: Sequence[DataModel]) -> Origin:
    """Private where one is, else fitted where one is."""
    found = {member.origin for member in members}
    return next(origin for origin in reversed(get_args(Origin)) if origin in found)


def _typical(members: Sequence[DataModel], origin: Origin) -> DataModel:
    boxes = [member.likeliest.box for member in members]
    if len(members) == 1 or None in boxes:
        law: DataModel = members[0].likeliest
        return law
    q, r = (
        math.exp(math.fsum(math.log(box[place]) for box in boxes) / len(boxes)) for place in (0, 2)
    )
    return MarkovChain([[1 - q, q], [r, 1 - r]], origin=origin)


def _uncovered(members: Sequence[DataModel]) -> list[int]:
    """Places of the members that are part of no other; of those that are alike the first."""
    first: dict[Any, int] = {}
    for place, member in enumerate(members):
        first.setdefault(member if member.box is None else member.box, place)
    places = sorted(first.values())
    boxed = [place for place in places if members[place].box is not None]
    if not boxed:
        return places
    ends = np.array([members[place].box for place in boxed])
    covered = np.zeros(len(boxed), dtype=bool)
    for here in np.flatnonzero((ends[:, 0] < ends[:, 1]) | (ends[:, 2] < ends[:, 3])):
        q_low, q_high, r_low, r_high = ends[here]
        inside = (ends[:, 0] >= q_low) & (ends[:, 1] <= q_high)
        inside &= (ends[:, 2] >= r_low) & (ends[:, 3] <= r_high)
        inside[here] = False
        covered |= inside
    dropped = {place for place, gone in zip(boxed, covered.tolist(), strict=True) if gone}
    return [place for place in places if place not in dropped]


def _covering(members: Sequence[DataModel], typical: DataModel) -> ChainRegion:
    """One box around private chains and boxes, with limits that may be published."""
    q_low, q_high, r_low, r_high = hull([public_limits(member) for member in members])
    if q_high + r_high >= 1:
        raise NotSupported(
            "family: private fits that differ so much that the box around them holds chains with "
            f"q + r from 1 on, which boxes do not cover. {ADVICE}"
        )
    estimate = math.sqrt(q_low * q_high), math.sqrt(r_low * r_high)
    if typical.box is not None and _has_limits(typical):
        limits = public_limits(typical)
        estimate = (limits[0] + limits[1]) / 2, (limits[2] + limits[3]) / 2
    # Few digits, so that it reads as the round number that it is, and inside the box.
    few = [float(f"{number:.6g}") for number in estimate]
    middle = min(max(few[0], q_low), q_high), min(max(few[1], r_low), r_high)
    return ChainRegion((q_low, q_high), (r_low, r_high), middle, "private")


def public_limits(member: DataModel) -> Box:
    """Limits of q and r that may be published: those of a rounded fit."""
    assert member.box is not None
    if not member.is_unrounded:
        return member.box
    if not _has_limits(member):
        raise InvalidInput(
            "members", "a private chain with neither counts nor round numbers",
            "MarkovChain.fit(series), which has the counts that rounding needs",
        )  # fmt: skip
    q, r = cast(MarkovChain, member).public_box()
    return *q, *r


def _has_limits(model: DataModel) -> bool:
    """Whether a chain is round already, or has the counts that rounding needs."""
    return not model.is_unrounded or getattr(model, "counts", None) is not None


def _as_rounded(model: DataModel) -> DataModel:
    return model.rounded() if model.is_unrounded else model
