"""A release beside its original: states by series, for attackers and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil.certificate import Certificate
from chainveil.errors import InvalidInput
from chainveil.table.released.facts import discretizer_of
from chainveil.table.released.grouping import cut, read_columns, series_order
from chainveil.table.request.request import Readable, one_column


@dataclass(frozen=True)
class Compared:
    """What was and what was published.

    Attributes
    ----------
    truth, seen : arrays, or lists of arrays, one a series
        States and reports. At a gap the state is 0 and the report is masked.
    known : array, or list of arrays, or None
        0 at a gap, which needs no guess, and -1 elsewhere; None where there is no gap.
    """

    truth: Any
    seen: Any
    known: Any


def compare(document: Certificate, original: Readable, release: Readable) -> Compared:
    """Read a release and its original with what the certificate says of them."""
    discretizer = discretizer_of(document)
    column, series = document["release.column"], document["release.series_column"]
    names = [column] if series is None else [column, series]
    private, public = (read_columns(table, names) for table in (original, release))
    if private.num_rows != public.num_rows:
        raise InvalidInput(
            "original", f"{private.num_rows} rows", f"{public.num_rows}, as the release has"
        )
    order, ends = series_order(private, series)
    truth = discretizer.codes(one_column(private, column), column)
    seen = discretizer.read_back(one_column(public, column), column)
    if discretizer.missing == "error":
        return Compared(cut(truth, order, ends), cut(seen, order, ends), None)
    gaps = discretizer.gaps(seen)
    if np.any(gaps != discretizer.gaps(truth)):
        raise InvalidInput("original", "gaps at other rows", "gaps where the release has them")
    reports = cut(np.where(gaps, 0, seen), order, ends)
    truth, known, gaps = (
        cut(part, order, ends) for part in (np.where(gaps, 0, truth), np.where(gaps, 0, -1), gaps)
    )
    return Compared(truth, _masked(reports, gaps), known)


def _masked(reports: Any, gaps: Any) -> Any:
    if isinstance(reports, list):
        return [_masked(*pair) for pair in zip(reports, gaps, strict=True)]
    return np.ma.MaskedArray(reports, mask=gaps)
