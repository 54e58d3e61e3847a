"""The price of a promise: what it costs to hold for all series together, for each, for more memory.

A stronger promise takes more noise. For each model and each mechanism: how often a report is wrong,
and how far off an estimated share will be. All are judged on one and the same chain, so that rows
can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chainveil import checks
from chainveil.calibration import calibrate
from chainveil.errors import ChainveilError
from chainveil.estimate.answer_table import Kind, framed
from chainveil.estimate.planning import error_at
from chainveil.model.base import DataModel, require_model
from chainveil.noise.base import kinds


@dataclass(frozen=True)
class Price:
    """What one mechanism costs under one promise.

    Attributes
    ----------
    model, mechanism : str
        What the promise holds for, and the kind of noise.
    wrong : float or None
        Share of reports that are wrong in the long run.
    error : float or None
        Standard error of an estimated share, one state's, from the noise alone.
    loss : float or None
        The certified loss.
    reason : str
        Why there is no figure, where there is none.
    """

    model: str
    mechanism: str
    wrong: float | None
    error: float | None
    loss: float | None
    reason: str = ""


@dataclass(frozen=True)
class PriceTable:
    """Prices of several promises at one budget, by model and mechanism.

    ``judged`` is the chain that wrong reports and errors are those of, ``points`` the length of
    the release whose share is estimated.
    """

    prices: tuple[Price, ...]
    epsilon: float
    points: int
    judged: DataModel

    @property
    def lines(self) -> list[tuple[str, str]]:
        """A name and a text a line: a line a model and mechanism."""
        return [(f"{one.model}, {one.mechanism}", _words(one)) for one in self.prices]

    def to_frame(self, kind: Kind | None = None) -> Any:
        """A row a model and mechanism; ``kind`` as in the estimates."""
        names = ("model", "mechanism", "wrong", "error", "loss", "reason")
        return framed({name: [getattr(one, name) for one in self.prices] for name in names}, kind)

    def __str__(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.lines)


def prices(
    models: Mapping[str, DataModel],
    epsilon: float,
    points: int,
    *,
    mechanisms: Sequence[str] | None = None,
    judged: DataModel | None = None,
) -> PriceTable:
    """What each mechanism costs if its promise has to hold for each of several models.

    Parameters
    ----------
    models : mapping from name to model
        Such as ``{"pooled": chain, "family": family}``.
    epsilon : float
        The budget.
    points : int
        Points of the release from which a share is estimated.
    mechanisms : sequence of str, optional
        Kinds of noise; by default all that there are.
    judged : MarkovChain or HigherOrderChain, optional
        The chain that wrong reports and errors are those of; by default the likeliest of the
        first model.

    Examples
    --------
    >>> import chainveil as cv
    >>> slow, fast = cv.MarkovChain.binary(0.05, 0.1), cv.MarkovChain.binary(0.2, 0.3)
    >>> models = {"one": fast, "both": cv.ModelFamily([slow, fast])}
    >>> table = cv.estimate.prices(models, 2.0, 10_000, mechanisms=["independent"])
    >>> [round(price.wrong, 2) for price in table.prices]
    [0.33, 0.46]
    """
    checks.whole("points", points, 2)
    for name, model in models.items():
        require_model(model, f"models[{name!r}]")
    law = next(iter(models.values())).likeliest if judged is None else judged
    found = [
        _price(name, model, epsilon, points, mechanism, law)
        for name, model in models.items()
        for mechanism in (kinds() if mechanisms is None else mechanisms)
    ]
    return PriceTable(tuple(found), float(epsilon), points, law)


def _price(
    name: str, model: DataModel, epsilon: float, points: int, mechanism: str, judged: DataModel
) -> Price:
    try:
        plan = calibrate(model, epsilon, mechanism=mechanism)
    except ChainveilError as reason:
        return Price(name, mechanism, None, None, None, str(reason))
    wrong, loss = plan.noise.expected_flips(judged), plan.loss.epsilon
    try:
        error = error_at(replace(plan, model=judged), points).largest
    except ChainveilError as reason:
        return Price(name, mechanism, wrong, None, loss, str(reason))
    return Price(name, mechanism, wrong, error, loss)


def _words(price: Price) -> str:
    if price.wrong is None:
        return f"not offered: {price.reason}"
    wrong = f"{price.wrong:.1%} of the reports wrong"
    if price.error is None:
        return f"{wrong}; shares cannot be estimated"
    return f"{wrong}, a share off by {price.error:.3g}"
