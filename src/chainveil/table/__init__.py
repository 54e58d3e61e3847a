"""Tables in, tables out: files and data frames of any kind, and how values become states."""

from __future__ import annotations

from chainveil.table.discretize import Discretizer, make_discretizer
from chainveil.table.sanitize import TableRelease, sanitize_table
from chainveil.table.verification import verify

__all__ = ["Discretizer", "TableRelease", "make_discretizer", "sanitize_table", "verify"]
