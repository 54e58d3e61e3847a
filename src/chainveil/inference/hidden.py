"""A chain and its noise as one hidden chain, for noise with a memory and for missing points.

Noise that flips along a chain of its own is a chain on pairs of state and flip, which tell the
report. A missing point is a report that every state makes alike. A known point is one that only
its own state makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainveil.errors import InvalidInput
from chainveil.inference.observations import known_points, read
from chainveil.model.chain import MarkovChain
from chainveil.noise.channel import Channel
from chainveil.noise.correlated import CorrelatedNoise
from chainveil.sequences import Sequences, as_sequences

# State and flip together tell the report: x XOR y for (x, y) = 00, 01, 10, 11.
REPORT = ((1.0, 0.0), (0.0, 1.0), (0.0, 1.0), (1.0, 0.0))


@dataclass(frozen=True)
class Hidden:
    """A chain whose states tell the reports, and the reports in the shape they came in.

    Hidden state h stands for state ``h // each`` of the series.
    """

    chain: MarkovChain
    channel: Channel
    reports: Any
    each: int

    def states(self, path: Any) -> Any:
        """States of the series from hidden ones."""
        if isinstance(path, list):
            return [self.states(part) for part in path]
        return path // self.each

    def probabilities(self, found: Any) -> Any:
        """Probabilities of the states of the series, shape (…, k)."""
        if isinstance(found, list):
            return [self.probabilities(part) for part in found]
        return found.reshape(*found.shape[:-1], -1, self.each).sum(axis=-1)


def paired(noise: CorrelatedNoise, chain: MarkovChain) -> tuple[MarkovChain, Channel]:
    """State and flip as one chain on four states, and what each of them reports."""
    if chain.states != 2:
        raise InvalidInput(
            "noise", f"correlated noise beside {chain.states} states", "a chain with two states"
        )
    start = None if chain.initial is None else np.kron(chain.initial, noise.chain.stationary)
    together = np.kron(chain.transition, noise.chain.transition)
    return MarkovChain(together, start), Channel(REPORT)


def is_plain(noise: Channel | CorrelatedNoise, z: Any) -> bool:
    """Whether chain and noise can be used as they are: no memory, and nothing missing."""
    parts = z if isinstance(z, list | tuple) else [z]
    return isinstance(noise, Channel) and not any(np.ma.is_masked(part) for part in parts)


def hidden(
    chain: MarkovChain, noise: Channel | CorrelatedNoise, z: Any, known: Any = None
) -> Hidden:
    """The hidden chain behind ``z``, which is masked where points are missing."""
    if isinstance(noise, Channel):
        model, channel, each = chain, noise, 1
    else:
        model, channel = paired(noise, chain)
        each = 2
    reports, k = channel.outputs, chain.states
    seen = read(with_marks(z, reports), k, reports + 1)
    symbols = seen.symbols.astype(np.int64) * (k + 1)
    if known is not None:
        symbols += known_points(known, Sequences(seen.symbols, seen.offsets), k) + 1
    every = np.ones((model.states, 1))
    said = np.hstack([channel.matrix, every])
    sure = np.hstack([every, np.repeat(np.eye(k), each, axis=0)])
    # Each row of either sums to two, so that halves of halves are probabilities.
    matrix = (said[:, :, None] * sure[:, None, :]).reshape(model.states, -1) / 4
    return Hidden(model, Channel(matrix), seen.restore(symbols), each)


def with_marks(z: Any, gap: int) -> Any:
    """``z`` with the mark ``gap``, one more than the reports there are, where it is masked."""
    if isinstance(z, list | tuple) and any(np.ndim(part) for part in z):
        return [with_marks(part, gap) for part in z]
    as_sequences("z", np.ma.filled(z, 0) if isinstance(z, np.ma.MaskedArray) else z, gap)
    if not isinstance(z, np.ma.MaskedArray):
        return z
    return np.ma.filled(z.astype(np.int64), gap)
