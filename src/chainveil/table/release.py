"""The one way to a release: source -> states -> noise -> sink -> certificate.

A source is a table that can be read more than once (``Readable``), a ``Reader`` says who counts
in it, and a ``Sink`` is where the rows go. Frames, files and Spark bring one of each; what is
done, and in which order, is written here alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chainveil.certificate import Certificate, Released, ReleasedFile, certify, certify_groups
from chainveil.errors import ChainveilWarning, InvalidInput
from chainveil.mechanism.randomness import Source as Randomness
from chainveil.mechanism.randomness import as_source
from chainveil.mechanism.release import source_word
from chainveil.plan import NoisePlan
from chainveil.table.request.discretize import Discretizer
from chainveil.table.request.kept import Kept
from chainveil.table.request.request import Layout, Readable, Request, one_column
from chainveil.table.states.column_noise import ColumnNoise
from chainveil.table.states.group_noise import GroupNoise
from chainveil.table.states.groups import GroupsSeen, Plans, check_one_group
from chainveil.table.states.prepare import (
    HERE,
    Prepared,
    Progress,
    Reader,
    Seen,
    check_not_empty,
    follow,
    prepare,
)
from chainveil.table.states.tracker import Tracker
from chainveil.table.write.shaping import Shaping

Mask = NDArray[np.bool_]
_NO_CODES = np.empty(0, np.uint8)
Dress = Callable[[pa.Array], pa.Array]


def as_it_is(values: pa.Array) -> pa.Array:
    """The published column of a sink that takes every type."""
    return values


@dataclass(frozen=True)
class Steps:
    """What is done with each row, whoever does it: from its value to what is published.

    ``dress`` turns the published column into what the sink can hold. Where one point in several
    reports, only the rows that report are published.
    """

    layout: Layout
    kept: Kept
    discretizer: Discretizer
    plans: Plans
    rng: Randomness
    dress: Dress

    @property
    def ordered(self) -> bool:
        """Whether the rows of a series have to come in order, for their noise or their places."""
        return self.ordered_noise or self.kept.positions

    @property
    def ordered_noise(self) -> bool:
        """Whether the noise of a row depends on its place in its series."""
        return self.plans.ordered or not self.rng.for_release

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Names and types of the release of a table."""
        values = self.discretizer.values(_NO_CODES, schema.field(self.layout.column).type)
        return self.shaping(schema.names).schema(schema, self.dress(values).type)

    def shaping(self, columns: list[str]) -> Shaping:
        """The published columns of a table with these columns."""
        return Shaping(self.kept, self.layout, columns)


class RowRelease:
    """Rows on their way, batch after batch; ``follows``: series and times are followed."""

    def __init__(self, steps: Steps, columns: list[str], follows: bool) -> None:
        self._steps, self._shaping = steps, steps.shaping(columns)
        layout, how = steps.layout, (steps.rng, steps.discretizer)
        self.noise: ColumnNoise | GroupNoise = (
            GroupNoise(steps.plans, layout, *how, follows)
            if steps.plans.labels
            else ColumnNoise(steps.plans.only, *how)
        )
        self.tracker = Tracker(layout.series, layout.clock()) if follows else None

    def made(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mask | None]:
        """The columns that are published otherwise than they came, by name; and of which rows."""
        steps, layout, row = self._steps, self._steps.layout, self.noise.rows
        column = one_column(batch, layout.column)
        codes = steps.discretizer.codes(column, layout.column, row)
        blocks = None if self.tracker is None else follow(self.tracker, layout, batch, None)
        states, kept = (
            self.noise.apply(codes, batch)
            if isinstance(self.noise, GroupNoise)
            else self.noise.apply(codes, blocks)
        )
        made = {layout.column: steps.dress(steps.discretizer.values(states, column.type))}
        if layout.time is not None and steps.kept.time_as is not None:
            time = self._shaping.time(batch, blocks, row)
            made[layout.time] = time if kept is None else time.filter(pa.array(kept))
        return made, kept

    def columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """All published columns of the next rows."""
        made, kept = self.made(batch)
        batch = batch if kept is None else batch.filter(pa.array(kept))
        return self._shaping.columns(batch, made)

    def drawn(self, seen: Seen | None) -> Drawn:
        """What was drawn in all; ``seen`` is what is known of the rows where none followed them."""
        noise, tracked = self.noise, seen if self.tracker is None else self.tracker
        assert tracked is not None
        check_not_empty(noise.rows)
        drawn = _drawn(noise, tracked)
        if not isinstance(noise, GroupNoise):
            return drawn
        groups = seen.groups if isinstance(seen, GroupsSeen) else noise.trackers
        check_one_group(groups, tracked.series, str(self._steps.layout.group))
        each = tuple(_drawn(one, its) for one, its in zip(noise.each, groups, strict=True))
        return replace(drawn, groups=each)


def _drawn(noise: ColumnNoise | GroupNoise, seen: Seen) -> Drawn:
    tells = noise.released, noise.gaps, noise.sha256, noise.lowest, noise.highest
    return Drawn(seen, noise.rows, *tells, noise.heard)


@dataclass(frozen=True)
class Drawn:
    """What was drawn and written, and nobody has seen yet.

    Attributes
    ----------
    seen : Seen
        Series, splits and lengths.
    rows, released, gaps : int
        Rows of the table, rows released, and those of them without a value.
    states_sha256 : str
        Digest of the published states, a byte each.
    lowest, highest : int
        Of the states before noise, which are private.
    heard : int
        Series with a report, where one row in several reports.
    file : ReleasedFile, optional
        Where the sink is a file, or a folder.
    parts : int, optional
        Number of its files, where the sink is a folder.
    certificate : file to write to, optional
        Where the certificate goes.
    groups : tuple of Drawn
        The same of each group, where each has a plan of its own.
    """

    seen: Seen
    rows: int
    released: int
    gaps: int
    states_sha256: str
    lowest: int
    highest: int
    heard: int = 0
    file: ReleasedFile | None = None
    parts: int | None = None
    certificate: BinaryIO | None = None
    groups: tuple[Drawn, ...] = ()

    @property
    def each(self) -> tuple[Drawn, ...]:
        """Of each plan."""
        return self.groups or (self,)


