"""The definition, enumerated: every path, its probability with the release and the known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainveil import Channel, MarkovChain
from chainveil.noise.base import Noise


def joint(
    chain: MarkovChain, channel: Channel, z: Sequence[int], known: Mapping[int, int]
) -> dict[tuple[int, ...], float]:
    """``Pr[x, z]`` of every path that agrees with the known points."""
    table = {}
    for path in product(range(chain.states), repeat=len(z)):
        if any(path[t] != value for t, value in known.items()):
            continue
        probability = float(chain.start[path[0]])
        for before, after in pairwise(path):
            probability *= float(chain.transition[before, after])
        for state, output in zip(path, z, strict=True):
            probability *= float(channel.matrix[state, output])
        table[path] = probability
    return table


def posterior(table: Mapping[tuple[int, ...], float], n: int, k: int) -> NDArray[np.float64]:
    """``Pr[X_t = x | z, known]``, shape (n, k)."""
    result = np.zeros((n, k))
    for path, probability in table.items():
        result[np.arange(n), list(path)] += probability
    return np.asarray(result / sum(table.values()))


def reports_given(noise: Noise, path: Sequence[int], z: Any) -> float:
    """``Pr[z | path]`` for noise that looks at its point alone or holds its last report.

    Only entries of ``z`` at ``noise.places`` that are not masked are reports.
    """
    masked = np.ma.getmaskarray(z) if np.ma.isMaskedArray(z) else None
    probability, last, when = 1.0, -1, -1
    for t in noise.places(len(path)).tolist():
        if masked is not None and masked[t]:
            continue
        if last < 0 or not noise.holds:
            law = noise.first_law()[path[t]]
        elif when == t - 1:
            law = noise.step_law()[last, path[t - 1], path[t]]
        else:
            law = noise.after_gap_law()[last, path[t]]
        last, when = int(z[t]), int(t)
        probability *= float(law[last])
    return probability


def joint_of(
    model: Any, noise: Noise, z: Any, known: Mapping[int, int]
) -> dict[tuple[int, ...], float]:
    """``Pr[x, z]`` of every path that agrees with the known points, for any such noise."""
    law = model.series_law(len(z))
    return {
        path: float(law[path]) * reports_given(noise, path, z)
        for path in product(range(model.states), repeat=len(z))
        if all(path[t] == value for t, value in known.items())
    }
