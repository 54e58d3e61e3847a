"""What stands in the way of a run is told before it begins; what it leaves can be gone on from."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chainveil import InvalidInput
from experiments import records, report
from experiments import settings as stored
from experiments.command import run
from experiments.fig4 import figure
from experiments.parts import Place
from experiments.run import read_result
from tests.cli.program import experiments

pytest.importorskip("matplotlib")


@pytest.mark.slow
def test_results_of_another_size_stay(tmp_path: Path) -> None:
    out = tmp_path / "found"
    assert run(["theorem2", "--full", "--out", str(out)]) == 0
    before = (out / "theorem2" / "results.csv").read_bytes()
    done = experiments("fig1", "theorem2", "--out", out, folder=tmp_path, code=2)
    assert b"with the results of a full run; allowed: a folder without" in done.stderr
    assert (out / "theorem2" / "results.csv").read_bytes() == before
    assert not (out / "fig1").exists()


def test_a_page_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("my own\n")
    done = experiments("fig1", "--out", "notes", folder=tmp_path, code=2)
    assert b"notes.md is free for the page" in done.stderr
    assert (tmp_path / "notes.md").read_text() == "my own\n"
    assert not (tmp_path / "notes").exists()


@pytest.mark.slow
def test_the_folder_one_stands_in(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    experiments("theorem2", "--out", ".", folder=here)
    assert (tmp_path / "here.md").read_text(encoding="utf-8").startswith(report.TITLE)


def test_damaged_records_are_as_none(tmp_path: Path) -> None:
    (tmp_path / "fig1").mkdir()
    (tmp_path / "fig1" / "run.json").write_text("{")
    assert read_result("fig1", tmp_path) is None


@pytest.mark.slow
def test_devices_that_are_not_there(tmp_path: Path) -> None:
    done = experiments("fig1", "--device", "abacus", folder=tmp_path, code=2)
    assert b"abacus" in done.stderr
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    done = experiments("all", "--device", "cuda", folder=tmp_path, code=2)
    assert b"torch finds no CUDA device" in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_interrupt_says_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.command.run_experiment", stopped)
    assert run(["fig1", "--out", str(tmp_path / "out")]) == 130
    told = capsys.readouterr().err
    assert "interrupted; what was finished is kept" in told
    assert "nothing was written" not in told


def test_parts_know_the_data_they_were_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = stored.load("fig4", "quick") | {"records": ["N10"]}
    path = tmp_path / "N10"
    monkeypatch.setenv("CHAINVEIL_DATA", str(tmp_path))
    seen = []
    for rate in (60, 61):
        path.write_text(f"0 {rate}\n1 70\n2 {rate}\n")
        seen.append({part.name: part.settings for part in figure.parts(settings, Place(tmp_path))})
    first, second = seen
    assert first["known-synthetic"] == second["known-synthetic"]
    assert first["known-N10"] != second["known-N10"]


@pytest.mark.parametrize("text", ["", "1 2\n3\n", "seconds rate\n", "1\n2\n", "0 60\n1 nan\n"])
def test_records_that_cannot_be_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "N10").write_text(text)
    with pytest.raises(InvalidInput, match="CHAINVEIL_DATA"):
        records.read_record(tmp_path / "N10")


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_training_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped from outside and taken up, a network guesses what an undisturbed one guesses."""
    from experiments.fig4 import training
    from experiments.fig4.bits import Bits

    monkeypatch.setattr(training, "KEEP_EVERY", 0.0)
    rng = np.random.default_rng(1)
    truth = {"a": rng.integers(0, 2, 200).astype(np.uint8)}
    releases = {"a": np.stack([truth["a"] ^ (rng.random(200) < 0.1)]).astype(np.uint8)}
    about = {"seed": 1, "folds": 2, "lengths": {"a": 200}, "rows": [{"epsilon": 1.0}]}
    bits = Bits(about, truth, releases, {})
    network = {"window": 5, "embedding": 2, "hidden": 3, "learning_rate": 0.05, "batch": 16,
               "epochs": 4}  # fmt: skip
    models = training.all_models(["a"], [0], [0, 1])
    undisturbed = training.Run(bits, network, models, "cpu")
    undisturbed.learn(tmp_path / "none.pt", float("inf"), lambda text: None)

    def stop_in_the_third(text: str) -> None:
        if text.startswith("epoch 3"):
            raise KeyboardInterrupt

    kept = tmp_path / "kept.pt"
    with pytest.raises(KeyboardInterrupt):
        training.Run(bits, network, models, "cpu").learn(kept, float("inf"), stop_in_the_third)
    heard: list[str] = []
    again = training.Run(bits, network, models, "cpu")
    again.learn(kept, float("inf"), heard.append)
    assert [text[:7] for text in heard] == ["epoch 3", "epoch 4"]
    assert not list(tmp_path.glob("*.partial"))
    np.testing.assert_array_equal(again.guesses()["a"], undisturbed.guesses()["a"])


def test_only_networks_of_this_run_are_told(tmp_path: Path) -> None:
    place = Place(tmp_path, "quick")
    place.parts.mkdir(parents=True)
    (place.parts / "learned.json").write_text("{}")
    names = [*stored.load("fig4", "quick")["networks"], "of-another-day"]
    for name in names:
        kept = {"network": {}, "fingerprint": "x", "accuracies": []}
        (place.parts / f"lstm-{name}.json").write_text(json.dumps(kept))
    told = figure.about(place)["training"]
    assert list(told) == names[:-1]
    assert told[names[0]] == {"network": {}}
