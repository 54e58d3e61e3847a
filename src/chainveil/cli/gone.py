"""Options that are gone: each ends with one sentence that says so, and names what to do instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from chainveil.errors import ChainveilError


def gone(option: str, sentence: str, flag: bool = False) -> Callable[[Any], Any]:
    """An option that help does not show; an error with ``sentence`` where somebody gives it."""

    def refuse(_context: click.Context, _option: click.Parameter, value: Any) -> None:
        if value is not None and value is not False:
            raise ChainveilError(sentence)

    # Eager: it is said before anything else about the command line.
    return click.option(
        option, is_flag=flag, hidden=True, is_eager=True, expose_value=False, callback=refuse
    )


class Choice(click.Choice[str]):
    """Values of an option; one of ``gone`` is an error with its sentence."""

    def __init__(self, choices: Sequence[str], gone: Mapping[str, str]) -> None:
        super().__init__(choices)
        self._gone = gone

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value, or an error."""
        if value in self._gone:
            raise ChainveilError(self._gone[value])
        return super().convert(value, param, ctx)
