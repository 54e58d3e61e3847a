"""``chainveil export``: a plan becomes a program that keeps its promise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import called
from tests.interpreters import interpreter

PLAN = ("calibrate", "--q", "0.0893", "--r", "0.1092", "--epsilon", "4", "-o", "plan.json")
HOW = "from sanitizer import Sanitizer; s = Sanitizer(); print(s.push(0) in (0, 1), s.every)"
# What devices may have; those that are not installed here are skipped.
PYTHONS = ("python3.8", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a plan."""
    called(*PLAN, "--mechanism", "independent", folder=tmp_path)
    return tmp_path


def test_a_plan_becomes_a_program(folder: Path) -> None:
    done = called("export", "plan.json", "-o", "sanitizer.py", folder=folder)
    assert b"sanitizer.py" in done.stdout
    ran = subprocess.run([sys.executable, "-c", HOW], cwd=folder, capture_output=True, check=True)
    assert ran.stdout == b"True 1\n"
    facts = json.loads(
        called("export", "plan.json", "-o", "again.py", "--json", folder=folder).stdout
    )
    assert facts["lines"] < 300
    seal = json.loads((folder / "plan.json").read_text())["seal"]["digest"]
    assert seal in (folder / "sanitizer.py").read_text()


def test_nothing_is_overwritten_unasked(folder: Path) -> None:
    (folder / "sanitizer.py").write_text("mine")
    called("export", "plan.json", "-o", "sanitizer.py", folder=folder, code=2)
    assert (folder / "sanitizer.py").read_text() == "mine"
    called("export", "plan.json", "-o", "sanitizer.py", "--force", folder=folder)
    assert "class Sanitizer" in (folder / "sanitizer.py").read_text()


def test_a_plan_that_does_not_hold_is_refused(folder: Path) -> None:
    document = json.loads((folder / "plan.json").read_text())
    document["noise"]["expected_flips"] = 0.01
    (folder / "plan.json").write_text(json.dumps(document))
    done = called("export", "plan.json", "-o", "sanitizer.py", folder=folder, code=2)
    assert b"can be verified" in done.stderr
    assert not (folder / "sanitizer.py").exists()


def test_a_weaker_promise_is_said(tmp_path: Path) -> None:
    called(*PLAN, "--adversary", "informed", "--mechanism", "independent", folder=tmp_path)
    done = called("export", "plan.json", "-o", "sanitizer.py", folder=tmp_path)
    assert b"warning" in done.stderr


def test_limits_come_along_and_private_ones_are_said_to_be(tmp_path: Path) -> None:
    rows = "\n".join(str(50 + (n // 7) % 2 * 20) for n in range(400))
    (tmp_path / "pace.csv").write_text(f"bpm\n{rows}\n")
    fit = ("fit", "pace.csv", "--column", "bpm", "--threshold", "mean", "-o", "chain.json")
    called(*fit, folder=tmp_path)
    called("calibrate", "--chain", "chain.json", "--epsilon", "6", "--mechanism", "independent",
           "-o", "plan.json", folder=tmp_path)  # fmt: skip
    done = called("export", "plan.json", "-o", "sanitizer.py", folder=tmp_path)
    assert done.stderr.count(b"warning") == 2
    names: dict[str, Any] = {"__name__": "sanitizer"}
    exec((tmp_path / "sanitizer.py").read_text(), names)
    device = names["Sanitizer"]()
    assert [device.state(value) for value in (50, 70, None)] == [0, 1, None]


def test_the_certificate_of_a_release_is_no_free_plan(folder: Path) -> None:
    (folder / "pace.csv").write_text("bpm\n" + "50\n70\n" * 50)
    called("sanitize", "pace.csv", "--column", "bpm", "--threshold", "60", "--plan", "plan.json",
           "-o", "out.csv", folder=folder)  # fmt: skip
    done = called("export", "out.certificate.json", "-o", "sanitizer.py", folder=folder)
    assert b"--spent" in done.stderr


@pytest.mark.parametrize("python", PYTHONS)
def test_the_program_runs_on_old_and_new_pythons(python: str, folder: Path) -> None:
    found = interpreter(python)
    if found is None:
        pytest.skip(f"{python} is not installed")
    called("export", "plan.json", "-o", "sanitizer.py", folder=folder)
    command = [found, "-I", "-W", "error", "-c", "import sys; sys.path.insert(0, '.'); " + HOW]
    ran = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    assert ran.stdout == b"True 1\n"
