"""Which noise is compared: mechanism, how often it reports, and what it minimises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from chainveil import checks
from chainveil.noise.base import form_of, kinds, noise_class

Often = int | Literal["auto"]
OBJECTIVES = ("wrong-reports", "share", "smoothed")
# With the fewest wrong reports first: the others lean on the number that it finds.
USUAL = OBJECTIVES[0]
SLOW = (
    "left out, as the search takes from seconds to minutes for each budget; naming the mechanism "
    "compares it"
)
SAME_AS_WRONG = (
    "left out, as it counts points that report alone: with as many of them as the fewest wrong "
    "reports have, it found the same noise wherever that was tried; naming the mechanism "
    "compares it"
)


@dataclass(frozen=True)
class Setting:
    """One way to make a release, in the words of :func:`chainveil.calibrate`.

    Attributes
    ----------
    mechanism, objective : str
    every : int or "auto"
    """

    mechanism: str
    every: Often = 1
    objective: str = USUAL

    @property
    def line(self) -> str:
        """Its line in a picture: settings of one mechanism that report as often share one."""
        return self.mechanism if self.every == 1 else f"{self.mechanism}, rare reports"

    @property
    def asked(self) -> dict[str, Any]:
        """Arguments of ``sanitize_table``, those that are not as ever."""
        usual = vars(Setting(self.mechanism))
        return {
            name: value
            for name, value in vars(self).items()
            if name == "mechanism" or value != usual[name]
        }

    def __str__(self) -> str:
        return f"{self.line}, {self.objective}"


@dataclass(frozen=True)
class Refused:
    """A setting that is not compared, and why; ``epsilon`` None: at no budget."""

    setting: Setting
    reason: str
    epsilon: float | None = None


def read_mechanisms(names: Sequence[str] | str | None) -> tuple[str, ...]:
    """The kinds to compare; all that there are where none is named."""
    if names is None:
        return kinds()
    listed = [names] if isinstance(names, str) else names
    checks.items("mechanism", listed, "a name, or a list of names")
    return tuple(dict.fromkeys(noise_class(name).kind for name in listed))


def candidates(mechanisms: Sequence[str], ordered: bool) -> tuple[Setting, ...]:
    """All settings of some mechanisms; of ordered states of more than two, distances too."""
    objectives = (*OBJECTIVES, "distance") if ordered else OBJECTIVES
    return tuple(
        replace(way, objective=objective)
        for kind in mechanisms
        for way in _ways(kind)
        for objective in objectives
    )


def _ways(kind: str) -> Iterator[Setting]:
    yield Setting(kind)
    if noise_class(kind).sees != "series":
        yield Setting(kind, every="auto")


def slow(setting: Setting, states: int) -> str:
    """Why a setting is only compared where its mechanism is named; empty where it always is."""
    if setting.every == 1:
        return ""
    # The search for the best number of points to a report takes about a second where two states
    # have it; that of the others, and of more states, takes from many seconds to minutes.
    form = form_of(setting.mechanism)
    if states > 2 or form is None or not form.thins:
        return SLOW
    return SAME_AS_WRONG if setting.objective == "smoothed" else ""
