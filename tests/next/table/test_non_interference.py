"""Nothing but states, places and declared columns reaches a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chainveil.mechanism.randomness import seeded
from chainveil.next.table.release import sanitize
from chainveil.next.table.write import Goal, sanitize_to_file
from tests.next.table.tables import FILES, FRAMES, OUTPUTS, opened, request

pytestmark = pytest.mark.filterwarnings("ignore:the limits between states")
TEXT = st.text("abcdefgh 0123456789äß", min_size=1, max_size=6)
quick = settings(
    max_examples=6, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@st.composite
def layouts(draw: Any) -> dict[str, Any]:
    """Persons, their states, and public columns that have nothing to do with them."""
    persons = draw(st.integers(1, 4))
    names = draw(st.lists(TEXT.map(str.strip).filter(bool), min_size=persons, max_size=persons,
                          unique=True))  # fmt: skip
    names = [f"n{i}{name.replace(' ', '')}" for i, name in enumerate(names)]
    lengths = draw(st.lists(st.integers(1, 12), min_size=persons, max_size=persons))
    rows = sum(lengths)
    minutes = [minute for length in lengths for minute in range(length)]
    states = draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    ward = draw(st.lists(st.sampled_from(["north", "south", "west"]), min_size=rows, max_size=rows))
    age = draw(st.lists(st.integers(-5, 99), min_size=rows, max_size=rows))
    return {
        "person": [n for n, k in zip(names, lengths, strict=True) for _ in range(k)],
        "minute": minutes, "states": states, "ward": ward, "age": age,
    }  # fmt: skip


def made(layout: dict[str, Any], seed: int, states: Any = None) -> pl.DataFrame:
    """A table of a layout with private values, columns and an order that a seed chooses."""
    rng = np.random.default_rng(seed)
    states = np.array(layout["states"] if states is None else states)
    high, low = rng.integers(70, 200, len(states)), rng.integers(0, 70, len(states))
    frame = pl.DataFrame({
        f"private{seed}": rng.integers(0, 10**9, len(states)),
        "person": layout["person"], "minute": layout["minute"],
        "bpm": np.where(states == 1, high, low), "ward": layout["ward"], "age": layout["age"],
    })  # fmt: skip
    return frame[rng.permutation(len(frame))]


def published(frame: pl.DataFrame, kind: str, output: str, folder: Path, seed: int) -> Any:
    """The bytes of a release and its certificate, but for when it was made and its seal."""
    table = opened(frame, kind, folder, f"comment {seed}")
    asked = request(public=("ward", "age"), allow_leak=("ward", "age", "person"))
    goal = Goal(str(folder / output), force=True)
    sanitize_to_file(table, asked, goal, seeded(7))
    held = json.loads((folder / "r.certificate.json").read_text())
    held.pop("created"), held.pop("seal")
    return (folder / output).read_bytes(), held


@pytest.mark.parametrize("kind", [*FILES, *FRAMES])
@given(layout=layouts(), output=st.sampled_from(OUTPUTS))
@quick
def test_tables_of_equal_states_have_the_same_release(
    kind: str, output: str, layout: dict[str, Any], tmp_path: Path
) -> None:
    one = published(made(layout, 1), kind, output, tmp_path, 1)
    two = published(made(layout, 2), kind, output, tmp_path, 2)
    assert one == two


@given(layout=layouts(), data=st.data())
@quick
def test_other_states_change_the_reports_alone(
    layout: dict[str, Any], data: Any, tmp_path: Path
) -> None:
    rows = len(layout["states"])
    others = data.draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    asked = request(public=("ward", "age"), allow_leak=("ward", "age", "person"))
    tables = [made(layout, 1), made(layout, 2, others)]
    one, two = (sanitize(opened(frame, "polars", tmp_path), asked, seeded(7)) for frame in tables)
    assert one.frame.drop("bpm").equals(two.frame.drop("bpm"))
    held = [release.certificate.document["release"] for release in (one, two)]
    assert {name for name in held[0] if held[0][name] != held[1][name]} <= {"reports_sha256"}


def test_every_input_kind_gives_the_same_release(tmp_path: Path) -> None:
    """The values of files without types are texts: reports and places are the same."""
    layout = {"person": ["a"] * 6 + ["b"] * 4, "minute": [*range(6), *range(4)],
              "states": [0, 1, 1, 0, 0, 1, 1, 1, 0, 0], "ward": ["x", "y"] * 5,
              "age": list(range(10))}  # fmt: skip
    asked = request(public=("ward", "age"), allow_leak=("ward", "age", "person"))
    frames = [
        sanitize(opened(made(layout, 1), kind, tmp_path), asked, seeded(7)).frame
        for kind in (*FILES, *FRAMES)
    ]
    for frame in frames:
        assert frame.select("series", "position", "bpm").equals(
            frames[0].select("series", "position", "bpm")
        )
        assert frame.get_column("ward").to_list() == frames[0].get_column("ward").to_list()


def test_bytes_under_nulls_change_nothing(tmp_path: Path) -> None:
    import pyarrow as pa

    def table(hidden: int) -> pl.DataFrame:
        age = pa.Array.from_buffers(
            pa.int64(), 4, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([1, hidden, 3, hidden]))]
        )
        held = {"bpm": [50, 80, 90, 60], "minute": [0, 1, 2, 3], "age": age}
        return pl.DataFrame(pa.table(held))

    asked = request(series=None, public=("age",), allow_leak=("age",))
    found = []
    for hidden in (123456789, 987654321):
        goal = Goal(str(tmp_path / "r.arrow"), force=True)
        sanitize_to_file(opened(table(hidden), "polars", tmp_path), asked, goal,
                         seeded(1))  # fmt: skip
        found.append((tmp_path / "r.arrow").read_bytes())
    assert found[0] == found[1]
