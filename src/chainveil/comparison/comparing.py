"""``compare``: a table in, every setting that it allows out, with what each leaves of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from chainveil.comparison import simulated
from chainveil.comparison.command import shell_words
from chainveil.comparison.figures import Figures, figures
from chainveil.comparison.recommend import For, read_for, recommend
from chainveil.comparison.results import About, Comparison
from chainveil.comparison.rows import Row
from chainveil.comparison.settings import (
    USUAL,
    Refused,
    Setting,
    candidates,
    read_mechanisms,
    slow,
)
from chainveil.comparison.study import Study, read_study
from chainveil.errors import ChainveilError, InvalidInput
from chainveil.mechanism.reading import Missing
from chainveil.model.base import DataModel
from chainveil.noise.base import Noise, noise_class
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import Adversary, AdversaryName
from chainveil.privacy.closed_form import budget
from chainveil.privacy.problem import Shape, Unit
from chainveil.progress import showing
from chainveil.sequences import as_sequences
from chainveil.table.read.frames import FrameSource
from chainveil.table.read.reading import open_source
from chainveil.table.request.discretize import Label
from chainveil.table.request.request import (
    Layout,
    Order,
    Promise,
    Readable,
    Request,
    StateRules,
    Threshold,
)
from chainveil.table.states.prepare import plan_for

# How long settings take to look for, beside each other: what bars are measured in.
ONCE, THINNED, TRACKED, SLOWLY = 1, 6, 6, 60
BUDGETS = (1.0, 2.0, 4.0)


def compare(
    table: Any,
    column: str | None = None,
    epsilon: float | Sequence[float] = BUDGETS,
    *,
    for_: For = "share",
    series: str | None = None,
    time: str | None = None,
    threshold: Threshold | None = None,
    states: Sequence[Label] | None = None,
    labels: Sequence[Label] | None = None,
    chain: DataModel | None = None,
    reference: Any = None,
    order: Order = 1,
    pooled: bool = False,
    parts: int = 1,
    step: float | None = None,
    max_gap: float | None = None,
    max_length: int | None = None,
    adversary: AdversaryName | Adversary = "any",
    unit: Unit = "point",
    missing: Missing = "error",
    shape: Shape = "uniform",
    earlier: Sequence[Noise] = (),
    mechanism: str | Sequence[str] | None = None,
    progress: bool | None = None,
) -> Comparison:
    """What each way to release a table would leave of it, before anything is released.

    Every mechanism, on every point and on one in several, with every objective that the case
    allows, at every budget: wrong reports, error after smoothing, how precisely shares,
    transitions and sojourns can be told, what the best attacker gets, what series lose on their
    own chains, and who must see what. Ends with what to take for the question named.

    The result is as private as the table: its figures are for the chain that fits the table
    best, exactly. Nothing is released, and no budget is spent.

    Parameters
    ----------
    table : path, data frame, or series of states
        A file or frame with ``column``; or, without a column, states 0, 1, … as an array, a
        2-D array (a row a series) or a list of arrays.
    column, series, time, threshold, states, labels, chain, reference, order, pooled, \