class Draw(Protocol):
    """Draws the noise of every row and writes it."""

    def __call__(
        self, steps: Steps, seen: Seen | None, progress: Progress | None
    ) -> AbstractContextManager[Drawn]:
        """What was drawn; it is published when the block ends without an error, else lost.

        ``seen`` is what a reader has counted in the table already, if it has.
        """


class Sink(Protocol):
    """Where a release goes."""

    def dress(self, values: pa.Array) -> pa.Array:
        """The published column as the sink can hold it."""

    def claimed(self, table: Any) -> AbstractContextManager[Draw]:
        """The place, held until the block ends; errors now rather than after an hour."""


def release_table(
    table: Readable,
    sink: Sink,
    request: Request,
    rng: Randomness | None = None,
    progress: Progress | None = None,
    reader: Reader[Any] = HERE,
    told: Callable[[Prepared[Any]], None] | None = None,
) -> Certificate:
    """Release one column of a table to a sink; the certificate goes there too.

    ``told`` gets plan and discretizer, before anything is drawn.
    """
    source = as_source(rng)
    with sink.claimed(table) as draw:
        prepared = prepare(table, request, progress, reader)
        if told is not None:
            told(prepared)
        steps = Steps(request.layout, request.kept, prepared.discretizer, prepared.plans, source,
                      sink.dress)  # fmt: skip
        with draw(steps, prepared.seen, progress) as drawn:
            check_same_rows(prepared.seen, drawn.rows)
            for plan, part in zip(prepared.plans.each, drawn.each, strict=True):
                # A reference may have groups that the table has not.
                if part.rows:
                    check_length(plan, part.seen)
                    _check_heard(plan, part)
            _warn_of_one_state(prepared.discretizer, drawn)
            certificate = _certificate(table, request, prepared, source, drawn)
            if drawn.certificate is not None:
                drawn.certificate.write(certificate.to_json().encode())
    return certificate


def _certificate(
    table: Readable, request: Request, prepared: Prepared[Any], source: Randomness, drawn: Drawn
) -> Certificate:
    described, word, plans = prepared.discretizer.described, source_word(source), prepared.plans
    if not plans.labels:
        released = _released(table, request, plans.only, drawn)
        return certify(plans.only, prepared.origin, described, word, released)
    parts = [
        (label, plan, _released(table, request, plan, part))
        for label, plan, part in zip(plans.labels, plans.each, drawn.groups, strict=True)
        if part.rows
    ]
    whole = replace(parts[0][2], file=drawn.file, states_sha256=drawn.states_sha256)
    return certify_groups(str(request.layout.group), parts, described, word, whole)


def _released(table: Readable, request: Request, plan: NoisePlan, drawn: Drawn) -> Released:
    """What can be seen of the rows of one plan."""
    layout, kept, seen = request.layout, request.kept, drawn.seen
    rare = plan.noise.every > 1
    return Released(
        layout.column,
        layout.series,
        drawn.released,
        drawn.heard if rare else seen.series,
        drawn.states_sha256,
        drawn.file,
        drawn.gaps,
        seen.splits,
        drawn.parts,
        kept=tuple(kept.others(layout, table.columns)),
        time=kept.time_in_words(layout),
        allowed_leaks=kept.allow_leak,
        points=drawn.rows if rare else None,
    )


def check_same_rows(seen: Seen | None, rows: int) -> None:
    """Error if the table had another number of rows when it was fitted than when it was read."""
    if seen is not None and seen.rows != rows:
        raise InvalidInput(
            "table", f"{seen.rows:,} rows at first, {rows:,} rows later",
            "a table that stays the same while it is read", "Work on a copy.",
        )  # fmt: skip


def _check_heard(plan: NoisePlan, drawn: Drawn) -> None:
    """Error if nothing is left: no series is long enough for one report."""
    if drawn.released == 0:
        first = plan.noise.first_place + 1
        raise InvalidInput(
            "every", plan.noise.every, f"a number for which a series has its first report, point "
            f"{first} of each series", "Report more often.",
        )  # fmt: skip


def _warn_of_one_state(discretizer: Discretizer, drawn: Drawn) -> None:
    """Say so where limits leave all values in one state.

    No error: whether a release appears must not depend on the values.
    """
    if discretizer.edges and drawn.rows > 1 and drawn.lowest == drawn.highest:
        warnings.warn(
            "the limits between states (threshold) leave only one state: all values lie on the "
            "same side of each. Are they in the units of the column? The release is made all the "
            "same, since whether there is one must not depend on the values",
            ChainveilWarning,
            stacklevel=2,
        )


def check_length(plan: NoisePlan, seen: Seen) -> None:
    """Error if a series is longer than the plan's promise covers."""
    length = plan.loss.length
    if length is None:
        return
    if seen.splits:
        # Points on both sides of a gap still depend on each other, across unseen points.
        raise InvalidInput(
            "length", length, "None, where series are split at gaps",
            "A gap hides how many points lie in it.",
        )  # fmt: skip
    if seen.longest > length:
        raise InvalidInput(
            "table", f"a series of {seen.longest} rows", f"at most {length} rows, the length "
            "the noise was calibrated for", "Leave the length out: the promise then holds for any.",
        )  # fmt: skip
