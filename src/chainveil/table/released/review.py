"""What the holder of the original may know of a release: private, as the original is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.attack import Attacked, Misfit, OwnLoss, attack_release, misfit, own_loss
from chainveil.certificate import Certificate
from chainveil.errors import ChainveilError, InvalidInput, NotSupported
from chainveil.plan import NoisePlan
from chainveil.table.leaks.finding import ENOUGH, Leak, find_leaks
from chainveil.table.leaks.sampling import runs_of
from chainveil.table.read.frames import FrameSource
from chainveil.table.released.comparing import compare
from chainveil.table.released.facts import discretizer_of
from chainveil.table.released.grouping import read_columns
from chainveil.table.request.request import Layout, Readable, one_column

# Series whose own loss is computed: of two states it takes hundredths of a second each.
MOST_OF_TWO, MOST_OF_MORE = 200, 10
# Orders at which the data are read again, and how far the loss under each is looked for.
ORDERS, STEPS = (1, 2, 3), 5_000
# Nothing is taken for impossible only because a short series did not show it.
PSEUDOCOUNT = 0.5

Result = TypeVar("Result")


@dataclass(frozen=True)
class SeriesReview:
    """One series beside its release.

    Attributes
    ----------
    name : the name of the series, or None where the table has one
    truth, seen : arrays of n states and reports; masked where there is none
    shares : tuple of float
        Share of each state in the original.
    wrong : float
        Share of its points whose report is another state; NaN without any.
    own : OwnLoss or None
        None where it was left out, because there are so many series.
    """

    name: Any
    truth: Any
    seen: Any
    shares: tuple[float, ...]
    wrong: float
    own: OwnLoss | None


@dataclass(frozen=True)
class Review:
    """A release beside its original.

    Attributes
    ----------
    plan : NoisePlan
    labels : tuple
    series : tuple of SeriesReview
    attacked, misfit : results of ``chainveil.attack``, or a str: why there is none
    tested : tuple of str
        Published columns that were tested for what they say about the states.
    leaks : tuple of Leak, or a str: why they were not tested
    """

    plan: NoisePlan
    labels: tuple[Any, ...]
    series: tuple[SeriesReview, ...]
    attacked: Attacked | str
    misfit: Misfit | str
    tested: tuple[str, ...]
    leaks: tuple[Leak, ...] | str


def review(document: Certificate, original: Readable, release: Readable) -> Review:
    """Compare a release with its original, attack it, and test what it rests on.

    Parameters
    ----------
    document : Certificate
        That of the release.
    original, release : tables that can be read more than once
        As of ``chainveil.table.read``.
    """
    held, plan = compare(document, original, release), document.plan()
    several = held.several
    names = held.names or [None] * len(several)
    every = max(1, -(-len(several) // _most(plan)))
    series = tuple(
        _series(name, parts, plan, with_loss=number % every == 0)
        for number, (name, parts) in enumerate(zip(names, several, strict=True))
    )
    runs = [run for truth, _, known in several for run in _runs(truth, known)]
    return Review(
        plan,
        tuple(document["discretization.labels"]),
        series,
        _or_reason(lambda: attack_release(plan, held.truth, held.seen, held.known)),
        _or_reason(lambda: misfit(runs, plan, ORDERS, pseudocount=PSEUDOCOUNT, effort=STEPS)),
        tuple(document["release.kept"]),
        _or_reason(lambda: _leaks(document, original, release)),
    )


def _or_reason(answer: Callable[[], Result]) -> Result | str:
    """What comes back, or why nothing does; none of the reasons quotes the data."""
    try:
        return answer()
    except ChainveilError as error:
        return str(error)


def _most(plan: NoisePlan) -> int:
    return MOST_OF_TWO if plan.noise.states == 2 else MOST_OF_MORE


def _series(
    name: Any, parts: tuple[Any, Any, Any], plan: NoisePlan, with_loss: bool
) -> SeriesReview:
    truth, seen, known = parts
    there = ~np.ma.getmaskarray(seen)
    wrong = np.asarray(truth)[there] != np.asarray(seen)[there]
    hidden = np.ma.MaskedArray(
        truth, mask=np.zeros(len(truth), bool) if known is None else known >= 0
    )
    return SeriesReview(
        name,
        hidden,
        seen,
        _shares(hidden, plan.noise.states),
        float(wrong.mean()) if len(wrong) else float("nan"),
        own_loss(_runs(truth, known), plan) if with_loss else None,
    )


def _shares(truth: Any, states: int) -> tuple[float, ...]:
    held = np.ma.compressed(truth)
    return tuple((np.bincount(held, minlength=states) / max(len(held), 1)).tolist())


def _runs(truth: NDArray[Any], known: Any) -> list[NDArray[Any]]:
    """The stretches of a series between its gaps."""
    if known is None:
        return [truth]
    there = np.flatnonzero(np.asarray(known) < 0)
    return [truth[part] for part in np.split(there, np.flatnonzero(np.diff(there) > 1) + 1)]


def _leaks(document: Certificate, original: Readable, release: Readable) -> tuple[Leak, ...]:
    """What published columns, as they are published, say about the original states."""
    if document["release.points"] is not None:
        raise NotSupported("a test of columns beside rows of which only some report")
    column, series = document["release.column"], document["release.series_column"]
    kept = list(document["release.kept"])
    if not kept:
        return ()
    public = read_columns(release, [*([] if series is None else [series]), *kept])
    private = one_column(read_columns(original, [column]), column)
    shown = FrameSource(public.append_column(_apart(column, public), private))
    layout = Layout(_apart(column, public), series)
    reader = discretizer_of(document)
    sample = runs_of(shown.pieces(layout, shown.columns), layout, reader)
    if sample is None or len(sample[1].states) < ENOUGH:
        raise InvalidInput("release", "too few rows", f"some {ENOUGH}, to find a plain copy")
    return tuple(find_leaks(*sample, kept))


def _apart(column: str, table: pa.Table) -> str:
    """A name for the original column that no published one has."""
    while column in table.column_names:
        column += "'"
    return column
