"""What whoever receives a release may know of it: its certificate checked, and the first answers.

Nothing but the certificate and the release is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from chainveil import estimate
from chainveil.certificate import Certificate, Verification
from chainveil.errors import ChainveilError
from chainveil.estimate import Estimate
from chainveil.model.chain import MarkovChain
from chainveil.privacy.baselines import success_bound
from chainveil.table.read.frames import FrameSource
from chainveil.table.read.reading import open_source
from chainveil.table.released.states import ReleasedStates, read_released
from chainveil.table.released.verification import verify
from chainveil.table.states.prepare import Progress

# Into how many stretches the longest series is cut, and how long one is at least.
STRETCHES, SHORTEST = 24, 10


@dataclass(frozen=True)
class Summary:
    """A certificate and a release, read by who holds nothing else.

    Attributes
    ----------
    certificate : Certificate
    verification : Verification
    level : float
    even_odds : float
        What a chance of one half that a point has a value can become, at most: rounded up.
    answers : dict of question to Estimate
        "share", "by series", "over time", "by hour", "by date", "transitions", "sojourns", as far
        as they were asked and could be answered.
    refused : dict of question to str
        Why a question has no answer.
    width : int or None
        Points of a stretch, for "over time"; its groups are the first point of each.
    notes : tuple of str
        What could not be checked of the release.
    files : tuple of two str or None
        The names of the files of certificate and release, without their folders.
    """

    certificate: Certificate
    verification: Verification
    level: float
    even_odds: float
    answers: dict[str, Estimate] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    width: int | None = None
    notes: tuple[str, ...] = ()
    files: tuple[str | None, str | None] = (None, None)


def summarize(
    certificate: Certificate | Any,
    release: Any = None,
    *,
    level: float = 0.95,
    time: str | None = None,
    step: float | None = None,
    max_gap: float | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Summary:
    """Check a certificate, and ask its release what most readers ask first.

    Parameters
    ----------
    certificate : Certificate or path
    release : path or data frame, optional
    level : float
        Probability that an interval covers the truth.
    time, step, max_gap : optional
        As in :func:`chainveil.estimate_table`; of dates and times, answers by hour and by date.
    progress : callable, optional
        Told what is being done and how many rows are.
    **reading : optional
        ``form``, ``header``, ``delimiter`` and ``multiline``, as in :func:`chainveil.verify`.

    Examples
    --------
    >>> import chainveil as cv
    >>> from chainveil.table import summarize
    >>> plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), epsilon=2.0)
    >>> summarize(plan.certificate()).verification.holds
    True
    """
    given = isinstance(certificate, Certificate)
    document: Certificate = certificate if given else Certificate.read(str(certificate))
    checked = verify(document, release, progress=progress, **reading)
    asked = _Asking(document, release, level, reading, {"step": step, "max_gap": max_gap})
    # Noise that is not what the certificate says cannot be undone.
    if release is not None and checked.holds:
        asked.everything(time)
    return Summary(
        document, checked, level, _even_odds(document), asked.answers, asked.refused, asked.width,
        tuple(asked.notes), (_file(certificate), _file(release)),
    )  # fmt: skip


def _even_odds(document: Certificate) -> float:
    """What a chance of one half can become, rounded up."""
    return success_bound(MarkovChain.symmetric(0.5), document["loss.epsilon"])


def _file(table: Any) -> str | None:
    """The name of a file, without its folder."""
    return Path(table).name if isinstance(table, str | Path) else None


class _Asking:
    """The questions to one release, and what became of each."""

    def __init__(
        self, document: Certificate, release: Any, level: float, reading: Any, gaps: Any
    ) -> None:
        self._document, self._release, self._level = document, release, level
        self._reading, self._gaps = reading, gaps
        self.answers: dict[str, Estimate] = {}
        self.refused: dict[str, str] = {}
        self.notes: dict[str, None] = {}
        self.width: int | None = None

    def everything(self, time: str | None) -> None:
        """All questions; what one of them meets keeps no other from its answer."""
        series = self._document["release.series_column"]
        self._ask("share", lambda: self._shares(time, None))
        if series is not None:
            self._ask("by series", lambda: self._shares(time, series))
        self._ask("over time", lambda: self._over_time(time))
        if time is not None:
            for part in self._calendar(time):
                self._ask(f"by {part}", lambda part=part: self._shares(time, part))  # type: ignore[misc]
        for question, ask in (("transitions", estimate.transitions),
                              ("sojourns", estimate.durations)):  # fmt: skip
            self._ask(question, lambda ask=ask: self._neighbours(time, ask))  # type: ignore[misc]

    def _ask(self, question: str, answer: Callable[[], Estimate]) -> None:
        try:
            self.answers[question] = answer()
        except ChainveilError as error:
            self.refused[question] = str(error)

    def _read(self, time: str | None, by: str | None, neighbours: bool = False) -> ReleasedStates:
        held = read_released(
            self._release, self._document, by, time, neighbours=neighbours,
            **self._gaps, **self._reading,
        )  # fmt: skip
        self.notes |= dict.fromkeys(held.notes)
        return held

    def _shares(self, time: str | None, by: str | None) -> Estimate:
        held = self._read(time, by)
        return estimate.frequency(held.states, held.plan, by=held.groups, level=self._level)

    def _over_time(self, time: str | None) -> Estimate:
        """All series together, a stretch after another, by the place of a point in its series."""
        held = self._read(time, None)
        lines = held.states if isinstance(held.states, list) else [held.states]
        longest = max(len(line) for line in lines)
        self.width = max(SHORTEST, -(-longest // STRETCHES))
        places = [np.arange(len(line)) // self.width * self.width for line in lines]
        by = places if isinstance(held.states, list) else places[0]
        return estimate.frequency(held.states, held.plan, by=by, level=self._level)

    def _neighbours(self, time: str | None, ask: Callable[..., Estimate]) -> Estimate:
        held = self._read(time, None, neighbours=True)
        if held.splits and not held.notes:
            self.notes[
                f"{held.splits:,} neighbouring rows are no neighbouring points, by the "
                "certificate; transitions and sojourns count them as if they were"
            ] = None
        return ask(held.states, held.plan, level=self._level)

    def _calendar(self, time: str) -> tuple[str, ...]:
        """What of a calendar the time column tells; nothing where it holds numbers."""
        named = isinstance(self._release, str | Path)
        source = open_source(self._release) if named else FrameSource(self._release)
        if time not in source.columns:
            return ("hour",)
        kind = source.schema.field(time).type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if pa.types.is_date(kind):
            return ("date",)
        return ("hour", "date") if text or pa.types.is_temporal(kind) else ()
