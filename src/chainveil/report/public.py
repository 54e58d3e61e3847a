"""The page for whoever receives a release: from its certificate and the release alone."""

from __future__ import annotations

from collections import Counter
from math import floor, isfinite
from typing import Any

from chainveil.certificate import Certificate
from chainveil.certificate.results import AS_PROMISED, WEAKER
from chainveil.privacy.rounding import exact, upper
from chainveil.report import answers, noise_figures, wording
from chainveil.report.blocks import (
    Block,
    Bullets,
    Code,
    Column,
    Facts,
    Section,
    Table,
    Text,
    Tone,
    shown_text,
)
from chainveil.report.page import Page
from chainveil.table import Summary, summarize

STATUS = {"holds": "holds", "fails": "FAILS", "open": "cannot be checked"}


def release_page(certificate: Any, release: Any = None, **asked: Any) -> Page:
    """A page about a release for whoever receives it; the original is not needed.

    Parameters
    ----------
    certificate : Certificate or path
        What was handed over.
    release : path or data frame, optional
        The published table; with it the page has estimates.
    **asked : optional
        ``level``, ``time``, ``step``, ``max_gap``, ``form``, …, as in
        :func:`chainveil.table.summarize`.

    Examples
    --------
    >>> import chainveil as cv
    >>> plan = cv.calibrate(cv.MarkovChain.symmetric(0.2), epsilon=2.0)
    >>> cv.report.release_page(plan.certificate()).title
    'A plan for a private release'
    """
    return public_page(summarize(certificate, release, **asked))


def public_page(summary: Summary) -> Page:
    """The page of a summary."""
    return Page(title(summary), subtitle(summary.certificate), tuple(public_sections(summary)))


def title(summary: Summary) -> str:
    """What the page is about."""
    column = summary.certificate["release.column"]
    return "A plan for a private release" if column is None else f"A private release of {column}"


def subtitle(certificate: Certificate) -> str:
    """When, with what, and how much of it."""
    made = f"Certificate of {certificate['created'].replace('T', ', ').removesuffix('Z')} UTC"
    if certificate["release"] is None:
        return f"{made}; no release yet"
    rows, series = certificate["release.rows"], certificate["release.series"]
    return f"{made}; {rows:,} rows in {series:,} series"


def public_sections(summary: Summary) -> list[Section]:
    """What anyone may read, in order."""
    sections = [
        Section("In short", _in_short(summary)),
        Section("What was asked", (Facts(tuple(_asked(summary.certificate))),)),
        Section("What is promised, and against whom", _promised(summary)),
        Section("What is not protected", (Bullets(_promise(summary, "not protected")),)),
    ]
    if summary.answers or summary.refused:
        sections.append(Section("What the release says", _estimates(summary)))
    if summary.verification.holds:
        sections.append(Section("The noise", _noise(summary)))
    if summary.certificate["release"] is not None:
        sections.append(Section("How to estimate from it", _how(summary)))
    sections.append(Section("What was checked, and what cannot be", _checks(summary)))
    return sections


def _promise(summary: Summary, name: str) -> tuple[str, ...]:
    return tuple(text for word, text in summary.verification.promise if word == name)


def _in_short(summary: Summary) -> tuple[Block, ...]:
    found, budget = summary.verification, summary.certificate["promise.epsilon"]
    tones: dict[str, Tone] = {AS_PROMISED: "good", WEAKER: "careful"}
    reasons = "; ".join(found.objections or found.weaker)
    verdict = f"{found.verdict}: {reasons}." if reasons else f"{found.verdict}."
    blocks: list[Block] = [Text(f"The certificate {verdict}", tones.get(found.verdict, "bad"))]
    if not found.holds:
        blocks.append(Text("What follows is claimed, and must not be relied on."))
    odds = upper(100 * summary.even_odds, 4)
    blocks.append(
        Text(
            f"Privacy budget ε = {exact(budget)}. Whatever else somebody knows of the data, seeing "
            f"the release changes the odds about {summary.certificate['promise.protected']} by at "
            f"most a factor of e^{upper(summary.certificate['loss.epsilon'], 10)}: a chance of 50% "
            f"becomes {odds}% at most. This holds for series that follow the chain of the "
            "certificate, or one of its chains where it names several."
        )
        if summary.certificate["promise.adversary.model"] == "any"
        else Text(f"Privacy budget ε = {exact(budget)}, against a weaker adversary than any: "
                  f"{summary.certificate['promise.adversary.meaning']}.")
    )  # fmt: skip
    return tuple(blocks)


