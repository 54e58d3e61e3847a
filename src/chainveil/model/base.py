"""The one interface of every model of the data, and the registry that knows each by its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.plugins import load_installed

# Where a model came from: given by hand, fitted on public data, fitted on the data to protect.
Origin = Literal["given", "reference", "private"]
# Law of the first hidden state, transitions between them, the value each stands for.
HiddenChain = tuple[FloatArray, FloatArray, NDArray[np.int64]]
# Least and largest q, least and largest r.
Box = tuple[float, float, float, float]


class DataModel(ABC):
    """What the data may follow: one law of series, or a set of them.

    A subclass is a frozen value. It names its ``kind``, under which it is registered, and
    whether it is a ``single`` law.
    """

    kind: ClassVar[str]
    single: ClassVar[bool]
    origin: Origin = "given"

    @property
    @abstractmethod
    def states(self) -> int:
        """Number of states k."""

    @property
    @abstractmethod
    def order(self) -> int | None:
        """How many points before it a point depends on, by a law that is always the same.

        1 for a chain with a transition matrix; None for a law that is no chain of any order.
        """

    @property
    def members(self) -> tuple[DataModel, ...]:
        """The models that a promise has to hold for, each by itself: of most, itself alone."""
        return (self,)

    @property
    def box(self) -> Box | None:
        """Least and largest q, least and largest r, of stationary two-state chains of order 1.

        None for a model that is anything else.
        """
        return None

    def covers(self, other: DataModel) -> bool:
        """Whether what holds for this model holds for the other one, since it is part of it."""
        return bool(self == other)

    def describe(self) -> str:
        """What it is, in words."""
        return f"a model of the kind {self.kind!r}"

    def of_origin(self, origin: Origin) -> DataModel:
        """The same model, known to come from there."""
        return self

    @property
    def is_unrounded(self) -> bool:
        """Whether its numbers were fitted on private data and are not fit to be published."""
        return False

    def rounded(self) -> DataModel:
        """The model in numbers that may be published, where its own may not."""
        raise InvalidInput(
            "chain", "a model as it was fitted on private data", "one that may be published",
            "Models of its kind cannot be rounded; fit public data with public=True.",
        )  # fmt: skip

    def _repr_html_(self) -> str:
        from chainveil.model.shown import model_card

        return model_card(self)

    @property
    @abstractmethod
    def stationary(self) -> FloatArray:
        """Share of each state in the long run, shape (k,)."""

    @property
    @abstractmethod
    def likeliest(self) -> Any:
        """The one law that figures for one law are given for: the model itself if it is one."""

    @abstractmethod
    def series_law(self, n: int) -> FloatArray:
        """``Pr[X_1 … X_n]`` of every series of ``n`` points, shape (k,) * n; for short ones."""

    @abstractmethod
    def hidden_chain(self) -> HiddenChain:
        """The same law as a chain of order 1 on hidden states, each of which has a value."""

    def unfolded(self) -> DataModel:
        """The same law with hidden states of which a series has one path, not several."""
        return self

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The numbers that define it, ready for JSON; :meth:`from_json` reads them back."""

    @classmethod
    @abstractmethod
    def from_json(cls, words: Mapping[str, Any]) -> DataModel:
        """The model that :meth:`to_json` wrote down."""


# Where packages outside of chainveil name the kinds of models that they bring.
ENTRY_POINTS = "chainveil.model"

ModelT = TypeVar("ModelT", bound=type[DataModel])

KINDS: dict[str, type[DataModel]] = {}


def register(model: ModelT) -> ModelT:
    """Make a kind of model known by its name; usable as a decorator of the class."""
    KINDS[model.kind] = model
    return model


def read_model(kind: str, words: Mapping[str, Any]) -> DataModel:
    """A model from its kind and numbers."""
    if not isinstance(kind, str):
        raise InvalidInput("model", f"an object of type {type(kind).__name__}", "a name")
    if kind not in KINDS:
        load_installed(ENTRY_POINTS, KINDS)
    if kind not in KINDS:
        raise InvalidInput("model", kind, " or ".join(f'"{name}"' for name in KINDS))
    return KINDS[kind].from_json(words)


def require_model(model: Any, argument: str = "chain") -> None:
    """Error unless it is a model of the data; what it is instead may be data, and is not shown."""
    if not isinstance(model, DataModel):
        found = f"an object of type {type(model).__name__}"
        advice = "MarkovChain.binary(q, r) makes a chain; the budget comes after it."
        allowed = "a MarkovChain, a HigherOrderChain, a ChainRegion or a ModelFamily"
        raise InvalidInput(argument, found, allowed, advice)
