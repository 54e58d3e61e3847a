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
        ("noise", certificate["noise.mechanism"]),
        ("loss", f"at most {upper(certificate['loss.epsilon'])}"),
        ("against", certificate["promise.adversary.meaning"]),
    ]


def _first_rows(table: Any) -> str:
    """Rows that are published anyway."""
    frame = FrameSource(table).frame
    return notebook.grid(frame.columns, frame.head(FIRST_ROWS).rows())
