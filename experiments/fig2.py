"""Figure 2: one bit against the whole release, under DP noise and under BDP noise."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chainveil import mechanism
from chainveil.attack import Posterior, SingleBit, estimated_epsilon
from chainveil.calibration import calibrate
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.privacy.baselines import dp_noise
from chainveil.privacy.loss import privacy_loss
from experiments.parts import Experiment, Part, Place, Row, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The authors drew this many series and released each this many times.
AUTHORS_DATABASES, AUTHORS_RELEASES = 100, 1000


def channels(theta: float, settings: Settings) -> dict[str, Channel]:
    """DP noise, which ignores the dependence, and BDP noise for the same budget."""
    epsilon, length = settings["epsilon"], settings["length"]
    rho = dp_noise(epsilon)
    plan = calibrate(MarkovChain.symmetric(theta), epsilon, max_length=length)
    return {"dp": Channel.binary(rho, rho), "bdp": plan.channel}


def compute(theta: float, settings: Settings) -> list[Row]:
    """Both attackers against both kinds of noise on one chain."""
    number = settings["thetas"].index(theta)
    chain = MarkovChain.symmetric(theta)
    length, target = settings["length"], settings["target"]
    generator = np.random.default_rng([settings["seed"], number])
    x = chain.sample(length, settings["databases"], rng=generator)
    rows = []
    for noise, channel in channels(theta, settings).items():
        attacks = {"single bit": SingleBit(channel), "correlation aware": Posterior(chain, channel)}
        hits = {name: np.zeros(len(x)) for name in attacks}
        source = mechanism.seeded(settings["seed"]).child(number).child(int(noise == "bdp"))
        for release in range(settings["releases"]):
            z = mechanism.sanitize(x, channel, rng=source.child(release))
            for name, attack in attacks.items():
                hits[name] += attack.reconstruct(z)[:, target] == x[:, target]
        best = Posterior(chain, channel).expected_success(length, target).value
        facts: Row = {
            "theta": theta, "noise": noise, "rho": float(channel.flip_probabilities[0]),
            "loss_any": privacy_loss(chain, channel, length=length).epsilon,
        }  # fmt: skip
        exact = {"single bit": 1 - facts["rho"], "correlation aware": best}
        rows += [
            facts | {"attacker": name, **_summary(found, settings["releases"], exact[name])}
            for name, found in hits.items()
        ]
    return rows


def _summary(hits: NDArray[np.float64], releases: int, exact: float) -> Row:
    """Share of hits, its standard error over databases, and the spread of the authors' design."""
    rates = hits / releases
    success = float(rates.mean())
    inside = success * (1 - success)
    between = max(0.0, float(rates.var(ddof=1)) - inside / releases)
    design = between / AUTHORS_DATABASES + inside / (AUTHORS_DATABASES * AUTHORS_RELEASES)
    return {
        "success": success,
        "error": float(rates.std(ddof=1) / math.sqrt(len(rates))),
        "exact": exact,
        "estimated_epsilon": estimated_epsilon(success),
        "exact_epsilon": estimated_epsilon(exact),
        "deviation_of_authors_design": math.sqrt(design),
    }


def parts(settings: Settings, place: Place) -> list[Part]:
    """One part a chain."""
    return [
        Part(f"theta-{theta:g}", settings | {"theta": theta}, partial(compute, theta, settings))
        for theta in settings["thetas"]
    ]


def draw(rows: list[Row], settings: Settings) -> Figure:
    """Success in (a) and estimated privacy in (b), on the paper's axes; (b) goes down to 0.

    There lies what the paper does not show.
    """
    from chainveil.plot import style

    figure, (left, right) = style.new_panels(2, 10.4, 4.4)
    epsilon = settings["epsilon"]
    _draw(left, rows, "success", "exact")
    _draw(right, rows, "estimated_epsilon", "exact_epsilon")
    for axes, bound in ((left, 1 / (1 + math.exp(-epsilon))), (right, epsilon)):
        axes.axhline(bound, color=style.BLACK, lw=1.2, ls="--", label=f"bound for ε = {epsilon:g}")
        axes.set(xlim=(0, 0.5), xlabel="correlation parameter θ")
    left.set(ylim=(0.5, 0.9), ylabel=f"success probability for point {settings['target'] + 1}",
             title="(a) Success")  # fmt: skip
    right.set(ylim=(0, 1.8), ylabel="estimated privacy ε̃ (nats)", title="(b) Estimated privacy")
    style.legend_below(figure, columns=3)
    return figure


def _draw(axes: Axes, rows: list[Row], measured: str, exact: str) -> None:
    from chainveil.plot import style

    looks = {
        ("dp", "single bit"): ("SB attacker, DP noise", style.BLUE, "o", "-"),
        ("dp", "correlation aware"): ("CA attacker, DP noise", style.RED, "s", "-"),
        ("bdp", "single bit"): ("SB attacker, BDP noise", style.SKY, "^", ":"),
        ("bdp", "correlation aware"): ("CA attacker, BDP noise", style.GREEN, "D", ":"),
    }
    for (noise, attacker), (label, colour, marker, dash) in looks.items():
        chosen = [row for row in rows if (row["noise"], row["attacker"]) == (noise, attacker)]
        thetas = [row["theta"] for row in chosen]
        axes.plot(thetas, [row[exact] for row in chosen], dash, color=colour, lw=1.4)
        axes.plot(thetas, [row[measured] for row in chosen], marker, color=colour, ms=5,
                  label=f"{label} (line: exact)", clip_on=False)  # fmt: skip


EXPERIMENT = Experiment("fig2", "DP noise against correlated data", parts, draw)
