"""Correlated noise and gaps, from the table to estimates, by the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chainveil.cli import demo, run

HOW = ["--column", "bpm", "--series", "person", "--time", "minute", "--threshold", "60",
       "--labels", "low,high", "--epsilon", "4", "--q", "0.0893", "--r", "0.1092",
       "--seed", "5"]  # fmt: skip
CORRELATED = ["--mechanism", "correlated"]
ROWS = 6000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of four people, here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "SERIES", 4)
    demo.write_sample(tmp_path / "heart.csv")
    lines = (tmp_path / "heart.csv").read_text().splitlines()
    for row in range(50, ROWS, 50):
        lines[row] = lines[row].rsplit(",", 1)[0] + ","
    (tmp_path / "holes.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_release_with_correlated_noise(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sanitize", "heart.csv", *HOW, *CORRELATED, "-o", "chained.csv"]) == 0
    assert run(["verify", "chained.certificate.json", "chained.csv"]) == 4
    capsys.readouterr()
    facts = _json(capsys, "attack", "chained.csv", "--original", "heart.csv")
    rates = {name: score["right"] for name, score in facts["attackers"].items()}
    assert rates["single bit"] < rates["posterior"] < facts["bound"]
    found = _json(capsys, "estimate", "chained.csv", "frequency")
    lines = (folder / "heart.csv").read_text().splitlines()[1:]
    truth = sum(float(line.rsplit(",", 1)[1]) >= 60 for line in lines) / ROWS
    low, high = found["answers"][1]["low"], found["answers"][1]["high"]
    # Seeded: a correct program misses this for one seed in twenty, always or never.
    assert low < truth < high


def test_a_plan_says_what_noise_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noise = ["--epsilon", "4", "--q", "0.0893", "--r", "0.1092", *CORRELATED]
    assert run(["calibrate", *noise, "-o", "plan.json"]) == 0
    by_plan = ["sanitize", "heart.csv", *HOW[:10], "--plan", "plan.json", "-o", "out.csv"]
    assert run([*by_plan, *CORRELATED]) == 2
    assert "--mechanism" in capsys.readouterr().err
    assert run([*by_plan, "--seed", "5"]) == 0
    certificate = json.loads(Path("out.certificate.json").read_text())
    assert certificate["noise"]["mechanism"] == "correlated"


def test_gaps_are_kept_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sanitize", "holes.csv", *HOW, "-o", "kept.csv"]) == 2
    told = capsys.readouterr().err
    assert "a missing value" in told
    assert "row 50" in told
    assert run(["sanitize", "holes.csv", *HOW, "--missing", "keep", "-o", "kept.csv"]) == 0
    assert "119 rows have no value" in capsys.readouterr().err
    assert run(["verify", "kept.certificate.json", "kept.csv"]) == 4
    capsys.readouterr()
    facts = _json(capsys, "attack", "kept.csv", "--original", "holes.csv")
    assert {score["guesses"] for score in facts["attackers"].values()} == {ROWS - 119}
    assert facts["attackers"]["posterior"]["right"] > facts["attackers"]["single bit"]["right"]
    found = _json(capsys, "estimate", "kept.csv", "transitions")
    # Seeded, and three standard errors: a correct program misses this for one seed in 370.
    answer = found["answers"][1]
    assert abs(answer["value"] - demo.Q) < 3 * answer["standard_error"] + 0.01
    assert run(["estimate", "kept.csv", "denoise", "-o", "denoised.csv"]) == 0
    answers = Path("denoised.csv").read_text().splitlines()
    assert len(answers) == ROWS + 1
    assert answers[50] == ",,"
    for more in (["--covers", "sampling"], ["--window", "100"]):
        assert run(["estimate", "kept.csv", "frequency", *more]) == 0


def test_gaps_beneath_correlated_noise(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = [*HOW, *CORRELATED, "--missing", "keep", "-o", "both.csv"]
    assert run(["sanitize", "holes.csv", *how]) == 0
    capsys.readouterr()
    facts = _json(capsys, "attack", "both.csv", "--original", "holes.csv")
    assert facts["attackers"]["posterior"]["right"] > facts["attackers"]["single bit"]["right"]
    found = _json(capsys, "estimate", "both.csv", "transitions")
    # The noise is secure: five standard errors, which a correct program misses once in 1.7 million.
    answer = found["answers"][1]
    assert abs(answer["value"] - demo.Q) < 5 * answer["standard_error"] + 0.01


def test_rows_that_are_no_neighbours(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("heart.csv").read_text().splitlines()
    Path("holes.csv").write_text("\n".join(lines[:200] + lines[300:]) + "\n")
    split = ["--step", "1", "--max-gap", "1"]
    assert run(["sanitize", "holes.csv", *HOW, *split, "--keep-time", "-o", "split.csv"]) == 0
    assert run(["estimate", "split.csv", "frequency"]) == 0
    assert "neighbouring" not in capsys.readouterr().err
    assert run(["estimate", "split.csv", "transitions"]) == 0
    assert "1 neighbouring rows are no neighbouring points" in capsys.readouterr().err
    positions = [*CORRELATED, "--time-as", "index"]
    assert run(["sanitize", "holes.csv", *HOW, *split, *positions, "-o", "run.csv"]) == 0
    assert run(["estimate", "run.csv", "frequency"]) == 2
    assert "max_gap" in capsys.readouterr().err
    for release in ("split.csv", "run.csv"):
        assert run(["estimate", release, "transitions", "--time", "minute", *split]) == 0
        assert "neighbouring" not in capsys.readouterr().err
