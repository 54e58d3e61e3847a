"""``sanitize_table``: a data frame in, the same kind of frame and a certificate out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.certificate import Certificate
from chainveil.mechanism.randomness import Source as Randomness
from chainveil.mechanism.reading import Missing
from chainveil.model.base import DataModel
from chainveil.noise.base import Noise
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.problem import Every, Objective, Shape, Unit
from chainveil.progress import showing
from chainveil.table.estimating import Question, estimate_table
from chainveil.table.read.frames import FrameSource
from chainveil.table.release import Draw, Drawn, RowRelease, Steps, as_it_is, release_table
from chainveil.table.request.discretize import Label
from chainveil.table.request.kept import make_kept
from chainveil.table.request.request import (
    Layout,
    Order,
    Promise,
    Request,
    StateRules,
    Threshold,
)
from chainveil.table.shown import about_release, release_card
from chainveil.table.states.prepare import Progress
from chainveil.table.states.tracker import Tracker
from chainveil.table.write.framing import framed

# Rows that are released at a time: so often a bar moves.
PIECE = 1 << 21
# Published columns by name, and which rows they are; None: all.
Made = tuple[dict[str, pa.Array], NDArray[np.bool_] | None]


@dataclass(frozen=True, repr=False)
class TableRelease:
    """A released table and what is promised about it.

    Attributes
    ----------
    table : data frame
        Of the kind that was handed in, with the published column in place of the original, the
        series column, and those that were to be kept. A pandas index is not published.
    certificate : Certificate

    Examples
    --------
    >>> import pyarrow as pa
    >>> import chainveil as cv
    >>> table = pa.table({"asleep": cv.MarkovChain.symmetric(0.1).sample(100, rng=1)})
    >>> plan = cv.calibrate(cv.MarkovChain.symmetric(0.1), epsilon=3.0)
    >>> done = cv.sanitize_table(table, "asleep", plan=plan)
    >>> done.table.num_rows, done.certificate["release.rows"]
    (100, 100)
    """

    table: Any
    certificate: Certificate

    def to_frame(self) -> Any:
        """The released table."""
        return self.table

    def estimate(self, question: Question = "share", **how: Any) -> Any:
        """Answer a question from the release; see :func:`chainveil.estimate_table`."""
        return estimate_table(self.table, self.certificate, question, **how)

    def plot(self, question: Question = "share", **how: Any) -> Any:
        """A figure of an answer, by series where there are several."""
        from chainveil.plot import estimates

        series = self.certificate["release.series_column"]
        asked = {"by": series, "level": 0.95} | how
        about = about_release(self.certificate)
        return estimates(self.estimate(question, **asked), about=about, level=asked["level"])

    def __repr__(self) -> str:
        said = self.certificate
        kinds = sorted({part["noise.mechanism"] for part in said.groups.values() or [said]})
        groups = f" for {len(said.groups)} groups" if said.groups else ""
        return (
            f"TableRelease of {said['release.column']}: {said['release.rows']:,} rows in "
            f"{said['release.series']:,} series, {' and '.join(kinds)} noise{groups}, "
            f"epsilon {said['promise.epsilon']:g}"
        )

    def _repr_html_(self) -> str:
        return release_card(self.table, self.certificate)


def sanitize_table(
    frame: Any,
    column: str,
    epsilon: float | None = None,
    *,
    series: str | None = None,
    time: str | None = None,
    threshold: Threshold | None = None,
    states: Sequence[Label] | None = None,
    labels: Sequence[Label] | None = None,
    chain: DataModel | None = None,
    plan: NoisePlan | None = None,
    reference: Any = None,
    order: Order = 1,
    pooled: bool = False,
    parts: int = 1,
    group: str | None = None,
    step: float | None = None,
    max_gap: float | None = None,
    max_length: int | None = None,
    adversary: AdversaryName | Adversary = "any",
    objective: Objective = "wrong-reports",
    mechanism: str | None = None,
    every: Every = 1,
    unit: Unit = "point",
    missing: Missing = "error",
    shape: Shape = "uniform",
    earlier: Sequence[Noise] = (),
    keep: Sequence[str] = (),
    keep_time: bool = False,
    time_as: str | float | None = None,
    allow_leak: Sequence[str] = (),
    rng: Randomness | None = None,
    progress: bool | None = None,
) -> TableRelease:
    """Publish one column of a data frame under Bayesian differential privacy.

    Parameters
    ----------
    frame : data frame
        pandas, Polars, PyArrow, a DuckDB relation, or another kind that narwhals knows.
    column : str
        The values to publish. Of the other columns only ``series`` is published with it, and
        what ``keep``, ``keep_time`` or ``time_as`` name.
    epsilon : float
        The budget, in nats.
    series, time : str, optional
        Columns that name the series of a row and its time. Rows of several series may be
        mixed, but times must increase within each; nothing is sorted.
    threshold : float, sequence of float, "mean" or "median"
        The limits between states, which must increase: 60 gives two states, below 60 and from 60
        on, and ``[50, 70]`` three. A value on a limit belongs to the state above it. "mean" and
        "median" look at the private data, which the certificate mentions.
    states : sequence
        The values that the column holds already, in the order of the chain's states.
    labels : sequence, optional
        What the states are called in the release; by default 0, 1, … or ``states``.
    chain, plan, reference : optional
        Where the chain comes from: given by hand, in a ready plan, or fitted on a separate
        public table. Without any of them it is fitted on ``frame`` itself, and rounded so
        that no count can be read from the certificate, which says so, and of several series
        one box is published that covers them; likewise a ``chain``
        that ``MarkovChain.fit`` made of private data.
    order : int or "auto"
        The order of a chain that is fitted, as in :meth:`chainveil.MarkovChain.fit`: how many
        rows before it a row depends on. Which order "auto" chose is published with the chain.
    pooled : bool
        With ``series``, a model that is fitted is a family: one model for each series with enough
        points, and the one of all together for the rest, as :meth:`chainveil.ModelFamily.fit`
        makes it (docs/families.md). The promise then holds for each series. True fits one chain
        to all series instead, on whose own chains the noise may lose more, which is warned of.
    parts : int
        Where series drift: the family also holds the models of so many parts of each series.
    group : str, optional
        A public column by which people differ, such as an age group, a device or a ward. Each
        group has a model and noise of its own, and the certificate lists them; a series lies in
        one group. The column is published: it tells the noise of a row (docs/families.md).
    step, max_gap : float, optional
        The regular step of the time column, and the longest step that does not split a
        series. In units of the column, or in seconds for dates and times.
    max_length, adversary, objective, shape, earlier, every, unit : optional
        As in :func:`chainveil.calibrate`.
    mechanism : str, optional
        As in :func:`chainveil.calibrate`. Without a name: sticky noise for two states, each
        report of which needs its own point and the last report, made for the least error of a
        share where the fewest wrong reports tell nothing; independent noise for more
        states, for regions, and for chains that change too rarely for the search
        (``chainveil.calibration.usual_mechanism``). Correlated noise runs on beneath the
        points that a gap leaves out, and rare reports are counted across them, so ``max_gap``
        then needs ``step``. Sticky and tracking noise holds its last report over gaps, and is
        calibrated for them where ``missing`` or ``max_gap`` allow any.
    missing : "error" or "keep"
        Whether a null (or NaN) in the column is an error, or comes back as null: which points
        are missing is then visible and not protected.
    keep : sequence of str
        Other columns to publish as they are. Each is tested first, on a sample, for what its
        values, their differences and their numbers say about the states; one that says
        something is an error.
    keep_time : bool
        Whether the time column is published as it is; it is tested like any other.
    time_as : "index", or a width such as "60s", "5m", "1h", "1d", or a number, optional
        Publish the place of each row in its series instead of its time, or times rounded down
        to a width: with a unit for dates and times, in the column's own units for numbers. With
        ``step`` the place is that on the regular grid; without it, rows are counted, and one
        more at each gap that splits a series.
    allow_leak : sequence of str
        Columns that are published without a test, whatever they say. The certificate lists them.
    rng : optional
        None for a release; ``chainveil.mechanism.seeded(seed)`` for study. Seeded noise
        depends on the series of a row and its place in it alone: whatever order the rows of
        several series are mixed in, each series is sanitized as
        ``plan.sanitize(x, rng=seeded(seed).at(series=series_number(name)))`` does it.
    progress : bool, optional
        Whether a bar shows what is being done; by default in notebooks alone. True shows one on
        a terminal too. It is gone when the release is made.

    Examples
    --------
    >>> import polars as pl
    >>> import chainveil as cv
    >>> frame = pl.DataFrame({"minute": range(6), "bpm": [58, 59, 66, 71, 64, 57]})
    >>> released = cv.sanitize_table(
    ...     frame, "bpm", epsilon=2, threshold=60, labels=["low", "high"],
    ...     chain=cv.MarkovChain.binary(q=0.1, r=0.2),
    ... )
    >>> released.table.columns
    ['bpm']
    >>> cv.verify(released.certificate, released.table).holds
    True
    """
    table = FrameSource(frame)
    public = None if reference is None else FrameSource(reference)
    request = Request(
        Layout(column, series, time, step, max_gap, group),
        StateRules(threshold, states, labels, missing),
        Promise(epsilon, max_length, adversary, objective, mechanism, shape, earlier, every, unit),
        chain, plan, public, make_kept(keep, keep_time, time_as, allow_leak),
        order, pooled, parts,
    )  # fmt: skip
    sink = FrameSink()
    with showing(table.size, progress) as tell:
        certificate = release_table(table, sink, request, rng, tell)
    return TableRelease(sink.table, certificate)


class FrameSink:
    """A data frame of the kind that its table came in."""

    table: Any = None
    dress = staticmethod(as_it_is)

    @contextmanager
    def claimed(self, table: FrameSource) -> Iterator[Draw]:
        """Nothing stands in the way of a frame."""
        yield partial(self._drawn, table)

    @contextmanager
    def _drawn(
        self, table: FrameSource, steps: Steps, seen: Tracker | None, progress: Progress | None
    ) -> Iterator[Drawn]:
        rows = RowRelease(steps, table.columns, seen is None or steps.ordered)
        parts: list[Made] = []
        for batch in table.batches(steps.layout.names):
            for begin in range(0, batch.num_rows, PIECE):
                piece = batch.slice(begin, PIECE)
                parts.append(rows.made(piece))
                if progress is not None:
                    progress("releasing", piece.num_rows)
        made, kept = _joined(parts)
        yield rows.drawn(seen)
        typed = [steps.layout.column] if steps.discretizer.keeps_type else []
        names = steps.kept.published(steps.layout, table.columns)
        self.table = framed(table.rows(kept), names, made, typed)


def _joined(parts: list[Made]) -> Made:
    """The published columns of all pieces, and which rows they are."""
    names = parts[0][0] if parts else {}
    made = {name: pa.chunked_array([part[name] for part, _ in parts]) for name in names}
    masks = [kept for _, kept in parts if kept is not None]
    whole = {name: column.combine_chunks() for name, column in made.items()}
    return whole, np.concatenate(masks) if masks else None
