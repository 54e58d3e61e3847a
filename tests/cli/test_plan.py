"""``chainveil plan``: two of error, rows and budget give the third."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.program import called

CHAIN = ["--q", "0.0893", "--r", "0.1092"]


def test_a_plan_that_estimate_would_refuse_is_warned_about(tmp_path: Path) -> None:
    alone = ["--mechanism", "independent"]
    done = called("plan", "--epsilon", "0.5", "--rows", "1000", *CHAIN, *alone, folder=tmp_path)
    assert b"estimate will refuse frequency from 1,000 points" in done.stderr
    assert b"budget          epsilon 0.5, against" in done.stdout
    done = called("plan", "--epsilon", "4", "--rows", "1000", *CHAIN, folder=tmp_path)
    assert done.stderr == b""


def test_a_budget_is_shown_as_it_was_given(tmp_path: Path) -> None:
    """Rounded to fewer digits it could stand below what is kept."""
    for given in ("1.0000004", "0.001", "4"):
        for command in (["plan", "--rows", "1000000"], ["calibrate", "--mechanism", "independent"]):
            done = called(*command, "--epsilon", given, *CHAIN, folder=tmp_path)
            shown = rf"^budget +epsilon {re.escape(given)}(,|$)"
            assert re.search(shown, done.stdout.decode(), re.MULTILINE)


def test_the_least_budget_is_told(tmp_path: Path) -> None:
    asked = ["--error", "0.4", "--rows", "1000000000", "--q", "0.3", "--r", "0.4"]
    done = called("plan", *asked, folder=tmp_path)
    assert b"budgets below 0.01 are not tried" in done.stderr
    assert b"epsilon 0.01" in done.stdout


def test_two_of_three(tmp_path: Path) -> None:
    done = called("plan", "--error", "0.1", *CHAIN, folder=tmp_path, code=2)
    assert b"Give two of --error, --rows and --epsilon" in done.stderr


@pytest.mark.slow
def test_the_noise_is_that_of_sanitize(tmp_path: Path) -> None:
    """Sticky, made for estimates where it would else only guess the commonest state."""
    asked = ["plan", "--rows", "100000", "--json"]
    slow = ["--q", ".01", "--r", ".05"]
    for chain, epsilon in ((CHAIN, "2"), (slow, "0.3")):
        done = called(*asked, "--epsilon", epsilon, *chain, folder=tmp_path)
        assert json.loads(done.stdout)["mechanism"] == "sticky"
    named = ["--mechanism", "sticky", "--objective", "share"]
    same = called(*asked, "--epsilon", "0.3", *slow, *named, folder=tmp_path)
    assert json.loads(same.stdout) == json.loads(done.stdout)
    done = called("plan", "--rows", "100000", "--error", "0.05", "--json", *CHAIN, folder=tmp_path)
    assert json.loads(done.stdout)["mechanism"] == "sticky"


def test_error_and_success_are_drawn_against_the_budget(tmp_path: Path) -> None:
    asked = ["plan", "--epsilon", "2", "--rows", "10000", *CHAIN, "--mechanism", "independent"]
    called(*asked, "--plot", "budget.png", folder=tmp_path)
    assert (tmp_path / "budget.png").read_bytes().startswith(b"\x89PNG")
    assert b"which exists" in called(*asked, "--plot", "budget.png", folder=tmp_path, code=2).stderr
    called(*asked, "--plot", "budget.png", "--force", folder=tmp_path)
    assert b"a file ending in" in called(*asked, "--plot", "b.xyz", folder=tmp_path, code=2).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["budget.png"]
