"""Options of earlier versions end with one sentence that says what to do instead."""

from __future__ import annotations

import json

import pytest

from chainveil.cli import cli, run
from chainveil.cli.old_options import REMOVED, RENAMED_VALUES

CASES = [(command, option) for option, (commands, _) in REMOVED.items() for command in commands]


@pytest.mark.parametrize(("command", "option"), CASES)
def test_an_old_option_ends_with_its_sentence(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ([option, "0.1"], [f"{option}=0.1"]):
        assert run([command, "table.csv", *words]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err == f"error: {REMOVED[option][1]}\n"


@pytest.mark.parametrize(("command", "option"), CASES)
def test_no_command_has_the_option_any_more(command: str, option: str) -> None:
    found = cli.commands[command]
    assert not [param for param in found.params if option in param.opts]


@pytest.mark.parametrize("option", REMOVED)
def test_commands_that_never_had_it_say_what_click_says(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", option]) == 2
    assert "No such option" in capsys.readouterr().err


def test_options_that_are_named_instead_exist() -> None:
    for option, (commands, sentence) in REMOVED.items():
        words = {word.strip(".,:;") for word in sentence.split() if word.startswith("--")}
        for command in commands:
            known = {name for param in cli.commands[command].params for name in param.opts}
            assert words - {option} <= known, (command, option)


def test_machines_get_it_as_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["loss", "--theta", "0.1", "--json"]
    monkeypatch.setattr("sys.argv", ["chainveil", *words])
    assert run(words) == 2
    assert json.loads(capsys.readouterr().err)["message"] == REMOVED["--theta"][1]


@pytest.mark.parametrize(
    ("option", "old"),
    [(option, old) for option, values in RENAMED_VALUES.items() for old in values],
)
def test_an_old_value_ends_with_the_name_of_the_new_one(
    option: str, old: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["calibrate", "--q", "0.1", "--r", "0.2", "--epsilon", "2"]
    assert run([*asked, option, old]) == 2
    new = RENAMED_VALUES[option][old]
    told = f"error: {option} {old} was renamed: give {option} {new}."
    assert capsys.readouterr().err.splitlines() == [told]
    assert run([*asked, option, new]) == 0
