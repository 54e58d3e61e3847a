"""``chainveil verify`` as a program: what it says first, its exit codes, and its limits."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

import chainveil as cv
from chainveil.cli import run
from tests.cli.program import called
from tests.documents import plain, put, resealed

HOW = ["--column", "x", "--q", "0.1", "--r", "0.2", "--epsilon", "2"]
SPENT = [cv.Channel.binary(0.45, 0.45).on_grid().to_json()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table, its release and the certificate, here."""
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("x\n" + "0\n1\n1\n" * 100)
    assert run(["sanitize", "x.csv", *HOW, "-o", "r.csv"]) == 0
    return tmp_path


def _forged(releases: int) -> str:
    """The certificate of the release, claiming that as many others came before it."""
    document = plain(cv.Certificate.read("r.certificate.json"))
    return resealed(put(document, "noise.earlier", SPENT * releases)).to_json()


def test_the_promise_comes_first_and_the_code_tells(folder: Path) -> None:
    done = called("verify", "r.certificate.json", "r.csv", folder=folder, code=0)
    lines = done.stdout.decode().splitlines()
    assert lines[0].split(None, 1) == ["verdict", "holds as promised to anyone"]
    assert [line.split()[0] for line in lines[1:4]] == ["promise", "against", "series"]
    assert lines[-1] == lines[0]
    done = called("verify", "r.certificate.json", folder=folder, code=4)
    lines = done.stdout.decode().splitlines()
    assert lines[1].startswith("WEAKER")
    assert "no release was checked" in lines[1]
    assert "no release was checked" in lines[-1]


@pytest.mark.slow
@pytest.mark.parametrize("more", [["--seed", "1"], ["--adversary", "ignorant"]])
def test_a_weaker_promise_has_a_code_of_its_own(
    folder: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sanitize", "x.csv", *HOW, *more, "-o", "weak.csv"]) == 0
    capsys.readouterr()
    assert run(["verify", "weak.certificate.json", "weak.csv", "--json"]) == 4
    facts = json.loads(capsys.readouterr().out)
    assert facts["holds"] is True
    assert facts["verdict"] == "holds, with a weaker promise"
    assert len(facts["weaker"]) == 1
    assert {"name", "text"} == set(facts["promise"][0])


@pytest.mark.slow
def test_what_is_too_large_names_the_option(folder: Path) -> None:
    Path("large.json").write_text(_forged(17))
    done = called("verify", "large.json", "--max-seconds", "1", folder=folder, code=3)
    assert b"too large to check here" in done.stdout
    assert b"--max-seconds" in done.stdout
    plan = ["sanitize", "x.csv", "--column", "x", "--plan", "large.json", "-o", "no.csv"]
    done = called(*plan, "--max-seconds", "1", folder=folder, code=3)
    assert b"--max-seconds" in done.stderr
    spent = ["--spent", "large.json", "--max-seconds", "1"]
    called("calibrate", *HOW[2:], *spent, folder=folder, code=3)
    estimate = ["estimate", "r.csv", "frequency", "--certificate", "large.json"]
    called(*estimate, "--max-seconds", "1", folder=folder, code=3)
    assert not Path("no.csv").exists()
    assert run(["verify", "large.json", "--max-seconds", "0"]) == 2


def test_nothing_in_the_output_folder_is_computed_or_waited_for(folder: Path) -> None:
    """A certificate that would take minutes, a pipe, a loop of links, and a file of 2 MiB."""
    Path("slow.certificate.json").write_text(_forged(17))
    Path("huge.certificate.json").write_text(_forged(3) + " " * (2 << 20))
    Path("loop.certificate.json").symlink_to("loop.certificate.json")
    Path("link.certificate.json").symlink_to("/dev/zero")
    os.mkfifo("pipe.certificate.json")
    done = called("sanitize", "x.csv", *HOW, "-o", "again.csv", folder=folder, code=0)
    # Only the release before and the slow one are seen, and neither takes its time.
    assert b"slow.certificate.json" in done.stderr or b"r.certificate.json" in done.stderr
    assert b"and so are 1 more" in done.stderr


def test_the_release_before_is_named_with_what_both_lose(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["sanitize", "x.csv", *HOW, "-o", "again.csv"]) == 0
    told = capsys.readouterr().err
    assert "r.certificate.json" in told
    both = cv.privacy_loss(
        cv.MarkovChain.binary(0.1, 0.2),
        [cv.Certificate.read(f"{name}.certificate.json").plan().noise for name in ("r", "again")],
    )
    assert f"together lose {both.epsilon:.2f}"[:-1] in told


def test_a_file_that_is_named_may_be_a_pipe(folder: Path) -> None:
    """Named on purpose, as a shell's <(…) is."""
    os.mkfifo("named.json")
    text = Path("r.certificate.json").read_bytes()
    writer = threading.Thread(target=Path("named.json").write_bytes, args=(text,))
    writer.start()
    called("verify", "named.json", "r.csv", folder=folder, code=0)
    writer.join()
