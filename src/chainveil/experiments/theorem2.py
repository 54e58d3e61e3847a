"""Theorem 2: is the adversary who knows nothing the hardest? Every adversary, by enumeration."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from chainveil.checks import FloatArray
from chainveil.experiments.parts import Experiment, Part, Place, Row, Settings
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.closed_form import corollary2

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def joint_law(chain: MarkovChain, channel: Channel, n: int) -> FloatArray:
    """``Pr[x, z]`` of every series and output, shape (2,) * n + (2 ** n,)."""
    law = np.ones(())
    for t in range(n):
        step = chain.start if t == 0 else chain.transition
        law = law[..., None] * step
    output: FloatArray = np.ones((1, 1))
    for _ in range(n):
        output = np.asarray(np.kron(output, channel.matrix), dtype=np.float64)
    return law[..., None] * output.reshape((2,) * n + (2**n,))


def adversary_loss(joint: FloatArray, target: int, known: tuple[int, ...]) -> float:
    """log BDPL of one adversary: the largest log ratio over known values and outputs."""
    n = joint.ndim - 1
    free = tuple(t for t in range(n) if t != target and t not in known)
    told = np.moveaxis(joint.sum(axis=free, keepdims=True), target, 0)
    likelihood = told / told.sum(axis=-1, keepdims=True)
    return float(np.abs(np.log(likelihood[0] / likelihood[1])).max())


def compute(length: int, settings: Settings) -> list[Row]:
    """The loss of every target and every set of known points at one length."""
    theta, rho = settings["theta"], settings["rho"]
    joint = joint_law(MarkovChain.symmetric(theta), Channel.binary(rho, rho), length)
    example = settings["counter_example"]
    rows = []
    for target in range(length):
        others = [t for t in range(length) if t != target]
        for size in range(length):
            for known in itertools.combinations(others, size):
                marked = (length, target, list(known)) == (
                    example["length"], example["target"], example["known"],
                )  # fmt: skip
                rows.append({
                    "length": length, "target": target, "known": " ".join(map(str, known)) or "-",
                    "known_points": size, "loss": adversary_loss(joint, target, known),
                    "counter_example": marked,
                })  # fmt: skip
    return rows


def parts(settings: Settings, place: Place) -> list[Part]:
    """One part a length."""
    return [
        Part(f"length-{length}", settings | {"length": length}, partial(compute, length, settings))
        for length in settings["lengths"]
    ]


def draw(rows: list[Row], settings: Settings) -> Figure:
    """Loss of every adversary over the number of points it knows, one panel a length."""
    from chainveil.plot import style

    figure, panels = style.new_panels(len(settings["drawn"]), 4.2 * len(settings["drawn"]), 4.4,
                                      share_y=True)  # fmt: skip
    bound = corollary2(settings["theta"], settings["rho"])
    for letter, axes, length in zip("abcdef", panels, settings["drawn"], strict=False):
        _draw_length(axes, [row for row in rows if row["length"] == length])
        axes.axhline(bound, color=style.RED, ls="--", lw=1.3,
                     label="claimed bound: Theorem 1, every length")  # fmt: skip
        axes.set(xlabel="number of points the adversary knows", xticks=range(length),
                 title=f"({letter}) n = {length}")  # fmt: skip
    panels[0].set_ylabel("privacy loss of the adversary (nats)")
    style.legend_below(figure, columns=5)
    return figure


def _draw_length(axes: Axes, rows: list[Row]) -> None:
    from chainveil.plot import style

    sizes = sorted({row["known_points"] for row in rows})
    highest = [max(row["loss"] for row in rows if row["known_points"] == size) for size in sizes]
    ignorant = highest[0]
    axes.plot(sizes, highest, "-", color=style.GREY, lw=1.2, label="worst for that many")
    for label, colour, marker, worse in (
        ("no worse than the ignorant", style.BLUE, "o", False),
        ("worse than the ignorant", style.ORANGE, "^", True),
    ):
        chosen = [row for row in rows if (row["loss"] > ignorant + 1e-12) == worse]
        points = [(row["known_points"], row["loss"]) for row in chosen]
        axes.plot([p[0] for p in points], [p[1] for p in points], marker, color=colour, ms=4.5,
                  ls="none", label=label)  # fmt: skip
    for row in (row for row in rows if row["counter_example"]):
        axes.plot([row["known_points"]], [row["loss"]], "o", mfc="none", mec=style.BLACK, ms=12,
                  mew=1.6, ls="none", label="counter-example: both ends known")  # fmt: skip
        axes.annotate(f"{row['loss']:.2f}", (row["known_points"], row["loss"]), (9, 4),
                      textcoords="offset points", fontsize=9)  # fmt: skip
        axes.annotate(f"{ignorant:.2f}", (0, ignorant), (5, 5), textcoords="offset points",
                      fontsize=9)  # fmt: skip


EXPERIMENT = Experiment("theorem2", "Who is hardest to protect against", parts, draw)
