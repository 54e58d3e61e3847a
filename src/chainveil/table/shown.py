"""A released table as a notebook shows it."""

from __future__ import annotations

from typing import Any

from chainveil import notebook
from chainveil.certificate import Certificate
from chainveil.privacy.rounding import exact, upper
from chainveil.table.read.frames import FrameSource

FIRST_ROWS = 5


def release_card(table: Any, certificate: Certificate) -> str:
    """What was released, under which promise, and its first rows."""
    study = certificate["randomness.source"] == "study"
    note = f"noise from {certificate['randomness.meaning']}" if study else ""
    title = f"release of {certificate['release.column']}: epsilon {_budget(certificate)}"
    return notebook.card(title, _lines(certificate), note, _first_rows(table))


def _budget(certificate: Certificate) -> str:
    return exact(certificate["promise.epsilon"])


def _lines(certificate: Certificate) -> list[tuple[str, str]]:
    rows, series = certificate["release.rows"], certificate["release.series"]
    return [
        ("rows", f"{rows:,} in {series:,} series"),
        *(line for label, part in certificate.groups.items() for line in _noise(part, label)),
        *([] if certificate.groups else _noise(certificate)),
        ("against", certificate["promise.adversary.meaning"]),
    ]


def _noise(certificate: Certificate, group: Any = None) -> list[tuple[str, str]]:
    """The noise and its loss; of one group, in one line."""
    noise = certificate["noise.mechanism"]
    loss = f"at most {upper(certificate['loss.epsilon'])}"
    return [("noise", noise), ("loss", loss)] if group is None else [
        (f"noise of {group}", f"{noise}, loss {loss}")
    ]  # fmt: skip


def _first_rows(table: Any) -> str:
    """Rows that are published anyway."""
    frame = FrameSource(table).frame
    return notebook.grid(frame.columns, frame.head(FIRST_ROWS).rows())


def about_release(certificate: Certificate, name: str = "") -> str:
    """A line under a title: the budget, the limits between states, and where it comes from."""
    edges = certificate["discretization.edges"] or []
    limits = ", ".join(f"{edge:g}" for edge in edges)
    parts = [f"ε = {_budget(certificate)}"]
    if edges:
        word = "threshold" if len(edges) == 1 else "limits"
        parts.append(f"{certificate['release.column']} {word} {limits}")
    return ", ".join([*parts, *([name] if name else [])])
