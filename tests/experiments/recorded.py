"""Rows of quick runs as they were before the experiments left the package, and a comparison.

Those of heart rates and networks are left out: not every machine has the data, and no two kinds
of machine train a network to the same last digit. So are those of kernels that a search finds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.parts import Row
from experiments.run import csv_to_rows

HERE = Path(__file__).parent / "quick_results"


def check_rows(name: str, rows: list[Row]) -> None:
    """Error unless an experiment's rows are the recorded ones, but for the last digits."""
    kept = csv_to_rows((HERE / f"{name}.csv").read_text("utf-8"))
    own = [row for row in rows if _recorded(row)]
    assert len(own) == len(kept)
    for found, expected in zip(own, kept, strict=True):
        assert list(found) == list(expected)
        for column, value in expected.items():
            close = pytest.approx(value, rel=1e-9, abs=1e-12) if type(value) is float else value
            assert found[column] == close, (name, column)


def _recorded(row: Row) -> bool:
    series, attacker = row.get("series", "synthetic"), str(row.get("attacker", ""))
    mechanism = str(row.get("mechanism", "independent"))
    searched = not mechanism.startswith(("independent", "correlated", "limit"))
    return series == "synthetic" and not attacker.startswith("lstm") and not searched
