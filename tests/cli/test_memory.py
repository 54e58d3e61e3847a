"""Sticky, tracking and rare reports by the commands, and what is usual where nothing is named."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chainveil as cv
from chainveil.cli import run
from tests.cli.program import called

CHAIN = ["--q", "0.1", "--r", "0.2"]
HOW = ["--column", "bpm", "--series", "person", "--threshold", "60", "--epsilon", "2", *CHAIN,
       "--seed", "3"]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three people of 200 minutes, one value missing in the second table."""
    monkeypatch.chdir(tmp_path)
    chain = cv.MarkovChain.binary(0.1, 0.2)
    lines = [
        f"{person},{minute},{55 + 10 * state}"
        for person in "abc"
        for minute, state in enumerate(chain.sample(200, rng=ord(person)))
    ]
    (tmp_path / "heart.csv").write_text("person,minute,bpm\n" + "\n".join(lines) + "\n")
    lines[7] = "a,7,"
    (tmp_path / "holes.csv").write_text("person,minute,bpm\n" + "\n".join(lines) + "\n")
    return tmp_path


def facts(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_calibrate_says_who_makes_reports_and_what_else_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = facts(capsys, "calibrate", "--epsilon", "2", *CHAIN)
    assert found["plan"]["noise"]["mechanism"] == "sticky"
    assert "in turn" in found["needs"]
    share = found["plan"]["noise"]["expected_flips"]
    assert len(found["instead"]) == 2
    assert min(found["instead"].values()) < share
    named = facts(capsys, "calibrate", "--epsilon", "2", *CHAIN, "--mechanism", "sticky")
    assert "instead" not in named
    assert named["plan"]["noise"]["matrix"] == found["plan"]["noise"]["matrix"]
    assert run(["calibrate", "--epsilon", "2", "--q", "1e-6", "--r", "1e-6"]) == 0
    assert "every owner can make theirs" in capsys.readouterr().out


def test_the_options_reach_the_plan(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    rare = facts(capsys, "calibrate", "--epsilon", "2", *CHAIN, "--every", "3", "--gaps",
                 "--event", "2", "-o", "plan.json")  # fmt: skip
    assert rare["plan"]["noise"]["every"] == 3
    assert (rare["plan"]["promise"]["unit"], rare["plan"]["promise"]["gaps"]) == (2, True)
    for wrong in (["--every", "often"], ["--every", "0"], ["--event", "0"]):
        assert run(["calibrate", "--epsilon", "2", *CHAIN, *wrong]) in (1, 2)
    capsys.readouterr()
    for given in (["calibrate", "--delay", "1"], ["plan", "--delay", "best"],
                  ["sanitize", "heart.csv", "-o", "d.csv", "--delay=0"]):  # fmt: skip
        assert run(given) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: --delay was removed: ")
    for command, mechanism in product(("calibrate", "plan"), ("tracking", "correlated")):
        for every in ("2", "auto"):
            asked = [command, "--epsilon", "2", *CHAIN, "--every", every, "--mechanism", mechanism]
            assert run(asked) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert line.endswith("take independent or sticky noise")
    by_plan = ["sanitize", "heart.csv", *HOW[:6], "--plan", "plan.json", "-o", "p.csv"]
    assert run([*by_plan, "--every", "3"]) == 2
    assert run([*by_plan, "--seed", "1"]) == 0
    assert json.loads(Path("p.certificate.json").read_text())["promise"]["unit"] == 2
    capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["sticky", "independent"])
def test_rare_reports_from_the_table_to_the_attack(
    mechanism: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--every", "4", "--mechanism", mechanism]
    made = facts(capsys, "sanitize", "heart.csv", *HOW, *more, "-o", "r.csv")["contents"]
    assert made["release"]["rows"] == 150
    assert len(Path("r.csv").read_text().splitlines()) == 151
    assert run(["verify", "r.certificate.json", "r.csv"]) == 4
    capsys.readouterr()
    scores = facts(capsys, "attack", "r.csv", "--original", "heart.csv")["attackers"]
    assert {score["guesses"] for score in scores.values()} == {600}
    # What is known of it: 600 guesses, of which the noise leaves some three in four right.
    assert 0.6 < scores["posterior"]["right"] < 0.95


def test_gaps_are_covered_where_they_are_allowed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = facts(capsys, "sanitize", "holes.csv", *HOW, "--missing", "keep", "-o", "g.csv")
    assert kept["contents"]["promise"]["gaps"] is True
    assert run(["verify", "g.certificate.json", "g.csv"]) == 4
    capsys.readouterr()
    none = facts(capsys, "sanitize", "heart.csv", *HOW, "-o", "n.csv")
    assert "gaps" not in none["contents"]["promise"]


@pytest.mark.slow
def test_a_second_release_of_any_kind_adds_up(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sanitize", "heart.csv", *HOW, "-o", "one.csv"]) == 0
    capsys.readouterr()
    again = ["sanitize", "heart.csv", *HOW[:7], "3", *CHAIN, "--seed", "4", "--mechanism",
             "independent", "--spent", "one.certificate.json", "-o", "two.csv"]  # fmt: skip
    made = facts(capsys, *again)["contents"]
    assert made["noise"]["earlier"][0]["kind"] == "sticky"
    assert 2 < made["loss"]["epsilon"] <= 3
    assert run(["verify", "two.certificate.json", "two.csv"]) == 4


def test_the_loss_of_a_given_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = ["--sticky", "0.2,0.4,0.6,0.8", "--first", "0.3,0.7"]
    noise = cv.StickyNoise.binary([[0.2, 0.4], [0.6, 0.8]], [0.3, 0.7])
    chain = cv.MarkovChain.symmetric(0.1)
    found = facts(
        capsys, "loss", "--q", "0.1", "--r", "0.1", *kernel, "--every", "2", "--event", "2"
    )
    assert found["epsilon"] == cv.privacy_loss(chain, noise.thinned(2), unit=2).epsilon
    found = facts(capsys, "loss", "--q", "0.1", "--r", "0.1", *kernel, "--gaps")
    assert found["epsilon"] == cv.privacy_loss(chain, noise, gaps=True).epsilon
    numbers = "0.1,0.3,0.2,0.4,0.6,0.8,0.7,0.9"
    found = facts(
        capsys, "loss", "--q", "0.1", "--r", "0.1", "--tracking", numbers, "--first", "0.3,0.7"
    )
    table = np.reshape([float(x) for x in numbers.split(",")], (2, 2, 2))
    tracking = cv.TrackingNoise.binary(table, [0.3, 0.7])
    assert found["epsilon"] == cv.privacy_loss(chain, tracking).epsilon
    flips = ["--rho", "0.3", "--correlated"]
    for often in (["--tracking", numbers, "--first", "0.3,0.7"], flips):
        assert run(["loss", "--q", "0.1", "--r", "0.1", *often, "--every", "3"]) == 2
        assert "reports every point" in capsys.readouterr().err
    rare = facts(capsys, "loss", "--q", "0.1", "--r", "0.1", "--rho", "0.3", "--every", "3")
    channel = cv.Channel.binary(0.3, 0.3).thinned(3)
    assert rare["epsilon"] == cv.privacy_loss(chain, channel).epsilon
    for wrong in (kernel[:2], [*kernel, "--rho", "0.1"], ["--sticky", "0.1", *kernel[2:]]):
        assert run(["loss", "--q", "0.1", "--r", "0.1", *wrong]) == 2


@pytest.mark.slow
def test_a_plan_of_rare_and_sticky_reports(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--epsilon", "2", "--rows", "100000", *CHAIN]
    errors = [
        facts(capsys, *asked, *more)["error"]
        for more in (
            ["--mechanism", "independent"],
            ["--mechanism", "sticky"],
            ["--mechanism", "sticky", "--every", "3"],
        )
    ]
    # What is remembered or left out costs nothing here: the same budget tells more.
    assert errors[1] < errors[0]
    assert errors[2] < errors[0]


def test_named_noise_that_only_guesses_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "0\n1\n1\n" * 20)
    asked = ["sanitize", "t.csv", "--column", "x", "--states", "0,1", "--epsilon", "0.2",
             "--q", "0.05", "--r", "0.2", "--force", "-o", "r.csv"]  # fmt: skip
    done = called(*asked, "--mechanism", "sticky", folder=tmp_path)
    assert b"the reports tell next to nothing" in done.stderr
    for other in ([], ["--mechanism", "sticky", "--objective", "share"]):
        done = called(*asked, *other, folder=tmp_path)
        assert b"the reports tell next to nothing" not in done.stderr
