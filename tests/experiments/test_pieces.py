"""Missing data, records, settings, and the results that are committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import records, report
from experiments import settings as stored
from experiments.command import run
from experiments.fig4 import bits as packed
from experiments.fig4 import figure, series
from experiments.parts import Place
from experiments.run import HOMES, csv_to_rows, read_result, rows_to_csv
from tests.experiments.recorded import check_rows

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.slow
def test_without_records_the_synthetic_part_still_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(records, "find_record", lambda name: None)
    monkeypatch.setattr(figure, "find_spec", lambda name: None)
    assert run(["fig4", "--quick", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err
    assert "heart rate N10: no file; fetch it with `chainveil data fetch meditation/N10`" in said
    assert "torch is not installed" in said
    result = read_result("fig4", tmp_path / "out")
    assert result is not None
    assert {row["series"] for row in result.rows} == {"synthetic"}
    assert len(result.record["missing"]) == 3
    assert "Missing in this run: heart rate N5" in (tmp_path / "out.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fig1", "correlated", "theorem2"])
def test_a_quick_run_gives_the_recorded_rows(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run([name, "--quick", "--out", str(tmp_path / "out")]) == 0
    result = read_result(name, tmp_path / "out")
    assert result is not None
    check_rows(name, result.rows)


def test_records_are_found_in_the_folder_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "physionet-meditation"
    folder.mkdir()
    (folder / "N10").write_text("1.0 50\n2.0   60.5\n3.5\t70\n")
    monkeypatch.setenv("CHAINVEIL_DATA", str(tmp_path))
    path = records.find_record("N10")
    assert path == folder / "N10"
    # The mean is 60.17: at or above it is 1.
    assert records.read_record(folder / "N10").tolist() == [0, 1, 1]


def test_records_are_found_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)
    assert records._fetched("N7") is None
    (tmp_path / "chainveil").mkdir()
    (tmp_path / "chainveil" / "0f3a-N7").write_text("1 50\n")
    assert records._fetched("N7") == tmp_path / "chainveil" / "0f3a-N7"


def test_the_example_in_the_help_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert run(["-h"]) == 0
    example = capsys.readouterr().out.split("Example:")[1].strip().splitlines()[0].split()
    assert example[:3] == ["python", "-m", "experiments"]
    assert run(example[3:]) == 0
    assert {path.name for path in (tmp_path / "reproduction").iterdir()} == set(example[3:])


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fig9"]) == 2
    assert "fig9" in capsys.readouterr().err


# These two search for noise before they know their parts.
SEARCHING = ("memory", "limit")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in SEARCHING else n for n in HOMES],
)
@pytest.mark.parametrize("size", ["quick", "full"])
def test_settings_give_parts_with_names_of_their_own(name: str, size: str, tmp_path: Path) -> None:
    from experiments.run import find_experiment

    settings = stored.load(name, size)
    parts = find_experiment(name).parts(settings, Place(tmp_path))
    assert parts
    assert len({part.name for part in parts}) == len(parts)


def test_rows_survive_csv() -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": 0.1, "c": "x, y"}, {"a": 2, "d": True}]
    assert csv_to_rows(rows_to_csv(rows)) == rows


def test_bits_survive_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = {"one": rng.integers(0, 2, 13, dtype=np.uint8)}
    releases = {"one": rng.integers(0, 2, (3, 13), dtype=np.uint8)}
    about = {"lengths": {"one": 13}, "rows": [{"epsilon": 1.0, "noise": "any"}] * 3}
    viterbi = {"one": rng.integers(0, 2, (3, 13), dtype=np.uint8)}
    packed.save_bits(tmp_path / "bits.npz", packed.Bits(about, truth, releases, viterbi))
    found = packed.load_bits(tmp_path / "bits.npz")
    assert found.about == about
    np.testing.assert_array_equal(found.truth["one"], truth["one"])
    np.testing.assert_array_equal(found.releases["one"], releases["one"])
    np.testing.assert_array_equal(found.viterbi["one"], viterbi["one"])


def test_bits_without_what_viterbi_says(tmp_path: Path) -> None:
    truth = {"one": np.zeros(9, dtype=np.uint8)}
    about = {"lengths": {"one": 9}, "rows": [{"epsilon": 1.0, "noise": "any"}]}
    releases = {"one": np.ones((1, 9), dtype=np.uint8)}
    packed.save_bits(tmp_path / "bits.npz", packed.Bits(about, truth, releases, {}))
    assert packed.load_bits(tmp_path / "bits.npz").viterbi == {}


@pytest.mark.slow
def test_training_needs_only_numpy_and_torch() -> None:
    import subprocess
    import sys

    pytest.importorskip("torch")
    absent = ("numba", "flint", "cryptography", "rich", "scipy", "click", "matplotlib", "pooch")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent!r}));"
        "import experiments.fig4.training as t; print(t.main.__doc__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "series.npz" in done.stdout


def test_training_goes_on_after_its_time_ran_out(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from experiments.fig4 import training

    settings = stored.load("fig4", "quick")
    network = settings["networks"]["small"] | {"window": 6, "hidden": 2, "epochs": 2}
    settings |= {
        "synthetic": {"q": 0.1, "r": 0.2, "n": 300},
        "budgets": [4.0],
        "networks": {"small": network},
        "candidates": {"a": network, "b": network | {"hidden": 3}},
        "choice": {"budgets": [4.0], "noise": "any"},
    }
    guesses = []
    for folder, seconds in ((tmp_path / "whole", None), (tmp_path / "pieces", 0.0)):
        folder.mkdir()
        series.write_bits(folder / "series.npz", [series.synthetic_series(settings)], settings)
        lines: list[str] = []
        rounds = 0
        while not training.train_all(folder, "cpu", seconds, lines.append):
            rounds += 1
        assert (rounds > 3) == (seconds is not None)
        with np.load(folder / "lstm-chosen-synthetic.npz") as found:
            guesses.append(found["synthetic"])
        assert not list(folder.glob("*.pt"))
    np.testing.assert_array_equal(*guesses)


def test_committed_page_follows_from_committed_results() -> None:
    """Nothing is edited by hand: the page is what the results say, at the present settings."""
    found = [read_result(name, DOCS / "reproduction") for name in HOMES]
    results = [result for result in found if result is not None]
    assert [result.name for result in results] == list(HOMES)
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    assert report.page(results, "reproduction") == page
    for result in results:
        assert result.record["size"] == "full"
        assert result.record["settings"] == stored.load(result.name, "full")
        assert not result.record["missing"]


def test_committed_networks_pass_the_check_on_the_synthetic_chain() -> None:
    """Two points: taught by Viterbi beside Viterbi, told the states beside the best attacker."""
    result = read_result("fig4", DOCS / "reproduction")
    assert result is not None
    # All on the release that the networks saw.
    found = {
        (row["attacker"], row["noise"], row["epsilon"]): row["first"]
        for row in result.rows
        if row["series"] == "synthetic" and 2 <= row["epsilon"] <= 4
    }
    settings = {key[1:] for key in found}
    assert len(settings) == 10
    for setting in settings:
        assert abs(found["lstm-taught", *setting] - found["viterbi", *setting]) < 0.02
        assert abs(found["lstm-chosen", *setting] - found["posterior", *setting]) < 0.02
        assert found["lstm-chosen", *setting] > found["viterbi", *setting] - 0.02
