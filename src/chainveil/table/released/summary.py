"""What whoever receives a release may know of it: its certificate checked, and the first answers.

Nothing but the certificate and the release is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chainveil import checks, estimate
from chainveil.certificate import Certificate, Verification
from chainveil.errors import ChainveilError, InvalidInput
from chainveil.estimate import Estimate
from chainveil.mechanism import seeded
from chainveil.model.chain import MarkovChain
from chainveil.privacy.baselines import success_bound
from chainveil.table.released.states import Reading, ReleasedStates, read_released
from chainveil.table.released.verification import verify
from chainveil.table.states.prepare import Progress

# Into how many stretches the longest series is cut, and how long one is at least.
STRETCHES, SHORTEST = 24, 10
# Points of the made-up series, and the seed of its noise: a study, no release.
EXAMPLE, EXAMPLE_SEED = 120, 1


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
        "share", "by series", "over time", "transitions", "sojourns", as far as they were asked
        and could be answered.
    refused : dict of question to str
        Why a question has no answer.
    width : int or None
        Points of a stretch, for "over time"; its groups are the first point of each.
    notes : tuple of str
        What could not be checked of the release.
    files : tuple of two str or None
        The names of the files of certificate and release, without their folders.
    example : two arrays of states, or None
        A series drawn from the chain of the certificate, with a seed, and reports of it.
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
    example: tuple[Any, Any] | None = None


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
        What was handed over.
    release : path or data frame, optional
        The published table. Without it nothing is estimated.
    level : float
        Probability that an interval covers the truth.
    time, step, max_gap : optional
        As in :func:`chainveil.estimate_table`.
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
    checks.probability("level", level, zero=False, one=False)
    given = isinstance(certificate, Certificate)
    document: Certificate = certificate if given else Certificate.read(str(certificate))
    document.of_one_noise("a page")
    checked = verify(document, release, progress=progress, **reading)
    asked = _Asking(document, release, level, reading, {"step": step, "max_gap": max_gap})
    # Noise that is not what the certificate says cannot be undone.
    if release is not None and checked.holds:
        asked.everything(time)
    return Summary(
        document, checked, level, _even_odds(document), asked.answers, asked.refused, asked.width,
        tuple(asked.notes), (_file(certificate), _file(release)),
        _example(document) if checked.holds else None,
    )  # fmt: skip


def _even_odds(document: Certificate) -> float:
    """What a chance of one half can become, rounded up."""
    return success_bound(MarkovChain.symmetric(0.5), document["loss.epsilon"])


def _example(document: Certificate) -> tuple[Any, Any] | None:
    """A made-up series and its reports; the same at each call, and nobody's."""
    plan = document.plan()
    if plan.noise.outputs != plan.noise.states:
        return None
    series = plan.chain.sample(min(EXAMPLE, plan.loss.length or EXAMPLE), rng=EXAMPLE_SEED)
    return series, plan.sanitize(series, rng=seeded(EXAMPLE_SEED))


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
        self._held: dict[tuple[str | None, bool], ReleasedStates] = {}
        self._timed = any(value is not None for value in gaps.values())
        self.answers: dict[str, Estimate] = {}
        self.refused: dict[str, str] = {}
        self.notes: dict[str, None] = {}
        self.width: int | None = None

    def everything(self, time: str | None) -> None:
        """All questions; what one of them meets keeps no other from its answer."""
        self._timed |= time is not None
        series = self._document["release.series_column"]
        self._ask("share", lambda: self._shares(self._read(time, series), grouped=False))
        if series is not None:
            self._ask("by series", lambda: self._shares(self._read(time, series)))
        self._ask("over time", lambda: self._over_time(self._read(time, series)))
        self._ask("transitions", lambda: self._neighbours(time, estimate.transitions))
        self._ask("sojourns", lambda: self._neighbours(time, estimate.durations))

    def _ask(self, question: str, answer: Callable[[], Estimate]) -> None:
        try:
            self.answers[question] = answer()
        except ChainveilError as error:
            # What the caller got wrong is no finding about the release.
            if self._timed and getattr(error, "argument", None) in ("time", *self._gaps):
                raise
            self.refused[question] = str(error)

    def _read(self, time: str | None, by: str | None, neighbours: bool = False) -> ReleasedStates:
        """The release; the questions that read it alike share it, since it may be large."""
        wanted = (by, neighbours)
        if wanted not in self._held:
            how = Reading(by=by, time=time, neighbours=neighbours, **self._gaps, **self._reading)
            self._held[wanted] = read_released(self._release, self._document, how)
        self.notes |= dict.fromkeys(self._held[wanted].notes)
        return self._held[wanted]

    def _shares(self, held: ReleasedStates, grouped: bool = True) -> Estimate:
        by = held.groups if grouped else None
        return estimate.frequency(held.states, held.plan, by=by, level=self._level)

    def _over_time(self, held: ReleasedStates) -> Estimate:
        """All series together, a stretch after another, by the place of a point in its series.

        Where a stretch has too few points for its noise, stretches are made longer.
        """
        lines = held.states if isinstance(held.states, list) else [held.states]
        longest = max(len(line) for line in lines)
        width = max(SHORTEST, -(-longest // STRETCHES))
        while True:
            places = [np.arange(len(line)) // width * width for line in lines]
            by = places if isinstance(held.states, list) else places[0]
            try:
                found = estimate.frequency(held.states, held.plan, by=by, level=self._level)
            except InvalidInput:
                if 2 * width >= longest:
                    raise
                width *= 2
            else:
                self.width = width
                return found

    def _neighbours(self, time: str | None, ask: Callable[..., Estimate]) -> Estimate:
        held = self._read(time, None, neighbours=True)
        if held.splits and not held.notes:
            self.notes[
                f"{held.splits:,} neighbouring rows are no neighbouring points, by the "
                "certificate; transitions and sojourns count them as if they were"
            ] = None
        return ask(held.states, held.plan, level=self._level)
