"""Figure 4, first step: series, noise, releases, and the attackers that know a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import calibrate, mechanism, privacy_loss, success_bound
from chainveil.attack import Posterior, Viterbi, score
from chainveil.experiments import records
from chainveil.experiments.fig4.bits import Bits, save_bits
from chainveil.experiments.parts import Row, Settings
from chainveil.model.chain import MarkovChain
from chainveil.plan import NoisePlan
from chainveil.privacy.baselines import success_bound_as_printed

SYNTHETIC = "synthetic"
# "ignorant" is the paper's noise (Theorem 1), "any" the corrected one.
NOISES = ("ignorant", "any")


@dataclass(frozen=True)
class Series:
    """One series of states and the chain that its noise is calibrated for."""

    name: str
    number: int
    states: NDArray[np.uint8]
    chain: MarkovChain


def available(settings: Settings) -> dict[str, Path]:
    """The records that are wanted and found."""
    found = {name: records.find_record(name) for name in settings["records"]}
    return {name: path for name, path in found.items() if path is not None}


def synthetic_series(settings: Settings) -> Series:
    """The series of panel (a), drawn from the chain of N10."""
    made = settings["synthetic"]
    chain = MarkovChain.binary(made["q"], made["r"])
    states = chain.sample(made["n"], rng=settings["seed"])
    return Series(SYNTHETIC, 0, np.asarray(states, dtype=np.uint8), chain)


def recorded_series(name: str, path: Path, settings: Settings) -> Series:
    """A record with the chain fitted to it, as the authors did."""
    states = records.read_record(path)
    number = 1 + settings["records"].index(name)
    return Series(name, number, states, MarkovChain.fit(states))


def noise_rows(settings: Settings) -> list[Row]:
    """What is released: every kind of noise at every budget."""
    return [
        {"noise": noise, "epsilon": epsilon} for noise in NOISES for epsilon in settings["budgets"]
    ]


def known_rows(settings: Settings) -> list[Row]:
    """The same, and the budgets past the figure's end that the authors' files go on to."""
    more = [
        {"noise": noise, "epsilon": epsilon}
        for noise in NOISES for epsilon in settings.get("beyond", [])
    ]  # fmt: skip
    return noise_rows(settings) + more


@cache
def plan_for(chain: MarkovChain, epsilon: float, noise: Any) -> NoisePlan:
    """The least noise against the ignorant or against any adversary."""
    return calibrate(chain, epsilon, adversary=noise)


def release(series: Series, row: Row, number: int, settings: Settings) -> NDArray[np.uint8]:
    """Release ``number`` of a series at a row's noise; seeded, for study only."""
    place = known_rows(settings).index({"noise": row["noise"], "epsilon": row["epsilon"]})
    source = mechanism.seeded(settings["seed"])
    source = source.child(series.number).child(place).child(number)
    channel = plan_for(series.chain, row["epsilon"], row["noise"]).channel
    return np.asarray(mechanism.sanitize(series.states, channel, rng=source), dtype=np.uint8)


def write_bits(path: Path, all_series: list[Series], settings: Settings) -> None:
    """First releases of every series, for the networks to learn on."""
    rows = noise_rows(settings)
    about = {
        "seed": settings["seed"],
        "folds": settings["folds"],
        "lengths": {series.name: len(series.states) for series in all_series},
        "rows": rows,
        "training": {
            "networks": settings["networks"],
            "candidates": settings.get("candidates", {}),
            "choice": settings.get("choice", {}),
            "taught": settings.get("taught", {}),
        },
    }
    releases = {
        series.name: np.stack([release(series, row, 0, settings) for row in rows])
        for series in all_series
    }
    truth = {series.name: series.states for series in all_series}
    taught = settings.get("taught", {}).get("series", [])
    viterbi = {
        series.name: np.stack([
            viterbi_of(series, row).reconstruct(z)
            for row, z in zip(rows, releases[series.name], strict=True)
        ])
        for series in all_series if series.name in taught
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    save_bits(path, Bits(about, truth, releases, viterbi))


def viterbi_of(series: Series, row: Row) -> Viterbi:
    """The attacker who knows the chain and the noise and seeks the likeliest series."""
    return Viterbi(series.chain, plan_for(series.chain, row["epsilon"], row["noise"]).channel)


def facts(series: Series, row: Row) -> Row:
    """A row's noise, what it costs, what it really loses, and the bounds on any attacker."""
    plan = plan_for(series.chain, row["epsilon"], row["noise"])
    rho0, rho1 = (float(rho) for rho in plan.channel.flip_probabilities)
    return {
        "series": series.name,
        **row,
        "rho0": rho0,
        "rho1": rho1,
        "flips": plan.expected_flips,
        "loss_any": privacy_loss(series.chain, plan.channel).epsilon,
        "bound": success_bound(series.chain, row["epsilon"]),
        "printed_bound": success_bound_as_printed(series.chain, row["epsilon"]),
        # What always naming the more frequent state would score on this very series.
        "majority": max(float(np.mean(series.states)), 1 - float(np.mean(series.states))),
    }


def known_model_rows(series: Series, settings: Settings) -> list[Row]:
    """Accuracy of Viterbi and posterior: mean and deviation over releases, and of the first."""
    rows: list[Row] = []
    for row in known_rows(settings):
        about = facts(series, row)
        channel = plan_for(series.chain, row["epsilon"], row["noise"]).channel
        attacks = {
            "viterbi": viterbi_of(series, row),
            "posterior": Posterior(series.chain, channel),
        }
        found: dict[str, list[float]] = {name: [] for name in attacks}
        for number in range(settings["releases"]):
            z = release(series, row, number, settings)
            for name, attack in attacks.items():
                found[name].append(float(np.mean(attack.reconstruct(z) == series.states)))
        for name, rates in found.items():
            deviation = float(np.std(rates, ddof=1)) if len(rates) > 1 else None
            rows.append(about | {
                "attacker": name, "accuracy": float(np.mean(rates)), "deviation": deviation,
                "first": rates[0], "highest": max(rates), "releases": len(rates),
            })  # fmt: skip
    return rows


def learned_rows(
    series: Series, name: str, guesses: NDArray[np.uint8], settings: Settings
) -> list[Row]:
    """Accuracy of a network's guesses (rows, n), with an interval that minds the dependence."""
    rows = []
    for row, guess in zip(noise_rows(settings), guesses, strict=True):
        success = score(series.states, guess)
        rows.append(facts(series, row) | {
            "attacker": f"lstm-{name}", "accuracy": success.rate, "low": success.low,
            "high": success.high, "first": success.rate, "highest": success.rate, "releases": 1,
        })  # fmt: skip
    return rows
