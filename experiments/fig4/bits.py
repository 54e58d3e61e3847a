"""The series and releases that one step of Figure 4 hands to the next, as packed bits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Bits:
    """Two-state series and their releases.

    Attributes
    ----------
    about : dict
        What the releases are (``rows``), how long each series is (``lengths``), and what to
        train on them (``training``); plain JSON values.
    truth : dict of name to array (n,)
    releases : dict of name to array (rows, n)
    viterbi : dict of name to array (rows, n)
        What Viterbi makes of the releases, where a network is to learn that instead.
    """

    about: dict[str, Any]
    truth: dict[str, Bytes]
    releases: dict[str, Bytes]
    viterbi: dict[str, Bytes]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Budget and noise of every row, the same for all series."""
        return list(self.about["rows"])


def save_bits(path: Path, bits: Bits) -> None:
    """Write everything to one compressed file; complete or not at all."""
    arrays: dict[str, Any] = {"about": np.array(json.dumps(bits.about))}
    for name, truth in bits.truth.items():
        arrays[f"truth_{name}"] = np.packbits(truth)
        arrays[f"releases_{name}"] = np.packbits(bits.releases[name], axis=1)
    for name, answers in bits.viterbi.items():
        arrays[f"viterbi_{name}"] = np.packbits(answers, axis=1)
    partial = path.with_name(f".{path.name}.partial.npz")
    np.savez_compressed(partial, **arrays)
    partial.replace(path)


def load_bits(path: Path) -> Bits:
    """What :func:`save_bits` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        about = json.loads(str(stored["about"]))
        lengths: dict[str, int] = about["lengths"]
        truth = {
            name: np.unpackbits(stored[f"truth_{name}"], count=n) for name, n in lengths.items()
        }
        releases, viterbi = (
            {
                name: np.unpackbits(stored[f"{kind}_{name}"], axis=1, count=n)
                for name, n in lengths.items() if f"{kind}_{name}" in stored
            }
            for kind in ("releases", "viterbi")
        )  # fmt: skip
    return Bits(about, truth, releases, viterbi)
