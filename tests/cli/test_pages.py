"""Pages that show commands show what the commands do."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from chainveil.cli import run
from chainveil.cli.demo import write_sample
from tests.batches import some_quick

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_pages_that_follow_from_the_code_do(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DOCS / "pages.py", tmp_path], check=True)
    for name in ("command-line.md", "certificate.md"):
        now, written = ((folder / name).read_text("utf-8") for folder in (tmp_path, DOCS))
        assert now == written, f"{name} is old; run python docs/pages.py"


# Sessions that take seconds.
LONG = ("curator.md", "estimates.md", "finite-states.md", "report.md")


@pytest.mark.parametrize(
    "name",
    some_quick(["../README.md", *LONG], ["../README.md"]),
)
def test_a_session_in_a_page_prints_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _replay(name, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.usefixtures("spark_session")
def test_the_session_on_spark_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _replay("spark.md", tmp_path, capsys)


def _replay(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # What make demo leaves behind.
    (tmp_path / "demo").mkdir()
    write_sample(tmp_path / "demo" / "heart.csv")
    for language, block in BLOCK.findall((DOCS / name).read_text("utf-8")):
        if language == "python" and ">>>" not in block:
            exec(compile(block, name, "exec"), {})
        for command, expected in _steps(block) if language == "console" else []:
            assert run(shlex.split(command)[1:]) == 0, command
            found = capsys.readouterr().out
            assert doctest.OutputChecker().check_output(expected, found, SAME), (
                f"{command}\n{found}"
            )


def _steps(block: str) -> list[tuple[str, str]]:
    """Commands and what they print."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]
