"""Names that come from files never steer the terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chainveil.cli import run
from chainveil.cli.output import show, to_json, warn
from chainveil.text import printable
from tests.cli.program import PROGRAM, environment

# Clear the screen, the same in one byte of C1, reversed writing, isolates, a bell, a surrogate.
EVIL = "b\x1b[2J\x9b2J\u202epm\u2066x\x07\x7f"
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
CHAIN = ["--q", "0.2", "--r", "0.2", "--epsilon", "1"]


@pytest.fixture(autouse=True)
def _in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{EVIL}{i // 10},{50 + 20 * (i // 3 % 2)}\n" for i in range(40))
    Path("a.csv").write_text(f"who,{EVIL}\n{rows}")


def _told(capsys: Any, *arguments: str) -> str:
    run(list(arguments))
    told = capsys.readouterr()
    return str(told.out + told.err)


def test_what_is_escaped() -> None:
    assert printable("a\x1b\x9b\u202e\udcff\n\tü€😀") == r"a\x1b\x9b\u202e\udcff\x0a\x09ü€😀"
    assert json.loads(to_json({"x": EVIL, "y": "\udcff"}, 2)) == {"x": EVIL, "y": "\udcff"}
    assert STEERING.search(to_json({EVIL: [EVIL, "\udcff"]}, 2)) is None


def test_no_command_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--column", EVIL, "--series", "who", "--threshold", "60", "--labels", f"{EVIL}0,x"]
    commands: list[list[str]] = [
        ["fit", "a.csv", *where, "-o", "chain.json"],
        ["fit", "a.csv", "--column", "nothing", "--threshold", "60"],
        ["fit", EVIL, "--column", "nothing", "--threshold", "60"],
        ["sanitize", "a.csv", *where, *CHAIN, "-o", f"{EVIL}.csv"],
        ["sanitize", "a.csv", *where, *CHAIN, "-o", f"{EVIL}.csv"],
        ["verify", f"{EVIL}.certificate.json", f"{EVIL}.csv"],
        ["verify", f"{EVIL}.certificate.json", "a.csv"],
        ["estimate", f"{EVIL}.csv", "frequency", "--by", "who"],
        ["attack", f"{EVIL}.csv", "--original", "a.csv"],
        ["calibrate", "--chain", "chain.json", "--epsilon", "1"],
        ["estimate", f"{EVIL}.csv", EVIL],
        ["fit", "a.csv", f"--{EVIL}"],
        [EVIL],
    ]
    for command in commands:
        for more in ([], ["--json"]):
            told = _told(capsys, *command, *more)
            assert told
            assert STEERING.search(told) is None, (command, told)
    assert Path(f"{EVIL}.csv").exists()


def test_words_of_a_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--column", EVIL, "--series", "who", "--threshold", "60"]
    assert run(["sanitize", "a.csv", *where, *CHAIN, "-o", "r.csv"]) == 0
    document = json.loads(Path("r.certificate.json").read_text())
    document["promise"]["adversary"]["meaning"] = EVIL
    document["release"]["column"] = EVIL + "?"
    Path("r.certificate.json").write_text(json.dumps(document))
    for more in ([], ["--json"]):
        assert (
            STEERING.search(_told(capsys, "verify", "r.certificate.json", "r.csv", *more)) is None
        )


def test_remarks_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    show({}, [(EVIL, EVIL)], as_json=False)
    warn(EVIL)
    told = capsys.readouterr()
    assert STEERING.search(told.out + told.err) is None


def test_the_bar_on_a_terminal(tmp_path: Path) -> None:
    """Of the column's name the terminal sees letters alone; its own colours and lines it may."""
    parent, child = pty.openpty()
    command = ["sanitize", "a.csv", "--column", EVIL, "--threshold", "mean", *CHAIN, "-o", "r.csv"]
    with subprocess.Popen([*PROGRAM, *command], stdout=child, stderr=child, cwd=tmp_path,
                          env={**environment(), "TERM": "xterm"}) as running:  # fmt: skip
        os.close(child)
        told = b""
        while True:
            try:
                block = os.read(parent, 4096)
            except OSError:
                break
            if not block:
                break
            told += block
    os.close(parent)
    assert running.returncode == 0, told
    text = told.decode()
    assert r"mean of b\x1b" in text
    for mark in ("\x1b[2J", "\x9b", "\u202e", "\u2066", "\x07"):
        assert mark not in text
