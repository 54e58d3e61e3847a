"""``estimate_table`` and ``compare_table``: a release and its certificate in, a frame out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import pyarrow as pa

from chainveil import checks, estimate
from chainveil.certificate import Certificate
from chainveil.errors import ChainveilWarning
from chainveil.estimate import Estimate
from chainveil.estimate.answer_table import Kind, columns, framed
from chainveil.estimate.joining import joined
from chainveil.estimate.questions.comparison import How
from chainveil.estimate.results import Covers
from chainveil.table.read.frames import FrameSource
from chainveil.table.read.reading import open_source
from chainveil.table.released.grouping import read_columns
from chainveil.table.released.states import Reading, ReleasedStates, read_by_noise

Question = Literal["share", "pairs", "transitions", "sojourns", "autocorrelation"]
QUESTIONS: tuple[Question, ...] = get_args(Question)
# What was read, for each noise: one in all, unless each group of series has its own.
Held = list[ReleasedStates]
# Seconds from which on a step is told in hours.
LONG_STEP = 60.0
LAGS = (1, 2, 3, 4, 5)


def estimate_table(
    release: Any,
    certificate: Certificate | Any,
    question: Question = "share",
    *,
    by: str | Sequence[str] | None = None,
    time: str | None = None,
    step: float | None = None,
    max_gap: float | None = None,
    level: float = 0.95,
    covers: Covers = "noise",
    lags: int | Sequence[int] = LAGS,
) -> Any:
    """Answer a question from a released table, as a table.

    Parameters
    ----------
    release : data frame, or path of a file
        What was published, or some rows of it, joined with other columns or not. Where the order
        of the rows matters and they do not stand in it, ``time`` tells it.
    certificate : Certificate or path
        Its noise is undone, that of each row's own group where each has its own; shares and pairs
        are then put together, other questions are asked ``by`` group. What cannot be checked of the
        release is said in a warning.
    question : "share", "pairs", "transitions", "sojourns" or "autocorrelation"
        How often each state occurs; how often each follows each; how probable each next state
        is; how long a state lasts; how much a state says about the same state later.
    by : str or several, optional
        Columns whose values are the groups.
    time, step, max_gap : optional
        Column with the time, its regular step, and the longest step that is no gap, as when the
        table was sanitized. With a step of dates and times, given or the same in all rows, sojourns
        are told in seconds or hours.
    level : float
        Probability that an interval covers the truth.
    covers : "noise" or "sampling"
        Whether that is the series as it was, or the chain behind it.
    lags : int or several
        Points later, for "autocorrelation"; for "pairs" the first of them.

    Returns
    -------
    A frame of the kind of ``release``; of a file pandas where it is installed, else Arrow
        Columns: those of ``by``, ``state`` (and ``next``, ``lag``), ``estimate``, ``low``,
        ``high``, ``unit`` and ``points``. An estimate that is no finite number (a sojourn whose
        end the release does not show, a group without points) is missing; ``low`` and ``high``
        say what is known, and a ``high`` that is infinite that there is no limit.

    Examples
    --------
    >>> import polars as pl
    >>> import chainveil as cv
    >>> names = ["Ann"] * 500 + ["Bob"] * 500
    >>> frame = pl.DataFrame({"person": names, "bpm": [58, 59, 66, 71, 64] * 200})
    >>> released = cv.sanitize_table(
    ...     frame, "bpm", epsilon=4, series="person", threshold=60, labels=["low", "high"],
    ...     chain=cv.MarkovChain.binary(q=0.1, r=0.2),
    ... )
    >>> shares = cv.estimate_table(released.table, released.certificate, "share", by="person")
    >>> shares.columns
    ['person', 'state', 'estimate', 'low', 'high', 'unit', 'points']
    """
    held = _read(release, certificate, question, by, time, step, max_gap, covers)
    ask = _asking(held, question, covers, lags)
    seconds = _seconds(release, held, time, step) if question == "sojourns" else None
    return _framed(ask(level), held, by, release, seconds)


def compare_table(
    release: Any,
    certificate: Certificate | Any,
    question: Question = "share",
    *,
    by: str | Sequence[str],
    pairs: Sequence[tuple[Any, Any]] | None = None,
    reference: Any = None,
    how: How = "difference",
    level: float = 0.95,
    simultaneous: bool = True,
    time: str | None = None,
    **more: Any,
) -> Any:
    """Compare groups of a released table with each other, as a table.

    Parameters
    ----------
    release, certificate, question, by, time, **more
        As in :func:`estimate_table`.
    pairs, reference, how, level, simultaneous : optional
        As in :func:`chainveil.estimate.compare`. A group of several columns is a tuple.

    Returns
    -------
    A frame as of :func:`estimate_table`, whose columns of ``by`` come twice: the groups that are
    compared, and those that they are compared with (``other …``).

    Examples
    --------
    >>> import polars as pl
    >>> import chainveil as cv
    >>> frame = pl.DataFrame({"person": ["a"] * 500 + ["b"] * 500, "bpm": [58, 66] * 500})
    >>> released = cv.sanitize_table(
    ...     frame, "bpm", epsilon=4, series="person", threshold=60, labels=["low", "high"],
    ...     chain=cv.MarkovChain.binary(q=0.1, r=0.2),
    ... )
    >>> apart = cv.compare_table(released.table, released.certificate, "share", by="person")
    >>> apart.columns[:3]
    ['person', 'other person', 'state']
    """
    given: dict[str, Any] = {"step": None, "max_gap": None, "covers": "noise"} | more
    step = given.pop("step")
    held = _read(release, certificate, question, by, time, step, given.pop("max_gap"),
                 given["covers"])  # fmt: skip
    ask = _asking(held, question, **given)
    found = estimate.compare(
        ask, pairs, reference=reference, how=how, level=level, simultaneous=simultaneous
    )
    timed = how == "difference" and question == "sojourns"
    seconds = _seconds(release, held, time, step) if timed else None
    return _framed(found, held, by, release, seconds)


def _read(
    release: Any,
    certificate: Any,
    question: str,
    by: Any,
    time: str | None,
    step: float | None,
    max_gap: float | None,
    covers: str,
) -> Held:
    checks.one_of("question", question, QUESTIONS)
    neighbours = question != "share" or covers == "sampling"
    how = Reading(by=by, time=time, step=step, max_gap=max_gap, neighbours=neighbours)
    held = read_by_noise(release, certificate, how)
    notes = list(dict.fromkeys(note for part in held for note in part.notes))
    splits = sum(part.splits for part in held)
    if splits and neighbours and not notes:
        notes.append(
            f"{splits:,} neighbouring rows are no neighbouring points, by the certificate; "
            "they are counted as if they were. time, step and max_gap tell which"
        )
    if notes:
        warnings.warn("; ".join(notes), ChainveilWarning, stacklevel=3)
    return held


def _asking(
    held: Held,
    question: Question,
    covers: Covers = "noise",
    lags: int | Sequence[int] = LAGS,
) -> Callable[[float], Estimate]:
    """The question as a function of the level."""
    several = [lags] if isinstance(lags, int) else list(lags)
    how: dict[Question, Callable[..., Estimate]] = {
        "share": partial(estimate.frequency, covers=covers),
        "pairs": partial(estimate.pairs, lag=several[0]),
        "transitions": partial(estimate.transitions, covers=covers),
        "sojourns": partial(estimate.durations, covers=covers),
        "autocorrelation": partial(estimate.autocorrelation, lags=several, covers=covers),
    }

    def ask_one(part: ReleasedStates, level: float) -> Estimate:
        found = how[question](part.states, part.plan, by=part.groups, level=level)
        if part.group_names:
            names = [part.group_names[number] for number in found.groups or ()]
            found = replace(found, groups=tuple(names))
        return found

    def ask(level: float) -> Estimate:
        found = [ask_one(part, level) for part in held]
        return joined(found, [part.plan.noise.every for part in held], held[0].noise_by)

    return ask


def _framed(found: Estimate, held: Held, by: Any, release: Any, seconds: float | None) -> Any:
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    data = columns(found, held[0].labels, names or ["group"])
    if seconds is not None and data["unit"][0].endswith("points"):
        _in_time(data, seconds)
    return framed(data, _kind(release))


def _in_time(data: dict[str, list[Any]], seconds: float) -> None:
    """Points as the time that they last."""
    word, factor = ("seconds", seconds) if seconds < LONG_STEP else ("hours", seconds / 3600)
    for name in ("estimate", "low", "high"):
        data[name] = [None if value is None else value * factor for value in data[name]]
    data["unit"] = [text.removesuffix("points") + word for text in data["unit"]]


def _seconds(release: Any, held: Held, time: str | None, step: float | None) -> float | None:
    """What a point lasts, where the time column holds dates and times."""
    if time is None:
        return None
    file = isinstance(release, str) or hasattr(release, "__fspath__")
    table = open_source(release, text=False) if file else FrameSource(release)
    if not pa.types.is_temporal(table.schema.field(time).type):
        return None
    if step is not None:
        return float(step)
    steps = {part.step_of(read_columns(table, [time])) for part in held}
    return steps.pop() if len(steps) == 1 else None


def _kind(release: Any) -> Kind | None:
    """The kind of frame that comes back."""
    if isinstance(release, str) or hasattr(release, "__fspath__"):
        return None
    found = FrameSource(release).wrapped.implementation
    return "pandas" if found.is_pandas() else "polars" if found.is_polars() else "arrow"
