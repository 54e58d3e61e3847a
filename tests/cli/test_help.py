"""Help: complete, and quick because it loads nothing that it does not need."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

from chainveil import __version__
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


def test_the_version_comes_with_those_that_matter(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"chainveil {__version__} (Python 3.")
    assert all(f"{name} " in text for name in ("numpy", "numba", "python-flint", "cryptography"))
