"""Whether one plan suits every series: what it loses on each series' own chain, and why.

A promise that was made for the pooled chain of many series is about none of them. Whoever knows how
one person's series behaves learns more, or less. This check fits every series on its own, in one
pass, and says what the plan loses there, which order each asks for, and which of them drift.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chainveil import checks
from chainveil.checks import FloatArray
from chainveil.errors import InvalidInput
from chainveil.model.fit_test import LEVEL, p_values
from chainveil.model.per_series import GAP, chain_correlation, count_series, far_apart
from chainveil.plan import NoisePlan
from chainveil.privacy.rounding import exact, upper
from chainveil.sequences import Sequences, as_sequences

NO_PLAN = "none without a budget"
# Rows that are printed; those that lose most.
MOST_ROWS = 12


@dataclass(frozen=True, eq=False)
class SeriesCheck:
    """What one plan loses on each series' own chain; as private as the series.

    All arrays have one entry a series. A series of fewer than ``20 k^2`` points has no fit of its
    own: its order is 0, and its other figures are NaN.

    Attributes
    ----------
    names : sequence
        What the series are called.
    points : integer array
    order : integer array
        The order of the least BIC, up to 4; 1 where no test shows a longer memory.
    transition : array of shape (series, k, k)
        The own chain of order 1, each state taken to follow each half a time more often than seen.
    loss : array
        Upper bound on what the plan loses if the series is that chain; ``how`` says more.
    p_value : array
        Chance of a series as far from the model of the plan, if it follows that model; NaN without
        a plan, and where its model is no chain or remembers more points than were counted.
    drift : array
        Chance of two halves as different as those of the series, if they follow one chain of its
        order, or of that of the plan where it is higher; NaN where that is more than was counted.
    correlation, own_correlation : arrays
        Of points that are ``lag`` apart: in the series, and in its own chain of order 1.
    lag : int
        How far apart points of the pooled chain hardly depend on each other.
    promise : float
        The epsilon of the plan; NaN where there is none.
    how : str
        What the figures of ``loss`` are.
    level : float
        Of the test of each series: 1% divided by their number, of all groups together.
    """

    names: Sequence[Any]
    points: NDArray[np.int64]
    order: NDArray[np.int64]
    transition: FloatArray
    loss: FloatArray
    p_value: FloatArray
    drift: FloatArray
    correlation: FloatArray
    own_correlation: FloatArray
    lag: int
    promise: float
    how: str
    level: float

    @property
    def read(self) -> NDArray[np.bool_]:
        """Which series have a fit of their own."""
        return np.asarray(self.order > 0)

    @property
    def losses(self) -> FloatArray:
        """The losses that were computed, largest first."""
        return np.asarray(-np.sort(-self.loss[~np.isnan(self.loss)]))

    @property
    def worst(self) -> float:
        """The largest loss on an own chain; NaN where there is none."""
        return float(self.losses[0]) if len(self.losses) else float("nan")

    @property
    def median(self) -> float:
        """The loss that half of the own chains do not exceed."""
        found = self.losses
        return float(found[(len(found) - 1) // 2]) if len(found) else float("nan")

    @property
    def above(self) -> NDArray[np.bool_]:
        """Series that contradict the model of the plan, and on whose own chain it loses more."""
        return np.asarray((self.loss > self.promise) & (self.p_value < self.level))

    @property
    def share_above(self) -> float:
        """Share of :attr:`above` among the series with a loss."""
        found = len(self.losses)
        return float(self.above.sum()) / found if found else float("nan")

    @property
    def drifts(self) -> NDArray[np.bool_]:
        """Series whose halves one chain does not explain."""
        return np.asarray(self.drift < self.level)

    @property
    def drifting(self) -> int:
        """How many series drift."""
        return int(self.drifts.sum())

    @property
    def facts(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {
            "series": len(self.points), "read": int(self.read.sum()),
            "promise": _finite(self.promise),
            "worst": _finite(self.worst), "median": _finite(self.median),
            "share_above": _finite(self.share_above), "figures": self.how,
            "parameters": {name: list(ends) for name, ends in self._ranges().items()},
            "orders": {str(m): int((self.order == m).sum()) for m in sorted({*self.order} - {0})},
            "drifting": self.drifting, "lag": self.lag,
            "correlation": _finite(_median(self.correlation[self.read])),
            "own_correlation": _finite(_median(self.own_correlation[self.read])),
        }  # fmt: skip

    @property
    def two_lines(self) -> list[tuple[str, str]]:
        """The check in two lines: what is lost on own chains, and whether they are chains."""
        if not self.read.any():
            return [("own chains", "no series has enough points for a chain of its own")]
        return [
            ("own chains", self._loss_words()),
            ("fit", f"{self._order_words()}; {self._drift_words()}"),
        ]

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The whole summary, a name and a text a line."""
        if not self.read.any():
            return self.two_lines
        left = len(self.points) - int(self.read.sum())
        ranges = [f"{name} {low:.3g} to {high:.3g}" for name, (low, high) in self._ranges().items()]
        lost = [("own chains", self._loss_words()), ("figures", self.how)]
        lines = [
            ("parameters", ", ".join(ranges)),
            *(lost if len(self.losses) else []),
            ("orders", self._order_words()),
            ("drift", self._drift_words()),
            ("far apart", self._correlation_words()),
        ]
        short = f"{left:,} series have too few points for a chain of their own"
        return [*lines, ("left out", short)] if left else lines

    def table(self, most: int = MOST_ROWS) -> list[tuple[str, str]]:
        """Series by name with their own figures, those first on which most is lost."""
        order = np.argsort(-np.nan_to_num(self.loss, nan=-1.0), kind="stable")
        rows = [number for number in order.tolist() if self.read[number]]
        lines = [(str(self.names[number]), self._row(number)) for number in rows[:most]]
        if len(rows) > most:
            lines.append(("…", f"{len(rows) - most:,} more series"))
        return lines

    def columns(self) -> dict[str, list[Any]]:
        """The whole table as columns, a row a series."""
        found: dict[str, list[Any]] = {
            "series": list(self.names), "points": self.points.tolist(),
            "order": self.order.tolist(), "loss": self.loss.tolist(),
            "p_value": self.p_value.tolist(), "above": self.above.tolist(),
        }  # fmt: skip
        for name, values in self._parameters().items():
            found[name] = values.tolist()
        return found | {
            "drift_p_value": self.drift.tolist(),
            f"correlation_{self.lag}": self.correlation.tolist(),
            f"own_chain_correlation_{self.lag}": self.own_correlation.tolist(),
        }

    def to_frame(self, kind: Literal["pandas", "polars", "pyarrow"] = "pyarrow") -> Any:
        """The whole table as a frame of a package that is installed."""
        import narwhals as nw

        checks.one_of("kind", kind, ("pandas", "polars", "pyarrow"))
        try:
            return nw.from_dict(self.columns(), backend=kind).to_native()
        except ImportError:
            raise InvalidInput("kind", kind, "a package that is installed") from None

    def __str__(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.lines)

    def _parameters(self) -> dict[str, FloatArray]:
        """q and r of two states; of more, each probability by the numbers of its states."""
        k = self.transition.shape[1]
        if k == 2:
            return {"q": self.transition[:, 0, 1], "r": self.transition[:, 1, 0]}
        return {f"{a} -> {b}": self.transition[:, a, b] for a in range(k) for b in range(k)}

    def _ranges(self) -> dict[str, tuple[float, float]]:
        kept = {name: values[self.read] for name, values in self._parameters().items()}
        return {n: (float(v.min()), float(v.max())) for n, v in kept.items() if len(v)}

    def _loss_words(self) -> str:
        found = self.losses
        if not len(found):
            return "no loss was computed: it takes a budget"
        return (
            f"at most {upper(self.worst, 3)} on chains fitted to single series, "
            f"{upper(self.median, 3)} at the median; {self._above_words(len(found))}"
        )

    def _above_words(self, losses: int) -> str:
        if np.isnan(self.p_value[self.read]).all():
            return "the series were not tested against the model of the plan"
        return (
            f"above epsilon {exact(self.promise)} by more than the error of the fits on "
            f"{int(self.above.sum()):,} of {losses:,}"
        )

    def _order_words(self) -> str:
        counts = [(m, int((self.order == m).sum())) for m in sorted({*self.order.tolist()} - {0})]
        said = ", ".join(f"order {m} for {many:,}" for m, many in counts)
        return f"{said} series (by BIC, up to 4)"

    def _drift_words(self) -> str:
        return (
            f"halves differ by more than chance on {self.drifting:,} of "
            f"{int(self.read.sum()):,} series"
        )

    def _correlation_words(self) -> str:
        seen, own = (_median(x[self.read]) for x in (self.correlation, self.own_correlation))
        return (
            f"points {self.lag} apart correlate by {seen:.2f} at the median, in own chains by "
            f"{own:.2f}"
        )

    def _row(self, number: int) -> str:
        loss = self.loss[number]
        parameters = ", ".join(
            f"{name} {values[number]:.3g}" for name, values in list(self._parameters().items())[:4]
        )
        lost = "" if np.isnan(loss) else f"loses {upper(float(loss), 3)}, "
        drifts = ", drifts" if self.drifts[number] else ""
        order = f"order {self.order[number]}{drifts}"
        return f"{lost}{self.points[number]:,} points, {parameters}, {order}"


