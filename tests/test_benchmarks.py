"""The page of the benchmarks, without running them."""

from __future__ import annotations

import importlib.util
import platform
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as page
from benchmarks import peers


def test_the_page_names_no_host_and_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "run", lambda name: (0, f"| {name} |\n|---|"))
    assert page.main(["peers", "device", "-o", str(tmp_path / "results.md")]) == 0
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert re.search(r"- date: 20\d\d-\d\d-\d\d \d\d:\d\d UTC\n", text)
    assert "numpy 2" in text
    assert "| device |" in text
    assert not re.search(rf"\b{re.escape(platform.node())}\b", text)
    assert str(Path.home()) not in text
    assert str(Path.cwd()) not in text
    assert [path.name for path in tmp_path.iterdir()] == ["results.md"]


def test_pages_show_the_tables_of_the_last_run() -> None:
    """Those of the results that are kept; ``make bench`` writes them anew."""
    path = Path(__file__).resolve().parents[1] / "docs/tables/benchmarks.py"
    spec = importlib.util.spec_from_file_location("docs_tables_benchmarks", path)
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    for name, shown in tables.PAGES.items():
        text = shown.read_text(encoding="utf-8")
        assert tables.table(name).count("\n") > 4
        assert tables.table(name) in text, "run python docs/tables/benchmarks.py"
        assert tables.page(name, text) == text


def test_a_benchmark_that_fails_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "run", lambda name: (3, "half"))
    assert page.main(["peers", "-o", str(tmp_path / "results.md")]) == 1
    assert "failed with exit code 3" in (tmp_path / "results.md").read_text(encoding="utf-8")


def test_peers_that_are_missing_are_said_to_be() -> None:
    x = peers.CHAIN.sample(200, rng=1).astype(np.uint8)
    missing = peers.Method("another", "DP of a point", None, None, "not installed")
    assert peers.row(missing, x)[-1] == "not installed"


def test_what_other_methods_promise_is_held_against_what_they_lose() -> None:
    """Randomized response at 2 loses far more to who knows the chain."""
    x = peers.CHAIN.sample(2000, rng=1).astype(np.uint8)
    noise = peers.response(2.0)
    cells = peers.row(peers.Method("plain", "DP of a point", noise, peers._own(noise)), x)
    assert float(cells[3]) == pytest.approx(7.666, abs=0.001)
    assert next(method.name for method in peers.peers(2.0)).startswith("OpenDP")