parts, step, max_gap, max_length, adversary, unit, missing, shape, earlier : optional
        As in :func:`chainveil.sanitize_table`: noise is for the model of each series, unless
        ``pooled`` asks for the chain of all together.
    epsilon : float, or sequence of floats
        The budgets to compare.
    for_ : "share", "episodes" or "points"
        What the release is for: how much of the time a state takes; how long it lasts; which
        state each point is in.
    mechanism : str, or sequence of str, optional
        Compare these alone, and all settings of them: without a name, those are left out for which
        the search takes from seconds to minutes for each budget, such as rare reports of more than
        two states.
    progress : bool, optional
        Whether to show a bar: True on terminals and in notebooks, by default in notebooks.

    Examples
    --------
    >>> import chainveil as cv
    >>> series = [cv.MarkovChain.binary(0.1, 0.2).sample(2000, rng=n) for n in range(3)]
    >>> found = cv.compare(series, epsilon=[2.0], mechanism=["independent", "sticky"])
    >>> found.best(2.0).row.setting.mechanism
    'sticky'
    """
    said = {
        "series": series, "time": time, "threshold": threshold, "states": states,
        "labels": labels, "chain": chain, "reference": reference, "order": order, "pooled": pooled,
        "parts": parts, "step": step, "max_gap": max_gap, "max_length": max_length,
        "adversary": adversary, "unit": unit, "missing": missing, "shape": shape,
        "earlier": earlier,
    }  # fmt: skip
    usual = {
        "order": 1, "pooled": False, "parts": 1, "adversary": "any", "unit": "point",
        "missing": "error", "shape": "uniform",
    }  # fmt: skip
    said = {
        name: value
        for name, value in said.items()
        if value is not None and (name not in usual or value != usual[name])
    }
    if not earlier:
        del said["earlier"]
    source, said, path = _opened(table, column, said)
    words = () if path is None else shell_words(path, said)
    wanted = Wanted.read(epsilon, for_, mechanism)
    return compare_source(source, read_request(said), wanted, said, words, progress)


@dataclass(frozen=True)
class Wanted:
    """What is to be compared, and for what; ``named``: the mechanisms are those that were named."""

    budgets: tuple[float, ...]
    question: For
    mechanisms: tuple[str, ...]
    named: bool

    @classmethod
    def read(cls, epsilon: Any, question: str, mechanism: Any) -> Wanted:
        """From arguments of :func:`compare`."""
        return cls(
            read_budgets(epsilon),
            read_for(question),
            read_mechanisms(mechanism),
            mechanism is not None,
        )


def compare_source(
    source: Readable,
    request: Request,
    wanted: Wanted,
    said: dict[str, Any],
    words: tuple[str, ...],
    progress: bool | None = None,
) -> Comparison:
    """The same for a table that is open and a request that is read."""
    study = read_study(source, request)
    ordered = study.model.states > 2 and request.rules.threshold is not None
    settings, left_out = chosen(
        candidates(wanted.mechanisms, ordered), study.model.states, wanted.named
    )
    # One step is done: the table is read.
    total = 1 + len(wanted.budgets) * sum(map(_weight, settings))
    with showing(total, progress, "steps") as tell:
        if tell is not None:
            tell("comparing", 1)
        search = Search(study, request, tell)
        found = [search.at(number, settings) for number in wanted.budgets]
    rows = tuple(row for part, _ in found for row in part)
    refused = _merged([one for _, part in found for one in part], wanted.budgets)
    best = tuple(
        recommend(part, wanted.question, number)
        for number, (part, _) in zip(wanted.budgets, found, strict=True)
    )
    about = _about(study, wanted.question, rows, request.promise.max_length)
    return Comparison(about, rows, (*refused, *left_out), best, said, words)


class Search:
    """The settings of a study, one after the other; noise that was seen before costs nothing."""

    def __init__(
        self, study: Study, request: Request, tell: Callable[[str, int], None] | None
    ) -> None:
        self._study, self._request = study, request
        self._tell = tell or (lambda what, steps: None)
        self._figures: dict[Noise, Figures] = {}

    def at(self, epsilon: float, wanted: Sequence[Setting]) -> tuple[list[Row], list[Refused]]:
        """Rows and refusals at one budget."""
        rows: list[Row] = []
        refused: list[Refused] = []
        done: set[Setting] = set()
        for setting in wanted:
            settled = self._settled(setting, rows)
            # With one report a point it is a setting that was compared already.
            if settled not in done:
                done.add(settled)
                try:
                    rows.append(self._row(epsilon, settled))
                except ChainveilError as error:
                    refused.append(Refused(setting, str(error), epsilon))
            self._tell("comparing", _weight(setting))
        return rows, refused

    def _settled(self, setting: Setting, rows: list[Row]) -> Setting:
        """The error after smoothing counts points that report: how many is taken from flips."""
        if setting.objective != "smoothed" or setting.every != "auto":
            return setting
        for row in rows:
            if row.setting == replace(setting, objective=USUAL):
                return replace(setting, every=row.every)
        return setting

    def _row(self, epsilon: float, setting: Setting) -> Row:
        plan = self._plan(epsilon, setting)
        if plan.noise not in self._figures:
            self._figures[plan.noise] = figures(plan, self._study)
        return Row(setting, self._figures[plan.noise], plan)

    def _plan(self, epsilon: float, setting: Setting) -> NoisePlan:
        promise = replace(self._request.promise, epsilon=epsilon, **vars(setting))
        return plan_for(self._study.plan_chain, replace(self._request, promise=promise))


def chosen(
    settings: Sequence[Setting], states: int, named: bool
) -> tuple[list[Setting], list[Refused]]:
    """What is compared, and what would take long."""
    reasons = {one: "" if named else slow(one, states) for one in settings}
    wanted = [one for one, reason in reasons.items() if not reason]
    return wanted, [Refused(one, reason) for one, reason in reasons.items() if reason]


def _weight(setting: Setting) -> int:
    if slow(setting, 2):
        return SLOWLY
    kind = noise_class(setting.mechanism)
    tracked = kind.holds and kind.sees == "series"
    return THINNED if setting.every != 1 else TRACKED if tracked else ONCE


def _merged(refused: Sequence[Refused], budgets: Sequence[float]) -> Iterator[Refused]:
    """What is refused at every budget is said once."""
    groups: dict[tuple[Setting, str], list[Refused]] = {}
    for one in refused:
        groups.setdefault((one.setting, one.reason), []).append(one)
    for parts in groups.values():
        if len(parts) == len(budgets):
            yield replace(parts[0], epsilon=None)
        else:
            yield from parts


def read_budgets(epsilon: Any) -> tuple[float, ...]:
    """Budgets, each once, in order."""
    if isinstance(epsilon, str | bytes) or not np.iterable(epsilon):
        number: Any = epsilon
        return (budget(number),)
    found = sorted({budget(number) for number in epsilon})
    if not found:
        raise InvalidInput("epsilon", [], "at least one budget")
    return tuple(found)


def read_request(said: dict[str, Any]) -> Request:
    """What is asked of a table, from arguments of ``sanitize_table``; the budget comes later."""
    layout, rules, promise = (
        {name: said[name] for name in names if name in said}
        for names in (
            ("column", "series", "time", "step", "max_gap"),
            ("threshold", "states", "labels", "missing"),
            ("max_length", "adversary", "shape", "earlier", "unit"),
        )
    )
    reference = said.get("reference")
    return Request(
        Layout(**layout), StateRules(**rules), Promise(epsilon=1.0, **promise),
        chain=said.get("chain"), reference=None if reference is None else _source(reference),
        order=said.get("order", 1), pooled=said.get("pooled", False), parts=said.get("parts", 1),
    )  # fmt: skip


def _opened(
    table: Any, column: str | None, said: dict[str, Any]
) -> tuple[Readable, dict[str, Any], str | None]:
    """The table, what is said of it, and its path where it is a file."""
    if column is None:
        if said.keys() & {"series", "time", "threshold", "states"}:
            raise InvalidInput("column", None, "the column with the values, of a file or a frame")
        frame = _as_table(table, said.get("chain"))
        count = int(max(frame["state"].to_numpy().max() + 1, 2))
        known = count if said.get("chain") is None else said["chain"].states
        return FrameSource(frame), {
            "column": "state", "series": "series", **said, "states": list(range(known)),
        }, None  # fmt: skip
    path = os.fspath(table) if isinstance(table, str | os.PathLike) else None
    return _source(table), {"column": column, **said}, path


def _source(table: Any) -> Readable:
    if not isinstance(table, str | os.PathLike):
        return FrameSource(table)
    return open_source(os.fspath(table), None, text=True)


def _as_table(value: Any, chain: Any) -> pa.Table:
    """Series of states as a table of two columns."""
    found = as_sequences("table", value, None if chain is None else chain.states)
    numbers = np.repeat(np.arange(found.count), found.lengths)
    return pa.table({"series": numbers, "state": np.asarray(found.flat, np.int64)})


def _about(study: Study, question: For, rows: Sequence[Row], length: int | None) -> About:
    origin = "fitted on the table, exactly" if study.own else "as given: none fits the table"
    drawn = simulated.drawn(study.model, length).size
    words = (
        f"error after smoothing and attacker: {drawn:,} points drawn from that chain with seed "
        f"{simulated.SEED}, the same for all settings; else by formula"
    )
    return About(
        question, study.points, len(study.runs), study.of_a_series,
        f"{study.model.describe()} ({origin})", study.plan_chain.describe(),
        rows[0].figures.own.looked if rows else 0, words,
    )  # fmt: skip
