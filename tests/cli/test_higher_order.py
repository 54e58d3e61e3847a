"""Chains of a higher order, command by command, on real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import chainveil as cv
from chainveil.cli import run
from chainveil.cli.chain_file import read_chain_file

CHAIN = cv.HigherOrderChain([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], order=2)
PEOPLE, MINUTES = 2000, 6
STATES = ["--column", "bpm", "--threshold", "60"]
WHERE = ["--series", "person", "--time", "minute"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many short series, for which the loss is enumerated."""
    place = tmp_path_factory.mktemp("orders")
    states = CHAIN.sample(MINUTES, PEOPLE, rng=5).reshape(-1)
    rows = np.arange(PEOPLE * MINUTES)
    columns = {"person": rows // MINUTES, "minute": rows % MINUTES, "bpm": 54 + 13 * states}
    pyarrow.csv.write_csv(pa.table(columns), place / "heart.csv")
    return place


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_the_whole_way(capsys: pytest.CaptureFixture[str]) -> None:
    fitted = _json(capsys, "fit", "heart.csv", *STATES, *WHERE, "--order", "auto", "-o", "c.json")
    assert (fitted["order"], fitted["order_choice"]["order"]) == (2, 2)
    assert np.allclose(fitted["transition"], CHAIN.transition, atol=0.05)
    assert fitted["intervals"][0]["from"] == [0, 0]
    chain = read_chain_file("c.json").chain
    assert isinstance(chain, cv.HigherOrderChain)
    x = pyarrow.csv.read_csv("heart.csv")["bpm"].to_numpy().reshape(PEOPLE, MINUTES)
    assert chain == cv.HigherOrderChain.fit((x > 60).astype(int), 2)
    plan = _json(capsys, "calibrate", "--chain", "c.json", "--epsilon", "2", "--length", "6",
                 "-o", "plan.json")  # fmt: skip
    assert plan["plan"]["chain"]["origin"] == "private"
    assert "counts" not in json.dumps(plan["plan"]["chain"])
    loss = _json(capsys, "loss", "--chain", "c.json", "--rho", "0.3", "--length", "5")
    assert loss["epsilon"] == cv.privacy_loss(chain, cv.Channel.binary(0.3, 0.3), length=5).epsilon
    how = [*STATES, *WHERE, "--plan", "plan.json", "--seed", "3"]
    assert run(["sanitize", "heart.csv", *how, "-o", "release.csv"]) == 0
    assert run(["verify", "release.certificate.json", "release.csv"]) == 4
    assert "a chain of order 2 on 2 states" in capsys.readouterr().out
    facts = _json(capsys, "attack", "release.csv", "--original", "heart.csv")
    rates = {name: score["right"] for name, score in facts["attackers"].items()}
    assert 0.5 < rates["single bit"] < rates["posterior"] < facts["bound"]
    found = _json(capsys, "estimate", "release.csv", "denoise")
    assert len(found["transition"]) == 4
    planned = _json(capsys, "plan", "--chain", "c.json", "--epsilon", "2", "--length", "6",
                    "--rows", "12000")  # fmt: skip
    assert 0 < planned["error"] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("how", [["--order", "2"], ["--order", "auto"]], ids=["2", "auto"])
@pytest.mark.parametrize("source", ["private", "reference"])
def test_fitted_inside(how: list[str], source: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = f"{how[1]}-{source}.csv"
    other = ["--reference", "heart.csv"] if source == "reference" else []
    budget = ["--epsilon", "2", "--length", "6"]
    command = ["sanitize", "heart.csv", *STATES, *WHERE, *budget, *how, *other, "-o", out]
    assert run(command) == 0
    certificate = cv.Certificate.read(f"{how[1]}-{source}.certificate.json")
    assert certificate["chain.origin"] == source
    assert certificate.plan().chain.order == 2
    assert run(["verify", f"{how[1]}-{source}.certificate.json", out]) == 0
    capsys.readouterr()


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "heart.csv", *STATES, *WHERE, "--order", "auto", "--public"]) == 0
    lines = capsys.readouterr().out
    assert "0 1 -> 0" in lines
    assert "order 2 has the least BIC over" in lines
    assert "a chain of order 2" in lines
    assert run(["fit", "heart.csv", *STATES, *WHERE, "--order", "3", "--pseudocount", "0.5",
                "--public", "-o", "third.json"]) == 0  # fmt: skip
    assert read_chain_file("third.json").chain.order == 3
    capsys.readouterr()
    pyarrow.csv.write_csv(pa.table({"bpm": CHAIN.sample(4000, rng=2)}), "long.csv")
    many = ["--column", "bpm", "--states", "0,1", "--order", "7", "--pseudocount", "0.5"]
    assert run(["fit", "long.csv", *many]) == 0
    assert "more, which --json shows" in capsys.readouterr().out
    # Of order 1 files and lines are as they were.
    assert run(["fit", "heart.csv", *STATES, *WHERE, "--public", "-o", "first.json"]) == 0
    assert "order" not in json.loads(Path("first.json").read_text())
    assert "order  " not in capsys.readouterr().out


def test_rare_reports_from_plan_to_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "heart.csv", *STATES, *WHERE, "--order", "2", "--public",
                "-o", "rare-chain.json"]) == 0  # fmt: skip
    assert run(["calibrate", "--chain", "rare-chain.json", "--epsilon", "2", "--every", "3",
                "-o", "rare.json"]) == 0  # fmt: skip
    assert "on one point in 3" in capsys.readouterr().out
    assert run(["sanitize", "heart.csv", *STATES, *WHERE, "--plan", "rare.json",
                "-o", "rare.csv"]) == 0  # fmt: skip
    assert "those of" in capsys.readouterr().out
    assert run(["verify", "rare.certificate.json", "rare.csv"]) == 0
    assert "holds as promised to anyone" in capsys.readouterr().out


def test_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    budget = ["--epsilon", "2", "--length", "6", "-o", "never.csv"]
    wrong: list[tuple[list[str], str]] = [
        (["--order", "best"], "whole number or auto"),
        (["--order", "0"], "whole number from 1 on"),
        (["--order", "20"], "at most 256 contexts"),
        (["--order", "7"], "no series has 8"),
        (["--order", "2", "--q", "0.1", "--r", "0.1"], "The chain has its order already"),
    ]
    for more, message in wrong:
        assert run(["sanitize", "heart.csv", *STATES, *WHERE, *budget, *more]) == 2, more
        assert message in " ".join(capsys.readouterr().err.split()), more
    assert not list(Path().glob("never*"))
    text = json.loads(Path("third.json").read_text()) if Path("third.json").exists() else None
    if text is not None:
        for order in (1, 2, 4, -1, "3"):
            Path("bent.json").write_text(json.dumps({**text, "order": order}))
            assert run(["calibrate", "--chain", "bent.json", "--epsilon", "1"]) == 2
