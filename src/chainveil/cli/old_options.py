"""Options of earlier versions: the sentence that a command ends with where one is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from chainveil.errors import ChainveilError

# By option: the commands that had it, and what to do instead.
REMOVED: dict[str, tuple[tuple[str, ...], str]] = {
    "--thorough": (
        ("compare",),
        "--thorough was removed: --mechanism compares all settings of the mechanisms that it "
        "names, also the slow ones.",
    ),
    "--hold": (
        ("sanitize",),
        "--hold was removed: with --every a release has the rows that report, and --time-as index "
        "says which points these are.",
    ),
    "--edges": (
        ("sanitize", "compare", "fit", "misfit"),
        "--edges was removed: give the same numbers to --threshold, such as --threshold 50,70.",
    ),
    "--output-format": (
        ("sanitize",),
        "--output-format was removed: the name after -o tells the format, such as release.parquet, "
        "and -o - writes CSV.",
    ),
    "--text": (
        ("sanitize",),
        "--text was removed: a release in a text format, such as -o release.csv, keeps the cells "
        "of a text file as they are.",
    ),
    "--theta": (
        ("sanitize", "compare", "calibrate", "plan", "loss"),
        "--theta was removed: give --q T --r T, the same probability twice.",
    ),
    "--delay": (
        ("sanitize", "calibrate", "plan"),
        "--delay was removed: every report is about the point at which it is published.",
    ),
    "--method": (
        ("estimate",),
        "--method was removed: transitions and durations are estimated from counts.",
    ),
    "--anyway": (
        ("estimate",),
        "--anyway was removed: no answer is refused any more because of the model of the series.",
    ),
    "--search-seconds": (
        ("misfit",),
        "--search-seconds was removed: give --effort N, the number of steps of a search, with "
        "which the figures do not depend on the machine.",
    ),
    "--chain": (
        ("estimate",),
        "--chain was removed: denoise takes the model of the certificate, or that of --model FILE.",
    ),
}


def removed(error: click.NoSuchOption) -> str | None:
    """The sentence for an option that the command had in an earlier version, else None."""
    commands, sentence = REMOVED.get(error.option_name, ((), ""))
    command = None if error.ctx is None else error.ctx.command.name
    return sentence if command in commands else None


# By option: values of earlier versions, and those that took their place.
RENAMED_VALUES: dict[str, dict[str, str]] = {
    "--objective": {"flips": "wrong-reports", "estimate": "share", "decoded": "smoothed"},
    "--every": {"best": "auto"},
    "--family": {"response": "uniform"},
}


def renamed(option: str) -> dict[str, str]:
    """The sentence for each value of an option that has another name now."""
    return {
        old: f"{option} {old} was renamed: give {option} {new}."
        for old, new in RENAMED_VALUES[option].items()
    }


# Before version 8.2 of click a choice is no generic class.
if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice


class Choice(_Choice):
    """Values of an option; one of ``removed`` ends the command with its sentence."""

    def __init__(self, choices: Sequence[str], removed: Mapping[str, str]) -> None:
        super().__init__(choices)
        self._removed = removed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value, or an error."""
        if value in self._removed:
            raise ChainveilError(self._removed[value])
        return super().convert(value, param, ctx)
