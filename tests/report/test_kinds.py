"""Pages of every kind of release: what they cannot answer they say, and all have all sections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import chainveil as cv
from chainveil.certificate import Certificate
from chainveil.report.blocks import Figure, Table
from tests.report.releases import CHAIN, released, states

THREE = cv.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
KINDS: dict[str, dict[str, Any]] = {
    "independent": {"mechanism": "independent"},
    "tracking": {"mechanism": "tracking"},
    "correlated": {"mechanism": "correlated"},
    "rare": {"mechanism": "sticky", "every": 3},
    "gaps": {"mechanism": "sticky", "missing": "keep"},
    "events": {"mechanism": "independent", "unit": 2},
    "ignorant": {"mechanism": "independent", "adversary": "ignorant"},
    "known length": {"mechanism": "independent", "max_length": 300},
    "second release": {"mechanism": "independent", "earlier": [cv.Channel.binary(0.45, 0.45)]},
    "higher order": {
        "mechanism": "independent",
        "chain": cv.HigherOrderChain([[0.8, 0.2], [0.3, 0.7], [0.7, 0.3], [0.2, 0.8]], order=2),
    },
    "three states": {
        "mechanism": "independent", "chain": THREE, "threshold": [55.0, 65.0],
        "labels": ["low", "middle", "high"],
    },
    "private chain": {"mechanism": "independent", "chain": None},
}  # fmt: skip


def _table(kind: str) -> Any:
    held = states(3, 240)
    if kind == "three states":
        held = THREE.sample(240, 3, rng=1)
    rates = np.array([50.0, 60.0, 70.0] if kind == "three states" else [50.0, 70.0])[held]
    values = pa.array(rates.reshape(-1))
    if kind == "gaps":
        values = pa.array(rates.reshape(-1), mask=np.arange(720) % 50 == 7)
    return pa.table({"person": np.repeat(["a", "b", "c"], 240), "bpm": values})


def _blocks(page: Any, title: str) -> Any:
    (section,) = (section for section in page.sections if section.title == title)
    return section.blocks


# What each cannot answer: two points in one report, no two neighbours, too much noise.
REFUSED = {
    "tracking": {"share", "by series", "over time", "transitions", "sojourns"},
    "rare": {"transitions", "sojourns"},
    "second release": {"transitions", "sojourns"},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_every_kind(kind: str, tmp_path: Path) -> None:
    how = {"series": "person", "threshold": 60.0, "chain": CHAIN, **KINDS[kind]}
    made = released(tmp_path, _table(kind), pages=False, **how)
    summary = made.summary
    assert set(summary.refused) == REFUSED.get(kind, set())
    page = curated(made)
    assert len(page.sections) == 13
    assert "<script" in page.html()
    says = _blocks(page, "What the release says")
    # By series, and over time: a curve a state that says something of its own.
    drawn = {"tracking": 0, "three states": 4}.get(kind, 2)
    assert sum(isinstance(block, Figure) for block in says) == drawn
    shown = sum(isinstance(block, Table | Figure) for block in says)
    assert shown == len(summary.answers) + (2 if kind == "three states" else 0)
    noise = _blocks(page, "The noise")
    assert isinstance(noise[1], Figure)
    cases = len(noise[1].table.rows) / _size(made)
    assert np.isclose(sum(row[2] for row in noise[1].table.rows), cases)
    lost = _blocks(page, "What each series loses on its own chain")[-1]
    assert isinstance(lost, Figure)
    assert len(lost.table.rows) == 3
    assert isinstance(_blocks(page, "What attackers get")[0], Figure)
    assert isinstance(_blocks(page, "Whether the data follow the chain")[1], Table)


def curated(made: Any) -> Any:
    return cv.report.curator_page(made.certificate, made.release, made.original)


def _size(made: Any) -> int:
    return int(Certificate.read(made.certificate).plan().noise.outputs)


def test_a_column_that_gives_the_states_away_is_named(tmp_path: Path) -> None:
    table = _table("plain")
    copy = pa.array(np.where(table["bpm"].to_numpy() > 60, "up", "down"))
    table = table.append_column("mood", copy)
    made = released(tmp_path, table, pages=False, series="person", threshold=60.0,
                    mechanism="independent", keep=["mood"], allow_leak=["mood"])  # fmt: skip
    page = curated(made)
    warned, found, tested = _blocks(page, "What other published columns give away")
    assert warned.tone == "bad"
    assert "'mood'" in found.items[0]
    assert tested.text.endswith("mood.")
    # Whoever receives it is told that it was not tested.
    public = cv.report.release_page(made.certificate, made.release)
    assert "without a test" in _blocks(public, "In short")[0].text


def test_frames_have_pages_without_files(tmp_path: Path) -> None:
    """And their commands name files that are easy to replace."""
    done = cv.sanitize_table(
        _table("plain"), "bpm", epsilon=3, series="person", threshold=60.0, chain=CHAIN,
        mechanism="independent",
    )  # fmt: skip
    page = cv.report.release_page(done.certificate, done.table)
    lines = _blocks(page, "How to estimate from it")[1].lines
    assert "chainveil verify release.certificate.json release.parquet" in lines
    assert page.save(tmp_path / "a.html").is_file()


def test_lines_to_copy_are_quoted(tmp_path: Path) -> None:
    """A column whose name would be a command is none."""
    name = "a; rm -rf $HOME 'x'"
    table = _table("plain").rename_columns([name, "bpm"])
    done = cv.sanitize_table(table, "bpm", epsilon=3, series=name, threshold=60.0, chain=CHAIN,
                             mechanism="independent")  # fmt: skip
    page = cv.report.release_page(done.certificate, done.table)
    shell, python = _blocks(page, "How to estimate from it")[1:3]
    import ast
    import shlex

    assert shlex.split(shell.lines.splitlines()[1])[-2:] == ["--by", name]
    asked = ast.parse(python.lines).body[2]
    assert isinstance(asked, ast.Assign)
    assert isinstance(asked.value, ast.Call)
    assert ast.literal_eval(asked.value.keywords[0].value) == name