def series_check(
    sequences: Any, plan: NoisePlan, names: Sequence[Any] | None = None
) -> SeriesCheck:
    """Fit every series on its own and say what a plan loses there.

    Parameters
    ----------
    sequences : 2-D array or list of 1-D arrays
        The true states of each series; 255 stands for a missing point.
    plan : NoisePlan
        Noise that was made for all of them.
    names : sequence, optional
        What the series are called; by default their places, from 0.

    Notes
    -----
    Ten thousand series of a thousand points take a fraction of a second. With noise that remembers
    they are put into at most 500 groups of nearly equal chains, and each figure is an upper bound
    for the whole group. Losses are those of own chains of order 1; :func:`misfit` reads series with
    a longer memory.

    Examples
    --------
    >>> import chainveil as cv
    >>> x = [cv.MarkovChain.binary(q, 0.2).sample(500, rng=1) for q in (0.02, 0.1, 0.3)]
    >>> plan = cv.calibrate(cv.MarkovChain.fit(x, public=True), 1.0, mechanism="independent")
    >>> found = cv.attack.series_check(x, plan)
    >>> int(found.loss.argmax()), found.worst > 1.0, found.share_above < 1
    (0, True, True)
    """
    if not isinstance(plan, NoisePlan):
        found = f"an object of type {type(plan).__name__}"
        raise InvalidInput("plan", found, "a NoisePlan", "calibrate(chain, epsilon) makes one.")
    held = as_sequences("sequences", sequences)
    return check_series(held, plan.noise.states, plan, names)


