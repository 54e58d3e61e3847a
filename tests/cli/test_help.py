"""Help: complete, and quick because it loads nothing that it does not need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from chainveil.cli import cli, run
from tests.cli.program import PROGRAM, environment

HEAVY = (
    "numpy",
    "polars",
    "pyarrow",
    "flint",
    "numba",
    "scipy",
    "rich",
    "narwhals",
    "cryptography",
)


def _commands(group: click.Group, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, command in group.commands.items():
        found.append((*before, name))
        if isinstance(command, click.Group):
            found += _commands(command, (*before, name))
    return found


COMMANDS = _commands(cli)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from chainveil.cli import run; run(['--help']); run(['sanitize', '--help']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example:" in text
    assert f"chainveil {command[0]}" in text.split("Example:")[1]
    group = cli.commands[command[0]]
    if command not in (("data",), ("data", "fetch")) or len(command) == 2:
        found = group.commands[command[1]] if isinstance(group, click.Group) else group
        assert any(parameter.name == "as_json" for parameter in found.params)


def test_shell_completion_knows_the_commands() -> None:
    variables = {
        "_CHAINVEIL_COMPLETE": "bash_complete",
        "COMP_WORDS": "chainveil ",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        PROGRAM, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    for name in cli.commands:
        assert f"plain,{name}" in done.stdout


def test_data_says_what_to_do_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert run(["data", "fetch", "meditation/N10", "-o", str(tmp_path / "N10.txt")]) == 2
    assert "Try again when the network is there" in capsys.readouterr().err
    assert not (tmp_path / "N10.txt").exists()
    assert run(["data", "fetch", "elsewhere/N10"]) == 2
    assert "meditation" in capsys.readouterr().err


def test_data_is_checked_against_the_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hashlib

    from chainveil.cli import data
    from chainveil.errors import InvalidInput

    beats = b"0.8 71\n1.6 70\n"
    (tmp_path / "SHA256SUMS.txt").write_text(
        f"{hashlib.sha256(beats).hexdigest()} data/normal/N10\n"
    )
    asked: list[tuple[str, str | None]] = []

    def retrieve(url: str, digest: str | None) -> Path:
        asked.append((url, digest))
        return tmp_path / "SHA256SUMS.txt"

    monkeypatch.setattr(data, "_retrieve", retrieve)
    data._fetch("base/", "N10")
    expected = "sha256:" + hashlib.sha256(beats).hexdigest()
    assert asked == [("base/SHA256SUMS.txt", None), ("base/data/normal/N10", expected)]
    with pytest.raises(InvalidInput, match="N10"):
        data._fetch("base/", "N11")
