"""Releases for pages to be about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import chainveil as cv
from chainveil.certificate import Certificate
from chainveil.mechanism import seeded
from chainveil.table import Summary

CHAIN = cv.MarkovChain.binary(q=0.1, r=0.15)
# Values that are in the original alone, and in every row of it.
SENTINELS = ("41.70922", "88.31457", "sentinel-diagnosis")
PEOPLE, POINTS = 6, 240


@dataclass(frozen=True)
class Made:
    """A folder with a release, an original beside it, and the pages of both."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "release.certificate.json"

    @property
    def release(self) -> Path:
        return self.folder / "release.parquet"

    @property
    def original(self) -> Path:
        return self.folder / "heart.parquet"

    @property
    def public(self) -> Path:
        return self.folder / "release.report.html"

    @property
    def private(self) -> Path:
        return self.folder / "private" / "curator.html"

    @property
    def document(self) -> Certificate:
        return Certificate.read(self.certificate)

    @property
    def summary(self) -> Summary:
        from chainveil.table import summarize

        return summarize(self.certificate, self.release)


def states(series: int, points: int, seed: int = 1) -> Any:
    return CHAIN.sample(points, series, rng=seed)


def heart_rates(folder: Path, **how: Any) -> Made:
    """Six people for whom only two heart rates were ever measured, each told by its digits."""
    held = states(PEOPLE, POINTS)
    low, high, diagnosis = SENTINELS
    names = np.repeat([f"person {n}" for n in range(PEOPLE)], POINTS)
    table = pa.table({
        "person": names,
        "minute": np.tile(np.arange(POINTS), PEOPLE),
        "bpm": np.where(held.reshape(-1) == 1, float(high), float(low)),
        "diagnosis": np.repeat(diagnosis, PEOPLE * POINTS),
    })  # fmt: skip
    return released(folder, table, **how)


def released(folder: Path, table: Any, pages: bool = True, **how: Any) -> Made:
    """A table, its release, and the pages of both."""
    usual = {"series": "person", "time": "minute", "threshold": 60.0, "labels": ["low", "high"],
             "time_as": "index", "chain": CHAIN, "mechanism": "sticky"}  # fmt: skip
    if "minute" not in table.column_names:
        usual = {name: value for name, value in usual.items() if "time" not in name}
    made = Made(folder)
    parquet.write_table(table, made.original)
    done = cv.sanitize_table(table, "bpm", epsilon=3.0, rng=seeded(3), **{**usual, **how})
    parquet.write_table(done.table, made.release)
    # The certificate of a frame names no file; that is not what these tests are about.
    made.certificate.write_text(done.certificate.to_json(), encoding="utf-8")
    if pages:
        made.private.parent.mkdir()
        cv.report.release_page(made.certificate, made.release).save(made.public)
        cv.report.curator_page(made.certificate, made.release, made.original).save(made.private)
    return made