def check_series(
    held: Sequences,
    states: int,
    plan: NoisePlan | None,
    names: Sequence[Any] | None = None,
    groups: int = 1,
) -> SeriesCheck:
    """As :func:`series_check`, of series laid end to end; without a plan no loss is computed.

    ``groups``: how many such checks are made of one table.
    """
    _check_states(held.flat, states)
    counts = count_series(held, states)
    read = counts.carries(1)
    level = LEVEL / (groups * max(1, int(read.sum())))
    order, law = counts.orders(level), counts.transitions()
    pooled = counts.pairs.sum(axis=0) + 0.5
    lag = far_apart(pooled / pooled.sum(axis=1, keepdims=True), int(counts.points.max(initial=2)))
    own = np.full(len(order), np.nan)
    own[read] = chain_correlation(law[read], lag)
    loss, p_value, how = np.full(len(order), np.nan), np.full(len(order), np.nan), NO_PLAN
    known = 0 if plan is None else plan.model.order or 0
    if plan is not None:
        # Compiled loops and balls: loaded where they are used.
        from chainveil.attack.own_losses import own_losses

        losses = own_losses(law[read], plan)
        loss[read], how = losses.bounds, losses.how
        if 0 < known <= counts.longest:
            p_value[read] = p_values(counts.contexts(known), plan.model)[read]
    law[~read] = np.nan
    drift = counts.drift(np.where(read, np.maximum(order, known), 0))
    return SeriesCheck(
        range(len(order)) if names is None else names, counts.points, order, law, loss, p_value,
        drift, counts.correlation(lag), own, lag, math.nan if plan is None else plan.epsilon, how,
        level,
    )  # fmt: skip


def _check_states(flat: NDArray[Any], states: int) -> None:
    """Error if a point is neither a state nor missing."""
    wrong = (
        flat[(flat >= states) & (flat != 255)]
        if flat.size and int(flat.max()) >= states
        else flat[:0]
    )
    if wrong.size:
        raise InvalidInput(
            "sequences",
            "a number above the last state",
            f"states 0 … {states - 1}, {GAP} if missing",
        )


def _median(values: FloatArray) -> float:
    kept = values[~np.isnan(values)]
    return float(np.median(kept)) if len(kept) else float("nan")


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
