"""The definition, enumerated: every path, its probability with the release and the known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from chainveil import Channel, MarkovChain


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
