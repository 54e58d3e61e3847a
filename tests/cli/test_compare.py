"""``chainveil compare``: the table, the files, and the command that it ends with."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import signal
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import chainveil as cv
from tests.cli.program import PROGRAM, called, environment, program

SAID = ("--column", "bpm", "--series", "who", "--threshold", "60", "--q", "0.2", "--r", "0.3")
QUICK = ("--mechanism", "independent,sticky", "--epsilon", "4")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    chain = cv.MarkovChain.binary(q=0.2, r=0.3)
    values = [50 + 20 * int(state) for n in range(2) for state in chain.sample(600, rng=n)]
    names = ["a b"] * 600 + ["c"] * 600
    pyarrow.csv.write_csv(pa.table({"who": names, "bpm": values}), tmp_path / "heart.csv")
    return tmp_path


@pytest.mark.slow
def test_the_command_that_it_ends_with_makes_the_release(folder: Path) -> None:
    done = program("compare", "heart.csv", *SAID, *QUICK, "--for", "points", folder=folder)
    told = done.stdout.decode()
    (line,) = (line.strip() for line in told.splitlines() if "chainveil sanitize" in line)
    words = shlex.split(line)
    assert words[:3] == ["chainveil", "sanitize", "heart.csv"]
    program(*words[1:], folder=folder)
    certificate = cv.Certificate.read(folder / "heart-release.certificate.json")
    best = words[words.index("--mechanism") + 1]
    assert certificate["noise.mechanism"] == best
    assert certificate["promise.epsilon"] == 4
    assert "not compared" in told
    assert "every owner" in told
    assert b"private" in done.stderr


@pytest.mark.slow
def test_json_and_files(folder: Path) -> None:
    done = called(
        "compare", "heart.csv", *SAID, *QUICK, "--json", "-o", "found.json", folder=folder
    )
    printed = json.loads(done.stdout)
    assert printed == json.loads((folder / "found.json").read_text("utf-8"))
    assert printed["recommendations"][0]["command"].startswith("chainveil sanitize heart.csv ")
    again = called("compare", "heart.csv", *SAID, *QUICK, "-o", "found.json", folder=folder, code=2)
    assert b"found.json" in again.stderr


def test_what_was_said_of_the_table_is_said_again(folder: Path) -> None:
    done = called(
        "compare", "heart.csv", *SAID, "--labels", "low,high", "--event", "1", "--delimiter", ",",
        "--mechanism", "independent", "--epsilon", "1,2,4", "--json", folder=folder,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert {row["epsilon"] for row in found["rows"]} == {1, 2, 4}
    command = found["recommendations"][0]["command"]
    for words in ("--labels low,high", "--event 1", "--delimiter ,", "--q 0.2 --r 0.3"):
        assert words in command


def test_noise_is_for_each_series_unless_one_chain_is_asked_for(folder: Path) -> None:
    said = [*SAID[:6], "--mechanism", "independent", "--epsilon", "4", "--json"]
    done = called("compare", "heart.csv", *said, folder=folder)
    found = json.loads(done.stdout)
    assert found["about"]["noise_for"].startswith("a family of 2 models")
    assert "--pooled" not in found["recommendations"][0]["command"]
    pooled = called("compare", "heart.csv", *said, "--pooled", folder=folder)
    found = json.loads(pooled.stdout)
    assert found["about"]["noise_for"].startswith("a chain of order 1")
    assert " --pooled " in found["recommendations"][0]["command"]
    assert b"pooled" in pooled.stderr
    called("compare", "heart.csv", *SAID, "--pooled", folder=folder, code=2)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("--epsilon", "1,x"), b"epsilon"), (("--epsilon", "0"), b"epsilon"),
        (("--mechanism", "slimy"), b"mechanism"), (("--for", "lunch"), b"--for"),
        (("-o", "found.pdf"), b".html"), (("-o", "heart.csv", "--force"), b"another file"),
    ],
)  # fmt: skip
def test_wrong_use_is_said_before_the_work(
    folder: Path, wrong: tuple[str, ...], told: bytes
) -> None:
    done = called("compare", "heart.csv", *SAID, *wrong, folder=folder, code=2)
    assert told in done.stderr


def test_patterns_are_gone(folder: Path) -> None:
    done = called("compare", "heart.csv", *SAID, "--for", "pattern", folder=folder, code=2)
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("error: --for pattern was removed")


@pytest.mark.slow
def test_a_bar_on_a_terminal_and_an_interrupt_leaves_nothing_behind(folder: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "compare", "heart.csv", *SAID, "-o", "found.html"]
    running = subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    told = b""
    while b"comparing" not in told or b"%" not in told:
        told += os.read(ours, 4096)
    running.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):
        # The end of a terminal whose program is gone is an error.
        while part := os.read(ours, 4096):
            told += part
    assert running.wait(timeout=60) == 130
    assert b"nothing was written" in told
    assert sorted(path.name for path in folder.iterdir()) == ["heart.csv"]
