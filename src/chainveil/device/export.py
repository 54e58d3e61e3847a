"""A plan as one small program for devices that have Python and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from chainveil.device.sanitizer import WORK
from chainveil.errors import NotSupported
from chainveil.plan import NoisePlan
from chainveil.privacy.adversary import describe
from chainveil.privacy.rounding import exact, upper

PLACE = "PLAN: dict = {}\n"
NOTE = "# Written by chainveil export; to change it, export another plan.\n"
TEMPLATE = "sanitizer.py"


def device_program(
    plan: NoisePlan, limits: Sequence[float] = (), labels: Sequence[Any] = (), seal: str = ""
) -> str:
    """The program: Python source that holds the plan and needs the standard library alone.

    Parameters
    ----------
    plan : NoisePlan
        Whose noise the program draws; it holds nothing else of the plan but its promise.
    limits : increasing numbers, optional
        Limits between states, for ``Sanitizer.state``; a value on one belongs to the state above.
    labels : optional
        What the states are called, for the reader of the program.
    seal : str, optional
        The seal of the certificate of the plan, by which anyone can find it.
    """
    if plan.mechanism not in WORK:
        raise NotSupported(
            f"{plan.mechanism} noise on a device: programs are written for {', '.join(WORK)} noise"
        )
    if plan.noise.ordered and plan.noise.outputs > 2:
        raise NotSupported(
            f"{plan.mechanism} noise of {plan.noise.outputs} reports on a device: programs are "
            "written for two reports where a report looks back; independent noise may have any"
        )
    held = {**facts(plan), "limits": list(limits), "labels": list(labels), "certificate": seal}
    lines = "".join(f"    {name!r}: {value!r},\n" for name, value in held.items())
    source = files(__package__).joinpath(TEMPLATE).read_text(encoding="utf-8")
    before, after = source.split(PLACE)
    return f"{before}{NOTE}PLAN = {{\n{lines}}}\n{after}"


def facts(plan: NoisePlan) -> dict[str, Any]:
    """What a device must know of a plan, and what its reader should: plain numbers and text."""
    return {
        "promise": promise(plan),
        "noise": plan.noise.to_json(),
        "length": plan.loss.length,
        "gaps": plan.gaps or not plan.noise.holds,
    }


def promise(plan: NoisePlan) -> str:
    """What the plan promises, in one line."""
    secret = "one point" if plan.unit == "point" else f"any {plan.unit} consecutive points"
    return (
        f"loss at most {upper(plan.loss.epsilon, 10)} of {exact(plan.epsilon)} about {secret} of "
        f"the series, against {describe(plan.loss.adversary)}"
    )
