"""Tables in, tables out: files and data frames of any kind, and how values become states."""

from __future__ import annotations

from chainveil.table.released.verification import verify
from chainveil.table.request.discretize import Discretizer, make_discretizer
from chainveil.table.sanitize import TableRelease, sanitize_table

__all__ = ["Discretizer", "TableRelease", "make_discretizer", "sanitize_table", "verify"]
