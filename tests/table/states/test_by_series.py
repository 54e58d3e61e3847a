"""States of a table by series: mixed rows, gaps, splits, batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import chainveil as cv
from chainveil.attack import series_check
from chainveil.table.read.frames import FrameSource
from chainveil.table.read.reading import open_source
from chainveil.table.request.discretize import GAP, make_discretizer
from chainveil.table.request.request import Layout
from chainveil.table.series_check import check_table, to_csv
from chainveil.table.states.by_series import read_states

STATES = make_discretizer(states=[0, 1])


def test_mixed_rows_are_laid_out_by_series() -> None:
    """Rows in any order of series, as single rows and as blocks."""
    rng = np.random.default_rng(1)
    who, x = rng.integers(0, 4, 500), rng.integers(0, 2, 500)
    table = FrameSource(pa.table({"who": pa.array([f"p{i}" for i in who]), "x": x}))
    held = read_states(table, Layout("x", "who"), STATES)
    assert sorted(held.names) == ["p0", "p1", "p2", "p3"]
    for number, name in enumerate(held.names):
        begin, end = held.sequences.offsets[number : number + 2]
        assert held.sequences.flat[begin:end].tolist() == x[who == int(name[1:])].tolist()


def test_splits_and_missing_values_are_gaps() -> None:
    time = [0, 1, 2, 9, 10, 0, 1, 2, 3]
    who = ["b"] * 5 + ["a"] * 4
    x = [0, 1, 1, 0, 1, 1, None, 0, 0]
    table = FrameSource(pa.table({"who": who, "t": time, "x": pa.array(x, pa.int64())}))
    layout = Layout("x", "who", "t", max_gap=3)
    held = read_states(table, layout, STATES.keeping("keep"))
    assert held.sequences.flat.tolist() == [0, 1, 1, GAP, 0, 1, 1, GAP, 0, 0]
    assert held.sequences.offsets.tolist() == [0, 6, 10]
    pieces, owners = held.stretches()
    assert [piece.tolist() for piece in pieces] == [[0, 1, 1], [0, 1], [1], [0, 0]]
    assert owners == [0, 0, 1, 1]


def test_splits_of_mixed_series_stay_with_their_series() -> None:
    table = FrameSource(pa.table({
        "who": ["a", "b", "a", "b", "a", "b"], "t": [0, 0, 1, 9, 20, 10], "x": [0, 1, 0, 1, 1, 0],
    }))  # fmt: skip
    held = read_states(table, Layout("x", "who", "t", max_gap=5), STATES)
    assert held.sequences.flat.tolist() == [0, 0, GAP, 1, 1, GAP, 1, 0]
    assert held.sequences.offsets.tolist() == [0, 4, 8]


def test_a_file_in_batches_is_checked_as_its_series_are(tmp_path: Path) -> None:
    x = np.concatenate([cv.MarkovChain.binary(q, 0.2).sample(400, rng=3) for q in (0.03, 0.1, 0.3)])
    lines = ["who,x", *(f"{i // 400},{v}" for i, v in enumerate(x))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    plan = cv.calibrate(cv.MarkovChain.fit(x.reshape(3, 400), public=True), 1.0)
    found = check_table(open_source(tmp_path / "t.csv"), Layout("x", "who"), STATES, plan)
    direct = series_check(x.reshape(3, 400), plan)
    np.testing.assert_array_equal(found.loss, direct.loss)
    assert [str(name) for name in found.names] == ["0", "1", "2"]
    written = to_csv(found).decode().splitlines()
    assert written[0].startswith("series,points,order,loss,p_value,above,q,r,drift_p_value")
    assert len(written) == 4


def test_nothing_is_said_of_an_empty_table() -> None:
    table = FrameSource(pa.table({"x": pa.array([], pa.int64())}))
    with pytest.raises(cv.InvalidInput, match="no rows"):
        read_states(table, Layout("x"), STATES)