def _asked(certificate: Certificate) -> list[tuple[str, str]]:
    """The request, as far as the certificate tells it."""
    facts = [
        ("privacy budget", f"ε = {exact(certificate['promise.epsilon'])}"),
        ("one secret is", certificate["promise.protected"]),
        ("withstand", certificate["promise.adversary.meaning"]),
        ("kind of noise", certificate["noise.mechanism"]),
        ("chosen for the least", _objective(certificate["noise.objective"])),
    ]
    if certificate["release"] is None:
        return facts
    named = "; ".join(wording.states(certificate))
    series, kept = certificate["release.series_column"], certificate["release.kept"]
    return [
        ("published column", certificate["release.column"]),
        ("its values", f"{named}: {certificate['discretization.meaning']}"),
        ("series", "one" if series is None else f"named by the column {series}"),
        ("other columns", ", ".join(kept) or "none"),
        ("time", certificate["release.time"] or "not published"),
        *facts,
    ]  # fmt: skip


def _objective(name: str) -> str:
    words = {"wrong-reports": "wrong reports", "share": "spread of estimated shares",
             "distance": "distance between report and value",
             "smoothed": "error after smoothing"}  # fmt: skip
    return words.get(name, name)


def _promised(summary: Summary) -> tuple[Block, ...]:
    rows = [row for row in summary.verification.promise if row[0] != "not protected"]
    holds = summary.verification.holds
    rows = [("claimed" if name == "promise" and not holds else name, text) for name, text in rows]
    witness = summary.certificate["loss.witness.words"]
    blocks: list[Block] = [Facts(tuple(rows))]
    if witness is not None:
        attained = summary.certificate["loss.lower"]
        blocks.append(
            Text(f"The worst attack that is known comes close to it: {witness}. It changes the "
                 f"odds by a factor of e^{downwards(attained)}.")
        )  # fmt: skip
    return tuple(blocks)


def downwards(value: float) -> str:
    """A loss that is attained, in four digits after the point, never rounded up."""
    return f"{floor(value * 1e4) / 1e4:g}" if isfinite(value) else "inf"


def _estimates(summary: Summary) -> tuple[Block, ...]:
    labels = summary.certificate["discretization.labels"]
    series = summary.certificate["release.series_column"]
    titles = wording.questions(summary)
    blocks: list[Block] = []
    for note in summary.notes:
        blocks.append(Text(f"{note}.", "careful"))
    for question, found in summary.answers.items():
        if question == "by series":
            blocks.append(answers.by_name(titles[question], found, labels, series))
        elif question == "over time":
            scale = f"first of {summary.width} points, counted from 0 in each series"
            blocks += answers.along(titles[question], found, labels, scale)
        else:
            blocks.append(answers.whole(titles[question], found, labels))
    for reason in dict.fromkeys(summary.refused.values()):
        unanswered = [titles[one] for one, why in summary.refused.items() if why == reason]
        blocks.append(Text(f"Not answered: {reason}", "careful"))
        blocks.append(Bullets(tuple(unanswered)))
    first = next(iter(summary.answers.values()), None)
    if first is not None:
        blocks.insert(0, Text(f"Intervals cover {first.meaning}."))
    return tuple(blocks)


def _noise(summary: Summary) -> tuple[Block, ...]:
    plan, document = summary.certificate.plan(), summary.certificate
    labels = document["discretization.labels"] or list(range(plan.noise.states))
    blocks: list[Block] = [
        Text(f"In the long run {plan.expected_flips:.2%} of the points differ from the report that "
             f"stands for them. {plan.noise.needs[0].upper()}{plan.noise.needs[1:]}."),
        noise_figures.kernel(plan.noise, labels),
    ]  # fmt: skip
    example = summary.example
    if example is not None:
        made_up = [("made-up series", example[0]), ("its reports", example[1])]
        words = "What does this noise make of a series? A made-up one, drawn from the chain of the"
        blocks.append(noise_figures.stripes(f"{words} certificate", made_up, labels))
    return tuple(blocks)


def _how(summary: Summary) -> tuple[Block, ...]:
    counted, _ = wording.answerable(summary.certificate)
    return (
        Text("Do not count reports: the noise moves every share. Estimates "
             "undo the noise, and their intervals say how sure they are.") if counted else
        Text("Do not count reports: each mixes two points, and nothing undoes that without a "
             "model. Denoising takes one, and says how probable each state is at each point."),
        Code("On the command line, after pip install chainveil:", wording.commands(summary)),
        Code("In Python:", wording.python_lines(summary)),
        Text("Rows may be left out and columns joined, as long as no published value decides "
             "which."),
    )  # fmt: skip


def _checks(summary: Summary) -> tuple[Block, ...]:
    checks = summary.verification.checks
    number = Counter(check.status for check in checks)
    counted = [f"{number[name]} {STATUS[name]}" for name in ("holds", "fails", "open")]
    rows = [(STATUS[check.status], check.field, check.text) for check in checks]
    columns = (Column("result"), Column("what"), Column("finding", shown_text))
    return (
        Text(f"Everything a certificate claims is computed again from its own contents, and from "
             f"the release where that is at hand: {', '.join(counted)}."),
        Table("Checks of the certificate, one by one", columns, rows),
    )  # fmt: skip
