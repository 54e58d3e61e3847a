"""Seeded releases, losses and certificates by public names alone, to be compared across changes.

``python -m tests.recorded.cases`` prints them; ``recorded.json`` holds what was printed last
before a change that is to alter nothing.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import chainveil as cv
from chainveil.cli import run
from chainveil.mechanism import seeded

HEART = cv.MarkovChain.binary(0.0893, 0.1092)
THREE = cv.MarkovChain([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
REGION = cv.ChainRegion((0.1, 0.2), (0.15, 0.25))


def plans() -> dict[str, Any]:
    """Plans of every kind, small enough to be quick."""
    spent = [cv.Channel.binary(0.4, 0.4)]
    return {
        "heart": cv.calibrate(HEART, 2.0),
        "heart, 20 points": cv.calibrate(HEART, 2.0, max_length=20),
        "heart, ignorant": cv.calibrate(HEART, 2.0, adversary="ignorant"),
        "heart, estimate": cv.calibrate(HEART, 2.0, objective="share"),
        "alternating": cv.calibrate(cv.MarkovChain.binary(0.7, 0.6), 2.0),
        "correlated": cv.calibrate(cv.MarkovChain.symmetric(0.2), 4.0, mechanism="correlated"),
        "region": cv.calibrate(REGION, 2.0),
        "earlier": cv.calibrate(cv.MarkovChain.symmetric(0.3), 3.0, earlier=spent),
        "three": cv.calibrate(THREE, 3.0, max_length=6),
        "three, ordinal": cv.calibrate(THREE, 3.0, max_length=6, shape="ordinal"),
    }


def certificates() -> dict[str, Any]:
    """What is certified of each plan, without what differs from run to run."""
    return {name: _settled(plan.certificate().document) for name, plan in plans().items()}


def releases() -> dict[str, str]:
    """Digests of seeded releases of arrays, lists and streams."""
    found = {}
    for name, plan in plans().items():
        states, length = plan.chain.states, plan.loss.length or 5000
        x = np.random.default_rng(5).integers(0, states, (40, length), np.uint8)
        found[name] = _digest(plan.sanitize(x, rng=seeded(7)))
        stream = plan.stream(rng=seeded(7))
        found[f"{name}, stream"] = _digest(np.array([stream.push(int(v)) for v in x[0]]))
    return found


def tables() -> dict[str, Any]:
    """Seeded releases of a frame and of a file, and their certificates."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"person": np.repeat([1, 2, 3], 400), "bpm": rng.normal(60, 8, 1200).round(1)}
    )
    found: dict[str, Any] = {}
    for mechanism in ("independent", "correlated"):
        released = cv.sanitize_table(
            frame, "bpm", 2.0, series="person", threshold=60, labels=["low", "high"],
            chain=HEART, mechanism=mechanism, rng=seeded(11),
        )  # fmt: skip
        found[mechanism] = {
            "values": _digest(np.array(released.table["bpm"].to_list()) == "high"),
            "certificate": _settled(released.certificate.document),
        }
    with tempfile.TemporaryDirectory() as folder:
        path, goal = Path(folder) / "heart.csv", Path(folder) / "release.csv"
        frame.write_csv(path)
        how = "--column bpm --series person --threshold 60 --epsilon 2 --q 0.0893 --r 0.1092"
        how += " --seed 11 --mechanism independent --json"
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            assert run(["sanitize", str(path), *how.split(), "-o", str(goal)]) == 0
        document = json.loads((Path(folder) / "release.certificate.json").read_text())
        found["file"] = {
            "bytes": hashlib.sha256(goal.read_bytes()).hexdigest(),
            "certificate": _settled(document),
        }
    return found


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "certificates": certificates,
    "releases": releases,
    "tables": tables,
}


def _settled(document: Mapping[str, Any]) -> dict[str, Any]:
    changing = ("software", "created", "seal", "schema_version")
    return {key: value for key, value in document.items() if key not in changing}


def _digest(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).astype(np.uint8).tobytes()).hexdigest()


if __name__ == "__main__":
    json.dump({name: case() for name, case in CASES.items()}, sys.stdout, indent=1)
