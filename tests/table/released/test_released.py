"""A release as an analyst reads it back: gaps as the certificate counts them, named groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chainveil as cv
from chainveil import InvalidInput
from chainveil.table.files import certificate_path
from chainveil.table.released.states import Reading, read_released

# Two series; the second pauses for five steps.
WHO = ["a"] * 6 + ["b"] * 6
WHEN = [0, 1, 2, 3, 4, 5, 0, 1, 2, 7, 8, 9]

# Twelve rows are enough to read, and too few to test what their times say.
pytestmark = pytest.mark.filterwarnings("ignore:12 rows are too few to test")


def released(folder: Path, mechanism: Any, max_gap: float | None, when: Any = WHEN) -> Path:
    table = pa.table({"who": WHO, "when": when, "x": [0, 1] * 6})
    gaps: Any = {} if max_gap is None else {"step": 1, "max_gap": max_gap}
    found = cv.sanitize_table(table, "x", epsilon=3, chain=cv.MarkovChain.binary(0.2, 0.3),
                              mechanism=mechanism, series="who", time="when", keep_time=True,
                              **gaps)  # fmt: skip
    path = folder / "release.parquet"
    pq.write_table(found.table, path)
    certificate_path(path).write_text(found.certificate.to_json(), "utf-8")
    return path


def read(path: Path, **how: Any) -> Any:
    return read_released(path, certificate_path(path), Reading(**how))


def test_gaps_of_independent_noise_that_are_not_found_are_told(tmp_path: Path) -> None:
    path = released(tmp_path, "independent", 1)
    assert read(path).splits == 1
    assert read(path, time="when", max_gap=10).splits == 1
    found = read(path, time="when", max_gap=1)
    assert found.splits == 0
    assert found.series == ("a", "b, run 0", "b, run 1")
    assert read(path, time="when", max_gap=1, step=1).series == ("a", "b")


def test_correlated_noise_wants_the_gaps_it_was_drawn_over(tmp_path: Path) -> None:
    path = released(tmp_path, "correlated", 1)
    every: list[dict[str, Any]] = [{}, {"time": "when", "max_gap": 10}]
    for how in [*every, {"time": "when", "max_gap": 0.5}]:
        with pytest.raises(InvalidInput, match="certificate counts 1, the time line has"):
            read(path, **how)
    assert [len(part) for part in read(path, time="when", max_gap=1, step=1).states] == [6, 10]


def test_correlated_noise_drawn_row_by_row_knows_no_gaps(tmp_path: Path) -> None:
    path = released(tmp_path, "correlated", None)
    assert [len(part) for part in read(path).states] == [6, 6]
    with pytest.raises(InvalidInput, match="certificate counts 0, the time line has 1"):
        read(path, time="when", max_gap=1, step=1)
