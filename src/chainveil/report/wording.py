"""What states, series and files are called on a page, from the certificate alone."""

from __future__ import annotations

import shlex
from itertools import pairwise
from typing import Any

from chainveil.certificate import Certificate
from chainveil.noise.base import noise_class


def states(certificate: Certificate) -> list[str]:
    """Each state in words: its label, and the values that it stands for."""
    labels, edges = (certificate[f"discretization.{part}"] for part in ("labels", "edges"))
    if not edges:
        return [str(label) for label in labels]
    reach = [f"below {edges[0]:.12g}"]
    reach += [f"{low:.12g} to below {high:.12g}" for low, high in pairwise(edges)]
    reach += [f"{edges[-1]:.12g} or above"]
    return [f"{label} ({words})" for label, words in zip(labels, reach, strict=True)]


def share_of(certificate: Certificate) -> str:
    """What a share is a share of: of two states the second, which tells the first."""
    column, named = certificate["release.column"], states(certificate)
    return f"{column} is {named[1]}" if len(named) == 2 else f"{column} is in each state"


def questions(summary: Any) -> dict[str, str]:
    """The title of each answer: the question that it answers, with the level of its intervals."""
    certificate = summary.certificate
    about, column = share_of(certificate), certificate["release.column"]
    series = certificate["release.series_column"]
    sure = f"{100 * summary.level:.10g}% intervals"
    return {
        "share": f"Share of all points at which {about}, {sure}",
        "by series": f"Share of points at which {about}, by {series}, {sure}",
        "over time": f"Share of points at which {about}, over time, all series together, {sure}",
        "transitions": f"How probable is each next state of {column}? {sure}",
        "sojourns": f"How long does {column} stay in a state? Mean number of points, {sure}",
    }


def files(summary: Any) -> tuple[str, str]:
    """Names of certificate and release to write into commands."""
    certificate, release = summary.files
    form = summary.certificate["release.file.format"] or "parquet"
    return certificate or "release.certificate.json", release or f"release.{form}"


def commands(summary: Any) -> str:
    """What to type to check the release and to ask it."""
    certificate, release = (shlex.quote(name) for name in files(summary))
    series = summary.certificate["release.series_column"]
    by = "" if series is None else f" --by {shlex.quote(series)}"
    counted, neighbours = answerable(summary.certificate)
    lines = [f"chainveil verify {certificate} {release}"]
    lines += [f"chainveil estimate {release} frequency{by}"] * counted
    lines += [f"chainveil estimate {release} durations"] * (counted and neighbours)
    if not counted and summary.certificate.plan().family is None:
        lines.append(f"chainveil estimate {release} denoise -o states.csv")
    return "\n".join(lines)


def python_lines(summary: Any) -> str:
    """The same in Python."""
    certificate, release = (repr(name) for name in files(summary))
    series = summary.certificate["release.series_column"]
    by = "" if series is None else f", by={series!r}"
    counted, neighbours = answerable(summary.certificate)
    ask = f"cv.estimate_table({release}, {certificate}"
    lines = ["import chainveil as cv", "", f"print(cv.verify({certificate}, {release}))"]
    lines += [f"shares = {ask}, 'share'{by})"] * counted
    lines += [f"lasting = {ask}, 'sojourns')"] * (counted and neighbours)
    return "\n".join(lines)


def answerable(certificate: Certificate) -> tuple[bool, bool]:
    """Whether reports can be counted, and whether neighbours report."""
    kind = noise_class(certificate["noise.mechanism"])
    # Reports that mix two points cannot be counted: they can be denoised, with a model.
    mixed = kind.sees == "series" and kind.holds
    return not mixed, certificate["noise.every"] == 1
