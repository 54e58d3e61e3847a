"""Tables in, tables out: files and data frames of any kind, and how values become states."""

from __future__ import annotations

from chainveil.table.estimating import compare_table, estimate_table
from chainveil.table.released.review import Review, review
from chainveil.table.released.summary import Summary, summarize
from chainveil.table.released.verification import verify
from chainveil.table.request.discretize import Discretizer, make_discretizer
from chainveil.table.sanitize import TableRelease, sanitize_table

__all__ = [
    "Discretizer",
    "Review",
    "Summary",
    "TableRelease",
    "compare_table",
    "estimate_table",
    "make_discretizer",
    "review",
    "sanitize_table",
    "summarize",
    "verify",
]
