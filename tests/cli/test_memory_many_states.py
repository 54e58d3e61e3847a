"""Sticky reports of several states by the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.cli import run
from chainveil.noise import Channel, StickyNoise
from tests.table.test_memory_many_states import CHAIN, short_plan


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """400 people of three minutes, a plan for them, and a chain."""
    monkeypatch.chdir(tmp_path)
    series = CHAIN.sample(3, size=400, rng=1)
    lines = [
        f"{person},{minute},{state}"
        for person, states in enumerate(series)
        for minute, state in enumerate(states)
    ]
    (tmp_path / "levels.csv").write_text("person,minute,level\n" + "\n".join(lines) + "\n")
    (tmp_path / "plan.json").write_text(short_plan().certificate().to_json())
    return tmp_path


def facts(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


HOW = ["--column", "level", "--series", "person", "--time", "minute", "--states", "0,1,2,3"]


def test_from_a_plan_to_estimates_and_attacks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = facts(capsys, "sanitize", "levels.csv", *HOW, "--plan", "plan.json", "-o", "r.csv",
                 "--seed", "3")  # fmt: skip
    noise = made["contents"]["noise"]
    assert (noise["mechanism"], np.shape(noise["matrix"])) == ("sticky", (20, 4))
    assert run(["verify", "r.certificate.json", "r.csv"]) == 4  # holds, but the noise was seeded
    capsys.readouterr()
    shares = facts(capsys, "estimate", "r.csv", "frequency")["answers"]
    assert sum(answer["value"] for answer in shares) == pytest.approx(1.0)
    for answer in shares:
        true = np.mean(CHAIN.sample(3, size=400, rng=1) == int(answer["about"]))
        assert abs(answer["value"] - true) < 5 * answer["standard_error"]
    smooth = ["estimate", "r.csv", "denoise", "-o", "smooth.csv"]
    assert run(smooth) == 0
    assert len(Path("smooth.csv").read_text().splitlines()) == 1201
    capsys.readouterr()
    attacked = facts(capsys, "attack", "r.csv", "--original", "levels.csv")
    assert set(attacked["attackers"]) == {"single bit", "posterior", "Viterbi"}
    assert attacked["bound_beaten_by"] == []


def test_the_loss_of_a_sticky_response(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "levels.csv", *HOW, "--public", "-o", "chain.json"]) == 0
    capsys.readouterr()
    chain = cv.MarkovChain.fit(list(CHAIN.sample(3, size=400, rng=1)), public=True)
    asked = ["--repeat", "0.4", "--rho", "0.5", "--length", "3"]
    answer = Channel.randomized_response(4, 0.5)
    found = facts(capsys, "loss", "--chain", "chain.json", *asked)
    noise = StickyNoise.response(0.4, answer, answer)
    assert found["epsilon"] == cv.privacy_loss(chain, noise, length=3).epsilon
    found = facts(capsys, "loss", "--chain", "chain.json", *asked, "--first", "0.7")
    noise = StickyNoise.response(0.4, answer, Channel.randomized_response(4, 0.7))
    assert found["epsilon"] == cv.privacy_loss(chain, noise, length=3).epsilon
    found = facts(capsys, "loss", "--q", "0.1", "--r", "0.1", "--repeat", "0.4", "--rho", "0.3")
    two = Channel.binary(0.3, 0.3)
    noise = StickyNoise.response(0.4, two, two)
    expected = cv.privacy_loss(cv.MarkovChain.symmetric(0.1), noise).epsilon
    assert found["epsilon"] == expected


@pytest.mark.parametrize(
    "wrong",
    [
        ["--repeat", "0.4"],
        ["--repeat", "0.4", "--rho", "0.2", "--rho0", "0"],
        ["--repeat", "0.4", "--rho", "0.2", "--first", "0.1,0.2"],
        ["--repeat", "0.4", "--rho", "0.2", "--correlated"],
        ["--repeat", "1.4", "--rho", "0.2"],
    ],
)
def test_what_does_not_go_together(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["loss", "--q", "0.1", "--r", "0.1", *wrong]) == 2
    assert "repeat" in capsys.readouterr().err or "--first" in wrong
