"""Noise on series: the only room of chainveil that draws it."""

from __future__ import annotations

from chainveil.mechanism.packed import release_packed, sanitize_packed
from chainveil.mechanism.randomness import (
    Secure,
    Seeded,
    Source,
    secure,
    seeded,
    series_number,
)
from chainveil.mechanism.reading import check_length
from chainveil.mechanism.release import Release, Report
from chainveil.mechanism.reported import Reported, reports
from chainveil.mechanism.rows import RowNoise, Rows
from chainveil.mechanism.samplers import register_sampler
from chainveil.mechanism.sanitizing import release, sanitize
from chainveil.mechanism.stream import Stream

__all__ = [
    "Release",
    "Report",
    "Reported",
    "RowNoise",
    "Rows",
    "Secure",
    "Seeded",
    "Source",
    "Stream",
    "check_length",
    "register_sampler",
    "release",
    "release_packed",
    "reports",
    "sanitize",
    "sanitize_packed",
    "secure",
    "seeded",
    "series_number",
]
