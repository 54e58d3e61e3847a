"""The example in the help of every command, run in the order of the work."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from chainveil.cli import cli, run
from chainveil.cli.demo import write_sample
from tests.cli.test_data import Server, server

__all__ = ["server"]


def _examples(command: click.Command) -> list[list[str]]:
    """What stands below "Example:" in a help text."""
    text = (command.help or "").split("Example:")[1].replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("chainveil ")]


def _short(example: list[str]) -> list[str]:
    """One budget of three in the comparison, as each takes as long as all other examples."""
    return ["4" if example[0] == "compare" and word == "1,2,4" else word for word in example]


@pytest.mark.slow
def test_every_example_in_a_help_text_runs(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sample(tmp_path / "heart.csv")
    done = set()
    for command in cli.commands.values():
        for example in map(_short, _examples(command)):
            assert run(example) == 0, example
            done.add(example[0])
    assert done == set(cli.commands)
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"chain.json", "plan.json", "release.parquet", "N10.txt", "demo"}
