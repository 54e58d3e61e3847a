"""Text tables off the happy path, from the command line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

from chainveil.cli import run
from tests.cli.program import PROGRAM, called, environment, program

ASK = ["--column", "bpm", "--series", "person", "--threshold", "60"]
CHAIN = ["--q", "0.2", "--r", "0.2", "--epsilon", "1"]
GOOD = "person,bpm,note\n" + "".join(f"1,{50 + 20 * (i // 3 % 2)},ok\n" for i in range(120))
STRAY = GOOD.replace("70,ok", '70,"SECRET72', 1)
PLACE = "row 4, column 'note'"


@pytest.fixture(autouse=True)
def _in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(GOOD)
    Path("stray.csv").write_text(STRAY)
    Path("stray.csv.gz").write_bytes(gzip.compress(STRAY.encode()))


def _told(capsys: Any, *arguments: str, code: int = 2) -> str:
    assert run(list(arguments)) == code, capsys.readouterr()
    told = capsys.readouterr()
    return str(told.out + told.err)


@pytest.mark.parametrize("more", [[], ["--json"], ["--multiline"]])
@pytest.mark.parametrize("goal", ["r.csv", "r.parquet", "r.tsv"])
@pytest.mark.parametrize("table", ["stray.csv", "stray.csv.gz"])
def test_a_stray_quote_publishes_nothing(
    table: str, goal: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(Path().iterdir())
    told = _told(capsys, "sanitize", table, *ASK, *CHAIN, "-o", goal, *more)
    assert PLACE in told
    assert "SECRET72" not in told
    assert sorted(Path().iterdir()) == before


def test_a_stray_quote_from_standard_input(tmp_path: Path) -> None:
    for goal, how in (("-", program), ("r.parquet", called)):
        done = how("sanitize", "-", *ASK, *CHAIN, "-o", goal, folder=tmp_path,
                   stdin=STRAY.encode(), code=2)  # fmt: skip
        assert PLACE.encode() in done.stderr
        assert b"SECRET72" not in done.stdout + done.stderr
    assert not list(tmp_path.glob("r.*"))


@pytest.mark.parametrize("table", ["good.csv", "good.tsv", "good.parquet"])
def test_standard_output_is_csv(table: str, tmp_path: Path) -> None:
    (tmp_path / "good.tsv").write_text(GOOD.replace(",", "\t"))
    pyarrow.parquet.write_table(pyarrow.csv.read_csv("good.csv"), "good.parquet")
    how = [*ASK, *CHAIN, "--seed", "3", "--labels", "low,high"]
    done = called("sanitize", table, *how, "-o", "-", folder=tmp_path)
    called("sanitize", "good.csv", *how, "-o", "r.csv", folder=tmp_path)
    assert done.stdout == Path("r.csv").read_bytes()


def test_a_name_that_tells_no_format(capsys: pytest.CaptureFixture[str]) -> None:
    told = _told(capsys, "sanitize", "good.csv", *ASK, *CHAIN, "-o", "release")
    assert "output: found 'release'; allowed: a file that ends in .csv" in told
    assert "--" not in told


def test_every_command_that_reads_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sanitize", "good.csv", *ASK, *CHAIN, "-o", "r.csv"]) == 0
    Path("r.csv").write_text(Path("r.csv").read_text().replace("\n", '\n"', 1))
    quote = "a quote that is not closed on its line, in row 1"
    for command in (
        ["fit", "stray.csv", *ASK],
        ["attack", "r.csv", "--original", "good.csv"],
        ["estimate", "r.csv", "frequency"],
        ["sanitize", "good.csv", *ASK, "--epsilon", "1", "--reference", "stray.csv", "-o", "s.csv"],
    ):
        told = _told(capsys, *command)
        assert "not closed on its line" in told, command
        assert "SECRET72" not in told
    assert quote in _told(capsys, "verify", "r.certificate.json", "r.csv", code=1)


def test_several_lines_in_a_cell_where_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text(GOOD.replace("ok", '"two\nlines"'))
    assert "--multiline" in _told(capsys, "sanitize", "a.csv", *ASK, *CHAIN, "-o", "r.csv")
    how = [*ASK, *CHAIN, "--multiline"]
    assert run(["sanitize", "a.csv", *how, "-o", "r.csv"]) == 0
    assert run(["verify", "r.certificate.json", "r.csv", "--multiline"]) == 0
    assert run(["estimate", "r.csv", "frequency", "--multiline"]) == 0
    assert run(["attack", "r.csv", "--original", "a.csv", "--multiline"]) == 0
    assert run(["fit", "a.csv", *ASK, "--multiline"]) == 0


def test_delimiters_are_named_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text(GOOD.replace(",", ";"))
    told = _told(capsys, "sanitize", "a.csv", *ASK, *CHAIN, "-o", "r.csv")
    assert "if ';' stands between the cells, say --delimiter ';'" in told
    semicolon = ["--delimiter", ";"]
    assert run(["sanitize", "a.csv", *ASK, *CHAIN, *semicolon, "-o", "r.csv"]) == 0
    assert Path("r.csv").read_text().splitlines()[0].startswith("person;bpm")
    assert run(["verify", "r.certificate.json", "r.csv", *semicolon]) == 0
    assert run(["attack", "r.csv", "--original", "a.csv", *semicolon]) == 0
    assert run(["estimate", "r.csv", "frequency", *semicolon]) == 0
    Path("b.txt").write_text(GOOD.replace(",", ";"))
    assert "--format csv" in _told(capsys, "fit", "b.txt", *ASK, *semicolon)
    assert run(["fit", "b.txt", *ASK, *semicolon, "--format", "csv"]) == 0
    assert "one ASCII character" in _told(capsys, "fit", "a.csv", *ASK, "--delimiter", ";;")
    Path("c.csv").write_text(GOOD.replace(",", "\t"))
    assert "--format tsv" in _told(capsys, "fit", "c.csv", *ASK)


@pytest.mark.parametrize(
    ("column", "meant"), [("BPM", "bpm"), ("Bmp", "bpm"), ("PERSONN", "person"), ("Note", "note")]
)
def test_a_column_that_was_meant(
    column: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = _told(capsys, "fit", "good.csv", "--column", column, "--threshold", "60")
    assert f"Did you mean {meant!r}?" in told


def test_a_folder_that_does_not_exist_is_the_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    told = _told(capsys, "sanitize", "good.csv", *ASK, *CHAIN, "-o", "nodir/a.csv")
    assert "output: found 'nodir/a.csv'" in told
    assert "certificate" not in told


def test_blank_lines_of_one_column_are_rows(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("bpm\n55\n\n71\n62\n")
    how = ["sanitize", "a.csv", "--column", "bpm", "--threshold", "60", *CHAIN]
    assert "a missing value" in (told := _told(capsys, *how, "-o", "r.csv"))
    assert "row 2" in told
    assert run([*how, "--missing", "keep", "-o", "r.csv"]) == 0
    lines = Path("r.csv").read_text().split("\n")
    assert [bool(line) for line in lines] == [True, True, False, True, True, False]
    assert run(["verify", "r.certificate.json", "r.csv"]) == 0


def test_one_state_is_said_and_released_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    how = ["sanitize", "good.csv", "--column", "bpm", "--series", "person", *CHAIN]
    told = _told(capsys, *how, "--threshold", "0.6", "-o", "r.csv", code=0)
    assert "warning: the limits between states (threshold) leave only one state" in told
    # The certificate is public: it does not know.
    assert "one state" not in Path("r.certificate.json").read_text()
    assert "one state" not in _told(capsys, *how, "--threshold", "60", "-o", "s.csv", code=0)
    assert "no transition" in _told(capsys, "fit", "good.csv", "--column", "bpm",
                                    "--threshold", "0.6")  # fmt: skip


def test_broken_files_are_named(tmp_path: Path) -> None:
    broken: dict[str, tuple[bytes, bytes]] = {
        "cr.csv": (GOOD.replace("\n", "\r").encode(), b"a carriage return that ends no line"),
        "cr.tsv": (GOOD.replace("\n", "\r").encode(), b"a carriage return that ends no line"),
        "cr.txt": (GOOD.replace("\n", "\r").encode(), b"a carriage return that ends no line"),
        "long.csv": (b"x" * (3 << 20) + b"\n1\n", b"a first line of more than 1,048,576 bytes"),
        "wide.csv": (b",".join(b"c%d" % i for i in range(100_000)) + b"\n", b"70 more"),
        "surrogate.csv": (b"person,bpm\n1,\xed\xa0\x80\n", b"not UTF-8 in line 2"),
    }
    for name, (content, message) in broken.items():
        (tmp_path / name).write_bytes(content)
        for command in (["fit", name, *ASK], ["sanitize", name, *ASK, *CHAIN, "-o", "r.csv"]):
            done = called(*command, folder=tmp_path, code=2)
            assert message in done.stderr, done.stderr[:500]
            assert len(done.stderr) < 3000
    assert not list(tmp_path.glob("r.*"))


def test_a_pipe_is_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("t.csv")
    assert "a pipe or device" in _told(capsys, "fit", "t.csv", *ASK)


@pytest.mark.slow
def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    table = os.fsencode(tmp_path) + b"/t\xff.csv"
    Path(os.fsdecode(table)).write_text(GOOD)
    asked = [os.fsencode(word) for word in (*ASK, *CHAIN, "--mechanism", "independent")]
    done = subprocess.run(
        [*map(os.fsencode, PROGRAM), b"sanitize", table, *asked,
         b"-o", b"r\xff.csv"],
        cwd=tmp_path, capture_output=True, env=environment(), check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert rb"r\udcff.csv" in done.stdout
    done = subprocess.run(
        [*map(os.fsencode, PROGRAM), b"sanitize", table, *asked,
         b"--labels", b"a\xff,b", b"-o", b"s.csv", b"--json"],
        cwd=tmp_path, capture_output=True, env=environment(), check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "UTF-8" in json.loads(done.stderr)["message"]


def test_a_mistake_of_the_program_keeps_the_data_to_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise TypeError("SECRET72")

    monkeypatch.setattr("chainveil.table.release.prepare", broken)
    command = ["sanitize", "good.csv", *ASK, *CHAIN, "-o", "r.csv"]
    told = _told(capsys, *command, code=70)
    assert "TypeError in release.py, line" in told
    assert "SECRET72" not in told
    monkeypatch.setenv("CHAINVEIL_TRACEBACK", "1")
    with pytest.raises(TypeError, match="SECRET72"):
        run(command)
