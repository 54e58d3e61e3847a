"""One task, with every package that is installed: ``python -m benchmarks.peers [--epsilon 2]``.

A two-state series like a heart rate is released with a budget. For each method: what it promises,
how often its reports are wrong, what the release truly loses against any adversary (exactly, by
chainveil), how often the best attacker guesses a point, and the time a point. Peers are in
``benchmarks/peers.txt``; those that are not installed are left out, and said to be.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import chainveil as cv
from chainveil.noise.base import Noise
from chainveil.privacy.rounding import upper

CHAIN = cv.MarkovChain.binary(0.0893, 0.1092)
POINTS, SEED = 20_000, 4

States = NDArray[np.uint8]
Release = Callable[[States], States]


@dataclass(frozen=True)
class Method:
    """A way to release a series: its noise, and how it is drawn; None where it is a formula."""

    name: str
    promise: str
    noise: Noise | None
    draw: Release | None = None
    why_not: str = ""


def response(epsilon: float) -> cv.Channel:
    """Randomized response as ordinary differential privacy has it."""
    rho = 1 / (1 + math.exp(epsilon))
    return cv.Channel.binary(rho, rho)


def _opendp(epsilon: float) -> Release:
    dp: Any = import_module("opendp.prelude")
    dp.enable_features("contrib")
    respond = dp.m.make_randomized_response_bool(prob=1 / (1 + math.exp(-epsilon)))
    return lambda x: np.array([respond(bool(point)) for point in x], np.uint8)


def _diffprivlib(epsilon: float) -> Release:
    mechanisms: Any = import_module("diffprivlib.mechanisms")
    binary = mechanisms.Binary(epsilon=epsilon, value0="0", value1="1")
    return lambda x: np.array([int(binary.randomise(str(point))) for point in x], np.uint8)


def _pure_ldp(epsilon: float) -> Release:
    oracles: Any = import_module("pure_ldp.frequency_oracles")
    client = oracles.DEClient(epsilon=epsilon, d=2)
    return lambda x: np.array([client.privatise(int(point) + 1) for point in x], np.uint8)


def _multi_freq(epsilon: float) -> Release:
    oracle: Any = import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    return lambda x: np.array([oracle.GRR_Client(int(point), 2, epsilon) for point in x], np.uint8)


PEERS: dict[str, Callable[[float], Release]] = {
    "OpenDP": _opendp, "diffprivlib": _diffprivlib, "pure-ldp": _pure_ldp,
    "multi-freq-ldpy": _multi_freq,
}  # fmt: skip


NAMES = ("opendp", "diffprivlib", "pure-ldp", "multi-freq-ldpy")


def peers(epsilon: float) -> Iterator[Method]:
    """Packages that draw: each promises differential privacy of one point, the others known."""
    for name, make in PEERS.items():
        try:
            draw = make(epsilon)
        except ImportError:
            yield Method(name, "DP of a point", None, None, "not installed")
            continue
        yield Method(f"{name}, randomized response", "DP of a point", response(epsilon), draw)


def formulas(epsilon: float) -> Iterator[Method]:
    """Methods that count the dependence, by their published formulas."""
    for other in cv.baselines.compare(CHAIN, epsilon)[1:]:
        noise = None if other.rho is None else cv.Channel.binary(other.rho, other.rho)
        draw = None if noise is None else _own(noise)
        why_not = other.reason.removeprefix(other.method).strip()
        yield Method(other.method, "BDP", noise, draw, why_not)


def own(epsilon: float) -> Iterator[Method]:
    """chainveil's mechanisms, at the same number."""
    for mechanism in ("independent", "correlated", "sticky", "tracking"):
        noise = cv.calibrate(CHAIN, epsilon, mechanism=mechanism).noise
        yield Method(f"chainveil, {mechanism}", "BDP", noise, _own(noise))
    noise = cv.calibrate(CHAIN, epsilon, mechanism="sticky", every="auto").noise
    yield Method(f"chainveil, sticky on one point in {noise.every}", "BDP", noise, _own(noise))


def _own(noise: Noise) -> Release:
    return lambda x: np.asarray(cv.mechanism.sanitize(x, noise), np.uint8)


def row(method: Method, x: States) -> tuple[str, ...]:
    """The cells of one method."""
    if method.noise is None or method.draw is None:
        return (method.name, method.promise, "–", "–", "–", method.why_not)
    method.draw(x[:1000])
    begin = time.perf_counter()
    z = method.draw(x)
    spent = (time.perf_counter() - begin) / len(x)
    loss = cv.privacy_loss(CHAIN, method.noise).epsilon
    guess = cv.attack.Posterior(CHAIN, method.noise).reconstruct(_reports(z, method.noise))
    cells = (f"{np.mean(z != x):.1%}", upper(loss, 4), f"{np.mean(guess == x):.1%}")
    return (method.name, method.promise, *cells, f"{spent * 1e6:,.2f} µs")


def _reports(z: States, noise: Noise) -> Any:
    """What an attacker reads: silent points say nothing of their own."""
    if noise.every == 1:
        return z
    silent = np.ones(len(z), np.bool_)
    silent[noise.places(len(z))] = False
    return np.ma.array(z, mask=silent)


def table(epsilon: float, points: int) -> str:
    """All methods, as a table in Markdown."""
    x = CHAIN.sample(points, rng=SEED).astype(np.uint8)
    heads = ("method", "promises", "wrong reports", "true loss, any adversary",
             "best attacker right", "a point")  # fmt: skip
    lines = [" | ".join(heads), "|".join(["---"] * len(heads))]
    for group in (own, peers, formulas):
        lines += [" | ".join(row(method, x)) for method in group(epsilon)]
    return "\n".join(f"| {line} |" if "---" not in line else f"|{line}|" for line in lines)


def versions() -> str:
    """Of the peers that are installed."""
    told = []
    for name in NAMES:
        try:
            told.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            told.append(f"{name} not installed")
    return ", ".join(told)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--points", type=int, default=POINTS)
    arguments = parser.parse_args()
    print(table(arguments.epsilon, arguments.points))
    print(f"\nWith {versions()}.")


if __name__ == "__main__":
    main()
