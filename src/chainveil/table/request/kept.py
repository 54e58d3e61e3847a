"""Which columns a release holds beside the released one, and what becomes of the time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from chainveil.errors import InvalidInput
from chainveil.table.error_text import check_column

if TYPE_CHECKING:
    from chainveil.table.request.request import Layout

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
INDEX = "index"
TIME_AS = 'index, a width such as "60s", "5m", "1h" or "1d" for dates and times, or a number'


@dataclass(frozen=True)
class Width:
    """To which width times are rounded down: seconds, or the column's own units."""

    value: float
    seconds: bool

    def __str__(self) -> str:
        return f"{self.value:g}{' s' if self.seconds else ''}"


@dataclass(frozen=True)
class Kept:
    """What is published beside the released column and the series column.

    Attributes
    ----------
    columns : tuple of str
        Columns to publish as they are.
    time : bool
        Whether the time column is published as it is.
    time_as : str, float, or None
        "index" for the place of each row in its series; a width to round times down to: such
        as "60s" for dates and times, a number in the column's own units for numbers.
    allow_leak : tuple of str
        Columns that are published although they may give the states away.
    false_alarms : float
        How often a table whose columns say nothing may be refused.
    """

    columns: tuple[str, ...] = ()
    time: bool = False
    time_as: str | float | None = None
    allow_leak: tuple[str, ...] = ()
    false_alarms: float = 0.01

    def __post_init__(self) -> None:
        for name in ("columns", "allow_leak"):
            if isinstance(getattr(self, name), str):
                argument = "keep" if name == "columns" else name
                raise InvalidInput(argument, getattr(self, name), "a list of columns")
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))
        if self.time and self.time_as is not None:
            raise InvalidInput(
                "time_as", self.time_as, "nothing, where keep_time publishes the time as it is"
            )
        _ = self.width

    @cached_property
    def width(self) -> Width | None:
        """To which width times are rounded; None where they are not."""
        given = self.time_as
        if given is None or given == INDEX:
            return None
        found = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([smhd]?)\s*", str(given))
        try:
            value = float(found[1]) if found and not isinstance(given, bool) else 0.0
        except ValueError:
            value = 0.0
        if not found or not 0 < value < float("inf"):
            raise InvalidInput("time_as", given, TIME_AS)
        return Width(value * SECONDS.get(found[2], 1), bool(found[2]))

    @property
    def positions(self) -> bool:
        """Whether the place of each row in its series is published."""
        return self.time_as == INDEX

    @property
    def shows_time(self) -> bool:
        """Whether anything of the time column is published."""
        return self.time or self.time_as is not None

    def check(self, layout: Layout, columns: Sequence[str]) -> None:
        """Error unless the columns are there and may be published."""
        for name in self.columns:
            check_column("keep", name, columns)
            if name == layout.column:
                raise InvalidInput(
                    "keep", name, "columns other than the released one",
                    "It is published with noise; as it is, it would undo that.",
                )  # fmt: skip
        if layout.time is None and self.shows_time:
            argument = "keep_time" if self.time else "time_as"
            raise InvalidInput("time", None, f"a column, where {argument} is given")
        if layout.time in self.columns and self.time_as is not None:
            raise InvalidInput(
                "keep", layout.time, "no time column, where time_as says how it is published"
            )
        self._check_allowed(layout)

    def _check_allowed(self, layout: Layout) -> None:
        published = [*self.columns, layout.time if self.shows_time else None]
        for name in self.allow_leak:
            if name not in published or name == layout.series:
                raise InvalidInput(
                    "allow_leak", name, "a column that is kept",
                    "Name it in keep, or keep the time.",
                )  # fmt: skip

    def published(self, layout: Layout, columns: Sequence[str]) -> list[str]:
        """All columns of the release, in the order of those of the table, ``columns``."""
        time = layout.time if self.shows_time else None
        # Who does not know the group of a row does not know its noise.
        wanted = {layout.column, layout.series, layout.group, time, *self.columns}
        return [name for name in columns if name in wanted]

    def others(self, layout: Layout, columns: Sequence[str]) -> list[str]:
        """The columns of the release beside the released one and the series."""
        never = (layout.column, layout.series)
        return [name for name in self.published(layout, columns) if name not in never]

    def read(self, layout: Layout, columns: Sequence[str]) -> list[str]:
        """All columns that a release has to read."""
        wanted = {*layout.names, *self.published(layout, columns)}
        return [name for name in columns if name in wanted]

    def tested(self, layout: Layout, columns: Sequence[str]) -> list[str]:
        """The columns to be tested for what they say about the states.

        Positions in a series are not: the order of the rows and the gaps are seen anyhow. Nor are
        groups: a series lies in one, so that they say nothing which its name does not.
        """
        free = {*self.allow_leak, layout.group, layout.time if self.positions else None}
        return [name for name in self.others(layout, columns) if name not in free]

    def time_in_words(self, layout: Layout) -> str | None:
        """How the time is published, for a certificate; None where it is not."""
        if layout.time is None:
            return None
        if self.positions:
            return "positions"
        if self.width is not None:
            return f"rounded down to {self.width}"
        return "as it was" if self.time or layout.time in self.columns else None


def make_kept(
    keep: Sequence[str] = (),
    keep_time: bool = False,
    time_as: str | float | None = None,
    allow_leak: Sequence[str] = (),
) -> Kept:
    """From the arguments that files, frames and Spark share."""
    columns, allowed = (
        part if isinstance(part, str) else tuple(part or ()) for part in (keep, allow_leak)
    )
    return Kept(columns, keep_time, time_as, allowed)  # type: ignore[arg-type]
