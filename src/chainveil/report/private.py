"""The page for the curator: the public one, and what only the holder of the original may see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from chainveil.attack import OwnLoss
from chainveil.certificate import Certificate
from chainveil.privacy.rounding import exact, upper
from chainveil.report import charts, noise_figures
from chainveil.report.blocks import (
    Block,
    Bullets,
    Column,
    Figure,
    Section,
    Table,
    Text,
    distinct,
    number,
    short,
    shown_number,
    shown_text,
)
from chainveil.report.page import Page
from chainveil.report.public import downwards, public_sections, subtitle, title
from chainveil.table import Review, Summary, review, summarize
from chainveil.table.read.frames import FrameSource
from chainveil.table.read.reading import open_source

READING = ("form", "header", "delimiter", "multiline")
MARK = "private: do not publish"
# Points and series that are shown beside their release; series of one chart of losses.
POINTS, SHOWN, MOST_BARS = 240, 3, 60


def curator_page(certificate: Any, release: Any, original: Any, **asked: Any) -> Page:
    """A page for whoever holds the original, which it shows: private, as the original is.

    It cannot be saved in the folder of the release or of its certificate.

    Parameters
    ----------
    certificate : Certificate or path
        That of the release.
    release, original : path, data frame, or a table of ``chainveil.table.read``
        What is published, and what was to be protected.
    **asked : optional
        As in :func:`release_page`.
    """
    summary = summarize(certificate, release, **asked)
    lines = {name: value for name, value in asked.items() if name in READING}
    found = review(summary.certificate, _opened(original, {}), _opened(release, lines))
    return private_page(summary, found, published(certificate, release))


def private_page(summary: Summary, found: Review, not_beside: tuple[Path, ...] = ()) -> Page:
    """The page of a summary and a review; ``not_beside``: what is published."""
    first, *rest = public_sections(summary)
    sections = (first, *private_sections(found, summary.certificate), *rest)
    return Page(f"{title(summary)}, for its curator", subtitle(summary.certificate), sections,
                MARK, not_beside)  # fmt: skip


def _opened(table: Any, lines: dict[str, Any]) -> Any:
    if hasattr(table, "batches"):
        return table
    return open_source(table, **lines) if isinstance(table, str | Path) else FrameSource(table)


def published(*tables: Any) -> tuple[Path, ...]:
    """The files and folders among certificate and release."""
    return tuple(Path(table) for table in tables if isinstance(table, str | Path))


def private_sections(found: Review, certificate: Certificate) -> list[Section]:
    """What only the holder of the original may see."""
    called = certificate["release.series_column"]
    return [
        Section("The original beside the release", _beside(found, called)),
        Section("What each series loses on its own chain", _own(found)),
        Section("Whether the data follow the chain", _misfit(found)),
        Section("What attackers get", _attacks(found)),
        Section("What other published columns give away", _leaks(found)),
    ]


def _name(one: Any, number: int) -> str:
    return shown_text(one.name) if one.name is not None else f"series {number + 1}"


def _beside(found: Review, called: str | None) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for place, one in enumerate(found.series[:SHOWN]):
        name = short(_name(one, place))
        rows = [("original", one.truth[:POINTS]), ("release", one.seen[:POINTS])]
        whose = name if called is None else f"{short(called)} {name}"
        words = f"Where do reports of {whose} differ from the original? The first {POINTS} points"
        blocks.append(noise_figures.stripes(words, rows, found.labels))
    lines = [
        [_name(one, place), len(one.truth), *one.shares, one.wrong]
        for place, one in enumerate(found.series)
    ]
    shares = [number(f"share of {short(label)}, original") for label in found.labels]
    columns = (Column("series"), number("points"), *shares, number("wrong reports, share"))
    blocks.append(Table("How much of each series is reported wrongly?", columns, lines))
    return tuple(blocks)


def _own(found: Review) -> tuple[Block, ...]:
    known = [(_name(one, place), one.own) for place, one in enumerate(found.series) if one.own]
    budget = found.plan.epsilon
    title = "What does the noise lose on the chain that fits each series best?"
    blocks: list[Block] = [
        Text("The guarantee is for the chain of the certificate. A series that follows another one "
             "may lose more. Each loss here is an upper bound for the chain fitted to that series, "
             "which differs from the chain behind the series by the error of the fit.")
    ]  # fmt: skip
    if len(known) < len(found.series):
        words = f"{len(known):,} of {len(found.series):,} series are shown, evenly chosen"
        blocks.append(Text(f"{words}: more would take long.", "careful"))
    over = [own for _, own in known if own.above(budget, len(known))]
    if over:
        words = f"{len(over):,} of {len(known):,} series lose more than ε = {exact(budget)}"
        words += " on their own chains, by more than the error of the fits"
        blocks.append(Text(f"{words}.", "careful"))
    blocks.append(_losses(title, known, budget, _own_table(title, known, found.labels)))
    return tuple(blocks)


def _own_table(title: str, known: list[tuple[str, OwnLoss]], labels: tuple[Any, ...]) -> Table:
    """A line a series; how its chain moves where there are two states, and why one has no loss."""
    columns = [Column("series"), number("loss, at most", _upwards)]
    lines: list[list[Any]] = [[name, own.epsilon] for name, own in known]
    if len(labels) == 2:
        low, high = map(short, labels)
        columns += [number(f"{low} to {high}"), number(f"{high} to {low}")]
        lines = [[*line, *_steps(own.chain)] for line, (_, own) in zip(lines, known, strict=True)]
    if any(own.reason for _, own in known):
        columns.append(Column("why there is none"))
        lines = [[*line, own.reason] for line, (_, own) in zip(lines, known, strict=True)]
    return Table(title, tuple(columns), lines)


def _upwards(value: float | None) -> str:
    """A loss in four digits, never rounded down."""
    return shown_number(None) if value is None else upper(value, 4)


def _at_most(loss: float) -> str:
    return f"at most {_upwards(loss)}" if np.isfinite(loss) else "without limit"


def _steps(chain: Any) -> list[float | None]:
    """How often each of two states is left."""
    if chain is None:
        return [None, None]
    return [float(chain.transition[0, 1]), float(chain.transition[1, 0])]


def _losses(title: str, known: list[Any], budget: float, values: Table) -> Block:
    """Bars, those of the largest losses where there are many, with the budget across."""
    drawn = [(name, own.epsilon) for name, own in known if own.epsilon is not None]
    if not drawn:
        return values
    drawn = sorted(drawn, key=lambda pair: -pair[1])[:MOST_BARS]
    # A loss without limit goes to the end of the scale, and says so.
    end = 1.5 * max([budget, *(loss for _, loss in drawn if np.isfinite(loss))])
    names = distinct(name for name, _ in drawn)
    marks = [
        {"name": names[name], "value": min(loss, end), "told": f"{names[name]}: {_at_most(loss)}"}
        for name, loss in drawn
    ]
    across = [{"value": budget, "told": f"budget ε = {exact(budget)}"}]
    words = f"{len(drawn)} bars, the largest losses first, and a line at the budget."
    return Figure(title, words, charts.bars(marks, "loss, at most", across), values)


def _p_value(value: float | None) -> str:
    """Order 1 is not tested against itself."""
    return "" if value is None else shown_number(value)


def _misfit(found: Review) -> tuple[Block, ...]:
    if isinstance(found.misfit, str):
        return (Text(f"Not tested: {found.misfit}", "careful"),)
    readings = found.misfit.pooled
    lines = [
        (one.order, one.loss.lower, one.loss.epsilon, one.test.p_value if one.order > 1 else None,
         one.gap, one.unseen)
        for one in readings
    ]  # fmt: skip
    columns = (
        number("order of the chain"), number("loss, at least", downwards),
        number("loss, at most", _upwards), number("p-value against order 1", _p_value),
        number("largest difference of a step"), number("contexts never seen"),
    )  # fmt: skip
    return (
        Text("The same data read as chains with a longer memory, and what the same noise gives "
             "away to someone who knows that chain. The last line says whether more than the "
             "budget is lost on chains that these data show."),
        Table("Do the data remember more than one point?", columns, lines),
        Text(f"{found.misfit.verdict}."),
    )  # fmt: skip


def _attacks(found: Review) -> tuple[Block, ...]:
    if isinstance(found.attacked, str):
        return (Text(f"Not attacked: {found.attacked}", "careful"),)
    attacked = found.attacked
    title = "How many points does an attacker guess right who knows the chain and the noise?"
    lines: list[Any] = [
        (name, one.rate, one.low, one.high, one.trials) for name, one in attacked.scores.items()
    ]
    lines.append(("guessing the commonest state", attacked.guessing, None, None, None))
    columns = (Column("attacker"), number("right"), number("low"), number("high"),
               number("guesses"))  # fmt: skip
    marks = [{"name": line[0], "value": line[1], "told": f"{line[0]}: right in {line[1]:.4g}"}
             for line in lines]  # fmt: skip
    bound = (
        f"bound: nobody who knows no point beforehand is right in more than {upper(attacked.bound)}"
    )
    across = [{"value": attacked.bound, "told": bound}]
    words = "A bar an attacker, and a line at what is possible at most."
    blocks: list[Block] = [
        Figure(title, words, charts.bars(marks, "share that is right", across),
               Table(title, columns, lines)),
        Text(f"{bound}, if the data follow the chain. What these attackers achieve "
             "is no measure of privacy: a better one may come."),
    ]  # fmt: skip
    if attacked.beaten:
        words = f"{' and '.join(attacked.beaten)} beat the bound: the data do not follow the model"
        words += " of the certificate, and its guarantee is not for such data"
        blocks.append(Text(f"{words}.", "bad"))
    return tuple(blocks)


def _leaks(found: Review) -> tuple[Block, ...]:
    if isinstance(found.leaks, str):
        return (Text(f"Not tested: {found.leaks}", "careful"),)
    if not found.tested:
        return (Text("No other column is published."),)
    named = ", ".join(map(short, found.tested))
    if not found.leaks:
        return (Text(f"Tested on a sample, with 1 false alarm in 100: {named}. Nothing was found; "
                     "that is no proof that there is nothing."),)  # fmt: skip
    return (
        Text("Published columns say something about the original states:", "bad"),
        Bullets(tuple(map(str, found.leaks))),
        Text(f"Tested on a sample, with 1 false alarm in 100: {named}."),
    )
